"""Decomposition of sequence trees, history by history: the trunk, and one subgame at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Floats, Ints
from subgame.engines.contract import Mode
from subgame.engines.factory import engine
from subgame.errors import SubgameError, brief
from subgame.games.base import Game
from subgame.refine.behind import Solving, inside
from subgame.refine.compact import CfrD, Compact, ReconstructOptions, Tensors, fresh_values
from subgame.refine.gadgets import Gadget
from subgame.refine.learners import GadgetInputs
from subgame.refine.sequence.subgames import SequenceSubgame, cut_at_histories, roots_at
from subgame.refine.subgame import At, Subgame
from subgame.solve.limits import with_options
from subgame.solve.solver import whole_solves
from subgame.tree.public_tree import PublicTree, both, embed, places
from subgame.tree.sequence.form import assemble, form_of
from subgame.tree.sequence.tree import SequenceTree, sequence_tree
from subgame.tree.sequence.walk import FRONTIER, walk
from subgame.tree.strategy import Strategy


def trunk_of(game: Game | PublicTree, at: At) -> SequenceTree:
    """The tree of a game down to a frontier, which is what `cut` takes.

    At a frontier that the game names, or that a function tells, the walk stops. To know the others
    (``"depth 2"``, ``"after chance"``, public states) the whole game is walked first.
    """
    tree = None if isinstance(game, Game) else sequence_tree(game)
    rules = game if isinstance(game, Game) else sequence_tree(game).walked.game
    stop = rules.frontiers().get(at, at) if isinstance(at, str) else at
    if callable(stop):
        histories = walk(rules, stop=stop)
    else:
        tree = tree or assemble(form_of(walk(rules)))
        histories = tree.walked.down_to(np.concatenate([top for _, top in roots_at(tree, stop)]))
    if histories.player[0] == FRONTIER or not (histories.player == FRONTIER).any():
        raise SubgameError(f"{rules} has no trunk above that frontier, or nothing below it.")
    return assemble(form_of(histories))


def roots_below(trunk: SequenceTree) -> list[tuple[str, Ints]]:
    """Where subgames hang below a trunk: public states, and the histories at the top of each."""
    h = trunk.walked
    ends = np.flatnonzero(h.player == FRONTIER)
    nodes = np.unique(h.node[ends]).tolist()
    return [(trunk.node_names[n], ends[h.node[ends] == n]) for n in nodes]


@dataclass(frozen=True, eq=False)
class SequenceCompact(Compact):
    """What is kept of a strategy of a sequence tree."""

    __repr__ = brief

    values: tuple[tuple[Floats, Floats], ...]
    """Per subgame and player, [s]: counterfactual (best-response) values, unnormalised."""

    @property
    def trunk(self) -> SequenceTree:
        return sequence_tree(self.strategy.tree)

    def names(self) -> list[str]:
        return [name for name, _ in roots_below(self.trunk)]

    def subgame(self, k: int) -> SequenceSubgame:
        name, top = roots_below(self.trunk)[k]
        return cut_at_histories(self.trunk, top, name)

    def subgames(self) -> Iterator[SequenceSubgame]:
        return map(self.subgame, range(len(self.names())))

    def inputs(self, k: int, subgame: Subgame, opponent: int) -> GadgetInputs:
        assert isinstance(subgame, SequenceSubgame)
        run, o = engine(self.trunk), opponent
        one, two = (run.plan(p, self.strategy.probs[p])[subgame.sequence[p]] for p in (1 - o, o))
        weight = subgame.weight(o, one)
        if self.values[k][o].shape != weight.shape:
            raise SubgameError(
                f"There must be {len(weight)} values at the roots of '{subgame.name}'."
            )
        return GadgetInputs.of_values(o, (one, two), weight, self.values[k][o])

    def solving(self, options: ReconstructOptions) -> tuple[Gadget, Solving]:
        gadget, solving = super().solving(options)  # the schedule of the paper's experiments
        return gadget, replace(solving, schedule=solving.schedule or "cfr+")

    @with_options(ReconstructOptions)
    @whole_solves()
    def whole(self, tree: PublicTree, **options: Unpack[ReconstructOptions]) -> Strategy:
        """Reconstruct every subgame and lay the result over the whole game's tree."""
        probs = both(lambda p: np.ones(tree.players[p].num_sequences))
        solved = [(sub.tree, self.reconstruct(sub, **options).sigma) for sub in self.subgames()]
        for part, sigma in [(self.trunk, self.strategy.probs), *solved]:
            for p in (0, 1):
                embed(sigma[p], places(part.players[p], tree.players[p]), probs[p])
        return Strategy(tree, probs)

    def tensors(self) -> dict[str, NDArray[Any]]:
        out = {f"trunk{p}": array for p, array in enumerate(self.strategy.probs)}
        for k, pair in enumerate(self.values):
            out |= {f"values{p}.{k}": values for p, values in enumerate(pair)}
        return out

    @classmethod
    def of_tensors(
        cls, tree: SequenceTree, count: int, tensors: Tensors, notes: dict[str, Any]
    ) -> Self:
        values = tuple((tensors[f"values0.{k}"], tensors[f"values1.{k}"]) for k in range(count))
        subgames = len(roots_below(tree))
        sound = all(v.ndim == 1 and np.isfinite(v).all() for pair in values for v in pair)
        if len(values) != subgames or not sound:
            raise SubgameError(f"It lacks values of some of {subgames} subgames.")
        strategy = Strategy(tree, (tensors["trunk0"], tensors["trunk1"]))
        return cls(strategy, values, notes)


