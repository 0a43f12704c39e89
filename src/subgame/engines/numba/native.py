"""Kernels that run without Numba: their machine code is kept in files, and loaded as it is.

Importing Numba and reading its cache takes a second; reading machine code takes milliseconds
(`linux`), or a twentieth of a second where llvmlite must load it. So a `Kernel` keeps what
`objects.object_code` makes of it, beside Numba's own cache. Where anything is wrong with a file,
the kernel is compiled again; where it cannot be compiled in this way, Numba runs it as it runs any
other function.

The arguments of a kernel are integers, arrays and tuples of them. Its entry reads them from *slots*
of eight bytes: an integer takes one slot; an array one for its address and one for each length.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from array import array
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba import linux
from subgame.engines.numba.first_use import LOGGER, NO_CACHE, private_folder, tell
from subgame.errors import SubgameError

if TYPE_CHECKING:
    from hashlib import blake2b

    from subgame.engines.numba.objects import Layout
else:
    try:  # `hashlib` loads OpenSSL, too, which takes as long as all kernels of a river
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b

Argument: TypeAlias = "int | NDArray[np.generic] | Packed | Blank | tuple[Argument, ...]"
"""An argument of a kernel."""
Parts: TypeAlias = "str | Kind | tuple[Parts, ...]"
"""What the type of an argument follows from."""

HERE = Path(__file__).parent
SOURCES = (
    *(f"engines/numba/{name}.py" for name in ("native", "objects", "compiling")),
    *(f"engines/numba/{name}.py" for name in ("simd", "stored", "subnormals")),
    *(f"engines/numba/range_{name}.py" for name in ("kernels", "rows", "scratch")),
    *(f"engines/numba/range_{name}.py" for name in ("terminals", "tiles")),
    *(f"engines/numba/sequence_{name}.py" for name in ("kernels", "state")),
    *(f"engines/{name}.py" for name in ("contract", "rounding")),
    *(f"tree/ranges/{name}.py" for name in ("betting_tree", "boards")),
    "tree/sequence/tree.py",
)
"""The modules whose functions, classes and constants kernels consist of."""
CHECKSUM = 32
"""Bytes of the hash before the object code in a file."""
_lock = RLock()
_UNKNOWN: Any = object()
_loaded: list[Any] = []
"""What keeps the machine code in memory."""


_loads_only = False


@contextlib.contextmanager
def only_loading() -> Iterator[None]:
    """Have kernels that are called inside be compiled and loaded, but not run."""
    global _loads_only
    _loads_only = True
    try:
        yield
    finally:
        _loads_only = False


class Packed:
    """An argument whose slots are made once, because it is passed often.

    Arrays in it must not be replaced.
    """

    __slots__ = ("item", "kind", "slots")

    def __init__(self, item: Argument) -> None:
        self.item: Any = item
        self.slots = array("q")
        self.kind = Kind.of(_put(item, self.slots))


class Kind:
    """What the type of a packed argument follows from; there is one of each, compared by identity.

    Comparing the types of a hundred arrays would take as long as a small kernel.
    """

    __slots__ = ("parts",)
    _known: ClassVar[dict[Parts, Kind]] = {}

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    @classmethod
    def of(cls, parts: Parts) -> Kind:
        """The kind that consists of these parts."""
        return cls._known.setdefault(parts, cls(parts))


_addressof, _byte_of = ctypes.addressof, ctypes.c_char.from_buffer


def address(item: Any) -> int:
    """Where a contiguous array begins. NumPy's own answer takes four times as long."""
    try:
        return _addressof(_byte_of(item))
    except (TypeError, ValueError):  # it is empty, or cannot be written, or is not contiguous
        if not item.flags.c_contiguous:
            raise ValueError("kernels need contiguous arrays") from None
        return int(item.__array_interface__["data"][0])


