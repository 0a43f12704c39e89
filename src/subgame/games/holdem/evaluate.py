"""The rank of 5, 6 or 7 cards, many hands in one call.

A rank is an integer from 0 (7-5-4-3-2 of mixed suits) to 7,461 (a royal flush): higher is better,
equal means a tie. The deck names its `cards.Ranking`; others than the standard one
have other and fewer ranks. Two numbers are summed over the cards and then looked up:

* ``where``: a set of 52 bits, 13 for each suit. A suit with five or more bits is a flush or a
  straight flush, whose rank is `Tables.flush` of its 13 bits.
* ``what``: how often each rank occurs, as base-5 digits, and in higher bits how often each suit
  occurs. The seven low ranks (the low half) and the six high ranks (the high half) have separate
  codes. The multisets of n ranks are ordered by (high half, low half). The index of one is
  ``start[n, high half] + place[low half]``, because the high half says how many cards the low half
  must have. `Tables.plain` holds its rank. This hash is perfect and minimal: 6,175, 18,395 and
  49,205 entries.

A flush excludes a full house and four of a kind: seven cards have at most two beside its five.
A deck with fewer ranks keeps its ranking: with the standard one the ace is low in 5432A only.

Equity at the showdown is how often a hand wins against the hands of a group, ties counting half.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from subgame.errors import SubgameError
from subgame.games.holdem.cards import CATEGORIES, DECK, RANKINGS, RANKS, SUITS, Deck, Ranking
from subgame.lazy import np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]


_SIZES = (5, 6, 7)
_LOW = 7  # ranks 2 to 8 are the low half, 9 to A the high half
LOW_BITS, HIGH_BITS = 17, 14  # 5**7 < 2**17, 5**6 < 2**14
SUIT_SHIFT = LOW_BITS + HIGH_BITS
_SUIT_START = 0x3333 << SUIT_SHIFT  # each suit's nibble starts at 3, so that five cards make 8
_SUIT_FULL = 0x8888 << SUIT_SHIFT
SUIT_BITS = len(RANKS)
_GROUPS = (0, 0, 0, 1, 2, 3, 6, 0, 7)
"""Where the category is in `CATEGORIES`, by half the sum of squared group sizes."""
_STRAIGHT, _FLUSH, _STRAIGHT_FLUSH = map(CATEGORIES.index, ("straight", "flush", "straight flush"))


@dataclass(frozen=True)
class Tables:
    """What the evaluator looks up. Axes: n is 5, 6, 7 cards; high, low a half's base-5 code."""

    plain: npt.NDArray[np.int16]  # [multiset of ranks] the rank without flushes
    start: npt.NDArray[np.int32]  # [n, high] where the multisets with this high half start
    place: npt.NDArray[np.int32]  # [low] its place among the low halves of as many cards
    flush: npt.NDArray[np.int16]  # [8192] the rank of 5 to 7 cards of a suit, else -1


def rank_cards(cards: npt.ArrayLike, deck: Deck = DECK) -> npt.NDArray[np.int16]:
    """The ranks of many sets of 5, 6 or 7 cards: [..., n] gives [...].

    >>> hands = [DECK.parse("AsKsQsJsTs"), DECK.parse("2c3d4h5s7c")]
    >>> rank_cards(hands).tolist()
    [7461, 0]
    """
    array = np.asarray(cards)
    if array.ndim == 0 or array.shape[-1] not in _SIZES or array.dtype.kind not in "iu":
        raise SubgameError(
            "Cards to rank are integers, 5, 6 or 7 along the last axis of an array; "
            f"this one has the shape {array.shape} and holds {array.dtype}."
        )
    return _look_up(*_keys(array, deck), array.shape[-1], deck.ranking)


