"""Published solutions, each with its source, within the accuracy that the source states.

`docs/published.md` has the same figures as a table.
"""

from __future__ import annotations

from typing import Any

import pytest

import subgame as sg
from published_flop import IP, OOP, preset
from subgame.games.holdem import endgame
from subgame.spots.endgame import Endgame, equities
from subgame.spots.locks import Lock, locked_spot
from subgame.spots.pushfold import push_fold

BLANK = "2s3h4d6c7c"
"""A board on which pairs of aces, kings and queens rank as these cards do in a toy game."""
ACES, KINGS, QUEENS = "AsAh", "KsKh", "QsQh"


def river(ranges: tuple[str, str], pot: float, stack: float, bets: str) -> Any:
    return endgame(BLANK, pot, stack, ranges, bets)


def solved(game: Any, **options: Any) -> Endgame:
    tree = sg.compile(game, merge="boards")
    return Endgame.of(sg.solve(tree, "cfr+", iterations=2000, **options).strategy)


def often(spot: Endgame, line: str, hand: str, action: str) -> float:
    """How often a hand takes an action after a line."""
    return spot.decision(line).table()[hand][action]


def test_kuhn_poker() -> None:
    """Kuhn, "A simplified two-person poker", 1950: the value is -1/18; with a jack the first player
    bets a, with a king 3 a, and calls with a queen a + 1/3."""
    result = sg.solve(sg.compile(sg.games.load("kuhn")), "cfr+", target=1e-5)
    assert result.value == pytest.approx(-1 / 18, abs=1e-4)
    rows = {name: row for p, name, row in result.strategy.rows() if p == 0}
    low = rows["J"]["b"]
    assert rows["K"]["b"] == pytest.approx(3 * low, abs=0.01)
    assert rows["Qpb"]["b"] == pytest.approx(low + 1 / 3, abs=0.01)


@pytest.mark.parametrize("pot", [2, 4])
def test_the_akq_game(pot: int) -> None:
    """Chen & Ankenman, "The Mathematics of Poker", 2006, chapter 13: with a pot of P bets the
    player who may bet bluffs 1/(P+1) of the queens, and 1 - 2/(P+1) of the kings call."""
    every = f"{ACES},{KINGS},{QUEENS}"
    spot = solved(river((every, every), pot, 1, "ip: a / raise none; oop: none / raise none"))
    assert often(spot, "c", ACES, "r1") == pytest.approx(1, abs=1e-3)
    assert often(spot, "c", KINGS, "r1") == pytest.approx(0, abs=1e-3)
    assert often(spot, "c", QUEENS, "r1") == pytest.approx(1 / (pot + 1), abs=2e-3)
    assert often(spot, "c r1", KINGS, "c") == pytest.approx((pot - 1) / (pot + 1), abs=2e-3)


@pytest.mark.parametrize("size", [0.5, 1, 2])
def test_the_clairvoyance_game(size: float) -> None:
    """Chen & Ankenman, chapter 11: with a bet of s pots and as many winning as losing hands, the
    bettor bluffs s/(1+s) of the losing ones, and 1/(1+s) of the others' hands call."""
    bet = int(10 * size)
    spot = solved(river((KINGS, f"{ACES},{QUEENS}"), 10, bet, "ip: a; oop: none / raise none"))
    assert often(spot, "c", QUEENS, f"r{bet}") == pytest.approx(size / (1 + size), abs=2e-3)
    assert often(spot, f"c r{bet}", KINGS, "c") == pytest.approx(1 / (1 + size), abs=2e-3)


def test_the_basic_endgame() -> None:
    """Ferguson & Ferguson, "The Endgame in Poker", 2007, section 1: with antes of 1, a bet of b and
    a sure winner with probability P, a loser bets with P b / ((1 - P)(2 + b)), and 2 / (2 + b) of
    the bets are called. The first player then wins 4 P (1 + b) / (2 + b) - 1."""
    chance, bet = 0.25, 3
    game = river((KINGS, f"{ACES}:{chance / (1 - chance)},{QUEENS}"), 2, bet, "ip: a; oop: none")
    spot = solved(game)
    bluff = chance * bet / ((1 - chance) * (2 + bet))
    assert often(spot, "c", QUEENS, f"r{bet}") == pytest.approx(bluff, abs=2e-3)
    assert often(spot, f"c r{bet}", KINGS, "c") == pytest.approx(2 / (2 + bet), abs=2e-3)
    assert spot.ev[1] - 1 == pytest.approx(4 * chance * (1 + bet) / (2 + bet) - 1, abs=1e-3)


@pytest.mark.parametrize(
    ("pot", "oop", "lock", "checks", "values"),
    [
        (20, "AsAh,QsQh", "all-in: KsKh = fold 25%, call 75%", (0, 1), (27.5, 0, 6.25)),
        (20, "AsAh,QsQh", "all-in: KsKh = fold 50%, call 50%", (0, 0), (25, 5, 5)),
        (10, "AsAh,QsQh,JsJh", "start: JsJh = check 80%, all-in 20%", (0, 0.7), (15, 0, 5)),
    ],
)
def test_locked_rivers_of_postflop_solver(
    pot: int, oop: str, lock: str, checks: tuple[float, float], values: tuple[float, ...]
) -> None:
    """b-inary/postflop-solver, src/game/tests.rs, node_locking and node_locking_partial: checks of
    aces and queens to 0.001, EV of aces, queens and kings to 0.05 and 0.01."""
    tree = locked_spot(river((oop, KINGS), pot, 10, "a"), [Lock.parse(lock)])
    spot = Endgame.of(sg.solve(tree, "cfr+", iterations=3000).strategy)
    first, second = (often(spot, "", hand, "c") for hand in (ACES, QUEENS))
    assert (first, second) == pytest.approx(checks, abs=1e-3)
    ev = [spot.hands(0)[ACES]["ev"], spot.hands(0)[QUEENS]["ev"], spot.hands(1)[KINGS]["ev"]]
    assert ev == pytest.approx(values, abs=0.01)


@pytest.mark.parametrize(("stack", "pushed"), [(8, False), (6.9, True), (4.5, False), (2, True)])
def test_the_gap_of_six_three_suited(stack: float, pushed: bool) -> None:
    """HoldemResources, "Using the Nash Charts", 2014: 63s is pushed from 5.1 to 7.1 big blinds and
    below 2.3. `tests/cli/test_pushfold.py` has limits of other hands."""
    assert (push_fold(stack).push["63s"] > 0.5) == pushed


# A flop that PioSOLVER solved --------------------------------------------------------------------


def test_equity_of_the_preset() -> None:
    """b-inary/postflop-solver, src/game/tests.rs, solve_pio_preset_normal: "verified by PioSOLVER
    Free", 55.347 % to 44.653 %, to 0.001 points."""
    flop = endgame("QsJh2h", 180, 910, (OOP, IP), "none")
    share, _ = equities(sg.compile(flop, merge=True))  # type: ignore[arg-type]
    assert share == pytest.approx((0.55347, 0.44653), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rake", "values"), [((0.0, 0.0), (105.11, 74.89)), ((0.05, 30.0), (95.57, 66.98))]
)
def test_ev_of_the_preset(rake: tuple[float, float], values: tuple[float, float]) -> None:
    """b-inary's file, solve_pio_preset_normal and _raked: EV to 0.2 chips, solved to 0.1 %."""
    tree = sg.compile(preset(rake), merge=True)
    result = sg.solve(tree, "hs-dcfr", target=0.18)
    assert Endgame.of(result.strategy).ev == pytest.approx(values, abs=0.2)
