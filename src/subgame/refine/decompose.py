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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.factory import engine
from subgame.errors import SubgameError, did_you_mean
from subgame.games.base import Game, State
from subgame.refine.gadgets import Gadget, GadgetInputs, Resolve
from subgame.refine.payoffs import normalised
from subgame.refine.refine import inside, solve_gadget
from subgame.refine.subgame import Subgame, cut_at_histories
from subgame.solve.evaluate import exploitability
from subgame.solve.schedule import CFR, Schedule, parse
from subgame.solve.solver import Limits
from subgame.tree.files import check_made_for, describe, read_tensors, write_tensors
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.form import assemble, form_of
from subgame.tree.sequence.tree import SequenceTree, histories_of
from subgame.tree.sequence.walk import FRONTIER, walk
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
FORMAT = "subgame-compact-1"
TRACE = 1e-12


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


class Roots(NamedTuple):
    """Where subgames hang below a trunk: history numbers at the top of each, by public state."""

    names: list[str]
    tops: list[NDArray[np.int64]]

    @classmethod
    def of(cls, trunk: SequenceTree) -> Roots:
        h = trunk.histories
        assert h is not None
        ends = np.flatnonzero(h.player == FRONTIER)
        nodes = np.unique(h.node[ends])
        return cls(
            [trunk.node_names[n] for n in nodes.tolist()],
            [ends[h.node[ends] == n] for n in nodes.tolist()],
        )


class Reconstruction(NamedTuple):
    """A subgame's strategy, solved again from what was kept."""

    subgame: Subgame
    sigma: tuple[Floats, Floats]  # [q] both players, over the subgame's tree
    gaps: tuple[float, float]  # exploitability of each re-solving game, eps_R


@dataclass(frozen=True, eq=False)
class Compact:
    """A strategy kept as its trunk and the counterfactual values at the roots of its subgames."""

    trunk: SequenceTree
    strategy: Strategy
    """Over the trunk."""
    values: tuple[tuple[Floats, Floats], ...]
    """Per subgame and player, [s]: her counterfactual (best-response) values, unnormalised."""
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept: the trunk's probabilities and the root values."""
        kept = [*self.strategy.probs, *(v for pair in self.values for v in pair)]
        return sum(array.nbytes for array in kept)

    def subgames(self) -> Iterator[Subgame]:
        """Each subgame in turn, compiled anew and dropped when the next one is asked for."""
        roots = Roots.of(self.trunk)
        for name, top in zip(roots.names, roots.tops, strict=True):
            yield cut_at_histories(self.trunk, top, name)

    def reconstruct(
        self,
        subgame: Subgame | str,
        *,
        technique: Gadget | None = None,
        schedule: Schedule | str = "cfr+",
        iterations: int | None = None,
        seconds: float | None = None,
        gap: float | None = None,
    ) -> Reconstruction:
        """Re-solve one subgame for both players from the trunk and the root values."""
        roots = Roots.of(self.trunk)
        name = subgame if isinstance(subgame, str) else subgame.name
        if name not in roots.names:
            raise did_you_mean("subgame", name, roots.names)
        k = roots.names.index(name)
        if isinstance(subgame, str):
            subgame = cut_at_histories(self.trunk, roots.tops[k], name)
        gadget = technique or Resolve()
        run = engine(self.trunk)
        plans = [run.plan(p, self.strategy.probs[p]) for p in (0, 1)]
        limits = Limits(iterations, seconds, None if gap is None else gap / 2)
        sigma, gaps = [], []
        for p in (0, 1):
            o, ours = 1 - p, plans[p][subgame.sequence[p]]
            weight = subgame.weight(o, ours)
            kept = normalised(self.values[k][o], weight)
            inputs = GadgetInputs(o, ours, plans[o][subgame.sequence[o]], weight, kept, kept)
            if subgame.tree.players[p].names:
                solver = schedule if schedule == "lp" else parse(schedule)
                found = solve_gadget(gadget, subgame, inputs, solver, limits)
                sigma.append(inside(found.strategy, subgame, p))
                gaps.append(float(found.exploitability))
            else:
                sigma.append(np.ones(subgame.tree.players[p].num_sequences))
                gaps.append(0.0)
        return Reconstruction(subgame, (sigma[0], sigma[1]), (gaps[0], gaps[1]))

    def whole(self, tree: PublicTree, **options: Any) -> Strategy:
        """Reconstruct every subgame and lay the result over the whole game's tree."""
        probs = (np.ones(tree.players[0].num_sequences), np.ones(tree.players[1].num_sequences))
        _lay(self.trunk, self.strategy.probs, tree, probs)
        for subgame in self.subgames():
            _lay(subgame.tree, self.reconstruct(subgame, **options).sigma, tree, probs)
        return Strategy(tree, probs)

    def error_bound(self, subgame: Subgame, epsilon_s: float, epsilon_r: float) -> float:
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
        values = tuple(
            (tensors[f"values0.{k}"], tensors[f"values1.{k}"])
            for k in range(int(header["subgames"]))
        )
        strategy = Strategy(trunk, (tensors["trunk0"], tensors["trunk1"]))
        return cls(trunk, strategy, values, json.loads(header["notes"]))


