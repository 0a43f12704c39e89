"""Dealing hold'em: the boards of every street, up to suit symmetry.

Boards that differ only by a permutation of suits are dealt once, with a weight, if the cards so far
and the ranges treat those suits alike. Where no flush is possible any more in some suits and the
ranges treat them alike, cards of one rank in these suits are *equivalent*
(`isomorphism.same_cards`). One hand then represents each class of equivalent hands, and one next
card each class of equivalent cards.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.isomorphism import card_permutations, suit_permutations
from subgame.games.holdem.sizes import STREETS
from subgame.memory import Allowance
from subgame.tree.ranges.betting_tree import LANES, SMALLER

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Count = TypeVar("Count", int, Ints)
BYTES_PER_HAND = 8
"""Bytes of a hand on a board in `BoardArrays`, at least."""


def padded(hands: Count) -> Count:
    """A number of hands, rounded up to a multiple of `LANES`."""
    return -(-hands // LANES) * LANES


class Dealt(NamedTuple):
    """The boards of one street; those with the same parent are consecutive."""

    cards: Ints  # [u, card] in the order dealt
    parent: Ints  # [u] index of the parent on the street before; -1: none
    weight: Floats  # [u] as in `BoardArrays`
    symmetries: NDArray[np.uint32]  # [u] one bit per suit permutation, see `Board.symmetries`

    def some(self, at: slice) -> Dealt:
        """Some of the boards."""
        return Dealt(self.cards[at], self.parent[at], self.weight[at], self.symmetries[at])


class Cards(NamedTuple):
    """Which cards and hands are equivalent, and which hands each player can hold."""

    same: Ints  # [card] the lowest card that is equivalent to it; itself if it is on the board
    slot: Ints  # [card] the number of its class in `BoardArrays`
    upper: Ints  # [card] the next higher equivalent card; -1: none. The highest is dealt first
    first: Ints  # [hand] the hand that represents it
    kept: tuple[Ints, Ints]  # [..] the hands each player can hold

    @property
    def merged(self) -> bool:
        """Whether any cards are equivalent."""
        return bool((self.upper >= 0).any())

    @classmethod
    def of(cls, deck: Deck, same: Ints, kept: list[Ints]) -> Cards:
        """Tables from `same` and the hands `kept` by each player."""
        _, slot = np.unique(same, return_inverse=True)
        order = np.argsort(same, kind="stable")  # class by class
        next_one = np.append(order[1:], -1)
        upper = np.empty(deck.size, dtype=np.int64)
        upper[order] = np.where(same[order] == same[next_one], next_one, -1)
        low, high = deck.hands.T
        other = np.where(same[low] == same[high], upper[same[low]], same[high])
        first = deck.hand_table[same[low], other]
        return cls(same, slot, upper, first, (kept[0], kept[1]))

    def stand(self, p: int) -> Ints:
        """The hands that represent player `p`'s hands."""
        return np.flatnonzero(np.bincount(self.first[self.kept[p]]))


def dealt_first(
    game: Holdem, boards: Sequence[Sequence[int]], symmetries: Ints, street: int
) -> Dealt:
    """The boards of a tree's first street, which have no parent."""
    if not len(boards):
        raise SubgameError("A tree must have one or more first boards.")
    for cards in boards:
        game.deck.mask(cards)
        if len(cards) != BOARD_CARDS[street]:
            raise SubgameError(
                f"On the {STREETS[street]} the board has {BOARD_CARDS[street]} cards, but "
                f"'{game.deck.name(cards)}' has {len(cards)}."
            )
    bits = np.full(len(boards), (1 << symmetries).sum(), dtype=np.uint32)
    dealt = np.array([tuple(cards) for cards in boards], dtype=np.int64)
    return Dealt(dealt, np.full(len(boards), -1), np.ones(len(boards)), bits)


def left_alone(deck: Deck, symmetries: Ints, same: Ints) -> Ints:
    """The suit permutations that fix every suit with equivalent cards.

    The other permutations add nothing: merging the hands has used them already.
    """
    merged = np.flatnonzero(np.bincount(same, minlength=deck.size)[same] > 1)
    suits = np.flatnonzero(np.bincount(merged % deck.num_suits))
    still: Ints = symmetries[(suit_permutations(deck)[symmetries][:, suits] == suits).all(1)]
    return still


