"""Preflop ranges heads up: opens, 3-bets, 4-bets and calls of any size, by classes of hands.

A call before the flop ends the hand: the pot is shared by equity, exact over all boards, as if both
players checked to the end. Hands that differ only by suit play alike, so a strategy is 169 rows for
each decision, and a tree of a few raises is solved in seconds.

    >>> ranges = solve_preflop(20, "2.5r / raise 3r a / cap 3", iterations=200)
    >>> ranges.decision().names
    ('fold', 'call 0.5', 'raise to 2.5')
    >>> ranges.decision("raise to 2.5").seat
    'big blind'
    >>> ranges.decision("raise to 2.5").chart()["AA"]["fold"] < 0.01
    True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from subgame.errors import ArgumentError, brief
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.ranges import class_names
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.sizes import read_chips
from subgame.games.holdem.spots import nlfh
from subgame.show.grid import Square, in_rows
from subgame.solve.limits import Limits
from subgame.solve.schedule import CFRPlus
from subgame.spots.classes import preflop, solve_by_class
from subgame.spots.lines import action_name, follow_to_decision, line_text
from subgame.spots.pushfold import DEEPEST
from subgame.spots.tables import Table
from subgame.tree.ranges.betting_tree import Street, grow_street

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
        often: Floats = self.chance @ self.probs
        return often

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
        return in_rows([*map(Square, class_names(DECK), self.reach / most, self.probs.tolist())])


@dataclass(frozen=True, eq=False)
class PreflopSolution:
    """Preflop ranges of both players. Chips are big blinds."""

    __repr__ = brief

    game: Holdem
    charts: dict[tuple[str, ...], Floats]
    """The betting before a decision -> [class, action] probabilities."""
    value: float
    """What the small blind wins on average."""
    exploitability: float
    """What a best response gains, averaged over both seats."""
    iterations: int

    def decision(self, line: str = "") -> PreflopDecision:
        """The decision after a line such as ``raise to 2.5, raise to 7.5``."""
        walk = follow_to_decision(self.game, line)
        here, reach = walk.betting, [np.ones(len(self.charts[()])) for _ in SEATS]
        for step in walk.steps:
            taken = self.game.actions(step.betting).index(step.action)
            reach[step.betting.player] *= self.charts[step.betting.history][:, taken]
        p = here.player
        likely = reach[p] * (preflop().pairs @ reach[1 - p])
        total = likely.sum()
        return PreflopDecision(
            betting=here,
            words=line_text(self.game, walk),
            actions=self.game.actions(here),
            probs=self.charts[here.history],
            reach=reach[p],
            chance=likely / total if total > 0 else likely,
        )

    def lines(self) -> list[str]:
        """The lines of all decisions."""
        return [_words(self.game, history) for history in self.charts]


def _words(game: Holdem, history: tuple[str, ...]) -> str:
    here, parts = game.start(), list[str]()
    for action in history:
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

    >>> solved = solve_preflop(10, "a", iterations=20)
    >>> solved.iterations, solved.exploitability < 1
    (20, True)
    """
    Limits(iterations, None, target)
    game = preflop_game(stack, bets, small_blind=small_blind)
    street = grow_street(game, game.start())
    stakes = [float(leaf.at_stake) for leaf in street.leaves]
    least = TARGET if target is None and iterations is None else target
    limits = Limits(iterations or ITERATIONS, target=least, check_every=CHECKED)
    schedule = CFRPlus(average="quadratic")
    solution = solve_by_class(street, stakes, schedule, limits, progress)
    charts = _charts(street, solution.sigma)
    value, gap = float(solution.values(1).sum()), solution.exploitability
    return PreflopSolution(game, charts, value, gap, solution.iterations)


def _charts(street: Street, sigma: tuple[Floats, Floats]) -> dict[tuple[str, ...], Floats]:
    """[class, action] by the betting before each decision, in the order of a walk."""
    charts = {
        state.history: np.ascontiguousarray(sigma[p][first - 1 : first - 1 + len(actions)].T)
        for p in (0, 1)
        for state, first, actions in zip(
            street.states[p], street.first[p], street.actions[p], strict=True
        )
    }
    return dict(sorted(charts.items(), key=lambda chart: [_place(action) for action in chart[0]]))


def _place(action: str) -> tuple[int, float]:
    """Where an action stands among others: folds, calls, then raises by their size."""
    return "fcr".index(action[0]), float(action[1:] or 0)
