"""Kinds of actions: folds, calls (and checks) and raises (and bets), by their names; labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from subgame.errors import SubgameError

KINDS = {
    "fold": ("f", "fold"),
    "call": ("c", "p", "k", "call", "check", "pass"),
    "raise": ("r", "b", "raise", "bet"),
}
"""The names of actions, by kind. A bet or raise may be followed by its size."""


def kind_of(action: str) -> str:
    """The kind of an action: fold, call (or check), raise (or bet); "other" for anything else.

    >>> kind_of("r300"), kind_of("c"), kind_of("Fold"), kind_of("rock")
    ('raise', 'call', 'fold', 'other')
    """
    plain = action.lower().rstrip("0123456789 ")
    return next((kind for kind, words in KINDS.items() if plain in words), "other")


def of_kind(kind: str, legal: Sequence[str]) -> str:
    """The first legal action of a kind; a call, or else a fold, where there is none.

    >>> of_kind("raise", ("f", "c", "r200", "r20000")), of_kind("fold", ("c", "r100"))
    ('r200', 'c')
    """
    kinds = [kind_of(action) for action in legal]
    for wanted in (kind, "call", "fold"):
        if wanted in kinds:
            return legal[kinds.index(wanted)]
    raise SubgameError(
        f"The agent '{kind}' plays games with folds, calls and raises; here the actions are "
        f"{', '.join(legal)}."
    )


def distinct(labels: Sequence[str], numbers: Sequence[object]) -> tuple[str, ...]:
    """The labels made distinct: empty and repeated labels get their numbers.

    >>> distinct(["a", "b", "a", ""], ["#1", "#2", "#3", "#4"])
    ('a#1', 'b', 'a#3', '#4')
    """
    times = Counter(labels)
    taken = {label for label in labels if label and times[label] == 1}
    if len(taken) == len(labels):
        return tuple(labels)
    names = []
    for label, number in zip(labels, numbers, strict=True):
        name = label
        if label not in taken:
            name = f"{label}{number}"
            while name in taken:
                name += "'"
            taken.add(name)
        names.append(name)
    return tuple(names)
