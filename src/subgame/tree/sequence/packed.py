"""`Packed`: rows of numbers that are added one by one and read as columns."""

from __future__ import annotations

from itertools import starmap
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Packed:
    """Rows of numbers, made with the name and the kind (as in `struct`) of each column.

    A row is a tuple that is appended to `rows`, which is quicker than one append for each column;
    `pack` is called now and then to make the rows small.

    >>> table = Packed(parent="i", chance="d")
    >>> table.rows.append((-1, 1.0))
    >>> table.rows.append((0, 0.5))
    >>> table.pack(), table.columns()["chance"]
    (2, array([1. , 0.5]))
    """

    def __init__(self, **kinds: str) -> None:
        self.rows: list[tuple[float, ...]] = []
        self._struct, self._bytes = Struct("=" + "".join(kinds.values())), bytearray()
        self._type = np.dtype(list(kinds.items()))

    def pack(self) -> int:
        """Pack the rows that were added. Returns the number of all rows."""
        self._bytes += b"".join(starmap(self._struct.pack, self.rows))
        self.rows.clear()
        return len(self._bytes) // self._struct.size

    def columns(self) -> dict[str, NDArray[Any]]:
        """A copy of each column of the packed rows."""
        table = np.frombuffer(self._bytes, dtype=self._type)
        return {name: table[name].copy() for name in self._type.names or ()}
