"""Vectors of sixteen numbers: LLVM vectors as values that Numba code can load, add and store.

LLVM maps them to the registers of the machine. They are needed where LLVM does not vectorise loops
by itself, because Numba cannot promise it that two arrays do not overlap.

`views` turns arrays into bare pointers, without reference counts and bounds checks, so that a
kernel can pass dozens of them from function to function at no cost. The caller keeps the arrays
alive.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import PrimitiveModel
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import overload, register_model

from subgame.engines.numba.compiling import njit
from subgame.engines.rounding import LEAST, MIX, TOP

WIDTH = 16
intrinsic: Any = numba_intrinsic
"""Untyped: callers do not pass the first argument."""
_INT32 = ir.IntType(32)
FAST = ("contract",)
"""Allows fused multiply-add, which does not round the product."""


kernel = njit(cache=True, error_model="numpy", nogil=True, no_cfunc_wrapper=True)
"""Decorates a kernel that Python calls, through a `native.Kernel`. It allocates nothing and raises
nothing."""
part = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Decorates a function that only kernels call; without entries for Python it compiles faster."""
small = njit(error_model="numpy", forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""The same for one that LLVM shall inline."""


class Lanes(types.Type):
    """The type of a vector of `WIDTH` numbers."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _Model(PrimitiveModel):
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, ir.VectorType(_element(kind.dtype), WIDTH))


def _element(dtype: Any) -> Any:
    return ir.FloatType() if dtype == types.float32 else ir.DoubleType()


def _bytes(dtype: Any) -> int:
    return 4 if dtype == types.float32 else 8


def _pointer(builder: Any, kind: Any, pointer: Any, index: Any, width: int) -> Any:
    vector = ir.VectorType(_element(kind.dtype), width)
    return builder.bitcast(builder.gep(pointer, [index]), vector.as_pointer())


def _convert(builder: Any, value: Any, before: Any, after: Any, width: int) -> Any:
    if before == after:
        return value
    vector = ir.VectorType(_element(after), width)
    return (builder.fpext if after == types.float64 else builder.fptrunc)(value, vector)


def _vector_function(builder: Any, name: str, given: list[Any], out: Any) -> Any:
    """An LLVM function of vectors of one type, whose name llvmlite does not construct."""
    suffix = f"v{WIDTH}{'f32' if given[0].element == ir.FloatType() else 'f64'}"
    kind = ir.FunctionType(out, given)
    return cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.{suffix}")


@intrinsic
def views(typing: Any, arrays: Any) -> Any:
    """A tuple of arrays as a tuple of pointers to their first items."""
    out = types.Tuple([types.CPointer(array.dtype) for array in arrays.types])

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = [
            cgutils.create_struct_proxy(kind)(
                context, builder, builder.extract_value(args[0], k)
            ).data
            for k, kind in enumerate(arrays.types)
        ]
        return context.make_tuple(builder, out, pointers)

    return out(arrays), codegen


@intrinsic
def load(typing: Any, array: Any, index: Any, like: Any) -> Any:
    """The `WIDTH` numbers from `index` on, in the type of the scalar `like`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(builder, array, args[0], args[1], WIDTH)
        value = builder.load(pointer, align=_bytes(array.dtype))
        return _convert(builder, value, array.dtype, like, WIDTH)

    return Lanes(like)(array, index, like), codegen


@intrinsic
def store(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """Write `WIDTH` numbers from `index` on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(builder, array, args[0], args[1], WIDTH)
        out = _convert(builder, args[2], value.dtype, array.dtype, WIDTH)
        builder.store(out, pointer, align=_bytes(array.dtype))
        return context.get_dummy_value()

    return types.void(array, index, value), codegen


@intrinsic
def splat(typing: Any, value: Any, like: Any) -> Any:
    """One number, `WIDTH` times, in the type of the scalar `like`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        nothing = ir.Constant(ir.VectorType(_element(like), WIDTH), ir.Undefined)
        number = context.cast(builder, args[0], value, like)
        first = builder.insert_element(nothing, number, ir.Constant(_INT32, 0))
        zeros = ir.Constant(ir.VectorType(_INT32, WIDTH), [0] * WIDTH)
        return builder.shuffle_vector(first, nothing, zeros)

    return Lanes(like)(value, like), codegen


@intrinsic
def larger(typing: Any, a: Any, b: Any) -> Any:
    """The elementwise maximum: one instruction, where a comparison takes two."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = args[0].type
        return builder.call(_vector_function(builder, "maxnum", [kind, kind], kind), args)

    return a(a, b), codegen


