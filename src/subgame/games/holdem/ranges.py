"""Ranges: a weight for each hand, written as players write them. The grammar is on `Range`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, NoReturn

from subgame.errors import SubgameError, fault
from subgame.games.holdem.cards import DECK, Deck
from subgame.lazy import np
from subgame.show.grid import HELD, Square, grid, in_rows
from subgame.show.html import block, data_frame

if TYPE_CHECKING:
    import numpy.typing as npt
    from pandas import DataFrame

    Hands = Callable[[], npt.NDArray[np.int64]]

_ITEM = re.compile(r"\[[^\]]*\]?|[^\s,;\[]+")
_GROUP = re.compile(r"\[(?P<end>/?)\s*(?P<percent>\d{1,3}(\.\d*)?|\.\d+)\s*%?\s*\]")
_NUMBERS = 40
"""More items than this that all look like numbers are meant as one number for each hand."""
_WEIGHT = re.compile(r"(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_CLASS = re.compile(r"(?P<high>[^\W_])(?P<low>[^\W_])(?P<kind>[soSO]?)")
_EVERYTHING = ("random", "*")

Class = tuple[int, int, str]  # high rank, low rank, and the kind, see `class_hands`


@dataclass(frozen=True, eq=False)
class Range:
    """A weight between 0 and 1 for each hand of a deck, in the deck's order of hands.

    The text is a list of items, separated by commas or spaces:

    | item | hands |
    | --- | --- |
    | ``AA`` | the six pairs of aces |
    | ``AKs``, ``AKo``, ``AK`` | ace-king suited; offsuit; both |
    | ``AhKh`` | this hand alone |
    | ``77+`` | pairs of sevens and higher |
    | ``KTs+`` | the low card goes up to just below the high one: KTs, KJs, KQs |
    | ``T9s+`` | neighbours go up together: T9s, JTs, QJs, KQs, AKs, as in postflop-solver |
    | ``22-77``, ``77-22`` | pairs from twos to sevens |
    | ``A5s-A2s`` | the same high card, the low one from 5 down to 2 |
    | ``JTs-54s`` | the same gap, both cards from J-T down to 5-4 |
    | ``random``, ``*`` | every hand |
    | ``[50]AA,KK[/50]`` | items that weigh 50 %, as GTO+ writes them |

    Any item may end in a weight, ``T9o:0.5``; without one it weighs 1. An item replaces what
    earlier ones said about its hands: ``random:0.25,AA`` holds all aces and a quarter of the rest,
    ``random,22:0`` everything but twos. Case does not matter, except that suits are cdhs.

    A text of 1,326 numbers has the weight of each hand in the package's order of hands, which is
    PioSOLVER's: 2d2c, 2h2c, 2h2d, 2s2c, … AsAh (see `cards`).

    >>> Range.parse("AA, KJs+, A5s-A2s, T9o:0.5, AhKh").combos
    37.0
    >>> Range.parse("[50]AA,KK[/50] QJs").combos
    10.0
    >>> str(Range.parse("KK, AA, QQ, AKs, AKo, A2s, A3s, T9o:0.5"))
    'QQ+,AK,A3s-A2s,T9o:0.5'
    >>> Range.parse("AA,KQx+")
    Traceback (most recent call last):
    subgame.errors.TextError: In the range 'AA,KQx+', at 'KQx' (character 4): this is neither a
    hand such as AhKh nor a group of hands such as AKs, AKo, AK or 77.
      AA,KQx+
         ^^^
    """

    weights: npt.NDArray[np.float64]  # [hand]
    deck: Deck = field(default=DECK)

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.float64)
        if weights.shape != (self.deck.num_hands,):
            raise SubgameError(
                f"A range of this deck has {self.deck.num_hands:,} weights, one for each hand; "
                f"the array has the shape {weights.shape}."
            )
        wrong = np.flatnonzero(~((weights >= 0) & (weights <= 1)))
        if len(wrong):
            hand = int(wrong[0])
            raise SubgameError(
                f"The weights of a range are between 0 and 1; that of {self.deck.hand_name(hand)} "
                f"is {weights[hand]}."
            )
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)

    @classmethod
    def parse(cls, text: str, deck: Deck = DECK) -> Range:
        """The range that a text describes (see the class)."""
        parts, numbers = _parts(text, deck)
        if numbers:
            return cls(np.array(numbers), deck)
        weights = np.zeros(deck.num_hands)
        for hands, weight in parts:
            weights[hands()] = weight
        return cls(weights, deck)

    @classmethod
    def check(cls, text: str, deck: Deck = DECK) -> None:
        """Raise the error that `parse` raises; without NumPy, unless the text is only numbers."""
        if _parts(text, deck)[1]:
            cls.parse(text, deck)

    @property
    def combos(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    def on_board(self, board: Iterable[int]) -> Range:
        """The range without the hands that hold a card of the board."""
        return Range(np.where(self.deck.compatible(board), self.weights, 0.0), self.deck)

    def to_pandas(self) -> DataFrame:
        """A pandas data frame: hand and weight, for the hands that are in the range."""
        rows = np.flatnonzero(self.weights).tolist()
        return data_frame(
            ({"hand": self.deck.hand_name(h), "weight": float(self.weights[h])} for h in rows),
            ["hand", "weight"],
        )

    def by_class(self) -> dict[str, float]:
        """Class of hands -> their mean weight, in the order of `class_names`."""
        of, names = class_of(self.deck), class_names(self.deck)
        sums, counts = (np.bincount(of, w, len(names)) for w in (self.weights, None))
        return dict(zip(names, (sums / np.maximum(counts, 1)).tolist(), strict=True))

    def _repr_html_(self) -> str:
        """The grid of hand classes, for notebooks; a square is as full as its hands weigh."""
        squares = [Square(name, weight, (1.0,)) for name, weight in self.by_class().items()]
        title = f"Range of {self.combos:g} hands"
        return block(title, grid(in_rows(squares), [HELD], title))

    def __repr__(self) -> str:
        return f"<Range of {self.combos:g} hands>"

    def __str__(self) -> str:
        """The shortest usual text; parsed again, it gives the same weights, bit for bit."""
        return _format(self.weights, self.deck)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Range):
            return NotImplemented
        return self.deck == other.deck and bool((self.weights == other.weights).all())

    def __hash__(self) -> int:
        return hash((self.deck, (self.weights + 0.0).tobytes()))


def _parts(text: str, deck: Deck) -> tuple[list[tuple[Hands, float]], list[float]]:
    """What the items of a range's text say, in order: hands and their weight; or only numbers."""
    items = list(_ITEM.finditer(text))
    if not items:
        raise SubgameError("The range is empty; write 'random' for all hands, or e.g. 'AA,KQs'.")
    if len(items) > _NUMBERS and all(_WEIGHT.fullmatch(item[0]) for item in items):
        return [], [float(item[0]) for item in items]
    parts: list[tuple[Hands, float]] = []
    group: _Item | None = None
    for match in items:
        item = _Item(text, match[0], match.start(), deck)
        if match[0].startswith("["):
            group = item.open_or_close(group)
            continue
        hands, weight = item.read()
        parts.append((hands, weight if group is None else weight * group.percent))
    if group is not None:
        group.unclosed()
    return parts, []


