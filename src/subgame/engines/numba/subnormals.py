"""Subnormal numbers count as zero in kernels: a mode of the processor, set for one thread.

A product of small probabilities or a regret that every iteration halves ends in numbers below the
smallest normal one. On x86_64 an operation on such a number takes a hundred cycles or more, and
other processors may round it in another way. A kernel that Python calls begins with
``word = flush_subnormals()`` and ends with ``restore(word)``, on every thread that runs it. So code
outside of kernels, which shares the thread, never sees the mode.

Where `objects` makes code for several processors of one kernel, both are calls of functions until
`definitions` has their bodies for an architecture. Where Numba runs a kernel itself, their code is
that of this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic

if TYPE_CHECKING:
    from numba.core.cpu import CPUContext
    from numba.core.typing.context import Context
    from numba.core.typing.templates import Signature

Emitter = Callable[..., ir.Value]
"""A function that emits code with a builder."""

MXCSR_FLUSH = 0x8040
"""x86: results that are subnormal become zero (bit 15), and so do operands (bit 6)."""
FPCR_FLUSH = 1 << 24
"""aarch64: both."""
intrinsic: Callable[..., Any] = numba_intrinsic
"""Kernels call an intrinsic without its first argument, `typing`."""
_INT32, _INT64, _VOID = ir.IntType(32), ir.IntType(64), ir.VoidType()


def read_word(builder: ir.IRBuilder, triple: str) -> ir.Value:
    """Emit code that reads the control word of the processor; 0 where we know none."""
    if triple.startswith(("x86_64", "i386", "i686")):
        place = cgutils.alloca_once(builder, _INT32)
        _x86(builder, "stmxcsr", place)
        return builder.zext(builder.load(place), _INT64)
    if triple.startswith(("aarch64", "arm64")):
        return builder.call(_aarch64(builder, "get", ir.FunctionType(_INT64, [])), [])
    return ir.Constant(_INT64, 0)


def write_word(builder: ir.IRBuilder, triple: str, word: ir.Value, extra: bool = False) -> None:
    """Emit code that sets the control word, with `extra` so that subnormal numbers are flushed."""
    if triple.startswith(("x86_64", "i386", "i686")):
        word = builder.or_(word, ir.Constant(_INT64, MXCSR_FLUSH)) if extra else word
        place = cgutils.alloca_once(builder, _INT32)
        builder.store(builder.trunc(word, _INT32), place)
        _x86(builder, "ldmxcsr", place)
    elif triple.startswith(("aarch64", "arm64")):
        word = builder.or_(word, ir.Constant(_INT64, FPCR_FLUSH)) if extra else word
        builder.call(_aarch64(builder, "set", ir.FunctionType(_VOID, [_INT64])), [word])


def _x86(builder: ir.IRBuilder, name: str, place: ir.Value) -> None:
    byte = ir.IntType(8).as_pointer()
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_VOID, [byte]), f"llvm.x86.sse.{name}"
    )
    builder.call(function, [builder.bitcast(place, byte)])


def _aarch64(builder: ir.IRBuilder, verb: str, kind: ir.FunctionType) -> ir.Function:
    return cgutils.get_or_insert_function(builder.module, kind, f"llvm.aarch64.{verb}.fpcr")


def _flush(builder: ir.IRBuilder, triple: str) -> ir.Value:
    word = read_word(builder, triple)
    write_word(builder, triple, word, extra=True)
    return word


def _restore(builder: ir.IRBuilder, triple: str, word: ir.Value) -> None:
    write_word(builder, triple, word)


_FUNCTIONS: dict[Emitter, tuple[str, ir.FunctionType]] = {
    _flush: ("subgame.flush", ir.FunctionType(_INT64, [])),
    _restore: ("subgame.restore", ir.FunctionType(_VOID, [_INT64])),
}
"""What emits the code, and the function that has it."""


def definitions(triple: str) -> str:
    """LLVM's code of the two functions for an architecture."""
    module = ir.Module()
    for emit, (name, kind) in _FUNCTIONS.items():
        function = ir.Function(module, kind, name)
        function.linkage = "linkonce_odr"
        function.attributes.add("alwaysinline")
        builder = ir.IRBuilder(function.append_basic_block())
        word = emit(builder, triple, *function.args)
        builder.ret_void() if word is None else builder.ret(word)
    return str(module)


def _emitted(
    context: CPUContext, builder: ir.IRBuilder, emit: Emitter, args: Sequence[ir.Value]
) -> ir.Value:
    """The code for this machine, or a call where the machine is not known yet."""
    if not getattr(context.codegen(), "for_any_machine", False):
        return emit(builder, binding.get_process_triple(), *args)
    name, kind = _FUNCTIONS[emit]
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


@intrinsic
def flush_subnormals(typing: Context) -> tuple[Signature, Emitter]:
    """Have subnormal numbers count as zero on this thread; returns the control word before."""

    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
    ) -> ir.Value:
        return _emitted(context, builder, _flush, args)

    return types.int64(), codegen


@intrinsic
def restore(typing: Context, word: types.Type) -> tuple[Signature, Emitter]:
    """Set a control word that `flush_subnormals` has returned."""

    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
    ) -> ir.Value:
        _emitted(context, builder, _restore, args)
        return context.get_dummy_value()

    return types.void(types.int64), codegen
