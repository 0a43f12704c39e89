"""What Python users expect: imports, mappings, short reprs, names that load again, type hints."""

from __future__ import annotations

import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

import subgame as sg
from subgame.games.base import TERMINAL
from subgame.papers import reproduce
from subgame.refine.continuations import biased
from subgame.refine.verbs.decompose import compact
from subgame.solve.evaluate import head_to_head
from subgame.spots.endgame import Endgame

HOME = Path(__file__).parents[1]
PAGES = [HOME / "README.md", HOME / "CONTRIBUTING.md", *HOME.glob("docs/*.md")]
AT = "after round 1"
IMPORTS = """
import subgame.solve.schedule as schedule
import subgame.refine.gadgets as gadgets
import subgame.holdem, subgame.gambit, subgame.openspiel
from subgame.holdem import Range, endgame
from subgame.gambit import loads
from subgame.openspiel import policy
import subgame as sg
assert schedule.CFRPlus is sg.CFRPlus and gadgets.Resolve is sg.Resolve
assert endgame is sg.holdem.endgame is sg.games.holdem.endgame and loads is subgame.gambit.loads
assert subgame.holdem.cards.Deck is sg.holdem.Deck
sg.games.conformance.check(sg.games.load("kuhn"))
"""


def test_modules_are_imported_by_the_names_that_the_package_shows() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_in_the_documentation_are_found_as_attributes(page: Path) -> None:
    """Names written with brackets are called as they stand, without an import of their own."""
    for name in re.findall(r"\b(?:subgame|sg)((?:\.\w+)+)\(", page.read_text(encoding="utf-8")):
        assert callable(pkgutil.resolve_name(f"subgame{name}"))


# Mappings ------------------------------------------------------------------------------------
def test_a_strategy_is_a_mapping() -> None:
    tree = sg.compile(sg.games.load("kuhn"))
    strategy = sg.Strategy.random(tree, 3)
    assert isinstance(strategy, Mapping)
    assert dict(strategy) == strategy.table()
    assert len(strategy) == len([*strategy]) == 12
    assert "K" in strategy
    assert "Z" not in strategy
    assert cast(Any, 3) not in strategy
    assert strategy.get("Z") is None
    assert len({strategy, sg.Strategy.random(tree, 3)}) == 2  # two objects, as before
    with pytest.raises(KeyError, match="There is no infoset called 'Z'"):
        strategy["Z"]


@dataclass(frozen=True)
class BothState(sg.State):
    """Each player moves once and sees nothing, which both infosets are called after."""

    done: str = ""

    def current_player(self) -> int:
        return len(self.done) if len(self.done) < 2 else TERMINAL

    def legal_actions(self) -> tuple[str, ...]:
        return ("l", "r")

    def child(self, action: str) -> BothState:
        return BothState(self.done + action)

    def returns(self) -> tuple[float, float]:
        return (1.0, -1.0) if self.done[0] == self.done[1] else (-1.0, 1.0)

    def information_state(self, player: int) -> str | None:
        return "nothing" if player == self.current_player() else None


class Both(sg.Game):
    name = "both"

    def new_initial_state(self) -> BothState:
        return BothState()


def test_infosets_that_both_players_have_are_told_apart() -> None:
    strategy = sg.Strategy.random(sg.compile(Both()), 1)
    assert list(strategy) == ["player 0: nothing", "player 1: nothing"]
    assert dict(strategy) == strategy.table()
    assert "nothing" not in strategy
    assert "player 1: nothing" in strategy


@pytest.mark.parametrize("name", ["leduc-ranks", "liars-dice(dice=1, faces=3)"])
def test_a_saved_strategy_is_loaded_without_its_tree(tmp_path: Path, name: str) -> None:
    strategy = sg.Strategy.random(sg.compile(sg.games.load(name)), 1)
    strategy.save(tmp_path / "a.safetensors")
    assert dict(sg.Strategy.load(tmp_path / "a.safetensors")) == dict(strategy)


def test_a_saved_strategy_of_a_game_without_a_name_asks_for_the_tree(tmp_path: Path) -> None:
    river = sg.holdem.endgame("Qs Jh 2h 8d 3c", 100, (200, 150), ("AA", "KK"), "river: a")
    tree = sg.compile(river)
    sg.Strategy.uniform(tree).save(tmp_path / "a.safetensors")
    with pytest.raises(sg.SubgameError, match="pass the tree"):
        sg.Strategy.load(tmp_path / "a.safetensors")
    assert len(sg.Strategy.load(tmp_path / "a.safetensors", tree)) == tree.num_infosets


# Reprs ---------------------------------------------------------------------------------------
def results() -> list[Any]:
    """One of every public result."""
    tree = sg.compile(sg.games.load("leduc-ranks"))
    solved = sg.solve(tree, iterations=2)
    blueprint = solved.strategy
    refined = sg.refine(tree, blueprint, at=AT, iterations=2)
    limited = sg.depth_limited(tree, blueprint, at=AT)
    river = sg.holdem.endgame("Qs Jh 2h 8d 3c", 100, 200, ("66+,AK", "random"), "river: a")
    ranges = sg.solve(sg.compile(river), "dcfr", iterations=2)
    endgame = Endgame.of(ranges.strategy)
    small, large = (
        sg.compile(sg.games.load("no-limit-kuhn", stack=3, bets=b)) for b in ("fcpa", "all")
    )
    nested = sg.nest(large, sg.solve(small, iterations=2).strategy, iterations=2)
    kept = sg.cfr_d(sg.games.load("leduc-ranks"), iterations=1, subgame_iterations=1, at=AT)
    return [
        tree,
        solved,
        solved.exploitability,
        blueprint,
        sg.best_response(tree, blueprint, 0),
        head_to_head(tree, blueprint, blueprint),
        refined,
        *refined.parts,
        limited,
        sg.solve_limited(limited),
        biased(blueprint, 1),
        river,
        *river.ranges,
        ranges,
        endgame,
        endgame.decision("c"),
        nested,
        *nested.answers,
        kept,
        compact(tree, blueprint, at=AT),
        *sg.cut(tree, AT),
        reproduce("coin-toss"),
        sg.games.load("kuhn"),
    ]


def test_reprs_are_one_short_line() -> None:
    for result in results():
        shown = repr(result)
        assert "\n" not in shown
        assert len(shown) < 250, shown
        assert "array(" not in shown


# Type hints ----------------------------------------------------------------------------------
def test_the_wheel_says_that_it_is_typed() -> None:
    """Hatchling takes every file of the package that git does not ignore."""
    assert (Path(inspect.getfile(sg)).parent / "py.typed").is_file()
    config = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))
    assert config["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["src/subgame"]}
    assert "exclude" not in config["tool"]["hatch"]["build"]
    ignored = (HOME / ".gitignore").read_text(encoding="utf-8").split()
    assert not [line for line in ignored if Path("src/subgame/py.typed").match(line)]
