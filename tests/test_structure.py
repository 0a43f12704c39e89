"""The size and shape of the code, counted: see "Rules" in CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "subgame"
CODE = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")])
LINES, PARAMETERS, CHECKS, IGNORED = 500, 10, 5, 10
KINDS = {"PublicTree", "RangeTree", "SequenceTree"}
KERNELS = {"terminals", "add_lines"}
"""Triton kernels, whose arguments are pointers and sizes one by one."""


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def parameters(function: ast.FunctionDef) -> list[str]:
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def in_package(text: str) -> list[str]:
    pattern = re.compile(text)
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path in PACKAGE.rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def test_files_are_short() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in CODE
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > LINES
    }
    assert not long


def test_parameter_lists_are_short() -> None:
    long = {
        f"{path.relative_to(ROOT)}: {node.name}": len(parameters(node))
        for path in CODE
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef) and len(parameters(node)) > PARAMETERS
    }
    kernels = {f"src/subgame/engines/torch/triton_kernels.py: {name}" for name in KERNELS}
    assert set(long) <= kernels, long


def test_few_places_ask_for_the_kind_of_a_tree() -> None:
    """What differs between kinds is in `subgame.refine.kinds`, above the trees and the engines."""
    asked = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("tree", "engines")
        for node in nodes(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "issubclass")
        and KINDS & {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    ]
    assert len(asked) <= CHECKS, asked


def test_checkers_and_the_formatter_are_obeyed() -> None:
    ignored = in_package(r"#\s*type:\s*ignore")
    assert len(ignored) <= IGNORED, ignored
    assert not in_package(r"#\s*fmt:\s*(skip|off)")
