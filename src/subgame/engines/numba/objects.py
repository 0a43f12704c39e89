"""Kernels as object code: machine code with a C entry, which needs nothing of Numba to run.

Numba optimises every function that a kernel calls, emits machine code for it, and optimises it once
more in each of its callers. Here the functions stay LLVM's intermediate code until the kernel is
complete. Then all of it is optimised and emitted once.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.np.numpy_support import from_dtype

from subgame.engines.numba.compiling import njit
from subgame.engines.numba.subnormals import definitions

if TYPE_CHECKING:
    from numba.core.cpu import CPUContext

Layout: TypeAlias = "str | tuple[Layout, ...]"
"""The kinds of arguments (see `native.Blank`) as texts, those of a tuple as a tuple."""
_SLOT = ir.IntType(64)


class Target(NamedTuple):
    """A processor for which code is emitted."""

    triple: str
    cpu: str
    features: str

    def machine(self) -> binding.TargetMachine:
        """LLVM's machine, with the options that Numba uses for its own."""
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        return binding.Target.from_triple(self.triple).create_target_machine(
            self.cpu,
            self.features,
            opt=3,
            reloc="static" if self.triple.startswith("x86") else "default",
            codemodel="jitdefault",
            jit=True,
        )


class _Library(JITCodeLibrary):
    """The code of one function, which is neither optimised nor emitted."""

    _whole: binding.ModuleRef | None = None

    def _optimize_functions(self, ll_module: binding.ModuleRef) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    def _get_module_for_linking(self) -> binding.ModuleRef:
        """With all that it calls: Numba's own libraries, if they call it, link nothing further."""
        if self._whole is None:
            self._whole = super()._get_module_for_linking().clone()
            self._link(self._whole)
        return self._whole

    def _link(self, module: binding.ModuleRef) -> None:
        """Link all that this function calls into a module, directly or through others."""
        seen, waiting = {self}, list(self._linking_libraries)
        while waiting:
            library = waiting.pop(0)
            if library not in seen:
                seen.add(library)
                ours = isinstance(library, _Library)
                alone = JITCodeLibrary._get_module_for_linking(library)
                module.link_in(alone, preserve=True)
                waiting += library._linking_libraries if ours else []

    def linked(self, name: str) -> binding.ModuleRef:
        """The code of this function and of all that it calls, not yet optimised."""
        module = self._final_module
        self._link(module)
        for function in module.functions:
            if not function.is_declaration and function.name != name:
                function.linkage = "internal"
        return module

    def emitted(self, module: binding.ModuleRef, machine: binding.TargetMachine) -> bytes:
        """Object code of linked code for a target machine."""
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        mode = binding.parse_assembly(definitions(machine.triple))
        mode.triple, mode.data_layout = module.triple, module.data_layout
        module.link_in(mode)
        usual, self._codegen._tm = self._codegen._tm, machine
        try:
            passes, builder = self._codegen._module_pass_manager()
        finally:
            self._codegen._tm = usual
        passes.run(module, builder)
        module.verify()
        process = ctypes.CDLL(None)
        for function in module.functions:
            if function.is_declaration and not function.name.startswith("llvm."):
                getattr(process, function.name)  # an AttributeError if only Numba has it
        return bytes(machine.emit_object(module))


class _Codegen(JITCPUCodegen):
    _library_class = _Library
    for_any_machine = True
    """See `subnormals`."""

    def set_env(self, env_name: str, env: object) -> None:
        """Nothing: only code that raises or calls Python uses the environment."""


@contextmanager
def _objects(context: CPUContext) -> Iterator[_Codegen]:
    """Meanwhile Numba makes object code instead of code that it runs itself."""
    with global_compiler_lock:
        usual, context._internal_codegen = context._internal_codegen, _Codegen("subgame")
        collecting = gc.isenabled()
        gc.disable()  # it would walk through all that Numba keeps, again and again
        try:
            yield context._internal_codegen
        finally:
            context._internal_codegen = usual
            if collecting:
                gc.enable()