@dataclass(frozen=True)
class _Item:
    """One item of a range's text, and where it starts."""

    text: str
    token: str
    start: int
    deck: Deck

    def read(self) -> tuple[Hands, float]:
        """What makes the array of the item's hands, and their weight."""
        body, colon, weight_text = self.token.partition(":")
        weight_text = weight_text if colon else "1"
        if not _WEIGHT.fullmatch(weight_text) or not 0 <= (weight := float(weight_text)) <= 1:
            self._fail(len(body) + 1, weight_text, "a weight must be a number between 0 and 1")
        if body.lower() in _EVERYTHING:
            return lambda: np.arange(self.deck.num_hands), weight
        if not body:
            self._fail(0, self.token, "a weight must follow hands, as in AA:0.5")
        if body.endswith("+"):
            return partial(self._join, self._upwards(body[:-1])), weight
        first, dash, last = body.partition("-")
        if dash:
            return partial(self._join, self._between(first, last)), weight
        if len(body) == 4:
            return partial(self.deck.hand_index, *self._hand(body)), weight
        return partial(self._join, [self._class(body, 0)]), weight

    # Groups such as [50]AA,KK[/50].

    @property
    def percent(self) -> float:
        """The weight of a group."""
        match = _GROUP.fullmatch(self.token)
        return float(match["percent"]) / 100 if match else 1.0

    def open_or_close(self, group: _Item | None) -> _Item | None:
        """The group that holds after this mark, where `group` held before."""
        match = _GROUP.fullmatch(self.token)
        if not match or self.percent > 1:
            self._fail(0, self.token, "a group of hands is written [50]AA,KK[/50], in percent")
        if (group is None) == bool(match["end"]):
            why = "no group is open here" if group is None else "a group must be closed first"
            self._fail(0, self.token, why)
        if group is not None and self.percent != group.percent:
            self._fail(0, self.token, f"the group {group.token} ends with {group.end}")
        return self if group is None else None

    @property
    def end(self) -> str:
        """The mark that closes the group."""
        return self.token.replace("[", "[/")

    def unclosed(self) -> NoReturn:
        """Raise the error of a group without an end."""
        self._fail(0, self.token, f"this group has no end; write {self.end} after its hands")

    def _hand(self, body: str) -> list[int]:
        cards: list[int] = []
        for at in (0, 2):
            rank, suit = self._rank(body[at], at), self.deck.suits.find(body[at + 1].lower())
            if suit < 0:
                self._fail(at, body[at : at + 2], f"there is no suit '{body[at + 1]}'")
            cards.append(rank * self.deck.num_suits + suit)
        if cards[0] == cards[1]:
            self._fail(0, body, "a hand cannot hold one card twice")
        return cards

    def _rank(self, char: str, at: int) -> int:
        rank = self.deck.ranks.find(char.upper())
        if rank < 0:
            self._fail(at, char, f"there is no rank '{char}' (ranks: {self.deck.ranks})")
        return rank

    def _class(self, body: str, at: int) -> Class:
        """A group of hands; the kind is "" where suited and offsuit are both meant."""
        match = _CLASS.fullmatch(body)
        if not match:
            reason = "this is neither a hand such as AhKh nor a group of hands such as AKs, AKo, "
            self._fail(at, body, reason + "AK or 77")
        high, low = self._rank(body[0], at), self._rank(body[1], at + 1)
        kind = match["kind"].lower()
        if high == low and kind:
            self._fail(at, body, "a pair is never suited, so write it without s or o")
        return max(high, low), min(high, low), "p" if high == low else kind

    def _upwards(self, body: str) -> list[Class]:
        high, low, kind = self._class(body, 0)
        if high - low < 2:  # pairs, and neighbours, which go up together
            return [(rank, rank - high + low, kind) for rank in range(high, self.deck.num_ranks)]
        return [(high, rank, kind) for rank in range(low, high)]

    def _between(self, first: str, last: str) -> list[Class]:
        ends = sorted([self._class(first, 0), self._class(last, len(first) + 1)])
        (high_a, low_a, kind_a), (high_b, low_b, kind_b) = ends
        if kind_a != kind_b:
            self._fail(0, f"{first}-{last}", "both ends must be pairs, or suited, or offsuit alike")
        if high_a == high_b:
            return [(high_a, low, kind_a) for low in range(low_a, low_b + 1)]
        if high_a - low_a != high_b - low_b:
            reason = "the ends must share their high card (A5s-A2s) or their gap (JTs-54s)"
            self._fail(0, f"{first}-{last}", reason)
        return [(high, high - high_a + low_a, kind_a) for high in range(high_a, high_b + 1)]

    def _join(self, classes: list[Class]) -> npt.NDArray[np.int64]:
        return np.concatenate([class_hands(*hand_class, self.deck) for hand_class in classes])

    def _fail(self, at: int, token: str, reason: str) -> NoReturn:
        raise fault("range", self.text, self.start + at, token, reason)


