"""The exceptions that users of the library see.

Every message is a full sentence. It names what is wrong and, where it helps, what to do about it.
The command line prints it on stderr and exits with code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from itertools import islice
from os import PathLike

CLOSE = 0.7
"""Similarity (`difflib`) from which on a known name is suggested for an unknown one."""
SEARCHED = 2_000
"""Known names among which a suggestion is searched, and of which some are listed."""
SHORTEST = 3
"""Letters that the beginning of a name needs for the name to be suggested."""


class SubgameError(ValueError):
    """Something that the caller gave is wrong; the message says what, in a sentence."""

    @property
    def sentence(self) -> str:
        """The message without the drawing that may follow it."""
        return str(self)


class ArgumentError(SubgameError):
    """An argument has a wrong value. The command line names the option instead.

    >>> error = ArgumentError("check_every", "must be at least 1, not 0.")
    >>> str(error), error.option
    ('check_every must be at least 1, not 0.', '--check-every')
    """

    def __init__(self, name: str, wants: str) -> None:
        super().__init__(name, wants)
        self.name, self.wants = name, wants

    def __str__(self) -> str:
        return f"{self.name} {self.wants}"

    @property
    def option(self) -> str:
        """The name of the argument on the command line."""
        return f"--{self.name.replace('_', '-')}"


class TextError(SubgameError):
    """A part of a text is wrong; `drawing`, below the sentence, points at it."""

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


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` is most likely a misspelling of; None if none is close.

    >>> nearest("--iteration", ["--iterations", "--seconds"]), nearest("--iter", ["--iterations"])
    ('--iterations', '--iterations')
    >>> nearest("--rake", ["--stack", "--storage"]) is None
    True
    """
    folded = {each.casefold().lstrip("-"): each for each in sorted(known, reverse=True)}
    asked = name.casefold().lstrip("-")
    near = difflib.get_close_matches(asked, folded, n=1, cutoff=CLOSE)
    if not near:  # a name cut short, or one with something after it
        near = [each for each in folded if min(len(each), len(asked)) >= SHORTEST]
        near = [each for each in near if each.startswith(asked) or asked.startswith(each)]
        near.sort(key=lambda each: abs(len(each) - len(asked)))
    return folded[near[0]] if near else None


def did_you_mean(what: str, name: str, known: Iterable[str]) -> SubgameError:
    """An error for an unknown name, with the nearest known one as a suggestion.

    >>> str(did_you_mean("game", "leducc", ["kuhn", "leduc"]))
    "There is no game called 'leducc'; did you mean 'leduc'? Known: kuhn, leduc."
    """
    every = known if isinstance(known, Collection) else list(known)
    names = sorted(islice(every, SEARCHED))
    near = nearest(name, names)
    hint = "." if near is None else f"; did you mean '{near}'?"
    shown = ", ".join(names[:20]) + (f" and {len(every) - 20:,} more" if len(every) > 20 else "")
    return SubgameError(f"There is no {what} called '{name}'{hint} Known: {shown}.")


def unreadable(path: str | PathLike[str], why: Exception | str, wanted: str) -> SubgameError:
    """An error for a file that cannot be read, with the kind of file that was expected.

    >>> str(unreadable("spot.txt", FileNotFoundError(), "an endgame"))
    'There is no file spot.txt; expected an endgame.'
    >>> str(unreadable("spot.txt", "is empty", "an endgame"))
    'spot.txt is empty; expected an endgame.'
    """
    if isinstance(why, FileNotFoundError):
        said = f"There is no file {path}"
    elif isinstance(why, IsADirectoryError):
        said = f"{path} is a folder, not a file"
    elif isinstance(why, PermissionError):
        said = f"{path} cannot be read (permission denied)"
    elif isinstance(why, UnicodeDecodeError):
        said = f"{path} is not UTF-8 text"
    elif isinstance(why, OSError):
        said = f"{path} cannot be read ({why.strerror or why})"
    else:
        said = f"{path} {why}"
    return SubgameError(f"{said}; expected {wanted}.")


def human_bytes(count: float) -> str:
    """A byte count as people write it.

    >>> human_bytes(1536), human_bytes(3 * 2**30), human_bytes(1e30)
    ('1.5 KiB', '3.0 GiB', '8.88e+14 PiB')
    """
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    power = 0
    while count >= 1024 and power < len(units) - 1:
        count, power = count / 1024, power + 1
    shown = f"{count:.3g}" if count >= 10_000 else f"{count:.{min(power, 1)}f}"
    return f"{shown} {units[power]}"
