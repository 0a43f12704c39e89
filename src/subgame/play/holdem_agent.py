"""An agent for whole games of hold'em: a blueprint before the turn, then solving.

Brown, Sandholm & Amos 2018, Sec. 6. Before the street `solve_from` the agent follows a blueprint by
action translation, and both players' ranges by Bayes' rule. There it solves the rest of the game
with both ranges (Unsafe, as Modicum does for its first turn subgame). Afterwards it goes on as
`NestedAgent`: off-tree bets are answered by nested solving, and the river is solved again, safely.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.base import CHANCE
from subgame.games.holdem.bets import STREETS, BetSizes
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.spots import endgame
from subgame.play.agent import Policy, thresholded
from subgame.play.searching import Explanation, SearchAgent, actions_of, shares
from subgame.play.strategies import real_action
from subgame.refine.gadgets import Unsafe
from subgame.refine.gadgets import technique as technique_named
from subgame.refine.live.live import PASSED, Book, Clock, Live, Rows, Search
from subgame.refine.live.ranges import ReachedRanges
from subgame.refine.live.reached import Followed, Move
from subgame.refine.nested.mappings import heard, mapping
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
BETS = "turn: 0.75x a / cap 2; river: 0.75x a / cap 2"
"""The sizes that are solved; the opponent's own bet is always among them."""
ROOTS = 4
"""Turn subgames that are kept."""
DECIDED = 10_000
"""Decisions that are kept: asked again, the agent answers what it played."""


class RangeBlueprint(Protocol):
    """A strategy of whole hold'em that answers for all hands at once."""

    def range_strategy(self, state: HoldemState) -> tuple[Sequence[str], Floats]:
        """The actions that the player to act considers, and [hand, action] their probabilities.

        `state` has the board and the betting; its hands mean nothing.
        """


class Early(NamedTuple):
    """A public state before the street from which the agent solves."""

    reached: ReachedRanges
    mind: Betting  # the hand of the blueprint's game that is followed


