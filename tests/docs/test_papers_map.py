"""The map of papers to code: every name on it exists, and no number of a paper is missing."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
PAGE = (HOME / "docs/papers.md").read_text(encoding="utf-8")
ITEMS = {
    "Burch": "Definition 1; Theorem 1-3; Figure 1-5",
    "Moravčík": "Definition 1-2; Theorem 1; Lemma 2; LP1; LP2; LP3; Gadget 1-3; Figure 1-5",
    "Brown & Sandholm 2017": (
        "Equation 1-5; Theorem 1-2; Figure 1-2; Figure 3a; Figure 3b; Figure 4-7; Table 1-5; "
        "Appendix A; Appendix B; Appendix C; Appendix C.1; Appendix D; Appendix E; Appendix F; "
        "Appendix G; Appendix H; Appendix I"
    ),
    "Brown, Sandholm & Amos 2018": "Proposition 1; Figure 1-2; Table 1",
}
"""What the papers number, by a word of the heading of their section."""


def rows(text: str = PAGE) -> list[list[str]]:
    """The cells of every line of a table."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [line for line in cells if set(line[0]) != {"-"} and line[2] != "code"]


def numbered(items: str) -> set[str]:
    """Every item of a list such as ``Theorem 1-3; LP1``."""
    out = set()
    for item in items.split("; "):
        word, _, span = item.partition(" ")
        first, dash, last = span.partition("-")
        out |= {f"{word} {n}" for n in range(int(first), int(last) + 1)} if dash else {item}
    return out


def exists(name: str) -> bool:
    """Whether a dotted name is a module of the package, or is defined in one."""
    path, parts = HOME / "src", name.split(".")
    while parts and (path / parts[0]).is_dir():
        path /= parts.pop(0)
    file = path / f"{parts[0]}.py" if parts else path / "__init__.py"
    if not file.is_file():
        return False
    here: ast.AST | None = ast.parse(file.read_text(encoding="utf-8"))
    for part in parts[1:]:
        here = next((node for node in getattr(here, "body", []) if part in defined(node)), None)
    return here is not None


def defined(node: ast.AST) -> list[str]:
    """The names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def test_every_code_exists() -> None:
    named = [name for row in rows() for name in re.findall(r"`(subgame[\w.]+)`", row[2])]
    assert len(named) > 80
    assert [name for name in named if not exists(name)] == []
    assert not exists("subgame.refine.gadgets.Rersolve")
    assert not exists("subgame.refine.gadgetz.Resolve")


def test_every_test_and_result_exists() -> None:
    for row in rows():
        for name in re.findall(r"`([^`]+)`", row[3]):
            if not name.startswith("tests/"):
                assert (HOME / f"docs/results/{name}.json").is_file(), name
                continue
            path, _, function = name.partition("::")
            assert (HOME / path).exists(), name
            if function:
                text = (HOME / path).read_text(encoding="utf-8")
                assert f"def {function}(" in text, name


@pytest.mark.parametrize("paper", ITEMS)
def test_no_number_of_a_paper_is_missing(paper: str) -> None:
    sections = [text for text in PAGE.split("\n## ") if text.startswith(paper)]
    assert len(sections) == 1
    said = {item for row in rows(sections[0]) for item in row[0].split(", ")}
    assert numbered(ITEMS[paper]) <= said


def test_every_line_shows_something() -> None:
    for row in rows():
        assert len(row) == 4, row
        assert all(row), row