def _put(item: Any, slots: array[int]) -> Parts:
    """Append the slots of an argument; returns its kind, from which its type follows."""
    if isinstance(item, Packed):
        slots.extend(item.slots)
        return item.kind
    if isinstance(item, np.ndarray):
        slots.append(address(item))
        slots.extend(item.shape)
        return f"{item.dtype.char}{item.ndim}"
    if isinstance(item, tuple):
        return tuple([_put(part, slots) for part in item])
    slots.append(item)
    return ""


def _full(kind: Parts) -> Layout:
    """A kind as nested tuples of texts."""
    if isinstance(kind, Kind):
        return _full(kind.parts)
    return tuple(map(_full, kind)) if isinstance(kind, tuple) else kind


def _plain(item: Argument) -> Argument:
    """An argument as Numba takes it."""
    if isinstance(item, Packed):
        item = item.item
    return tuple(map(_plain, item)) if isinstance(item, tuple) else item


class Kernel:
    """A function of one of our modules that is decorated with `simd.kernel`."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = f"{__package__}.{module}", name
        self._entries: dict[Parts, Callable[[int], int] | None] = {}

    def __call__(self, *args: Argument) -> None:
        slots = array("q")
        kind = tuple([_put(arg, slots) for arg in args])
        entry = self.entry(kind)
        if _loads_only:
            return
        if entry is None or entry(slots.buffer_info()[0]):
            self.dispatcher(*map(_plain, args))

    def entry(self, kind: tuple[Parts, ...]) -> Callable[[int], int] | None:
        """What runs the kernel for arguments of a kind; None where only Numba can."""
        entry = self._entries.get(kind, _UNKNOWN)
        return self._prepared(kind) if entry is _UNKNOWN else entry

    def _prepared(self, kind: tuple[Parts, ...]) -> Callable[[int], int] | None:
        """The entry for arguments of a kind, which is made once."""
        with _lock:
            if kind not in self._entries:
                self._entries[kind] = self._entry(tuple(map(_full, kind)))
            return self._entries[kind]

    @property
    def dispatcher(self) -> Any:
        """The kernel as Numba's own."""
        return getattr(import_module(self.module), self.name)

    def _entry(self, kind: tuple[Layout, ...]) -> Callable[[int], int] | None:
        """The entry for arguments of a kind; None where only Numba can run the kernel."""
        try:
            ready = shipped(self, kind)
            if ready is not None:
                return _load(ready, entry_name(self, kind))
            stem = f"{self.name}-{_hash(f'{kind} {_machine()}')}"
            name = f"{stem}-{_sources()}.o"
            code = _read(name)
            if code is None:
                tell()
                from subgame.engines.numba.objects import object_code

                code = object_code(self.dispatcher.py_func, kind, stem)
                _write(name, stem, code)
            return _load(code, stem)
        except Exception:  # a version of Numba or llvmlite that differs in its inner parts
            return None


class Blank:
    """An argument that every call of a `Call` brings.

    Its kind is ``""`` for an integer, a text such as ``"d1"`` for an array (the character of its
    type and its number of axes), or the `Kind` of something packed, whose `slots` are counted.
    """

    __slots__ = ("dtype", "kind", "slots")

    def __init__(self, kind: str | Kind, slots: int = 1) -> None:
        self.kind, self.slots, self.dtype = kind, slots, None
        if isinstance(kind, str) and kind:
            self.dtype, self.slots = np.dtype(kind[0]), 1 + int(kind[1:])


_Place = tuple[int, Any, Any, int]
"""Of a blank: its first slot, its kind, and the type and the number of axes of an array."""


