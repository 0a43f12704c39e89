"""Action translation: playing a strategy of a smaller game against bets that only a larger one has.

Ganzfried & Sandholm 2013, "Action translation in extensive-form games with large action spaces:
axioms, paradoxes, and the pseudo-harmonic mapping". A bet x of the opponent between the sizes
A < B that our game knows, all in fractions of the pot, is taken for A with probability f_{A,B}(x)
and for B otherwise; then we do what our strategy says there.

The translating player follows a hand of the *smaller* game in her head. Its pot drifts away from
the real one, so both sides are compared by fractions of their own pots:

* a check or call is a bet of 0; all-in is taken for all-in; what lies beyond the sizes we know is
  taken for the last of them;
* our own bets are made in the same fraction of the real pot: the nearest there is, all-in for
  all-in, a call where nobody can raise any more;
* where the hand in her head waits for nobody of the table (a raise taken for a call has ended the
  round there; an all-in that was none is called), she checks and calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError, did_you_mean
from subgame.games.base import CHANCE
from subgame.games.holdem.rules import Bet
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import histories_of, sequence_tree
from subgame.tree.sequence.walk import Histories
from subgame.tree.strategy import Strategy, normalise

Floats = NDArray[np.float64]
TINY = 1e-9
"""Sizes closer than this are equal."""


# Mappings ------------------------------------------------------------------------------------


def pseudo_harmonic(a: float, b: float, x: float) -> float:
    """Sec. 6: the only mapping by which x is called as often as 1 / (1 + x)."""
    return (b - x) * (1 + a) / ((b - a) * (1 + x))


def geometric(a: float, b: float, x: float) -> float:
    """Sec. 5.4, "Rand-Geo-1" (Schnizlein et al. 2009); 0 where a is 0: no bet is a check."""
    return a * (b - x) / (a * (b - x) + x * (x - a))


def geometric_squared(a: float, b: float, x: float) -> float:
    """Sec. 5.5, "Rand-Geo-2" (Tartanian4); the same median as `geometric`."""
    return a * (b + x) * (b - x) / ((b - a) * (x * x + a * b))


def arithmetic(a: float, b: float, x: float) -> float:
    """Sec. 5.2: linear in between."""
    return (b - x) / (b - a)


@dataclass(frozen=True)
class ActionMapping:
    """A way to take a bet for one we know.

    >>> mapping("pseudo-harmonic").lower(0, 1, 0.25), mapping("arithmetic").lower(0, 1, 0.25)
    (0.6, 0.75)
    """

    name: str
    share: Callable[[float, float, float], float]
    """f_{A,B}(x), for A < x < B."""
    randomized: bool = True
    """Otherwise A is chosen below the median, where f is 1/2, and B above it."""
    tie: float = 0.0
    """The probability of A at the very median of a deterministic mapping: 0 by the paper's text
    (Sec. 5.1), though the figures of its Table 3 are those of 1."""

    def lower(self, a: float, b: float, x: float) -> float:
        """The probability that x is taken for the smaller size a rather than for b."""
        if not (0 <= a < b and math.isfinite(b) and math.isfinite(x)):
            raise SubgameError(f"A bet x lies between sizes 0 <= A < B, not {a:g}, {b:g} at {x:g}.")
        if x <= a + TINY or x >= b - TINY:
            return float(x <= a + TINY)
        share = self.share(a, b, x)
        if self.randomized:
            return share
        return self.tie if abs(share - 0.5) <= TINY else float(share > 0.5)

    def spread(self, sizes: list[float], x: float) -> Iterator[tuple[int, float]]:
        """(which of the ascending `sizes`, probability): what a bet x is taken for."""
        for k, (a, b) in enumerate(pairwise(sizes)):
            if a <= x <= b:
                share = self.lower(a, b, x)
                yield from ((k + i, w) for i, w in enumerate((share, 1 - share)) if w > 0)
                return
        yield (0 if x < sizes[0] else len(sizes) - 1), 1.0


MAPPINGS: dict[str, ActionMapping] = {
    made.name: made
    for made in (
        ActionMapping("pseudo-harmonic", pseudo_harmonic),
        ActionMapping("geometric", geometric),
        ActionMapping("geometric-squared", geometric_squared),
        ActionMapping("arithmetic", arithmetic),
        ActionMapping("deterministic-pseudo-harmonic", pseudo_harmonic, randomized=False),
        ActionMapping("deterministic-geometric", geometric, randomized=False),
        ActionMapping("deterministic-arithmetic", arithmetic, randomized=False),
        # The nearest size is the one on our side of the middle: Sec. 5.1 under its plain name.
        ActionMapping("nearest", arithmetic, randomized=False),
    )
}


def mapping(name: str | ActionMapping) -> ActionMapping:
    """A mapping by name."""
    if isinstance(name, ActionMapping):
        return name
    if name not in MAPPINGS:
        raise did_you_mean("action mapping", str(name), MAPPINGS)
    return MAPPINGS[name]


# Hearing and answering -----------------------------------------------------------------------


@runtime_checkable
class Sized(Protocol):
    """A state that says how large its bets are, as those of `subgame.games.no_limit` do."""

    def bet(self, action: str) -> Bet | None:
        """Its size in fractions of the pot; None for what is no bet, check or call."""


def heard(bets: list[Bet | None], said: Bet | None, how: ActionMapping) -> dict[int, float]:
    """What an opponent's action is taken for: number of ours -> probability."""
    if said is None:
        return {k: 1.0 for k, bet in enumerate(bets) if bet is None}
    if said.all_in:
        ours = [k for k, bet in enumerate(bets) if bet is not None and bet.all_in]
        if ours:
            return {ours[0]: 1.0}
    known = sorted((bet.fraction, k) for k, bet in enumerate(bets) if bet is not None)
    found = how.spread([size for size, _ in known], said.fraction)
    return {known[i][1]: share for i, share in found}