def _lay(
    part: PublicTree, sigma: tuple[Floats, Floats], tree: PublicTree, into: tuple[Floats, Floats]
) -> None:
    """Copy a part's strategy to where its infosets stand in the whole tree."""
    for p in (0, 1):
        side, home = part.players[p], tree.players[p]
        for i, name in enumerate(side.names):
            into[p][home.sequences(home.index[name])] = sigma[p][side.sequences(i)]


def compact(tree: PublicTree, strategy: Strategy, *, at: str | Callable[[State], bool]) -> Compact:
    """Forget a solved strategy below a frontier, keeping what re-solving needs.

    The values kept are counterfactual best-response values against the strategy, so that a
    re-solved subgame lets neither player gain (Burch et al. 2014, Theorem 1).
    """
    histories = histories_of(tree)
    if histories is None:
        raise SubgameError(f"{tree!r} keeps no histories, so it cannot be cut.")
    trunk = trunk_of(histories.game, at)
    probs = (np.ones(trunk.players[0].num_sequences), np.ones(trunk.players[1].num_sequences))
    for p in (0, 1):
        side, home = trunk.players[p], tree.players[p]
        for i, name in enumerate(side.names):
            probs[p][side.sequences(i)] = strategy.probs[p][home.sequences(home.index[name])]
    out = Compact(trunk, Strategy(trunk, probs), ())
    run, values = engine(trunk), []
    plans = [run.plan(p, probs[p]) for p in (0, 1)]
    for subgame in out.subgames():
        local, pair = engine(subgame.tree), []
        for o in (0, 1):
            sigma = np.ones(subgame.tree.players[1 - o].num_sequences)
            side, home = subgame.tree.players[1 - o], tree.players[1 - o]
            for i, name in enumerate(side.names):
                sigma[side.sequences(i)] = strategy.probs[1 - o][home.sequences(home.index[name])]
            plan = local.plan(1 - o, sigma, plans[1 - o][subgame.sequence[1 - o]])
            pair.append(local.respond(o, plan).slots)
        values.append((pair[0], pair[1]))
    notes = {"exploitability": float(exploitability(tree, strategy))}
    return Compact(trunk, out.strategy, tuple(values), notes)


