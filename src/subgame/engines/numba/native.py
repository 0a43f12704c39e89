"""Kernels that run without Numba: their machine code is kept in files and loaded by llvmlite.

Importing Numba and reading its cache takes a second; reading machine code takes a twentieth. So a
`Kernel` keeps what `objects.object_code` makes of it, beside Numba's own cache. Where anything is
wrong with a file, the kernel is compiled again; where it cannot be compiled in this way, Numba runs
it as it runs any other function.

The arguments of a kernel are integers, arrays and tuples of them. Its entry reads them from *slots*
of eight bytes: an integer takes one slot; an array one for its address and one for each length.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
from array import array
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from subgame.engines.numba.first_use import LOGGER, NO_CACHE, private_folder, tell
from subgame.errors import SubgameError

HERE = Path(__file__).parent
SOURCES = (
    *(f"engines/numba/{name}.py" for name in ("native", "objects", "compiling")),
    *(f"engines/numba/{name}.py" for name in ("simd", "subnormals")),
    *(f"engines/numba/range_{name}.py" for name in ("kernels", "rows", "scratch")),
    *(f"engines/numba/range_{name}.py" for name in ("terminals", "tiles")),
    *(f"engines/{name}.py" for name in ("contract", "rounding")),
    *(f"tree/ranges/{name}.py" for name in ("betting_tree", "hand_order")),
)
"""The modules whose functions, classes and constants kernels consist of."""
CHECKSUM = 32
"""Bytes of the hash before the object code in a file."""
_lock = RLock()
_loaded: list[Any] = []
"""What keeps the machine code in memory."""


class Packed:
    """An argument whose slots are made once, because it is passed often.

    Arrays in it must not be replaced.
    """

    def __init__(self, item: Any) -> None:
        self.item, self.slots = item, array("q")
        self.kind = _put(item, self.slots)


def _put(item: Any, slots: array[int]) -> Any:
    """Append the slots of an argument; returns its kind, from which its type follows."""
    if isinstance(item, Packed):
        slots.extend(item.slots)
        return item.kind
    if isinstance(item, np.ndarray):
        flags = item.flags
        if not (flags.c_contiguous and flags.aligned):
            raise ValueError("kernels need contiguous arrays")
        slots.append(item.__array_interface__["data"][0])
        slots.extend(item.shape)
        return f"{item.dtype.char}{item.ndim}"
    if isinstance(item, tuple):
        return tuple([_put(each, slots) for each in item])
    slots.append(item)
    return ""


def _plain(item: Any) -> Any:
    """An argument as Numba takes it."""
    if isinstance(item, Packed):
        item = item.item
    return tuple(map(_plain, item)) if isinstance(item, tuple) else item


class Kernel:
    """A function of one of our modules that is decorated with `simd.kernel`."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = f"{__package__}.{module}", name
        self._entries: dict[Any, Callable[[int], int] | None] = {}

    def __call__(self, *args: Any) -> None:
        slots = array("q")
        kind = tuple([_put(each, slots) for each in args])
        if kind not in self._entries:
            with _lock:
                if kind not in self._entries:
                    self._entries[kind] = self._entry(kind)
        entry = self._entries[kind]
        if entry is None or entry(slots.buffer_info()[0]):
            self.dispatcher(*map(_plain, args))

    @property
    def dispatcher(self) -> Any:
        """The kernel as Numba's own."""
        return getattr(import_module(self.module), self.name)

    def _entry(self, kind: Any) -> Callable[[int], int] | None:
        """The entry for arguments of a kind; None where only Numba can run the kernel."""
        try:
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


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def _machine() -> str:
    """What machine code depends on besides our sources: versions, processor, settings."""
    import llvmlite
    from llvmlite import binding

    spec = find_spec("numba")
    version = Path(str(spec and spec.origin)).with_name("_version.py").read_text()
    settings = {k: v for k, v in os.environ.items() if k.startswith("NUMBA_")}
    settings.pop("NUMBA_CACHE_DIR", None)
    features = sorted(binding.get_host_cpu_features().items())
    return f"{version} {llvmlite.__version__} {binding.get_process_triple()} " + (
        f"{binding.get_host_cpu_name()} {features} {sorted(settings.items())}"
    )


@lru_cache(maxsize=1)
def _sources() -> str:
    root = HERE.parents[1]
    return _hash("".join((root / name).read_text(encoding="utf-8") for name in SOURCES))


# Files ---------------------------------------------------------------------------------------
def _folders() -> Iterator[Path]:
    """Where kernels are kept: where Numba keeps its own, as far as that can be known."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        yield Path(given)
        return
    yield HERE / "__pycache__"
    with contextlib.suppress(RuntimeError):  # no home folder
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "subgame"


def _read(name: str) -> bytes | None:
    """The object code in a file; None where there is none, or not what was written."""
    private = private_folder(make=False)
    for folder in (*_folders(), *([private] if private else [])):
        with contextlib.suppress(OSError):
            found = (folder / name).read_bytes()
            code = found[CHECKSUM:]
            if hashlib.sha256(code).digest() == found[:CHECKSUM]:
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
            new.write_bytes(hashlib.sha256(code).digest() + code)
    except (OSError, SubgameError):
        return False
    return True


def _load(code: bytes, name: str) -> Callable[[int], int]:
    """The function of some object code as a callable of the address of its slots."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _loaded.append(engine)
    address = engine.get_function_address(name)
    if not address:
        raise ValueError(name)
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(address)
