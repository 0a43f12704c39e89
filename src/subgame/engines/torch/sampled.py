"""`TorchSweeps`: CFR in buckets over sampled boards, a batch of boards at once, by PyTorch.

Public chance sampling (Johanson et al. 2012, "Efficient Nash equilibrium approximation through
Monte Carlo CFR"): whole boards are drawn, and on each board both players' hands are exact vectors.
All boards of a batch and all decisions of a `Group` are one array operation. Hands meet in dense
matrices ``[board, hand, hand]``: who wins at the showdown, and who can be dealt together. Sums over
the hands of a bucket are products with 0/1 matrices. Both suit a GPU's matrix units, whose
short mantissas (TF32) round far less than the choice of boards adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from subgame.engines.sampled import LANES, Sweeps
from subgame.engines.torch.runtime import load_torch, pick_device
from subgame.games.holdem.cards import Deck
from subgame.tree.betting_arrays import BettingArrays, Group

Tensor = Any


class Boards(NamedTuple):
    """A batch of boards. Axes: b = board, h = hand that one of them leaves, k = bucket."""

    bucket: list[Tensor]  # by street, [b * h]
    member: list[Tensor]  # by street, [b * h, k] whether the hand is in the bucket
    free: Tensor  # [b, h] 1, or 0 for hands that the board blocks
    wins: Tensor  # [b, h, h'] 1 if h' beats h, -1 if h beats h', 0 for ties and shared cards
    meets: Tensor  # [b, h, h'] 1 if both can be dealt


class TorchSweeps(Sweeps):
    """Traversals of a betting tree on batches of boards."""

    def __init__(
        self, tree: BettingArrays, counts: tuple[int, ...], deck: Deck, device: str = "cpu"
    ) -> None:
        super().__init__(tree, counts, deck)
        self.torch, self.device = load_torch(), pick_device(device)
        put = self.torch.as_tensor
        self.parent = put(tree.parent, device=self.device).long()
        self.folds, self.showdowns = (
            (
                [put(sequence, device=self.device).long() for sequence in end.sequences],
                put(end.stake, device=self.device) / self.opponents,
            )
            for end in (tree.folds, tree.showdowns)
        )
        self.disjoint = put(deck.disjoint.copy(), device=self.device)
        self.owner = []
        for first, rows in zip(self.first, tree.rows, strict=True):
            many = put(np.diff(np.append(first, rows)), device=self.device)
            owner = _repeat(self.torch, many)
            self.owner.append((len(first), owner, (1 / many[owner].float())[:, None]))
        self._last: tuple[Tensor, Boards] | None = None

    def zeros(self) -> Tensor:
        return self.torch.zeros(self.start[-1], device=self.device)

    def _totals(self, rows: Tensor, s: int) -> tuple[Tensor, Tensor, Tensor]:
        many, owner, uniform = self.owner[s]
        return rows.new_zeros((many, rows.shape[1])).index_add_(0, owner, rows), owner, uniform

    def boards(self, ranks: Tensor, buckets: Sequence[Tensor]) -> Boards:
        """A batch of boards; the one before is remembered, as both players learn on it."""
        if self._last is not None and self._last[0] is ranks:
            return self._last[1]
        torch = self.torch
        width = min(-(-self.hands // LANES) * LANES, self.deck.num_hands)
        live = torch.argsort((ranks < 0).byte(), dim=1, stable=True)[:, :width]
        rank = ranks.gather(1, live).to(torch.int32)
        free = (rank >= 0).float()
        meets = self.disjoint[live[:, :, None], live[:, None, :]].float()
        meets *= free[:, :, None] * free[:, None, :]
        wins = torch.sign(rank[:, None, :] - rank[:, :, None]).float() * meets
        bucket = [bucket.gather(1, live).clip(min=0).long().reshape(-1) for bucket in buckets]
        member = [
            torch.nn.functional.one_hot(street, k).float() * free.reshape(-1, 1)
            for street, k in zip(bucket, self.counts, strict=True)
        ]
        self._last = ranks, Boards(bucket, member, free, wins, meets)
        return self._last[1]

    def deltas(
        self, p: int, sigma: Tensor, ranks: Tensor, buckets: Sequence[Tensor], seed: int = 0
    ) -> Tensor:
        with short_mantissas(self.torch):
            return self._sweep(p, sigma, self.boards(ranks, buckets))[0]

    def values(self, p: int, sigma: Tensor, ranks: Tensor, buckets: Sequence[Tensor]) -> Tensor:
        boards = self.boards(ranks, buckets)
        with short_mantissas(self.torch):
            root = self._sweep(p, sigma, boards)[1][0].view(boards.free.shape)
        return root.double().sum(1) / self.hands

    def _sweep(self, p: int, sigma: Tensor, boards: Boards) -> tuple[Tensor, Tensor]:
        """The sums of `deltas`, and [sequence, b * h] the values of player `p`."""
        torch = self.torch
        many, width = boards.free.shape
        out = self.zeros()
        reach = self._reach(1 - p, sigma, boards, out)
        value = torch.zeros((self.tree.sequences(p), many * width), device=self.device)
        sign = 1 if p == 0 else -1  # player 0 wins the stake of a fold, any winner a showdown's
        for (at, stake), against in (
            ((self.folds[0], sign * self.folds[1]), boards.meets),
            (self.showdowns, boards.wins),
        ):
            opponent = reach[at[1 - p]].view(-1, many, width).transpose(0, 1)
            paid = torch.bmm(opponent, against).transpose(0, 1) * stake[:, None, None]
            # No two terminals of a kind follow the same sequence.
            value[at[p]] += paid.reshape(-1, many * width)
        del reach
        for group in reversed(self.tree.groups):
            if group.player != p:
                continue
            spread = self._spread(group, sigma, boards)
            rows = value[group.sequences].view(spread.shape)
            here = spread.mul_(rows).sum(1)
            value.index_add_(0, self.parent[group.decisions], here)
            rows -= here[:, None]
            self._sum(group, rows.view(-1, many * width), boards, out)
        return out, value

    def _reach(self, o: int, sigma: Tensor, boards: Boards, out: Tensor) -> Tensor:
        """[sequence, b * h] the reach of player `o`, whose sums by bucket go into `out`."""
        free = boards.free.reshape(-1)
        reach = free.new_empty((self.tree.sequences(o), len(free)))
        reach[0] = free
        for group in self.tree.groups:
            if group.player == o:
                played = self._spread(group, sigma, boards)
                into, above = reach[group.sequences], reach[self.parent[group.decisions]]
                self.torch.mul(played, above[:, None], out=into.view(played.shape))
                self._sum(group, into, boards, out)
        return reach

    def _spread(self, group: Group, sigma: Tensor, boards: Boards) -> Tensor:
        """[decision, action, b * h] the probabilities of a group for each hand."""
        rows = self.street(sigma, group.street)[group.rows]
        probabilities = rows.index_select(1, boards.bucket[group.street])
        return probabilities.view(-1, group.actions, probabilities.shape[1])

    def _sum(self, group: Group, rows: Tensor, boards: Boards, out: Tensor) -> None:
        """Sum the hands of each bucket."""
        into = self.street(out, group.street)[group.rows]
        self.torch.mm(rows, boards.member[group.street], out=into)


@contextmanager
def short_mantissas(torch: Any) -> Iterator[None]:
    """Let a GPU multiply matrices in TF32 here."""
    matmul = torch.backends.cuda.matmul
    before, matmul.allow_tf32 = matmul.allow_tf32, True
    try:
        yield
    finally:
        matmul.allow_tf32 = before


def _repeat(torch: Any, many: Tensor) -> Tensor:
    """[row] which entry of `many` a row belongs to."""
    return torch.repeat_interleave(torch.arange(len(many), device=many.device), many)
