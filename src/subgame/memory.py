"""How much memory may be used: the caller's limit, and what the system has available."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import NamedTuple

from subgame.errors import ArgumentError, MemoryLimitError, human_bytes

DECIMAL = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
BINARY = {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
UNITS = {"": 1, "B": 1} | DECIMAL | BINARY
SYSTEM = Path("/proc/meminfo")
PROCESS = Path("/proc/self/statm")
OWN = Path("/proc/self/cgroup")
GROUP = Path("/sys/fs/cgroup")


def parse_bytes(text: str | float | None) -> float:
    """A memory limit: a number of bytes, or ``"4GiB"``; ``None`` is no limit.

    >>> parse_bytes("1.5 GiB") == 1.5 * 2**30
    True
    """
    if text is None:
        return math.inf
    number = text.strip().rstrip("BbIiTtGgMmKk ") if isinstance(text, str) else text
    unit = text.strip()[len(str(number)) :].strip().upper() if isinstance(text, str) else ""
    try:
        count = float(number) * UNITS[unit]
    except (ValueError, KeyError, TypeError):
        count = math.nan
    if not count > 0 or isinstance(text, bool):
        wants = f"must be a number of bytes such as 4GiB or 500MB, not '{text}'."
        raise ArgumentError("memory_limit", wants)
    return count


class Allowance(NamedTuple):
    """Bytes that may be used."""

    bytes: float
    limited: bool = False
    """Whether the caller set this limit, and may set a larger one; else it is what is available."""

    @classmethod
    def of(cls, memory_limit: str | float | None = None, *, host: bool = True) -> Allowance:
        """The smaller of the caller's limit and, on the `host`, the memory that is available.

        >>> Allowance.of("2KiB")
        Allowance(bytes=2048.0, limited=True)
        """
        limit, free = parse_bytes(memory_limit), available() if host else math.inf
        return cls(min(limit, free), limit <= free)

    def refuse(
        self,
        what: str,
        need: float,
        *,
        game: object = None,
        known: bool = True,
        hint: str = "",
    ) -> None:
        """Raise an error if more is needed; if it is not `known`, `need` is a lower bound.

        A `game` is named first, and the sentence `hint` follows, if there is one.

        >>> Allowance(10).refuse("the tree", 2048, game="kuhn", known=False)
        Traceback (most recent call last):
            ...
        subgame.errors.MemoryLimitError: kuhn: the tree needs at least 2.0 KiB, over the 10 B of
        memory that are available.
        """
        if need > self.bytes:
            least, most = "" if known else "at least ", human_bytes(self.bytes)
            over = f"limit of {most}" if self.limited else f"{most} of memory that are available"
            named = what if game is None else f"{game}: {what}"
            sentence = f"{named} needs {least}{human_bytes(need)}, over the {over}."
            raise MemoryLimitError(f"{sentence} {hint}".strip(), self.limited)


def available() -> float:
    """Bytes of the host's memory that can still be used, as far as the system says."""
    limits = [math.inf]
    try:
        lines = dict(line.split(":") for line in SYSTEM.read_text().splitlines())
        limits.append(1024.0 * int(lines["MemAvailable"].split()[0]))
    except (OSError, KeyError, ValueError):
        if hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
            limits.append(float(os.sysconf("SC_AVPHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
    # What a container may use, by either version of control groups.
    for limit, used, folder in (
        *(("memory.max", "memory.current", folder) for folder in (GROUP, *_own(GROUP, ""))),
        *(
            ("memory.limit_in_bytes", "memory.usage_in_bytes", folder)
            for folder in (GROUP / "memory", *_own(GROUP / "memory", "memory"))
        ),
    ):
        try:
            most, taken = (float((folder / name).read_text()) for name in (limit, used))
            stat = (folder / "memory.stat").read_text().splitlines()
            lines = dict(line.split() for line in stat)
            limits.append(most - taken + float(lines.get("inactive_file", 0)))
        except (OSError, ValueError):  # no such group, or "max" for no limit
            continue
    return max(0.0, min(*limits, _address_space()))


def _own(root: Path, controller: str) -> list[Path]:
    """The control group of this process, as far as it is told: lines are ``4:memory:/path``."""
    try:
        lines = [line.split(":", 2) for line in OWN.read_text().splitlines()]
    except OSError:
        return []
    paths = [line[2] for line in lines if len(line) == 3 and controller in line[1].split(",")]
    return [root / path.lstrip("/") for path in paths if path != "/"]


def _address_space() -> float:
    """Bytes that this process may still map (``ulimit -v``)."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int(PROCESS.read_text().split()[0])
    except (ImportError, OSError, ValueError):  # another system than Linux
        return math.inf
    return math.inf if most == resource.RLIM_INFINITY else most - pages * resource.getpagesize()


def cores() -> int:
    """Processor cores that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def most_processes(wanted: int | None, need: float) -> int:
    """How many processes are worth starting: of those that are wanted (None for one per core), no
    more than there are cores, and than fit into the available memory with `need` bytes; at least 1.

    >>> most_processes(1, 2**30), most_processes(10**9, 1.0) == cores(), most_processes(None, 1e30)
    (1, True, 1)
    """
    free = available()
    room = cores() if math.isinf(free) else int(free / need)
    return max(1, min(wanted or cores(), cores(), room))
