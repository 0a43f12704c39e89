"""Object code put into memory as it is, which takes a hundredth of the time that LLVM takes.

Kernels are emitted for x86_64 so that all they need from outside are absolute addresses: those of
their own constants and functions, and of a few functions of the C library. Any other object is
left to LLVM (see `native`).
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
from itertools import starmap
from struct import Struct, error
from typing import NamedTuple

X86_64 = 62
ABS64 = 1
"""The one kind of relocation that is known here: eight bytes that hold an address."""
PROGBITS, SYMTAB, RELA, NOBITS = 1, 2, 4, 8
"""Kinds of sections."""
WRITE, ALLOC = 1, 2
"""Flags of sections."""
SECTIONS = Struct("<IIQQQQIIQQ")
SYMBOLS = Struct("<IBBHQQ")
RELOCATIONS = Struct("<QQq")
ADDRESS = Struct("<Q")
READ_AND_RUN = 5
"""PROT_READ and PROT_EXEC."""


class Section(NamedTuple):
    """A line of the table of sections."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int

    def of(self, code: bytes) -> bytes:
        """What the section holds."""
        return code[self.offset : self.offset + self.size]


def load(code: bytes, name: str) -> tuple[mmap.mmap, int] | None:
    """The memory into which an object is loaded, and the address of its function of that name.

    None where anything about the object or the machine is not as described above. The memory must
    be kept while the function is used.
    """
    if sys.platform != "linux" or code[:6] != b"\x7fELF\x02\x01" or code[18] != X86_64:
        return None
    try:
        return _loaded(code, name)
    except (error, OSError, ValueError, AttributeError, IndexError, KeyError):
        return None


def _loaded(code: bytes, name: str) -> tuple[mmap.mmap, int]:
    """The same; an exception where the object is of another kind."""
    (start,), count = ADDRESS.unpack_from(code, 40), int.from_bytes(code[60:62], "little")
    table = code[start : start + count * SECTIONS.size]
    sections = list(starmap(Section, SECTIONS.iter_unpack(table)))
    offsets, size = _laid(sections)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    addresses = {k: base + offset for k, offset in offsets.items()}
    names, targets = _symbols(code, sections, addresses)
    for k, offset in offsets.items():
        memory[offset : offset + sections[k].size] = sections[k].of(code)
    for section in sections:
        if section.kind == RELA and section.info in offsets:
            for at, what, add in RELOCATIONS.iter_unpack(section.of(code)):
                if what & 0xFFFFFFFF != ABS64:
                    raise ValueError("a relocation of another kind")
                address = targets(what >> 32) + add
                ADDRESS.pack_into(memory, offsets[section.info] + at, address)
    entry = targets(names.index(name.encode()))
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(base, size, READ_AND_RUN):
        raise OSError("the memory may not hold code")
    return memory, entry


def _laid(sections: list[Section]) -> tuple[dict[int, int], int]:
    """Where sections lie in the memory, by number, and its size in whole pages."""
    offsets, size = {}, 0
    for k, section in enumerate(sections):
        if section.flags & ALLOC and section.kind in (PROGBITS, NOBITS):
            if section.flags & WRITE or section.kind == NOBITS:
                raise ValueError("numbers that change")
            step = max(1, section.alignment)
            offsets[k] = -(-size // step) * step
            size = offsets[k] + section.size
    return offsets, -(-max(1, size) // mmap.PAGESIZE) * mmap.PAGESIZE


def _symbols(
    code: bytes, sections: list[Section], addresses: dict[int, int]
) -> tuple[list[bytes], Callable[[int], int]]:
    """The names of symbols, and their addresses by number. Those from outside are C's own."""
    (table,) = (section for section in sections if section.kind == SYMTAB)
    symbols = list(SYMBOLS.iter_unpack(table.of(code)))
    texts = sections[table.link].of(code)
    names = [texts[symbol[0] : texts.index(b"\0", symbol[0])] for symbol in symbols]

    def target(k: int) -> int:
        section, value = symbols[k][3:5]
        if section:
            return addresses[section] + int(value)
        function = getattr(ctypes.CDLL(None), names[k].decode())
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    return names, target