class Call:
    """A kernel with its arguments, of which only those that are `Blank` change.

    The slots of the others are written once, so a call takes a few microseconds. Every call has
    slots of its own: threads may call at the same time.
    """

    __slots__ = ("_blanks", "_bound", "_entry", "_kind", "_slots", "args", "kernel")

    def __init__(self, kernel: Kernel, *args: Argument) -> None:
        self.kernel, self.args = kernel, args
        self._slots = array("q")
        self._entry: Callable[[int], int] | None = _UNKNOWN
        self._blanks: list[_Place] = []
        self._bound: tuple[Any, ...] = ()
        self._kind = tuple([self._lay(arg) for arg in args])

    def _lay(self, item: Argument) -> Parts:
        """Append the slots of an argument; returns its kind."""
        if isinstance(item, tuple):
            return tuple([self._lay(part) for part in item])
        if not isinstance(item, Blank):
            return _put(item, self._slots)
        self._blanks.append((len(self._slots), item.kind, item.dtype, item.slots - 1))
        self._slots.extend([0] * item.slots)
        return item.kind

    def bound(self, *items: Any) -> Call:
        """The call with `items`, which are the same in many calls, in place of its first blanks."""
        made, count = Call.__new__(Call), len(items)
        made.kernel, made.args, made._kind = self.kernel, self.args, self._kind
        made._entry, made._bound = self._ready(), (*self._bound, *items)
        made._slots = self._filled(self._blanks[:count], items)
        made._blanks = self._blanks[count:]
        return made

    def __call__(self, *items: Any) -> None:
        """Run the kernel with `items` in place of the blanks; None is an array without numbers."""
        slots, entry = self._filled(self._blanks, items), self._ready()
        if _loads_only:
            return
        if entry is None or entry(slots.buffer_info()[0]):
            left = iter((*self._bound, *items))
            self.kernel.dispatcher(*(_plain(_replaced(arg, left)) for arg in self.args))

    def _ready(self) -> Callable[[int], int] | None:
        """What runs the kernel, see `Kernel.entry`."""
        if self._entry is _UNKNOWN:
            self._entry = self.kernel.entry(self._kind)
        return self._entry

    def _filled(self, blanks: list[_Place], items: tuple[Any, ...]) -> array[int]:
        """The slots with `items` in place of `blanks`."""
        slots = self._slots[:]
        for (at, kind, dtype, axes), item in zip(blanks, items, strict=True):
            if dtype is not None:
                if item is None:
                    continue
                if item.dtype != dtype or item.ndim != axes:
                    raise TypeError(f"An array of {item.ndim}-d {item.dtype} where {kind} is due.")
                slots[at] = address(item)
                for length in item.shape:
                    at += 1
                    slots[at] = length
            elif kind == "":
                slots[at] = item
            elif item.kind is kind:
                slots[at : at + len(item.slots)] = item.slots
            else:
                raise TypeError("A packed argument of another kind.")
        return slots


def _replaced(item: Argument, items: Iterator[Any]) -> Argument:
    """An argument of a `Call` with the next `items` in place of blanks."""
    if isinstance(item, tuple):
        return tuple([_replaced(part, items) for part in item])
    if not isinstance(item, Blank):
        return item
    brought: Argument = next(items)
    if brought is None and item.dtype is not None:
        return np.zeros((0,) * (item.slots - 1), item.dtype)
    return brought


def _checksum(code: bytes) -> bytes:
    return blake2b(code, digest_size=CHECKSUM).digest()


def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


SETTINGS = (
    *("OPT", "CPU_NAME", "CPU_FEATURES", "ENABLE_AVX", "LOOP_VECTORIZE", "SLP_VECTORIZE"),
    *("LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS", "INTEL_SVML", "DISABLE_INTEL_SVML"),
    *("BOUNDSCHECK", "DEBUGINFO", "DEBUG", "FULL_TRACEBACKS", "DISABLE_JIT", "USE_PASS_MANAGER"),
)
"""The variables NUMBA_... that change machine code."""


def _settings() -> dict[str, str]:
    names = (f"NUMBA_{name}" for name in SETTINGS)
    return {name: os.environ[name] for name in names if name in os.environ}


@lru_cache(maxsize=1)
def _machine() -> str:
    """What machine code depends on besides our sources: versions, processor, settings."""
    specs = map(find_spec, ("numba", "llvmlite"))
    files = [Path(str(spec and spec.origin)).with_name("_version.py") for spec in specs]
    versions = [file.read_text(encoding="utf-8") for file in files]
    return f"{versions} {_processor()} {sorted(_settings().items())}"