def object_code(function: Callable[..., None], kinds: tuple[Layout, ...], name: str) -> bytes:
    """A kernel for arguments of some kinds, as object code for this machine; see `object_codes`."""
    return object_codes(function, kinds, name, [None])[0]


def object_codes(
    function: Callable[..., None],
    kinds: tuple[Layout, ...],
    name: str,
    targets: Sequence[Target | None],
) -> list[bytes]:
    """A kernel for arguments of some kinds, as object code with one entry of that name.

    The entry takes the address of the slots (see `native`) and returns 0, or else that the kernel
    has raised an exception. There is one object for each target; None is this machine. Targets have
    pointers of 64 bits and the same sizes and alignments of numbers as this machine.
    """
    dispatcher = njit(
        error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
    )(function)
    context = dispatcher.targetdescr.target_context
    signature = tuple(_type(kind) for kind in kinds)
    with _objects(context) as codegen:
        dispatcher.compile(signature)
        compiled = dispatcher.overloads[signature]
        library = codegen.create_library(name)
        module = library.create_ir_module(name)
        callee = context.declare_function(module, compiled.fndesc)
        kind = ir.FunctionType(ir.IntType(32), [_SLOT.as_pointer()])
        entry = ir.Function(module, kind, name)
        builder = ir.IRBuilder(entry.append_basic_block())
        slots = iter(range(1 << 20))
        args = [
            _argument(context, builder, argument, entry.args[0], slots) for argument in signature
        ]
        status, _ = context.call_conv.call_function(builder, callee, types.none, signature, args)
        builder.ret(status.code)
        library.add_ir_module(module)
        library.add_linking_library(compiled.library)
        module = library.linked(name)
        machines = [codegen._tm if target is None else target.machine() for target in targets]
        return [library.emitted(module.clone(), machine) for machine in machines]


def _type(kind: Layout) -> types.Type:
    """The type that Numba gives to an argument of a kind."""
    if isinstance(kind, tuple):
        return types.Tuple([_type(part) for part in kind])
    if kind == "":
        return types.int64
    return types.Array(from_dtype(np.dtype(kind[0])), int(kind[1:]), "C")


def _argument(
    context: CPUContext,
    builder: ir.IRBuilder,
    kind: Any,
    pointer: ir.Value,
    slots: Iterator[int],
) -> ir.Value:
    """An argument of a kernel from the next slots."""

    def slot() -> ir.Value:
        return builder.load(builder.gep(pointer, [ir.Constant(_SLOT, next(slots))]))

    if kind == types.int64:
        return slot()
    if not isinstance(kind, types.Array):
        items = [_argument(context, builder, part, pointer, slots) for part in kind]
        return context.make_tuple(builder, kind, items)
    array = context.make_array(kind)(context, builder)
    item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    data = builder.inttoptr(slot(), array.data.type)
    shape = [slot() for _ in range(kind.ndim)]
    steps = [ir.Constant(_SLOT, item)]
    for length in shape[:0:-1]:
        steps.insert(0, builder.mul(steps[0], length))
    size = ir.Constant(_SLOT, 1)
    for length in shape:
        size = builder.mul(size, length)
    array.data, array.itemsize, array.nitems = data, ir.Constant(_SLOT, item), size
    array.shape = _packed(builder, shape)
    array.strides = _packed(builder, steps)
    nothing = array.meminfo.type
    array.meminfo, array.parent = ir.Constant(nothing, None), ir.Constant(array.parent.type, None)
    return array._getvalue()


def _packed(builder: ir.IRBuilder, items: list[ir.Value]) -> ir.Value:
    out = ir.Constant(ir.ArrayType(_SLOT, len(items)), ir.Undefined)
    for k, item in enumerate(items):
        out = builder.insert_value(out, item, k)
    return out
