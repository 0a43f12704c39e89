"""Loads machine code on Linux without LLVM's library, which itself takes long to load.

Kernels are emitted for x86_64 so that they need absolute addresses only: of their own constants and
functions, and of the C library's. So an object is copied to memory as it is, and these addresses
are written into it. Elsewhere, and for an object of another kind, `native` asks LLVM.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from functools import lru_cache
from itertools import starmap
from pathlib import Path
from struct import Struct
from typing import NamedTuple

CPUINFO = Path("/proc/cpuinfo")
FIELDS = (
    *("vendor_id", "cpu family", "model", "model name", "stepping", "flags"),
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features"),
)
"""What Linux says of a core and does not change while it runs."""
LINUX = {"bmi": "bmi1", "lzcnt": "abm", "lse": "atomics"}
"""Features that Linux calls otherwise than LLVM."""
X86_64, ABSOLUTE = 62, 1
"""The machine, and the kind of relocation, that are known here."""
PROGBITS, SYMTAB, RELA, NOBITS, WRITE = 1, 2, 4, 8, 1
"""Kinds of sections, and the flag of those that code writes to."""
TABLE, SECTION, SYMBOL = Struct("<40xQ12xH"), Struct("<4xIQ8xQQIIQ8x"), Struct("<IxxHQ8x")
RELOCATION, ADDRESS = Struct("<QIIq"), Struct("<Q")


@lru_cache(maxsize=1)
def processor() -> dict[str, str]:
    """What Linux says of the first core; nothing elsewhere."""
    try:
        with CPUINFO.open() as file:
            lines = file.read(2**13).partition("\n\n")[0].splitlines()
    except OSError:
        return {}
    said = [line.partition(":") for line in lines]
    return {name.strip(): text.strip() for name, _, text in said if name.strip() in FIELDS}


def has(features: tuple[str, ...]) -> bool:
    """Whether the processor has some features, by LLVM's names of them."""
    known = processor().get("flags", processor().get("Features", "")).split()
    return all(LINUX.get(feature, feature) in known for feature in features)


class Section(NamedTuple):
    """A line of an object's table of sections."""

    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


def load(code: bytes, name: str) -> tuple[mmap.mmap, int]:
    """The memory into which an object is loaded, and the address of its function of that name.

    The memory must be kept while the function is used. ValueError if the object is of another kind.
    """
    if sys.platform != "linux" or code[:6] != b"\x7fELF\2\1" or code[18] != X86_64:
        raise ValueError("an object of another system")
    start, count = TABLE.unpack_from(code)
    rows = SECTION.iter_unpack(code[start : start + count * SECTION.size])
    sections = list(starmap(Section, rows))
    memory = mmap.mmap(-1, len(code), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:] = code
    base, library = ctypes.addressof(ctypes.c_char.from_buffer(memory)), ctypes.CDLL(None)

    def rows_of(section: Section, form: Struct) -> list[tuple[int, ...]]:
        return list(form.iter_unpack(code[section.offset : section.offset + section.size]))

    (table,) = (section for section in sections if section.kind == SYMTAB)
    texts, addresses, entry = sections[table.link].offset, {}, 0
    for k, (at, place, value) in enumerate(rows_of(table, SYMBOL)):
        text = code[texts + at : code.index(0, texts + at)].decode()
        if 0 < place < count:
            addresses[k] = base + sections[place].offset + value
        elif text and not place:
            addresses[k] = ctypes.cast(library[text], ctypes.c_void_p).value or 0
        entry = addresses[k] if text == name else entry
    for section in sections:
        shifted = section.offset % max(section.alignment, 1)
        if section.kind == NOBITS or section.flags & WRITE or shifted:
            raise ValueError("numbers that change, or that must lie elsewhere")
        if section.kind == RELA and sections[section.info].kind == PROGBITS:
            for at, how, symbol, add in rows_of(section, RELOCATION):
                if how != ABSOLUTE:
                    raise ValueError("a relocation of another kind")
                place = sections[section.info].offset + at
                ADDRESS.pack_into(memory, place, addresses[symbol] + add)
    protect = library.mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if not entry or protect(base, len(code), 5):  # to be read and run
        raise ValueError("no such function, or memory that may not hold code")
    return memory, entry
