"""The size and shape of the code, counted: see "Rules" in CONTRIBUTING.md."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import feature_lines
import subgame as sg
from feature_lines import kind_checks, matches, nodes, parameters

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "subgame"
CODE = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")])
LINES, PARAMETERS, CHECKS, IGNORED = 500, 10, 5, 10
KERNELS = {"terminals", "add_lines"}
"""Triton kernels, whose arguments are pointers and sizes one by one."""


def in_package(text: str) -> list[str]:
    return [str(Path("src", "subgame", place)) for place in matches(PACKAGE, text)]


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
    asked = kind_checks(PACKAGE)
    assert len(asked) <= CHECKS, asked


def test_checkers_and_the_formatter_are_obeyed() -> None:
    ignored = in_package(r"#\s*type:\s*ignore")
    assert len(ignored) <= IGNORED, ignored
    assert not in_package(r"#\s*fmt:\s*(skip|off)")


ONCE = {
    "regret matching outside kernels": ("engines/arrays.py", r"^def regret_matching\("),
    "normalisation by pi_{-i}": ("engines/arrays.py", r"^def normalise\(values: Array, weight"),
    "what a gift adds": ("refine/payoffs.py", r"^def carried_gift\("),
    "what a root infoset receives": ("refine/payoffs.py", r"^def received_gift\("),
    "gifts are split": ("refine/payoffs.py", r"\bgadget\.split\b"),
    "taking a part of a strategy": ("tree/parts.py", r"^def restrict\("),
    "putting a part back": ("tree/parts.py", r"^def embed\("),
    "the linear program of a best plan": ("solve/lp.py", r"^def maximin\("),
    "the CFR loop": ("solve/cfr.py", r"^class Cfr\b"),
    "Resolve and Maxmargin learn": ("refine/learners.py", r"^class Choice\b"),
    "random alternatives": ("refine/learners.py", r"^class RandomAlternative\b"),
}
"""What the redesign made one: where it stands, and what only that file contains."""


@pytest.mark.parametrize("what", ONCE)
def test_one_implementation(what: str) -> None:
    home, pattern = ONCE[what]
    found = {place.rpartition(":")[0] for place in in_package(pattern)}
    assert found == {f"src/subgame/{home}"}


def test_regrets_are_matched_in_kernels_and_in_one_function() -> None:
    """Positive parts divided by their sum: in engines, and in `regret_matching` for the rest."""
    matched = in_package(r"(regret\w*|R)\b.*\.(clip|clamp)\(min=0\)|maximum\(regret\w*, 0")
    assert matched
    assert {place for place in matched if "/engines/" not in place} == set()


def test_every_exported_name_has_an_example() -> None:
    """They run as doctests."""
    without = [
        name for name in sg.__all__ if ">>>" not in (inspect.getdoc(getattr(sg, name)) or "")
    ]
    assert not without
    assert 35 <= len(sg.__all__) <= 45


def test_features_are_counted_apart() -> None:
    """Every file belongs to a feature, and what is counted is all there is."""
    found = feature_lines.counted(PACKAGE, before=False)["lines"]
    assert set(found) <= {*feature_lines.NEW, *feature_lines.SHARED}
    files = PACKAGE.rglob("*.py")
    every = (len(feature_lines.code_lines(path.read_text(encoding="utf-8"))) for path in files)
    assert sum(found.values()) == sum(every)
    assert all(found[name] > 0 for name in (*feature_lines.NEW, *feature_lines.SHARED))


def test_every_feature_that_came_later_names_what_there_is() -> None:
    """No pattern is left over from something that was renamed or removed."""
    names = set()
    for path in PACKAGE.rglob("*.py"):
        file = path.relative_to(PACKAGE).as_posix()
        inner = feature_lines.definitions(path.read_text(encoding="utf-8"))
        names |= {file, *(f"{file}:{name}" for name, _ in inner)}
    texts = (*feature_lines.MOVED.values(), *feature_lines.NEW.values())
    patterns = {word.lstrip("!") for text in texts for word in text.split()}
    assert not {p for p in patterns if not any(feature_lines.fits(name, p) for name in names)}
