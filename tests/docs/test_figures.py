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
def test_figures_are_in_result_files(page: str) -> None:
    """The tables of `PAPERS` are made from the files, so only their sentences are looked at."""
    text = figures.sentences(page, (HOME / page).read_text(encoding="utf-8"))
    assert [(figure.text, figure.around) for figure in figures.missing(text)] == []


@pytest.mark.parametrize("page", BOUND)
def test_bound_figures_are_as_on_the_page_and_in_their_place(page: str) -> None:
    """Any other digit, on the page or in the file, is noticed."""
    shown = [figure for figure, _, _ in figures.on_page(page)]
    lines = [line.partition(" = ") for line in BOUND[page]]
    assert [figure.text for figure in shown] == [text for text, _, _ in lines], f"{AGAIN} {page}"
    wrong = [
        f"{figure.text} is not at {where}"
        for figure, (_, _, where) in zip(shown, lines, strict=True)
        if not figures.is_at(figure, where)
    ]
    assert wrong == [], f"{AGAIN} {page}"


def test_the_pages_that_people_read_first_are_bound() -> None:
    assert {"README.md", *PAPERS} <= {*BOUND}
    assert len(BOUND["README.md"]) > 25


def test_a_wrong_figure_is_noticed_on_most_pages() -> None:
    """On pages that are not bound a wrong digit may be another number of the same file."""
    changed = noticed = 0
    for page in PAGES:
        for figure, _, stems in figures.on_page(page):
            wrong = figure._replace(value=figure.value + 10.0**-figure.digits)
            changed += 1
            noticed += page in BOUND or not figures.is_in(wrong, stems)
    assert changed > 500
    assert noticed > 0.75 * changed


def test_what_counts_as_missing() -> None:
    text = "72.59 mbb/h and 72.61 in `brown2017-table5`, Section 6.2, a 95 % interval, `0.5 %`"
    assert [figure.text for figure in figures.missing(text)] == ["72.61"]
    figure = next(figures.figures("105.12 chips"))
    assert figures.is_at(figure, "published-flop: /results/0/ev/0")
    assert not figures.is_at(figure, "published-flop: /results/0/want/0")
