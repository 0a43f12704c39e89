"""Decomposition: a game kept as a trunk and the values at the roots of its subgames.

Burch et al. 2014. `compact` forgets what a strategy does in its subgames and keeps the opponent's
counterfactual values at their roots; `cfr_d` finds a trunk strategy and such values without ever
holding more than the trunk and one subgame. Either way a subgame's strategy is reconstructed when
play reaches it, by the re-solving gadget.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from subgame.engines.arrays import Floats, Ints, normalise
from subgame.engines.contract import Mode
from subgame.engines.factory import engine
from subgame.errors import DAMAGED, SubgameError, brief, did_you_mean
from subgame.games.base import Game, State
from subgame.refine.decompose_ranges import fresh_values
from subgame.refine.gadgets import Gadget, GadgetInputs, Resolve
from subgame.refine.kinds import kind_of
from subgame.refine.solve_gadget import Solving, inside, solve_gadget
from subgame.refine.subgame import SequenceSubgame, cut_at_histories
from subgame.solve.evaluate import exploitability
from subgame.solve.limits import check_count
from subgame.solve.schedule import CFR, Schedule, parse
from subgame.solve.solver import whole_solves
from subgame.tree.files import check_made_for, describe, read_tensors, write_tensors
from subgame.tree.parts import both, embed, places
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.form import assemble, form_of
from subgame.tree.sequence.tree import SequenceTree, sequence_tree
from subgame.tree.sequence.walk import FRONTIER, walk
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from subgame.refine.decompose_ranges import RangeCompact

FORMAT = "subgame-compact-1"


def trunk_of(game: Game, at: str | Callable[[State], bool]) -> SequenceTree:
    """The tree of a game down to a frontier that the game names, or that a function tells."""
    if isinstance(at, str):
        frontiers = game.frontiers()
        if at not in frontiers:
            raise did_you_mean(f"frontier of {game}", at, frontiers)
        at = frontiers[at]
    tree = assemble(form_of(walk(game, stop=at)))
    if not (tree.histories and (tree.histories.player == FRONTIER).any()):
        raise SubgameError(f"{game} has no history at that frontier.")
    return tree


def roots_below(trunk: SequenceTree) -> list[tuple[str, Ints]]:
    """Where subgames hang below a trunk: public states, and the histories at the top of each."""
    h = trunk.walked
    ends = np.flatnonzero(h.player == FRONTIER)
    nodes = np.unique(h.node[ends]).tolist()
    return [(trunk.node_names[n], ends[h.node[ends] == n]) for n in nodes]


class Reconstruction(NamedTuple):
    """A subgame's strategy, solved again from what was kept."""

    subgame: SequenceSubgame
    sigma: tuple[Floats, Floats]  # [q] both players, over the subgame's tree
    gaps: tuple[float, float]  # exploitability of each re-solving game, eps_R

    def __repr__(self) -> str:
        return brief(self)


