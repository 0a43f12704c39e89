"""Decisions that are hardly ever reached, and what play there loses: players call them ghost lines.

An equilibrium says nothing about decisions that it never reaches, so a solver that stops there may
have learnt nothing. After a mistake of the opponent such a decision is reached all the same. What
is lost then is measured here: every player takes every action with at least a small probability
(*mistakes*, made by all hands alike), and from the decision on its player plays the strategy or a
best response to the opponent. The difference is the loss.

A schedule with trembles, such as ``hs-dcfr(tremble=0.001)``, solves the game in which both players
make such mistakes, so that every decision is learnt (Selten 1975; Farina, Kroer & Sandholm 2017,
"Regret Minimization in Behaviorally-Constrained Zero-Sum Games").

    >>> import subgame as sg
    >>> from subgame.spots.endgame import Endgame
    >>> ranges, bets = ("AA,65s,KJ,T9", "KQ,JT,99,A5s"), "river: 50% 1x / raise a"
    >>> tree = sg.compile(sg.holdem.endgame("QsJh2h8d3c", 100, 200, ranges, bets))
    >>> for schedule in ("hs-dcfr", "hs-dcfr(tremble=0.001)"):
    ...     spot = Endgame.of(sg.solve(tree, schedule, iterations=1000).strategy)
    ...     row = spot.off_path()[0]
    ...     print(row["line"], row["player"], row["loss_percent"] > 10, row["loss_percent"] < 1)
    check, bet 50 oop True False
    check, bet 50 oop False True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subgame.errors import ArgumentError, SubgameError
from subgame.games.holdem.game import BOARD_CARDS
from subgame.games.holdem.rules import Betting
from subgame.spots.browse import Explorer
from subgame.spots.lines import SEATS, Step, Walk, line_text
from subgame.spots.tables import Table
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    pass

Floats = NDArray[np.float64]
RARE = 0.001
MISTAKE = 0.001


def off_path(
    plain: Explorer, cards: str = "", *, rare: float = RARE, mistake: float = MISTAKE
) -> Table:
    """One row per decision of a street that is reached with a probability of at most `rare`.

    `cards` are the turn, or the turn and river, whose decisions are meant; without them it is the
    street on which the spot begins. ``reach`` is the probability of the betting that leads to the
    decision, ``loss`` what play from there loses in chips, ``loss_percent`` the same in percent of
    the pot there. `mistake` is the least probability of every action on the way.
    """
    for name, value in (("rare", rare), ("mistake", mistake)):
        if not 0 < value <= 1:
            raise ArgumentError(name, f"must be above 0 and at most 1, not {value}.")
    tree = plain.tree
    one, two = (np.asarray(probs) + np.float32(mistake) for probs in plain.strategy.probs)
    shaken = Explorer(Strategy.from_weights(tree, (one, two)))
    board = (*tree.holdem.board, *tree.holdem.deck.parse(cards, what="cards"))
    if len(board) not in BOARD_CARDS or len(set(board)) < len(board):
        raise SubgameError(
            f"After {tree.holdem.deck.name(tree.holdem.board)} the cards '{cards}' cannot come; "
            "give the turn, or the turn and the river."
        )
    street = tree.streets[BOARD_CARDS.index(len(board)) - tree.streets[0].index]
    start = plain.reach(Walk((), board, tree.holdem.start()))
    whole = float(start[0] @ tree.holdem.facing(board, start[1]))
    rows = list[tuple[Betting, dict[str, object]]]()
    for p in (0, 1):
        values = [_values(shaken, plain, board, p, best) for best in (False, True)]
        for j, state in enumerate(street.states[p]):
            walk = Walk(_steps(plain, board, state), board, state)
            often = plain.reach(walk)
            reach = float(often[0] @ tree.holdem.facing(board, often[1])) / whole
            if not reach <= rare:
                continue
            first = street.first[p][j]
            taken = slice(first, first + len(street.actions[p][j]))
            mine, best = (played[:, taken] for played in values)
            lost = best.max(1) - (mine * plain.probs(board, state)).sum(1)
            held = shaken.reach(walk)
            weight = float(held[p] @ tree.holdem.facing(board, held[1 - p]))
            loss = float(held[p] @ np.nan_to_num(lost)) / weight if weight > 0 else np.nan
            said = {"line": line_text(tree.holdem, walk), "player": SEATS[p], "reach": reach}
            pot = float(state.pot)
            rows.append((state, {**said, "loss": loss, "loss_percent": 100 * loss / pot}))
    rows.sort(key=lambda row: row[0].history)
    return Table(row for _, row in rows)


def _values(
    shaken: Explorer, plain: Explorer, board: tuple[int, ...], p: int, best: bool
) -> Floats:
    """[hand, row] player `p`'s values of a board's street, against an opponent with mistakes."""
    u, hands = plain.spot(board)
    below, run = plain.part(u)
    street, deck, o = below.tree.streets[0], plain.game.deck, 1 - p
    opponent = np.zeros((len(street.roots), len(below.tree.players[o].slots)))
    for k, root in enumerate(street.roots):
        stored = np.zeros(deck.num_hands)
        stored[hands] = shaken.reach(Walk(_steps(plain, board, root), board, root))[o]
        opponent[k] = stored[below.tree.units[0].hands[o]]
    theirs = below.numbers(o, shaken.strategy.probs[o])
    mine = None if best else below.numbers(p, plain.strategy.probs[p])
    rows = run.first_street(p, mine, run.plan(o, theirs, opponent)) * below.tree.deals
    every = np.zeros((deck.num_hands, len(rows)))
    every[below.tree.units[0].hands[p]] = rows.T
    result: Floats = every[hands]
    return result


def _steps(explorer: Explorer, board: tuple[int, ...], state: Betting) -> tuple[Step, ...]:
    """The actions that lead to a state, with the cards that lay there."""
    here, steps = explorer.game.start(), list[Step]()
    for action in state.history[len(here.history) :]:
        if action == "/":
            continue
        steps.append(Step(board[: BOARD_CARDS[here.street]], here, action))
        here = here.child(action)
    return tuple(steps)
