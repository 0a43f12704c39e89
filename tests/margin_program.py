"""Subgames a second time, for tests: values and linear programs straight from the histories.

Nothing of the compiled tree is used but which histories stand at the top of a subgame. With p the
player who is refined and o the opponent, LP3 of Moravcik et al. 2016 chooses p's realisation plan
x inside, and bounds u of what o can get, weighted by pi_-o:

    max  m
    s.t. m <= alternative(s) - u(s) / weight(s)          for every root slot s of o that is reached
         u(s) >= what ends without o acting + the u of o's first infosets below s
         u(I) >= payoff(x, I a) + the u of o's infosets right below I a
         x is a plan that starts from p's reach in the blueprint

`least_cost` puts another objective on the same rows: the sum of convex functions of u(s).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from oracle import Node, Oracle, Profile
from subgame.games.base import CHANCE, TERMINAL
from subgame.refine.sequence.subgames import SequenceSubgame
from subgame.refine.subgame import Subgame

Sequence = tuple[str, ...]
"""A root slot ``(name,)``, or an infoset and the action taken there ``(infoset, action)``."""

Line = tuple[float, float]
"""Value at 0, and slope."""


@dataclass
class Root:
    """One subgame of an oracle, seen by player `p` whose strategy there is to be chosen."""

    p: int
    reach: dict[Sequence, float] = field(default_factory=dict)
    """p's own slots: pi_p in the blueprint."""
    weight: dict[str, float] = field(default_factory=dict)
    """The opponent's slots: pi_-o, the sum over their histories."""
    above: dict[str, list[Sequence]] = field(default_factory=dict)
    """The opponent's slots: the opponent's sequences on the way there, first to last."""
    parents: tuple[dict[str, Sequence], ...] = field(default_factory=lambda: ({}, {}))
    """For each player: infoset inside -> the slot or sequence it hangs below."""
    payoff: dict[tuple[Sequence, Sequence], float] = field(
        default_factory=lambda: defaultdict(float)
    )
    """(p's sequence, o's sequence) -> what o is paid, times chance."""


def root_of(oracle: Oracle, subgame: Subgame, profile: Profile, p: int) -> Root:
    """Walk a subgame, from the top histories that the cut names."""
    out = Root(p)
    o = 1 - p
    assert isinstance(subgame, SequenceSubgame)
    histories = subgame.whole.histories
    assert histories is not None

    def walk(node: Node, last: tuple[Sequence, Sequence], chance: float) -> None:
        if node.player == TERMINAL:
            out.payoff[last[p], last[o]] += chance * node.returns[o]
        elif node.player == CHANCE:
            for action, child in node.children.items():
                walk(child, last, chance * node.chance[action])
        else:
            known = out.parents[node.player].setdefault(node.infoset, last[node.player])
            assert known == last[node.player], f"'{node.infoset}' hangs below two slots"
            for action, child in node.children.items():
                here: Sequence = (node.infoset, action)
                walk(child, (here, last[1]) if node.player == 0 else (last[0], here), chance)

    for h in subgame.top.tolist():
        node, chance, own, theirs = oracle.root, 1.0, [1.0, 1.0], list[Sequence]()
        for action in histories.path(h):
            if node.player == CHANCE:
                chance *= node.chance[action]
            else:
                own[node.player] *= profile[node.player][node.infoset][action]
                if node.player == o:
                    theirs.append((node.infoset, action))
            node = node.children[action]
        state = histories.state(h)
        names = [state.information_state(i) for i in (0, 1)]
        assert None not in names, "only games that always say what both players know"
        slots: tuple[Sequence, Sequence] = ((str(names[0]),), (str(names[1]),))
        assert abs(out.reach.setdefault(slots[p], own[p]) - own[p]) < 1e-12
        name = slots[o][0]
        assert out.above.setdefault(name, theirs) == theirs, f"'{name}' lies below two sequences"
        out.weight[name] = out.weight.get(name, 0.0) + chance * own[p]
        walk(node, slots, chance)
    return out


def worth(oracle: Oracle, root: Root, profile: Profile) -> dict[Sequence, float]:
    """What o can get at best after each of o's sequences and slots inside, not normalised."""
    p, o = root.p, 1 - root.p
    plan = dict(root.reach)
    for infoset, above in root.parents[p].items():  # parents before their children
        for action in oracle.infosets[p][infoset]:
            plan[infoset, action] = plan[above] * profile[p][infoset][action]
    out: dict[Sequence, float] = defaultdict(float)
    for (mine, theirs), value in root.payoff.items():
        out[theirs] += plan[mine] * value
    for infoset, above in reversed(root.parents[o].items()):
        out[above] += max(out[infoset, a] for a in oracle.infosets[o][infoset])
    return out


