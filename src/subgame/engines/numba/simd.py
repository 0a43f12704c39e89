"""Vectors of sixteen numbers: LLVM vectors as values that Numba code can load, add and store.

LLVM maps them to the registers of the machine. They are needed where LLVM does not vectorise loops
by itself, because Numba cannot promise it that two arrays do not overlap.

`views` turns arrays into bare pointers, without reference counts and bounds checks, so that a
kernel can pass dozens of them from function to function at no cost. The caller keeps the arrays
alive.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import PrimitiveModel
from numba.extending import intrinsic, overload, register_model

from subgame.engines.numba.compiling import njit
from subgame.engines.rounding import CANCELLED

if TYPE_CHECKING:
    from numba.core.cpu import CPUContext
    from numba.core.datamodel.manager import DataModelManager
    from numba.core.typing.context import Context
    from numba.core.typing.templates import Signature

Emitter = Callable[..., ir.Value]
"""A function that emits code with a builder."""
WIDTH = 16
INT32 = ir.IntType(32)
_ELEMENTS = {
    types.float32: ir.FloatType(),
    types.float64: ir.DoubleType(),
    types.int16: ir.IntType(16),
}
"""LLVM's types of numbers."""
FAST = ("contract",)
"""Allows fused multiply-add, which does not round the product."""
DIVIDED = ("arcp", "ninf", "contract")
"""Allows an estimate of the reciprocal with one step of Newton's method, which LLVM takes for
float32 on x86; its error is some last bits. A quotient that is not finite must not be used."""


kernel = njit(cache=True, error_model="numpy", nogil=True, no_cfunc_wrapper=True)
"""Decorates a kernel that Python calls, through a `native.Kernel`. It allocates nothing and raises
nothing."""
part = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Decorates a function that only kernels call; without entries for Python it compiles faster."""
small = njit(error_model="numpy", forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""The same for one that LLVM shall inline."""


class Lanes(types.Type):
    """The type of a vector of `WIDTH` numbers, or of several of them."""

    def __init__(self, dtype: types.Type, width: int = WIDTH) -> None:
        self.dtype, self.width = dtype, width
        super().__init__(name=f"Lanes({dtype}, {width})")

    if TYPE_CHECKING:  # in kernels; see `_operator`

        def __truediv__(self, other: Lanes) -> Lanes: ...


@register_model(Lanes)
class _Model(PrimitiveModel):
    def __init__(self, manager: DataModelManager, kind: Lanes) -> None:
        super().__init__(manager, kind, _vector(kind.dtype, kind.width))


def _vector(dtype: types.Type, width: int = WIDTH) -> ir.VectorType:
    return ir.VectorType(_ELEMENTS[dtype], width)


