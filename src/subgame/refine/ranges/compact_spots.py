"""A solved spot kept without its last street, which is solved again where it is looked at.

Burch et al. 2014, Sec. 4. The file has the strategy of the streets before, the values of their
actions, and both players' counterfactual best-response values at the roots of the last street, in
16 bits. What is looked at there is solved behind the re-solving gadget, so that it is hardly more
exploitable than what was forgotten; `CompactEndgame.whole` measures by how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from subgame.engines.arrays import Floats
from subgame.engines.factory import engine
from subgame.engines.numba.ranges import NumbaRangeEngine
from subgame.errors import DAMAGED, SubgameError, brief, unreadable
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.sizes import STREETS
from subgame.games.holdem.spots import SAVED
from subgame.refine.ranges.decompose import RangeCompact, compact_ranges, entries
from subgame.refine.ranges.subgames import Spot
from subgame.solve.evaluate import exploitability
from subgame.spots.browse import Explorer, root_of
from subgame.spots.endgame import COMPACT, Endgame, about, stored_values, tree_of
from subgame.spots.lines import Walk
from subgame.spots.tables import Table
from subgame.tree.files import check_made_for, describe, read_tensors, write_tensors
from subgame.tree.public_tree import Numbers, both
from subgame.tree.ranges.merging import unmerged
from subgame.tree.ranges.stage import first_streets, tree_below
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.strategy import Strategy

ITERATIONS = 300
"""Of each gadget game, two for each betting that leads to a board of the last street."""
LARGEST = 32767


@dataclass(frozen=True, eq=False)
class Packed:
    """Values at the roots of a street in 16 bits, with a scale for each root and board."""

    __repr__ = brief

    numbers: NDArray[np.int16]  # [root where somebody acts, board, hand]
    scales: Floats  # [root where somebody acts, board]
    alive: Sequence[bool]  # [root] whether somebody acts

    @classmethod
    def of(cls, values: Floats, alive: Sequence[bool]) -> Packed:
        """Of [root, board, hand]."""
        some = values[list(alive)]
        scales = np.abs(some).max(2) / LARGEST
        steps = np.where(scales > 0, scales, 1)[:, :, None]
        return cls(np.rint(some / steps).astype(np.int16), scales, alive)

    def __getitem__(self, at: tuple[int, int]) -> Floats:
        """[hand] the values at a root on a board."""
        root, board = at
        k = sum(self.alive[:root])
        result: Floats = self.numbers[k, board] * self.scales[k, board]
        return result

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Numbers:
        out = np.zeros((len(self.alive), *self.numbers.shape[1:]))
        out[list(self.alive)] = self.numbers * self.scales[:, :, None]
        return out.astype(np.float64 if dtype is None else dtype)


@dataclass(frozen=True, eq=False)
class CompactEndgame(Endgame):
    """A solved spot without its last street; see the module.

    Its strategy has zeros where nothing has been looked at yet.

    >>> import tempfile, subgame as sg
    >>> game = sg.holdem.endgame("QsJh2h8d", 100, 100, ("AA,KQs", "QJ,99"), "1x")
    >>> solved = Endgame.of(sg.solve(sg.compile(game), "dcfr", iterations=300).strategy)
    >>> path = Path(tempfile.mkdtemp()) / "spot.safetensors"
    >>> save_compact(solved, path)
    >>> again = open_spot(path)
    >>> again.decision("check, check / 3c").names, again.ev == solved.ev
    (('check', 'all-in 100'), True)
    """

    __repr__ = brief

    compact: RangeCompact = field(kw_only=True)
    rows: tuple[Numbers, Numbers] = field(kw_only=True)
    """[board, row, hand] each player's values on the streets before, one after another."""
    iterations: int = field(default=ITERATIONS, kw_only=True)

    @cached_property
    def explorer(self) -> Explorer:
        return CompactExplorer(self)

    def save(self, path: str | Path, *, run: Any = None, half: bool = False) -> None:
        """Save the spot as it was opened, without its last street."""
        if run is not None or half:
            raise SubgameError("A spot without its last street is saved as it is.")
        _write(self, path)

    def off_path(self, cards: str = "", **options: float) -> Table:
        """Refused: it needs the strategy of all boards at once."""
        raise SubgameError(
            "Decisions that are hardly ever reached are shown of a whole solution only; this file "
            "was saved without its last street."
        )

    def whole(self) -> Strategy:
        """The strategy with all of the last street solved again, in one batch."""
        made = self.compact.whole(self.tree, iterations=self.iterations)
        return Strategy(self.tree, made.probs, self.strategy.notes)