@intrinsic
def choose(typing: Any, a: Any, b: Any, yes: Any, no: Any) -> Any:
    """`yes` where ``a > b``, else `no`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", args[0], args[1]), args[2], args[3])

    return yes(a, b, yes, no), codegen


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Transpose four vectors of four numbers."""

    def mix(x: Any, y: Any, order: list[int]) -> Any:
        return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(_INT32, 4), order))

    even = [mix(rows[0], rows[1], [0, 4, 2, 6]), mix(rows[2], rows[3], [0, 4, 2, 6])]
    odd = [mix(rows[0], rows[1], [1, 5, 3, 7]), mix(rows[2], rows[3], [1, 5, 3, 7])]
    return [
        mix(even[0], even[1], [0, 1, 4, 5]),
        mix(odd[0], odd[1], [0, 1, 4, 5]),
        mix(even[0], even[1], [2, 3, 6, 7]),
        mix(odd[0], odd[1], [2, 3, 6, 7]),
    ]


@intrinsic
def turn(typing: Any, a: Any, b: Any, c: Any, d: Any, into: Any, at: Any, step: Any) -> Any:
    """Transpose four vectors into `WIDTH` groups of four numbers, which are `step` apart."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index, distance = args[5], args[6]
        for q in range(0, WIDTH, 4):
            some = ir.Constant(ir.VectorType(_INT32, 4), [q, q + 1, q + 2, q + 3])
            rows = [builder.shuffle_vector(row, row, some) for row in args[:4]]
            for row in _transposed(builder, rows):
                pointer = _pointer(builder, into, args[4], index, 4)
                builder.store(row, pointer, align=_bytes(into.dtype))
                index = builder.add(index, distance)
        return context.get_dummy_value()

    return types.void(a, b, c, d, into, types.int64, types.int64), codegen


@intrinsic
def gather(typing: Any, source: Any, a: Any, b: Any, c: Any, d: Any, into: Any, at: Any) -> Any:
    """The inverse of `turn`: four numbers from four places each become four rows `WIDTH` apart."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def read(index: Any) -> Any:
            pointer = _pointer(builder, source, args[0], index, 4)
            return builder.load(pointer, align=_bytes(source.dtype))

        for k, row in enumerate(_transposed(builder, [read(index) for index in args[1:5]])):
            index = builder.add(args[6], ir.Constant(args[6].type, k * WIDTH))
            pointer = _pointer(builder, into, args[5], index, 4)
            builder.store(row, pointer, align=_bytes(into.dtype))
        return context.get_dummy_value()

    return types.void(source, a, b, c, d, into, at), codegen


@intrinsic
def columns(typing: Any, source: Any, at: Any, step: Any) -> Any:
    """Four vectors: `WIDTH` places, `step` apart, have four numbers each, one for each vector."""
    out = types.UniTuple(Lanes(source.dtype), 4)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index, found = args[1], []
        for _ in range(0, WIDTH, 4):
            rows = []
            for _ in range(4):
                pointer = _pointer(builder, source, args[0], index, 4)
                rows.append(builder.load(pointer, align=_bytes(source.dtype)))
                index = builder.add(index, args[2])
            found.append(_transposed(builder, rows))
        return context.make_tuple(
            builder, out, [_joined(builder, list(each)) for each in zip(*found, strict=True)]
        )

    return out(source, types.int64, types.int64), codegen


