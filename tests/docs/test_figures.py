"""Every figure in README and docs is in a result file that the page names, or in a test."""

from __future__ import annotations

import re
from pathlib import Path

import figures
import pytest

HOME = Path(__file__).parents[2]
PAGES = ["README.md", "docs/results/README.md", *(f"docs/{p.name}" for p in HOME.glob("docs/*.md"))]
PAPERS = ["docs/results/burch2014.md", "docs/results/moravcik2016.md"]
PAPERS += ["docs/results/brown2017.md", "docs/results/brown2018.md"]
NOT_MEASURED: dict[str, str] = {
    "docs/design.md": "1e-9; 1e-7; 1e-30; 1e-12; 2e-8; 1e-3; 1e-4; 6e-6",
    "docs/endgames.md": "67 %; 15 %; 1.1; 6.5",
    "docs/flop-report.md": "0.63; 1.84; 0.21; 0.18; 0.06; 0.04; 0.16",
    "docs/papers.md": "6.2",
    "docs/published.md": "33 %; 18.05; 18.5",
    "docs/serve.md": "95 %",
}
"""By page, figures that are no results: settings, limits of float32, examples, sections of papers;
in `flop-report.md` those that the tool named there prints."""


@pytest.mark.parametrize("page", [*PAGES, *PAPERS])
def test_figures_are_in_result_files(page: str) -> None:
    """The tables of `PAPERS` are made from the files, so only their sentences are looked at."""
    allowed = NOT_MEASURED.get(page, "").split("; ")
    text = (HOME / page).read_text(encoding="utf-8")
    if page in PAPERS:
        text = re.sub(r"^\|.*\n", "", text, flags=re.MULTILINE)
    lost = [figure for figure in figures.missing(text) if figure.text not in allowed]
    assert [(figure.text, figure.around) for figure in lost] == []


@pytest.mark.parametrize("page", sorted(NOT_MEASURED))
def test_no_exception_is_left_over(page: str) -> None:
    text = (HOME / page).read_text(encoding="utf-8")
    missing = {figure.text for figure in figures.missing(text)}
    assert set(NOT_MEASURED[page].split("; ")) <= missing


def test_a_wrong_figure_is_noticed() -> None:
    """Most changes of a last digit are: files have many numbers, so a few pass by chance."""
    text = (HOME / "README.md").read_text(encoding="utf-8")
    changed = noticed = 0
    for block, stems in figures.blocks(text):
        for figure in figures.figures(block):
            wrong = figure._replace(value=figure.value + 3 * 10.0**-figure.digits)
            changed += 1
            noticed += not figures.is_in(wrong, stems)
    assert changed > 25
    assert noticed > 0.75 * changed
    assert [f.text for f in figures.missing("72.59 mbb/h and 72.61 in `brown2017-table5`")] == [
        "72.61"
    ]