def _processor() -> str:
    if linux.processor():
        return f"{os.uname().machine} {linux.processor()}"
    from llvmlite import binding

    features = sorted(binding.get_host_cpu_features().items())
    return f"{binding.get_process_triple()} {binding.get_host_cpu_name()} {features}"


@lru_cache(maxsize=1)
def _sources() -> str:
    root = HERE.parents[1]
    return _hash("".join((root / name).read_text(encoding="utf-8") for name in SOURCES))


# Kernels that the package brings --------------------------------------------------------------
SHIPPED = HERE / "shipped"
"""Object code that `tools/build_kernels.py` puts into wheels: ``<target>/<entry>.o``, and the hash
of the sources that it was made of in the file ``sources``."""
TARGETS = {
    "x86_64-v4": ("x86_64", ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")),
    "x86_64-v3": ("x86_64", ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")),
    "armv8.2": ("aarch64", ("lse",)),
}
"""The processors that it is made for, on Linux, the best first: architecture, required features."""


def entry_name(kernel: Kernel, kind: Parts) -> str:
    """The name of a kernel's entry in the object code that the package brings."""
    return f"{kernel.module.rpartition('.')[2]}-{kernel.name}-{_hash(str(kind))}"


@lru_cache(maxsize=1)
def _target() -> str | None:
    """The best of `TARGETS` that the package brings and this machine can run, if any."""
    try:
        current = (SHIPPED / "sources").read_text() == _sources()
    except OSError:
        return None
    if not current or _settings():
        return None
    for name, (architecture, features) in TARGETS.items():
        here = sys.platform == "linux" and os.uname().machine == architecture
        if here and linux.has(features) and (SHIPPED / name).is_dir():
            return name
    return None


def shipped(kernel: Kernel, kind: Parts) -> bytes | None:
    """The object code that the package brings for this machine; None where there is none."""
    target = _target()
    if target is None:
        return None
    try:
        return (SHIPPED / target / f"{entry_name(kernel, kind)}.o").read_bytes()
    except OSError:
        return None


# Files ---------------------------------------------------------------------------------------
def _folders(*, private: bool = False) -> Iterator[Path]:
    """Where kernels are kept: where Numba keeps its own, as far as that can be known.

    The last is the private folder, if it is there and asked for.
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen)
    else:
        yield HERE / "__pycache__"
        with contextlib.suppress(RuntimeError):  # no home folder
            yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "subgame"
    last = private_folder(make=False) if private else None
    if last is not None:
        yield last


def _read(name: str) -> bytes | None:
    """The object code in a file; None where there is none, or not what was written."""
    for folder in _folders(private=True):
        with contextlib.suppress(OSError):
            content = (folder / name).read_bytes()
            code = content[CHECKSUM:]
            if _checksum(code) == content[:CHECKSUM]:
                return code
    return None


def _write(name: str, stem: str, code: bytes) -> None:
    """Write object code to a file, in place of that of older sources."""
    for folder in _folders():
        if _written(folder, name, code):
            for old in folder.glob(f"{stem}-*.o"):
                if old.name != name:
                    old.unlink(missing_ok=True)
            return
    private = private_folder()
    if private is not None and _written(private, name, code):
        LOGGER.warning(NO_CACHE, private)


def _written(folder: Path, name: str, code: bytes) -> bool:
    from subgame.tree.files import replacing

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / name) as new:
            new.write_bytes(_checksum(code) + code)
    except (OSError, SubgameError):
        return False
    return True


def _load(code: bytes, name: str) -> Callable[[int], int]:
    """The function of some object code as a callable of the address of its slots."""
    try:
        memory, function = linux.load(code, name)
    except (ValueError, LookupError, AttributeError, OSError, struct.error):
        memory, function = _linked(code, name)
    _loaded.append(memory)
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(function)


def _linked(code: bytes, name: str) -> tuple[Any, int]:
    """What keeps the code in memory, and the address of its function, where LLVM loads it."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    function = engine.get_function_address(name)
    if not function:
        raise ValueError(name)
    return engine, function
