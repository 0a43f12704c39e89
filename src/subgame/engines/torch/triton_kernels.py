"""Triton kernels of what couples hands: terminals, and cards between streets.

Every number is written by one program and sums run in a fixed order, so results do not depend on
scheduling. Triton compiles a kernel again where an integer argument is 1 or a multiple of 16. That
is of use for strides; ``do_not_specialize`` names the other integers.
"""
# ruff: noqa: N803 (constants of a kernel are written in capitals)
# mypy: disallow-untyped-defs=False, disallow-untyped-decorators=False
# mypy: disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import importlib
from typing import Any

triton: Any = importlib.import_module("triton")
tl: Any = importlib.import_module("triton.language")
gluon: Any = importlib.import_module("triton.experimental.gluon")
gl: Any = importlib.import_module("triton.experimental.gluon.language")
WRITTEN: dict[str, dict[str, Any]] = {}
"""Functions that kernels call, by their text: see `codegen.build`."""


@triton.jit(do_not_specialize=("num_lanes", "num_shown", "first_folded", "units"))
def terminals(
    lanes,
    shown,
    met,
    lists,
    bounds,
    spots,
    num_lanes,
    num_shown,
    first_folded,
    units,
    wide_o,
    wide_p,
    lane_stride,
    paid_stride,
    HANDS: tl.constexpr,
    CARDS: tl.constexpr,
    DEPTH: tl.constexpr,
    CANCELLED: tl.constexpr,
    STEP: tl.constexpr,
):
    """`STEP` lanes, one after another, on board ``program(0)``: `TorchOps.terminals`.

    The reach of a lane is gathered into a table [card, hands with it by rank] and summed along.
    Of folds only the sums per card are kept, with that of all hands at the end of each line: the
    rest is left to whoever wants the values.
    """
    u = tl.program_id(0).to(tl.int64)
    h, card = tl.arange(0, HANDS), tl.arange(0, CARDS)
    listed = tl.load(lists + u * (CARDS * DEPTH) + tl.arange(0, CARDS * DEPTH)).to(tl.int32)
    listed = tl.minimum(listed, HANDS - 1)  # places beyond the hands read the zeros there
    two, four = tl.arange(0, HANDS * 2), tl.arange(0, HANDS * 4)
    bound = tl.load(bounds + u * wide_p * 2 + two, mask=two < wide_p * 2, other=0).to(tl.int32)
    spot = tl.load(spots + u * wide_p * 4 + four, mask=four < wide_p * 4, other=0).to(tl.int32)
    lane = tl.program_id(1) * STEP
    for _ in range(STEP):
        if lane < num_lanes:
            at = lanes + lane.to(tl.int64) * lane_stride + u * wide_o
            x = tl.load(at + h, mask=h < wide_o, other=0.0)
            total = tl.sum(x, 0)
            by_card = tl.reshape(tl.gather(x, listed, 0), (CARDS, DEPTH))
            ends = tl.sum(by_card, 1)
            if lane < num_shown:
                sums = tl.cumsum(by_card, 1) - ends[:, None] * 0.5
                ranks = tl.cumsum(x, 0) - x - total * 0.5
                value = tl.sum(tl.reshape(tl.gather(ranks, bound, 0), (HANDS, 2)), 1)
                flat = tl.reshape(sums, (CARDS * DEPTH,))
                value -= tl.sum(tl.reshape(tl.gather(flat, spot, 0), (HANDS, 4)), 1)
                value = tl.where(tl.abs(value) > CANCELLED * total, value, 0.0)
                into = shown + lane.to(tl.int64) * paid_stride + u * wide_p
                tl.store(into + h, value, mask=h < wide_p)
            if lane >= first_folded:
                into = met + ((lane - first_folded).to(tl.int64) * units + u) * CARDS
                tl.store(into + card, tl.where(card == CARDS - 1, total, ends))
        lane += 1


@triton.jit(do_not_specialize=("units", "num_segments"))
def add_up(
    result, below, weight, segments, out, units, wide, wide_up, num_segments, BLOCK: tl.constexpr
):
    """[leaf, segment, hand above] values of up to `SEGMENT` boards, weighted and added."""
    g, k = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    h = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    ok = h < wide_up
    total = tl.zeros((BLOCK,), out.dtype.element_ty)
    for u in range(tl.load(segments + 2 * g), tl.load(segments + 2 * g + 1)):
        place = tl.load(below + u * wide_up + h, mask=ok, other=-1)
        from_u = result + (k * units + u) * wide + place
        value = tl.load(from_u, mask=ok & (place >= 0), other=0.0)
        total += tl.load(weight + u).to(out.dtype.element_ty) * value
    tl.store(out + (k * num_segments + g) * wide_up + h, total, mask=ok)


@triton.jit(do_not_specialize=("units", "num_segments"))
def even_out(
    part,
    orbit,
    segment_at,
    out,
    units,
    wide,
    num_segments,
    ORBIT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """[leaf, unit, hand] segments added, and averaged over hands that suits exchange."""
    u, k = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    h = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    ok = h < wide
    total = tl.zeros((BLOCK,), out.dtype.element_ty)
    first, last = tl.load(segment_at + u), tl.load(segment_at + u + 1)
    if ORBIT == 0:
        for g in range(first, last):
            total += tl.load(part + (k * num_segments + g) * wide + h, mask=ok, other=0.0)
    else:
        count = tl.zeros((BLOCK,), out.dtype.element_ty)
        for j in range(ORBIT):
            place = tl.load(orbit + (u * wide + h) * ORBIT + j, mask=ok, other=-1)
            here = ok & (place >= 0)
            count += tl.where(here, 1.0, 0.0)
            for g in range(first, last):
                total += tl.load(part + (k * num_segments + g) * wide + place, mask=here, other=0.0)
        total = total / tl.maximum(count, 1.0)
    tl.store(out + (k * units + u) * wide + h, total, mask=ok)


@triton.jit
def add_lines(
    data,
    weight,
    row,
    index,
    out,
    actions,
    lines,
    data_stride,
    weight_stride,
    out_stride,
    WEIGHTED: tl.constexpr,
    LENGTH: tl.constexpr,
    ROWS: tl.constexpr,
    STEP: tl.constexpr,
):
    """`ROWS` lines of places added up, for `STEP` actions: `TorchOps.add_lines`."""
    line = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    ok = line < lines
    at = line[:, None] * LENGTH + tl.arange(0, LENGTH)[None, :]
    at = tl.load(index + at, mask=ok[:, None], other=-1)
    here = at >= 0
    action = tl.program_id(1).to(tl.int64) * STEP
    for _ in range(STEP):
        if action < actions:
            x = tl.load(data + action * data_stride + at, mask=here, other=0.0)
            if WEIGHTED:
                k = tl.load(row + action).to(tl.int64)
                x = x * tl.load(weight + k * weight_stride + at, mask=here, other=0.0)
            tl.store(out + action * out_stride + line, tl.sum(x, 1), mask=ok)
        action += 1
