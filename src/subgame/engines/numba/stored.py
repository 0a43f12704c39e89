"""Regrets and averages as kernels keep them: float32, or int16 with scales.

In 16 bits every `WIDTH` numbers have a scale, which maps the largest to `TOP`. An iteration often
adds less than the last bit, which rounding to nearest would always lose. So numbers are rounded up
or down at random, in proportion to the remainder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from subgame.engines.numba.simd import (
    FAST,
    INT32,
    WIDTH,
    Value,
    convert,
    emitted,
    load,
    repeat,
    shuffle,
    splat,
    void,
)
from subgame.engines.rounding import LEAST, MIX, TOP

Stored = NDArray[np.float32] | NDArray[np.int16]
"""Numbers as they are kept, with scales where they are int16."""
UNIT = 2.0**32
"""How much 1 is before it is rounded, so that random numbers are integers of 32 bits."""
STEP = 0x9E3779B9
"""The golden section of 2^32, which `_chance` adds from lane to lane."""


@emitted(lambda *_: types.int64)
def drawn(builder: ir.IRBuilder, at: Value, seed: Value) -> ir.Value:
    """The random number of a decision: a hash of its index and a seed."""

    def plain(number: int) -> ir.Constant:
        return ir.Constant(INT32, number)

    salt = builder.mul(builder.trunc(seed.value, INT32), plain(0x2545F491))
    x = builder.mul(builder.trunc(at.value, INT32), plain(0x1B873593))
    x = builder.xor(x, salt)
    for shift, factor in MIX:
        x = builder.mul(builder.xor(x, builder.lshr(x, plain(shift))), plain(factor))
    return builder.zext(x, ir.IntType(64))


def _chance(
    builder: ir.IRBuilder, luck: ir.Value, action: ir.Value, kind: ir.VectorType
) -> ir.Value:
    """Pseudo-random numbers of an action, from -1/2 to 1/2 of a `UNIT`.

    They follow from that of the decision in steps of the golden section, modulo a unit: each is
    uniform by itself, and together they are spread evenly.
    """
    steps = [(k * STEP) % 2**32 for k in range(WIDTH)]
    x = repeat(builder, builder.trunc(luck, INT32))
    x = builder.add(x, ir.Constant(x.type, steps))
    later = builder.mul(builder.trunc(action, INT32), ir.Constant(INT32, WIDTH * STEP % 2**32))
    return builder.sitofp(builder.add(x, repeat(builder, later)), kind)


def _greatest(builder: ir.IRBuilder, vectors: list[ir.Value]) -> ir.Value:
    """Four numbers, the first of which are the largest sizes of one to three vectors.

    They are computed together, in half of the steps that they would take one by one, and as
    integers, which are compared in a quarter of the time. Numbers stay in their register of four
    as long as possible.
    """
    number = vectors[0].type.element
    whole = ir.IntType(32 if number == ir.FloatType() else 64)

    def most(x: ir.Value, y: ir.Value, one: Sequence[int], two: Sequence[int]) -> ir.Value:
        """The larger of two choices out of the numbers of `x` and of `y`, which count from 4."""
        width = x.type.count
        starts = range(0, width, 4)
        a, b = (
            shuffle(builder, x, y, [q + k % 4 + k // 4 * width for q in starts for k in order])
            for order in (one, two)
        )
        return builder.select(builder.icmp_unsigned(">", a, b), a, b)

    kind = ir.VectorType(whole, WIDTH)
    positive = ir.Constant(kind, [2 ** (whole.width - 1) - 1] * WIDTH)
    sizes = [builder.and_(builder.bitcast(vector, kind), positive) for vector in vectors]
    first, *others = sizes
    x = most(first, (others or sizes)[0], (0, 4, 1, 5), (2, 6, 3, 7))
    if len(vectors) > 2:
        y = most(sizes[2], sizes[2], (0, 1, 2, 3), (2, 3, 0, 1))
        x = most(x, y, (0, 1, 4, 4), (2, 3, 5, 5))
    else:
        x = most(x, x, (0, 1, 2, 3), (2, 3, 0, 1))
    for width in (WIDTH // 2, WIDTH // 4):
        low, high = (shuffle(builder, x, x, list(range(at, at + width))) for at in (0, width))
        x = builder.select(builder.icmp_unsigned(">", low, high), low, high)
    return builder.bitcast(x, ir.VectorType(number, 4))


@emitted(void)
def note(
    builder: ir.IRBuilder,
    numbers: Value,
    scales: Value,
    at: Value,
    k: Value,
    values: Value,
    luck: Value,
) -> None:
    """Store the numbers of up to three actions, from `k` on, of a decision that starts at `at`.

    `values` is a tuple of vectors. `luck` is what is `drawn` for the decision, for the rounding of
    16-bit storage.
    """
    vectors = [builder.extract_value(values.value, i) for i in range(len(values.kind))]
    actions = [builder.add(k.value, ir.Constant(k.value.type, i)) for i in range(len(vectors))]
    short = numbers.kind.dtype == types.int16
    if short:
        first = builder.add(builder.sdiv(at.value, ir.Constant(at.value.type, WIDTH)), k.value)
        vectors = _scaled(builder, vectors, scales, first)
    for action, vector in zip(actions, vectors, strict=True):
        if short:
            chance = _chance(builder, luck.value, action, vector.type)
            stored = _rounded(builder, builder.fadd(vector, chance, flags=FAST))
        else:
            stored = convert(builder, vector, values.kind[0].dtype, numbers.kind.dtype)
        place = builder.add(at.value, builder.mul(action, ir.Constant(at.value.type, WIDTH)))
        numbers.write(place, stored)


def _rounded(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The nearest int16 of numbers in `UNIT`: the lowest bits of a sum whose last bit is one."""
    short = value.type.element == ir.FloatType()
    last, whole = (2.0**23, INT32) if short else (2.0**52, ir.IntType(64))
    total = builder.fadd(value, ir.Constant(value.type, [1.5 * last * UNIT] * WIDTH))
    bits = builder.bitcast(total, ir.VectorType(whole, WIDTH))
    return builder.trunc(bits, ir.VectorType(ir.IntType(16), WIDTH))