def _joined(builder: Any, parts: list[Any]) -> Any:
    """Vectors one after another as one vector."""
    while len(parts) > 1:
        order = ir.Constant(
            ir.VectorType(_INT32, 2 * parts[0].type.count), list(range(2 * parts[0].type.count))
        )
        parts = [
            builder.shuffle_vector(a, b, order)
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


@intrinsic
def pay(typing: Any, into: Any, at: Any, source: Any, start: Any, times: Any) -> Any:
    """Add four numbers, multiplied by `times`, to four others of their type."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        here = _pointer(builder, into, args[0], args[1], 4)
        there = _pointer(builder, source, args[2], args[3], 4)
        align = _bytes(into.dtype)
        number = context.cast(builder, args[4], times, into.dtype)
        vector = ir.VectorType(_element(into.dtype), 4)
        nothing = ir.Constant(vector, ir.Undefined)
        first = builder.insert_element(nothing, number, ir.Constant(_INT32, 0))
        zeros = ir.Constant(ir.VectorType(_INT32, 4), [0] * 4)
        each = builder.shuffle_vector(first, nothing, zeros)
        more = builder.fmul(each, builder.load(there, align=align), flags=FAST)
        builder.store(builder.fadd(builder.load(here, align=align), more, flags=FAST), here, align)
        return context.get_dummy_value()

    return types.void(into, at, source, start, times), codegen


# 16-bit storage ------------------------------------------------------------------------------
# Numbers are float32, or int16 with a scale for every `WIDTH` of them, which maps the largest to
# `TOP`. An iteration often adds less than the last bit, which rounding to nearest would always
# lose. So numbers are rounded up or down at random, in proportion to the remainder.

_INT16 = ir.VectorType(ir.IntType(16), WIDTH)


def _int16_pointer(builder: Any, pointer: Any, index: Any) -> Any:
    return builder.bitcast(builder.gep(pointer, [index]), _INT16.as_pointer())


@intrinsic
def _load_int16(typing: Any, array: Any, index: Any, like: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.load(_int16_pointer(builder, args[0], args[1]), align=2)
        return builder.sitofp(value, ir.VectorType(_element(like), WIDTH))

    return Lanes(like)(array, index, like), codegen


@intrinsic
def _store_int16(typing: Any, array: Any, index: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = args[2].type
        lower = builder.call(_vector_function(builder, "floor", [kind], kind), [args[2]])
        builder.store(
            builder.fptosi(lower, _INT16), _int16_pointer(builder, args[0], args[1]), align=2
        )
        return context.get_dummy_value()

    return types.void(array, index, value), codegen


@intrinsic
def chance(typing: Any, at: Any, seed: Any, like: Any) -> Any:
    """`WIDTH` pseudo-random numbers from 0 to 1: a hash of index and seed, of type `like`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        ints = ir.VectorType(_INT32, WIDTH)

        def every(value: Any) -> Any:
            nothing = ir.Constant(ints, ir.Undefined)
            first = builder.insert_element(nothing, value, ir.Constant(_INT32, 0))
            return builder.shuffle_vector(first, nothing, ir.Constant(ints, [0] * WIDTH))

        def plain(number: int) -> Any:
            return ir.Constant(ints, [number] * WIDTH)

        place = builder.trunc(args[0], _INT32)
        salt = builder.mul(builder.trunc(args[1], _INT32), ir.Constant(_INT32, 0x2545F491))
        x = builder.add(every(place), ir.Constant(ints, list(range(WIDTH))))
        x = builder.xor(builder.mul(x, plain(0x1B873593)), every(salt))
        for shift, factor in MIX:
            x = builder.mul(builder.xor(x, builder.lshr(x, plain(shift))), plain(factor))
        kind = ir.VectorType(_element(like), WIDTH)
        share = builder.uitofp(builder.lshr(x, plain(8)), kind)
        return builder.fmul(share, ir.Constant(kind, [2.0**-24] * WIDTH))

    return Lanes(like)(at, seed, like), codegen


@intrinsic
def kind_of(typing: Any, value: Any) -> Any:
    """A scalar of the element type of a vector, for use as `like`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(_element(value.dtype), 0.0)

    return value.dtype(value), codegen


@intrinsic
def _greatest(typing: Any, value: Any) -> Any:
    """The largest absolute value of a vector."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = args[0].type
        sizes = builder.call(_vector_function(builder, "fabs", [kind], kind), [args[0]])
        most = _vector_function(builder, "vector.reduce.fmax", [kind], kind.element)
        return builder.call(most, [sizes])

    return value.dtype(value), codegen


def recall(numbers: Any, scales: Any, at: Any, like: Any) -> Any:
    """The `WIDTH` numbers from `at` on, in the type of `like`, from either storage."""
    raise NotImplementedError


def note(numbers: Any, scales: Any, at: Any, value: Any, seed: Any) -> Any:
    """Store `WIDTH` numbers from `at` on; `seed` is for the rounding of 16-bit storage."""
    raise NotImplementedError


@overload(recall)  # as below, Numba requires signatures without annotations
def _recall(numbers, scales, at, like):
    if numbers.dtype != types.int16:
        return lambda numbers, scales, at, like: load(numbers, at, like)

    def int16(numbers, scales, at, like):
        return _load_int16(numbers, at, like) * splat(scales[at // WIDTH], like)

    return int16


@overload(note)
def _note(numbers, scales, at, value, seed):
    if numbers.dtype != types.int16:
        return lambda numbers, scales, at, value, seed: store(numbers, at, value)

    def int16(numbers, scales, at, value, seed):
        like = kind_of(value)
        scale = max(_greatest(value), LEAST) / TOP
        scales[at // WIDTH] = scale
        _store_int16(numbers, at, value * splat(1 / scale, like) + chance(at, seed, like))

    return int16


def _operator(symbol: Any, instruction: str) -> None:
    @intrinsic
    def apply(typing: Any, a: Any, b: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, instruction)(args[0], args[1], flags=FAST)

        return a(a, b), codegen

    @overload(symbol)  # Numba compares the two signatures, so neither has annotations
    def over(a, b):
        if isinstance(a, Lanes) and isinstance(b, Lanes):
            return lambda a, b: apply(a, b)
        return None


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


# Threads -------------------------------------------------------------------------------------


@intrinsic
def fetch_add(typing: Any, array: Any, index: Any, amount: Any) -> Any:
    """Add to a shared counter; returns its old value."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", builder.gep(args[0], [args[1]]), args[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), codegen


@intrinsic
def peek(typing: Any, array: Any, index: Any) -> Any:
    """The current value of a shared counter."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(builder.gep(args[0], [args[1]]), "acquire", 8)

    return types.int64(array, types.int64), codegen


@intrinsic
def give_way(typing: Any) -> Any:
    """Give the core to another thread that waits for it (POSIX ``sched_yield``)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_INT32, [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), codegen
