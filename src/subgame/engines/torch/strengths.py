"""Strength at the showdown by PyTorch: scores of all hands on many boards, and their quantiles.

A hand's *score* on a whole board is the number of opponents' hands that it beats, counted twice,
plus the number that it ties. `BINS` classes of equal width make a byte of it. Both are whole
numbers, so that PyTorch and Numba (`subgame.engines.numba.strengths`) agree exactly.
"""

from __future__ import annotations

from typing import Any

from subgame.engines.torch.runtime import load_torch, pick_device
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.isomorphism import hand_permutations

Tensor = Any
BINS = 256
CELLS = {"cpu": 1 << 22, "cuda": 1 << 27}
"""Pairs of hands, or hands on boards to come, that are looked at at once."""


class TorchStrengths:
    """Scores and quantiles of the hands of a deck."""

    def __init__(self, deck: Deck, device: str = "cpu") -> None:
        self.torch, self.deck, self.device = load_torch(), deck, pick_device(device)
        self.cells = CELLS[self.device.type]
        self.images = self.torch.as_tensor(hand_permutations(deck).copy(), device=self.device)

    def scores(self, ranks: Any) -> Tensor:
        """[board, hand] the score of each hand from the ranks, -1 where it is blocked."""
        torch, hands = self.torch, self.deck.num_hands
        rank = torch.as_tensor(ranks, device=self.device)
        out = torch.empty_like(rank)
        disjoint = torch.as_tensor(self.deck.disjoint.copy(), device=self.device)
        step = max(1, self.cells // hands**2)
        for at in range(0, len(rank), step):
            some = rank[at : at + step]
            meets = disjoint & (some >= 0)[:, None, :]
            above = ((some[:, :, None] > some[:, None, :]) & meets).sum(2, dtype=torch.int32)
            equal = ((some[:, :, None] == some[:, None, :]) & meets).sum(2, dtype=torch.int32)
            out[at : at + step] = torch.where(some >= 0, 2 * above + equal, -1).to(out.dtype)
        return out

    def bins(self, scores: Tensor, most: int) -> Tensor:
        """Scores from 0 to `most` as bytes; the highest byte where the hand is blocked."""
        share = scores.to(self.torch.int32) * BINS // (most + 1)
        return share.masked_fill(scores < 0, BINS - 1).to(self.torch.uint8)

    def quantiles(self, rows: Any, permutations: Any, bins: Tensor, at: list[int]) -> Tensor:
        """[board, hand, quantile] the bins at some places of each hand's sorted boards to come.

        `rows` and `permutations` ``[board, board to come]`` say where each is in `bins`.
        """
        torch = self.torch
        row = torch.as_tensor(rows, device=self.device).long()
        moved = torch.as_tensor(permutations, device=self.device).long()
        out = torch.empty(
            (len(row), self.deck.num_hands, len(at)), dtype=torch.uint8, device=self.device
        )
        step = max(1, self.cells // (row.shape[1] * self.deck.num_hands))
        for k in range(0, len(row), step):
            some = slice(k, k + step)
            reached = bins[row[some, :, None], self.images[moved[some]]]
            out[some] = reached.sort(1).values[:, at].transpose(1, 2)
        return out

    def nearest(self, features: Tensor, centres: Any) -> Tensor:
        """[point] the nearest centre of each feature ``[point, d]``; exact for whole numbers."""
        torch = self.torch
        centre = torch.tensor(centres, device=self.device).double()
        norm, step = (centre**2).sum(1), max(1, self.cells // len(centre))
        out = torch.empty(len(features), dtype=torch.int16, device=self.device)
        for at in range(0, len(features), step):
            product = features[at : at + step] @ centre.T
            out[at : at + step] = (norm - 2 * product).argmin(1).to(torch.int16)
        return out