def cfr_d(
    game: Game,
    *,
    at: str | Callable[[State], bool],
    iterations: int = 1000,
    subgame_iterations: int = 100,
    schedule: Schedule | str | None = None,
    subgame_schedule: Schedule | str | None = None,
    keep_subgames: bool = True,
    progress: Callable[[int, int], None] | None = None,
    watch: Callable[[int, Callable[[], Compact]], None] | None = None,
) -> Compact:
    """CFR-D (Burch et al. 2014): solve a game while holding its trunk and one subgame's strategy.

    On each of `iterations` the subgames are solved one after the other under the current trunk
    strategy (`subgame_iterations` of `subgame_schedule`, from nothing), their root values update
    the trunk, and the solutions are thrown away; only the average root values stay. With
    ``keep_subgames=False`` the subgames' rules are compiled anew each time as well, so that peak
    memory is really that of the trunk and one subgame; that is slow. `watch` is called after each
    iteration with a function that gives the result so far.
    """
    plan = parse(schedule) if schedule is not None else CFR()
    inner = parse(subgame_schedule) if subgame_schedule is not None else CFR()
    trunk = trunk_of(game, at)
    roots, run = Roots.of(trunk), engine(trunk)
    memories = (run.memory(0), run.memory(1))
    run.iterate(memories, plan.discounts(1, 1), False)
    kept: list[tuple[Floats, Floats]] = [(np.zeros(0), np.zeros(0))] * len(roots.names)
    store: dict[int, Subgame] = {}
    began = time.perf_counter()

    def result(t: int) -> Compact:
        probs = [run.behaviour(p, memory.average) for p, memory in enumerate(memories)]
        total = _total_weight(plan, t)
        values = tuple((a / total, b / total) for a, b in kept)
        notes = {
            "schedule": str(plan),
            "iterations": t,
            "subgame_schedule": str(inner),
            "subgame_iterations": subgame_iterations,
            "seconds": time.perf_counter() - began,
        }
        return Compact(trunk, Strategy(trunk, (probs[0], probs[1])), values, notes)

    for t in range(1, iterations + 1):
        discounts = plan.discounts(t, 2)
        given = (np.zeros_like(memories[0].value), np.zeros_like(memories[1].value))
        for k, (name, top) in enumerate(zip(roots.names, roots.tops, strict=True)):
            subgame = store.get(k) or cut_at_histories(trunk, top, name)
            if keep_subgames:
                store[k] = subgame
            reach = [memories[p].reach[subgame.sequence[p]] for p in (0, 1)]
            values = _solve_subgame(subgame, reach, inner, subgame_iterations)
            for p in (0, 1):
                np.add.at(given[p], subgame.sequence[p], values[p])
            past = kept[k] if t > 1 else (np.zeros(len(values[0])), np.zeros(len(values[1])))
            kept[k] = (
                past[0] * discounts[0, 2] + values[0],
                past[1] * discounts[0, 2] + values[1],
            )
            if not keep_subgames:  # a tree and its engine know each other: let go of both now
                subgame.tree.engines.clear()
                del subgame
        run.update(memories, given, discounts)
        if watch is not None:
            watch(t, partial(result, t))
        if progress is not None:
            progress(t, iterations)
    return result(iterations)


def _total_weight(schedule: Schedule, t: int) -> float:
    """What the kept sums must be divided by: the weights of t iterations under the discounts."""
    total = 0.0
    for kept in schedule.discounts(1, t)[:, 2]:
        total = total * kept + 1
    return total


def _solve_subgame(
    subgame: Subgame, reach: list[Floats], schedule: Schedule, iterations: int
) -> tuple[Floats, Floats]:
    """Root values [s] of both players in a fresh solution of a subgame."""
    run = engine(subgame.tree)
    memories = tuple(run.memory(p, predictive=schedule.predictive) for p in (0, 1))
    for p in (0, 1):
        # Averages are weighted by own reach; where the trunk never comes a trace of it keeps the
        # average a counterfactual best response there too, as CFR-D requires.
        memories[p].reach[: len(reach[p])] = np.maximum(reach[p], TRACE)
    pair = (memories[0], memories[1])
    run.iterate(pair, schedule.discounts(1, iterations + 1), schedule.alternating)
    sigma = [run.behaviour(p, memories[p].average) for p in (0, 1)]
    plans = [run.plan(p, sigma[p], reach[p]) for p in (0, 1)]
    values = [run.values(p, sigma[p], plans[1 - p])[: len(reach[p])] for p in (0, 1)]
    return values[0], values[1]
