"""The one exception a user of the library is meant to see.

Every message is a full sentence that names the thing at fault and, where it helps, what to do
about it. The command line prints it on stderr and exits with code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from os import PathLike


class SubgameError(ValueError):
    """Something the caller gave us is wrong; the message says what, in a sentence."""

    @property
    def sentence(self) -> str:
        """The message without what may be drawn below it."""
        return str(self)


class ArgumentError(SubgameError):
    """An argument is not what it has to be; the command line calls it by its option.

    >>> error = ArgumentError("check_every", "is at least 1, not 0.")
    >>> str(error), error.option
    ('check_every is at least 1, not 0.', '--check-every')
    """

    def __init__(self, name: str, wants: str) -> None:
        super().__init__(name, wants)
        self.name, self.wants = name, wants

    def __str__(self) -> str:
        return f"{self.name} {self.wants}"

    @property
    def option(self) -> str:
        """What the argument is called on the command line."""
        return f"--{self.name.replace('_', '-')}"


class TextError(SubgameError):
    """A part of a text is wrong; below the sentence, `drawing` points at it."""

    def __init__(self, sentence: str, drawing: str) -> None:
        super().__init__(sentence, drawing)
        self.drawing = drawing

    def __str__(self) -> str:
        return f"{self.sentence}\n{self.drawing}"

    @property
    def sentence(self) -> str:
        return str(self.args[0])


class MemoryLimitError(SubgameError):
    """The work would need more memory than the caller allows."""


def did_you_mean(what: str, name: str, known: Iterable[str]) -> SubgameError:
    """An error for an unknown name, with the nearest known one as a suggestion.

    >>> str(did_you_mean("game", "leducc", ["kuhn", "leduc"]))
    "There is no game called 'leducc'; did you mean 'leduc'? Known: kuhn, leduc."
    """
    names = sorted(known)
    folded = {known_name.casefold(): known_name for known_name in reversed(names)}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    hint = f"; did you mean '{folded[near[0]]}'?" if near else "."
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20:,} more" if len(names) > 20 else "")
    return SubgameError(f"There is no {what} called '{name}'{hint} Known: {shown}.")


def unreadable(path: str | PathLike[str], why: Exception | str, wanted: str) -> SubgameError:
    """An error for a file that cannot be read, with what kind of file was `wanted`.

    >>> str(unreadable("spot.txt", FileNotFoundError(), "an endgame"))
    'There is no file spot.txt; wanted here is an endgame.'
    >>> str(unreadable("spot.txt", "is empty", "an endgame"))
    'spot.txt is empty; wanted here is an endgame.'
    """
    if isinstance(why, FileNotFoundError):
        said = f"There is no file {path}"
    elif isinstance(why, IsADirectoryError):
        said = f"{path} is a folder, not a file"
    elif isinstance(why, PermissionError):
        said = f"{path} is there, but may not be read"
    elif isinstance(why, UnicodeDecodeError):
        said = f"{path} is not UTF-8 text"
    elif isinstance(why, OSError):
        said = f"{path} cannot be read ({why.strerror or why})"
    else:
        said = f"{path} {why}"
    return SubgameError(f"{said}; wanted here is {wanted}.")


def human_bytes(count: float) -> str:
    """A byte count as people write it.

    >>> human_bytes(1536), human_bytes(3 * 2**30)
    ('1.5 KiB', '3.0 GiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError
