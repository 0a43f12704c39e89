"""`Cells`: the results of a table, computed one by one and kept in a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from subgame.engines.torch.runtime import load_torch
from subgame.errors import read_text, unreadable
from subgame.papers.report import Record, commit, machine, mbb
from subgame.tree.files import replacing
from subgame.tree.one_writer import OnlyWriter

FILE_KIND = "cells kept by subgame reproduce --keep"
MARKS = {"mbb/h", "mean", "0", "1"}
"""A cell has one of these: its result, or that of a seat."""


class Cells:
    """Results by name, in a file that is written after each."""

    def __init__(self, file: Path | None, made: str = "") -> None:
        """`made` says by what and where results are computed; it is kept with them."""
        self.file, self.made = file, made
        self.results: dict[str, Record] = {}
        if file is not None and file.exists():
            self.results = _read(file)

    def lacks(self, key: str) -> list[int]:
        """The seats of a cell that are missing."""
        cell = self.results.get(key, {})
        return [] if "mbb/h" in cell else [p for p in (0, 1) if str(p) not in cell]

    def put(self, key: str, cell: Record) -> None:
        """Add a cell, or a seat of it, ``{"0": ...}``; with both seats it is made whole."""
        joined = {**self.results.get(key, {}), **cell}
        if "0" in joined and "1" in joined:
            joined = _whole(joined["0"], joined["1"])
        self.results[key] = {**joined, "made": self.made} if self.made else joined
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self.file) as new:
                new.write_text(json.dumps(self.results, indent=1), encoding="utf-8")


@contextmanager
def cells_of(file: Path | None, made: str = "") -> Iterator[Cells]:
    """Cells in a file that only this process writes meanwhile."""
    if file is None:
        yield Cells(None, made)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with OnlyWriter(file):
        yield Cells(file, made)


def _read(file: Path) -> dict[str, Record]:
    """The cells of a file; another file is refused."""
    try:
        result = json.loads(read_text(file, FILE_KIND) or "{}")
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict) or not all(
        " | " in name and isinstance(cell, dict) and cell.keys() & MARKS
        for name, cell in result.items()
    ):
        raise unreadable(file, "has other contents", FILE_KIND)
    return result


def cell_of(seats: tuple[float, float], seconds: float) -> dict[str, object]:
    """A cell from what a best response wins against each seat, in chips."""
    return {
        "mbb/h": mbb(sum(seats) / 2),
        "per seat, mbb/h": [mbb(seat) for seat in seats],
        "seconds": seconds,
    }


def _whole(one: Record, two: Record) -> dict[str, object]:
    """A cell from both its seats, with all else that was kept of them."""
    cell = cell_of((one["won"], two["won"]), one["seconds"] + two["seconds"])
    rest = {k: [one[k], two[k]] for k in one if k not in ("won", "seconds")}
    names = {"margin": "smallest margins, chips"}
    return {**cell, **{names.get(k, k): both for k, both in rest.items()}}


def made_by(where: str = "cpu") -> str:
    """What computes cells: the commit, the device and PyTorch."""
    torch, cuda = load_torch(), where.startswith("cuda")
    on = torch.cuda.get_device_name() if cuda else machine(())["processor"]
    return f"commit {commit()}, {on}, PyTorch {torch.__version__}"
