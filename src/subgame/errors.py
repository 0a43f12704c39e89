"""The exceptions that users of the library see.

Every message is a full sentence. It names what is wrong and, where it helps, what to do about it.
The command line prints it on stderr and exits with code 2.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from numbers import Real
from os import PathLike

SEARCHED = 2_000
"""Known names among which a suggestion is searched, and of which some are listed."""
SHORTEST = 3
"""Letters that the beginning of a name needs for the name to be suggested."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that change what a terminal shows, other than tabs and line breaks."""
SHORT = 80
"""Letters of the longest text that `brief` shows."""
LARGEST = 2**30
"""Bytes of the largest text file that is read."""


DAMAGED = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What the contents of a damaged file raise where they are read, e.g. JSON of another form."""


class SubgameError(ValueError):
    """Something that the caller gave is wrong; the message says what, in a sentence.

    >>> import subgame as sg
    >>> try:
    ...     sg.games.load("kuhnn")
    ... except SubgameError as error:
    ...     print(error)
    There is no game called 'kuhnn'; did you mean 'kuhn'? Known: ...
    """

    @property
    def sentence(self) -> str:
        """The message without the drawing that may follow it."""
        return str(self)

    @property
    def on_command_line(self) -> str:
        """The sentence in the words of the command line."""
        return self.sentence


class UnknownNameError(SubgameError, KeyError):
    """A name is not known. It is a `KeyError` too, so that a `Strategy` is a mapping."""

    def __str__(self) -> str:  # that of KeyError adds quotes
        return str(self.args[0])


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

    @property
    def on_command_line(self) -> str:
        return f"{self.option} {self.wants}"


class FieldError(SubgameError):
    """Something is wrong with some fields of a form; `fields` has a sentence for each of them.

    >>> error = FieldError({"pot": "The pot is missing.", "oop": SubgameError("It is empty.")})
    >>> str(error), error.fields["oop"]
    ('The pot is missing. It is empty.', 'It is empty.')
    """

    def __init__(self, problems: Mapping[str, SubgameError | str]) -> None:
        super().__init__(problems)
        self.fields = {
            name: what if isinstance(what, str) else what.sentence
            for name, what in problems.items()
        }

    def __str__(self) -> str:
        problems = [*self.args[0].values()]
        return str(problems[0]) if len(problems) == 1 else self.sentence

    @property
    def sentence(self) -> str:
        return " ".join(self.fields.values())


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


class NotSavedWarning(UserWarning):
    """A file could not be written; the work goes on, and the message says what is lost."""


class UnlockedWarning(UserWarning):
    """A file could not be locked, because the file system has no locks; the work goes on."""


class MemoryLimitError(SubgameError):
    """The work would need more memory than the caller allows.

    If it is `limited` by an argument, the message names the argument and the command line the
    option.

    >>> error = MemoryLimitError("The tree needs 2.0 KiB, over the limit of 1.0 KiB.", True)
    >>> print(error)
    The tree needs 2.0 KiB, over the limit of 1.0 KiB. A larger memory_limit allows it.
    """

    def __init__(self, needs: str, limited: bool = False) -> None:
        super().__init__(needs, limited)
        self.needs, self.limited = needs, limited

    def __str__(self) -> str:
        return self._allowed_by("memory_limit")

    @property
    def on_command_line(self) -> str:
        return self._allowed_by("--memory-limit")

    def _allowed_by(self, name: str) -> str:
        return f"{self.needs} A larger {name} allows it." if self.limited else self.needs


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` is most likely a misspelling of; None if none is close.

    >>> nearest("--iteration", ["--iterations", "--seconds"]), nearest("--iter", ["--iterations"])
    ('--iterations', '--iterations')
    >>> nearest("--rake", ["--stack", "--storage"]), nearest("--dice", ["--device"])
    (None, None)
    """
    folded = {_plain(word): word for word in sorted(known, reverse=True)}
    asked = _plain(name)
    most = (len(asked) >= SHORTEST) + (len(asked) > 5) + (len(asked) > 9)
    near = [word for word in folded if abs(len(word) - len(asked)) <= most]
    apart = {word: distance(asked, word) for word in near}
    near = sorted((word for word in near if apart[word] <= most), key=lambda word: apart[word])
    if not near:  # a name cut short, or one with something after it
        near = [word for word in folded if min(len(word), len(asked)) >= SHORTEST]
        near = [word for word in near if word.startswith(asked) or asked.startswith(word)]
        near.sort(key=lambda word: abs(len(word) - len(asked)))
    return folded[near[0]] if near else None


def _plain(name: str) -> str:
    return name.casefold().lstrip("-").replace("_", "-")