class Value:
    """An argument of an intrinsic: LLVM's value and Numba's type of it."""

    def __init__(
        self, context: CPUContext, builder: ir.IRBuilder, value: ir.Value, kind: types.Type
    ) -> None:
        self.context, self.builder, self.value = context, builder, value
        self.kind: Any = kind

    def _place(self, index: ir.Value, vector: ir.VectorType) -> ir.Value:
        return self.builder.bitcast(self.builder.gep(self.value, [index]), vector.as_pointer())

    def read(self, index: ir.Value, width: int = WIDTH) -> ir.Value:
        """The numbers of this array from an index on."""
        place = self._place(index, _vector(self.kind.dtype, width))
        return self.builder.load(place, align=self.kind.dtype.bitwidth // 8)

    def write(self, index: ir.Value, vector: ir.Value) -> None:
        """Write numbers to this array from an index on."""
        place = self._place(index, vector.type)
        self.builder.store(vector, place, align=self.kind.dtype.bitwidth // 8)

    def repeated(self, dtype: types.Type, width: int = WIDTH) -> ir.Value:
        """A vector of this number, as one of `dtype`."""
        return repeat(
            self.builder, self.context.cast(self.builder, self.value, self.kind, dtype), width
        )


def emitted(result: Callable[..., types.Type]) -> Callable[[Emitter], Callable[..., Any]]:
    """Make an intrinsic of a function that emits its code, given a builder and `Value` arguments.

    `result` gives the type of the result from those of the arguments, in which integers are int64.
    """

    def made(emit: Emitter) -> Callable[..., Any]:
        @wraps(emit)  # Numba asks for its signature
        def typed(typing: Context, *arguments: types.Type) -> tuple[Signature, Emitter]:
            kinds = [
                types.int64 if isinstance(argument, types.Integer) else argument
                for argument in arguments
            ]
            out = result(*kinds)

            def codegen(
                context: CPUContext,
                builder: ir.IRBuilder,
                signature: Signature,
                args: Sequence[ir.Value],
            ) -> ir.Value:
                values = zip(args, kinds, strict=True)
                code = emit(builder, *(Value(context, builder, *pair) for pair in values))
                if isinstance(code, tuple):
                    return context.make_tuple(builder, out, code)
                return context.get_dummy_value() if code is None else code

            return out(*kinds), codegen

        return intrinsic(typed)

    return made


def void(*kinds: types.Type) -> types.Type:
    return types.void


def _first(kind: types.Type, *more: types.Type) -> types.Type:
    return kind


def _lanes(*kinds: types.Type) -> Lanes:
    """A vector of numbers like the last argument."""
    return Lanes(kinds[-1])


def convert(
    builder: ir.IRBuilder, value: ir.Value, before: types.Type, after: types.Type
) -> ir.Value:
    """A vector in another type, which is not int16."""
    if before == after:
        return value
    vector = _vector(after, value.type.count)
    if before == types.int16:
        return builder.sitofp(value, vector)
    return (builder.fpext if after == types.float64 else builder.fptrunc)(value, vector)


def _called(builder: ir.IRBuilder, name: str, out: ir.Type, *args: ir.Value) -> ir.Value:
    """The result of an LLVM function of vectors, whose name llvmlite does not construct.

    No number is NaN, so that a maximum is one instruction on x86_64, too.
    """
    kinds = [arg.type for arg in args]
    suffix = f"v{kinds[0].count}{'f32' if kinds[0].element == ir.FloatType() else 'f64'}"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(out, kinds), f"llvm.{name}.{suffix}"
    )
    return builder.call(function, args, fastmath=("nnan",))


def repeat(builder: ir.IRBuilder, number: ir.Value, width: int = WIDTH) -> ir.Value:
    """A vector of one number."""
    nothing = ir.Constant(ir.VectorType(number.type, width), ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(INT32, 0))
    return shuffle(builder, first, nothing, [0] * width)


def shuffle(builder: ir.IRBuilder, x: ir.Value, y: ir.Value, order: list[int]) -> ir.Value:
    """The numbers of two vectors, one after another, in some order."""
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(INT32, len(order)), order))


@emitted(lambda arrays: types.Tuple([types.CPointer(array.dtype) for array in arrays.types]))
def views(builder: ir.IRBuilder, arrays: Value) -> tuple[ir.Value, ...]:
    """A tuple of arrays as a tuple of pointers to their first items."""
    return tuple(
        cgutils.create_struct_proxy(kind)(
            arrays.context, builder, builder.extract_value(arrays.value, k)
        ).data
        for k, kind in enumerate(arrays.kind.types)
    )


@emitted(_lanes)
def load(builder: ir.IRBuilder, array: Value, index: Value, like: Value) -> ir.Value:
    """The `WIDTH` numbers from `index` on, in the type of the scalar `like`."""
    return convert(builder, array.read(index.value), array.kind.dtype, like.kind)


@emitted(void)
def store(builder: ir.IRBuilder, array: Value, index: Value, value: Value) -> None:
    """Write `WIDTH` numbers from `index` on."""
    array.write(index.value, convert(builder, value.value, value.kind.dtype, array.kind.dtype))


@emitted(void)
def prefetch(builder: ir.IRBuilder, array: Value, index: Value) -> None:
    """Start to bring the numbers at `index` into the first-level cache."""
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, INT32, INT32, INT32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    place = builder.bitcast(builder.gep(array.value, [index.value]), byte)
    builder.call(function, [place, *(ir.Constant(INT32, word) for word in (0, 3, 1))])


def _width(far: types.Type) -> int:
    """Of one vector and those that are some distances `far` behind it."""
    return WIDTH * (1 + len(far))


def _apart(array: types.CPointer, index: types.Type, far: types.Type) -> Lanes:
    return Lanes(array.dtype, _width(far))


def _places(builder: ir.IRBuilder, index: Value, far: Value) -> list[ir.Value]:
    """An index, and those that are `far` behind it."""
    more = [builder.extract_value(far.value, k) for k in range(len(far.kind))]
    return [index.value, *(builder.add(index.value, one) for one in more)]


@emitted(_apart)
def load_each(builder: ir.IRBuilder, array: Value, index: Value, far: Value) -> ir.Value:
    """The `WIDTH` numbers from `index` on, and those that are `far` behind them, if any."""
    return _joined(builder, [array.read(place) for place in _places(builder, index, far)])


