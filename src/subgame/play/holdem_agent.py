"""An agent for whole games of hold'em: a blueprint before the turn, then solving.

Brown, Sandholm & Amos 2018, Sec. 6. Before the street `solve_from` the agent follows a blueprint by
action translation, and both players' ranges by Bayes' rule. There it solves the rest of the game
with both ranges (Unsafe, as Modicum does for its first turn subgame). Afterwards it goes on as
`NestedAgent`: off-tree bets are answered by nested solving, and the river is solved again, safely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.base import CHANCE
from subgame.games.holdem.bets import STREETS, BetSizes
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.games.holdem.rules import Betting
from subgame.play.agent import Policy
from subgame.play.searching import SearchAgent, actions_of
from subgame.play.strategies import real_action
from subgame.refine.gadgets import Unsafe
from subgame.refine.gadgets import technique as technique_named
from subgame.refine.live.live import Book, Clock, Live, Rows, Search
from subgame.refine.live.ranges import ReachedRanges
from subgame.refine.live.reached import Followed, Move
from subgame.refine.nested.mappings import heard, mapping
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
BETS = "turn: 0.75x a / cap 2; river: 0.75x a / cap 2"
"""The sizes that are solved; the opponent's own bet is always among them."""
ROOTS = 4
"""Turn subgames that are kept."""


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
    answers to off-tree bets. A decision takes at most `seconds`.

    >>> from subgame.games import holdem
    >>> class Calls:
    ...     def range_strategy(self, state):
    ...         return ("c",), np.ones((state.game.deck.num_hands, 1))
    >>> agent = HoldemAgent(holdem.hunl(), Calls())
    >>> agent.begin(seat=1, seed=0)
    >>> agent.act("AsAh |  | ", ("f", "c"))
    'c'
    """

    name = "holdem"

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
        self.mapping = mapping("deterministic-pseudo-harmonic")
        self.roots: dict[tuple[int, tuple[str, ...]], tuple[Live, Book]] = {}

    # Before the solved streets -----------------------------------------------------------------
    def _follow(self) -> tuple[Early, tuple[Move, ...]]:
        """Where the blueprint leads, and the moves that are left after it."""
        early = Early(ReachedRanges.start(self.game), self.game.start())
        for k, (player, action) in enumerate(self.line):
            if self._solves(early.reached):
                return early, self.line[k:]
            early = self._moved(early, player, action)
        return early, ()

    def _solves(self, reached: ReachedRanges) -> bool:
        return reached.player >= 0 and reached.betting.street >= self.street

    def _moved(self, early: Early, player: int, action: str) -> Early:
        reached, mind = early
        if player == CHANCE:
            return Early(reached.after(action), mind)
        if not self._waits(early):
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
        key = self.seat, actions_of(self.line[: len(self.line) - len(rest)])
        if key not in self.roots:
            while len(self.roots) >= ROOTS:
                self.roots.pop(next(iter(self.roots)))
            self.roots[key] = self._root(early.reached), Book()
        first, book = self.roots[key]
        return book.find(first, actions_of(rest), self.clock)

    def _root(self, reached: ReachedRanges) -> Live:
        """The first subgame, solved with both players' ranges."""
        here = replace(reached, game=self.solved_game)
        tree = here.subgame.tree
        uniform = Followed(tree, Strategy.uniform(tree).probs)
        search = replace(self.search, gadget=Unsafe())
        none = np.zeros(len(here.reach[1 - self.seat]))  # Unsafe has no alternative payoffs
        found = Live(search, self.seat, here, uniform, off=none).ready(self.clock)
        at = self.search.at
        return replace(found, search=self.search, inside=at is not None and here.within(at))

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        early, _ = self._follow()
        if self._solves(early.reached):
            return super().policy(infosets, legal)
        rows = self._early_rows(early)
        at = [early.reached.number(self.seat, name) for name in infosets]
        return Policy(rows.actions, rows.probabilities[at])

    def explain(self) -> str:
        early, _ = self._follow()
        return (
            super().explain() if self._solves(early.reached) else "The agent plays its blueprint."
        )
