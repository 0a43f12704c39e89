"""Streets of whole hold'em that an agent solves to their end, with values at a depth limit there.

Brown, Sandholm & Amos 2018, Sec. 6. The flop ends in values of rollouts or of a network
(`subgame.play.hunl.street`), the betting before it in values of a table
(`subgame.play.hunl.preflop`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from subgame.agent_names import VALUES, check_values
from subgame.blueprints.follow import FollowedBetting
from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.numba.strengths import mean_ahead
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.sizes import STREETS
from subgame.play.hunl.below import CHOICES
from subgame.play.hunl.flop_network import FlopNetwork, NetworkValues
from subgame.play.hunl.preflop import solve_before_flop
from subgame.play.hunl.preflop_values import PreflopValues
from subgame.play.hunl.rest import SHALLOW, RestSolver
from subgame.play.hunl.rollouts import Rollouts
from subgame.play.hunl.street import LimitedStreet, StreetEvaluator, StreetPlan, solve_street
from subgame.refine.live import Clock, Rows, Search
from subgame.refine.ranges.reached import ReachedRanges

Floats = NDArray[np.float64]
FORGET = 0.9
"""How fast it is forgotten that preparing took long."""
PLANS = 16
"""Streets solved to a depth limit that are kept; LBR asks for the answers to eleven bets."""
FLOP = "flop: 0.75x / raise 1x / cap 2"
"""The sizes of a flop that is solved to its end."""
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
    time (`subgame.play.hunl.rest`); 0: none is."""


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


class EarlyState(NamedTuple):
    """A public state before the street from which the agent solves to the end of the game."""

    reached: ReachedRanges
    abstract: Betting | None
    """The blueprint's betting that stands for the real one."""
    plan: StreetPlan | None = None
    """The solution of the street, where it was solved to a depth limit."""
    unlike: bool = False
    """Whether the opponent's last bet is unlike the blueprint's one that stands for it."""

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
        final, deck = BOARD_CARDS[self.game.rules.last_street], self.game.deck
        for first in (0, 1):  # the first time loads kernels
            board, began = tuple(range(first, first + final - 1)), time.perf_counter()
            mean_ahead(board, final, deck)
            self.prepared = deck.size / 2 * (time.perf_counter() - began)

    def plan(self, state: EarlyState, made: str | None, request: Request) -> StreetPlan:
        """The street from a state on; the bet that the opponent has `made` there is included."""
        here = replace(state.reached, game=with_bet(self.game, state.reached.betting, made))
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