class CompactExplorer(Explorer):
    """Reads a spot without its last street, and solves what is looked at there."""

    def __init__(self, spot: CompactEndgame) -> None:
        super().__init__(spot.strategy)
        self.kept, self._solved = spot, set[tuple[int, tuple[str, ...]]]()

    def __reduce__(self) -> tuple[Any, ...]:
        return CompactExplorer, (self.kept,)

    def solve(self, spot: Spot) -> None:
        """Solve what follows a root of the last street, once."""
        key = spot.unit, spot.betting.history
        if key in self._solved:
            return
        made = self.kept.compact.reconstruct_at(spot, iterations=self.kept.iterations)
        for p in (0, 1):
            made.subgame.embed(p, made.sigma[p], self.strategy.probs[p])
        self._solved.add(key)

    def _looked_at(self, board: tuple[int, ...], betting: Betting) -> bool:
        """Whether a decision is on a street that is kept; otherwise it is solved."""
        u, first = self.spot(board).unit, self.kept.compact.street
        if self.tree.units[u].street < first:
            return True
        roots = self.tree.streets[first].roots
        self.solve(Spot(u, roots[root_of(roots, betting)]))
        return False

    def probs(self, board: tuple[int, ...], betting: Betting) -> Floats:
        self._looked_at(board, betting)
        return super().probs(board, betting)

    def rows(self, walk: Walk, q: int) -> Floats:
        if not self._looked_at(walk.board, walk.betting):
            return super().rows(walk, q)
        at = 0
        for u in range(self.spot(walk.board).unit + 1):
            shape = _shape(self.tree, u, q)
            at += shape[0] * shape[1]
        here = self.kept.rows[q][at - shape[0] * shape[1] : at]
        return np.asarray(here, np.float64).reshape(shape)


def _shape(tree: RangeTree, u: int, q: int) -> tuple[int, int]:
    """How many rows and hands player `q` has on a board."""
    unit = tree.units[u]
    return tree.streets[unit.street].rows[q], len(unit.hands[q])


# Files ---------------------------------------------------------------------------------------
def check_compact(game: Holdem, locks: Sequence[object]) -> None:
    """Refuse a spot that cannot be saved without its last street."""
    if game.start().street == game.rules.last_street:
        raise SubgameError(
            "This spot has no betting on a later street that could be left out; save it whole."
        )
    if game.folded:
        raise SubgameError(
            "A spot with folded ranges cannot be saved without its last street; save it whole."
        )
    if locks:
        raise SubgameError(
            "A spot with locks cannot be saved without its last street, where the locks would be "
            "lost; save it whole."
        )


def save_compact(solved: Endgame, path: str | Path) -> None:
    """Save a solved spot without its last street, which `open_spot` opens."""
    _write(solved if isinstance(solved, CompactEndgame) else _made(solved), path)


def _made(solved: Endgame) -> CompactEndgame:
    """What is kept of a whole solution."""
    check_compact(solved.tree.holdem, solved.tree.lock_texts)
    merged = unmerged(solved.tree)
    probs = both(lambda p: np.asarray(merged.spread(p, solved.strategy.probs[p]), np.float32))
    strategy = Strategy(merged.tree, probs, solved.strategy.notes, check=False)
    last = merged.tree.streets[-1]
    compact = compact_ranges(merged.tree, strategy, f"after the {STREETS[last.index]}")
    rows = _rows(merged.tree, strategy, compact.street)
    return CompactEndgame(
        strategy,
        solved.ev,
        solved.equity,
        both(lambda p: solved.hand_ev[p][merged.slots[p]]),
        both(lambda p: solved.hand_equity[p][merged.slots[p]]),
        solved.exploitability or exploitability(merged.tree, strategy),
        compact=compact,
        rows=rows,
    )


