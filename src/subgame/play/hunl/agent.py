"""An agent for whole games of hold'em: a blueprint before the turn, then solving.

Brown, Sandholm & Amos 2018, Sec. 6. Before the street `solve_from` the agent follows a blueprint
and both players' ranges (`subgame.play.hunl.early`), and may solve a street to a depth limit
(`subgame.play.hunl.early`). From there on it solves the rest of the game
(`subgame.play.hunl.turn`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Unpack

import numpy as np

from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.blas import one_blas_thread
from subgame.errors import SubgameError
from subgame.games.base import CHANCE
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.sizes import STREETS
from subgame.play.agent import Policy, thresholded
from subgame.play.hunl.early import (
    DepthLimit,
    DepthOptions,
    EarlyHand,
    EarlyState,
    EarlyStreets,
    RangeBlueprint,
    Request,
    StreetPlanner,
)
from subgame.play.hunl.laid import Laid
from subgame.play.hunl.turn import RIVER, StarvedError, TurnSolver, load_kernels
from subgame.play.searching import TECHNIQUE, Explanation, SearchAgent, actions_of, shares
from subgame.refine.gadgets import Gadget
from subgame.refine.gadgets import technique as technique_named
from subgame.refine.live import Clock, Live, Rows, Search
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Move

DECIDED = 10_000
"""Decisions that are kept."""


class DecisionCache:
    """The last decisions of solves, by seat and line of play, in single precision."""

    def __init__(self, most: int = DECIDED) -> None:
        self.most = most
        self.decided: OrderedDict[tuple[int, tuple[str, ...]], Rows] = OrderedDict()
        self.unsolved: dict[tuple[int, tuple[str, ...]], str] = {}
        """Why decisions were made without a solve: there was too little time."""
        self.alone: set[tuple[int, tuple[str, ...]]] = set()
        """Where streets begin that are solved without those before them, for the same reason."""

    def starved(self, seat: int, line: Sequence[Move]) -> int:
        """How many moves of a line are followed by the blueprint, because time was short.

        They are those up to the last decision that was made without a solve, or up to a street
        that is solved alone.
        """
        for k in range(len(line), 0, -1):
            key = self._key(seat, line[:k])
            if key in self.alone:
                return k
            if key in self.unsolved and k < len(line):
                return k + 1
        return 0

    def find(self, seat: int, actions: tuple[str, ...]) -> Rows | None:
        """What was decided there; None if nothing was."""
        return self.decided.get((seat, actions))

    @staticmethod
    def _key(seat: int, line: Sequence[Move]) -> tuple[int, tuple[str, ...]]:
        return seat, actions_of(line)

    def keep(self, seat: int, line: Sequence[Move], rows: Rows, why: str = "") -> Rows:
        """The decision as it is kept; `why` it is not that of a solve that was begun."""
        kept, key = Rows(rows.actions, rows.probabilities.astype(np.float32)), self._key(seat, line)
        self.decided[key] = kept
        if why:
            self.unsolved[key] = why
        if len(self.decided) > self.most:
            self.unsolved.pop(self.decided.popitem(last=False)[0], None)
        return kept

    def begin_at(self, seat: int, line: Sequence[Move]) -> None:
        """Solve alone what comes after a line."""
        if len(self.alone) >= self.most:
            self.alone.clear()
        self.alone.add(self._key(seat, line))


ITERATIONS = 1000


class HoldemAgent(SearchAgent):
    """Plays hold'em from the first blind on, by a blueprint and by solving from the turn on.

    `bets` are the sizes of the subgames that are solved; without them there are as many as the time
    allows (`subgame.play.hunl.turn.MENUS`). `technique` is that of answers to off-tree bets and of
    the river after a turn that was solved; without one they are Resolve and
    `subgame.play.hunl.turn.RIVER`. A decision takes at most `seconds`; kernels are loaded when the
    agent is made. Where it has solved, actions below the probability `threshold` are not taken; 1
    takes the most probable one.

    With sizes for `limited` streets before it are solved, too, to a depth limit at their end
    (`subgame.play.hunl.street`); the blueprint must then be a `StoredBlueprint`. With sizes
    before the flop among them, an off-tree bet there is answered by solving the rest of that round
    (`subgame.play.hunl.preflop`). `DepthOptions` say where values come from.

    >>> from subgame.games import holdem
    >>> class Calls:
    ...     def range_strategy(self, state):
    ...         return ("c",), np.ones((state.game.deck.num_hands, 1))
    >>> agent = HoldemAgent(holdem.hunl(), Calls())
    >>> agent.begin(seat=1, seed=0)
    >>> agent.act("AsAh |  | ", ("f", "c"))
    'c'
    """

    name = "nested"

    def __init__(
        self,
        game: Holdem,
        blueprint: RangeBlueprint,
        *,
        solve_from: str = "turn",
        bets: str | None = None,
        technique: Gadget | str | None = None,
        iterations: int | None = ITERATIONS,
        seconds: float | None = 5.0,
        threshold: float = 0.0,
        **depth: Unpack[DepthOptions],
    ) -> None:
        if solve_from not in STREETS[1 : game.rules.last_street + 1]:
            raise SubgameError(f"{game} has no street '{solve_from}' after its first one.")
        last = f"after the {STREETS[game.rules.last_street]}"
        frontier = last if last in game.frontiers() else None
        gadget = technique_named(technique or TECHNIQUE)
        river = RIVER if technique is None else None
        self.search = Search(gadget, frontier, None, iterations, seconds, entered=river)
        self.threshold = threshold
        self.planner = _planner(game, blueprint, DepthLimit(**depth))
        self.streets = EarlyStreets(game, blueprint, STREETS.index(solve_from), self.planner)
        self.turn, self.decided = TurnSolver(game, bets), DecisionCache()
        self.early = EarlyHand(self.streets)
        if seconds is not None:
            load_kernels(game.deck)
            if isinstance(blueprint, StoredBlueprint):
                for cards in BOARD_CARDS[: game.rules.last_street + 1]:
                    blueprint.cards.of(tuple(range(cards)))
            self.turn.load()
            if self.planner is not None:
                self.planner.load()
                self.planner.rest.pace = self.turn.pace

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.turn.begin()
        self.early = EarlyHand(self.streets)

    def forget(self) -> None:
        """Decide anew what was decided before."""
        self.decided = DecisionCache()
        self.turn.roots.clear()
        if self.planner is not None:
            self.planner.plans.clear()

    def request(self) -> Request:
        """A decision whose time begins now."""
        self.clock = Clock(self.search.seconds, self.search.now)
        return Request(self.seat, self.search, self.clock, partial(self.decided.find, self.seat))

    def live(self) -> Live:
        return self._live(self.request())

    def _live(self, request: Request) -> Live:
        """Where play is, in the time of a decision.

        A street before may have to be solved again, because its solution was forgotten. If there is
        no time for that, the last street is solved alone.
        """
        least = self.decided.starved(self.seat, self.line)
        state, rest = self.early.follow(self.line, request, least)
        try:
            return self._live_after(state, rest, request)
        except StarvedError:
            dealt = max(k for k, (player, _) in enumerate(self.line, 1) if player == CHANCE)
            if dealt + len(rest) <= len(self.line):  # that was the last street
                raise
        self.decided.begin_at(self.seat, self.line[:dealt])
        return self._live_after(*self.early.follow(self.line, request, dealt), request)

    def _live_after(self, state: EarlyState, rest: tuple[Move, ...], request: Request) -> Live:
        """Where play is; the blueprint led to a state, then came the `rest` (`TurnSolver.live`)."""
        if self.streets.contains(state):
            first = STREETS[self.streets.solved_from]
            raise SubgameError(f"Nothing is solved before the {first}.")
        before = self.line[: len(self.line) - len(rest)]
        blueprint = self.streets.blueprint
        laid = Laid(blueprint, state.hand) if isinstance(blueprint, StoredBlueprint) else None
        return self.turn.live(state.doubted(self.seat), before, rest, request, laid)

    def followed(self) -> ReachedRanges:
        """Where play is, with the ranges of players who follow the blueprint."""
        return self.early.follow(self.line, self.request(), len(self.line))[0].reached

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        rows = self.rows()
        at = [self.streets.start.reached.number(self.seat, name) for name in infosets]
        key = self.seat, actions_of(self.line)
        solved = key in self.decided.decided and key not in self.decided.unsolved
        probabilities = rows.probabilities[at].astype(np.float64)
        return Policy(rows.actions, thresholded(probabilities, self.threshold if solved else 0.0))

    def rows(self) -> Rows:
        """What we do with every hand where play is; what was decided once stays so.

        The hand is followed all the same: later decisions need the ranges of this one.
        """
        decided = self.decided.find(self.seat, actions_of(self.line))
        with one_blas_thread():
            if decided is not None:
                self._state(self.request())
                return decided
            rows, is_due, why = self._decide(self.request())
        self.took = self.clock.spent
        return self.decided.keep(self.seat, self.line, rows, why) if is_due else rows

    def _state(self, request: Request) -> EarlyState:
        """Where the blueprint leads, with what is solved there."""
        if (self.seat, actions_of(self.line)) in self.decided.unsolved:
            return self.early.follow(self.line, request, len(self.line))[0]
        least = self.decided.starved(self.seat, self.line)
        return self.early.decide(self.line, request, least)

    def _decide(self, request: Request) -> tuple[Rows, bool, str]:
        """What we do here, whether a solve was due, and why it was not used."""
        state = self._state(request)
        if self.streets.contains(state):
            rejected = "" if state.plan is None else state.plan.rejected
            return self.streets.rows(state), state.plan is not None, rejected
        try:
            live = self._live(request)
        except StarvedError as starved:
            followed, _ = self.early.follow(self.line, request, len(self.line))
            return self.streets.followed_rows(followed), True, starved.why
        self._check_turn(live)
        return live.rows(), True, ""

    def explained(self, infoset: str) -> Explanation:
        played = self._played(infoset)  # it may have been decided in an earlier hand
        why = self.decided.unsolved.get((self.seat, actions_of(self.line)), "")
        state = self._state(self.request())
        if not why and not self.streets.contains(state):
            return super().explained(infoset)
        reached = state.reached
        ranges = shares(reached, self.seat), shares(reached, 1 - self.seat)
        note = f"The blueprint was followed, a solve was not used: {why}." if why else _note(state)
        count = 0 if why or state.plan is None else state.plan.iterations
        return Explanation(infoset, played, {}, ranges, None, count, self.took, note=note)


def _planner(game: Holdem, blueprint: RangeBlueprint, depth: DepthLimit) -> StreetPlanner | None:
    """Of the streets that are solved to a depth limit; None if there are none."""
    if depth.limited is None:
        return None
    if not isinstance(blueprint, StoredBlueprint):
        raise SubgameError("A depth limit needs a StoredBlueprint, which can be rolled out.")
    return StreetPlanner(game, blueprint, depth.limited, depth)


def _note(state: EarlyState) -> str:
    """How the street was solved; empty if it was not."""
    plan = state.plan
    if plan is None:
        return ""
    if plan.to_end:
        return f"The rest of the hand was solved by {plan.iterations:,} iterations."
    values = f"of {plan.boards} boards" if plan.boards else "by the network"
    part = "" if plan.share == 1 else f" Of the solution {100 * plan.share:.0f} % is played."
    return (
        f"The street was solved to its end by {plan.iterations:,} iterations, with values {values}."
        f"{part}"
    )
