"""Trembles against a linear program with a least probability, and what they save off the path."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import subgame as sg
from brute_ranges import Brute
from holdem_games import GAMES
from subgame.errors import SubgameError
from subgame.games.holdem import BetSizes, Deck
from subgame.solve.program import constraints
from subgame.spots.endgame import Endgame
from subgame.spots.off_path import off_path
from subgame.tree.sequence.tree import sequence_tree

Floats = NDArray[np.float64]
LEAST = 0.03
SIX = Deck("9TJQKA", "cd")


def guaranteed(tree: Any, p: int, plan: Floats | None = None) -> float:
    """What player `p` can be sure of, or is sure of with a plan, where every action of both players
    has at least the probability `LEAST`: ``x(Ia) >= LEAST x(I)`` in the sequence form."""
    parts, own, other = constraints(tree, p), tree.players[p], tree.players[1 - p]
    size, bounds = own.num_sequences, parts.bound.shape[1]
    trembles = [_least(side) for side in (own, other)]
    more = trembles[1].shape[0]
    columns = [-parts.payoff.toarray(), parts.bound.toarray(), trembles[1].T]
    rows = [
        np.hstack(columns),
        np.hstack([-trembles[0], np.zeros((len(trembles[0]), bounds + more))]),
    ]
    objective = np.zeros(size + bounds + more)
    objective[size : size + len(other.slots)] = -other.reach
    flow, start = (
        np.hstack([parts.plan.toarray(), np.zeros((len(parts.start), bounds + more))]),
        parts.start,
    )
    limits = [(0, None)] * size + [(None, None)] * bounds + [(0, None)] * more
    if plan is not None:
        limits[:size] = [(x, x) for x in plan]
        rows, flow, start = rows[:1], flow[:0], start[:0]
    above = np.vstack(rows)
    result = linprog(objective, above, np.zeros(len(above)), flow, start, limits)
    assert result.status == 0
    return float(-result.fun)


def _least(side: Any) -> Floats:
    """[q, q] rows ``x(Ia) - LEAST x(I)``."""
    rows = []
    for i in range(len(side.names)):
        for q in side.sequences(i):
            row = np.zeros(side.num_sequences)
            row[q], row[side.plex.parent[i]] = 1, -LEAST
            rows.append(row)
    return np.array(rows)


@cache
def explicit(name: str) -> Any:
    return sequence_tree(sg.compile(GAMES[name], explicit=True))


@cache
def exact(name: str) -> float:
    return guaranteed(explicit(name), 0)


@pytest.mark.parametrize(
    ("schedule", "name"),
    [("dcfr", "river"), ("pcfr+", "river"), ("cfr", "river"), ("dcfr", "turn")],
)
def test_both_players_play_the_game_with_trembles(schedule: str, name: str) -> None:
    tree, other = sg.compile(GAMES[name], merge="boards"), explicit(name)
    count = 3000 if schedule == "cfr" else 400
    trembling = f"{schedule}(tremble={LEAST})"
    result = sg.solve(tree, trembling, iterations=count)
    rows = {infoset: row for _, infoset, row in result.strategy.rows()}
    close = 0.01 if schedule == "cfr" else 0.002
    for p, side in enumerate(other.players):
        plan = np.zeros(side.num_sequences)
        plan[: len(side.slots)] = side.reach
        for i, infoset in enumerate(side.names):
            free = np.array([rows[infoset][a] for a in side.actions[i]])
            played = LEAST + (1 - LEAST * len(free)) * free
            plan[side.sequences(i)] = plan[side.plex.parent[i]] * played
        value = exact(name) if p == 0 else -exact(name)
        assert guaranteed(other, p, plan) == pytest.approx(value, abs=close)
    assert abs(sg.solve_lp(other).value - exact(name)) > 3 * close  # the game is another one


def plain_cfr(tree: Any, iterations: int) -> dict[str, Floats]:
    """Simultaneous CFR with trembles, one infoset at a time: infoset -> probabilities.

    What is chosen is mixed with the trembles; regrets are those of the choice.
    """
    sides, entries = tree.players, tree.entries
    regret = [np.zeros(side.num_sequences) for side in sides]
    average = [np.zeros(side.num_sequences) for side in sides]
    for _ in range(iterations):
        chosen, plans = [], []
        for p, side in enumerate(sides):
            sigma, plan = np.ones(side.num_sequences), np.zeros(side.num_sequences)
            plan[: len(side.slots)] = side.reach
            for i in range(len(side.names)):
                at = side.sequences(i)
                weight = np.maximum(regret[p][at], 1e-30)
                sigma[at] = weight / weight.sum()
                mixed = LEAST + (1 - LEAST * len(at)) * sigma[at]
                plan[at] = plan[side.plex.parent[i]] * mixed
            chosen.append(sigma)
            plans.append(plan)
        for p, side in enumerate(sides):
            rows, cols, sign = (
                (entries.row, entries.col, 1) if p == 0 else (entries.col, entries.row, -1)
            )
            values = np.bincount(
                rows, sign * entries.value * plans[1 - p][cols], side.num_sequences
            )
            for i in reversed(range(len(side.names))):
                at = side.sequences(i)
                mean = chosen[p][at] @ values[at]
                paid = (1 - LEAST * len(at)) * mean + LEAST * values[at].sum()
                regret[p][at] += values[at] - mean
                values[side.plex.parent[i]] += paid
            average[p] += plans[p]
    result = {}
    for p, side in enumerate(sides):
        for i, name in enumerate(side.names):
            sigma = average[p][side.sequences(i)]
            sigma = np.maximum(sigma / sigma.sum() - LEAST, 0)
            result[name] = sigma / sigma.sum()
    return result


@pytest.mark.parametrize("device", ["cpu", "torch"])
def test_single_iterations_are_those_of_plain_cfr(device: str) -> None:
    if device == "torch":
        pytest.importorskip("torch")
    tree = sg.compile(GAMES["river"], merge="boards")
    result = sg.solve(tree, f"cfr(tremble={LEAST})", iterations=4, device=device)
    outcome = {infoset: row for _, infoset, row in result.strategy.rows()}
    for infoset, probs in plain_cfr(explicit("river"), 4).items():
        assert list(outcome[infoset].values()) == pytest.approx(probs, abs=1e-5)


# What play loses after mistakes ----------------------------------------------------------------
BOARD, RANGES = "QsJh2h8d3c", ("AA,65s,KJ,T9", "KQ,JT,99,A5s")


@cache
def solved(schedule: str, board: str = BOARD, count: int = 300) -> Endgame:
    game = sg.holdem.endgame(board, 100, 200, RANGES, "50% 1x / raise a / cap 2")
    return Endgame.of(sg.solve(sg.compile(game), schedule, iterations=count).strategy)


def test_the_loss_is_that_of_plain_recursion() -> None:
    game = sg.holdem.endgame(
        "TcJdKc9dQd", 40, 60, ("AA,KQ,JT", "AK,QJ,T9"), "ip: 50% a / raise a", deck=SIX
    )
    game = replace(game, bets=BetSizes.parse("oop: none / raise a; ip: 50% / raise none"))
    tree = sg.compile(game, merge="boards")
    spot = Endgame.of(sg.solve(tree, "cfr", iterations=5).strategy)
    mistake = 0.05
    rows = {row["line"]: row for row in off_path(spot.explorer, rare=1, mistake=mistake)}
    assert list(rows) == ["", "check", "check, bet 20", "check, bet 20, all-in 60"]
    for p, line in ((0, ""), (1, "check")):  # whole games: the first player can only check
        shaken = sg.Strategy.from_weights(tree, [prob + mistake for prob in spot.strategy.probs])
        probs = list(shaken.probs)
        probs[p] = spot.strategy.probs[p]
        brute = Brute(game, sg.Strategy(tree, (probs[0], probs[1])))
        lost = brute.value(p, best=True) - brute.value(p, best=False)
        assert rows[line]["loss"] == pytest.approx(lost, abs=1e-5)
        assert lost > 0.1
    assert rows[""]["reach"] == pytest.approx(1)


def test_trembles_save_what_play_loses_after_a_mistake() -> None:
    lines = ("check, bet 50", "bet 100, all-in 200", "bet 50")
    before, after = (
        {
            row["line"]: row["loss_percent"]
            for row in off_path(solved(schedule, count=1000).explorer)
        }
        for schedule in ("hs-dcfr", "hs-dcfr(tremble=0.001)")
    )
    lost, saved = (sum(rows.get(line, 0.0) for line in lines) for rows in (before, after))
    assert lost > 2  # percent of the pot
    assert saved < lost / 4


def test_later_streets_and_unknown_cards() -> None:
    spot = solved("hs-dcfr(tremble=0.01)", "QsJh2h8d", 20)
    rows = off_path(spot.explorer, "3c", rare=1)
    assert {"check, check / 3c", "bet 100, call 100 / 3c, check"} <= set(rows.column("line"))
    alike = off_path(spot.explorer, "3s", rare=1)  # spades and clubs are alike after two hearts
    assert [row["loss"] for row in rows] == pytest.approx([row["loss"] for row in alike])
    assert all(row["loss"] >= -1e-6 for row in rows)
    with pytest.raises(SubgameError, match="the cards 'Qs' cannot come"):
        off_path(spot.explorer, "Qs")
    with pytest.raises(SubgameError, match="rare must be above 0"):
        off_path(spot.explorer, rare=0)


def test_trembles_that_cannot_be() -> None:
    with pytest.raises(SubgameError, match="tremble must be a probability"):
        sg.DCFR(tremble=0.5)
    with pytest.raises(SubgameError, match="without sampling"):
        sg.MCCFR(tremble=0.01)
    with pytest.raises(SubgameError, match="for hold'em trees without gadgets"):
        sg.solve(sg.compile(sg.games.load("kuhn")), "dcfr(tremble=0.01)", iterations=1)
    with pytest.raises(SubgameError, match="players tremble more"):
        sg.solve(sg.compile(GAMES["river"]), "dcfr(tremble=0.01)", target=0.001)
