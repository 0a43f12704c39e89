"""`Compact`: a strategy kept as its trunk and the values at the roots of its subgames.

Burch et al. 2014. It is the same for both kinds of tree: `SequenceCompact` keeps values history by
history, `RangeCompact` those of all boards and hands of hold'em.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Floats
from subgame.engines.contract import Engine
from subgame.errors import DAMAGED, SubgameError, brief, did_you_mean
from subgame.refine.behind import RefineOptions, Solving, solve_gadget
from subgame.refine.gadgets import Gadget, Resolve
from subgame.refine.gadgets import technique as technique_named
from subgame.refine.learners import GadgetInputs
from subgame.refine.subgame import At, Subgame
from subgame.solve.cfr import Cfr
from subgame.solve.limits import check_options, made_of, with_options
from subgame.solve.schedule import Schedule
from subgame.solve.solver import whole_solves
from subgame.tree.files import check_made_for, describe, read_tensors, write_tensors
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import Strategy

FORMAT = "subgame-compact-1"
Tensors = Mapping[str, NDArray[Any]]


class ReconstructOptions(RefineOptions, total=False):
    """How subgames are re-solved."""

    technique: Gadget | str
    """As in `refine`; by default Resolve, as Burch et al. 2014 have it."""


class Reconstruction(NamedTuple):
    """A subgame's strategy, solved again from what was kept."""

    subgame: Subgame
    sigma: tuple[Floats, Floats]  # [q] both players, over the subgame's tree
    gaps: tuple[float, float]  # exploitability of each re-solving game, eps_R

    def __repr__(self) -> str:
        return brief(self)


@dataclass(frozen=True, eq=False)
class Compact(ABC):
    """A strategy kept as its trunk and the counterfactual values at the roots of its subgames."""

    __repr__ = brief

    strategy: Strategy
    """Over the trunk."""
    values: Any
    """Counterfactual (best-response) values at the roots, unnormalised; see the subclasses."""
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def trunk(self) -> PublicTree:
        """The tree down to the subgames."""
        return self.strategy.tree

    @property
    def made_for(self) -> PublicTree:
        """The tree that a file names."""
        return self.trunk

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept: the trunk's probabilities and the root values."""
        return sum(array.nbytes for array in self.tensors().values())

    @abstractmethod
    def names(self) -> list[str]:
        """The names of the subgames."""

    @abstractmethod
    def subgame(self, k: int) -> Subgame:
        """Subgame number `k`, compiled anew."""

    @abstractmethod
    def inputs(self, k: int, subgame: Subgame, opponent: int) -> GadgetInputs:
        """What a gadget on subgame number `k` is told: the trunk's reaches, the values kept."""

    @abstractmethod
    def whole(self, tree: PublicTree, **options: Unpack[ReconstructOptions]) -> Strategy:
        """Reconstruct every subgame and lay the result over the whole game's tree."""

    @abstractmethod
    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays that are kept, by name."""

    @staticmethod
    def kept_for(tree: PublicTree) -> PublicTree:
        """The tree that a file names, from the one that `load` was given."""
        return tree

    @classmethod
    @abstractmethod
    def of_tensors(cls, tree: Any, count: int, tensors: Tensors, notes: dict[str, Any]) -> Self:
        """What `tensors` has given, of so many subgames; errors mean that a file is damaged."""

    def subgames(self) -> Iterator[Subgame]:
        """Each subgame in turn, compiled anew and dropped when the next one is asked for."""
        return map(self.subgame, range(len(self.names())))

    def solving(self, options: ReconstructOptions) -> tuple[Gadget, Solving]:
        """How subgames are re-solved, from the options of a user."""
        check_options(Compact.reconstruct, options)
        return technique_named(options.get("technique", Resolve())), made_of(Solving, options)

    @with_options(ReconstructOptions)
    @whole_solves()
    def reconstruct(
        self, subgame: Subgame | str, **options: Unpack[ReconstructOptions]
    ) -> Reconstruction:
        """Re-solve one subgame for both players from the trunk and the root values."""
        names = self.names()
        name = subgame if isinstance(subgame, str) else subgame.name
        if name not in names:
            raise did_you_mean("subgame", name, names)
        k = names.index(name)
        return self._solved(k, self.subgame(k) if isinstance(subgame, str) else subgame, options)

    def _solved(self, k: int, subgame: Subgame, options: ReconstructOptions) -> Reconstruction:
        """Subgame number `k`, solved again."""
        gadget, solving = self.solving(options)
        how = solving.technique(gadget, subgame.tree)
        sigma, gaps = list(Strategy.uniform(subgame.tree).probs), [0.0, 0.0]
        for p, side in enumerate(subgame.tree.players):
            inputs = self.inputs(k, subgame, 1 - p)
            if side.names:
                solved = solve_gadget(how, subgame, inputs, solving.device)
                sigma[p], gaps[p] = solved.sigma[p], float(solved.result.exploitability)
        return Reconstruction(subgame, (sigma[0], sigma[1]), (gaps[0], gaps[1]))

    def error_bound(self, subgame: Subgame, epsilon_s: float, epsilon_r: float) -> float:
        """Burch et al. 2014, Theorem 3: re-solving adds at most (|I_R| - 1) eps_S + eps_R.

        |I_R| is the number of root infosets of both players, eps_S the exploitability of the
        strategy that was forgotten, eps_R that of the new one in the re-solving game.
        """
        roots = sum(len(player.slots) for player in subgame.tree.players)
        return (roots - 1) * epsilon_s + epsilon_r

    def save(self, path: str | Path) -> None:
        """Write trunk strategy and root values to a safetensors file."""
        tensors = {name: np.ascontiguousarray(array) for name, array in self.tensors().items()}
        state = {"notes": json.dumps(self.notes), "subgames": str(len(self.names()))}
        write_tensors(Path(path), tensors, describe(self.made_for, FORMAT) | state)

    @classmethod
    def load(cls, path: str | Path, tree: PublicTree) -> Self:
        """Read what `save` wrote, for the trunk that `trunk_of` gives, or for a hold'em tree."""
        header, tensors = read_tensors(path, "what Compact.save has saved")
        check_made_for(path, header, cls.kept_for(tree), FORMAT)
        try:
            notes = json.loads(header["notes"])
            return cls.of_tensors(tree, int(header["subgames"]), tensors, notes)
        except DAMAGED as error:
            why = f" {error}" if isinstance(error, SubgameError) else ""
            raise SubgameError(f"{path} is damaged.{why}") from None