def rank_hands(board: Iterable[int] | npt.ArrayLike, deck: Deck = DECK) -> npt.NDArray[np.int16]:
    """The rank of every hand on a board of 3 to 5 cards, -1 where the board blocks it: [hand].

    Many boards at once, [..., cards], give [..., hand].

    >>> ranks = rank_hands(DECK.parse("QsJsTs 2h 2d"))
    >>> int(ranks.argmax()) == DECK.parse_hand("AsKs"), int((ranks < 0).sum())
    (True, 245)
    """
    boards = np.asarray(board if isinstance(board, np.ndarray) else list(board))  # type: ignore[arg-type]
    if boards.ndim == 0 or boards.shape[-1] not in (3, 4, 5) or boards.dtype.kind not in "iu":
        raise SubgameError(
            "A board to rank has 3, 4 or 5 cards; an array of boards has the cards along its "
            f"last axis; this one has the shape {boards.shape}."
        )
    where, what = (key[..., None] for key in _keys(boards, deck))
    hand_where, hand_what = hand_keys(deck)
    blocked = (where & hand_where) != 0
    # A card counted twice may make an impossible code, so blocked hands have none.
    codes = np.where(blocked, 0, what + hand_what)
    ranks = _look_up(where | hand_where, codes, boards.shape[-1] + 2, deck.ranking)
    ranks[blocked] = -1
    return ranks


def _keys(cards: Ints, deck: Deck) -> tuple[Ints, Ints]:
    """``where`` and ``what`` of sets of cards: [..., n] gives [...]."""
    deck.check_range(cards)
    where_of, what_of = card_keys(deck)
    bits = where_of[cards]
    where = bits.sum(-1)
    if (np.bitwise_or.reduce(bits, axis=-1) != where).any():
        raise SubgameError("A card occurs twice in one of the sets of cards.")
    return where, what_of[cards].sum(-1)


def _look_up(where: Ints, what: Ints, n: int, ranking: str) -> npt.NDArray[np.int16]:
    """The rank of n cards from their two keys (see the top of the module)."""
    table = tables(ranking)
    low = what & ((1 << LOW_BITS) - 1)
    high = (what >> LOW_BITS) & ((1 << HIGH_BITS) - 1)
    ranks = np.asarray(table.plain[table.start[n - _SIZES[0]][high] + table.place[low]])
    full = (what + _SUIT_START) & _SUIT_FULL
    if full.any():
        suited = full != 0
        # 8, 128, 2048, 32768 is the full suit's nibble: its bit number over four is the suit.
        nibble = np.log2(full[suited] >> SUIT_SHIFT).astype(np.int64) // len(SUITS)
        bits = (where[suited] >> (nibble * SUIT_BITS)) & ((1 << SUIT_BITS) - 1)
        ranks[suited] = table.flush[bits]
    return ranks


@lru_cache(maxsize=8)
def card_keys(deck: Deck) -> tuple[Ints, Ints]:
    """``where`` and ``what`` of each card: [card]."""
    where, what = np.zeros((2, deck.size), dtype=np.int64)
    for card in range(deck.size):
        rank, suit = RANKS.index(deck.card_name(card)[0]), SUITS.index(deck.card_name(card)[1])
        where[card] = 1 << (suit * SUIT_BITS + rank)
        what[card] = _rank_code(rank) + (1 << (SUIT_SHIFT + 4 * suit))
    return where, what


@lru_cache(maxsize=8)
def hand_keys(deck: Deck) -> tuple[Ints, Ints]:
    """``where`` and ``what`` of each hand: [hand]."""
    where, what = card_keys(deck)
    return where[deck.hands].sum(1), what[deck.hands].sum(1)


def _rank_code(rank: int) -> int:
    """A card's share of ``what``: one in its rank's base-5 digit."""
    return int(5**rank) if rank < _LOW else int(5 ** (rank - _LOW)) << LOW_BITS


