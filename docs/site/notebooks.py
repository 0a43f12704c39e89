"""Notebooks of the tutorials: ``python docs/site/notebooks.py`` writes docs/notebooks.

A notebook has the text and the code of its page, without prompts and results, which it computes.
`tools/run_notebooks.py` runs all of them in an empty environment.
"""

from __future__ import annotations

import doctest
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "notebooks"
PAGES = [*sorted((ROOT / "docs" / "tutorials").glob("*.md")), ROOT / "docs" / "notebook.md"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SITE = "https://subgame-solver.github.io/subgame/"
START = """This notebook needs `subgame` with the extra `notebook`. In a clone of the repository:

```
python3 -m venv env && . env/bin/activate
pip install '.[notebook]' jupyterlab
jupyter lab docs/notebooks
```

The first cells take longer, because kernels are compiled once."""


def notebook(page: Path) -> dict[str, Any]:
    """A page as a notebook, without results."""
    cells = [_cell("markdown", START)]
    text, at = page.read_text(encoding="utf-8"), 0
    for match in BLOCK.finditer(text):
        cells += [_cell("markdown", part) for part in _prose(text[at : match.start()], page)]
        cells += [_cell("code", code) for code in _codes(match[1], match[2])]
        at = match.end()
    cells += [_cell("markdown", part) for part in _prose(text[at:], page)]
    cells[0], cells[1] = cells[1], cells[0]  # the title, then what to install
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    language = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": language},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(kind: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": text}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _prose(text: str, page: Path) -> Iterator[str]:
    """Text with links to other pages as links to the site; pictures are left out."""

    def link(match: re.Match[str]) -> str:
        target, _, anchor = match[2].partition("#")
        place = (page.parent / target).resolve()
        if "://" in match[2] or not place.is_relative_to(ROOT / "docs") or place.suffix != ".md":
            return match[0] if "://" in match[2] else match[1]
        name = place.relative_to(ROOT / "docs").with_suffix("").as_posix()
        return f"[{match[1]}]({SITE}{name}/{'#' + anchor if anchor else ''})"

    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", link, text).strip()
    if text:
        yield text


def _codes(kind: str, block: str) -> Iterator[str]:
    """The cells of a block of code: one for each result that the page shows."""
    if kind == "pycon":
        lines: list[str] = []
        for example in doctest.DocTestParser().get_examples(block):
            lines.append(example.source.rstrip("\n"))
            if example.want:
                yield "\n".join(lines)
                lines = []
        if lines:
            yield "\n".join(lines)
    elif kind == "python" and (file := re.match(r"# (\w+\.py)\n", block)):
        yield f"%%writefile {file[1]}\n{block.rstrip()}"
    elif kind == "python":
        yield block.rstrip()
    else:
        commands = [f"!{{sys.executable}} -m {line}" for line in block.rstrip().splitlines()]
        yield "\n".join(["import sys\n", *commands])


def notebooks() -> dict[Path, str]:
    """The content of every notebook, by its path."""
    return {
        FOLDER / f"{page.stem}.ipynb": json.dumps(notebook(page), indent=1, ensure_ascii=False)
        + "\n"
        for page in PAGES
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in notebooks().items():
        path.write_text(text, encoding="utf-8")