def compact_histories(tree: SequenceTree, strategy: Strategy, at: At) -> SequenceCompact:
    """What `compact` keeps of a strategy of a sequence tree."""
    trunk = trunk_of(tree, at)
    out = SequenceCompact(Strategy(trunk, inside(strategy, trunk)), ())
    run, values = engine(trunk), []
    plans = [run.plan(p, out.strategy.probs[p]) for p in (0, 1)]
    for subgame in out.subgames():
        local, sigma = engine(subgame.tree), inside(strategy, subgame.tree)
        below = [local.plan(p, sigma[p], plans[p][subgame.sequence[p]]) for p in (0, 1)]
        one, two = (local.respond(o, below[1 - o]).roots.ravel() for o in (0, 1))
        values.append((one, two))
    return replace(out, values=tuple(values))


def cfr_d_histories(game: Game | SequenceTree, how: CfrD) -> SequenceCompact:
    """CFR-D on the histories of a game, one subgame at a time."""
    trunk, plan, keep_subgames = trunk_of(game, how.at), how.schedule, how.keep_subgames
    roots, run, arrays = roots_below(trunk), engine(trunk), trunk.walked.game.arrays()
    pair = both(lambda p: run.regrets(p, predictive=plan.predictive))
    kept: list[list[Any]] = [[0.0, 0.0] for _ in roots]
    store: dict[int, SequenceSubgame] = {}
    total = 0.0  # what the kept sums must be divided by
    at_root = (run.roots(0), run.roots(1))
    began = time.perf_counter()

    def result(t: int) -> SequenceCompact:
        probs = both(lambda p: run.behaviour(p, pair[p].average))
        values = tuple((a / total, b / total) for a, b in kept)
        return SequenceCompact(Strategy(trunk, probs), values, how.notes(t, began))

    for t in range(1, how.iterations + 1):
        rates = run.rates(plan.discounts(t, 2), t)
        total = total * float(rates[0, 2]) + 1
        plans = [run.plan(p, run.current(p, pair[p], rates[0])) for p in (0, 1)]
        paid = [np.zeros(side.num_sequences) for side in trunk.players]
        for k, (name, top) in enumerate(roots):
            subgame = store.get(k) or cut_at_histories(trunk, top, name, arrays)
            if keep_subgames:
                store[k] = subgame
            reach = [plans[p][subgame.sequence[p]][None] for p in (0, 1)]
            inner = how.subgame_schedule, how.subgame_iterations
            for p, payoff in enumerate(fresh_values(engine(subgame.tree), reach, *inner)):
                np.add.at(paid[p], subgame.sequence[p], payoff.ravel())
                kept[k][p] = kept[k][p] * rates[0, 2] + payoff.ravel()
            if not keep_subgames:  # a tree and its engine know each other: let go of both now
                subgame.tree.engines.clear()
                del subgame
        before = run.snapshot(pair[0])  # both players learn against what was played
        for p, theirs in enumerate((pair[1], before)):
            run.sweep(p, Mode.LEARN, (pair[p], theirs), (rates[0], rates[0]), at_root, paid[p])
        how.watch(t, partial(result, t))
        how.progress(t, how.iterations)
    return result(how.iterations)
