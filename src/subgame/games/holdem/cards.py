"""Decks, cards and two-card hands, each in one order that every array of the package follows.

**Cards** are integers: ``rank * number of suits + suit``, ranks from low to high and suits in the
order clubs, diamonds, hearts, spades. In the full deck 2c is 0, 2d is 1, 2s is 3 and As is 51.

**Hands** are unordered pairs of cards. A hand of cards ``low < high`` has the index
``high * (high - 1) / 2 + low``: 2c2d is 0, 2c2h is 1, 2d2h is 2 and AhAs is 1,325. The index does
not depend on how many cards lie above, so the hands of the first n cards are the first
n(n - 1)/2 of the list.

    >>> DECK.parse("QsJh2h")
    (43, 38, 2)
    >>> int(DECK.hand_index(*DECK.parse("AsAh"))), DECK.hand_name(1325)
    (1325, 'AsAh')

**Rankings** say which category beats which, and the straight in which the ace is low:

| ranking | what differs |
| --- | --- |
| ``standard`` | nothing: hold'em with 52 cards |
| ``short`` | a flush beats a full house, and A-6-7-8-9 is the lowest straight |
| ``short-trips`` | as ``short``, and three of a kind beat a straight |

``short`` is how short deck (6+ hold'em) is played today; ``short-trips`` is its older form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from subgame.errors import SubgameError, did_you_mean, fault
from subgame.frozen import Frozen
from subgame.lazy import np

if TYPE_CHECKING:
    import numpy.typing as npt


CATEGORIES = (
    "high card",
    "pair",
    "two pair",
    "three of a kind",
    "straight",
    "flush",
    "full house",
    "four of a kind",
    "straight flush",
)


@dataclass(frozen=True)
class Ranking:
    """The categories from the weakest to the strongest, and the ranks of the lowest straight."""

    categories: tuple[str, ...] = CATEGORIES
    wheel: str = "A2345"

    def swapped(self, one: str, two: str) -> Ranking:
        """With two categories in each other's place."""
        places = {one: two, two: one}
        return Ranking(tuple(places.get(name, name) for name in self.categories), self.wheel)


_SHORT = Ranking(wheel="A6789").swapped("flush", "full house")
RANKINGS = {
    "standard": Ranking(),
    "short": _SHORT,
    "short-trips": _SHORT.swapped("straight", "three of a kind"),
}


RANKS = "23456789TJQKA"
SUITS = "cdhs"

_SYMBOLS = str.maketrans("♣♦♥♠♧♢♡♤", "cdhscdhs")
_TOKEN = re.compile(r"[^\W_]+")
_CARD = re.compile(r"(10|[^\W_])([^\W_]?)")