@lru_cache(maxsize=len(RANKINGS))
def tables(ranking: str) -> Tables:
    """The evaluator's tables, built at the first use (a hundredth of a second)."""
    rules = RANKINGS[ranking]
    high_cards, low_cards = _cards_of(len(RANKS) - _LOW), _cards_of(_LOW)
    lows = np.argsort(low_cards, kind="stable")  # the codes of low halves by number of cards
    many = np.bincount(low_cards)
    first = np.cumsum(many) - many
    place = np.empty(len(lows), dtype=np.int32)
    place[lows] = np.arange(len(lows)) - np.repeat(first, many)
    start = np.zeros((len(_SIZES), len(high_cards)), dtype=np.int32)
    highs: dict[int, Ints] = {}  # of the multisets of n ranks, in their order
    codes: dict[int, Ints] = {}
    base = 0
    for row, n in enumerate(_SIZES):
        left = n - high_cards.astype(np.int64)
        size = np.where(left >= 0, many[left], 0)
        start[row] = base + np.cumsum(size) - size
        highs[n] = np.repeat(np.arange(len(size)), size)
        inside = np.arange(len(highs[n])) + base - start[row][highs[n]]
        codes[n] = lows[first[left[highs[n]]] + inside]
        base += len(inside)

    bits = np.arange(1 << SUIT_BITS, dtype=np.int32)
    held = bits[:, None] >> np.arange(SUIT_BITS, dtype=np.int32) & 1  # [flush, rank]
    cards = held.sum(1)
    five = cards == 5
    digits = [*_digits(codes[5], _LOW), *_digits(highs[5], len(RANKS) - _LOW)]
    plain_keys = _strengths(np.stack(digits, axis=1).astype(np.int32), rules, flush=False)
    flush_keys = _strengths(held[five], rules, flush=True)
    ladder = np.sort(np.concatenate([plain_keys, flush_keys]))
    ladder = ladder[np.append(True, ladder[1:] != ladder[:-1])]

    plain = np.full(base, -1, dtype=np.int16)
    plain[: len(plain_keys)] = np.searchsorted(ladder, plain_keys)
    for row, n in enumerate(_SIZES[:-1]):  # the best of n + 1 cards is the best of any n of them
        own = plain[start[row][highs[n]] + place[codes[n]]]
        digits = [*_digits(codes[n], _LOW), *_digits(highs[n], len(RANKS) - _LOW)]
        for rank, digit in enumerate(digits):
            fewer = np.flatnonzero(digit < 4)  # than four of this rank
            high, low = highs[n][fewer], codes[n][fewer]
            if rank < _LOW:
                low += 5**rank
            else:
                high += 5 ** (rank - _LOW)
            more = start[row + 1][high] + place[low]
            plain[more] = np.maximum(plain[more], own[fewer])

    flush = np.full(1 << SUIT_BITS, -1, dtype=np.int16)
    flush[five] = np.searchsorted(ladder, flush_keys)
    for n in _SIZES[1:]:
        some = bits[cards == n]
        for i in range(SUIT_BITS):
            more = some[some >> i & 1 == 1]
            flush[more] = np.maximum(flush[more], flush[more & ~(1 << i)])
    return Tables(plain, start, place, flush)


def _cards_of(ranks: int) -> npt.NDArray[np.int8]:
    """How many cards each code of a half has: the sum of its base-5 digits, [5 ** ranks]."""
    cards = np.zeros(1, dtype=np.int8)
    for _ in range(ranks):
        cards = (np.arange(5, dtype=np.int8)[:, None] + cards).ravel()
    return cards


def _digits(codes: Ints, ranks: int) -> Iterator[Ints]:
    """The base-5 digits of a half's codes, the lowest first."""
    for _ in range(ranks):
        shorter = codes // 5
        yield codes - 5 * shorter
        codes = shorter