@lru_cache(maxsize=1 << 11)
def class_hands(high: int, low: int, kind: str, deck: Deck = DECK) -> npt.NDArray[np.int64]:
    """The hands of a class: its ranks, and "p" (pair), "s" (suited), "o" (offsuit) or "" (both)."""
    n = deck.num_suits
    a, b = np.indices((n, n))
    chosen = {"p": a < b, "s": a == b, "o": a != b, "": a >= 0}[kind]
    return deck.hand_index(high * n + a[chosen], low * n + b[chosen])


@lru_cache(maxsize=8)
def class_names(deck: Deck) -> list[str]:
    """The classes of hands, row by row of the grid: AA, AKs, AQs … AKo, KK …

    >>> class_names(DECK)[:3], class_names(DECK)[13], len(class_names(DECK))
    (['AA', 'AKs', 'AQs'], 'AKo', 169)
    """
    ranks, places = deck.ranks[::-1], range(deck.num_ranks)
    return [
        ranks[min(row, column)] + ranks[max(row, column)] + "so"[row > column] * (row != column)
        for row in places
        for column in places
    ]


@lru_cache(maxsize=8)
def class_of(deck: Deck) -> npt.NDArray[np.int64]:
    """[hand] the number of its class in `class_names`."""
    rank, suit = np.divmod(deck.hands.T, deck.num_suits)
    second, first = deck.num_ranks - 1 - rank  # from the highest rank on
    row, column = np.where(suit[0] == suit[1], (first, second), (second, first))
    result: npt.NDArray[np.int64] = row * deck.num_ranks + column
    return result


