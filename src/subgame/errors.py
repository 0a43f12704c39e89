"""The one exception a user of the library is meant to see.

Every message is a full sentence that names the thing at fault and, where it helps, what to do
about it. The command line prints it on stderr and exits with code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SubgameError(ValueError):
    """Something the caller gave us is wrong; the message says what, in a sentence."""


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
