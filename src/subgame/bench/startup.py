"""``subgame bench startup``: the first minutes with the package, now and before.

Every command runs in a fresh process. Its wall time and its CPU time (with its children's) are
measured; where other programs run, the CPU time is the one to compare. "First" starts with an empty
cache of kernels, so Numba compiles them; "again" finds them there, and Python finds its bytecode.
The same is measured in a clone of the commit `BEFORE`, in the same environment, where there is a
Git repository.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subgame.errors import SubgameError, did_you_mean

if TYPE_CHECKING:
    from rich.table import Table

BEFORE = "b5a8802"
"""The commit with which this one is compared."""
REPEATS = 3
"""How often a command is run whose kernels are compiled; the fastest run counts."""
INSTALL = "make demo"
RIVER = ["endgame", "--board", "Qs Jh 2h 8d 3c", "--pot", "100", "--stack", "1000"]
COMMANDS: dict[str, tuple[list[str], float | None]] = {
    "import subgame": (["-c", "import subgame"], 0.3),
    "subgame --help": (["-m", "subgame.cli", "--help"], 0.3),
    "a misspelt option": (["-m", "subgame.cli", "solve", "kuhn", "--iteration", "5"], 0.3),
    "a misspelt game": (["-m", "subgame.cli", "solve", "kuhnn"], 0.3),
    "a river, first": (["-m", "subgame.cli", *RIVER], 15.0),
    "a river, again": (["-m", "subgame.cli", *RIVER], 1.0),
    "leduc, first": (["-m", "subgame.cli", "solve", "leduc"], 15.0),
    "leduc, again": (["-m", "subgame.cli", "solve", "leduc"], None),
}
"""What is measured, with the arguments of Python and the seconds that it should take at most."""


ERRORS = """
solv kuhn
solve
solve kuhnn
solve kuhn --iterations x
solve kuhn --iterations -1
solve kuhn --schedule nosuch
solve kuhn --device gpu
solve kuhn --memory-limit lots
solve kuhn(cards=0)
solve kuhn --out /nowhere/a.safetensors
solve mygame.py:MyGame
solve openspiel:nosuch
games nosuch
exploit nosuch.safetensors
exploit kuhn
endgame
endgame --board Qs
endgame --board QsQs2h8d3c --pot 100 --stack 1000
endgame --board QsJh2h8d3c
endgame --board QsJh2h8d3c --pot 0 --stack 1000
endgame --board QsJh2h8d3c --pot 100 --stack 1000 --oop ZZ
endgame --board QsJh2h8d3c --pot 100 --stack 1000 --bets 50q
endgame --board QsJh2h8d3c --pot 100 --stack 1000 --line nosuch
endgame --board QsJh2h8d3c --pot 100 --stack 1000 --hand XX
endgame --board QsJh2h8d3c --pot 100 --stack 1000 --target 0
endgame --board QsJh2h8d3c --pot 100 --stack 1000 --storage int8
endgame --board QsJh2h8d3c --pot 100 --stack 1000 --rake 200%
endgame --board QsJh2h8d3c --pot 100 --stack 1000 --rak 5%
endgame nosuch.safetensors
endgame nosuch.txt
report nosuch.safetensors
compare a.safetensors b.safetensors
pushfold --stack -1
refine nosuch.safetensors
refine kuhn --technique nosuch
limit kuhn --at nowhere
blueprint nosuch
abstract nosuch
train kuhn --hands -1
match kuhn nosuch uniform
lbr kuhn nosuch
histories nosuch.txt
play kuhnn
play kuhn nosuch
reproduce nosuch
bench nosuch
""".strip().splitlines()
"""Mistakes that are made in command lines."""


def _starts(commands: Sequence[str]) -> dict[str, tuple[list[str], float | None]]:
    """`COMMANDS`, the help of some commands, and `ERRORS`."""
    words = [f"{name} --help" for name in commands] + ERRORS
    return COMMANDS | {
        f"subgame {word}": (["-m", "subgame.cli", *word.split()], 0.3) for word in words
    }


def run(
    only: str | None = None,
    quick: bool = False,
    progress: Callable[[str], None] | None = None,
    commands: Sequence[str] = (),
) -> dict[str, object]:
    """Measure all of `COMMANDS`, the help of `commands` and `ERRORS`, or one of these.

    `quick` leaves out the old commit and the installation.
    """
    starts = _starts(commands)
    if only is not None and only not in starts and only != INSTALL:
        raise did_you_mean("start", only, [*starts, INSTALL])
    tell = progress or (lambda line: None)
    here = Path(__file__).parents[3]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        places = {"now": here}
        if not quick:
            places["before"] = _clone(here, BEFORE, Path(folder) / "before")
        for name in [only] if only else [*starts, *([] if quick else [INSTALL])]:
            row: dict[str, Any] = {"what": name, "limit": starts.get(name, ([], 90.0))[1]}
            for when, place in places.items():
                tell(f"{name}, {when} ...")
                if name == INSTALL:
                    commit = BEFORE if when == "before" else "HEAD"
                    clone = _clone(here, commit, Path(folder) / f"demo-{when}")
                    row[when] = _timed([INSTALL], clone, {}, shell=True)
                else:
                    cache = Path(folder) / f"kernels-{when}"
                    row[when] = _measured(name, starts[name][0], place, cache)
            rows.append(row)
    return {"before": BEFORE, "cores": os.cpu_count(), "load": os.getloadavg()[0], "rows": rows}


def _clone(source: Path, commit: str, into: Path) -> Path:
    """A clone of the repository at a commit."""
    for command in (
        ["git", "clone", "--quiet", "--no-checkout", str(source), str(into)],
        ["git", "-C", str(into), "checkout", "--quiet", commit],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SubgameError(
                f"The commit {commit} cannot be measured: {done.stderr.strip().splitlines()[-1]}. "
                "Run this in a clone with its history, or with --quick."
            )
    return into


def _measured(name: str, words: list[str], place: Path, cache: Path) -> dict[str, float]:
    """The wall and CPU seconds of a command, run from the sources in `place`."""
    command = [sys.executable, *words]
    where = {"PYTHONPATH": str(place / "src"), "NUMBA_CACHE_DIR": str(cache)}
    if name.endswith("first"):
        with tempfile.TemporaryDirectory() as empty:
            return _timed(command, place, {**where, "NUMBA_CACHE_DIR": empty})
    _timed(command, place, where)  # kernels and Python's own files are then in their caches
    runs = [_timed(command, place, where) for _ in range(REPEATS)]
    return {key: min(run[key] for run in runs) for key in ("wall", "cpu")}


def _timed(
    command: list[str], folder: Path, more: dict[str, str], *, shell: bool = False
) -> dict[str, float]:
    usual = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command[0] if shell else command,
        cwd=folder,
        env=usual | more,
        shell=shell,
        capture_output=True,
        text=True,
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 2):  # 2 is an error in the command line, as asked for
        raise SubgameError(f"'{' '.join(command)}' failed: {done.stderr.strip()[-300:]}")
    return {
        "wall": wall,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    }


def table(measured: dict[str, Any]) -> Table:
    """Wall and CPU seconds, before and now."""
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, title="The first minutes, in seconds", title_justify="left")
    shown.add_column("what")
    for column in ("before", "now", "limit", "CPU before", "CPU now"):
        shown.add_column(column, justify="right")

    def cell(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}"

    for row in measured["rows"]:
        before, now = row.get("before", {}), row["now"]
        times = (before.get("wall"), now["wall"], row["limit"], before.get("cpu"), now["cpu"])
        shown.add_row(row["what"], *map(cell, times))
    return shown