def _format(weights: npt.NDArray[np.float64], deck: Deck) -> str:
    if (weights == weights[0]).all():
        return f"random{_suffix(float(weights[0]))}"
    single: list[int] = []

    def row(classes: list[tuple[int, int]], kind: str, high: str = "") -> list[str]:
        """The items of classes with one weight; hands of the others go to ``single``."""
        shares: list[float] = []
        for ranks in classes:
            hands = class_hands(*ranks, kind, deck)
            alike = len(set(weights[hands].tolist())) < 2
            shares.append(float(weights[hands][:1].sum()) if alike else 0.0)
            if not alike:
                single.extend(np.sort(hands).tolist())
        return _runs(shares, deck, high)

    items = row([(rank, rank) for rank in range(deck.num_ranks)], "p")
    for high in reversed(range(1, deck.num_ranks)):
        classes = [(high, low) for low in range(high)]
        suited, offsuit = (row(classes, kind, deck.ranks[high]) for kind in "so")
        items += [item.replace("?", "") for item in suited if item in offsuit]
        items += [item.replace("?", "s") for item in suited if item not in offsuit]
        items += [item.replace("?", "o") for item in offsuit if item not in suited]
    for hand in reversed(single):
        if weights[hand]:
            items.append(deck.hand_name(hand) + _suffix(float(weights[hand])))
    return ",".join(items)


def _runs(weights: list[float], deck: Deck, high: str = "") -> list[str]:
    """The items of one row of classes, best first; ``weights`` are by low card, upwards.

    ``?`` stands for the kind, where there is one: ``AK?``, ``A5?-A2?:0.5``; for pairs ``77+``.
    """

    def name(low: int) -> str:
        return f"{high}{deck.ranks[low]}?" if high else deck.ranks[low] * 2

    items: list[str] = []
    for weight, stretch in groupby(range(len(weights)), weights.__getitem__):
        run = list(stretch)
        first, last, body = run[0], run[-1], name(run[0])
        if last > first:
            body = f"{body}+" if last == len(weights) - 1 else f"{name(last)}-{body}"
        if weight:
            items.append(body + _suffix(weight))
    return items[::-1]


def _suffix(weight: float) -> str:
    """The weight as an item's ending, in the fewest digits that read back as the same number."""
    if weight == 1:
        return ""
    return f":{int(weight)}" if weight == int(weight) else f":{weight!r}"
