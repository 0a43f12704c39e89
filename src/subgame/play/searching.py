"""Agents that solve while they play: nested subgame solving and depth-limited solving.

Brown & Sandholm 2017, Sec. 6, and Brown, Sandholm & Amos 2018, Sec. 6. How a hand is followed and
solved is in `subgame.refine.live`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError, did_you_mean
from subgame.games.base import Game
from subgame.play.agent import Event, Mixed, Policy, thresholded
from subgame.refine.behind import default_schedule
from subgame.refine.continuations import biased
from subgame.refine.gadgets import Gadget
from subgame.refine.gadgets import technique as technique_named
from subgame.refine.limit import Limit
from subgame.refine.live import Book, Clock, Live, Rows, Search
from subgame.refine.reached import Followed, Move, Reached
from subgame.refine.verbs.cut import by_kind, start_of
from subgame.refine.verbs.depth import limited_at
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
RARE = 1e-4
"""Infosets below this share of the likeliest one are left out of the range that is shown."""
TECHNIQUE = "resolve"
"""The gadget of the last street and of answers to off-tree bets. After such a bet some of the
opponent's hands must win more than before. Resolve keeps their sum small; Maxmargin may give up
all other hands for the worst one (docs/play.md, local best response)."""
SHOWN = 5
"""Infosets of a range that an explanation shows, the most likely ones."""


@dataclass(frozen=True)
class Explanation:
    """Why an agent acted as it did. Ranges are probabilities by information state."""

    infoset: str
    strategy: dict[str, float]
    """What the agent does with its hand: action -> probability."""
    values: dict[str, float]
    """What each action is worth with the hand if both go on as the agent thinks, in chips; empty
    where nothing says so."""
    ranges: tuple[dict[str, float], dict[str, float]]
    """Of the agent and of the opponent."""
    margin: float | None
    """The smallest margin of the last solve; None if nothing was solved."""
    iterations: int
    """Of the last solve; 0 if nothing was solved."""
    seconds: float
    """That the decision took."""
    share: float = 1.0
    """Of the last solve in what is played; the rest is what was followed before."""
    note: str = ""
    """What was done instead of solving to the end of the game."""

    def __str__(self) -> str:
        worth = {action: f" ({_chips(value)} chips)" for action, value in self.values.items()}
        plays = ", ".join(
            f"{self._words(action)} {100 * share:.0f} %{worth.get(action, '')}"
            for action, share in self.strategy.items()
        )
        lines = [f"With {self.infoset.partition(' | ')[0]} the agent plays: {plays}."]
        for who, held in zip(("agent", "opponent"), self.ranges, strict=True):
            most = sorted(held.items(), key=lambda item: -item[1])[:SHOWN]
            likely = ", ".join(
                f"{name.partition(' | ')[0]} {100 * share:.2g} %" for name, share in most
            )
            if len(held) > SHOWN and most[0][1] < 1.001 / len(held):
                likely = f"all {len(held):,} hands alike"
            elif len(held) > SHOWN:
                likely = f"{len(held):,} hands, the likeliest are {likely}"
            lines.append(f"The {who}'s range here: {likely}.")
        if self.margin is None:
            lines.append(self.note or "Nothing was solved: the agent follows its blueprint.")
        else:
            lines.append(
                f"The subgame was solved by {self.iterations:,} iterations; its least margin is "
                f"{_chips(self.margin)} chips."
            )
            if self.share < 1:
                lines.append(
                    f"Of the solution {100 * self.share:.0f} % is played: with more of it the "
                    "opponent could win more than before."
                )
        lines.append(f"The decision took {self.seconds:.3f} seconds.")
        return "\n".join(lines)

    def _words(self, action: str) -> str:
        """An action of hold'em in words; actions of other games as they are."""
        if " | " not in self.infoset:
            return action
        return {"f": "fold", "c": "check or call"}.get(action, f"bet or raise to {action[1:]}")


def _chips(amount: float) -> str:
    """An amount with its sign.

    >>> _chips(-1287.3), _chips(0.123456)
    ('-1,287', '+0.123')
    """
    return f"{amount:+,.0f}" if abs(amount) >= 100 else f"{amount:+.3g}"


def actions_of(line: Sequence[Move]) -> tuple[str, ...]:
    """The actions of a line, without who made them."""
    return tuple(action for _, action in line)


def shares(reached: Reached, p: int) -> dict[str, float]:
    """A player's range: information state -> probability, without those that hardly ever occur."""
    weight = reached.reach[p] * (reached.weight(p) > 0)
    weight = weight * (weight > RARE * weight.max())
    names, total = reached.names(p), max(weight.sum(), 1e-100)
    return {names[k]: float(weight[k] / total) for k in np.flatnonzero(weight).tolist()}


