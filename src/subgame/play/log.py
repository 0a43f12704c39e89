"""The log of a match: one line of JSON per hand. See `subgame.tree.log`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from subgame.tree.log import Kind, Log, as_lines, read_whole

__all__ = ["FORMAT", "MATCH", "as_lines", "match_log", "read_log"]

FORMAT = "subgame-match-1"
GOES_ON = "The match goes on; hands that the log lacks are played again with it."
MATCH = Kind("match", "subgame match", FORMAT, ("hand",), ("hand",), GOES_ON)


def match_log(path: str | Path, head: dict[str, Any]) -> Log:
    """A log on disk. `head` says which match it is of; a log of another match is refused."""
    return Log(path, MATCH, head)


def read_log(path: str | Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The head and the records of a log; a last line that was cut off does not count."""
    return read_whole(path, MATCH)
