"""Flops for reports: all 1,755 that differ not only by suit, or a subset that stands for them.

A subset has weights such that its weighted means are those of all flops: the equity of each class
of hands, how it varies from flop to flop, and how often each texture comes
(`tools/flop_subsets.py` makes them and says how well they do).

    >>> len(flops("all")), sum(flop.weight for flop in flops("all"))
    (1755, 22100.0)
    >>> small = flops(25)
    >>> len(small), round(sum(flop.weight for flop in small))
    (25, 22100)
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from subgame.errors import SubgameError, check_regular
from subgame.games.holdem.cards import DECK, Deck
from subgame.games.holdem.isomorphism import canonical_boards
from subgame.lazy import np

STRAIGHT = 4
"""Ranks between the highest and the lowest of three cards that make a straight possible."""


class Flop(NamedTuple):
    """A flop, and how many of the 22,100 flops it stands for.

    >>> flops(25)[0].name, len(flops("all"))
    ('Ah7d3c', 1755)
    """

    name: str
    weight: float = 1.0


@lru_cache(maxsize=1)
def subsets() -> dict[str, Any]:
    """The subsets that come with the package, by their size."""
    text = (files("subgame") / "data" / "flops.json").read_text(encoding="utf-8")
    result: dict[str, Any] = json.loads(text)
    return result


def flops(which: str | int | Path, deck: Deck = DECK) -> list[Flop]:
    """All flops, a subset by its size, or those of a file.

    A file has a flop in each line, with or without a weight: ``AhKd2c 12.5``. Flops that are the
    same but for suits may be listed more than once.
    """
    name = str(which).strip()
    if name == "all":
        boards = canonical_boards((3,), deck)
        return [
            Flop(deck.name(cards[::-1].tolist()), float(weight))
            for cards, weight in zip(boards.cards, boards.weights, strict=True)
        ]
    known = subsets()["subsets"]
    if name in known and deck != DECK:
        raise SubgameError(
            f"The subset of {name} flops represents those of the full deck; take all flops of this "
            "deck, or list some."
        )
    if name in known:
        return [Flop(flop, weight) for flop, weight in known[name]["flops"]]
    if name.isdecimal():
        raise SubgameError(
            f"There is no subset of {name} flops; there are all, {', '.join(known)}, or a file "
            "with a flop in each line."
        )
    return _of_file(Path(name), deck)


def _of_file(path: Path, deck: Deck) -> list[Flop]:
    check_regular(path, "a file with a flop in each line, such as 'AhKd2c 12.5'")
    return parse_flops(path.read_text(encoding="utf-8"), str(path), deck)


def parse_flops(text: str, where: str = "the text", deck: Deck = DECK) -> list[Flop]:
    """The flops of a text, one in each line; `where` names the text in messages.

    >>> parse_flops("AhKd2c 12.5")
    [Flop(name='AhKd2c', weight=12.5)]
    """
    weights: dict[str, float] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].replace(":", " ").replace(",", " ").split()
        if not words:
            continue
        *cards, last = words if len(words) > 1 and _number(words[-1]) else [*words, "1"]
        try:
            name = deck.name(deck.parse(" ".join(cards), counts=(3,), what="flop"))
        except SubgameError as error:
            raise SubgameError(f"Line {number} of {where}: {error.sentence}") from None
        weights[name] = weights.get(name, 0.0) + float(last)
    if not weights or sum(weights.values()) <= 0:
        raise SubgameError(f"{where[0].upper()}{where[1:]} has no flops with a weight above 0.")
    return [Flop(name, weight) for name, weight in weights.items()]


def _number(text: str) -> bool:
    try:
        return float(text) >= 0
    except ValueError:
        return False


def texture(cards: tuple[int, ...], deck: Deck = DECK) -> dict[str, str]:
    """What a flop looks like: its suits, pairs, highest card, and whether a straight is possible.

    >>> texture(DECK.parse("Ah7h2c"))
    {'suits': 'two-tone', 'pairs': 'unpaired', 'high': 'A', 'straight': 'no'}
    """
    rank, suit = np.divmod(np.array(cards[:3]), deck.num_suits)
    high = int(rank.max())
    ranks = set(rank.tolist())
    low = {-1 if r == deck.num_ranks - 1 else r for r in ranks}  # the ace below the lowest rank
    near = any(
        len(distinct) == 3 and max(distinct) - min(distinct) <= STRAIGHT
        for distinct in (ranks, low)
    )
    return {
        "suits": ("monotone", "two-tone", "rainbow")[len(set(suit.tolist())) - 1],
        "pairs": ("trips", "paired", "unpaired")[len(ranks) - 1],
        "high": deck.ranks[high],
        "straight": "yes" if near else "no",
    }
