"""Enough of Triton in NumPy to run the fused kernels program by program, where Triton is not.

Types follow Triton's rules, and integers that leave them are an error, as is any address outside
of what a pointer points into. Tensors on PyTorch's "meta" device have addresses and no numbers:
kernels read zeros there, so that those of the largest trees can be followed without the memory.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

NAMES = ("int1", "int16", "int32", "int64", "uint32", "float32", "float64")


class Kind:
    """A type."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.numpy = np.dtype("bool" if name == "int1" else name)

    def __str__(self) -> str:
        return self.name


KINDS = {name: Kind(name) for name in NAMES}
BY_NUMPY = {kind.numpy: kind for kind in KINDS.values()}


class Value:
    """A tensor, or a scalar that is known only when the kernel runs."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    @property
    def dtype(self) -> Kind:
        return BY_NUMPY[self.array.dtype]

    def to(self, kind: Kind, bitcast: bool = False) -> Value:
        if bitcast:
            assert self.array.dtype.itemsize == kind.numpy.itemsize
            return Value(np.ascontiguousarray(self.array).view(kind.numpy))
        if kind.numpy.kind == "i" and self.array.dtype.kind == "f":
            limits = np.iinfo(kind.numpy)
            assert ((self.array >= limits.min) & (self.array <= limits.max)).all()
        return Value(self.array.astype(kind.numpy))

    def __getitem__(self, key: Any) -> Value:
        return Value(self.array[key])

    def __index__(self) -> int:
        return int(self.array)

    def __bool__(self) -> bool:
        return bool(self.array)


def common(a: Any, b: Any) -> Any:
    """The type in which two operands meet: a number written in the kernel takes the other's."""
    if isinstance(a, Value) and isinstance(b, Value):
        one, two = sorted((a.array.dtype, b.array.dtype), key=lambda t: (t.kind == "f", t.itemsize))
        if two.kind == "f" or one.kind == two.kind or one.itemsize < two.itemsize:
            return two
        return one if one.kind == "u" else two
    value, number = (a, b) if isinstance(a, Value) else (b, a)
    kind = value.array.dtype
    if isinstance(number, float) and kind.kind != "f":
        return np.dtype("float32")
    if kind.kind in "iu" and not isinstance(number, bool):
        limits = np.iinfo(kind)
        assert limits.min <= number <= limits.max, f"{number} is no {kind}"
    return kind


def operator(name: str) -> None:
    """Give `Value` an operator, from either side."""
    compute: Callable[[Any, Any], Any] = getattr(
        np,
        {
            "add": "add",
            "sub": "subtract",
            "mul": "multiply",
            "truediv": "divide",
            "floordiv": "floor_divide",
            "and": "bitwise_and",
            "or": "bitwise_or",
            "xor": "bitwise_xor",
            "lshift": "left_shift",
            "rshift": "right_shift",
            "lt": "less",
            "le": "less_equal",
            "gt": "greater",
            "ge": "greater_equal",
            "eq": "equal",
            "ne": "not_equal",
        }[name],
    )

    def apply(a: Any, b: Any) -> Any:
        if isinstance(a, Pointer) or isinstance(b, Pointer):
            return NotImplemented
        kind = common(a, b)
        x, y = (np.asarray(v.array if isinstance(v, Value) else v).astype(kind) for v in (a, b))
        with np.errstate(divide="ignore", invalid="ignore"):  # a GPU says nothing either
            out = compute(x, y)
        if kind == np.int32 and name in ("add", "sub", "mul"):
            assert (compute(x.astype(np.int64), y.astype(np.int64)) == out).all(), "32 bits"
        return Value(out)

    setattr(Value, f"__{name}__", apply)
    if name not in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Value, f"__r{name}__", lambda self, other: apply(other, self))


for operation in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
):
    operator(operation)


class Pointer:
    """Places in the memory that a tensor lies in."""

    farthest: ClassVar[list[int]] = [0]
    """The greatest place so far."""

    def __init__(self, tensor: Any, at: Any = None) -> None:
        self.tensor = tensor
        self.at = np.asarray(tensor.storage_offset() if at is None else at, dtype=np.int64)

    def __add__(self, offset: Any) -> Pointer:
        array = offset.array if isinstance(offset, Value) else np.asarray(offset)
        assert array.dtype.kind in "iu"
        return Pointer(self.tensor, self.at + array.astype(np.int64))

    @property
    def dtype(self) -> Any:
        return type("Pointed", (), {"element_ty": KINDS[str(self.tensor.dtype)[6:]]})

    def places(self, mask: Any) -> tuple[Any, Any]:
        """Places that are read or written, and which they are of all."""
        on = np.asarray(True if mask is None else mask.array)
        at, on = np.broadcast_arrays(self.at, on)
        size = self.tensor.untyped_storage().nbytes() // self.tensor.element_size()
        assert ((at >= 0) & (at < size))[on].all(), "outside of its memory"
        Pointer.farthest[0] = max(Pointer.farthest[0], int(at[on].max(initial=0)))
        return at, on

    def all(self) -> Any:
        size = self.tensor.untyped_storage().nbytes() // self.tensor.element_size()
        return torch.as_strided(self.tensor, (size,), (1,), 0)