def _scaled(
    builder: ir.IRBuilder, vectors: list[ir.Value], scales: Value, first: ir.Value
) -> list[ir.Value]:
    """Vectors in such units that `TOP` are the largest number; their scales are written."""
    most, count = _greatest(builder, vectors), len(vectors)

    def constant(number: float) -> ir.Constant:
        return ir.Constant(most.type, [number] * 4)

    least = constant(LEAST * UNIT)
    most = builder.select(builder.fcmp_ordered(">", most, least), most, least)
    shares = builder.fmul(most, constant(1 / TOP))
    shares = shuffle(builder, shares, shares, list(range(count)))
    if shares.type.element != ir.FloatType():
        shares = builder.fptrunc(shares, ir.VectorType(ir.FloatType(), count))
    place = builder.bitcast(builder.gep(scales.value, [first]), shares.type.as_pointer())
    builder.store(shares, place, align=4)
    factors = builder.fdiv(constant(TOP * UNIT), most)
    return [
        builder.fmul(vector, shuffle(builder, factors, factors, [k] * WIDTH), flags=FAST)
        for k, vector in enumerate(vectors)
    ]


def recall(numbers: Stored, scales: Stored, at: int, like: float) -> Any:
    """The `WIDTH` numbers from `at` on, in the type of `like`, from either storage."""
    raise NotImplementedError


@overload(recall)  # Numba requires signatures without annotations
def _recall(numbers, scales, at, like):
    if numbers.dtype != types.int16:
        return lambda numbers, scales, at, like: load(numbers, at, like)
    return lambda numbers, scales, at, like: (
        load(numbers, at, like) * splat(scales[at // WIDTH], like)
    )