def distance(one: str, other: str) -> int:
    """How many letters are added, left out, changed or swapped with the next between two words.

    >>> distance("sovle", "solve"), distance("dice", "device"), distance("", "ab")
    (1, 2, 2)
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def did_you_mean(what: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """An error for an unknown name, with the nearest known one as a suggestion.

    >>> str(did_you_mean("game", "leducc", ["kuhn", "leduc"]))
    "There is no game called 'leducc'; did you mean 'leduc'? Known: kuhn, leduc."
    """
    every = known if isinstance(known, Collection) else list(known)
    names = sorted(islice(every, SEARCHED))
    near = nearest(name, names)
    hint = "." if near is None else f"; did you mean '{near}'?"
    shown = ", ".join(names[:20]) + (f" and {len(every) - 20:,} more" if len(every) > 20 else "")
    return UnknownNameError(f"There is no {what} called '{name}'{hint} Known: {shown}.")


def unreadable(path: str | PathLike[str], why: Exception | str, wanted: str) -> SubgameError:
    """An error for a file that cannot be read, with the kind of file that was expected.

    >>> str(unreadable("spot.txt", FileNotFoundError(), "an endgame"))
    'There is no file spot.txt; expected an endgame.'
    >>> str(unreadable("spot.txt", "is empty", "an endgame"))
    'spot.txt is empty; expected an endgame.'
    """
    kinds: dict[type, str] = {
        FileNotFoundError: f"There is no file {path}",
        IsADirectoryError: f"{path} is a folder, not a file",
        PermissionError: f"{path} cannot be read (permission denied)",
        UnicodeDecodeError: f"{path} is not UTF-8 text",
    }
    if type(why) is ValueError and "null" in str(why):
        kinds[ValueError] = "A file name cannot contain a null character"
    other = f"cannot be read ({why.strerror or why})" if isinstance(why, OSError) else why
    return SubgameError(f"{kinds.get(type(why), f'{path} {other}')}; expected {wanted}.")


@contextmanager
def reading(path: str | PathLike[str], wanted: str) -> Iterator[None]:
    """Turn what a damaged file raises into an error that names the file.

    >>> with reading("spot.txt", "an endgame"):
    ...     _ = {}["pot"]
    Traceback (most recent call last):
    subgame.errors.SubgameError: spot.txt is damaged; expected an endgame.
    """
    try:
        yield
    except SubgameError:
        raise
    except OSError as error:
        raise unreadable(path, error, wanted) from None
    except DAMAGED:
        raise unreadable(path, "is damaged", wanted) from None


def printable(text: str) -> str:
    r"""The text with control characters escaped, which could otherwise change a terminal.

    Line breaks and tabs are kept.

    >>> printable("\x1b[31mred \x07 caf\u00e9")
    '\\x1b[31mred \\x07 café'
    """
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def check_regular(path: str | PathLike[str], wanted: str, limit: float = LARGEST) -> None:
    """Raise an error unless `path` is a regular file of at most `limit` bytes.

    A device or a pipe would never end, or would block.

    >>> check_regular(os.devnull, "an endgame")
    Traceback (most recent call last):
    subgame.errors.SubgameError: /dev/null is not a regular file; expected an endgame.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:  # a null byte in the name is a ValueError
        raise unreadable(path, error, wanted) from None
    if stat.S_ISDIR(status.st_mode):
        raise unreadable(path, IsADirectoryError(), wanted)
    if not stat.S_ISREG(status.st_mode):
        raise unreadable(path, "is not a regular file", wanted)
    if status.st_size > limit:
        why = f"has {human_bytes(status.st_size)}, which is more than {human_bytes(limit)}"
        raise unreadable(path, why, wanted)


def read_text(path: str | PathLike[str], wanted: str) -> str:
    """The text of a UTF-8 file, with or without a byte order mark; errors name the file `wanted`.

    Line ends are kept as they are.
    """
    check_regular(path, wanted)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error, wanted) from None


def brief(self: object) -> str:
    """A `__repr__` of one line: the type, and the fields that are numbers or short texts.

    >>> from typing import NamedTuple
    >>> class Found(NamedTuple):
    ...     game: str
    ...     value: float
    ...     values: list[float]
    ...     __repr__ = brief
    >>> Found("kuhn", -1 / 18, [0.25] * 1000)
    <Found game='kuhn', value=-0.0556>
    """
    names = getattr(self, "_fields", None) or getattr(self, "__dataclass_fields__", None) or ()
    shown = []
    for name in names:
        value = getattr(self, name)
        if isinstance(value, tuple) and value and all(isinstance(v, Real) for v in value):
            shown.append(f"{name}=({', '.join(f'{float(v):.3g}' for v in value[:4])})")
        elif isinstance(value, Real) and not isinstance(value, int):
            shown.append(f"{name}={float(value):.3g}")
        elif isinstance(value, int) or (isinstance(value, str) and len(value) <= SHORT):
            shown.append(f"{name}={value!r}")
        elif isinstance(at := getattr(value, "game", None), str) and len(at) <= SHORT:
            shown.append(f"{name}={at}")  # a tree, or what was made from one
    return f"<{type(self).__name__}{' ' if shown else ''}{', '.join(shown)}>"


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


def fault(what: str, text: str, start: int, token: str, reason: str) -> TextError:
    """An error in a text the user wrote: a sentence, then the text with the token underlined.

    >>> print(fault("board", "Qs Jx", 3, "Jx", "there is no suit 'x'"))
    In the board 'Qs Jx', at 'Jx' (character 4): there is no suit 'x'.
      Qs Jx
         ^^
    """
    line_start = text.rfind("\n", 0, start) + 1
    line = text[line_start:].split("\n", 1)[0]
    before = "".join("\t" if char == "\t" else " " for char in text[line_start:start])
    shown = text if len(text) <= 60 and "\n" not in text else f"{line[:57]}..."
    where = f"at '{token}' (character {start + 1})" if token else "at its end"
    carets = "^" * max(1, len(token))
    return TextError(
        f"In the {what} '{shown}', {where}: {reason}.", f"  {line}\n  {before}{carets}"
    )
