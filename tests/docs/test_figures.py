"""Every figure in README and docs is in a result file that the page names, or in a test."""

from __future__ import annotations

from pathlib import Path

import figures
import pytest

HOME = Path(__file__).parents[2]
PAGES = ["README.md", "docs/results/README.md", *(f"docs/{p.name}" for p in HOME.glob("docs/*.md"))]
PAPERS = ["docs/results/burch2014.md", "docs/results/moravcik2016.md"]
PAPERS += ["docs/results/brown2017.md", "docs/results/brown2018.md"]
BOUND = figures.bound()
AGAIN = "Look at the difference; if it is right, run python tests/docs/figures.py"


@pytest.mark.parametrize("page", [*PAGES, *PAPERS])
def test_figures_are_bound_to_their_places(page: str) -> None:
    """Any other digit, on the page or in the file, is noticed.

    The tables of `PAPERS` are made from the files, so only their sentences are looked at.
    """
    shown = [(figure, block) for figure, block, _ in figures.on_page(page)]
    lines = [line.partition(" = ") for line in BOUND.get(page, [])]
    assert [figure.text for figure, _ in shown] == [text for text, _, _ in lines], f"{AGAIN} {page}"
    wrong = [
        f"{figure.text} is not at {where}"
        for (figure, block), (_, _, where) in zip(shown, lines, strict=True)
        if not figures.is_at(figure, where, block)
    ]
    assert wrong == [], f"{AGAIN} {page}"


def test_a_wrong_figure_is_noticed() -> None:
    """Another last digit is not at the place that the figure is bound to."""
    changed = noticed = 0
    for page in BOUND:
        for (figure, block, _), line in zip(figures.on_page(page), BOUND[page], strict=True):
            wrong = figure._replace(value=figure.value + 10.0**-figure.digits)
            changed += 1
            noticed += not figures.is_at(wrong, line.partition(" = ")[2], block)
    assert changed > 500
    assert noticed > 0.93 * changed


def test_forms_of_places() -> None:
    def bound(text: str, where: str, block: str = "") -> bool:
        return figures.is_at(next(figures.figures(text)), where, block)

    assert bound("80.5 times", "bench: /benchmarks/0/ratio")
    assert bound("80.5 times", "bench: /benchmarks/0/peers/OpenSpiel JAX over /benchmarks/0/ours")
    assert not bound("80.6 times", "bench: /benchmarks/0/ratio")
    assert bound("0.5 chips", figures.BESIDE, "`T9o:0.5` is 0.5 chips")
    assert not bound("0.6 chips", figures.BESIDE, "`T9o:0.5` is 0.6 chips")
    assert not bound("0.6 chips", "no-such-file: /rows/0")


def test_published_flop() -> None:
    figure = next(figures.figures("105.13 chips"))
    assert figures.is_at(figure, "published-flop: /results/0/ev/0")
    assert not figures.is_at(figure, "published-flop: /results/0/want/0")
