from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


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
