"""What each decision of a player cost in a hand of whole hold'em, by what the agent solves.

Both ranges are followed as the agent follows them (`subgame.play.hunl.early`). Before the flop the
actions have the values of the blueprint (`subgame.play.blueprint_values`). The flop is solved to a
depth limit at its end (`subgame.play.hunl.street`), the turn and the river to the end of the game
(`subgame.play.hunl.turn`). Each street is solved once, with all bets that were made on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.blas import one_blas_thread
from subgame.errors import SubgameError
from subgame.games.base import CHANCE
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting
from subgame.play.blueprint_values import BlueprintValues
from subgame.play.hunl.early import FLOP, EarlyState, EarlyStreets, Request
from subgame.play.hunl.rollouts import Rollouts
from subgame.play.hunl.street import LimitedStreet, SolvedStreet, street_solved
from subgame.play.hunl.turn import MENUS, RIVER_MENUS, ROOT, TurnSolver
from subgame.refine.live import Clock, Rows, Search
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Followed, Move
from subgame.solve.solver import Limits

Floats = NDArray[np.float64]
ITERATIONS = 100
"""Of the solves of a flop and of a turn."""
RIVER = 5
"""How many times as many a river has: with many sizes it needs them, and they take a second."""
SIZES = f"{FLOP}; {MENUS[2]}", f"{FLOP}; {RIVER_MENUS[-1]}"
"""The bets of the flop and the turn, and those of the river."""
HELD = 0.01
"""The hand that was held counts at least as this share of the likeliest one."""
NEAR = 0.25
"""How far stacks may be from the blueprint's for grades before the turn, as a share of them."""
BLUEPRINT, LIMITED, SOLVED = "blueprint", "depth limit", "solve"
"""What a decision is graded by."""


@dataclass(frozen=True, eq=False)
class GradedDecision:
    """A decision, and what each action is worth with the hand that was held. Axis: a = action."""

    betting: Betting
    """Before the decision."""
    action: str
    """What was done."""
    actions: tuple[str, ...]
    values: Floats
    """[a] in chips, beside folding: what is won from here on, with what is in the pot."""
    probabilities: Floats  # [a] how often it is done by what graded it
    by: str
    """``"blueprint"``, ``"depth limit"`` or ``"solve"``."""

    @property
    def lost(self) -> float:
        """What the best action wins more, in chips."""
        return float(self.values.max() - self.values[self.actions.index(self.action)])


class _Place(NamedTuple):
    """Where a hand is, and what was solved there."""

    state: EarlyState
    street: SolvedStreet | None = None
    """Of the flop."""
    followed: Followed | None = None
    """From the turn on."""

    @property
    def reached(self) -> ReachedRanges:
        return self.state.reached


