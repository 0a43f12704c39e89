"""What is refused before any work is done: files, devices and numbers."""

from __future__ import annotations

import math
import os
from itertools import combinations
from pathlib import Path

from subgame.cli.common import SAVED
from subgame.errors import ArgumentError, SubgameError, check_regular


def check_writable(option: str, path: Path | None) -> None:
    """Refuse a file that cannot be written, before any work is done."""
    if path is None:
        return
    folder = path.parent
    reasons = {
        "it is a folder": path.is_dir(),
        f"there is no folder {folder}": not folder.exists(),
        f"{folder} is not a folder": not folder.is_dir(),
        "it is not a regular file": path.exists() and not path.is_file(),
        "it is write-protected": not os.access(path if path.exists() else folder, os.W_OK),
    }
    for reason, applies in reasons.items():
        if applies:
            raise SubgameError(f"{option} {path} cannot be written: {reason}.")


def check_device(device: str, threads: int | None = None) -> None:
    """Refuse a device that is not available, before any work is done."""
    from subgame.engines.devices import CPU
    from subgame.engines.devices import check_device as check

    if check(device) != CPU:
        from subgame.engines.torch import pick_device

        if threads is not None:
            raise SubgameError(f"--threads only applies to the device cpu, not to {device}.")
        pick_device(device)


def check_picture(option: str, path: Path | None) -> None:
    """Refuse what `check_writable` refuses, and a name that is not that of a picture."""
    check_writable(option, path)
    if path is not None:
        from matplotlib.backend_bases import FigureCanvasBase

        if path.suffix[1:].lower() not in FigureCanvasBase.get_supported_filetypes():
            raise SubgameError(
                f"{option} needs a file name that ends in .png, .svg or .pdf, not {path.name}."
            )


def check_saved(option: str, path: Path | None) -> None:
    """Refuse what `check_writable` refuses, and a name with another suffix."""
    check_writable(option, path)
    if path is not None and path.suffix != SAVED:
        raise SubgameError(f"{option} needs a file name that ends in {SAVED}, not {path.name}.")


def check_checkpoint(path: Path | None) -> None:
    """Refuse a file of --checkpoint that is something else."""
    if path is not None:
        from subgame.tree.files import check_checkpoint as check

        check(path)


def check_apart(*files: tuple[str, Path | None]) -> None:
    """Refuse one file for two purposes; each is an option and its file."""
    for (one, a), (two, b) in combinations(files, 2):
        if a is not None and b is not None and os.path.realpath(a) == os.path.realpath(b):
            raise SubgameError(
                f"{one} and {two} name the same file, {a}; give two different files."
            )


def check_readable(option: str, path: Path | None, wanted: str) -> None:
    """Refuse a file that cannot be read, before any work is done."""
    if path is None:
        return
    try:
        check_regular(path, wanted, math.inf)
    except SubgameError as error:
        raise SubgameError(f"{option}: {error}") from None


def check_least(name: str, value: int | None, least: int = 1) -> None:
    """Refuse a number that is too small, and one that is too large for any count."""
    from subgame.solve.limits import check_count

    if value is not None:
        check_count(name, value, least)


def check_player(player: int | None) -> None:
    """Refuse a player other than 0 and 1."""
    if player not in (None, 0, 1):
        raise ArgumentError("player", f"must be 0 or 1, not {player}.")
