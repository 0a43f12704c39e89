"""Preflop ranges heads up: opens, 3-bets, 4-bets and calls of any size, by classes of hands.

A call before the flop ends the hand: the pot is shared by equity, exact over all boards, as if both
players checked to the end. Hands that differ only by suit play alike, so a strategy is 169 rows for
each decision, and a tree of a few raises is solved in seconds.

    >>> found = solve_preflop(20, "2.5r / raise 3r a / cap 3", iterations=200)
    >>> found.decision().names
    ('fold', 'call 0.5', 'raise to 2.5')
    >>> found.decision("raise to 2.5").seat
    'big blind'
    >>> found.decision("raise to 2.5").chart()["AA"]["fold"] < 0.01
    True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subgame.errors import ArgumentError, brief
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.chips import read_chips
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.spots import nlfh
from subgame.show.grid import Square
from subgame.solve.limits import Limits
from subgame.spots.decisions import class_names
from subgame.spots.lines import action_name, follow_to_decision, line_text
from subgame.spots.pushfold import DEEPEST, preflop
from subgame.spots.tables import Table

Floats = NDArray[np.float64]
SEATS = ("big blind", "small blind")
"""Player 0 acts first after the flop, player 1 before it."""
BETS = "2.5r / raise 3r a / cap 4"
CHECKED = 100
"""Iterations between checks of the exploitability."""
TARGET, ITERATIONS = 1e-3, 5000


def preflop_game(
    stack: float, bets: str = BETS, flop: str = "none", *, small_blind: float = 0.5
) -> Holdem:
    """Heads-up hold'em in big blinds that ends after the flop's betting."""
    if not 1 < stack <= DEEPEST:
        said = f"must be above 1 big blind and at most {DEEPEST:,}, not {stack}."
        raise ArgumentError("stack", said)
    if not 0 <= small_blind <= 1:
        raise ArgumentError("small_blind", f"must be 0 to 1 big blinds, not {small_blind}.")
    sizes = BetSizes.parse(f"preflop: {bets}; flop: {flop}")
    behind, small = read_chips(stack, "stack"), read_chips(small_blind, "small blind")
    game = nlfh(2, 1, 1, sizes)
    rules = replace(game.rules, stacks=(behind, behind), blinds=(small, 1))
    return replace(game, rules=rules)


@dataclass(frozen=True)
class _Node:
    """A decision, or the end of a hand."""

    betting: Betting
    actions: tuple[str, ...]
    children: tuple[_Node, ...]
    at: int  # the number of the decision; -1 at an end

    @property
    def shown(self) -> bool:
        """Whether equity decides."""
        return self.betting.folded < 0

    @cached_property
    def pays(self) -> float:
        """What player 0 wins here: all of it without equity, or half of the pot."""
        paid = [float(s + b) for s, b in zip(self.betting.staked, self.betting.bets, strict=True)]
        if self.shown:
            return min(paid)
        return -paid[0] if self.betting.folded == 0 else paid[1]


@dataclass(frozen=True, eq=False)
class PreflopDecision:
    """What a player does with each class of hands before the flop."""

    __repr__ = brief

    betting: Betting
    words: str
    """The line that leads here."""
    actions: tuple[str, ...]
    probs: Floats  # [class, action]
    reach: Floats  # [class] how often the player comes here with a hand of the class
    chance: Floats  # [class] how likely each class is here; sums to 1

    @property
    def seat(self) -> str:
        """Who acts."""
        return SEATS[self.betting.player]

    @property
    def names(self) -> tuple[str, ...]:
        """The actions in words."""
        return tuple(action_name(self.betting, action) for action in self.actions)

    @property
    def frequency(self) -> Floats:
        """[action] how often each is taken."""
        found: Floats = self.chance @ self.probs
        return found

    def chart(self) -> dict[str, dict[str, float]]:
        """Class -> action -> probability."""
        rows = zip(class_names(DECK), self.probs.tolist(), strict=True)
        return {name: dict(zip(self.names, row, strict=True)) for name, row in rows}

    def class_table(self) -> Table:
        """One row per class of hands."""
        rows = zip(self.chart().items(), self.reach.tolist(), self.chance.tolist(), strict=True)
        return Table(
            {"class": name, "weight": reach, "chance": chance, **mix}
            for (name, mix), reach, chance in rows
        )

    def squares(self) -> list[list[Square]]:
        """The grid of classes."""
        most = self.reach.max() or 1.0
        cells = [
            Square(name, weight, mix.tolist())
            for name, weight, mix in zip(
                class_names(DECK), self.reach / most, self.probs, strict=True
            )
        ]
        return [cells[13 * row : 13 * row + 13] for row in range(13)]


@dataclass(frozen=True, eq=False)
class PreflopSolution:
    """Preflop ranges of both players. Chips are big blinds."""

    __repr__ = brief

    game: Holdem
    nodes: tuple[_Node, ...]
    probs: tuple[Floats, ...]  # per decision [class, action]
    value: float
    """What the small blind wins on average."""
    exploitability: float
    """What a best response gains, averaged over both seats."""
    iterations: int

    def decision(self, line: str = "") -> PreflopDecision:
        """The decision after a line such as ``raise to 2.5, raise to 7.5``."""
        walk = follow_to_decision(self.game, line)
        reach = [np.ones(len(self.probs[0])), np.ones(len(self.probs[0]))]
        node = self.nodes[0]
        for step in walk.steps:
            k = node.actions.index(step.action)
            reach[step.betting.player] = reach[step.betting.player] * self.probs[node.at][:, k]
            node = node.children[k]
        p = node.betting.player
        likely = reach[p] * (preflop().pairs @ reach[1 - p])
        total = likely.sum()
        chance = likely / total if total > 0 else likely
        words = line_text(self.game, walk)
        return PreflopDecision(
            node.betting, words, node.actions, self.probs[node.at], reach[p], chance
        )

    def lines(self) -> list[str]:
        """The lines of all decisions."""
        return [_said(node.betting) for node in self.nodes]


def _said(betting: Betting) -> str:
    here, parts = betting.rules.start(), list[str]()
    for action in betting.history:
        parts.append(action_name(here, action))
        here = here.child(action)
    return ", ".join(parts)


def solve_preflop(
    stack: float,
    bets: str = BETS,
    *,
    small_blind: float = 0.5,
    target: float | None = None,
    iterations: int | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> PreflopSolution:
    """Solve the betting before the flop for a stack in big blinds.

    `bets` are the sizes of opens, and of raises after ``raise``, as in `BetSizes`: ``2.5r / raise
    3r a / cap 4`` opens to 2.5 big blinds, raises to three times the last bet or all-in, and allows
    four raises. It stops when a best response gains at most `target` big blinds, or after
    `iterations`.
    """
    Limits(iterations, None, target)
    game = preflop_game(stack, bets, small_blind=small_blind)
    nodes = list[_Node]()
    root = _grow(game, game.start(), nodes)
    run = _Cfr(root, sorted(nodes, key=lambda node: node.at))
    least = TARGET if target is None and iterations is None else target
    for t in range(1, (iterations or ITERATIONS) + 1):
        run.iterate(t)
        if t % CHECKED == 0:
            gap = run.gap()
            if progress is not None:
                progress(t, gap)
            if least is not None and gap <= least:
                break
    probs = run.average()
    value = -float(run.values(0, probs).sum())
    return PreflopSolution(game, tuple(run.nodes), tuple(probs), value, run.gap(), t)


def _grow(game: Holdem, here: Betting, into: list[_Node]) -> _Node:
    if here.is_over or here.street > 0:
        return _Node(here, (), (), -1)
    actions, at = game.actions(here), len(into)
    into.append(_Node(here, actions, (), at))  # keeps the number
    children = tuple(_grow(game, here.child(action), into) for action in actions)
    into[at] = _Node(here, actions, children, at)
    return into[at]


class _Cfr:
    """CFR+ with alternating updates and quadratic averaging, on vectors of 169 classes."""

    def __init__(self, root: _Node, nodes: list[_Node]) -> None:
        table = preflop()
        self.root, self.nodes = root, nodes
        self.share = table.pairs / table.pairs.sum()  # symmetric
        self.won = self.share * (2 * table.equity - 1)  # of half of the pot
        shapes = [(len(self.share), len(node.actions)) for node in nodes]
        self.regret = [np.zeros(shape) for shape in shapes]
        self.total = [np.zeros(shape) for shape in shapes]

    def current(self, at: int) -> Floats:
        return _shares(self.regret[at])

    def average(self) -> list[Floats]:
        return [_shares(total) for total in self.total]

    def iterate(self, t: int) -> None:
        """One iteration, which weighs t^2 in the average."""
        for p in (0, 1):
            sigma = [self.current(node.at) for node in self.nodes]
            one = np.ones(len(self.share))
            self._walk(self.root, p, sigma, (one, one), t)

    def _walk(
        self, node: _Node, p: int, sigma: list[Floats], reach: tuple[Floats, Floats], t: int
    ) -> Floats:
        """[class] player `p`'s value; regrets and averages of `p` are updated if t > 0."""
        o = 1 - p
        if node.at < 0:
            sign = 1 if p == 0 or node.shown else -1  # equity is that of p
            found: Floats = (self.won if node.shown else self.share) @ reach[o]
            return sign * node.pays * found
        mix, me = sigma[node.at], node.betting.player
        values = []
        for k, child in enumerate(node.children):
            mine, theirs = reach[p], reach[o]
            if me == p:
                mine = mine * mix[:, k]
            else:
                theirs = theirs * mix[:, k]
            pair = (mine, theirs) if p == 0 else (theirs, mine)
            values.append(self._walk(child, p, sigma, pair, t))
        if me != p:
            return sum(values[1:], values[0])
        each: Floats = np.stack(values, axis=1)
        value: Floats = each.max(1) if t < 0 else (mix * each).sum(1)
        if t > 0:
            at = node.at
            self.regret[at] = np.maximum(self.regret[at] + each - value[:, None], 0)
            self.total[at] += t * t * reach[p][:, None] * mix
        return value

    def values(self, p: int, sigma: list[Floats], *, best: bool = False) -> Floats:
        """[class] player `p`'s value of a strategy, or of a best response to the other's."""
        one = np.ones(len(self.share))
        return self._walk(self.root, p, sigma, (one, one), -1 if best else 0)

    def gap(self) -> float:
        """The exploitability of the average."""
        sigma = self.average()
        return float(sum(self.values(p, sigma, best=True).sum() for p in (0, 1))) / 2


def _shares(weights: Floats) -> Floats:
    total = weights.sum(1, keepdims=True)
    out = np.full(weights.shape, 1 / weights.shape[1])
    np.divide(weights, total, out=out, where=total > 0)
    return out