@dataclass(frozen=True, eq=False)
class CfrD:
    """CFR-D, as `cfr_d` was asked for it."""

    at: At
    iterations: int
    subgame_iterations: int
    schedule: Schedule
    subgame_schedule: Schedule
    keep_subgames: bool
    device: str | None
    progress: Callable[[int, int], None]
    watch: Callable[[int, Callable[[], Compact]], None]

    def notes(self, iterations: int, began: float) -> dict[str, object]:
        """How a result was made after so many iterations."""
        return {
            "schedule": str(self.schedule),
            "iterations": iterations,
            "subgame_schedule": str(self.subgame_schedule),
            "subgame_iterations": self.subgame_iterations,
            "seconds": time.perf_counter() - began,
        }


TRACE = 1e-12
"""Reach that is left where the trunk never comes, see `decompose`."""


def fresh_values(
    run: Engine,
    reach: Sequence[Floats],
    schedule: Schedule,
    iterations: int,
    held: Sequence[Floats] | tuple[float, float] = (1.0, 1.0),
) -> tuple[Floats, Floats]:
    """[root, infoset] both players' values in a fresh solution, from their reach at the roots.

    Averages are weighted by own reach; where the trunk never comes a trace of it keeps the average
    a counterfactual best response there too, as CFR-D requires. `held` is 0 where there is no hand.
    """
    one, two = (np.maximum(reach[p], TRACE) * held[p] for p in (0, 1))
    cfr = Cfr(
        run,
        predictive=schedule.predictive,
        prediction=schedule.prediction,
        alternating=schedule.alternating,
        reach=(one, two),
    )
    cfr.advance(schedule.discounts(1, iterations + 1), 1)
    sigma = [run.behaviour(p, cfr.pair[p].average) for p in (0, 1)]
    plans = [run.plan(p, sigma[p], reach[p]) for p in (0, 1)]
    first, second = (run.values(p, sigma[p], plans[1 - p]).roots for p in (0, 1))
    return first, second
