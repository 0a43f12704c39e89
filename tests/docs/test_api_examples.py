"""Every name of the documented packages has an example, which runs as a doctest."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HOME = Path(__file__).parents[2]
PACKAGES = ["subgame", "subgame.games", "subgame.holdem", "subgame.papers", "subgame.play"]
PACKAGES += ["subgame.gambit", "subgame.abstraction"]
IMPORT = re.compile(r"^(?:>>> )?from (subgame[\w.]*) import ([\w, ]+)$", re.MULTILINE)
WITHOUT = {
    "subgame.papers.last_street": "LastStreet",  # PyTorch
    "subgame.refine.sequence.leaf_network": "load_leaf_networks save_leaf_networks "
    "train_leaf_network",  # PyTorch
    "subgame.notebook": "explore",  # anywidget
    "subgame.play.hunl.street": "BucketValues LimitedStreet solve_street",  # takes seconds
    "subgame.play.aivat": "CheckDown SelfPlay",  # docs/play.md runs them
    "subgame.games.arrays": "Moves",  # CONTRIBUTING has a game in arrays
    "subgame.refine.ranges.compact_spots": "open_spot save_compact",  # docs/recipes.md
    "subgame.engines.base": "EngineBase",  # CONTRIBUTING builds an engine of these
    "subgame.engines.contract": "Regrets",
    "subgame.solve.cfr": "Cfr",
    "subgame.refine.learners": "Choice",
    "subgame.refine.limit": "LeafValues",
    "subgame.refine.sequence.knowledge": "apart",
}
"""Module -> names without an example, by reason."""


def documented() -> Iterator[tuple[str, str]]:
    """Module and name: what packages export, and what pages import."""
    for package in PACKAGES:
        yield from ((package, n) for n in getattr(importlib.import_module(package), "__all__", ()))
    for page in [HOME / "README.md", HOME / "CONTRIBUTING.md", *(HOME / "docs").rglob("*.md")]:
        for module, names in IMPORT.findall(page.read_text(encoding="utf-8")):
            yield from ((module, name.partition(" as ")[0].strip()) for name in names.split(","))


def has_example(value: Any) -> bool:
    """Whether something, one of its methods, or its module by its name, has an example."""
    texts = [value.__doc__]
    if inspect.isclass(value):
        texts += [getattr(inside, "__doc__", "") for inside in vars(value).values()]
    module = importlib.import_module(value.__module__).__doc__ or ""
    examples = "".join(re.findall(r">>>.*|\.\.\. .*", module))
    return any(">>>" in (text or "") for text in texts) or value.__name__ in examples


def test_documented_names_have_examples() -> None:
    pytest.importorskip("anywidget", reason="anywidget is not installed (the extra 'notebook')")
    missing: dict[str, set[str]] = {}
    for module, name in {*documented()}:
        value = getattr(importlib.import_module(module), name)
        is_code = inspect.isclass(value) or inspect.isroutine(value)
        if is_code and not has_example(value):
            missing.setdefault(value.__module__, set()).add(value.__name__)
    unexpected = {m: names - {*WITHOUT.get(m, "").split()} for m, names in missing.items()}
    assert {module: names for module, names in unexpected.items() if names} == {}


def test_a_name_without_an_example_is_seen() -> None:
    def bare() -> None:
        """Nothing to run."""

    assert not has_example(bare)
    assert has_example(importlib.import_module("subgame").Strategy)
