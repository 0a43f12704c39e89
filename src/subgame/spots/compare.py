"""Two solutions side by side: how frequencies and EV differ, and what one loses against the other.

>>> import subgame as sg
>>> from subgame.spots.endgame import Endgame
>>> game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA,65s", "KQ"), "river: 1x a")
>>> tree = sg.compile(game)
>>> good = Endgame.of(sg.solve(tree, "dcfr", iterations=300).strategy)
>>> both = Comparison(Endgame.of(sg.Strategy.uniform(tree)), good)
>>> both.lost[0] > 1 and both.same_tree
True
>>> list(both.at("c").actions)
['check', 'bet 100', 'all-in 200']
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.engines.factory import engine
from subgame.errors import SubgameError, brief
from subgame.games.holdem.ranges import class_names, class_of
from subgame.solve.evaluate import total
from subgame.spots.decisions import Decision
from subgame.spots.endgame import Endgame
from subgame.spots.lines import SEATS
from subgame.spots.tables import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Solution `one` beside solution `two`: other ranges, other bets, or a refinement."""

    __repr__ = brief

    one: Endgame
    two: Endgame

    def __post_init__(self) -> None:
        if self.one.tree.holdem.deck != self.two.tree.holdem.deck:
            raise SubgameError(
                "The two solutions have different decks, so no hand can be compared."
            )

    @property
    def same_tree(self) -> bool:
        """Whether both are strategies for the same tree: the same ranges, stacks and bets."""
        return self.one.tree.digest == self.two.tree.digest

    @cached_property
    def lost(self) -> tuple[float, float]:
        """What each player loses by playing as in `one` instead of `two`, against `two`, in chips.

        It needs strategies for the same tree.
        """
        if not self.same_tree:
            raise SubgameError(
                "What one solution loses against the other is only known if both have the same "
                "board, ranges, stacks and bets; their EVs can be compared all the same."
            )
        run, lost = engine(self.two.tree), list[float]()
        one, two = (solution.strategy.probs for solution in (self.one, self.two))
        for p in (0, 1):
            plan = run.plan(1 - p, two[1 - p])
            mine, theirs = (total(run, p, run.values(p, probs[p], plan)) for probs in (two, one))
            lost.append(mine - theirs)
        return lost[0], lost[1]

    def summary(self) -> Table:
        """One row per player: EV, equity and exploitability of both, and what `one` loses."""
        rows = Table()
        for p, seat in enumerate(SEATS):
            row: dict[str, Any] = {"player": seat}
            for key in ("ev", "equity"):
                a, b = (float(getattr(solution, key)[p]) for solution in (self.one, self.two))
                row |= {f"{key} one": a, f"{key} two": b, f"{key} difference": b - a}
            rows.append(row | ({"lost": self.lost[p]} if self.same_tree else {}))
        return rows

    def at(self, line: str = "") -> DecisionPair:
        """Both solutions at a decision."""
        one, two = self.one.decision(line), self.two.decision(line)
        if (one.player, one.board) != (two.player, two.board):
            raise SubgameError(
                f"After '{line}' the two solutions are at different boards, or different players "
                "act."
            )
        return DecisionPair(one, two)


@dataclass(frozen=True, eq=False)
class DecisionPair:
    """A decision in two solutions."""

    __repr__ = brief

    one: Decision
    two: Decision

    @property
    def actions(self) -> dict[str, tuple[int, int]]:
        """Name -> the number of the action in each solution; -1 where one does not have it."""
        names = dict.fromkeys((*self.one.names, *self.two.names))
        return {
            name: (_index(self.one.names, name), _index(self.two.names, name)) for name in names
        }

    @property
    def same_actions(self) -> bool:
        """Whether both have the same actions."""
        return self.one.names == self.two.names

    def table(self, only: str = "", *, hands: bool = True) -> Table:
        """One row per hand (or class): frequencies, EV and equity of both, and the differences.

        ``loss`` is what the frequencies of the first lose at this decision, if play goes on as in
        the second; it is there if both have the same actions.
        """
        tables = [
            d.hand_table(only) if hands else d.class_table(only) for d in (self.one, self.two)
        ]
        key = "hand" if hands else "class"
        by_name = [{row[key]: row for row in table} for table in tables]
        rows = Table()
        for name in dict.fromkeys((*by_name[0], *by_name[1])):
            a, b = by_name[0].get(name), by_name[1].get(name)
            row: dict[str, Any] = {key: name}
            for column in ("weight", "ev", "equity", *self.actions):
                one, two = (float("nan") if x is None else x.get(column, 0.0) for x in (a, b))
                row |= {f"{column} one": one, f"{column} two": two, f"{column} diff": two - one}
            if self.same_actions and a is not None and b is not None:
                row["loss"] = sum((b[n] - a[n]) * b[f"{n} ev"] for n in self.actions)
            rows.append(row)
        return rows

    def difference(self, action: str) -> Floats:
        """[class] by how much more often the second plays an action, in `class_names`."""
        out = []
        for here, at in zip((self.one, self.two), self.actions[action], strict=True):
            of = class_of(here.tree.holdem.deck)[here.hands]
            size = len(class_names(here.tree.holdem.deck))
            weight = np.bincount(of, here.chance, size)
            often = here.probs[:, at] if at >= 0 else np.zeros(len(here.hands))
            taken = np.bincount(of, here.chance * often, size)
            with np.errstate(divide="ignore", invalid="ignore"):
                out.append(np.where(weight > 0, taken / weight, np.nan))
        result: Floats = out[1] - out[0]
        return result


def _index(names: tuple[str, ...], name: str) -> int:
    return names.index(name) if name in names else -1
