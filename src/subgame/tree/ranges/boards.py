"""The boards of a hold'em tree, and what can be asked of one player's part of it.

`BoardArrays` has all boards as flat arrays, with hands in the kernels' order. Hands are ordered by
rank on the last street, then so that hands which share a card are consecutive. A whole game has
tens of thousands of boards, so `BATCH` boards are laid out at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import dense_ranks, rank_hands
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.isomorphism import hand_permutations
from subgame.tree.public_tree import OnDemand, Reals
from subgame.tree.ranges import deal
from subgame.tree.ranges.betting_tree import Street
from subgame.tree.ranges.deal import Cards, Dealt, padded

Ints = NDArray[np.int64]
Small = NDArray[np.uint16]
Floats = NDArray[np.float64]
Keys = NDArray[np.int32]
Fields = dict[str, NDArray[Any]]
"""Some fields of `BoardArrays` by name."""
Whole = TypeVar("Whole", np.uint16, np.int64)
BATCH = 128
"""Boards laid out at once: few calls for many boards, and arrays small enough for the cache."""


class BoardArrays(NamedTuple):
    """All boards as kernels see them. u board; up = 2 * board + player; h place in the hand order.

    A *place* is the index of a hand in the order of its board and player. The hands of a board come
    in *runs* that share a card, and runs in *groups* of equal rank. Equivalent cards have one
    number, counted from 0. The *orbits* are the classes of hands that suit symmetry exchanges.
    """

    street: Ints  # [u] counted from the tree's first street
    child_at: Ints  # [u + 1] its children are the boards child_at[u] .. child_at[u + 1] - 1
    weight: Floats  # [u] number of boards it represents, times the probability of each
    hands: Ints  # [up] number of hands
    store_at: Ints  # [up] where its regrets start
    hand_at: Ints  # [up] where its hands start in the next four
    cards: Small  # [h] the card that its run shares, times 2^`CARD_BITS`, plus its other one
    above: Small  # [h] the same hand's place on the parent board
    same: Small  # [h] its place in the opponent's order; `padded(hands)` if not in that range
    hand: Small  # [h] the hand itself, in the deck's order
    run_at: Ints  # [up] where its runs start in the next two
    run_card: Small  # [r] the card the run shares
    run_start: Small  # [r] its first hand; one more entry ends the last run
    group_at: Ints  # [up] where its groups start in the next
    group_run: Small  # [g] its first run; one more entry ends the last group
    groups: Ints  # [u] number of groups
    orbit_at: Ints  # [up] where its orbits start in the next two
    orbits: Ints  # [up] number of orbits; 0: the board has no suit symmetry
    orbit_start: Ints  # [o] into orbit_hand; one more entry ends the last orbit
    orbit_hand: Small  # places of hands, orbit by orbit
    size_at: Ints  # [u] where its cards start in the next; -1: no cards are equivalent
    size: Floats  # [card] how many equivalent cards are left
    dealt: Ints  # [u] the card dealt last
    share: Floats  # [u] one divided by how many of these were left before it was dealt


CARD_BITS = 6
CARD_MASK, _PAIR = (1 << CARD_BITS) - 1, (1 << 2 * CARD_BITS) - 1
_NO_HAND = np.iinfo(np.int32).max
_PLACE = 11  # bits of a place: 1,326 hands


def _sorted(deck: Deck, slot: Ints, held: Ints, group: NDArray[np.int16], groups: Ints) -> Keys:
    """[u, h] hands as sorted keys (group, shared card, other card), so that runs are long.

    The shared card of a hand is the one of its two cards that more hands of its group have.
    """
    low, high = slot[deck.hands[held].T]
    mine = group if len(held) == group.shape[1] else group[:, held]
    line = mine + (np.cumsum(groups) - groups)[:, None]
    # Blocked hands have a bin of their own.
    line = np.where(mine < 0, groups.sum(), line) * deck.size
    lows, highs = line + low, line + high
    bins = int(groups.sum() + 1) * deck.size
    table = np.bincount(lows.ravel(), minlength=bins)
    table += np.bincount(highs.ravel(), minlength=bins)
    swap = table.take(highs) > table.take(lows)
    straight, turned = (
        (low << CARD_BITS | high).astype(np.int32),
        (high << CARD_BITS | low).astype(np.int32),
    )
    keys: Keys = mine.astype(np.int32) << 2 * CARD_BITS | np.where(swap, turned, straight)
    keys[mine < 0] = _NO_HAND
    keys.sort(axis=1)
    return keys


def lay_out_hands(
    deck: Deck,
    streets: list[Street],
    dealt: list[Dealt],
    cards: Cards,
    progress: Callable[[int], None] | None,
) -> BoardArrays:
    """All boards as flat arrays."""
    parts: list[Fields] = []
    done = 0
    above: Small = np.zeros((0, deck.num_hands), dtype=np.uint16)
    for s, boards in enumerate(dealt):
        last = s == len(dealt) - 1
        below = np.zeros((0 if last else 2 * len(boards.cards), deck.num_hands), dtype=np.uint16)
        for begin in range(0, len(boards.cards), BATCH):
            batch = _Batch(deck, boards.some(slice(begin, begin + BATCH)), cards, last)
            parts.append({**batch.hand_parts(above), **batch.run_parts(), **batch.orbit_parts()})
            if not last:
                below[2 * begin : 2 * (begin + BATCH)] = batch.places
            done += batch.count
            if progress is not None:
                progress(done)
        above = below
    return _joined(streets, dealt, parts, _sizes(dealt, cards))


def _sizes(dealt: list[Dealt], cards: Cards) -> Fields:
    """How many equivalent cards are left on each board; boards with equal counts share an entry."""
    boards = [street.cards for street in dealt]
    last = [board[:, -1] if board.shape[1] else np.zeros(len(board), np.int64) for board in boards]
    size_at = np.full(sum(map(len, boards)), -1, dtype=np.int64)
    rows, share = np.ones((1, int(cards.slot.max()) + 1)), np.ones(len(size_at))
    if cards.merged:
        taken = [
            (cards.slot[board][:, :, None] == np.arange(rows.shape[1])).sum(1) for board in boards
        ]
        left = np.bincount(cards.slot) - np.concatenate(taken)
        share = 1.0 / (left[np.arange(len(left)), cards.slot[np.concatenate(last)]] + 1)
        rows, of = np.unique(left, axis=0, return_inverse=True)
        size_at = of.ravel() * rows.shape[1]
    return {
        "size_at": size_at,
        "size": rows.ravel(),
        "share": share,
        "dealt": cards.slot[np.concatenate(last)],
    }


class _Batch:
    """Some boards of a street. up = 2 * board + player, as in `BoardArrays`."""

    def __init__(self, deck: Deck, boards: Dealt, cards: Cards, last: bool) -> None:
        self.deck, self.boards, self.last = deck, boards, last
        self.count = len(boards.cards)
        kept = [cards.stand(p) for p in (0, 1)]
        self.alike = np.array_equal(kept[0], kept[1])
        anyone = np.flatnonzero(np.bincount(np.concatenate(kept)))
        # Ranks are all equal before the last street; blocked hands have -1.
        shown = boards.cards
        ranks = rank_hands(shown, deck) if last else -deck.blocked(shown).astype(np.int16)
        group, self.groups = dense_ranks(ranks, anyone)
        keys = [
            _sorted(deck, cards.slot, held, group, self.groups)
            for held in kept[: 1 if self.alike else 2]
        ]
        keys = keys * 2 if self.alike else keys
        self.hands = np.stack([(key < _NO_HAND).sum(1) for key in keys], axis=1).ravel()  # [up]
        wide = int(self.hands.max())
        both = np.full((self.count, 2, wide), _NO_HAND, dtype=np.int32)
        for p, seat_keys in enumerate(keys):
            both[:, p, : seat_keys.shape[1]] = seat_keys[:, :wide]
        self.keys = both.reshape(2 * self.count, wide)  # [up, h]
        self.real = np.arange(wide) < self.hands[:, None]
        names = np.zeros(_PAIR + 1, dtype=np.uint16)
        for held, one in itertools.product(kept, (0, 1)):
            pair = cards.slot[deck.hands[held]]
            names[pair[:, one] << CARD_BITS | pair[:, 1 - one]] = held
        self.hand: Small = names.take(self.keys & _PAIR)  # [up, h]

    @cached_property
    def places(self) -> Small:
        """[up, hand] its place; ``padded(hands)`` where it cannot be held."""
        size = self.deck.num_hands + 1  # one more, for padding
        places = np.empty((2 * self.count, size), dtype=np.uint16)
        places[:] = padded(self.hands)[:, None]
        hand = np.where(self.real, self.hand, self.deck.num_hands)
        at = np.arange(2 * self.count)[:, None] * size + hand
        places.ravel()[at] = np.arange(self.hand.shape[1], dtype=np.uint16)
        return places[:, :-1]

    def _real(self, table: Small) -> Small:
        """The entries of real hands, without padding, as a flat array."""
        flat: Small = table.ravel() if self.real.all() else table[self.real]
        return flat

    def hand_parts(self, above: Small) -> Fields:
        """Fields of `BoardArrays` by hand; `above` is `places` of the whole street before."""
        h = np.broadcast_to(np.arange(self.hand.shape[1], dtype=np.uint16), self.hand.shape)
        up, same = h, h
        if self.boards.parent[0] >= 0:
            rows = (2 * self.boards.parent[:, None] + np.arange(2)).ravel()
            up = above.take(rows[:, None] * self.deck.num_hands + self.hand)
        if not self.alike:
            other = np.arange(2 * self.count) ^ 1
            same = self.places.take(other[:, None] * self.deck.num_hands + self.hand)
        return {
            "hands": self.hands,
            "cards": self._real((self.keys & _PAIR).astype(np.uint16)),
            "above": self._real(up),
            "same": self._real(same),
            "hand": self._real(self.hand),
        }

    def run_parts(self) -> Fields:
        """Fields by run and by group; fields of offsets hold counts until `_joined`."""
        head = self.keys >> CARD_BITS
        new = self.real.copy()
        new[:, 1:] &= head[:, 1:] != head[:, :-1]
        at = np.flatnonzero(new)
        row, start = np.divmod(at, max(1, head.shape[1]))
        run_heads = head.take(at)
        runs = np.bincount(row, minlength=len(head))
        sizes = np.repeat(self.groups + 1, 2)
        first = np.cumsum(sizes) - sizes
        inside = np.bincount(first[row] + (run_heads >> CARD_BITS) + 1, minlength=sizes.sum())
        before = np.repeat(np.cumsum(runs) - runs, sizes)
        return {
            "run_at": runs + 1,
            "run_card": _ended(row, run_heads & CARD_MASK, np.zeros(len(head)), np.uint16),
            "run_start": _ended(row, start, self.hands, np.uint16),
            "group_at": sizes,
            "group_run": (np.cumsum(inside) - before).astype(np.uint16),
            "groups": self.groups,
        }

    def orbit_parts(self) -> Fields:
        """Fields by orbit; boards without suit symmetry and boards of the last street have none."""
        bits = np.repeat(self.boards.symmetries, 2)
        moved = np.flatnonzero((bits > 1) & (not self.last))
        lines = np.zeros(len(bits), dtype=np.int64)
        starts, members = np.zeros(0, np.int64), np.zeros(0, np.uint16)
        if len(moved):
            kinds, kind = np.unique(bits[moved], return_inverse=True)
            classes = np.stack([suit_classes(self.deck, int(kind)) for kind in kinds])
            h = np.arange(self.hand.shape[1])
            keys = classes[kind[:, None], self.hand[moved]] << _PLACE | h
            real, count = self.real[moved], self.hands[moved]
            keys = np.sort(np.where(real, keys, _NO_HAND), axis=1)[real]
            row = np.repeat(np.arange(len(moved)), count)
            at = np.flatnonzero(np.diff(row << _PLACE | keys >> _PLACE, prepend=-1))
            starts = _ended(row[at], at, np.cumsum(count), np.int64)
            members = (keys & ((1 << _PLACE) - 1)).astype(np.uint16)
            lines[moved] = np.bincount(row[at], minlength=len(moved)) + 1
        return {"orbit_at": lines, "orbit_start": starts, "orbit_hand": members}


def suit_classes(deck: Deck, symmetries: int) -> Ints:
    """[hand] the first hand that the given suit permutations exchange with it."""
    images = hand_permutations(deck)
    chosen = [k for k in range(len(images)) if symmetries >> k & 1]
    first: Ints = images[chosen].min(0)
    return first


def _ended(
    row: Ints, values: NDArray[np.integer], ends: NDArray[np.number], kind: type[Whole]
) -> NDArray[Whole]:
    """Values row by row; each row gets one more entry at its end."""
    out = np.empty(len(values) + len(ends), dtype=kind)
    out[np.arange(len(values)) + row] = values
    out[np.cumsum(np.bincount(row, minlength=len(ends)) + 1) - 1] = ends
    return out


def store_at(streets: list[Street], street: Ints, hands: Ints) -> Ints:
    """[up] where regrets start, from the street of each board and its numbers of hands, [up]."""
    edges = np.array([[street.rows[p] - len(street.roots) for p in (0, 1)] for street in streets])
    stored = edges[street] * padded(hands).reshape(-1, 2)
    result: Ints = (np.cumsum(stored, axis=0) - stored).ravel()
    return result


def _joined(
    streets: list[Street],
    dealt: list[Dealt],
    parts: list[Fields],
    sizes: Fields,
) -> BoardArrays:
    """The batches joined; counts become offsets."""
    members = np.cumsum([0, *(len(part["orbit_hand"]) for part in parts)])
    for part, at in zip(parts, members, strict=False):
        part["orbit_start"] += at
    fields = {name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])}
    fields |= sizes
    counts = [len(boards.cards) for boards in dealt]
    street = np.repeat(np.arange(len(dealt)), counts)
    children = [np.bincount(dealt[s + 1].parent, minlength=n) for s, n in enumerate(counts[:-1])]
    fields["street"] = street
    fields["weight"] = np.concatenate([boards.weight for boards in dealt])
    below = np.concatenate([*children, np.zeros(counts[-1], np.int64)])
    fields["child_at"] = counts[0] + np.append(0, np.cumsum(below))
    fields["orbits"] = np.maximum(fields["orbit_at"] - 1, 0)
    fields["hand_at"] = fields["hands"]
    for name in ("hand_at", "run_at", "group_at", "orbit_at"):
        fields[name] = np.cumsum(fields[name]) - fields[name]
    fields["store_at"] = store_at(streets, street, fields["hands"])
    kinds = {"Small": np.uint16, "Floats": np.float64, "Ints": np.int64}
    return BoardArrays(
        **{
            name: np.ascontiguousarray(fields[name], dtype=kinds[kind.__forward_arg__])
            for name, kind in BoardArrays.__annotations__.items()
        }
    )


@dataclass(frozen=True)
class Board:
    """One board of a tree; its hands are looked up on demand."""

    cards: tuple[int, ...]
    street: int
    parent: int
    weight: float
    number: int
    of: BoardList = field(repr=False, compare=False)

    @property
    def symmetries(self) -> Ints:
        """The suit permutations that change neither the board nor the ranges."""
        place = self.number - self.of.first[self.street]
        bits = int(self.of.dealt[self.street].symmetries[place])
        return np.array([k for k in range(bits.bit_length()) if bits >> k & 1], dtype=np.int64)

    @property
    def hands(self) -> tuple[Ints, Ints]:
        """[h] each player's hands in the kernels' order; merged hands are next to each other."""
        return self.held(0)[0], self.held(1)[0]

    def held(self, p: int) -> tuple[Ints, Ints]:
        """[h] player `p`'s hands, and the index that each has in the kernels' order."""
        b, cards = self.of.boards, self.of.cards
        at = int(b.hand_at[2 * self.number + p])
        hands = b.hand[at : at + int(b.hands[2 * self.number + p])].astype(np.int64)
        places = np.arange(len(hands))
        if not cards.merged:
            return hands, places
        of = np.zeros(self.of.deck.num_hands, dtype=np.int64)
        of[hands] = places
        every = cards.kept[p]
        every = every[self.of.deck.hand_masks[every] & self.of.deck.mask(self.cards) == 0]
        places = of[cards.first[every]]
        order = np.argsort(places, kind="stable")
        return every[order], places[order]

    @property
    def ranks(self) -> NDArray[np.int16]:
        """[hand] strength ranks; all equal before the last street. Computed on each call."""
        if self.street == len(self.of.dealt) - 1:
            return rank_hands(self.cards, self.of.deck)
        return np.zeros(self.of.deck.num_hands, dtype=np.int16)


class BoardList(OnDemand[Board]):
    """All boards of a tree, street by street; a `Board` is created on demand."""

    def __init__(
        self, deck: Deck, dealt: list[Dealt], boards: BoardArrays, cards: deal.Cards
    ) -> None:
        self.deck, self.dealt, self.boards, self.cards = deck, dealt, boards, cards
        self.first = [0, *itertools.accumulate(len(street.cards) for street in dealt)]
        super().__init__(self.first[-1], self._board)

    @cached_property
    def chance(self) -> Floats:
        """[u] the probability of a board's cards given both hands, times the boards it represents.

        That is the product of `BoardArrays.weight` down to it.
        """
        chances = [self.dealt[0].weight]
        for street in self.dealt[1:]:
            chances.append(chances[-1][street.parent] * street.weight)
        return np.concatenate(chances)

    def _board(self, u: int) -> Board:
        s = int(self.boards.street[u])
        k, street = u - self.first[s], self.dealt[s]
        above = int(street.parent[k])
        parent = above if above < 0 else above + self.first[s - 1]
        cards = tuple(street.cards[k].tolist())
        return Board(cards, s, parent, float(street.weight[k]), u, self)


class Seat(Protocol):
    """One player's part of a tree: `subgame.tree.ranges.tree.RangeSide`."""

    @property
    def player(self) -> int: ...
    @property
    def holdem(self) -> Holdem: ...
    @property
    def streets(self) -> list[Street]: ...
    @property
    def units(self) -> BoardList: ...
    @property
    def names(self) -> Sequence[str]: ...

    def name(self, i: int) -> str: ...

    def number(self, u: int, j: int, h: int) -> int: ...

    def cells(self, u: int, j: int) -> Ints: ...

    def street_block(self, numbers: Reals, s: int) -> Reals: ...
