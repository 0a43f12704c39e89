"""The streets before those that an agent of whole hold'em solves to the end of the hand.

`EarlyStreets` plays them by the blueprint. Both players' ranges are followed by Bayes' rule. A bet
that the blueprint does not know is taken for one that it knows (`subgame.blueprints.follow`).

Streets with sizes for it are solved to their end by a `StreetPlanner` instead, as in Brown,
Sandholm & Amos 2018, Sec. 6. The flop ends in values of rollouts or of a network
(`subgame.play.hunl.street`), the betting before it in values of a table
(`subgame.play.hunl.preflop`).

A flop with little behind is solved to the end of the hand by a `RestSolver`
(`subgame.play.hunl.rest`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from subgame.agent_names import VALUES, check_values
from subgame.blueprints.follow import DETERMINISTIC, AbstractDecision, FollowedBetting
from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.numba import street_kernels
from subgame.engines.numba.strengths import mean_ahead
from subgame.games.base import CHANCE
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.game import BOARD_CARDS, Holdem, HoldemState
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.sizes import STREETS
from subgame.games.holdem.translation import is_unlike, likelihood, merged, translated
from subgame.play.hunl.below import CHOICES
from subgame.play.hunl.flop_network import FlopNetwork, NetworkValues
from subgame.play.hunl.preflop import solve_before_flop
from subgame.play.hunl.preflop_values import PreflopValues
from subgame.play.hunl.rest import SHALLOW, RestSolver
from subgame.play.hunl.rollouts import Rollouts
from subgame.play.hunl.street import LimitedStreet, StreetEvaluator, StreetPlan, solve_street
from subgame.play.one_bet import call_or_fold
from subgame.play.searching import actions_of
from subgame.refine.live import (
    PASSED,
    Clock,
    Decided,
    Rows,
    Search,
    as_decided,
    either,
    nothing,
)
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Move

Floats = NDArray[np.float64]
RARE, TREMBLE, DOUBTED = 0.2, 0.05, 3.0
"""How likely an action must be that its range is not doubted, how likely the opponent takes another
one with any hand, and how much its range is doubted at most; see `EarlyState.doubted`.
`benchmarks/turn_ranges.py` and `doubts.py` measure it."""
FORGET = 0.9
"""How fast it is forgotten that preparing took long."""
PLANS = 128
"""Streets solved to a depth limit that are kept; LBR asks for the answers to 56 bets, and after a
raise for more."""
FLOP = "flop: 0.75x / raise 1x / raise2 a / cap 3"
"""The sizes of a flop that is solved to its end. All-in answers a raise: where a raise could not be
raised again, the solution would raise with too many hands."""
BOTH = f"preflop: 0.5x 1x / raise 1x / raise2 1x / raise3 a / cap 4; {FLOP}"
"""The same with the round before it, solved to its end after an off-tree bet."""


class DepthOptions(TypedDict, total=False):
    """Which streets an agent solves to a depth limit, and with which values."""

    limited: str | None
    """The sizes of those streets; None: no street is solved to a limit."""
    choices: int
    """How many continuations the opponent has at a limit; 1 is single-valued search. Before the
    flop there are all those of its table, or one."""
    values: str
    """Where values at the end of the flop come from: ``"rollouts"``, or ``"network"`` for the
    network beside the blueprint's file (`subgame.play.hunl.flop_network`)."""
    shallow: float
    """A flop with at most so many pots behind is solved to the end of the hand instead, if there is
    time (`RestSolver`); 0: none is."""


@dataclass(frozen=True)
class DepthLimit:
    """See `DepthOptions`."""

    limited: str | None = None
    choices: int = CHOICES
    values: str = VALUES[0]
    shallow: float = SHALLOW

    def __post_init__(self) -> None:
        check_values(self.values)


class Request(NamedTuple):
    """Who decides, how subgames are solved, and the time of the decision."""

    seat: int
    search: Search
    clock: Clock
    decided: Decided = nothing
    """What was decided before."""


