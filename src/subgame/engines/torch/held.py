"""Locked hands on a device: before every sweep their regrets are set to their probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from subgame.engines.contract import Regrets
from subgame.engines.torch.layout import Level
from subgame.engines.torch.runtime import load_torch
from subgame.tree.ranges.betting_tree import LANES
from subgame.tree.ranges.probabilities import Locked

if TYPE_CHECKING:
    import torch

Tensor = Any


class HeldHands:
    """The fixed frequencies of one player as places in blocks ``[action, board, hand]``.

    Kernels play in proportion to regrets, so they need not know of locks: what a sweep adds to the
    regrets of locked hands is overwritten before the next one.
    """

    def __init__(self, lock: Locked, levels: list[Level], p: int, device: torch.device) -> None:
        torch = load_torch()
        self.places: list[tuple[Tensor, Tensor]] = []
        """Per street [k]: where, in a flattened block, and the probability."""
        for level in levels:
            hands, edges = level.hands[p], level.bets[p].edges
            tiles = -(-hands.held[-1] // LANES)
            end = hands.store[-1] + tiles * edges * LANES
            here = (lock.cells >= hands.store[0]) & (lock.cells < end)
            cells = lock.cells[here]
            unit = np.searchsorted(hands.store, cells, side="right") - 1
            line, lane = np.divmod(cells - hands.store[unit], LANES)
            tile, edge = np.divmod(line, max(edges, 1))
            at = (edge * level.units + unit) * hands.wide + tile * LANES + lane
            self.places.append(
                (torch.from_numpy(at).to(device), torch.from_numpy(lock.probs[here]).to(device))
            )

    def put(self, blocks: list[Tensor]) -> None:
        """Write the probabilities into the blocks of all streets."""
        for block, (at, probs) in zip(blocks, self.places, strict=True):
            if len(at):
                block.view(-1).index_put_((at,), probs)

    def hold(self, numbers: Regrets) -> None:
        """Set the regrets, and with prediction those of the last iteration in proportion."""
        for stored in (numbers.regret, numbers.instant):
            if stored is not None:
                self.put(stored.blocks)