def answer(meant: Bet | None, bets: list[Bet | None]) -> int:
    """Which of the real actions does what we mean to do in the smaller game."""
    passive = next(k for k, bet in enumerate(bets) if bet is not None and bet.fraction == 0)
    if meant is None:
        return next((k for k, bet in enumerate(bets) if bet is None), passive)
    raises = [(k, bet) for k, bet in enumerate(bets) if bet is not None and bet.fraction > 0]
    if meant.fraction == 0 or not raises:
        return passive
    if meant.all_in:
        return max(raises, key=lambda item: (item[1].all_in, item[1].fraction))[0]
    return min(raises, key=lambda item: abs(item[1].fraction - meant.fraction))[0]


class _Lines:
    """A tree's histories with the size of every action, looked up once per infoset."""

    def __init__(self, tree: PublicTree) -> None:
        histories = histories_of(tree)
        if histories is None:
            raise SubgameError(f"{tree!r} keeps no histories, so nothing can be translated in it.")
        self.h: Histories = histories
        self.player = self.h.player.tolist()
        self.infoset = self.h.infoset.tolist()
        self.known: dict[tuple[int, int], list[Bet | None]] = {}

    def bets(self, at: int) -> list[Bet | None]:
        """The sizes of the actions at a history where somebody acts."""
        p, i = self.player[at], self.infoset[at]
        if (p, i) not in self.known:
            state = self.h.state(int(self.h.tables[p].first[i]))
            if not isinstance(state, Sized):
                raise SubgameError(
                    f"{self.h.game} does not say how large its bets are, so they cannot be "
                    "translated; its states need a method bet(action)."
                )
            self.known[p, i] = [state.bet(action) for action in self.h.tables[p].actions[i]]
        return self.known[p, i]

    def steps(self) -> list[dict[int | str, int]]:
        """[h] from the number of an action, or the name of an outcome, to what follows it."""
        out: list[dict[int | str, int]] = [{} for _ in range(len(self.h))]
        for at, above in enumerate(self.h.parent.tolist()):
            if above >= 0:
                dealt = self.player[above] == CHANCE
                key = self.h.labels[self.h.edge[at]] if dealt else int(self.h.action[at])
                out[above][key] = at
        return out


# The translating player ----------------------------------------------------------------------

Belief = dict[int, float]
"""Where the hand in her head may be: history of the smaller game -> how likely she herself (her
mapping's coin flips, her own choices) brings it there, given what the others did."""


def translate(
    strategy: Strategy, tree: PublicTree, how: str | ActionMapping = "pseudo-harmonic"
) -> Strategy:
    """A strategy of a smaller game, played by translation in the larger game that `tree` is.

    The result is an ordinary behaviour strategy, exactly: the translating player's coin flips and
    choices are followed along every line, and at each of her infosets conditioned on her own
    actions so far (Kuhn's theorem), so `exploitability` of it is what translation really loses.
    Both players translate, each on her own. Infosets where she never comes are played uniformly.

    >>> import subgame as sg
    >>> small, large = (sg.compile(sg.games.load("no-limit-kuhn", bets=b)) for b in ("fcpa", "all"))
    >>> found = translate(sg.solve(small, iterations=1000).strategy, large)
    >>> round(sg.exploitability(large, found).mean, 3)
    0.075
    """
    chosen = mapping(how)
    ours, real = _Lines(strategy.tree), _Lines(tree)
    weights = [_translated(strategy, ours, real, tree, chosen, p) for p in (0, 1)]
    probs = [
        normalise(side, w) for side, w in zip(sequence_tree(tree).players, weights, strict=True)
    ]
    notes = {**strategy.notes, "translated": f"from {strategy.tree.game} by {chosen.name}"}
    return Strategy(tree, (probs[0], probs[1]), notes)


