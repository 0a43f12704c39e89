"""What solving takes, before any of it is taken, and where regrets and averages will lie.

They lie on the device as long as all of it fits there. Otherwise those of the last street lie in
host memory (`offload`), and some boards at a time come to the device: few enough to keep within the
limit. A street in buckets (`buckets`) is small, and stays on the device.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from subgame.engines.torch import storage as keeping
from subgame.engines.torch.buckets import LONGEST
from subgame.engines.torch.layout import SEGMENT, Frame
from subgame.engines.torch.sums import is_dense
from subgame.errors import MemoryLimitError, SubgameError, human_bytes
from subgame.memory import available
from subgame.tree.sequence.tree import SequenceTree

if TYPE_CHECKING:
    import torch

Placement = Literal["device", "host"]
BUFFERS = 3
"""Slices on the device at once: one comes, one is worked on, one goes."""
PIECES = 32
"""Slices that boards in host memory are cut into, at least: the first and the last copy of a sweep
have no work to hide behind."""


class MemoryEstimate(NamedTuple):
    """Bytes that solving and evaluating take, tables included."""

    device: int
    host: int
    placement: Placement
    """Where regrets and averages of the last street lie."""
    boards: int
    """Boards of the last street on the device at once, where they lie on the host; else 0."""


def slice_of(frame: Frame, p: int, size: int, scratch: int, triton: bool) -> int:
    """How many boards of the last street player `p` sweeps at once."""
    return max(1, min(frame.units, scratch // max(1, _per_board(frame, p, triton) * size)))


def aligned(boards: int, kind: str) -> int:
    """So many boards or less, so that slices begin where lines do."""
    if kind == "int16" or boards > keeping.ALIGNED:
        return max(1, boards // keeping.ALIGNED) * keeping.ALIGNED
    return boards


def _per_board(frame: Frame, p: int, triton: bool) -> int:
    """Numbers on one board besides those that are kept: lanes, and what they pay."""
    theirs, mine = frame.bets[1 - p], frame.bets[p]
    folded = len(theirs.lanes) - theirs.folded
    lanes = len(theirs.lanes) * frame.wide[1 - p] + theirs.shown * frame.wide[p]
    if triton:
        return lanes + folded * frame.cards
    return lanes + (folded + 3 * mine.rows) * frame.wide[p] + 2 * theirs.rows * frame.wide[1 - p]


@dataclass(frozen=True)
class Needs:
    """All that memory depends on, but for the schedule."""

    frames: list[Frame]
    storage: str
    scratch: int
    triton: bool
    graphs: bool
    buckets: dict[int, int] = field(default_factory=dict)
    """How many there are, by street."""

    @property
    def stays(self) -> bool:
        """Whether the last street is in buckets, and so stays on the device."""
        return len(self.frames) - 1 in self.buckets

    def estimate(
        self,
        placement: Placement,
        boards: int = 0,
        *,
        predictive: bool = False,
        alternating: bool = True,
    ) -> MemoryEstimate:
        """With this placement, and so many boards at a time from the host.

        A recorded iteration keeps its working arrays; evaluation needs its own, in float64, beside.
        Players who learn at the same time answer a copy of what player 0 had.
        """
        parts = 3 if predictive else 2
        copies = (parts + (0 if alternating else parts - 1), parts)
        device, host, spread = sum(frame.tables for frame in self.frames), 0, 0
        for s, frame in enumerate(self.frames):
            for p in (0, 1):
                if s in self.buckets:
                    always, meanwhile = self._shared(s, p, copies[p])
                    device, spread = device + always, max(spread, meanwhile)
                elif placement == "host" and s == len(self.frames) - 1:
                    shape = (frame.bets[p].edges, frame.units, frame.wide[p])
                    host += copies[p] * offloaded_bytes(self.storage, shape, boards)
                else:
                    hands = frame.units * frame.wide[p]
                    board_bytes = keeping.stored_bytes(self.storage, frame.bets[p].edges, hands)
                    device += copies[p] * board_bytes
        single, double = (
            size * max(self._working(p, size, boards) for p in (0, 1)) for size in (4, 8)
        )
        device += max(single, double) + spread
        if placement == "host":
            staged = BUFFERS * self.staging(boards, predictive=predictive)
            return MemoryEstimate(device + staged, host, placement, boards)
        return MemoryEstimate(device + (single + spread if self.graphs else 0), 0, placement, 0)

    def _shared(self, s: int, p: int, copies: int) -> tuple[int, int]:
        """Bytes that a bucketed street of player `p` keeps, and those it works with meanwhile."""
        frame, count, roots = self.frames[s], self.buckets[s], self.frames[0].bets[p].roots
        edges, places = frame.bets[p].edges, frame.units * frame.wide[p]
        block = 4 * edges * count
        tables = places * (4 + 4 + 1 + 2 * 4 + 4 * (1 + roots)) + 8 * count  # lines: at most double
        one = 2 * 4 * edges * frame.wide[p]
        spread = min(one * frame.units, max(one, self.scratch))
        sums = 4 * edges * (count + places // LONGEST)
        return block * (copies + 2) + tables, spread + 2 * sums + 2 * block

    def _working(self, p: int, size: int, boards: int) -> int:
        """Numbers that half an iteration of player `p` works with, all of them at once."""
        o, total = 1 - p, 0
        for s, frame in enumerate(self.frames):
            mine, theirs, last = frame.bets[p], frame.bets[o], s == len(self.frames) - 1
            cut = boards or slice_of(frame, p, size, self.scratch, self.triton)
            board_bytes = _per_board(frame, p, self.triton)
            total += (cut if last else frame.units) * board_bytes
            total += mine.roots * frame.units * frame.wide[p]
            total += frame.units * frame.wide[o] * len(theirs.leaves)  # their reach there
            total += frame.units * frame.wide[p] * len(mine.leaves) * 2  # ours, and values
            if s > 0:  # boards of the way up, in segments
                above = self.frames[s - 1]
                segments = min(frame.units, above.units + frame.units // SEGMENT)
                total += mine.roots * segments * above.wide[p]
        return total

    def staging(self, boards: int, *, predictive: bool) -> int:
        """Bytes of one slice on the device: what learns or, in float32, is evaluated."""
        frame, learn, evaluation = self.frames[-1], [], 0
        for p in (0, 1):
            shape = (frame.bets[p].edges, min(boards, frame.units), frame.wide[p])
            learn.append(keeping.padded_bytes(self.storage, shape))
            evaluation += keeping.padded_bytes("float32", shape)
        mine, theirs = (3, 2) if predictive else (2, 1)
        return max(evaluation, *(mine * learn[p] + theirs * learn[1 - p] for p in (0, 1)))

    def plan(
        self, placement: Placement | None, limit: float, what: str, device: torch.device
    ) -> MemoryEstimate:
        """Where numbers will lie if there are `limit` bytes on the device; refused if nowhere.

        None is the device if all fits there, else the host.
        Buckets of the last street are on the device.
        """
        if placement not in (None, *get_args(Placement)):
            raise SubgameError(
                f"Regrets and averages must be on the 'device' or the 'host', not '{placement}'."
            )
        if self.stays:
            if placement == "host":
                raise SubgameError(
                    "If the last street has buckets, its numbers must be on the device."
                )
            placement = "device"
        inside = self.estimate("device")
        if placement == "device" or (placement is None and inside.device <= limit):
            result = inside
        else:
            result = self._fitting(limit)
        if result.device > limit:
            needs, kept = "needs about", ""
            if result.placement == "host":
                needs, kept = "needs at least", ", with regrets and averages in host memory"
            raise MemoryLimitError(
                f"{what} {needs} {human_bytes(result.device)} on {device}{kept}, and "
                f"only {human_bytes(limit)} are free."
            )
        if result.host and result.host > (spare := available()):
            raise MemoryLimitError(
                f"{what} needs about {human_bytes(result.host)} of host memory beside "
                f"{human_bytes(result.device)} on {device}, and only {human_bytes(spare)} are free."
            )
        return result

    def _fitting(self, limit: float) -> MemoryEstimate:
        """As many boards at a time as fit, with predictions or without; at least the fewest."""
        frame = self.frames[-1]
        most = min(slice_of(frame, p, 8, self.scratch, self.triton) for p in (0, 1))
        boards = aligned(min(most, -(-frame.units // PIECES)), self.storage)
        least = aligned(1, self.storage)
        while boards > least and self.estimate("host", boards, predictive=True).device > limit:
            boards = max(least, aligned(boards // 2, self.storage))
        return self.estimate("host", boards)


def offloaded_bytes(kind: str, shape: tuple[int, int, int], boards: int) -> int:
    """Bytes of a block in host memory, cut after so many boards."""
    actions, units, wide = shape
    whole, rest = divmod(units, boards)
    total = whole * keeping.padded_bytes(kind, (actions, boards, wide))
    return total + (keeping.padded_bytes(kind, (actions, rest, wide)) if rest else 0)


PER_SEQUENCE, PER_ENTRY, PER_LANE = 160, 56, 64
"""Bytes on the device for a sequence (regrets, what is played, tables of sums, working arrays), an
entry of the payoff matrix (both players' lists, padded, and one list at work) and a sequence of a
terminal that is a matrix product."""


def sequence_bytes(tree: SequenceTree) -> int:
    """An estimate of the bytes that a sequence tree takes on a device, evaluation included."""
    t = tree.terminals
    entries = np.array(
        [t.row_ptr[at + n] - t.row_ptr[at] for at, n in zip(t.row_ptr_at, t.rows, strict=True)]
    )
    cells, lanes = t.rows.astype(np.int64) * t.cols, t.lanes.astype(np.int64)
    dense = is_dense(entries, cells, lanes)
    ends = np.where(dense, PER_LANE * (t.rows + t.cols) * lanes + 16 * cells, 0)
    ends += np.where(dense, 0, PER_ENTRY * entries * lanes)
    return int(ends.sum()) + PER_SEQUENCE * sum(side.num_sequences for side in tree.players)
