"""LP3 of Moravcik et al. 2016, written a second time: straight from the oracle's histories.

Nothing of the compiled tree is used but which histories stand at the top of a subgame. With p the
player who is refined and o her opponent, the program chooses p's realisation plan x inside and
bounds u(I) of what each infoset of o is worth to him, weighted by pi_-o:

    max  m
    s.t. m <= alternative(s) - u(s) / weight(s)          for every root slot s of o that is reached
         u(s) = what ends without o acting + the u of his first infosets below s
         u(I) >= payoff(x, I a) + the u of his infosets right below I a
         x is a plan that starts from p's reach in the blueprint
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

import subgame as sg
from oracle import CHANCE, TERMINAL, Node, Oracle, Profile

Sequence = tuple[str, ...]
"""A root slot ``(name,)``, or an infoset and the action taken there ``(infoset, action)``."""


@dataclass
class Root:
    """One subgame of an oracle, seen by player `p` whose strategy there is to be chosen."""

    p: int
    reach: dict[Sequence, float] = field(default_factory=dict)
    """p's own slots: pi_p in the blueprint."""
    weight: dict[str, float] = field(default_factory=dict)
    """The opponent's slots: pi_-o, the sum over their histories."""
    parents: tuple[dict[str, Sequence], dict[str, Sequence]] = field(
        default_factory=lambda: ({}, {})
    )
    """For each player: infoset inside -> the slot or sequence it hangs below."""
    payoff: dict[tuple[Sequence, Sequence], float] = field(
        default_factory=lambda: defaultdict(float)
    )
    """(p's sequence, o's sequence) -> what o is paid, times chance."""


def root_of(oracle: Oracle, subgame: sg.Subgame, profile: Profile, p: int) -> Root:
    """Walk a subgame, from the top histories that the cut names."""
    out = Root(p)
    o = 1 - p
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
        path = histories.path(h)
        node, chance, own = oracle.root, 1.0, [1.0, 1.0]
        for action in path:
            if node.player == CHANCE:
                chance *= node.chance[action]
            else:
                own[node.player] *= profile[node.player][node.infoset][action]
            node = node.children[action]
        state = histories.state(h)
        names = [state.information_state(i) for i in (0, 1)]
        assert all(name is not None for name in names)
        slots: tuple[Sequence, Sequence] = ((str(names[0]),), (str(names[1]),))
        assert abs(out.reach.setdefault(slots[p], own[p]) - own[p]) < 1e-12
        out.weight[slots[o][0]] = out.weight.get(slots[o][0], 0.0) + chance * own[p]
        walk(node, slots, chance)
    return out


def root_values(oracle: Oracle, root: Root, profile: Profile) -> dict[str, float]:
    """The opponent's CBV at each of his root slots that is reached, normalised."""
    o = 1 - root.p
    plan = dict(root.reach)
    for infoset, above in root.parents[root.p].items():
        for action in oracle.infosets[root.p][infoset]:
            plan[infoset, action] = plan[above] * profile[root.p][infoset][action]
    worth: dict[Sequence, float] = defaultdict(float)
    for (mine, his), value in root.payoff.items():
        worth[his] += plan[mine] * value
    for infoset, above in reversed(root.parents[o].items()):  # children before their parents
        worth[above] += max(worth[infoset, a] for a in oracle.infosets[o][infoset])
    return {s: worth[(s,)] / w for s, w in root.weight.items() if w > 0}


def largest_margin(oracle: Oracle, root: Root, alternative: dict[str, float]) -> float:
    """The optimum of LP3: the smallest margin over the root slots, at its largest."""
    p, o = root.p, 1 - root.p
    mine: dict[Sequence, int] = {s: k for k, s in enumerate(root.reach)}
    for infoset in root.parents[p]:
        for action in oracle.infosets[p][infoset]:
            mine[infoset, action] = len(mine)
    bound: dict[str, int] = {}
    for name in (*root.parents[o], *(f"slot {s}" for s in root.weight)):
        bound[name] = len(mine) + len(bound)
    margin, size = len(mine) + len(bound), len(mine) + len(bound) + 1

    # What o's sequence is worth, minus the bound of its infoset, is at most 0.
    rows: dict[Sequence, int] = {(s,): k for k, s in enumerate(root.weight)}
    above: list[tuple[int, int, float]] = [
        (rows[(s,)], bound[f"slot {s}"], -1) for s in root.weight
    ]
    for infoset in root.parents[o]:
        for action in oracle.infosets[o][infoset]:
            rows[infoset, action] = len(rows)
            above.append((rows[infoset, action], bound[infoset], -1))
    above += [(rows[parent], bound[infoset], 1) for infoset, parent in root.parents[o].items()]
    above += [(rows[his], mine[x], value) for (x, his), value in root.payoff.items()]
    limit = [0.0] * len(rows)
    for s, w in root.weight.items():
        if w > 0:  # m + u(s) / w <= alternative
            above += [(len(limit), margin, 1), (len(limit), bound[f"slot {s}"], 1 / w)]
            limit.append(alternative[s])

    start = list(root.reach.values())
    plan: list[tuple[int, int, float]] = [(k, k, 1) for k in range(len(start))]
    for infoset, parent in root.parents[p].items():
        plan += [(len(start), mine[infoset, a], 1) for a in oracle.infosets[p][infoset]]
        plan.append((len(start), mine[parent], -1))
        start.append(0.0)

    def matrix(cells: list[tuple[int, int, float]], count: int) -> Any:
        row, col, value = zip(*cells, strict=True)
        return coo_array((value, (row, col)), shape=(count, size)).tocsr()

    objective = np.zeros(size)
    objective[margin] = -1
    found = linprog(
        objective,
        A_ub=matrix(above, len(limit)),
        b_ub=limit,
        A_eq=matrix(plan, len(start)),
        b_eq=start,
        bounds=[(0, None)] * len(mine) + [(None, None)] * (size - len(mine)),
    )
    assert found.status == 0, found.message
    return -float(found.fun)