def deal_out(
    game: Holdem, first: int, top: Dealt, same: Cards, number: float, allowed: Allowance
) -> list[Dealt]:
    """The boards of every street from `first` on.

    Raises an error if they need more memory than is available, or if a solver's numbers for them
    need more than `allowed`: each player has at least one action on every street.
    """
    dealt, deck, here = [top], game.deck, Allowance.of()
    for street in range(first + 1, game.rules.last_street + 1):
        above, before, new = dealt[-1], BOARD_CARDS[street - 1], BOARD_CARDS[street]
        hands = sum(hands_left(deck, above.cards, same.stand(p)) for p in (0, 1))
        # How many of all deals leave a hand possible. Suit symmetry makes at most as many boards
        # one as there are permutations that keep the cards before.
        deals = math.comb(deck.size - len(game.dead) - before - 2, new - before)
        kept = [int(bits).bit_count() for bits in above.symmetries]
        least = float((hands / np.array(kept)).sum()) * deals
        least /= deck.num_suits if same.merged else 1
        for most, what, need in (
            (allowed, "solving it", 2 * number * least),
            (here, "dealing it", BYTES_PER_HAND * least),
        ):
            most.refuse(what, need, game=game, known=False, hint=SMALLER)
        dealt.append(_next(deck, above, new, same, game.dead, 2 * len(game.folded)))
    return dealt


def cost_of_action(
    deck: Deck, dealt: Sequence[Dealt], same: Cards, number: float
) -> list[tuple[float, float]]:
    """[street] bytes of an action's regrets and averages for each player, on all boards.

    `number` is the bytes of one of them.
    """
    cost = []
    for boards in dealt:
        hands = [hands_left(deck, boards.cards, same.stand(p)) for p in (0, 1)]
        first, second = (2 * number * float(padded(hand).sum()) for hand in hands)
        cost.append((first, second))
    return cost


def hands_left(deck: Deck, boards: Ints, kept: Ints) -> Ints:
    """[u] how many of the hands `kept` each board does not block."""
    both = np.zeros((deck.size, deck.size), dtype=np.int64)  # 1: the two cards are such a hand
    low, high = deck.hands[kept].T
    both[low, high] = both[high, low] = 1
    inside = both[boards[:, :, None], boards[:, None, :]].sum((1, 2)) // 2
    left: Ints = len(kept) - both.sum(0)[boards].sum(1) + inside
    return left


def _next(
    deck: Deck, above: Dealt, cards: int, same: Cards, dead: tuple[int, ...], hidden: int
) -> Dealt:
    """The boards with the next cards dealt, one for each class of deals under suit symmetry.

    `hidden` cards are in hands that were folded (see `subgame.games.holdem.bunching`).

    The first deal of a class represents it. Which deal that is, and how many there are, depends on
    the permutations alone: a permutation that fixes a board maps undealt cards to undealt cards. Of
    equivalent cards, the highest that is left represents them, so that the cards which represent
    hands are dealt last.
    """
    size, new = deck.size, cards - above.cards.shape[1]
    permutations = card_permutations(deck)
    deals: Ints = np.array(list(itertools.combinations(range(size), new)))
    powers = size ** np.arange(new)[::-1]
    own = deals @ powers
    images = np.sort(permutations[:, deals], axis=2) @ powers  # [permutation, deal]
    bit = np.uint32(1) << np.arange(len(permutations), dtype=np.uint32)
    stay = np.where(images == own, bit[:, None], np.uint32(0)).sum(0, dtype=np.uint32)
    kinds, kind = np.unique(above.symmetries, return_inverse=True)
    times = np.zeros((len(kinds), len(deals)), dtype=np.int64)  # 0: another represents it
    for k, bits in enumerate(kinds):
        _, first, count = np.unique(
            images[(bits & bit) != 0].min(0), return_index=True, return_counts=True
        )
        times[k, first] = count
    taken = deck.masks(above.cards) | np.uint64(deck.mask(dead))
    possible = ((deck.masks(deals) & taken[:, None]) == 0) & (times > 0)[kind]
    left: Ints = np.ones(len(deals), dtype=np.int64)
    if same.merged:
        assert new == 1  # before the flop every suit can still make a flush
        card = deals[:, 0]
        upper = np.maximum(same.upper[card], 0).astype(np.uint64)
        possible &= (same.upper[card] < 0) | ((taken[:, None] >> upper) & np.uint64(1) == 1)
        left = np.array([(same.same[: c + 1] == same.same[c]).sum() for c in card])
    parent, deal = np.nonzero(possible)
    chance = np.float64(1 / math.comb(size - len(dead) - above.cards.shape[1] - 4 - hidden, new))
    weight: Floats = times[kind[parent], deal] * left[deal] * chance
    board = np.concatenate([above.cards[parent], deals[deal]], axis=1)
    return Dealt(board, parent, weight, above.symmetries[parent] & stay[deal])