def root_values(oracle: Oracle, root: Root, profile: Profile) -> dict[str, float]:
    """The opponent's CBV at each root slot that is reached, normalised."""
    values = worth(oracle, root, profile)
    return {s: values[(s,)] / w for s, w in root.weight.items() if w > 0}


class _Program:
    """Variables: p's plan, then the bounds u, then whatever else is asked for."""

    def __init__(self, oracle: Oracle, root: Root) -> None:
        p, o = root.p, 1 - root.p
        plan: dict[Sequence, int] = {s: k for k, s in enumerate(root.reach)}
        for infoset in root.parents[p]:
            for action in oracle.infosets[p][infoset]:
                plan[infoset, action] = len(plan)
        self.free = self.size = len(plan)
        bound = {infoset: self.new() for infoset in root.parents[o]}
        self.slot = {s: self.new() for s in root.weight}
        self.upper: list[tuple[int, int, float]] = []  # (row, variable, coefficient)
        self.limit: list[float] = []
        row: dict[Sequence, int] = {}
        for s, u in self.slot.items():
            row[(s,)] = self.at_most(0.0, {u: -1.0})
        for infoset, u in bound.items():
            for action in oracle.infosets[o][infoset]:
                row[infoset, action] = self.at_most(0.0, {u: -1.0})
        self.upper += [(row[above], bound[i], 1.0) for i, above in root.parents[o].items()]
        self.upper += [
            (row[theirs], plan[mine], value) for (mine, theirs), value in root.payoff.items()
        ]
        self.start = list(root.reach.values())
        self.flow = [(k, k, 1.0) for k in range(len(self.start))]
        for infoset, above in root.parents[p].items():
            k = len(self.start)
            self.flow += [(k, plan[infoset, a], 1.0) for a in oracle.infosets[p][infoset]]
            self.flow.append((k, plan[above], -1.0))
            self.start.append(0.0)

    def new(self) -> int:
        self.size += 1
        return self.size - 1

    def at_most(self, limit: float, row: Mapping[int, float]) -> int:
        """The sum of coefficient times variable is at most `limit`."""
        self.limit.append(limit)
        self.upper += [(len(self.limit) - 1, variable, value) for variable, value in row.items()]
        return len(self.limit) - 1

    def minimum(self, objective: Mapping[int, float]) -> float:
        cost = np.zeros(self.size)
        for variable, value in objective.items():
            cost[variable] = value
        result = linprog(
            cost,
            A_ub=self._matrix(self.upper, len(self.limit)),
            b_ub=self.limit,
            A_eq=self._matrix(self.flow, len(self.start)),
            b_eq=self.start,
            bounds=[(0, None)] * self.free + [(None, None)] * (self.size - self.free),
        )
        assert result.status == 0, result.message
        return float(result.fun)

    def _matrix(self, cells: list[tuple[int, int, float]], rows: int) -> Any:
        row, col, value = zip(*cells, strict=True)
        return coo_array((value, (row, col)), shape=(rows, self.size)).tocsr()


def largest_margin(oracle: Oracle, root: Root, alternative: Mapping[str, float]) -> float:
    """The optimum of LP3: the smallest margin over the root slots, at its largest."""
    program = _Program(oracle, root)
    margin = program.new()
    for s, u in program.slot.items():
        if root.weight[s] > 0:
            program.at_most(alternative[s], {margin: 1.0, u: 1 / root.weight[s]})
    return -program.minimum({margin: -1.0})


def least_cost(oracle: Oracle, root: Root, lines: Mapping[str, list[Line]]) -> float:
    """The least sum over slots of weight times the highest of the slot's `lines` at its value."""
    program = _Program(oracle, root)
    objective = {}
    for s, u in program.slot.items():
        w = root.weight[s]
        if w > 0:
            cost = program.new()  # weighted: cost >= w a + b u
            objective[cost] = 1.0
            for at_zero, slope in lines[s]:
                program.at_most(-w * at_zero, {cost: -1.0, u: slope})
    return program.minimum(objective)