def _translated(
    strategy: Strategy,
    ours: _Lines,
    real: _Lines,
    tree: PublicTree,
    how: ActionMapping,
    p: int,
) -> Floats:
    """[q] player `p`'s realisation weights in the larger tree: her mind along every history."""
    mind = _Mind(strategy, ours, how, p)
    side, place = tree.players[p], _places(tree, p)
    out = np.zeros(side.num_sequences)
    beliefs: list[Belief] = []  # of the histories above and at the current one
    branches: list[list[Belief]] = []
    depth: list[int] = []
    parents, actions = real.h.parent.tolist(), real.h.action.tolist()
    for at, (above, action) in enumerate(zip(parents, actions, strict=True)):
        level = 0 if above < 0 else depth[above] + 1
        depth.append(level)
        del beliefs[level:], branches[level:]
        if above < 0:
            beliefs.append({0: 1.0})
        elif real.player[above] == CHANCE:
            beliefs.append(mind.dealt(beliefs[-1], real.h.labels[real.h.edge[at]]))
        else:
            beliefs.append(branches[-1][action])
        branches.append(mind.branches(real, at, beliefs[level]))
        if real.player[at] == p:
            sums = [sum(branch.values()) for branch in branches[level]]
            out[side.sequences(place[real.infoset[at]])] = sums
    return out


def _places(tree: PublicTree, p: int) -> list[int]:
    """From the game's own number of an infoset to the tree's."""
    origin = tree.players[p].origin
    out = np.empty(len(origin), dtype=np.int64)
    out[origin] = np.arange(len(origin))
    return [int(i) for i in out]


class _Mind:
    """Player `p` with a strategy of the smaller game, following a hand of it."""

    def __init__(self, strategy: Strategy, ours: _Lines, how: ActionMapping, p: int) -> None:
        self.ours, self.how, self.p = ours, how, p
        self.steps = ours.steps()
        side = strategy.tree.players[p]
        self.sigma = [
            strategy.probs[p][side.sequences(i)].tolist() for i in _places(strategy.tree, p)
        ]

    def branches(self, real: _Lines, at: int, belief: Belief) -> list[Belief]:
        """Her belief after each action at the real history `at`."""
        player = real.player[at]
        if player < 0:
            return []
        bets = real.bets(at)
        out: list[Belief] = [{} for _ in bets]
        for place, weight in belief.items():
            turn = self.ours.player[place] == player
            if player == self.p:
                moves = self._chosen(place, bets) if turn else [(answer(Bet(0), bets), place, 1.0)]
                for k, after, share in moves:
                    out[k][after] = out[k].get(after, 0.0) + weight * share
                continue
            for k, said in enumerate(bets):
                taken = heard(self.ours.bets(place), said, self.how) if turn else {-1: 1.0}
                for mine, share in taken.items():
                    after = self.steps[place].get(mine, place)
                    out[k][after] = out[k].get(after, 0.0) + weight * share
        return out

    def _chosen(self, place: int, bets: list[Bet | None]) -> list[tuple[int, int, float]]:
        """(real action, place afterwards, probability) of each choice of the smaller strategy."""
        sigma, meant = self.sigma[self.ours.infoset[place]], self.ours.bets(place)
        return [
            (answer(meant[mine], bets), self.steps[place][mine], share)
            for mine, share in enumerate(sigma)
            if share > 0
        ]

    def dealt(self, belief: Belief, outcome: str) -> Belief:
        """Her belief after chance's move; a hand that is over in her head stays where it is."""
        out: Belief = {}
        for place, weight in belief.items():
            if self.ours.player[place] == CHANCE and outcome not in self.steps[place]:
                raise SubgameError(
                    f"{self.ours.h.game} is no smaller version of the game: '{outcome}' cannot be "
                    "dealt in it."
                )
            after = self.steps[place].get(outcome, place)
            out[after] = out.get(after, 0.0) + weight
        return out