class EarlyState(NamedTuple):
    """A public state before the street from which the agent solves to the end of the game."""

    reached: ReachedRanges
    abstract: Betting | None
    """The blueprint's betting that stands for the real one."""
    plan: StreetPlan | None = None
    """The solution of the street, where it was solved to a depth limit."""
    answer: Rows | None = None
    """To the opponent's last bet, if it is unlike the blueprint's one that stands for it."""
    rarest: float = 1.0
    """How likely the opponent's rarest action so far is, by what is known of its strategy."""

    def doubted(self, seat: int) -> ReachedRanges:
        """The state for a solve with both ranges (Unsafe): the opponent may play otherwise.

        A range by Bayes' rule is worth little after an action that the strategy hardly ever takes,
        such as a bet into the one who raised last: whoever makes it has other hands. So the
        opponent is taken to make its rarest action, if that was less likely than `RARE`, with any
        hand in one of twenty cases (`TREMBLE`). By Bayes' rule that adds reach, as much for each
        hand that it may have, up to `DOUBTED` times the reach of the range. After usual actions it
        would be hardly any, and flops with more hands take longer.
        """
        here, o = self.reached, 1 - seat
        held, share = here.held(o), doubt(self.rarest)
        if not share:
            return here
        reach = here.reach[o] + share * here.reach[o].sum() * held / max(held.sum(), 1)
        return here.with_reach((here.reach[0], reach) if o == 1 else (reach, here.reach[1]))

    @property
    def hand(self) -> FollowedBetting:
        """The betting as it is followed in the blueprint."""
        return FollowedBetting(self.reached.betting, self.abstract)

    @property
    def planned(self) -> Rows | None:
        """What the plan says here."""
        if self.plan is None or self.plan.rejected:
            return None
        return self.plan.rows.get(self.reached.betting.history)


def doubt(rarest: float) -> float:
    """How much reach is added to a range, as a share of what it has (`EarlyState.doubted`)."""
    return 0.0 if rarest >= RARE else min(DOUBTED, TREMBLE / max(rarest, 1e-100))


class StreetPlanner:
    """Solves streets to their end, by the blueprint's values; keeps the last solutions."""

    def __init__(
        self, game: Holdem, blueprint: StoredBlueprint, sizes: str, depth: DepthLimit
    ) -> None:
        self.game = replace(game, bets=BetSizes.parse(sizes))
        self.blueprint, self.choices = blueprint, depth.choices
        self.network = FlopNetwork.of(blueprint) if depth.values == "network" else None
        self.table = PreflopValues.of(blueprint) if self.plans_street(0) else None
        """Values at the end of the betting before the flop."""
        self.rest = RestSolver(self.game.bets, depth.shallow)
        """Solves flops with little behind to the end of the hand."""
        self.prepared = 0.0
        """Seconds that preparing a street takes, or took in vain."""
        self.plans: dict[
            tuple[int | None, tuple[str, ...]], tuple[Sequence[Floats], StreetPlan]
        ] = {}

    def plans_street(self, street: int) -> bool:
        """Whether there are sizes for a street."""
        return bool(self.game.bets.street(STREETS[street]).bets)

    def load(self) -> None:
        """Compute or read what a first decision needs, so that it takes no longer than others."""
        if self.table is not None:
            _ = self.table.pairs, self.table.equity, self.table.leaves
        street_kernels.load()
        final, deck = BOARD_CARDS[self.game.rules.last_street], self.game.deck
        for first in (0, 1):  # the first time loads kernels
            board, began = tuple(range(first, first + BOARD_CARDS[1])), time.perf_counter()
            mean_ahead(board, final, deck)
            self.prepared = time.perf_counter() - began

    def plan(self, state: EarlyState, made: str | None, request: Request) -> StreetPlan:
        """The street from a state on; the bet that the opponent has `made` there is included."""
        doubted = state.doubted(request.seat) if state.reached.betting.street else state.reached
        here = replace(doubted, game=with_bet(self.game, state.reached.betting, made))
        single = self.choices == 1  # then the solution is the same for both players
        at = str(here.board), *here.betting.history, *here.game.bets.added
        key = None if single else request.seat, at
        reach, plan = self.plans.get(key, ((), None))
        if plan is not None and all(map(np.array_equal, reach, here.reach)):
            return plan
        clock = request.clock
        if not clock.allows(self.prepared):
            self.prepared *= FORGET  # it may have been a bad moment
            return StreetPlan({}, 0, 0, "there was no time to prepare it")
        began = clock.spent
        plan = self._solved(here, state.abstract, request)
        if plan.rejected and clock.seconds is not None:
            if not plan.iterations:
                self.prepared = clock.spent - began
            return plan
        self.prepared = min(self.prepared, clock.spent - began)
        while len(self.plans) >= PLANS:
            self.plans.pop(next(iter(self.plans)))
        self.plans[key] = here.reach, plan
        return plan

    def _solved(
        self, here: ReachedRanges, abstract: Betting | None, request: Request
    ) -> StreetPlan:
        limits, now = request.search.limits(request.clock.left), request.clock.now
        at = LimitedStreet(self.blueprint, here, abstract, request.seat)
        street, choices = here.betting.street, self.choices
        if street == 0 and self.table is not None:
            return solve_before_flop(self.table, at, limits, 1 if choices == 1 else None, now)
        if self.rest.fits(at, limits.seconds):
            return self.rest.solve(at, limits, now)
        evaluator: StreetEvaluator = Rollouts(choices)
        if street == 1 and self.network is not None:
            evaluator = NetworkValues(self.network, choices)
        return solve_street(at, evaluator, limits, now)


