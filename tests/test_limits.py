"""Limits on memory and depth: work that is too large is refused before it is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

import subgame as sg
from subgame import errors, memory
from subgame.engines.numba import ranges
from subgame.engines.torch.sequence import TorchSequenceEngine
from subgame.errors import MemoryLimitError
from subgame.games.base import TERMINAL, Game, State
from subgame.games.holdem.cards import Deck
from subgame.interop import gambit
from subgame.memory import Allowance
from subgame.tree.ranges import betting_tree, tree
from subgame.tree.ranges.tree import RangeSide, RangeTree, compile_range_tree
from subgame.tree.sequence import walk
from subgame.tree.sequence.spot_checks import refuse_large


class Moves(State):
    """Two players in turn, two actions each; over after `length` moves."""

    length: ClassVar[float] = 10
    letters: ClassVar[int] = 1
    alive: ClassVar[int] = 0
    most: ClassVar[int] = 0

    def __init__(self, moves: str = "") -> None:
        self.moves = moves
        Moves.alive += 1
        Moves.most = max(Moves.most, Moves.alive)

    def __del__(self) -> None:
        Moves.alive -= 1

    def current_player(self) -> int:
        return len(self.moves) % 2 if len(self.moves) < self.length else TERMINAL

    def legal_actions(self) -> tuple[str, ...]:
        return ("a", "b")

    def child(self, action: str) -> Self:
        return type(self)(self.moves + action)

    def returns(self) -> tuple[float, float]:
        return 1.0, -1.0

    def information_state(self, player: int) -> str:
        return self.moves * self.letters


class PathGame(Game):
    name = "path"

    def new_initial_state(self) -> Moves:
        return Moves()


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> PathGame:
    monkeypatch.setattr(Moves, "alive", 0)
    monkeypatch.setattr(Moves, "most", 0)
    return PathGame()


# Games walked history by history ---------------------------------------------------------------
def test_names_count(rules: PathGame, monkeypatch: pytest.MonkeyPatch) -> None:
    sg.compile(rules, memory_limit="2MB")
    monkeypatch.setattr(Moves, "letters", 1000)  # about 10 MB of names
    with pytest.raises(MemoryLimitError, match=r"1,025 histories so far needs at least"):
        sg.compile(rules, memory_limit="2MB")


def test_a_walk_holds_one_state_per_move(rules: PathGame) -> None:
    sg.compile(rules)
    assert Moves.most <= 2 * Moves.length + 6  # the spot check walks two at a time


def test_a_game_that_never_ends_is_refused(
    rules: PathGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Moves, "length", float("inf"))
    monkeypatch.setattr(walk, "DEEPEST", 300)
    monkeypatch.setattr(memory, "available", lambda: float("inf"))
    with pytest.raises(sg.SubgameError, match=r"path: history 'a a .* goes on after 300 moves"):
        sg.compile(rules, memory_limit=None)


def test_a_refusal_asks_whether_the_game_ends(
    rules: PathGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Moves, "length", float("inf"))
    with pytest.raises(MemoryLimitError, match=r"more than 200 moves was found: does the game"):
        sg.compile(rules)
    monkeypatch.setattr(Moves, "length", 100)
    with pytest.raises(MemoryLimitError, match=r"A larger memory_limit allows it\.$"):
        sg.compile(rules)


def test_a_tree_that_is_far_too_large_is_refused_before_it_is_walked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = 0
    child = sg.games.load("goofspiel").new_initial_state().__class__.child

    def counted(self: Any, action: str) -> Any:
        nonlocal made
        made += 1
        return child(self, action)

    game = sg.games.load("goofspiel(cards=13)")  # about 10^20 histories
    monkeypatch.setattr(type(game.new_initial_state()), "child", counted)
    with pytest.raises(MemoryLimitError, match=r"has more than [\d,]+ histories, as"):
        sg.compile(game, memory_limit="1GB")
    assert made < 500


@pytest.mark.parametrize("name", ["kuhn", "leduc", "goofspiel", "liars-dice"])
def test_playouts_never_refuse_a_tree_that_fits(name: str) -> None:
    """The estimate is at most a tenth of the median, so that a tree of just this size passes."""
    game = sg.games.load(name)
    size = len(walk.walk(game))
    refuse_large(game, None, Allowance(size * walk.BYTES_PER_HISTORY))
    with pytest.raises(MemoryLimitError):  # the same playouts refuse a limit of one history
        refuse_large(game, None, Allowance(0))


def chain(moves: int) -> str:
    """An .efg file in which player 1 and player 2 go on, or end the game, by turns."""
    lines = ['EFG 2 R "chain" { "A" "B" } ""']
    lines += [f'p "" {k % 2 + 1} {k + 1} "i{k}" {{ "on" "end" }} 0' for k in range(moves)]
    return "\n".join([*lines, 't "" 1 "" { 1, -1 }', *['t "" 0'] * moves])


def test_long_chains_are_solved_and_longer_ones_refused() -> None:
    result = sg.compile(gambit.loads(chain(3000)))
    assert result.num_infosets == 3000
    assert sg.solve(result, iterations=2).iterations == 2
    with pytest.raises(sg.SubgameError, match="goes on after 10,000 moves; only games that end"):
        sg.compile(gambit.loads(chain(10_001)))


# The memory that is available ------------------------------------------------------------------
def pretend_system(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> None:
    """A system that says this."""
    monkeypatch.setattr(memory, "SYSTEM", folder / "meminfo")
    monkeypatch.setattr(memory, "OWN", folder / "own")
    monkeypatch.setattr(memory, "GROUP", folder)
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("memory_", "memory.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, 4096_000),
        ({"memory_max": "max", "memory_current": "5", "memory_stat": ""}, 4096_000),
        ({"memory_max": "9000", "memory_current": "5000", "memory_stat": "inactive_file 7"}, 4007),
        ({"memory_max": "10", "memory_current": "50", "memory_stat": "file 0"}, 0),
        (
            {
                "memory__memory_limit_in_bytes": "800",
                "memory__memory_usage_in_bytes": "300",
                "memory__memory_stat": "inactive_file 0",
            },
            500,
        ),
        (  # a group inside
            {
                "own": "0::/\n4:cpu,memory:/inside\n",
                "memory__inside__memory_limit_in_bytes": "70",
                "memory__inside__memory_usage_in_bytes": "30",
                "memory__inside__memory_stat": "inactive_file 0",
            },
            40,
        ),
    ],
)
def test_available_memory(
    files: dict[str, str], free: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_system(
        tmp_path, monkeypatch, meminfo="MemTotal: 9 kB\nMemAvailable: 4000 kB\n", **files
    )
    assert memory.available() == free


def test_no_limit_exceeds_what_is_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, bets="river: 1x a")
    spot = sg.compile(game, memory_limit=None)
    pretend_system(tmp_path, monkeypatch, meminfo="MemAvailable: 3 kB\n")
    for wanted in (sg.games.load("leduc"), game):
        with pytest.raises(MemoryLimitError, match=r"over the 3\.0 KiB of memory that are"):
            sg.compile(wanted, memory_limit="100GiB")
    with pytest.raises(MemoryLimitError, match="available"):
        sg.compile(sg.games.load("leduc"), memory_limit=None)
    sg.compile(game, memory_limit=None)  # a GPU may solve it
    monkeypatch.setattr(ranges, "SMALL", 0)
    with pytest.raises(MemoryLimitError, match="solving it for one player needs"):
        sg.solve(spot, "dcfr", iterations=1)


# Hold'em -----------------------------------------------------------------------------------------
BETS = "all: 0.33x 0.75x 1.25x"


def refused(monkeypatch: pytest.MonkeyPatch, *args: Any, **options: Any) -> str:
    """The error for a spot, which must come before betting and hands are laid out."""
    for name in ("grow", "lay_out_hands"):
        monkeypatch.setattr(tree, name, None)
    with pytest.raises(MemoryLimitError) as error:
        sg.compile(sg.holdem.endgame(*args, **options))
    return str(error.value)


def test_a_flop_is_refused_before_it_is_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    said = refused(monkeypatch, "QsJh2h", 550, 9750, bets=BETS)
    assert "solving it needs at least" in said
    assert "over the limit of 8.0 GiB" in said


def test_betting_that_explodes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(betting_tree, "MOST_STATES", 500)
    said = refused(monkeypatch, "QsJh2h8d3c", 550, 10**12, bets=BETS)
    assert "the betting has more than 500 different betting states" in said
    monkeypatch.setattr(betting_tree, "MOST_ACTIONS", 100)
    said = refused(monkeypatch, "QsJh2h8d3c", 550, 10**12, bets="all: 33")
    assert "the betting has more than 100 actions in a row" in said


def test_boards_are_counted_before_they_are_dealt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "grow", None)
    with pytest.raises(MemoryLimitError, match=r"hunl.*needs at least \d\d\.\d GiB"):
        sg.compile(sg.holdem.hunl())


@pytest.mark.parametrize("bets", ["all: 1x / cap 2", "all: 2 1x; cap 2", "all: a"])
@pytest.mark.parametrize("merge", [True, False])
def test_the_estimate_is_exact(bets: str, merge: bool) -> None:
    game = sg.holdem.endgame("Qs Jh Th Ks", 4, 30, bets=bets, deck=Deck("9TJQKA", "hs"))
    result = compile_range_tree(game, merge=merge)
    need = 8 * sum(result.stored(p) for p in (0, 1))
    compile_range_tree(game, merge=merge, memory_limit=need)
    with pytest.raises(MemoryLimitError) as error:
        compile_range_tree(game, merge=merge, memory_limit=need - 1)
    assert f"needs {errors.human_bytes(need)}, over" in str(error.value)


def test_long_betting_needs_no_recursion() -> None:
    game = sg.holdem.endgame("QsJh2h8d3c", 2, 1500, ("AsAh", "KsKh"), "river: 1")
    result = compile_range_tree(game)
    assert max(len(state.history) for state in result.streets[0].states[0]) > 1000


# Names -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("merge", [True, "boards", False])
def test_an_index_of_names_is_their_inverse(merge: Any) -> None:
    game = sg.holdem.endgame("Qs Jh Th", 4, 8, bets="all: 1x / cap 1", deck=Deck("9TJQKA", "hs"))
    for side in compile_range_tree(game, merge=merge).players:
        assert len(side.index) == len(side.names)
        for i in range(0, len(side.names), 7):
            assert side.index[side.names[i]] == i
        name = side.names[0]
        hand, board, _ = name.split(" | ", 2)
        for wrong in ("", "typo", hand, f"{hand} | {board}", f"{board} | {hand} | ", name + "x"):
            assert wrong not in side.index


def test_a_typo_does_not_list_all_names(monkeypatch: pytest.MonkeyPatch) -> None:
    name = RangeSide.name
    asked: list[int] = []

    def named(side: RangeSide, i: int) -> str:
        asked.append(i)
        return name(side, i)

    monkeypatch.setattr(RangeSide, "name", named)  # before `names` is cached with it
    result = sg.compile(sg.holdem.endgame("QsJh2h8d", 100, 100, bets="all: a"))
    assert isinstance(result, RangeTree)
    assert result.num_infosets > 20 * errors.SEARCHED
    strategy = sg.Strategy.uniform(result)
    with pytest.raises(sg.SubgameError, match=r"no infoset called 'typo'.* and [\d,]+ more"):
        strategy["typo"]
    assert 0 < len(asked) <= errors.SEARCHED


# PyTorch -----------------------------------------------------------------------------------------
def test_sequence_trees_have_an_estimate_on_a_device() -> None:
    pytest.importorskip("torch")
    leduc = sg.compile(sg.games.load("leduc"))
    need = TorchSequenceEngine(leduc, "cpu").estimate()
    numbers = 8 * sum(side.num_sequences for side in leduc.players)
    assert 5 * numbers < need < 200 * numbers
    TorchSequenceEngine(leduc, "cpu", memory_limit=need)
    with pytest.raises(MemoryLimitError, match=r"leduc needs about .* on cpu, and .* are there"):
        TorchSequenceEngine(leduc, "cpu", memory_limit=need - 1)


def test_allowances_say_what_sets_them() -> None:
    with pytest.raises(MemoryLimitError, match=r"^It needs 2.0 KiB, over the limit of 1.0 KiB\."):
        Allowance.of(1024).refuse("It", 2048)
