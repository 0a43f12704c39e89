"""Nested solving of hold'em: off-tree bets of one street answered on all its boards at once.

All off-tree bets of a street that follow the same solved part are one batch of subgames: as many
roots as there are bets, on every board. What is solved joins the parts, and is searched for further
off-tree bets. Arrays of a street are ``[row, board, hand]``; see `engines.contract.RangeEngine`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from subgame.engines.arrays import Floats, as_numpy, namespace
from subgame.engines.contract import RangeEngine
from subgame.engines.factory import engine
from subgame.errors import SubgameError
from subgame.games.holdem.rules import Betting
from subgame.refine.answers import Answer, Method
from subgame.refine.behind import GadgetRun, Technique, solve_behind
from subgame.refine.gadgets import Gadget
from subgame.refine.learners import GadgetInputs
from subgame.refine.ranges.subgames import carried_gifts, flat, rows, transfer
from subgame.refine.subgame import left, received_gift, reliable
from subgame.solve.schedule import Schedule
from subgame.solve.solver import drive
from subgame.tree.public_tree import Numbers, OnDemand, PublicTree, both
from subgame.tree.ranges.betting_tree import Street, grow
from subgame.tree.ranges.merging import Unmerged, unmerged
from subgame.tree.ranges.tree import BoardList, range_tree
from subgame.tree.strategy import Strategy

Pair = tuple[Any, Any]


class Spot(NamedTuple):
    """An off-tree bet: where the opponent makes it, and what it is."""

    decision: int  # of the opponent, on its street of the part
    before: Betting
    action: str

    @property
    def after(self) -> Betting:
        return self.before.child(self.action)


@dataclass(eq=False)
class _Part:
    """A solved part of the game: the blueprint, or answers to some off-tree bets."""

    run: RangeEngine
    streets: list[Street]
    sigma: Pair  # as the engine stores probabilities
    reach: tuple[Floats, Floats]  # [root, infoset]
    carried: Floats  # [way, board, hand] gifts on the way to its roots
    depth: int = 0


@dataclass(eq=False)
class RangeExpansion:
    """Player `p`'s blueprint as it grows, in a larger game of hold'em."""

    blueprint: Strategy
    larger: PublicTree
    p: int
    how: Technique
    method: Method
    device: str | None = None
    small: Unmerged = field(init=False)
    large: Unmerged = field(init=False)
    plain: list[Numbers] = field(init=False)  # [q] both players, over the unmerged larger tree

    def __post_init__(self) -> None:
        if not isinstance(self.how.schedule, Schedule):
            raise SubgameError("There is no linear program for hold'em trees; use a CFR schedule.")
        if self.how.gadget.keep_safe:
            raise SubgameError(
                "keep_safe needs a second copy of the tree for the opponent, which hold'em trees "
                "cannot have; leave it out."
            )
        self.small = unmerged(range_tree(self.blueprint.tree))
        self.large = unmerged(range_tree(self.larger))
        one, two = ([u.cards for u in plain.tree.units] for plain in (self.small, self.large))
        if one != two:
            raise SubgameError("Compile both games with the same boards, hands and merge=.")
        tree = self.large.tree  # its strategy may be of millions of hands, and is not checked
        self.plain = [tree.normalise(q, np.zeros(tree.stored(q), np.float32)) for q in (0, 1)]

    @property
    def sigma(self) -> Pair:
        """[q] both players' strategies over the larger tree."""
        return both(lambda q: self.large.gather(q, self.plain[q]))

    def run(self) -> Iterator[Answer]:
        """Answer every off-tree bet, those after answers included."""
        tree = self.small.tree
        run = engine(tree, device=self.device)
        sigma = both(lambda q: self.small.spread(q, self.blueprint.probs[q]))
        reach = both(lambda q: as_numpy(run.roots(q)))
        none = np.zeros_like(reach[1 - self.p])[:, None]
        waiting = [_Part(run, tree.streets, sigma, reach, none)]
        while waiting:
            part = waiting.pop()
            self._absorb(part)
            for below, answers in self._answer(part):
                waiting.append(below)
                yield from answers
                if answers[-1].stopped == "interrupted":
                    return

    def _absorb(self, part: _Part) -> None:
        """Write a part into the blueprint."""
        source = part.run.tree
        for q in (0, 1):
            transfer(source, np.asarray(part.sigma[q]), self.large.tree, self.plain[q], q)

    # Off-tree bets -----------------------------------------------------------------------------
    def _spots(self, street: Street) -> list[Spot]:
        """The opponent's bets that only the larger game has."""
        o, larger = 1 - self.p, self.large.tree.holdem
        return [
            Spot(j, state, action)
            for j, state in enumerate(street.states[o])
            for action in larger.actions(state)
            if action not in street.actions[o][j]
        ]

    def _answer(self, part: _Part) -> Iterator[tuple[_Part, list[Answer]]]:
        """Solve what follows every off-tree bet of a part, street by street."""
        groups = {s: here for s, street in enumerate(part.streets) if (here := self._spots(street))}
        if not groups:
            return
        p, o, run = self.p, 1 - self.p, part.run
        ours = run.row_reach(p, part.sigma[p], part.reach[p])
        values = run.row_values(o, part.sigma[p], part.reach[p])
        theirs = run.row_reach(o, part.sigma[o], part.reach[o])
        carried = carried_gifts(run, part.streets, self.how.gadget, o, ours, values, part.carried)
        for s, spots in groups.items():
            street, xp = part.streets[s], namespace(values[s])
            reach = xp.stack([ours[s][street.at[o][spot.decision][p]] for spot in spots])
            weight = reliable(as_numpy(run.opposing(o, reach, s)))
            best = xp.stack(
                [xp.amax(values[s][rows(street, o, spot.decision)], 0) for spot in spots]
            )
            above = [street.parent[o][spot.decision] for spot in spots]
            gift = received_gift(carried[s][above], weight, self.how.gadget)
            entering = as_numpy(reach), as_numpy(theirs[s][above])
            inputs = GadgetInputs.of_values(o, entering, weight, as_numpy(best), gift)
            yield self._solve(part, s, spots, inputs, carried[s][above])

    # Answers -----------------------------------------------------------------------------------
    def _solve(
        self, part: _Part, s: int, spots: list[Spot], inputs: GadgetInputs, carried: Floats
    ) -> tuple[_Part, list[Answer]]:
        """Behind a gadget, the rest of the game after some off-tree bets of street `s`."""
        p, o, game = self.p, 1 - self.p, self.small.tree.holdem
        after = streets = grow(game, [spot.after for spot in spots])
        if self.method == "expensive":
            added = {k: spot.action for k, spot in enumerate(spots)}
            streets = grow(game, [spot.before for spot in spots], added)
        stage = part.run.stage(streets)
        solved, run = solve_behind(
            self.how.gadget,
            inputs,
            partial(self._behind, stage),
            lambda result: left(stage, result[0], inputs),
        )
        theirs = (inputs.weight > 0).astype(np.float64)
        if self.method == "expensive":
            theirs = self._taken(stage, streets[0], spots, solved[o], inputs.opponent_reach)
            kept = part.run.stage(after)
            source, target = stage.tree, kept.tree
            blank = [np.zeros(target.stored(q), np.float32) for q in (0, 1)]
            strategies = both(lambda q: np.asarray(solved[q]))
            stage, solved = (
                kept,
                both(lambda q: transfer(source, strategies[q], target, blank[q], q)),
            )
        reach = [flat(reach) for reach in (inputs.our_reach, theirs)]
        entering = (reach[0], reach[1]) if p == 0 else (reach[1], reach[0])
        below = _Part(stage, after, solved, entering, carried, part.depth + 1)
        values, wide, tree = left(stage, solved, inputs), inputs.weight.shape[2], self.small.tree
        top = len(tree.streets) - len(part.streets) + s
        most = self._most(top, wide)
        infoset = partial(_infoset, tree.units, tree.units.first[top], o, wide)
        answers = [
            Answer(
                public=str(spot.after),
                action=spot.action,
                player=p,
                depth=below.depth,
                infosets=OnDemand(most.size, infoset),
                weight=(inputs.weight[k] * most).ravel(),
                cbv=inputs.cbv[k].ravel(),
                values=values[k].ravel(),
                iterations=run[0],
                stopped=run[1],
            )
            for k, spot in enumerate(spots)
        ]
        return below, answers

    def _behind(
        self, stage: RangeEngine, gadget: Gadget, inputs: GadgetInputs
    ) -> tuple[Pair, tuple[int, str]]:
        """Both players' strategies behind a gadget; how many iterations, and why it stopped."""
        scaled = inputs.near_one()
        if gadget.entry == "blueprint":
            scaled = scaled.reached()
        scaled = scaled.mapped(flat, flat)
        run = GadgetRun(stage.tree, cast(Schedule, self.how.schedule), gadget, scaled, on=stage)
        # A batch is large, so nothing is measured that nobody asked for.
        stopped = drive(run, self.how.limits, measured=self.how.limits.target is not None)
        return run.played(), (run.iteration, stopped)

    def _taken(
        self, stage: RangeEngine, street: Street, spots: list[Spot], sigma: Any, reach: Floats
    ) -> Floats:
        """[way, board, hand] the opponent's reach of bets that an expensive solve has added."""
        o = 1 - self.p
        reached = stage.row_reach(o, sigma, flat(reach))[0]
        at = [street.parent[o].index(k) for k in range(len(spots))]  # the decisions at the roots
        taken = [
            street.first[o][j] + street.actions[o][j].index(spot.action)
            for j, spot in zip(at, spots, strict=True)
        ]
        return as_numpy(reached[taken])

    def _most(self, street: int, wide: int) -> Floats:
        """[board, hand] the most that chance and the opponent can bring a hand to a street with."""
        tree, o = self.small.tree, 1 - self.p
        units, reach = tree.units, np.zeros(tree.holdem.deck.num_hands)
        reach[units[0].hands[o]] = tree.players[o].reach
        boards = range(units.first[street], units.first[street + 1])
        out = np.zeros((len(boards), wide))
        for row, u in zip(out, boards, strict=True):
            row[: len(units[u].hands[o])] = units.chance[u] * reach[units[u].hands[o]]
        return out


def _infoset(units: BoardList, first: int, player: int, wide: int, i: int) -> str:
    """The name of a player's infoset at a root: the hand and the board."""
    unit = units[first + i // wide]
    hands = unit.hands[player]
    if i % wide >= len(hands):
        return "no hand"
    return f"{units.deck.hand_name(int(hands[i % wide]))} {units.deck.name(unit.cards)}"
