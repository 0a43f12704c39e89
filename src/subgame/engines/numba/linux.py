"""Loads machine code on Linux without LLVM's library, which itself takes long to load.

An object is copied to memory as it is, and addresses are written into it: of its own constants and
functions, and of the C library's. On x86_64 kernels are emitted so that they need absolute ones
only. On aarch64 an address may also be in the immediate numbers of four instructions, and a call
says how far its function is: one of the C library may be too far, so that a *stub* behind the
object jumps there. Elsewhere, and for an object of another kind, `native` asks LLVM.
"""

from __future__ import annotations

import ctypes
import mmap
import os
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
MACHINES = {"x86_64": 62, "aarch64": 183}
"""The machines that are known here, as objects number them."""
ABSOLUTE = {62: 1, 183: 257}
"""By machine the relocation that writes an address; the others are those of aarch64."""
MOVES = {263: 0, 264: 0, 265: 16, 266: 16, 267: 32, 268: 32, 269: 48}
"""Relocations of an instruction with sixteen bits of an address: how many bits are below them."""
CALLS, DISTANCE = (282, 283), 260
"""Those of a jump or a call, and of a distance in eight bytes, which unwinders read."""
STUB = (0x58000050, 0xD61F0200)
"""Instructions that load the address behind them and jump there."""
PROGBITS, SYMTAB, RELA, NOBITS, WRITE = 1, 2, 4, 8, 1
"""Kinds of sections, and the flag of those that code writes to."""
TABLE, SECTION, SYMBOL = Struct("<40xQ12xH"), Struct("<4xIQ8xQQIIQ8x"), Struct("<IxxHQ8x")
RELOCATION, ADDRESS, WORD = Struct("<QIIq"), Struct("<Q"), Struct("<I")
JUMP = Struct("<IIQ")


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
    known = MACHINES.get(os.uname().machine) if sys.platform == "linux" else None
    if code[:6] != b"\x7fELF\2\1" or (machine := code[18]) != known:
        raise ValueError("an object of another system")
    start, count = TABLE.unpack_from(code)
    rows = SECTION.iter_unpack(code[start : start + count * SECTION.size])
    sections = list(starmap(Section, rows))

    def rows_of(section: Section, form: Struct) -> list[tuple[int, ...]]:
        return list(form.iter_unpack(code[section.offset : section.offset + section.size]))

    (table,) = (section for section in sections if section.kind == SYMTAB)
    symbols = rows_of(table, SYMBOL)
    stubs = len(code) + -len(code) % JUMP.size
    size = stubs + JUMP.size * len(symbols)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[: len(code)] = code
    base, library = ctypes.addressof(ctypes.c_char.from_buffer(memory)), ctypes.CDLL(None)
    texts, addresses, near, entry = sections[table.link].offset, {}, {}, 0
    for k, (at, place, value) in enumerate(symbols):
        text = code[texts + at : code.index(0, texts + at)].decode()
        if 0 < place < count:
            addresses[k] = near[k] = base + sections[place].offset + value
        elif text and not place:
            addresses[k] = ctypes.cast(library[text], ctypes.c_void_p).value or 0
            near[k] = base + stubs + k * JUMP.size
            JUMP.pack_into(memory, stubs + k * JUMP.size, *STUB, addresses[k])
        entry = addresses[k] if text == name else entry
    for section in sections:
        shifted = section.offset % max(section.alignment, 1)
        if section.kind == NOBITS or section.flags & WRITE or shifted:
            raise ValueError("numbers that change, or that must lie elsewhere")
        if section.kind == RELA and sections[section.info].kind == PROGBITS:
            for at, how, symbol, add in rows_of(section, RELOCATION):
                place = sections[section.info].offset + at
                if how == ABSOLUTE[machine]:
                    ADDRESS.pack_into(memory, place, addresses[symbol] + add)
                else:
                    _relocate(memory, place, how, (near[symbol] + add, base + place))
    protect = library.mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if not entry or protect(base, size, 5):  # to be read and run
        raise ValueError("no such function, or memory that may not hold code")
    if machine == MACHINES["aarch64"]:  # what was written is not yet what the core would run
        clear = ctypes.CDLL("libgcc_s.so.1").__clear_cache
        clear.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        clear(base, base + size)
    return memory, entry


def _relocate(memory: mmap.mmap, place: int, how: int, addresses: tuple[int, int]) -> None:
    """Write an address into an instruction, or how far it is; `addresses` are it and the place's.

    ValueError if the relocation is of another kind.
    """
    goal, here = addresses
    (word,) = WORD.unpack_from(memory, place)
    if how in MOVES:
        word = word & ~(0xFFFF << 5) | (goal >> MOVES[how] & 0xFFFF) << 5
    elif how in CALLS:
        word = word & ~0x3FFFFFF | (goal - here) >> 2 & 0x3FFFFFF
    elif how == DISTANCE:
        ADDRESS.pack_into(memory, place, (goal - here) % 2**64)
        return
    else:
        raise ValueError("a relocation of another kind")
    WORD.pack_into(memory, place, word)
