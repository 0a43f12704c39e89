"""The structure of the code, measured: see "Rules" in CONTRIBUTING.md and `tools/structure.py`."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import subgame as sg
from structure import LONG, ROOT, Structure, components

LINES, IGNORED = 500, 10
TESTS = Path(__file__).parent
KERNELS = {"terminals", "add_lines", "add_up", "_ranks", "even_out", "turn", "run_values"}
"""Kernels, whose arguments are pointers and sizes one by one."""


@pytest.fixture(scope="module")
def structure() -> Structure:
    return Structure(ROOT)


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}
    assert sorted(sorted(group) for group in components(graph)) == [["a", "b", "c"], ["d"]]


def test_files_are_short(structure: Structure) -> None:
    sources = {module.path: module.text for module in structure.modules.values()}
    sources |= {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    lines = {str(path): len(text.splitlines()) for path, text in sources.items()}
    assert not {path: count for path, count in lines.items() if count > LINES}


def test_no_module_imports_one_that_imports_it(structure: Structure) -> None:
    """Also not through an import inside a function, or for type checkers."""
    assert not structure.circles()
    assert not structure.circles(for_types=True)


def test_types_show_the_kinds_of_trees_and_engines(structure: Structure) -> None:
    assert not structure.casts


def test_private_names_stay_in_their_package(structure: Structure) -> None:
    """Numba's inner parts, which make object code, are the exception."""
    outside = [place for place in structure.private if "engines.numba.objects" not in place]
    known = ("data._version", "atexit._run_exitfuncs")  # PyTorch's; how `os._exit` is prepared
    assert not [place for place in outside if not place.endswith(known)]


def test_names_say_what_variables_are(structure: Structure) -> None:
    """In the package, tests, tools, benchmarks and pages."""
    assert not structure.vague
    assert not any(structure.vague_elsewhere.values()), structure.vague_elsewhere


def test_functions_are_short(structure: Structure) -> None:
    """Commands, whose signature is their options, have up to 100 lines."""
    long = [size for size in structure.long if not size[1].endswith("_command")]
    assert len(long) <= 4, (LONG, long)
    assert structure.long[0][0] <= 100
    assert len(structure.long_code) <= 2, structure.long_code


def test_parameter_lists_are_short(structure: Structure) -> None:
    names = {place.split()[-1]: size for size, place in structure.wide}
    wide = {name for name in names if name not in KERNELS}
    assert len(wide) <= 8, wide
    assert max(size for name, size in names.items() if name not in KERNELS) <= 12


def test_signatures_say_what_they_take(structure: Structure) -> None:
    assert structure.anys <= 380


def test_checkers_and_the_formatter_are_obeyed(structure: Structure) -> None:
    text = "\n".join(module.text for module in structure.modules.values())
    assert len(re.findall(r"#\s*type:\s*ignore", text)) <= IGNORED
    assert not re.findall(r"#\s*fmt:\s*(?:skip|off)", text)


def test_every_exported_name_has_an_example() -> None:
    """They run as doctests."""
    without = [
        name for name in sg.__all__ if ">>>" not in (inspect.getdoc(getattr(sg, name)) or "")
    ]
    assert not without
    assert 35 <= len(sg.__all__) <= 45