@emitted(void)
def store_each(builder: ir.IRBuilder, array: Value, index: Value, far: Value, value: Value) -> None:
    """Write what `load_each` reads."""
    for k, place in enumerate(_places(builder, index, far)):
        part = list(range(k * WIDTH, (k + 1) * WIDTH))
        array.write(place, shuffle(builder, value.value, value.value, part))


@emitted(_apart)
def load_item(builder: ir.IRBuilder, array: Value, item: Value, far: Value) -> ir.Value:
    """Vector number `item` of an array of vectors, which are wide where there is a `far`."""
    width = _width(far.kind)
    return array.read(builder.mul(item.value, ir.Constant(item.value.type, width)), width)


@emitted(void)
def store_item(builder: ir.IRBuilder, array: Value, item: Value, far: Value, value: Value) -> None:
    """Write what `load_item` reads."""
    width = ir.Constant(item.value.type, _width(far.kind))
    array.write(builder.mul(item.value, width), value.value)


@emitted(lambda value, like, far: Lanes(like, _width(far)))
def splat_each(builder: ir.IRBuilder, value: Value, like: Value, far: Value) -> ir.Value:
    """One number in all lanes of one vector or several, in the type of the scalar `like`."""
    return value.repeated(like.kind, _width(far.kind))


@emitted(_lanes)
def splat(builder: ir.IRBuilder, value: Value, like: Value) -> ir.Value:
    """One number, `WIDTH` times, in the type of the scalar `like`."""
    return value.repeated(like.kind)


@emitted(_first)
def larger(builder: ir.IRBuilder, a: Value, b: Value) -> ir.Value:
    """The elementwise maximum: one instruction, where a comparison takes two."""
    return _called(builder, "maxnum", a.value.type, a.value, b.value)


@emitted(_first)
def smaller(builder: ir.IRBuilder, a: Value, b: Value) -> ir.Value:
    """The elementwise minimum."""
    return _called(builder, "minnum", a.value.type, a.value, b.value)


@emitted(_first)
def choose(builder: ir.IRBuilder, a: Value, b: Value, yes: Value, no: Value) -> ir.Value:
    """`yes` where ``a > b``, else `no`."""
    return builder.select(builder.fcmp_ordered(">", a.value, b.value), yes.value, no.value)


@emitted(_first)
def zeros_like(builder: ir.IRBuilder, value: Value) -> ir.Value:
    """A vector of integers that are 0."""
    return ir.Constant(value.value.type, [0] * value.value.type.count)


@emitted(_first)
def counted(builder: ir.IRBuilder, count: Value, number: Value, other: Value) -> ir.Value:
    """Integers, one more where the `number` is above the `other` one."""
    kind = count.value.type
    numbers = repeat(builder, builder.trunc(number.value, kind.element), kind.count)
    above = builder.icmp_signed(">", numbers, other.value)
    return builder.sub(count.value, builder.sext(above, kind))


@emitted(lambda *_: types.boolean)
def any_above(builder: ir.IRBuilder, a: Value, b: Value) -> ir.Value:
    """Whether ``a > b`` in any lane."""
    bits = ir.IntType(a.value.type.count)
    above = builder.bitcast(builder.fcmp_ordered(">", a.value, b.value), bits)
    return builder.icmp_unsigned("!=", above, ir.Constant(bits, 0))


@emitted(_first)
def rounding(builder: ir.IRBuilder, total: Value) -> ir.Value:
    """What rounding may leave of a difference of sums that are parts of `total`."""
    last_bit = {32: 2.0**-23, 64: 2.0**-52}[total.kind.dtype.bitwidth]
    share = ir.Constant(total.value.type, [CANCELLED * last_bit] * total.value.type.count)
    return builder.fmul(total.value, share)


@emitted(_first)
def cleared(builder: ir.IRBuilder, value: Value, least: Value) -> ir.Value:
    """The value where its size is more than `least`, else 0; see `engines.rounding`."""
    kind = value.value.type
    size = _called(builder, "fabs", kind, value.value)
    zero = ir.Constant(kind, [0.0] * WIDTH)
    return builder.select(builder.fcmp_ordered(">", size, least.value), value.value, zero)