@dataclass(frozen=True)
class Deck(Frozen):
    """A deck: some of the ranks 23456789TJQKA and some of the suits cdhs, in that order.

    `ranking` is the name of one of `subgame.games.holdem.cards.RANKINGS`.

    >>> leduc = Deck(ranks="JQK", suits="hs")
    >>> leduc.size, leduc.num_hands, leduc.name(range(6))
    (6, 15, 'JhJsQhQsKhKs')
    """

    ranks: str = RANKS
    suits: str = SUITS
    ranking: str = "standard"

    def __post_init__(self) -> None:
        if self.ranking not in RANKINGS:
            raise did_you_mean("ranking", self.ranking, RANKINGS)
        for chars, known, what in ((self.ranks, RANKS, "ranks"), (self.suits, SUITS, "suits")):
            if not chars or chars != "".join(char for char in known if char in chars):
                raise SubgameError(
                    f"The {what} of a deck must be some of '{known}', each at most once and in "
                    f"this order; '{chars}' is not."
                )
        if self.size < 2:
            raise SubgameError(f"A deck needs at least two cards, not {self.size}.")

    @cached_property
    def num_ranks(self) -> int:
        return len(self.ranks)

    @cached_property
    def num_suits(self) -> int:
        return len(self.suits)

    @cached_property
    def size(self) -> int:
        """The number of cards."""
        return self.num_ranks * self.num_suits

    @cached_property
    def num_hands(self) -> int:
        """The number of two-card hands: 1,326 in the full deck."""
        return self.size * (self.size - 1) // 2

    # Cards and text.

    def card_name(self, card: int) -> str:
        """The name of a card: 43 is Qs."""
        self._check_cards((card,))
        return self.card_names[card]

    @cached_property
    def card_names(self) -> list[str]:
        """The names of all cards."""
        return [rank + suit for rank in self.ranks for suit in self.suits]

    def name(self, cards: Iterable[int]) -> str:
        """The names of cards, joined: (43, 38, 2) is QsJh2h."""
        return "".join(self.card_name(card) for card in cards)

    @lru_cache(maxsize=1 << 14)  # noqa: B019, decks are few
    def parse(
        self, text: str, *, counts: tuple[int, ...] | None = None, what: str = "cards"
    ) -> tuple[int, ...]:
        """Cards from text, in the order written, with any separators or none.

        Case does not matter and ten may be written 10. A card that occurs twice is an error, and so
        is a number of cards that is not in ``counts``, where given.

        >>> DECK.parse("qs, JH | 10♥") == DECK.parse("QsJhTh")
        True
        >>> DECK.parse("QsJx2h", what="board")
        Traceback (most recent call last):
        subgame.errors.TextError: In the board 'QsJx2h', at 'Jx' (character 3): there is no
        suit 'x' (suits: cdhs).
          QsJx2h
            ^^
        """
        plain = text.translate(_SYMBOLS)
        cards: list[int] = []
        for word in _TOKEN.finditer(plain):
            for match in _CARD.finditer(plain, word.start(), word.end()):
                token = text[match.start() : match.end()]
                rank = self.ranks.find("T" if match[1] == "10" else match[1].upper())
                suit = self.suits.find(match[2].lower()) if match[2] else -1
                card = rank * self.num_suits + suit
                if rank < 0:
                    reason = f"there is no rank '{match[1]}' (ranks: {self.ranks})"
                elif not match[2]:
                    reason = f"the suit is missing (suits: {self.suits})"
                elif suit < 0:
                    reason = f"there is no suit '{match[2]}' (suits: {self.suits})"
                else:
                    reason = "this card was already given" if card in cards else ""
                if reason:
                    raise fault(what, text, match.start(), token, reason)
                cards.append(card)
        if counts is not None and len(cards) not in counts:
            wanted = " or ".join(map(str, sorted(set(counts))))
            raise SubgameError(f"The {what} '{text}' must have {wanted} cards, not {len(cards)}.")
        return tuple(cards)

    def _check_cards(self, cards: Iterable[int]) -> None:
        seen: set[int] = set()
        for card in map(int, cards):
            if not 0 <= card < self.size:
                raise SubgameError(
                    f"Card {card} is not in this deck, whose cards are 0 to {self.size - 1}."
                )
            if card in seen:
                raise SubgameError(f"The card {self.card_names[card]} is given twice.")
            seen.add(card)

    # Hands.

    @cached_property
    def hands(self) -> npt.NDArray[np.int64]:
        """The two cards of each hand, the low one first: [hand, 2]."""
        high, low = np.tril_indices(self.size, -1)
        return frozen(np.stack([low, high], axis=1))

    @cached_property
    def hand_masks(self) -> npt.NDArray[np.uint64]:
        """The cards of each hand as a set of bits, bit c for card c: [hand]."""
        return frozen(self.masks(self.hands))

    @cached_property
    def hand_table(self) -> npt.NDArray[np.int16]:
        """The hand of two cards in either order, -1 on the diagonal: [card, card]."""
        table = np.full((self.size, self.size), -1, dtype=np.int16)
        low, high = self.hands.T
        table[low, high] = table[high, low] = np.arange(self.num_hands)
        return frozen(table)

    def hand_index(self, first: npt.ArrayLike, second: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The index of the hand of two cards, in either order; arrays give arrays.

        >>> DECK.hand_index([1, 0], [0, 2])
        array([0, 1])
        """
        a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
        low, high = np.minimum(a, b), np.maximum(a, b)
        if (low < 0).any() or (high >= self.size).any() or (low == high).any():
            raise SubgameError(
                f"A hand must be two different cards, each from 0 to {self.size - 1}."
            )
        return np.asarray(high * (high - 1) // 2 + low)

    @lru_cache(maxsize=1 << 14)  # noqa: B019
    def parse_hand(self, text: str) -> int:
        """The index of a hand from text: ``AhAs`` is 1,325."""
        return int(self.hand_index(*self.parse(text, counts=(2,), what="hand")))

    def hand_name(self, hand: int) -> str:
        """The name of a hand, the high card first: 1,325 is AsAh."""
        if not 0 <= hand < self.num_hands:
            raise SubgameError(
                f"Hand {hand} does not exist; the hands are 0 to {self.num_hands - 1}."
            )
        return self.hand_names[hand]

    @cached_property
    def hand_names(self) -> list[str]:
        """The names of all hands."""
        cards = self.card_names
        return [cards[high] + cards[low] for low, high in self.hand_cards]

    @cached_property
    def hand_cards(self) -> list[list[int]]:
        """The two cards of each hand, as `hands` has them."""
        cards: list[list[int]] = self.hands.tolist()
        return cards

    def check_range(self, cards: npt.NDArray[Any]) -> None:
        """Raise an error unless all numbers of an array are cards of the deck."""
        if cards.size and (cards.min() < 0 or cards.max() >= self.size):
            raise SubgameError(
                f"The cards of this deck are 0 to {self.size - 1}; another card was given."
            )

    def mask(self, cards: Iterable[int]) -> int:
        """A set of cards as bits, bit c for card c."""
        chosen = tuple(cards)
        self._check_cards(chosen)
        return sum(1 << int(card) for card in chosen)

    def masks(self, cards: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
        """Sets of cards as bits: [..., card] gives [...]."""
        bits = np.uint64(1) << cards.astype(np.uint64)
        return np.asarray(np.bitwise_or.reduce(bits, axis=-1, initial=np.uint64(0)))

    def blocked(self, boards: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which hands hold a card of each board: [board, card] gives [board, hand]."""
        return np.asarray((self.hand_masks & self.masks(boards)[:, None]) != 0)

    def compatible(self, board: Iterable[int]) -> npt.NDArray[np.bool_]:
        """Which hands hold no card of the board: [hand].

        >>> int(DECK.compatible(DECK.parse("QsJh2h")).sum())
        1176
        """
        free: npt.NDArray[np.bool_] = (self.hand_masks & np.uint64(self.mask(board))) == 0
        return free

    @cached_property
    def disjoint(self) -> npt.NDArray[np.bool_]:
        """Which pairs of hands share no card: [hand, hand]."""
        masks = self.hand_masks
        return frozen((masks[:, None] & masks[None, :]) == 0)

    def pairs(self, one: npt.NDArray[np.float64], two: npt.NDArray[np.float64]) -> float:
        """The sum of products of two hands' weights [hand], over pairs that share no card.

        >>> DECK.pairs(np.ones(DECK.num_hands), np.ones(DECK.num_hands))
        1624350.0
        """
        by_card = [
            np.bincount(self.hands.ravel(), np.repeat(weights, 2), self.size)
            for weights in (one, two)
        ]
        # Pairs that share a card are subtracted; a hand and itself, which share two, only once.
        return float(one.sum() * two.sum() - by_card[0] @ by_card[1] + one @ two)

    def facing(self, reach: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """[hand] the reach of all hands that share no card with it, added up.

        >>> deck = Deck("QKA", "hs")
        >>> deck.facing(np.ones(deck.num_hands)).max()  # six pairs of four cards that are left
        np.float64(6.0)
        """
        by_card = np.bincount(self.hands.ravel(), np.repeat(reach, 2), self.size)
        total = reach.sum()
        out: npt.NDArray[np.float64] = total - by_card[self.hands].sum(1) + reach
        out[out < 1e-12 * total] = 0  # where the range is blocked, only rounding is left
        return out


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array, which can no longer be changed."""
    array.flags.writeable = False
    return array


DECK = Deck()
"""The full deck of 52 cards."""

SHORT_DECK = Deck(RANKS[RANKS.index("6") :], ranking="short")
"""The 36 cards of short deck (6+ hold'em)."""

DECKS = {
    "full": DECK,
    "short": SHORT_DECK,
    "short-trips": Deck(SHORT_DECK.ranks, ranking="short-trips"),
}
"""Decks by name; `subgame.games.holdem.cards` says how their hands rank."""


def deck_named(name: str) -> Deck:
    """One of `DECKS`.

    >>> deck_named("short").size
    36
    """
    if name not in DECKS:
        raise did_you_mean("deck", name, DECKS)
    return DECKS[name]