class SearchAgent(Mixed):
    """An agent that follows a hand as a `Live`: what its kinds share."""

    search: Search
    clock: Clock
    line: tuple[Move, ...] = ()
    took: float = 0.0
    """Seconds that the last decision took."""
    asked: tuple[str, tuple[Move, ...]] | None = None
    threshold: float = 0.0
    """Actions below this probability are not taken; with 1 only the most probable one is. Ranges
    are followed by the strategy as it was found."""

    @abstractmethod
    def live(self) -> Live:
        """Where play is, with all that has to be solved before the agent can act."""

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.line = ()

    def observe(self, event: Event) -> None:
        self.line = (*self.line, (event.player, event.action))

    def live_rows(self) -> Rows:
        """What the agent does where play is, with every infoset."""
        live = self.live()
        self._check_turn(live)
        rows = live.rows()
        self.took = self.clock.spent
        return rows

    def _check_turn(self, live: Live) -> None:
        """Raise an error unless it is the agent's turn."""
        if live.reached.player != self.seat:
            done = " ".join(actions_of(self.line))
            raise SubgameError(f"After '{done}' it is not the agent's turn.")

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        rows, here = self.live_rows(), self.live().reached
        at = [here.number(self.seat, name) for name in infosets]
        return Policy(rows.actions, thresholded(rows.probabilities[at], self.threshold))

    def explained(self, infoset: str) -> Explanation:
        """Why the agent acts as it does with an information state at the present public state."""
        played, live, p = self._played(infoset), self.live(), self.seat
        values = live.reached.action_values(live.before, best=False)
        worth = values[live.reached.number(p, infoset)].tolist()
        return Explanation(
            infoset,
            played,
            dict(zip(live.rows().actions, worth, strict=True)),
            (shares(live.reached, p), shares(live.reached, 1 - p)),
            None if live.solved is None else live.solved.margin,
            0 if live.solved is None else live.solved.iterations,
            self.took,
            1.0 if live.solved is None else live.solved.share,
        )

    def _played(self, infoset: str) -> dict[str, float]:
        """What the agent does with an infoset; asking for it takes no part of the decision."""
        took = self.took
        policy = self.policy((infoset,), ())
        self.took = took or self.took
        return dict(zip(policy.actions, policy.probabilities[0].tolist(), strict=True))

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        self.asked = infoset, self.line
        return super().act(infoset, legal)

    def explain(self) -> str:
        if self.asked is None:
            return ""
        now, self.line = self.line, self.asked[1]
        try:
            return str(self.explained(self.asked[0]))
        finally:
            self.line = now


class NestedAgent(SearchAgent):
    """Plays a blueprint, and solves the subgame that play reaches where it must or should.

    It must where the opponent makes a bet that the blueprint does not know. It should from the
    frontier `at` on, by default the last one that the game names: the last street. The `technique`
    is that of `subgame.refine`: "resolve", "maxmargin", "reach-resolve", "unsafe", ... A solve
    stops after `iterations`, and in time for the decision to take no more than `seconds`, compiling
    included; what was found by then is played.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("leduc"))
    >>> agent = NestedAgent(sg.Strategy.uniform(tree), iterations=50)
    >>> agent.begin(seat=0, seed=1)
    >>> for player, action in ((0, "c"), (1, "c"), (-1, "Ks")):
    ...     agent.observe(Event(player, action))
    >>> agent.policy(["Kh:cc/Ks/"], ("c", "r")).actions
    ('c', 'r')
    >>> agent.explained("Kh:cc/Ks/").iterations
    50
    """

    name = "nested"

    def __init__(
        self,
        blueprint: Strategy,
        *,
        technique: Gadget | str = TECHNIQUE,
        at: str | None = "",
        threshold: float = 0.0,
        **options: Any,
    ) -> None:
        """`at` may be None: solve after off-tree bets only. `options` are those of `Search`."""
        self.blueprint, self.threshold = blueprint, threshold
        self.start = start_of(blueprint.tree)
        chosen = self._frontier(self.start.game) if at == "" else at
        known = self.start.game.frontiers()
        if chosen is not None and chosen not in known:
            raise did_you_mean("frontier", chosen, known)
        gadget = technique_named(technique)
        self.search = Search(gadget, chosen, **options)
        self.book, self.first = Book(), dict[int, Live]()

    @staticmethod
    def _frontier(game: Game) -> str | None:
        """Where solving begins if nothing is said: at the last frontier."""
        after = [name for name in game.frontiers() if name.startswith("after")]
        return after[-1] if after else None

    def live(self) -> Live:
        self.clock = Clock(self.search.seconds, self.search.now)
        if self.seat not in self.first:
            followed = self._followed(self.seat)
            self.first[self.seat] = Live(self.search, self.seat, self.start, followed)
        return self.book.find(self.first[self.seat], actions_of(self.line), self.clock)

    def _followed(self, seat: int) -> Followed:
        """What is followed from the start of the game."""
        return Followed(self.blueprint.tree, self.blueprint.probs)


class LimitedAgent(NestedAgent):
    """Solves the first rounds to a depth limit, and from the frontier `at` on to the end.

    Brown, Sandholm & Amos 2018: at the depth limit the opponent chooses among the blueprint and
    its biased forms (multi-valued states). Off-tree bets are answered by nested solving.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("leduc"))
    >>> agent = LimitedAgent(sg.Strategy.uniform(tree), iterations=50)
    >>> agent.begin(seat=0, seed=1)
    >>> agent.policy(["Kh:"], ("c", "r")).actions
    ('c', 'r')
    """

    name = "limited"

    @staticmethod
    def _frontier(game: Game) -> str | None:
        """The first frontier: the end of the first round."""
        after = [name for name in game.frontiers() if name.startswith("after")]
        if not after:
            raise SubgameError(f"{game} names no frontier at which a depth limit could be.")
        return after[0]

    def _followed(self, seat: int) -> Followed:
        tree, search = self.blueprint.tree, self.search
        assert search.at is not None
        offered, at = biased(self.blueprint, 1 - seat), search.at
        before = by_kind(tree, lambda _: at, lambda _: at.replace("after", "before"))
        limit = Limit(self.blueprint, before, seat, offered)
        schedule = search.schedule or default_schedule(search.gadget, tree)
        limited = limited_at(tree, limit)  # takes time, too
        limits = search.limits(self.clock.left)
        _, strategy = limited.solved(None, schedule, limits, None, None)
        # The opponent's part of the solution is one of many answers to ours, and may rule out
        # hands that the opponent has; ranges are those of the blueprint.
        sigma = [*self.blueprint.probs]
        sigma[seat] = strategy.probs[seat]
        return Followed(tree, (sigma[0], sigma[1]), tuple(offered.probs))