@dataclass(frozen=True, eq=False)
class Compact:
    """A strategy kept as its trunk and the counterfactual values at the roots of its subgames."""

    __repr__ = brief

    trunk: SequenceTree
    strategy: Strategy
    """Over the trunk."""
    values: tuple[tuple[Floats, Floats], ...]
    """Per subgame and player, [s]: counterfactual (best-response) values, unnormalised."""
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept: the trunk's probabilities and the root values."""
        kept = [*self.strategy.probs, *(v for pair in self.values for v in pair)]
        return sum(array.nbytes for array in kept)

    def subgames(self) -> Iterator[SequenceSubgame]:
        """Each subgame in turn, compiled anew and dropped when the next one is asked for."""
        for name, top in roots_below(self.trunk):
            yield cut_at_histories(self.trunk, top, name)

    def inputs(self, k: int, subgame: SequenceSubgame, opponent: int) -> GadgetInputs:
        """What a gadget on subgame number `k` is told: the trunk's reaches, the values kept."""
        run, o = engine(self.trunk), opponent
        one, two = (run.plan(p, self.strategy.probs[p])[subgame.sequence[p]] for p in (1 - o, o))
        weight = subgame.weight(o, one)
        if self.values[k][o].shape != weight.shape:
            raise SubgameError(
                f"There must be {len(weight)} values at the roots of '{subgame.name}'."
            )
        kept = normalise(self.values[k][o], weight)
        return GadgetInputs(o, one, two, weight, kept, kept)

    @whole_solves()
    def reconstruct(
        self,
        subgame: SequenceSubgame | str,
        *,
        technique: Gadget | None = None,
        schedule: Schedule | str = "cfr+",
        iterations: int | None = None,
        seconds: float | None = None,
        gap: float | None = None,
    ) -> Reconstruction:
        """Re-solve one subgame for both players from the trunk and the root values."""
        names, tops = zip(*roots_below(self.trunk), strict=True)
        name = subgame if isinstance(subgame, str) else subgame.name
        if name not in names:
            raise did_you_mean("subgame", name, names)
        k = names.index(name)
        if isinstance(subgame, str):
            subgame = cut_at_histories(self.trunk, tops[k], name)
        solving = Solving(schedule, iterations, seconds, gap)
        how = solving.technique(technique or Resolve(), subgame.tree)
        sigma, gaps = [np.ones(side.num_sequences) for side in subgame.tree.players], [0.0, 0.0]
        for p, side in enumerate(subgame.tree.players):
            inputs = self.inputs(k, subgame, 1 - p)
            if side.names:
                found = solve_gadget(how, subgame, inputs)
                sigma[p], gaps[p] = found.sigma[p], float(found.result.exploitability)
        return Reconstruction(subgame, (sigma[0], sigma[1]), (gaps[0], gaps[1]))

    @whole_solves()
    def whole(self, tree: PublicTree, **options: Any) -> Strategy:
        """Reconstruct every subgame and lay the result over the whole game's tree."""
        probs = both(lambda p: np.ones(tree.players[p].num_sequences))
        found = [(sub.tree, self.reconstruct(sub, **options).sigma) for sub in self.subgames()]
        for part, sigma in [(self.trunk, self.strategy.probs), *found]:
            for p in (0, 1):
                embed(sigma[p], places(part.players[p], tree.players[p]), probs[p])
        return Strategy(tree, probs)

    def error_bound(self, subgame: SequenceSubgame, epsilon_s: float, epsilon_r: float) -> float:
        """Burch et al. 2014, Theorem 3: re-solving adds at most (|I_R| - 1) eps_S + eps_R.

        |I_R| is the number of root infosets of both players, eps_S the exploitability of the
        strategy that was forgotten, eps_R that of the new one in the re-solving game.
        """
        roots = sum(len(player.slots) for player in subgame.tree.players)
        return (roots - 1) * epsilon_s + epsilon_r

    def save(self, path: str | Path) -> None:
        """Write trunk strategy and root values to a safetensors file."""
        tensors = {f"trunk{p}": np.ascontiguousarray(a) for p, a in enumerate(self.strategy.probs)}
        for k, pair in enumerate(self.values):
            tensors |= {f"values{p}.{k}": np.ascontiguousarray(v) for p, v in enumerate(pair)}
        state = {"notes": json.dumps(self.notes), "subgames": str(len(self.values))}
        write_tensors(Path(path), tensors, describe(self.trunk, FORMAT) | state)

    @classmethod
    def load(cls, path: str | Path, trunk: SequenceTree) -> Compact:
        """Read what `save` wrote, for the trunk that `trunk_of` gives."""
        header, tensors = read_tensors(path, "what Compact.save has saved")
        check_made_for(path, header, trunk, FORMAT)
        try:
            values = tuple(
                (tensors[f"values0.{k}"], tensors[f"values1.{k}"])
                for k in range(int(header["subgames"]))
            )
            strategy = Strategy(trunk, (tensors["trunk0"], tensors["trunk1"]))
            notes = json.loads(header["notes"])
        except DAMAGED as error:
            why = f" {error}" if isinstance(error, SubgameError) else ""
            raise SubgameError(f"{path} is damaged.{why}") from None
        subgames = len(roots_below(trunk))
        sound = all(v.ndim == 1 and np.isfinite(v).all() for pair in values for v in pair)
        if len(values) != subgames or not sound:
            raise SubgameError(
                f"{path} is damaged. It lacks values of some of {subgames} subgames."
            )
        return cls(trunk, strategy, values, notes)


def compact(tree: PublicTree, strategy: Strategy, *, at: str | Callable[[State], bool]) -> Compact:
    """Forget a solved strategy below a frontier, keeping what re-solving needs.

    The values kept are counterfactual best-response values against the strategy, so that a
    re-solved subgame lets neither player gain (Burch et al. 2014, Theorem 1).
    """
    trunk = trunk_of(sequence_tree(tree).walked.game, at)
    out = Compact(trunk, Strategy(trunk, inside(strategy, trunk)), ())
    run, values = engine(trunk), []
    plans = [run.plan(p, out.strategy.probs[p]) for p in (0, 1)]
    for subgame in out.subgames():
        local, sigma = engine(subgame.tree), inside(strategy, subgame.tree)
        below = [local.plan(p, sigma[p], plans[p][subgame.sequence[p]]) for p in (0, 1)]
        one, two = (local.respond(o, below[1 - o]).roots.ravel() for o in (0, 1))
        values.append((one, two))
    notes = {"exploitability": float(exploitability(tree, strategy))}
    return Compact(trunk, out.strategy, tuple(values), notes)