def load(pointer: Pointer, mask: Any = None, other: Any = 0) -> Value:
    at, on = pointer.places(mask)
    kind = pointer.tensor.dtype
    kind = torch.float32 if kind == torch.bfloat16 else kind
    out = torch.full(at.shape, other, dtype=kind).numpy()
    if pointer.tensor.device.type != "meta":
        out[on] = pointer.all()[torch.from_numpy(at[on])].to(kind).numpy()
    else:
        out[on] = 0
    return Value(out)


def store(pointer: Pointer, value: Any, mask: Any = None) -> None:
    at, on = pointer.places(mask)
    if pointer.tensor.device.type != "meta":
        array = np.broadcast_to(value.array if isinstance(value, Value) else value, at.shape)
        numbers = torch.from_numpy(np.array(array[on]))
        pointer.all()[torch.from_numpy(at[on])] = numbers.to(pointer.tensor.dtype)


def _pair(name: str) -> Callable[[Any, Any], Value]:
    def apply(a: Any, b: Any) -> Value:
        kind = common(a, b)
        x, y = (np.asarray(v.array if isinstance(v, Value) else v).astype(kind) for v in (a, b))
        return Value(getattr(np, name)(x, y))

    return apply


def where(condition: Value, a: Any, b: Any) -> Value:
    if not isinstance(a, Value) and not isinstance(b, Value):
        a = Value(np.float32(a))
    kind = common(a, b)
    x, y = (np.asarray(v.array if isinstance(v, Value) else v).astype(kind) for v in (a, b))
    return Value(np.where(condition.array, x, y))


def _language(programs: list[tuple[int, ...]]) -> Any:
    tl: Any = ModuleType("triton.language")
    for name, kind in KINDS.items():
        setattr(tl, name, kind)
    tl.constexpr = object
    tl.program_id = lambda axis: Value(np.int32(programs[-1][axis]))
    tl.BlockedLayout = lambda *parts: parts
    tl.arange = lambda begin, end, layout=None: Value(np.arange(begin, end, dtype=np.int32))
    tl.zeros = lambda shape, kind, layout=None: Value(np.zeros(shape, kind.numpy))
    tl.full = lambda shape, value, kind, layout=None: Value(np.full(shape, value, kind.numpy))
    tl.cast = lambda value, kind: Value(np.asarray(getattr(value, "array", value), kind.numpy))
    tl.load, tl.store, tl.where = load, store, where
    tl.maximum, tl.minimum = _pair("maximum"), _pair("minimum")
    tl.sum = lambda value, axis: Value(value.array.sum(axis, dtype=value.array.dtype))
    tl.cumsum = lambda value, axis: Value(value.array.cumsum(axis, dtype=value.array.dtype))
    tl.max = lambda value, axis: Value(value.array.max(axis))
    tl.abs = lambda value: Value(np.abs(value.array))
    tl.floor = lambda value: Value(np.floor(value.array))
    tl.reshape = lambda value, shape: Value(value.array.reshape(shape))
    tl.gather = lambda value, index, axis: Value(np.take_along_axis(value.array, index.array, axis))
    return tl


class Kernel:
    """What ``@triton.jit`` makes."""

    corners = False
    """Whether only the first and the last programs of each axis are run."""

    def __init__(self, function: Any, programs: list[tuple[int, ...]]) -> None:
        self.function, self.programs = function, programs

    def __call__(self, *args: Any) -> Any:
        """As a function that a kernel calls."""
        return self.function(*args)

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        assert math.prod(grid) > 0
        assert all(size <= 65535 for size in grid[1:])

        def argument(arg: Any) -> Any:
            if isinstance(arg, torch.Tensor):
                return Pointer(arg)
            if arg == 1:
                return 1  # Triton writes ones into the kernel
            return Value(np.int32(arg) if abs(arg) < 2**31 else np.int64(arg))

        def launch(*args: Any, num_warps: int, **constants: Any) -> None:
            axes = [sorted({0, size - 1}) if Kernel.corners else range(size) for size in grid]
            for place in itertools.product(*axes):
                self.programs.append(place)
                self.function(*map(argument, args), **constants)
                self.programs.pop()

        return launch


@contextmanager
def installed() -> Iterator[None]:
    """Import this as Triton meanwhile."""
    programs: list[tuple[int, ...]] = []
    triton: Any = ModuleType("triton")
    triton.language = _language(programs)

    def jit(function: Any = None, **_: Any) -> Any:
        return jit if function is None else Kernel(function, programs)

    triton.jit = jit
    ours = ("subgame.engines.torch.fused", "subgame.engines.torch.triton_kernels")
    there = {
        "triton": triton,
        "triton.language": triton.language,
        "triton.experimental": ModuleType("triton.experimental"),
        "triton.experimental.gluon": triton,  # the same functions, with layouts
        "triton.experimental.gluon.language": triton.language,
    }
    before = {name: sys.modules.pop(name, None) for name in (*there, *ours)}
    sys.modules.update(there)
    try:
        yield
    finally:
        Kernel.corners = False
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