class HandGrader:
    """Grades hands of heads-up no-limit hold'em, by a blueprint and by solving.

    `menus` are the bets that are solved on flop and turn, and on the river.
    """

    def __init__(
        self,
        blueprint: StoredBlueprint,
        *,
        iterations: int = ITERATIONS,
        menus: tuple[str, str] = SIZES,
    ) -> None:
        self.blueprint, self.iterations = blueprint, iterations
        self.values = BlueprintValues(blueprint)
        self.menus = tuple(BetSizes.parse(menu) for menu in menus)
        self.requests = tuple(
            Request(0, Search(ROOT, None, None, count, None), Clock(None))
            for count in (iterations, RIVER * iterations)
        )
        """Those of a turn and of a river."""

    def near(self, game: Holdem) -> bool:
        """Whether the stacks are about the blueprint's, so that early streets are graded."""
        most, own = (min(rules.stacks) for rules in (game.rules, self.blueprint.game.rules))
        return abs(float(most) - float(own)) <= NEAR * float(own)

    def grade(self, game: Holdem, moves: Sequence[Move], seat: int) -> list[GradedDecision]:
        """The decisions of the player in a seat; `moves` begin with both hands, whoever dealt them.

        An unknown hand of the other player may be empty.
        """
        hand = game.deck.parse_hand(moves[seat][1])
        streets = EarlyStreets(game, self.blueprint, 2, None)
        start = EarlyState(ReachedRanges.start(game), self.blueprint.game.start())
        place, rows = _Place(start), list[GradedDecision]()
        with one_blas_thread():
            for k, (player, action) in enumerate(moves[2:], 2):
                if player == CHANCE:
                    dealt = EarlyState(place.reached.after(action), place.state.abstract)
                    place = _Place(dealt)
                    continue
                place = _holding(place, seat, hand)
                if moves[k - 1][0] == CHANCE and place.reached.betting.street > 0:
                    place = self._solved(place, _street(moves[k:]), seat)
                if player != place.reached.player:
                    raise SubgameError(f"It is not the turn of player {player}.")
                if player == seat and (place.reached.betting.street > 1 or self.near(game)):
                    rows.append(self._graded(streets, place, action, hand))
                place = self._after(streets, place, action)
        return rows

    def _solved(self, place: _Place, made: str, seat: int) -> _Place:
        """The same with a solution of the street that begins; `made` are the actions on it."""
        reached, betting = place.reached, place.reached.betting
        if betting.street == 1 and not self.near(reached.game):
            return place
        last = betting.street == reached.game.rules.last_street
        menu, request = self.menus[last], self.requests[last]
        game = replace(reached.game, bets=replace(menu, added=(f"{betting}{made}",)))
        here = replace(reached, game=game)
        if betting.street == 1:
            at = LimitedStreet(self.blueprint, here, place.state.abstract, seat)
            return place._replace(street=street_solved(at, Rollouts(), Limits(self.iterations)))
        solver = TurnSolver(game, str(menu))
        live = solver.solved(here, request._replace(seat=here.player), 1.0)
        return place._replace(state=place.state._replace(reached=here), followed=live.before)

    def _rows(self, streets: EarlyStreets, place: _Place) -> Rows:
        """What the player to act does with every hand."""
        if place.street is not None:
            return place.street.rows(place.reached.betting)
        if place.followed is None:
            return streets.followed_rows(place.state)
        rows = place.reached.rows(place.followed)
        assert rows is not None
        return Rows(place.reached.actions, rows)

    def _graded(
        self, streets: EarlyStreets, place: _Place, action: str, hand: int
    ) -> GradedDecision:
        reached, betting, rows = place.reached, place.reached.betting, self._rows(streets, place)
        actions, shares = rows.actions, rows.probabilities[hand]
        p, by = reached.player, BLUEPRINT
        if place.street is not None:
            values, by = place.street.values(betting)[hand], LIMITED
        elif place.followed is not None:
            values, by = reached.action_values(place.followed, best=False)[hand], SOLVED
        else:
            if action not in actions:
                actions, shares = (*actions, action), np.append(shares, 0.0)
            ends = [reached.after(name) for name in actions]
            values = np.array([self.values.here(end, p)(hand) for end in ends])
        paid = float(betting.rules.stacks[p] - betting.behind[p])
        return GradedDecision(betting, action, actions, values + paid, shares, by)

    def _after(self, streets: EarlyStreets, place: _Place, action: str) -> _Place:
        """After an action: both ranges, and the blueprint's betting that stands for the real one.

        Both players' bets are translated alike.
        """
        state, reached = place.state, place.reached
        if place.followed is None:
            state = streets.after(state, (reached.player, action), -1)
        if place.street is not None or place.followed is not None:
            rows = self._rows(streets, place)
            share = rows.probabilities[:, rows.actions.index(action)]
            state = state._replace(reached=reached.after(action, share))
        return place._replace(state=state)


def _street(moves: Sequence[Move]) -> str:
    """The actions before the next card."""
    return "".join(action for _, action in takewhile(lambda move: move[0] != CHANCE, moves))


def _holding(place: _Place, seat: int, hand: int) -> _Place:
    """The same where a hand is in the player's range: it was there, whoever would have folded."""
    reached = place.reached
    own = reached.reach[seat].copy()
    own[hand] = max(own[hand], HELD * own.max())
    both = (own, reached.reach[1]) if seat == 0 else (reached.reach[0], own)
    return place._replace(state=place.state._replace(reached=reached.with_reach(both)))