class HoldemAgent(SearchAgent):
    """Plays hold'em from the first blind on, by a blueprint and by solving from the turn on.

    `bets` are the sizes of the subgames that are solved. `technique` is that of the river and of
    answers to off-tree bets. A decision takes at most `seconds`; kernels are loaded when the agent
    is made. Actions below the probability `threshold` are not taken; 1 takes the most probable one.

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
        bets: str = BETS,
        technique: str = "maxmargin",
        iterations: int | None = 1000,
        seconds: float | None = 5.0,
        threshold: float = 0.0,
    ) -> None:
        if solve_from not in STREETS[1 : game.rules.last_street + 1]:
            raise SubgameError(f"{game} has no street '{solve_from}' after its first one.")
        last = f"after the {STREETS[game.rules.last_street]}"
        known = game.frontiers()
        self.game, self.blueprint, self.street = game, blueprint, STREETS.index(solve_from)
        self.solved_game = replace(game, bets=BetSizes.parse(bets))
        self.search = Search(
            technique_named(technique), last if last in known else None, None, iterations, seconds
        )
        self.mapping, self.threshold = mapping("deterministic-pseudo-harmonic"), threshold
        self.start = Early(ReachedRanges.start(game), game.start())
        self.seen: dict[tuple[Move, ...], Early] = {}
        self.roots: dict[tuple[int, tuple[str, ...]], tuple[Live, Book]] = {}
        self.decided: OrderedDict[tuple[int, tuple[str, ...]], Rows] = OrderedDict()
        if seconds is not None:
            load_kernels(game.deck)

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.seen = {(): self.start}

    # Before the solved streets -----------------------------------------------------------------
    def _follow(self) -> tuple[Early, tuple[Move, ...]]:
        """Where the blueprint leads, and the moves that are left after it."""
        early = self.start
        for k, (player, action) in enumerate(self.line):
            if self._solves(early.reached):
                return early, self.line[k:]
            known = self.seen.get(self.line[: k + 1])
            early = self.seen[self.line[: k + 1]] = known or self._moved(early, player, action)
        return early, ()

    def _solves(self, reached: ReachedRanges) -> bool:
        return reached.player >= 0 and reached.betting.street >= self.street

    def _moved(self, early: Early, player: int, action: str) -> Early:
        reached, mind = early
        if player == CHANCE or not self._waits(early):
            return Early(reached.after(action), mind)
        actions, rows = self.blueprint.range_strategy(self._state(early))
        real = [real_action(reached.betting, mind.bet(each)) for each in actions]
        if player == self.seat and action in real:
            taken = {real.index(action): 1.0}
            share = rows[:, [each == action for each in real]].sum(1)
        else:
            meant = reached.betting.bet(action)
            taken = heard([mind.bet(each) for each in actions], meant, self.mapping)
            share = sum((part * rows[:, k] for k, part in taken.items()), np.zeros(len(rows)))
        there = reached.after(action, share if taken else None)
        k = max(taken, key=lambda each: taken[each]) if taken else -1
        return Early(there, mind.child(actions[k]) if taken else mind)

    def _waits(self, early: Early) -> bool:
        """Whether the hand in mind waits for the player who really acts."""
        real, mind = early.reached.betting, early.mind
        return not mind.is_over and mind.player == real.player and mind.street == real.street

    def _state(self, early: Early) -> HoldemState:
        return HoldemState(self.game, (0, 0), early.reached.board, early.mind)

    def _early_rows(self, early: Early) -> Rows:
        """What we do before the solved streets, in real bets."""
        hands = self.game.deck.num_hands
        if not self._waits(early):
            return Rows(("c",), np.ones((hands, 1)))
        names, rows = self.blueprint.range_strategy(self._state(early))
        real = [real_action(early.reached.betting, early.mind.bet(name)) for name in names]
        actions = tuple(dict.fromkeys(real))
        out = np.zeros((hands, len(actions)))
        for k, action in enumerate(real):
            out[:, actions.index(action)] += rows[:, k]
        return Rows(actions, out)

    # The solved streets ------------------------------------------------------------------------
    def live(self) -> Live:
        self.clock = Clock(self.search.seconds)
        early, rest = self._follow()
        if not self._solves(early.reached):
            raise SubgameError(f"Nothing is solved before the {STREETS[self.street]}.")
        game, line = self._with_bet(early.reached, rest), self.line[: len(self.line) - len(rest)]
        key = self.seat, (*actions_of(line), *game.bets.added)
        if key not in self.roots:
            while len(self.roots) >= ROOTS:
                self.roots.pop(next(iter(self.roots)))
            share = PASSED if len(rest) > 1 else 1.0  # there may be more to solve
            self.roots[key] = self._root(replace(early.reached, game=game), share), Book()
        first, book = self.roots[key]
        return book.find(first, actions_of(rest), self.clock)

    def _with_bet(self, reached: ReachedRanges, rest: Sequence[Move]) -> Holdem:
        """The game that is solved, with the bet that the opponent has made first."""
        game = self.solved_game
        if rest and rest[0][0] != self.seat and rest[0][1] not in game.actions(reached.betting):
            made = f"{reached.betting}{rest[0][1]}"
            return replace(game, bets=replace(game.bets, added=(made,)))
        return game

    def _root(self, here: ReachedRanges, share: float) -> Live:
        """The first subgame, solved with both players' ranges."""
        tree = here.subgame.tree
        began = self.clock.spent
        uniform = Followed(tree, Strategy.uniform(tree).probs)
        self.clock.reserve = self.clock.spent - began  # reading the solution takes as long
        search = replace(self.search, gadget=Unsafe())
        none = np.zeros(len(here.reach[1 - self.seat]))  # Unsafe has no alternative payoffs
        found = Live(search, self.seat, here, uniform, off=none).ready(self.clock, share)
        self.clock.reserve = 0.0
        at = self.search.at
        return replace(found, search=self.search, inside=at is not None and here.within(at))

    # Answers -----------------------------------------------------------------------------------
    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        rows = self._rows()
        at = [self.start.reached.number(self.seat, name) for name in infosets]
        found = rows.probabilities[at].astype(np.float64)
        return Policy(rows.actions, thresholded(found, self.threshold))

    def _rows(self) -> Rows:
        """What we do with every hand where play is; what was decided once stays so."""
        key = self.seat, actions_of(self.line)
        if key in self.decided:
            return self.decided[key]
        self.clock = Clock(self.search.seconds)
        early, _ = self._follow()
        if not self._solves(early.reached):
            self.took = self.clock.spent
            return self._early_rows(early)
        rows = self.live_rows()
        self.decided[key] = Rows(rows.actions, rows.probabilities.astype(np.float32))
        if len(self.decided) > DECIDED:
            self.decided.popitem(last=False)
        return self.decided[key]

    def explained(self, infoset: str) -> Explanation:
        early, _ = self._follow()
        if self._solves(early.reached):
            return super().explained(infoset)
        reached, rows = early.reached, self._early_rows(early)
        row = rows.probabilities[reached.number(self.seat, infoset)].tolist()
        ranges = shares(reached, self.seat), shares(reached, 1 - self.seat)
        plays = dict(zip(rows.actions, row, strict=True))
        return Explanation(infoset, plays, {}, ranges, None, 0, self.took)


@lru_cache(maxsize=8)
def load_kernels(deck: Deck) -> None:
    """Load what a first decision needs, so that it takes no longer than the others."""
    rank_hands(tuple(range(5)), deck)
    deck.facing(np.zeros(deck.num_hands))
    tiny = endgame("QsJhThKs", 4, 6, bets="postflop: a", deck=Deck("TJQKA", "hs"))
    here = ReachedRanges.start(tiny)
    tree = here.subgame.tree
    uniform, off = Followed(tree, Strategy.uniform(tree).probs), np.zeros(len(here.reach[0]))
    for gadget in (Unsafe(), technique_named("maxmargin")):
        search = Search(gadget, None, None, iterations=2, seconds=None)
        live = Live(search, 0, here, uniform, off=off).ready(Clock(None))
        live.rows()
        live.reached.action_values(live.before, best=False)
        live.reached.values(live.before, 1, best=True)
