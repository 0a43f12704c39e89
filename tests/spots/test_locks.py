"""Node locking against plain recursion, and a linear program with chance in place of a decision."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subgame as sg
from brute_ranges import Brute
from subgame.engines.arrays import as_numpy
from subgame.engines.factory import engine
from subgame.errors import SubgameError
from subgame.games.holdem import Deck, Holdem, endgame
from subgame.games.holdem.game import HoldemState
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import Betting
from subgame.spots.endgame import Endgame, load, save
from subgame.spots.lines import follow_line
from subgame.spots.locks import Lock, locked, locked_spot, merging, read_locks
from subgame.tree.ranges.tree import range_tree

DECK = Deck("9TJQKA", "cd")
RIVER, TURN = "TcJdKc9dQd", "TcJdKc9d"
RANGES = ("AA,KQ,JT,Q9", "AK,QJ,T9,AcJd")
MIX = {"f": 0.4, "c": 0.6}


def spot(board: str = RIVER, **more: Any) -> Holdem:
    return endgame(board, 40, 60, RANGES, "50% a / raise a / cap 2", deck=DECK, **more)


def chance_in_place(game: Holdem, lock: Lock) -> Any:
    """The game in which chance takes the locked decisions, as a game of its own."""
    where = follow_line(game, lock.line).betting

    def mix(state: Any) -> Mapping[str, float] | None:
        if len(state.hands) < 2 or state.betting != where:
            return None
        hand = state.hands[where.player]
        for hands, mix in lock.hands.items():
            if Range.parse(hands, DECK).weights[hand] > 0:
                return mix
        return None

    class Locked(HoldemState):
        __slots__ = ()

        def current_player(self) -> int:
            return sg.games.base.CHANCE if mix(self) else super().current_player()

        def chance_outcomes(self) -> list[tuple[str, float]]:
            arguments = mix(self)
            if arguments is None:
                return super().chance_outcomes()
            return [(action, p) for action, p in arguments.items() if p]

        def child(self, action: str) -> Any:
            if mix(self) is None:
                return super().child(action)
            return type(self)(self.game, self.hands, self.board, self.betting.child(action))

        def is_public(self, action: str) -> bool:
            return mix(self) is not None or super().is_public(action)

    class LockedGame(Holdem):
        def new_initial_state(self) -> Any:
            return Locked(self, (), self.board, self.start())

    return LockedGame(game.rules, game.bets, game.board, game.ranges, game.deck)


@pytest.mark.parametrize(
    ("line", "hands", "device", "target"),
    [
        ("bet 20", {"random": MIX}, "cpu", 0.002),
        ("bet 20", {"AK,QJ": {"f": 1.0}, "T9": {"c": 0.5, "r60": 0.5}}, "cpu", 0.002),
        ("", {"AA": {"c": 1.0}, "KQ": {"r20": 0.25, "r60": 0.75}}, "cpu", 0.002),
        ("bet 20", {"AK,QJ": {"f": 1.0}, "T9": {"c": 0.5, "r60": 0.5}}, "torch", 0.1),
    ],
)
def test_the_value_is_that_of_the_game_with_chance(
    line: str, hands: dict[str, Any], device: str, target: float
) -> None:
    if device == "torch":
        pytest.importorskip("torch")
    lock = Lock(line, hands)
    tree = locked_spot(spot(), [lock])
    most = 2000 if device == "cpu" else 400
    result = sg.solve(tree, "dcfr", target=target, iterations=most, device=device, check_every=25)
    other = sg.compile(chance_in_place(spot(), lock), explicit=True)
    exact = sg.solve_lp(other).value
    assert result.value == pytest.approx(exact, abs=2.5 * target)
    assert abs(sg.solve_lp(sg.compile(spot(), explicit=True)).value - exact) > 0.05


@pytest.mark.parametrize("merge", [False, "boards"])
def test_best_responses_keep_to_the_lock(merge: Any) -> None:
    game = spot(TURN)
    lock = Lock("c c / * r20", {"AK,QJ": MIX, "T9": {"c": 1.0}})
    tree = locked(range_tree(sg.compile(game, merge=merge)), [lock])
    where = follow_line(game, "c c / 9c r20").betting

    def fixed(hand: int, board: tuple[int, ...], here: Betting) -> Mapping[str, float] | None:
        if here.history != where.history:
            return None
        for hands, mix in lock.hands.items():
            if Range.parse(hands, DECK).weights[hand] > 0:
                return {action: mix.get(action, 0.0) for action in game.actions(here)}
        return None

    strategy = sg.solve(tree, "dcfr", iterations=10).strategy
    gap, brute = sg.exploitability(tree, strategy), Brute(game, strategy, fixed)
    wins = [brute.value(p, best=True) for p in (1, 0)]
    assert gap.per_seat == pytest.approx(wins, abs=1e-5)
    if merge and find_spec("torch"):  # the same by the GPU's code
        gap = sg.exploitability(tree, strategy, device="torch")
        assert gap.per_seat == pytest.approx(wins, abs=1e-5)
    free = Brute(game, strategy).value(1, best=True)
    assert free > gap.per_seat[0] + 0.01  # without the lock more could be won
    hand = strategy[f"KdQc | {' '.join(['Tc', 'Jd', 'Kc', '9d', 'Ac'])} | cc/"]
    assert set(hand) == {"c", "r20", "r60"}


@pytest.mark.parametrize("device", ["cpu", "torch"])
def test_values_of_rows_keep_to_the_lock(device: str) -> None:
    """At the roots they are those of `respond`, which the test above holds to plain recursion."""
    if device == "torch":
        pytest.importorskip("torch")
    lock = Lock("c c / * r20", {"AK,QJ": MIX, "T9": {"c": 1.0}})
    tree = locked(range_tree(sg.compile(spot(TURN), merge=False)), [lock])
    free = range_tree(sg.compile(spot(TURN), merge=False))
    theirs = sg.Strategy.random(free, seed=2).probs
    for p in (0, 1):
        result = []
        for form in (tree, free):
            run = engine(form, device=device)
            reach = run.roots(1 - p)
            rows = as_numpy(run.row_values(p, theirs[1 - p], reach)[0][0])
            best = run.respond(p, run.plan(1 - p, theirs[1 - p], as_numpy(reach))).roots
            np.testing.assert_allclose(rows[:, : best.shape[1]], best, rtol=1e-9)
            result.append(float(rows[:, : best.shape[1]].sum()))
        assert (result[0] < result[1] - 1e-3) == (tree.locks[p] is not None)


def test_a_card_in_the_line_locks_one_board() -> None:
    game = spot(TURN)
    lock = Lock("c c / Ac bet 20", {"QJ": {"call": 1.0}})
    tree = locked_spot(game, [lock])
    strategy = sg.solve(tree, "dcfr", iterations=30).strategy
    mixes = {
        card: strategy[f"QdJc | Tc Jd Kc 9d {card} | cc/r20"]["c"] for card in ("Ac", "Ad", "9c")
    }
    assert mixes["Ac"] == 1
    assert max(mixes["Ad"], mixes["9c"]) < 1
    solved = Endgame.of(strategy)
    assert solved.decision("c c / Ac bet 20").table()["QdJc"]["c"] == 1


def test_locks_of_an_endgame_add_up_and_are_saved(tmp_path: Path) -> None:
    free = Endgame.of(sg.solve(sg.compile(spot()), "dcfr", iterations=200).strategy)
    one = free.lock("bet 20", {"random": {"fold": 1.0}}, iterations=200)
    two = one.lock("check", {"random": {"check": 1.0}}, iterations=200)
    assert free.ev[0] < one.ev[0]  # an opponent who folds too much
    assert two.ev[0] == pytest.approx(40, abs=0.05)  # bets win the pot
    assert [len(endgame.tree.lock_texts) for endgame in (one, two)] == [1, 2]
    save(two.strategy, tmp_path / "spot.safetensors")
    again = load(tmp_path / "spot.safetensors")
    assert again.tree.digest == two.tree.digest != free.tree.digest
    with pytest.raises(SubgameError, match="has locked decisions; safe subgame solving"):
        sg.refine(two.tree, two.strategy, at="root")
    with pytest.raises(SubgameError, match="only with the storage float32"):
        sg.solve(two.tree, iterations=1, storage="int16")
    with pytest.raises(SubgameError, match="respond best everywhere"):
        sg.solve(two.tree, "cfr-br", iterations=1)


@pytest.mark.parametrize(("device", "iterations"), [("cpu", 300), ("torch", 10)])
def test_locked_frequencies_are_exact(device: str, iterations: int) -> None:
    if device == "torch":
        pytest.importorskip("torch")
    tree = locked_spot(spot(), [Lock.parse("bet 20: AK = call 37.5%, fold 62.5%")])
    for schedule in ("cfr+", "pcfr+", "hs-dcfr"):
        result = sg.solve(tree, schedule, iterations=iterations, device=device)
        for hand in ("AcKd", "AdKd"):
            mix = result.strategy[f"{hand} | Tc Jd Kc 9d Qd | r20"]
            assert mix == {"f": 0.625, "c": 0.375, "r60": 0}
        played = result.exploitability.per_seat
        assert np.isfinite(played).all()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("bet 20 KK = call", "it must be LINE: HANDS"),
        ("bet 20: KK", "it must be LINE: HANDS"),
        ("bet 20: = call 100%", "must be HANDS = ACTION SHARE"),
        ("bet 20: AK = call, fold 50%", "'call' must be an action and its share"),
        ("bet 20: AK = call 30%, fold 30%", "add up to 1, not to 0.6"),
        ("bet 20: AK = bet 7 100%", "not 'bet 7'"),
        ("bet 21: AK = call", "not 'bet 21'"),
        ("bet 20: AA = call", "holds for no hand"),
        ("bet 20: AX = call", "In the range 'AX'"),
        ("bet 20: AK = ; 100%", "must be HANDS = ACTION SHARE"),
        ("bet 20: AK =/ 100%", "'/' is not an action"),
        ("bet 20: AK = call fold 100%", "the hand is over; 'fold' cannot follow"),
    ],
)
def test_locks_that_cannot_be(text: str, reason: str) -> None:
    with pytest.raises(SubgameError, match=reason):
        locked_spot(spot(), [Lock.parse(text)])


def test_suits_that_a_lock_tells_apart_are_not_merged(tmp_path: Path) -> None:
    game = endgame("Qs Jh 2h 8d 3c", 100, 200, ("AA,KK", "QQ,TT"), "1x")
    assert merging(game, [Lock.parse("start: AA = bet 100%")]) == "boards"
    flop = endgame("Qs Jh 2h", 100, 200, ("AA,KK", "QQ,TT"), "1x")
    assert merging(flop, [Lock.parse("start: AA = bet 100%")]) == "boards"
    assert merging(flop, [Lock.parse("start: AcAd = bet 100%")]) == "boards"  # c and d alike
    assert merging(flop, [Lock.parse("start: AcAs = bet 100%")]) is False
    with pytest.raises(SubgameError, match="cannot be locked; compile it with merge="):
        locked(range_tree(sg.compile(game, merge=True)), [Lock.parse("start: AA = bet 100%")])
    file = tmp_path / "locks.txt"
    file.write_text("# calls too much\nbet 100: QQ = call\n\nstart: AA = check 50%, bet 50%\n")
    assert [str(lock) for lock in read_locks([f"@{file}"])] == [
        "bet 100: QQ = call 100%",
        "start: AA = check 50%, bet 50%",
    ]