def _transposed(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """Transpose four vectors of four numbers, or each four numbers of four longer vectors.

    Every step is one instruction of all common processors, for a whole register.
    """
    width = rows[0].type.count

    def mixed(x: ir.Value, y: ir.Value, *order: int) -> ir.Value:
        """The same four numbers of each four of two vectors; those of the second count from 4."""
        places = [(k % 4 + (width if k > 3 else 0)) for k in order]
        return shuffle(builder, x, y, [q + k for q in range(0, width, 4) for k in places])

    low = [mixed(rows[k], rows[k + 1], 0, 4, 1, 5) for k in (0, 2)]
    high = [mixed(rows[k], rows[k + 1], 2, 6, 3, 7) for k in (0, 2)]
    return [mixed(*pair, *half) for pair in (low, high) for half in ((0, 1, 4, 5), (2, 3, 6, 7))]


@emitted(void)
def turn(
    builder: ir.IRBuilder,
    source: Value,
    a: Value,
    b: Value,
    c: Value,
    d: Value,
    into: Value,
    at: Value,
    step: Value,
) -> None:
    """Transpose the vectors at four places into `WIDTH` groups of four numbers, `step` apart."""
    rows = _transposed(builder, [source.read(place.value) for place in (a, b, c, d)])
    index = at.value
    for q in range(0, WIDTH, 4):
        for row in rows:
            into.write(index, shuffle(builder, row, row, [q, q + 1, q + 2, q + 3]))
            index = builder.add(index, step.value)


@emitted(void)
def gather(
    builder: ir.IRBuilder,
    source: Value,
    a: Value,
    b: Value,
    c: Value,
    d: Value,
    into: Value,
    at: Value,
) -> None:
    """The inverse of `turn`: four numbers from four places each become four rows `WIDTH` apart."""
    rows = [source.read(place.value, 4) for place in (a, b, c, d)]
    for k, row in enumerate(_transposed(builder, rows)):
        into.write(builder.add(at.value, ir.Constant(at.value.type, k * WIDTH)), row)


@emitted(lambda source, at, step: types.UniTuple(Lanes(source.dtype), 4))
def columns(builder: ir.IRBuilder, source: Value, at: Value, step: Value) -> tuple[ir.Value, ...]:
    """Four vectors: `WIDTH` places, `step` apart, have four numbers each, one for each vector."""
    index, rows = at.value, []
    for _ in range(WIDTH):
        rows.append(source.read(index, 4))
        index = builder.add(index, step.value)
    return tuple(_transposed(builder, [_joined(builder, rows[k::4]) for k in range(4)]))


def _joined(builder: ir.IRBuilder, parts: list[ir.Value]) -> ir.Value:
    """Vectors one after another as one vector."""
    while len(parts) > 1:
        order = list(range(2 * parts[0].type.count))
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [shuffle(builder, *pair, order) for pair in pairs]
    return parts[0]


@emitted(void)
def pay(
    builder: ir.IRBuilder, into: Value, at: Value, source: Value, start: Value, times: Value
) -> None:
    """Add four numbers, multiplied by `times`, to four others of their type."""
    factor, more = times.repeated(into.kind.dtype, 4), source.read(start.value, 4)
    more = builder.fmul(factor, more, flags=FAST)
    into.write(at.value, builder.fadd(into.read(at.value, 4), more, flags=FAST))


@emitted(void)
def blank(builder: ir.IRBuilder, into: Value, at: Value) -> None:
    """Set four numbers to 0."""
    into.write(at.value, ir.Constant(_vector(into.kind.dtype, 4), [0.0] * 4))


@emitted(lambda value: value.dtype)
def kind_of(builder: ir.IRBuilder, value: Value) -> ir.Value:
    """A scalar of the element type of a vector, for use as `like`."""
    return ir.Constant(value.value.type.element, 0.0)


def _operator(
    symbol: Callable[[Lanes, Lanes], Lanes], instruction: str, flags: tuple[str, ...] = FAST
) -> None:
    @emitted(_first)
    def apply(builder: ir.IRBuilder, a: Value, b: Value) -> ir.Value:
        return getattr(builder, instruction)(a.value, b.value, flags=flags)

    @overload(symbol)  # Numba compares the two signatures, so neither has annotations
    def over(a, b):
        if isinstance(a, Lanes) and isinstance(b, Lanes):
            return lambda a, b: apply(a, b)
        return None


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv", DIVIDED)


# Threads -------------------------------------------------------------------------------------


@emitted(lambda *_: types.int64)
def fetch_add(builder: ir.IRBuilder, array: Value, index: Value, amount: Value) -> ir.Value:
    """Add to a shared counter; returns its old value."""
    place = builder.gep(array.value, [index.value])
    return builder.atomic_rmw("add", place, amount.value, "seq_cst")


@emitted(lambda *_: types.int64)
def peek(builder: ir.IRBuilder, array: Value, index: Value) -> ir.Value:
    """The current value of a shared counter."""
    return builder.load_atomic(builder.gep(array.value, [index.value]), "acquire", 8)


@emitted(void)
def give_way(builder: ir.IRBuilder) -> None:
    """Give the core to another thread that waits for it (POSIX ``sched_yield``)."""
    kind = ir.FunctionType(INT32, [])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