def with_bet(game: Holdem, betting: Betting, made: str | None) -> Holdem:
    """The game with a bet that the opponent has made among its sizes."""
    if made is None or made in game.actions(betting):
        return game
    return replace(game, bets=replace(game.bets, added=(f"{betting}{made}",)))


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
        if state.plan is not None and state.plan.rejected:
            # The street was not solved with the bet in it, mostly for want of time. A solve from
            # after the bet would need the range that makes the bet, which is not known.
            return False
        return street > 0 or self._is_off_tree(state, made)

    def _is_off_tree(self, state: EarlyState, made: str | None) -> bool:
        """Whether a bet before the flop is to be answered by solving the rest of the round."""
        if state.plan is not None:  # an earlier one was, and then came a bet that was not solved
            return True
        advice = None if made is None else self.advice(state)
        if made is None or advice is None:
            return False
        return not advice.decision.made_as(state.reached.betting, made)

    def after(
        self, state: EarlyState, move: Move, seat: int, decided: Rows | None = None
    ) -> EarlyState:
        """After a move: both ranges, and the blueprint's betting that stands for the real one.

        On a street that is solved the opponent may follow the solution or, with even odds, the
        blueprint, if that has the action. The solution alone may hardly ever make one of two bets
        that are nearly as good, and says little then of the hands behind it.

        `decided` is what the player in our `seat` decided here, if that is known.
        """
        player, action = move
        reached, abstract, planned = state.reached, state.abstract, state.planned
        if player == CHANCE:
            return EarlyState(reached.after(action), abstract, rarest=state.rarest)
        share, answer, unlike, advice = None, None, False, self.advice(state)
        known: Sequence[int] = ()
        if advice is not None:
            decision, real = advice.decision, reached.betting
            known = decision.made_as(real, action)
            own = known if player == seat else ()
            shares = dict.fromkeys(own, 1.0) or decision.translated(real, action, DETERMINISTIC)
            share = likelihood(advice.probabilities, shares)
            if shares:
                k = max(shares, key=lambda k: shares[k])
                abstract = decision.child(k)
                unlike = player != seat and is_unlike(real.bet(action), decision.bets[k])
        if planned is not None:
            solved = self._planned_share(reached, planned, action)
            share = either(solved, share) if known and player != seat else solved
        elif unlike:
            answer, share = self._priced(reached, action)
        rarest = state.rarest
        if player == seat:
            share = as_decided(share, decided, action)
        elif share is not None:
            reach = reached.reach[player]
            rarest = min(rarest, float(share @ reach / max(reach.sum(), 1e-100)))
        return EarlyState(reached.after(action, share), abstract, state.plan, answer, rarest)

    def _priced(self, reached: ReachedRanges, bet: str) -> tuple[Rows, Floats | None]:
        """The answer to a bet by its price, and [hand] how likely the opponent makes it."""
        there = reached.betting.child(bet)
        solution = call_or_fold(self.game, reached.board, there, reached.reach)
        made = reached.reach[reached.player] @ solution.bets > 0
        return Rows(*solution[:2]), solution.bets if made else None

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
        if state.answer is not None:
            return state.answer
        if advice is None:
            return Rows(*call_or_fold(self.game, reached.board, reached.betting, reached.reach)[:2])
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
                decided = request.decided(actions_of(line[:k])) if player == seat else None
                after = streets.after(state, (player, action), seat, decided)
                self.states[line[: k + 1]] = after
            state = after
        return state, ()

    def decide(self, line: tuple[Move, ...], request: Request, least: int = 0) -> EarlyState:
        """Where the blueprint leads, with what is to be solved there before the player acts."""
        state, rest = self.follow(line, request, least)
        if rest or not self.streets.contains(state):
            return state
        state = self.states[line] = self.streets.with_plan(state, None, request)
        return state