def _rows(tree: RangeTree, strategy: Strategy, streets: int) -> tuple[Numbers, Numbers]:
    """Each player's values on the boards of the first streets; see `CompactEndgame.rows`."""
    made: tuple[list[Numbers], list[Numbers]] = ([], [])
    for s in range(streets):
        first, last = tree.units.first[s : s + 2]
        reach = [entries(tree, p, strategy.probs[p], s) for p in (0, 1)]
        for u in range(first, last):
            whole = u == 0
            below = None if whole else tree_below(tree, u)
            run = cast(NumbaRangeEngine, engine(tree if below is None else below.tree))
            sigma = [
                probs if below is None else below.numbers(p, probs)
                for p, probs in enumerate(strategy.probs)
            ]
            for q in (0, 1):
                hands = len(tree.units[u].hands[1 - q])
                plan = run.plan(1 - q, sigma[1 - q], reach[1 - q][:, u - first, :hands])
                values = run.first_street(q, sigma[q], plan)
                made[q].append(values.astype(np.float32).ravel())
    return np.concatenate(made[0]), np.concatenate(made[1])


def _write(spot: CompactEndgame, path: str | Path) -> None:
    compact = spot.compact
    alive = [not root.is_over for root in spot.tree.streets[compact.street].roots]
    tensors, state = spot.at_root()
    for p in (0, 1):
        values = compact.values[p]
        packed = values if isinstance(values, Packed) else Packed.of(values, alive)
        tensors |= {
            f"trunk{p}": np.ascontiguousarray(compact.strategy.probs[p]),
            f"rows{p}": spot.rows[p],
            f"values{p}": packed.numbers,
            f"scales{p}": packed.scales,
        }
    made = {**spot.strategy.notes, **about(spot.tree), **state}
    made.pop("state", None)  # that of the solver, which is not kept
    write_tensors(path, tensors, made | describe(spot.tree, COMPACT))


def open_spot(
    path: str | Path, *, memory_limit: str | float | None = "8GiB", check: bool = True
) -> Endgame:
    """A saved spot, whole or without its last street; see `Endgame.open`."""
    header, tensors = read_tensors(path, SAVED)
    if header.get("format") != COMPACT:
        return Endgame.open(path, memory_limit=memory_limit, check=check)
    tree = tree_of(path, memory_limit, check=check)
    check_made_for(path, header, tree, COMPACT)
    values = stored_values(path, tree)
    try:
        if values is None:
            raise ValueError
        street = len(tree.streets) - 1
        trunk, first = first_streets(tree, street), tree.units.first[street]
        alive = [not root.is_over for root in tree.streets[street].roots]
        packed = [Packed(tensors[f"values{p}"], tensors[f"scales{p}"], alive) for p in (0, 1)]
        rows = tensors["rows0"], tensors["rows1"]
        boards = (sum(alive), len(tree.units) - first)
        for p, player_numbers in enumerate(packed):
            size = sum(int(np.prod(_shape(tree, u, p))) for u in range(first))
            wide = max(len(tree.units[u].hands[p]) for u in range(first, len(tree.units)))
            shapes = player_numbers.numbers.shape, player_numbers.scales.shape, rows[p].shape
            if shapes != ((*boards, wide), boards, (size,)):
                raise ValueError
        kept = Strategy(trunk, (tensors["trunk0"], tensors["trunk1"]))
    except DAMAGED:
        raise unreadable(path, "is damaged", SAVED) from None
    probs = both(lambda p: np.zeros(tree.stored(p), np.float32))  # memory is taken as it is filled
    for p in (0, 1):
        probs[p][: trunk.stored(p)] = kept.probs[p]
    notes = {key: text for key, text in header.items() if key not in describe(tree, COMPACT)}
    return CompactEndgame(
        Strategy(tree, probs, notes, check=False),
        **values,
        compact=RangeCompact(kept, (packed[0], packed[1]), tree=tree, street=street),
        rows=rows,
    )