def _strengths(many: Ints, ranking: Ranking, *, flush: bool) -> Ints:
    """Five cards with so many of each rank ``[hand, rank]`` as numbers that grow with strength.

    The first digit is the category. The others are the ranks that decide ties, in order: ranks that
    are held most often come first.
    """
    base = len(RANKS)
    groups = (many * base + np.arange(base, dtype=many.dtype)) * (many > 0)
    ordered = np.sort(groups, axis=1)[:, :-6:-1]
    count = ordered // base
    rank = ordered - base * count
    category = np.array(_GROUPS)[(count * count).sum(1) // 2] + _FLUSH * flush
    decide = rank.astype(np.int64) @ base ** np.arange(4, -1, -1)
    ace, *low = map(RANKS.index, ranking.wheel)
    wheel = (many[:, [*low, ace]] == 1).all(1)
    straight = wheel | ((count[:, 0] == 1) & (rank[:, 0] - rank[:, 4] == 4))
    category[straight] = _STRAIGHT_FLUSH if flush else _STRAIGHT
    decide[straight] = np.where(wheel, low[-1], rank[:, 0])[straight] * base**4
    place = np.array([ranking.categories.index(name) for name in CATEGORIES])
    result: Ints = place[category] * base**5 + decide
    return result


def equities(boards: Ints, deck: Deck, groups: Floats) -> tuple[Floats, Floats]:
    """[board, hand, group] mass that each hand beats, and mass that it meets; 0 if blocked.

    `boards` is [board, card] with the cards of the showdown; `groups` [group, hand] has the mass of
    every hand in each group. The first divided by the second is the equity.

    >>> board = np.array([DECK.parse("Qs Js Ts 2h 2d")])
    >>> won, met = equities(board, DECK, np.ones((1, DECK.num_hands)))
    >>> hand = DECK.parse_hand("AsKs")
    >>> float(won[0, hand, 0] / met[0, hand, 0]), int(met[0, hand, 0])
    (1.0, 990)
    """
    rank, _ = dense_ranks(rank_hands(boards, deck), np.arange(deck.num_hands))
    masses = [beaten(np, rank.astype(np.int64), deck.hands, deck.size, group) for group in groups]
    won, met = (np.stack(by_group, axis=-1) for by_group in zip(*masses, strict=True))
    return won, met


def beaten(xp: Any, rank: Any, hands: Any, cards: int, group: Any) -> tuple[Any, Any]:
    """[board, hand] mass of a group that each hand beats, and mass that it meets; 0 if blocked.

    `rank` [board, hand] is that of `dense_ranks` in 64 bits, `hands` [hand, 2] are cards below
    `cards`, and `group` [hand] has the mass. All are arrays of the library `xp`, NumPy or PyTorch.

    Weaker hands count twice and equal hands once: the sum by rank over all hands, minus the sums
    over the hands with either card. Both subtract the hand itself, so it is added back once.
    """
    many, free = len(rank), rank >= 0
    lines, board = int(rank.max()) + 2, xp.cumsum(rank[:, :1] * 0 + 1, 0) - 1
    line = xp.where(free, rank, lines - 1) * many + board  # blocked ones last
    low, high = hands.T
    mass = xp.where(free, group, 0.0)

    def below(places: list[Any], bins: int) -> tuple[Any, Any]:
        """By rank: weaker hands twice and equal hands once; and all hands."""
        size = lines * many * bins
        counts = [xp.bincount(place.reshape(-1), mass.reshape(-1), size) for place in places]
        table = sum(counts[1:], counts[0]).reshape(lines, many * bins)
        return (2 * xp.cumsum(table, 0) - table).reshape(-1), table.sum(0)

    both = [line * cards + card for card in (low, high)]
    every, total = below([line], 1)
    shared, by_card = below(both, cards)
    score = every[line] - shared[both[0]] - shared[both[1]] + mass
    blocked = by_card[board * cards + low] + by_card[board * cards + high]
    met = xp.where(free, total[:, None] - blocked + mass, 0.0)
    return xp.where(free, score / 2, 0.0), met


def dense_ranks(ranks: npt.NDArray[np.int16], anyone: Ints) -> tuple[npt.NDArray[np.int16], Ints]:
    """[u, hand] ranks counted from 0 among the hands in `anyone`, and [u] how many there are."""
    width = int(ranks.max(initial=0)) + 2
    at = ranks + (np.arange(len(ranks)) * width + 1)[:, None]
    there = np.zeros(len(ranks) * width, dtype=np.bool_)
    there[at[:, anyone]] = True
    number = there.reshape(len(ranks), width)
    number[:, 0] = False  # blocked
    dense = np.cumsum(number, axis=1, dtype=np.int16) - np.int16(1)
    return dense.take(at), dense[:, -1].astype(np.int64) + 1
