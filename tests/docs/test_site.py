"""The documentation site: every page has its place, links lead somewhere, nothing is fetched."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import build
import docstrings
import notebooks
import pictures
import pytest
import results

import papers
from subgame.papers import KEYS

HOME = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The pages as Zensical gets them."""
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("site")
    patch.setattr(build, "STAGE", folder / "site-pages")
    build.stage()
    yield folder
    patch.undo()


def places(entry: Any) -> Iterator[str]:
    """The pages in a navigation."""
    if isinstance(entry, str):
        yield entry
    for inside in entry.values() if isinstance(entry, dict) else entry:
        if not isinstance(entry, str):
            yield from places(inside)


def test_every_page_is_in_the_navigation_once(site: Path) -> None:
    config = tomllib.loads((site / "zensical.toml").read_text(encoding="utf-8"))["project"]
    listed = list(places(config["nav"]))
    pages = {str(path.relative_to(site / "site-pages")) for path in site.rglob("*.md")}
    assert sorted(listed) == sorted(pages)
    assert {f"{path.stem}.md" for path in HOME.glob("docs/*.md")} <= pages
    assert {f"results/{path.stem}.md" for path in HOME.glob("docs/results/*.json")} <= pages
    assert config["theme"]["font"] is False  # no fonts from elsewhere
    assert "http" not in (site / "site-pages/style.css").read_text(encoding="utf-8")


def test_relative_links_lead_to_pages(site: Path) -> None:
    count = 0
    for page in site.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target and re.search(r"\.(md|svg|png|json)$", target):
                assert (page.parent / target).exists(), f"{page.name}: {target}"
                count += 1
    assert count > 100


def test_a_link_to_nowhere_stops_the_build() -> None:
    with pytest.raises(SystemExit, match=r"no docs/nowhere\.md"):
        build.relinked("[x](nowhere.md)", "docs/design.md", {})
    assert build.relinked("[code](../Makefile)", "docs/design.md", {}) == "code"
    fenced = "```\n[x](nowhere.md)\n```\n"
    assert build.relinked(fenced, "docs/design.md", {}) == fenced


def test_what_a_page_fetches_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    local = '<a href="https://x.org">x</a><script src="assets/a.js"></script><img src=b.png>'
    page.write_text(local)
    assert build.fetched(page) == []
    page.write_text(
        local + '<link rel=stylesheet href="//fonts.org/a.css"><img alt=x src=http://c>'
    )
    assert build.fetched(page) == ["//fonts.org/a.css", "http://c"]


def test_the_map_of_papers_links_to_the_api_and_the_results(site: Path) -> None:
    text = (site / "site-pages/papers.md").read_text(encoding="utf-8")
    assert "[`Part.bound`][subgame.refine.report.Part.bound]" in text
    assert "[`burch2014_fig3.run`][subgame.papers.burch2014_fig3.run]" in text
    assert "[`burch2014-fig3`](results/burch2014-fig3.md)" in text


def test_pages_of_papers_are_made_from_their_files(site: Path) -> None:
    """The copies in the repository are those of the build, and every reproduction is on one."""
    text = ""
    for paper in papers.papers():
        page = papers.page(paper)
        path = HOME / "docs/results" / f"{paper['page']}.md"
        assert path.read_text(encoding="utf-8") == page, "run python docs/site/papers.py"
        assert "](brown2017" not in page or paper["page"] == "brown2017"
        text += page
    named = re.findall(r"`subgame reproduce ([\w-]+)", text)
    known = {key for key in KEYS if re.match(r"burch|moravcik|brown|coin", key)}
    assert known - set(named) <= {"brown2017-hours"}
    assert "| Reach-Estimate + Distributional | 116.8 | 112.9 | 85.8 | 97.67 |" in text
    assert "| Maxmargin, plain (DCFR blueprint) | 1.22 | 5.285 | 4.33 |" in text
    assert "| unsafe, PCS, 6,400,000 iterations | 0.08 | 0.1918 | 2.40 |" in text


def test_the_index_of_results_fits_a_screen() -> None:
    text = (HOME / "docs/results/README.md").read_text(encoding="utf-8")
    assert text.count("\n") < 40
    assert max(len(cell.split()) for line in text.splitlines() for cell in line.split("|")) < 40


def test_llms_txt_names_pages_that_exist(site: Path) -> None:
    text = (site / "site-pages/llms.txt").read_text(encoding="utf-8")
    named = re.findall(r"[\w/-]+\.md", text)
    assert len(named) > 10
    assert [name for name in named if not (HOME / name).is_file()] == []


def test_pictures_are_as_drawn() -> None:
    for name, drawing in pictures.DRAWINGS.items():
        assert (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8") == drawing()


def test_results_are_escaped(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"what": "<b>|bold", "rows": [{"a": 1e-20, "b": null, "c": [1, 2]}]}')
    page = results.page_of(file)
    assert "&lt;b&gt;\\|bold" in page
    assert "| 0 | – | 1, 2 |" in page


def test_doctests_and_axes_are_markdown() -> None:
    text = docstrings.as_markdown("One.\n\n>>> 1 + 1\n2\n\nFlat [g][row] of `[a][b]`.")
    assert "```pycon\n>>> 1 + 1\n2\n```" in text
    assert r"[g]\[row] of `[a][b]`" in text


def test_notebooks_are_made_from_their_pages() -> None:
    """`make notebooks` runs them."""
    made = notebooks.notebooks()
    assert {*made} == {*notebooks.FOLDER.glob("*.ipynb")}
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, "run python docs/site/notebooks.py"
        cells = json.loads(text)["cells"]
        assert "pip install" in cells[1]["source"]
        for cell in cells:
            if cell["cell_type"] == "code" and not re.search("^[!%]", cell["source"], re.MULTILINE):
                compile(cell["source"], path.name, "exec")
