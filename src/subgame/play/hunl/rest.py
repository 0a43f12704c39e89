"""A flop with little behind, solved to the end of the hand.

Values at a depth limit rest on a blueprint, which is rough in pots that it hardly ever sees: with
Jacks in a four-bet pot they put a call level with a fold. Where stacks are shallow the rest of the
hand is small enough to be solved itself: on the turn and the river all-in is the only bet, and
hands that hardly ever come here are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import Betting
from subgame.play.hunl.street import LimitedStreet, StreetPlan, too_little
from subgame.refine.live import Rows
from subgame.solve.schedule import parse
from subgame.solve.solver import Limits, Run, drive
from subgame.tree.ranges.betting_tree import grow_street
from subgame.tree.ranges.tree import RangeTree, compile_range_tree
from subgame.tree.strategy import Strategy

LATER = "turn: a / cap 1; river: a / cap 1"
"""The sizes of the later streets."""
SHALLOW = 4.0
"""Pots that may be behind: with more, all-in is too large to be the only bet."""
ENOUGH = 32
"""Iterations that must fit into the time."""
MOST = 50_000_000
"""Numbers that a strategy may have; each takes eight bytes while it is solved."""
PREPARING = 0.5
"""Seconds that compiling is taken to need before it was measured."""


class RestSolver:
    """Solves the rest of a hand from the flop on, where it is small enough."""

    def __init__(self, sizes: BetSizes, shallow: float = SHALLOW) -> None:
        """`sizes` are those of the flop; at most `shallow` pots are behind."""
        self.shallow = shallow
        later = BetSizes.parse(LATER)
        self.sizes = replace(sizes, turn=later.turn, river=later.river)
        self.pace: float | None = None
        """Seconds of an iteration by number of a strategy."""
        self.preparing = PREPARING

    def game(self, at: LimitedStreet) -> Holdem:
        """The rest of the hand: the bets of the street, all-in later."""
        game = at.reached.game
        return replace(game, bets=replace(self.sizes, added=game.bets.added))

    def fits(self, at: LimitedStreet, seconds: float | None) -> bool:
        """Whether enough iterations fit into the time; without a limit, whether memory does."""
        betting, size = at.reached.betting, len(at.reached.game.deck.hands)
        behind = min(at.reached.game.rules.stacks) - betting.pot / 2
        if betting.street != 1 or behind > self.shallow * betting.pot:
            return False
        held = sum(len(hands) for hands in at.hands) / (2 * size)
        count = held * numbers(self.game(at), betting)
        if seconds is None or self.pace is None:
            return count <= MOST and seconds is None
        return count <= MOST and self.preparing + ENOUGH * self.pace * count < seconds

    def solve(
        self, at: LimitedStreet, limits: Limits, now: Callable[[], float] = time.perf_counter
    ) -> StreetPlan:
        """The street as it is played if the rest of the hand is solved with both ranges (Unsafe).

        It is not compared with the blueprint: that would have to be laid over all boards to come.
        """
        began = now()
        deck, board = at.reached.game.deck, at.reached.board
        one, two = (Range(reach / reach.max(), deck) for reach in at.likely)
        spot = replace(self.game(at), board=board, first=at.reached.betting, ranges=(one, two))
        tree = compile_range_tree(spot, merge=False)
        run = Run(tree, parse(tree.usual_schedule))
        prepared = now() - began
        left = None if limits.seconds is None else max(limits.seconds - prepared, 1e-3)
        stopped = drive(run, Limits(limits.iterations, left), measured=False, now=now)
        count = run.iteration
        self.preparing = prepared
        self.pace = (now() - began - prepared) / count / (tree.stored(0) + tree.stored(1))
        rows = _rows(at, tree, run.strategy())
        return StreetPlan(rows, 0, count, too_little(stopped, count), to_end=True)


def _rows(at: LimitedStreet, tree: RangeTree, strategy: Strategy) -> dict[tuple[str, ...], Rows]:
    """Both players' strategies on the street, by betting history."""
    rows, street = dict[tuple[str, ...], Rows](), tree.streets[0]
    for p in (0, 1):
        sigma = np.asarray(strategy.probs[p])
        for state, names in zip(street.states[p], street.actions[p], strict=True):
            cells = replace(at.reached, betting=state).cells(tree)
            assert cells is not None
            rows[state.history] = Rows(names, at.by_hand(state, names, sigma[cells[at.hands[p]]]))
    return rows


def numbers(game: Holdem, betting: Betting) -> int:
    """About how many numbers a strategy of the rest of a game has, with all hands."""
    street = grow_street(game, betting)
    size = sum(street.rows) * game.deck.num_hands
    left = game.deck.size - BOARD_CARDS[betting.street]
    return size + left * sum(numbers(game, leaf) for leaf in street.leaves if not leaf.is_over)
