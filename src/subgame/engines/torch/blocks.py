"""`Blocks`: one player's numbers on a device, to and from the layout of `Strategy`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import regret_matching
from subgame.engines.contract import Regrets
from subgame.engines.torch import offload
from subgame.engines.torch import storage as keeping
from subgame.engines.torch.held import HeldHands
from subgame.engines.torch.layout import Betting, Level
from subgame.engines.torch.runtime import load_torch
from subgame.engines.torch.storage import Block, Storage
from subgame.engines.torch.torch_ops import StreetNumbers, predicted
from subgame.tree.ranges.betting_tree import LANES
from subgame.tree.ranges.merging import Unmerged
from subgame.tree.ranges.tree import RangeTree

if TYPE_CHECKING:
    import torch

Stored = NDArray[np.float32]
Tensor = Any
MOVED = 1 << 26
"""Numbers that go to or from the device at once."""


class Batch(Protocol):
    """The engine to which blocks belong: `subgame.engines.torch.batch.RangeBatch`."""

    torch: Any
    device: torch.device
    levels: list[Level]
    boards: int
    held: dict[int, HeldHands]
    unmerged: Unmerged | None

    @property
    def tree(self) -> RangeTree: ...

    def stored(self, p: int) -> int: ...

    def blank(self, p: int, kind: Storage | None = None, *, bucketed: bool = True) -> Blocks: ...


class Blocks:
    """Numbers of one player's actions: a block ``[action, board, hand]`` per street.

    ``np.asarray(blocks)`` has the layout of `Strategy`; ``blocks[:] = values`` overwrites them.
    """

    blocks: list[Block]

    def __init__(self, engine: Batch, p: int, blocks: list[Block]) -> None:
        self.engine, self.player, self.blocks = engine, p, blocks

    @property
    def weights(self) -> Blocks:
        """What kernels are given: they play in proportion to positive numbers."""
        return self

    def numpy(self, streets: int | None = None) -> Stored:
        """In the layout of `Strategy`, with zeros after some `streets`."""
        return to_numpy(self.engine, self.player, self.blocks[:streets])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.numpy().astype(dtype or np.float32, copy=False)

    def __setitem__(self, every: slice, values: NDArray[np.floating]) -> None:
        """``blocks[:] = values`` reads them from that layout, as arrays do."""
        assert every == slice(None)
        for s, block in enumerate(self.blocks):
            for units in offload.whole_or_pieces(block):
                some = street_from_numpy(self.engine, self.player, s, values, units)
                offload.put(block, units, some)

    @property
    def shape(self) -> tuple[int]:
        """Of `numpy`."""
        return (len(self),)

    def clone(self) -> Blocks:
        return Blocks(self.engine, self.player, [block.clone() for block in self.blocks])

    def copy_(self, other: Blocks) -> Blocks:
        for block, source in zip(self.blocks, other.blocks, strict=True):
            block.copy_(source)
        return self

    def __len__(self) -> int:
        return self.engine.stored(self.player)


class Behaviour(Blocks):
    """The behaviour strategy of an average: a view, which changes as the average does.

    Kernels play in proportion to the average itself. Probabilities are made only where they are
    read: an evaluation takes no memory for them.
    """

    def __init__(self, average: Blocks) -> None:
        self.engine, self.player, self._average = average.engine, average.player, average

    @property
    def weights(self) -> Blocks:
        return self._average

    @cached_property
    def blocks(self) -> list[Block]:  # type: ignore[override]
        """Probabilities in float32, on the device as long as regrets are."""
        return matched(self.engine, self.player, self._average).blocks

    def numpy(self, streets: int | None = None) -> Stored:
        blocks = self._average.blocks[:streets]
        probabilities = to_numpy(self.engine, self.player, blocks, matching=True)
        lock = self.engine.tree.locks[self.player]
        return probabilities if lock is None else lock.put(probabilities)


def on_street(regrets: Regrets, s: int) -> StreetNumbers:
    """What a player plays and keeps on one street."""
    average, instant = regrets.average, regrets.instant
    return StreetNumbers(
        regrets.regret.weights.blocks[s],
        None if average is None else average.blocks[s],
        None if instant is None else instant.blocks[s],
    )


# Regret matching -----------------------------------------------------------------------------
def match(bet: Betting, weights: Tensor) -> Tensor:
    """[action, u, h] the probabilities of regret matching on weights."""
    torch, out = load_torch(), weights.clone()
    for actions in {node.actions for node in bet.infosets}:
        first = [node.first - bet.roots for node in bet.infosets if node.actions == actions]
        edges = torch.tensor(first, device=out.device)[:, None]
        edges = edges + torch.arange(actions, device=out.device)
        out[edges] = regret_matching(out[edges], 1)
    return out


def matched(
    engine: Batch,
    p: int,
    weights: Blocks,
    instant: Blocks | None = None,
    rates: Tensor | None = None,
) -> Blocks:
    """Probabilities from weights, or from regrets that are predicted with the help of `rates`."""
    out = engine.blank(p, "float32", bucketed=False)
    for s, (level, block) in enumerate(zip(engine.levels, out.blocks, strict=True)):
        for units in _pieces(block):
            w = keeping.peek(weights.blocks[s], units).to(engine.device)
            if instant is not None and rates is not None:
                w = predicted(w, keeping.peek(instant.blocks[s], units).to(engine.device), rates)
            offload.put(block, units, match(level.bets[p], w))
    if p in engine.held:
        engine.held[p].put(out.blocks)
    return out


def _pieces(block: Block) -> list[slice]:
    """Boards of a block that are worked on at once."""
    if isinstance(block, offload.OffloadedBlock):
        return block.pieces
    actions, units, wide = block.shape
    step = max(1, MOVED // max(1, actions * wide))
    return [slice(at, min(at + step, units)) for at in range(0, units, step)]


# The layout of `Strategy` --------------------------------------------------------------------
class _Piece(NamedTuple):
    """Neighbouring boards of a street, whose numbers `Strategy` has one after another.

    It keeps them as ``[tile, action, LANES]``, all tiles of a board before those of the next.
    """

    units: slice
    stored: slice
    real: Tensor  # [u, h] whether it is a hand, not padding
    tiles: Tensor  # [u, tile] whether it has hands

    def tiled(self, some: Tensor) -> Tensor:
        """[u, tile, action, LANES] a view of ``[action, u, h]``."""
        return some.unflatten(2, (-1, LANES)).permute(1, 2, 0, 3)


def _moved(level: Level, p: int, device: torch.device, within: slice) -> Iterator[_Piece]:
    """Player `p`'s boards of a street, at most `MOVED` numbers at a time."""
    torch, hands, edges = load_torch(), level.hands[p], level.bets[p].edges
    step = max(1, MOVED // max(1, edges * hands.wide))
    sizes = _sizes(level, p)
    for at in range(within.start, within.stop if edges else 0, step):
        units = slice(at, min(at + step, within.stop))
        start = int(hands.store[at])
        held = torch.from_numpy(hands.held[units]).to(device)
        real = torch.arange(hands.wide, device=device) < held[:, None]
        stop = start + int(sizes[units].sum())
        yield _Piece(units, slice(start, stop), real, real[:, ::LANES])


def to_numpy(engine: Batch, p: int, blocks: list[Block], *, matching: bool = False) -> Stored:
    """Blocks in the layout of `Strategy`; as probabilities, where they are `matching`.

    Streets without a block have zeros.
    """
    out = np.zeros(stored(engine.levels, p), dtype=np.float32)
    for level, block in zip(engine.levels, blocks, strict=False):
        for piece in _moved(level, p, engine.device, slice(0, level.units)):
            some = keeping.peek(block, piece.units).to(engine.device)
            some = match(level.bets[p], some) if matching else some
            tiles = piece.tiled(some.masked_fill(~piece.real, 0))[piece.tiles]
            load_torch().from_numpy(out[piece.stored]).copy_(tiles.flatten())
    plain = engine.unmerged
    return plain.gather(p, out) if plain else out


def street_from_numpy(
    engine: Batch, p: int, s: int, values: NDArray[Any], within: slice | None = None
) -> Tensor:
    """[action, unit, hand] float32 on street `s`, from the layout of `Strategy`.

    On all boards, or `within` some.
    """
    level, torch = engine.levels[s], engine.torch
    values = engine.unmerged.spread(p, values) if engine.unmerged else values
    within = within or slice(0, level.units)
    edges, wide = level.bets[p].edges, level.hands[p].wide
    made = torch.zeros((edges, within.stop - within.start, wide), device=engine.device)
    for piece in _moved(level, p, engine.device, within):
        some = made[:, piece.units.start - within.start : piece.units.stop - within.start]
        numbers = torch.from_numpy(np.array(values[piece.stored], np.float32)).to(engine.device)
        piece.tiled(some)[piece.tiles] = numbers.view(-1, edges, LANES)
        some.masked_fill_(~piece.real, 0)
    return made


def from_numpy(engine: Batch, p: int, values: NDArray[Any]) -> Blocks:
    """Blocks in float32, from the layout of `Strategy`."""
    if engine.boards:
        made = engine.blank(p, "float32", bucketed=False)
        made[:] = values
        return made
    streets = range(len(engine.levels))
    return Blocks(engine, p, [street_from_numpy(engine, p, s, values) for s in streets])


def stored(levels: list[Level], p: int) -> int:
    """Numbers of player `p` in that layout."""
    return sum(int(_sizes(level, p).sum()) for level in levels)


def _sizes(level: Level, p: int) -> NDArray[np.int64]:
    """[board] numbers kept there; hands are padded to whole tiles."""
    return -(-level.hands[p].held // LANES) * LANES * level.bets[p].edges