@dataclass(frozen=True, eq=False)
class CfrD:
    """CFR-D, as `cfr_d` was asked for it."""

    at: str | Callable[[State], bool]
    iterations: int
    subgame_iterations: int
    schedule: Schedule
    subgame_schedule: Schedule
    keep_subgames: bool
    device: str | None
    progress: Callable[[int, int], None]
    watch: Callable[[int, Callable[[], Compact]], None]

    def notes(self, iterations: int, began: float) -> dict[str, Any]:
        """How a result was made after so many iterations."""
        return {
            "schedule": str(self.schedule),
            "iterations": iterations,
            "subgame_schedule": str(self.subgame_schedule),
            "subgame_iterations": self.subgame_iterations,
            "seconds": time.perf_counter() - began,
        }


@whole_solves()
def cfr_d(
    game: Game | PublicTree,
    *,
    at: str | Callable[[State], bool],
    iterations: int = 1000,
    subgame_iterations: int = 100,
    schedule: Schedule | str | None = None,
    subgame_schedule: Schedule | str | None = None,
    keep_subgames: bool = True,
    device: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    watch: Callable[[int, Callable[[], Compact]], None] | None = None,
) -> Compact | RangeCompact:
    """CFR-D (Burch et al. 2014): solve a game while holding its trunk and one subgame's strategy.

    On each of `iterations` the subgames are solved one after the other under the current trunk
    strategy (`subgame_iterations` of `subgame_schedule`, from nothing), their root values update
    the trunk, and the solutions are thrown away; only the average root values stay. With
    ``keep_subgames=False`` the subgames' rules are compiled anew each time as well, so that peak
    memory is really that of the trunk and one subgame; that is slow. `watch` is called after each
    iteration with a function that gives the result so far.

    The trunk of a hold'em tree is its first street, so `at` is such as ``"after the turn"``. All
    boards and ways out of it are solved together, on any `device`.

    >>> import subgame as sg
    >>> game = sg.games.load("leduc-ranks")
    >>> found = cfr_d(game, at="after round 1", iterations=3, subgame_iterations=5)
    >>> len(found.values)  # ways of betting in round 1 without a fold
    5
    """
    check_count("iterations", iterations)
    check_count("subgame_iterations", subgame_iterations)
    plan, inner = (CFR() if each is None else parse(each) for each in (schedule, subgame_schedule))
    tell, show = progress or (lambda t, of: None), watch or (lambda t, result: None)
    how = CfrD(at, iterations, subgame_iterations, plan, inner, keep_subgames, device, tell, show)
    return cfr_d_histories(game, how) if isinstance(game, Game) else kind_of(game).decomposed(how)


def cfr_d_histories(game: Game, how: CfrD) -> Compact:
    """CFR-D on the histories of a game, one subgame at a time."""
    trunk, plan, keep_subgames = trunk_of(game, how.at), how.schedule, how.keep_subgames
    roots, run = roots_below(trunk), engine(trunk)
    pair = both(lambda p: run.regrets(p, predictive=plan.predictive))
    kept: list[list[Any]] = [[0.0, 0.0] for _ in roots]
    store: dict[int, SequenceSubgame] = {}
    total = 0.0  # what the kept sums must be divided by
    at_root = (run.roots(0), run.roots(1))
    began = time.perf_counter()

    def result(t: int) -> Compact:
        probs = both(lambda p: run.behaviour(p, pair[p].average))
        values = tuple((a / total, b / total) for a, b in kept)
        return Compact(trunk, Strategy(trunk, probs), values, how.notes(t, began))

    for t in range(1, how.iterations + 1):
        rates = run.rates(plan.discounts(t, 2), t)
        total = total * float(rates[0, 2]) + 1
        plans = [run.plan(p, run.current(p, pair[p], rates[0])) for p in (0, 1)]
        paid = [np.zeros(side.num_sequences) for side in trunk.players]
        for k, (name, top) in enumerate(roots):
            subgame = store.get(k) or cut_at_histories(trunk, top, name)
            if keep_subgames:
                store[k] = subgame
            reach = [plans[p][subgame.sequence[p]][None] for p in (0, 1)]
            inner = how.subgame_schedule, how.subgame_iterations
            for p, each in enumerate(fresh_values(engine(subgame.tree), reach, *inner)):
                np.add.at(paid[p], subgame.sequence[p], each.ravel())
                kept[k][p] = kept[k][p] * rates[0, 2] + each.ravel()
            if not keep_subgames:  # a tree and its engine know each other: let go of both now
                subgame.tree.engines.clear()
                del subgame
        before = run.snapshot(pair[0])  # both players learn against what was played
        for p, theirs in enumerate((pair[1], before)):
            run.sweep(p, Mode.LEARN, (pair[p], theirs), (rates[0], rates[0]), at_root, paid[p])
        how.watch(t, partial(result, t))
        how.progress(t, how.iterations)
    return result(how.iterations)
