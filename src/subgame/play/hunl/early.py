"""The streets that an agent of whole hold'em plays by its blueprint: both ranges are followed.

Both players' ranges are followed by Bayes' rule. A bet that the blueprint does not know is taken
for one that it knows (`subgame.blueprints.follow`). Streets with sizes for it are solved to their
end by a `StreetPlanner` instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.follow import DETERMINISTIC, AbstractDecision
from subgame.games.base import CHANCE
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.games.holdem.translation import is_unlike, likelihood, merged, translated
from subgame.play.hunl.plans import EarlyState, Request, StreetPlanner
from subgame.play.one_bet import call_or_fold
from subgame.refine.live import PASSED, Rows
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Move

Floats = NDArray[np.float64]


class RangeBlueprint(Protocol):
    """A strategy of whole hold'em that answers for all hands at once."""

    def range_strategy(self, state: HoldemState) -> tuple[Sequence[str], Floats]:
        """The actions that the player to act considers, and [hand, action] their probabilities.

        `state` has the board and the betting; its hands mean nothing.
        """


class Advice(NamedTuple):
    """What the blueprint says where its betting waits for the player who really acts."""

    decision: AbstractDecision
    probabilities: Floats  # [hand, action]


class EarlyStreets:
    """Follows hands before the street `solved_from`."""

    def __init__(
        self,
        game: Holdem,
        blueprint: RangeBlueprint,
        solved_from: int,
        planner: StreetPlanner | None,
    ) -> None:
        self.game, self.blueprint = game, blueprint
        self.solved_from, self.planner = solved_from, planner
        self.start = EarlyState(ReachedRanges.start(game), game.start())

    def contains(self, state: EarlyState) -> bool:
        """Whether a state lies before the streets that are solved to the end of the game."""
        return state.reached.player < 0 or state.reached.betting.street < self.solved_from

    def advice(self, state: EarlyState) -> Advice | None:
        """What the blueprint says at a state; None where it says nothing."""
        waiting = state.hand.waiting
        if waiting is None:
            return None
        place = HoldemState(self.game, (0, 0), state.reached.board, waiting)
        actions, probabilities = self.blueprint.range_strategy(place)
        return Advice(AbstractDecision(waiting, actions), probabilities)

    def with_plan(self, state: EarlyState, made: str | None, request: Request) -> EarlyState:
        """The same with the street solved to its end, where that is to be done.

        The bet that the opponent has `made` is among those that are solved. If it was not in an
        earlier solution, the street is solved again from the state before it, so that the range
        with which the opponent makes it is that of a solution, not that of another bet.
        """
        if self.planner is None or not self._is_to_plan(self.planner, state, made):
            return state
        return state._replace(plan=self.planner.plan(state, made, request))

    def _is_to_plan(self, planner: StreetPlanner, state: EarlyState, made: str | None) -> bool:
        street, planned = state.reached.betting.street, state.planned
        if state.reached.player < 0 or street >= self.solved_from:
            return False
        if not planner.plans_street(street):
            return False
        if planned is not None:
            return made is not None and made not in planned.actions
        return street > 0 or self._is_off_tree(state, made)

    def _is_off_tree(self, state: EarlyState, made: str | None) -> bool:
        """Whether a bet before the flop is to be answered by solving the rest of the round."""
        if state.plan is not None:  # an earlier one was, and then came a bet that was not solved
            return True
        advice = None if made is None else self.advice(state)
        if made is None or advice is None:
            return False
        return not advice.decision.made_as(state.reached.betting, made)

    def after(self, state: EarlyState, player: int, action: str, seat: int) -> EarlyState:
        """After a move: both ranges, and the blueprint's betting that stands for the real one."""
        reached, abstract, plan, unlike = state.reached, state.abstract, state.plan, False
        if player == CHANCE:
            return EarlyState(reached.after(action), abstract)
        share, planned, advice = None, state.planned, self.advice(state)
        if advice is not None:
            decision, real = advice.decision, reached.betting
            own = decision.made_as(real, action) if player == seat else []
            shares = dict.fromkeys(own, 1.0) or decision.translated(real, action, DETERMINISTIC)
            share = likelihood(advice.probabilities, shares)
            if shares:
                k = max(shares, key=lambda k: shares[k])
                abstract = decision.child(k)
                unlike = player != seat and is_unlike(real.bet(action), decision.bets[k])
        if unlike:
            share = None  # the range is what it was
        if planned is not None:
            share = self._planned_share(reached, planned, action)
        return EarlyState(reached.after(action, share), abstract, plan, unlike)

    def _planned_share(self, reached: ReachedRanges, planned: Rows, action: str) -> Floats | None:
        """[hand] how likely an action is by a plan."""
        if action in planned.actions:
            return planned.probabilities[:, planned.actions.index(action)]
        bets = [reached.betting.bet(known) for known in planned.actions]
        shares = translated(bets, reached.betting.bet(action), DETERMINISTIC)
        return likelihood(planned.probabilities, shares)

    def rows(self, state: EarlyState) -> Rows:
        """What the player to act does with every hand, in real bets."""
        if state.planned is not None:
            return state.planned
        return self.followed_rows(state)

    def followed_rows(self, state: EarlyState) -> Rows:
        """What the player to act does by the blueprint; by price where it has no answer."""
        advice, reached = self.advice(state), state.reached
        if advice is None or state.unlike:
            return Rows(*call_or_fold(self.game, reached.board, reached.betting, reached.reach))
        real = advice.decision.real_actions(state.reached.betting)
        return Rows(*merged(real, advice.probabilities))


class EarlyHand:
    """One hand as one player follows it; states on the way are computed once."""

    def __init__(self, streets: EarlyStreets) -> None:
        self.streets = streets
        self.states: dict[tuple[Move, ...], EarlyState] = {(): streets.start}

    def follow(
        self, line: tuple[Move, ...], request: Request, least: int = 0
    ) -> tuple[EarlyState, tuple[Move, ...]]:
        """Where the blueprint leads, and the moves that are left after it.

        At least so many moves are followed by the blueprint, on later streets as well. Otherwise a
        street that play has gone through is solved too, if it was not in this hand: both ranges
        must be those with which decisions were made there, also if those were only looked up.
        """
        streets, state, seat = self.streets, self.streets.start, request.seat
        for k, (player, action) in enumerate(line):
            if k >= least and not streets.contains(state):
                return state, line[k:]
            after = self.states.get(line[: k + 1])
            if after is None:
                made = action if player == 1 - seat else None
                if k >= least:
                    passed = any(mover == CHANCE for mover, _ in line[k + 1 :])
                    with request.clock.keeping(PASSED if passed else 0.0):
                        state = streets.with_plan(state, made, request)
                after = self.states[line[: k + 1]] = streets.after(state, player, action, seat)
            state = after
        return state, ()

    def decide(self, line: tuple[Move, ...], request: Request, least: int = 0) -> EarlyState:
        """Where the blueprint leads, with what is to be solved there before the player acts."""
        state, rest = self.follow(line, request, least)
        if rest or not self.streets.contains(state):
            return state
        state = self.states[line] = self.streets.with_plan(state, None, request)
        return state
