"""The boards of a hold'em tree, and the tree itself.

A *unit* is one board on one street, with the hands each player can hold there in an order that
suits its evaluator: by rank where hands are shown down. Units hang below one another by the cards
dealt. Boards that differ only in the names of suits which neither the cards so far nor the ranges
tell apart are one unit, counted as often as it stands for (see `Boards.weight`); what comes back
from it is averaged over the hands that those suits exchange.

Where no flush can come any more in some suits and the ranges do not tell them apart, their cards of
one rank are *the same card* several times (`isomorphism.same_cards`): a unit then has one hand for
all that are the same, and one board for all next cards that are. Kernels see places of hands and
slots of cards, with how often each card is left; everybody else sees every hand.

A whole game has tens of thousands of boards, so all of it is done for `BATCH` boards at a time.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from subgame.errors import MemoryLimitError, SubgameError, human_bytes
from subgame.games.holdem.bets import STREETS
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.isomorphism import (
    card_permutations,
    hand_permutations,
    same_cards,
    suit_permutations,
)
from subgame.games.holdem.rules import Betting
from subgame.tree.forest import LANES, Forest, Street, grow, lay_out
from subgame.tree.public_tree import Index, PublicTree, Treeplex, no_plex, no_terminals

Ints = NDArray[np.int64]
Small = NDArray[np.uint16]
Floats = NDArray[np.float64]
Keys = NDArray[np.int32]
BATCH = 128
"""Boards laid out at once: few calls for many boards, and arrays that stay in the cache."""


class Boards(NamedTuple):
    """All units as a kernel sees them. up = 2 * unit + player; h = place in a unit's hand order.

    Hands of a unit come in *runs* that share a card, and runs in *groups* of equal rank. Cards that
    are the same have one number, from 0 on.
    """

    street: Ints  # [u] counted from the tree's first street
    child_at: Ints  # [u + 1] its units below are child_at[u] .. child_at[u + 1] - 1
    weight: Floats  # [u] boards it stands for, times the probability of each
    hands: Ints  # [up]
    store_at: Ints  # [up] where its regrets start
    hand_at: Ints  # [up] where its hands start in the next four
    other: Small  # [h] the card that the run does not share
    above: Small  # [h] the same hand's place in the unit above
    same: Small  # [h] and in the opponent's order; `padded(hands)` where she cannot hold it
    hand: Small  # [h] the hand itself, in the deck's order
    run_at: Ints  # [up] where its runs start in the next two
    run_card: Small  # [r] the card the run shares
    run_start: Small  # [r] its first hand; one more entry ends the last run
    group_at: Ints  # [up] where its groups start in the next
    group_run: Small  # [g] its first run; one more entry ends the last group
    groups: Ints  # [u]
    orbit_at: Ints  # [up] where its orbits start in the next two
    orbits: Ints  # [up] classes of hands that suits exchange; 0: none are exchanged
    orbit_start: Ints  # [o] into orbit_hand; one more entry ends the last orbit
    orbit_hand: Small  # places of hands, orbit by orbit
    size_at: Ints  # [u] where its cards start in the next; -1: every card is there once
    size: Floats  # [card] how often it is left
    dealt: Ints  # [u] the card dealt last
    share: Floats  # [u] one by how often that was left before


def padded(hands: int) -> int:
    """Hands, up to a full vector of `LANES`."""
    return -(-hands // LANES) * LANES


def _padded(hands: Ints) -> Ints:
    """`padded` of many."""
    return -(-hands // LANES) * LANES


class Dealt(NamedTuple):
    """The boards of one street, those below one parent side by side."""

    cards: Ints  # [u, card] in the order dealt
    parent: Ints  # [u] counted on the street above; -1: none
    weight: Floats  # [u] as in `Boards`
    symmetries: NDArray[np.uint32]  # [u] a bit for each permutation of the suits, see `Unit`

    def some(self, units: slice) -> Dealt:
        return Dealt(
            self.cards[units], self.parent[units], self.weight[units], self.symmetries[units]
        )


@dataclass(frozen=True)
class Unit:
    """One board; its hands are looked up when they are asked for."""

    cards: tuple[int, ...]
    street: int
    parent: int
    weight: float
    number: int
    of: Units = field(repr=False, compare=False)

    @property
    def symmetries(self) -> Ints:
        """Permutations of the suits that leave it, and the ranges, as they are."""
        of, bits = self.of, int(self.of.dealt[self.street].symmetries[self._place])
        return np.array([k for k in range(of.permutations) if bits >> k & 1], dtype=np.int64)

    @property
    def hands(self) -> tuple[Ints, Ints]:
        """[h] in each player's order; those that are the same stand together."""
        return self.held(0)[0], self.held(1)[0]

    def held(self, p: int) -> tuple[Ints, Ints]:
        """[h] player `p`'s hands, and the kernels' place of each."""
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
        """[hand] all equal where nothing is shown down; evaluated anew on each call."""
        if self.street == len(self.of.dealt) - 1:
            return rank_hands(self.cards, self.of.deck)
        return np.zeros(self.of.deck.num_hands, dtype=np.int16)

    @property
    def _place(self) -> int:
        return self.number - self.of.first[self.street]


class Units(Sequence[Unit]):
    """All boards of a tree, street by street; each is made when it is asked for."""

    def __init__(self, deck: Deck, dealt: list[Dealt], boards: Boards, cards: Cards) -> None:
        self.deck, self.dealt, self.boards, self.cards = deck, dealt, boards, cards
        self.first = [0, *itertools.accumulate(len(street.cards) for street in dealt)]
        self.permutations = math.factorial(deck.num_suits)

    def __len__(self) -> int:
        return self.first[-1]

    @overload
    def __getitem__(self, u: int) -> Unit: ...
    @overload
    def __getitem__(self, u: slice) -> list[Unit]: ...
    def __getitem__(self, u: int | slice) -> Unit | list[Unit]:
        if isinstance(u, slice):
            return [self._unit(k) for k in range(*u.indices(len(self)))]
        if not -len(self) <= u < len(self):
            raise IndexError(u)
        return self._unit(int(u) % len(self))

    def __iter__(self) -> Iterator[Unit]:
        return map(self._unit, range(len(self)))

    def _unit(self, u: int) -> Unit:
        s = int(self.boards.street[u])
        k, street = u - self.first[s], self.dealt[s]
        above = int(street.parent[k])
        parent = above if above < 0 else above + self.first[s - 1]
        cards = tuple(street.cards[k].tolist())
        return Unit(cards, s, parent, float(street.weight[k]), u, self)


class Cards(NamedTuple):
    """Which cards and hands are the same as others, and who holds what."""

    same: Ints  # [card] the lowest card that it is the same as; itself on a board
    slot: Ints  # [card] its number in `Boards`
    upper: Ints  # [card] the next card that is the same; -1: none. Cards are dealt from above
    first: Ints  # [hand] the hand that stands for it
    kept: tuple[Ints, Ints]  # [..] the hands each player can hold

    @property
    def merged(self) -> bool:
        """Whether any are."""
        return bool((self.upper >= 0).any())

    @classmethod
    def of(cls, deck: Deck, same: Ints, kept: list[Ints]) -> Cards:
        numbers, slot = np.unique(same, return_inverse=True)
        upper = np.full(deck.size, -1)
        second = numbers.copy()  # the next of each kind after the first
        for card in range(deck.size - 1, -1, -1):
            above = np.flatnonzero(same[card + 1 :] == same[card])
            if len(above):
                upper[card] = second[slot[card]] = card + 1 + above[0]
        low, high = deck.hands.T
        twice = same[low] == same[high]
        other = np.where(twice, second[slot[low]], same[high])
        first = deck.hand_table[same[low], other]
        return cls(same, slot, upper, first, (kept[0], kept[1]))

    def stand(self, p: int) -> Ints:
        """The hands that stand for player `p`'s."""
        return np.unique(self.first[self.kept[p]])


class HandPlex(Treeplex):
    """One player's side of a `BoardTree`: infosets are counted, named on demand."""

    def __init__(self, tree: BoardTree, p: int, reach: Floats) -> None:
        put = object.__setattr__
        hands = tree.units[0].hands[p]
        put(self, "tree", tree)
        put(self, "player", p)
        put(self, "plex", no_plex())
        put(self, "slots", [tree.holdem.deck.hand_name(int(hand)) for hand in hands])
        put(self, "reach", reach)
        put(self, "num_sequences", tree.stored(p))

    tree: BoardTree
    player: int

    @cached_property
    def _infoset_at(self) -> Ints:
        """[u + 1] the infosets of each unit: decisions times hands, hands innermost."""
        p, streets = self.player, self.tree.streets
        decisions = np.array([len(street.parent[p]) for street in streets])
        return np.append(0, np.cumsum(decisions[self.tree.boards.street] * self._hands))

    @cached_property
    def _hands(self) -> Ints:
        """[u]"""
        units = self.tree.units
        assert isinstance(units, Units)
        if not units.cards.merged:
            return self.tree.boards.hands[self.player :: 2]
        kept = units.cards.kept[self.player]
        return np.concatenate([_count(units.deck, each.cards, kept) for each in units.dealt])

    def locate(self, i: int) -> tuple[int, int, int]:
        """(unit, decision, place of the hand) of infoset `i`."""
        u = int(np.searchsorted(self._infoset_at, i, side="right")) - 1
        j, h = divmod(int(i - self._infoset_at[u]), int(self._hands[u]))
        return u, j, h

    def sequences(self, i: int) -> NDArray[np.int64]:
        u, j, h = self.locate(i)
        found: Ints = self.cells(u, j)[h]
        return found

    def cells(self, u: int, j: int) -> NDArray[np.int64]:
        """[h, action] the sequences of decision `j` on the board of unit `u`."""
        t, p = self.tree, self.player
        b, street = t.boards, t.streets[int(t.boards.street[u])]
        edges = street.rows[p] - len(street.roots)
        h = t.units[u].held(p)[1]
        edge = street.first[p][j] - len(street.roots) + np.arange(len(street.actions[p][j]))
        tile = b.store_at[2 * u + p] + h // LANES * (edges * LANES) + h % LANES
        cells: Ints = tile[:, None] + edge * LANES
        return cells

    def name(self, i: int) -> str:
        """What the player knows: her hand, the board and the betting."""
        u, j, h = self.locate(i)
        t = self.tree
        hand = t.units[u].held(self.player)[0][h]
        state = t.streets[int(t.boards.street[u])].states[self.player][j]
        return t.name_of(int(hand), t.units[u].cards, state)

    @cached_property
    def names(self) -> Sequence[str]:
        return _OnDemand(int(self._infoset_at[-1]), self.name)

    @cached_property
    def actions(self) -> Sequence[tuple[str, ...]]:
        def of(i: int) -> tuple[str, ...]:
            u, j, _ = self.locate(i)
            return self.tree.streets[int(self.tree.boards.street[u])].actions[self.player][j]

        return _OnDemand(len(self.names), of)

    @cached_property
    def origin(self) -> Index:
        return np.arange(len(self.names), dtype=np.int32)


class _OnDemand(Sequence[Any]):
    """A list whose items are computed when they are asked for."""

    def __init__(self, length: int, item: Callable[[int], Any]) -> None:
        self.length, self.item = length, item

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self.item(k) for k in range(*i.indices(self.length))]
        if not -self.length <= i < self.length:
            raise IndexError(i)
        return self.item(int(i) % self.length)

    def __iter__(self) -> Iterator[Any]:
        return (self.item(i) for i in range(self.length))


@dataclass(frozen=True, eq=False, repr=False)
class BoardTree(PublicTree):
    """Hold'em compiled: the betting of each street once, and a unit for every board.

    Strategies over it are float32 weights in the kernels' own layout, played in proportion; root
    slots have no part in them.
    """

    weighted: ClassVar[bool] = True

    holdem: Holdem = None  # type: ignore[assignment]
    streets: list[Street] = field(default_factory=list)
    units: Sequence[Unit] = ()
    forest: Forest = None  # type: ignore[assignment]
    boards: Boards = None  # type: ignore[assignment]
    deals: float = 1.0
    """The sum of all pairs' weights: a root value divided by it is an expectation."""

    def stored(self, p: int) -> int:
        """Numbers a solver keeps per regret or average of player `p`."""
        last = len(self.units) - 1
        return int(self.boards.store_at[2 * last + p]) + self.edges(last, p) * padded(
            int(self.boards.hands[2 * last + p])
        )

    def edges(self, u: int, p: int) -> int:
        """Player `p`'s actions on the street of unit `u`."""
        street = self.streets[int(self.boards.street[u])]
        return street.rows[p] - len(street.roots)

    def name_of(self, hand: int, cards: tuple[int, ...], state: Any) -> str:
        """How an infoset is called; the game's own states call it the same."""
        return self.holdem.infoset_name(hand, cards, state)

    @property
    def num_nodes(self) -> int:
        """Decisions, ends and cards to come, each board counted."""
        return sum(
            street.decisions + len(street.endings) + len(street.leaves)
            for street in (self.streets[int(s)] for s in self.boards.street)
        )

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.forest, *self.boards))

    @property
    def num_cards(self) -> int:
        """Cards that are not the same."""
        units = self.units
        assert isinstance(units, Units)
        return int(units.cards.slot.max()) + 1

    @property
    def merged(self) -> bool:
        """Whether hands or boards that are the same are one in it."""
        units = self.units
        assert isinstance(units, Units)
        return units.cards.merged

    @cached_property
    def digest(self) -> str:
        sha = hashlib.sha256()
        boards = self.boards if self.merged else self.boards[: Boards._fields.index("size_at")]
        for array in (*self.forest, *boards, *(side.reach for side in self.players)):
            sha.update(np.ascontiguousarray(array).tobytes())
        return sha.hexdigest()[:16]


def compile_boards(
    game: Holdem,
    *,
    memory_limit: float = math.inf,
    every_hand: bool = False,
    merge: bool = False,
    boards: Sequence[Sequence[int]] | None = None,
    roots: list[Betting] | None = None,
    progress: Callable[[int], None] | None = None,
) -> BoardTree:
    """Compile hold'em. With `every_hand` a hand outside the range is a root slot of reach 0.

    With `merge`, cards that are the same are one card where the game allows it; see above.

    `memory_limit` is checked against what a solver will keep: two float32 per action, hand and
    board. `progress` is called now and then with the number of boards laid out so far.

    With `boards`, those stand side by side on the first street instead of the game's own, each
    with every hand that it leaves, weight 1 and no suits exchanged. Root slots are then those of
    the first of them, reach is 1 and `deals` counts the pairs of hands on one board: whoever
    solves such a tree brings a reach for every board. `roots` are the ways into the first street,
    instead of `game.start()`.
    """
    if roots is not None and len({root.street for root in roots}) != 1:
        raise SubgameError("The roots of a tree must be one or more, all on the same street.")
    streets = grow(game, roots)
    deck, weights = game.deck, game.weights()
    if boards is None:
        free = deck.compatible(game.board)
        kept = [np.flatnonzero(free if every_hand else weight > 0) for weight in weights]
        to_come = BOARD_CARDS[streets[-1].index] - len(game.board)
        same = same_cards(game.board, to_come, weights, deck) if merge else np.arange(deck.size)
        top = _top([game.board], _apart(deck, game.symmetries, same))
    else:
        weights = (np.ones(deck.num_hands), np.ones(deck.num_hands))
        kept, same = [np.arange(deck.num_hands)] * 2, np.arange(deck.size)
        top = _top(boards, np.zeros(1, np.int64))
    _check_top(deck, top, streets[0].index)
    cards = Cards.of(deck, same, kept)
    dealt = list(_deal_out(game, streets, top, cards, memory_limit))
    arrays = _lay_out(deck, streets, dealt, cards, progress)
    units = Units(deck, dealt, arrays, cards)
    reach = [weight[held] for weight, held in zip(weights, units[0].hands, strict=True)]
    if boards is None:
        deals = float(weights[0] @ deck.disjoint @ weights[1])
    else:
        deals = float(deck.disjoint[np.ix_(*units[0].hands)].sum())
    tree = BoardTree(
        game=str(game), players=(None, None), terminals=no_terminals(),  # type: ignore[arg-type]
        node_names=(), node_parent=np.zeros(0, np.int32), node_chance=np.zeros(0),
        holdem=game, streets=streets, units=units, forest=lay_out(streets), boards=arrays,
        deals=deals,
    )  # fmt: skip
    sides = tuple(HandPlex(tree, p, reach[p]) for p in (0, 1))
    object.__setattr__(tree, "players", sides)
    return tree


# Dealing -------------------------------------------------------------------------------------


def _top(boards: Sequence[Sequence[int]], symmetries: Ints) -> Dealt:
    """Boards that nothing lies above."""
    if len({len(cards) for cards in boards}) != 1:
        raise SubgameError("Boards side by side must be one or more, with equally many cards.")
    cards = np.array([tuple(cards) for cards in boards], dtype=np.int64)
    bits = np.full(len(cards), (1 << symmetries).sum(), dtype=np.uint32)
    return Dealt(cards, np.full(len(cards), -1), np.ones(len(cards)), bits)


def _apart(deck: Deck, symmetries: Ints, same: Ints) -> Ints:
    """The permutations that leave suits alone of which cards are the same: no more is in others."""
    suits = np.unique(np.flatnonzero(np.bincount(same, minlength=deck.size)[same] > 1)
                      % deck.num_suits)  # fmt: skip
    still: Ints = symmetries[(suit_permutations(deck)[symmetries][:, suits] == suits).all(1)]
    return still


def _check_top(deck: Deck, top: Dealt, street: int) -> None:
    for cards in top.cards.tolist():
        deck.mask(cards)
        if len(cards) != BOARD_CARDS[street]:
            raise SubgameError(
                f"On the {STREETS[street]} the board has {BOARD_CARDS[street]} cards; "
                f"'{deck.name(cards)}' has {len(cards)}."
            )


def _deal_out(
    game: Holdem, streets: list[Street], top: Dealt, same: Cards, limit: float
) -> Iterator[Dealt]:
    """Every board, street by street, if what a solver keeps of them fits."""
    needed, boards = 0, top
    for s, street in enumerate(streets):
        if s > 0:
            boards = _next(game.deck, boards, BOARD_CARDS[street.index], same)
        each = np.zeros(len(boards.cards), dtype=np.int64)
        for p in (0, 1):
            wide = _padded(_count(game.deck, boards.cards, same.stand(p)))
            each += 8 * (street.rows[p] - len(street.roots)) * wide  # regrets and average, float32
        total = needed + np.cumsum(each)
        needed = int(total[-1])
        if needed > limit:
            over = int(total[np.argmax(total > limit)])
            raise MemoryLimitError(
                f"{game} needs more than {human_bytes(over)} to solve, over the limit "
                f"of {human_bytes(limit)}."
            )
        yield boards


def _count(deck: Deck, boards: Ints, kept: Ints) -> Ints:
    """[u] how many of the hands `kept` each board leaves."""
    both = np.zeros((deck.size, deck.size), dtype=np.int64)  # 1: the two cards are such a hand
    low, high = deck.hands[kept].T
    both[low, high] = both[high, low] = 1
    inside = both[boards[:, :, None], boards[:, None, :]].sum((1, 2)) // 2
    left: Ints = len(kept) - both.sum(0)[boards].sum(1) + inside
    return left


def _next(deck: Deck, above: Dealt, cards: int, same: Cards) -> Dealt:
    """The boards with the next cards dealt, one of each kind that suits exchange.

    Of deals that suits exchange the first stands for all. Which it is, and how many they are,
    depends on the suits alone: whatever leaves a board as it is makes free cards of free cards.
    Of cards that are the same the last one left stands for all, so that those which stand for
    hands are the last to be dealt.
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
    times = np.zeros((len(kinds), len(deals)), dtype=np.int64)  # 0: another stands for it
    for k, bits in enumerate(kinds):
        _, first, count = np.unique(
            images[(bits & bit) != 0].min(0), return_index=True, return_counts=True
        )
        times[k, first] = count
    masks = np.uint64(1) << deals.astype(np.uint64)
    taken = np.bitwise_or.reduce(np.uint64(1) << above.cards.astype(np.uint64), axis=1, initial=0)
    free = (np.bitwise_or.reduce(masks, axis=1) & taken[:, None]) == 0
    possible = free & (times > 0)[kind]
    left: Ints = np.ones(len(deals), dtype=np.int64)
    if same.merged:
        assert new == 1  # as long as a flop is to come, every suit can make a flush
        card = deals[:, 0]
        upper = np.maximum(same.upper[card], 0).astype(np.uint64)
        possible &= (same.upper[card] < 0) | ((taken[:, None] >> upper) & np.uint64(1) == 1)
        left = np.array([(same.same[: c + 1] == same.same[c]).sum() for c in card])
    parent, deal = np.nonzero(possible)
    chance = np.float64(1 / math.comb(size - above.cards.shape[1] - 4, new))
    weight: Floats = times[kind[parent], deal] * left[deal] * chance
    board = np.concatenate([above.cards[parent], deals[deal]], axis=1)
    return Dealt(board, parent, weight, above.symmetries[parent] & stay[deal])


# Hands in order ------------------------------------------------------------------------------

_CARD = 6  # bits of a card
_ONE, _PAIR = (1 << _CARD) - 1, (1 << 2 * _CARD) - 1
_NO_HAND = np.iinfo(np.int32).max
_PLACE = 11  # bits of a place: 1,326 hands


def _ranks(deck: Deck, cards: Ints, shown: bool) -> NDArray[np.int16]:
    """[u, hand] -1 where the board blocks it; all equal where nothing is shown down."""
    if shown:
        return rank_hands(cards, deck)
    taken = np.bitwise_or.reduce(np.uint64(1) << cards.astype(np.uint64), axis=1, initial=0)
    blocked: NDArray[np.bool_] = (deck.hand_masks & taken[:, None]) != 0
    return -blocked.astype(np.int16)


def dense_ranks(ranks: NDArray[np.int16], anyone: Ints) -> tuple[NDArray[np.int16], Ints]:
    """[u, hand] ranks counted from 0 among the hands `anyone` holds, and [u] how many there are."""
    width = int(ranks.max(initial=0)) + 2
    at = ranks + (np.arange(len(ranks)) * width + 1)[:, None]
    there = np.zeros(len(ranks) * width, dtype=np.bool_)
    there[at[:, anyone]] = True
    number = there.reshape(len(ranks), width)
    number[:, 0] = False  # blocked
    dense = np.cumsum(number, axis=1, dtype=np.int16) - np.int16(1)
    return dense.take(at), dense[:, -1].astype(np.int64) + 1


def _sorted(deck: Deck, slot: Ints, held: Ints, group: NDArray[np.int16], groups: Ints) -> Keys:
    """[u, h] hands by group, then so that runs are long: group, shared card, other card.

    Of its two cards a hand shares the one that more hands of its group have.
    """
    low, high = slot[deck.hands[held].T]
    mine = group if len(held) == group.shape[1] else group[:, held]
    line = mine + (np.cumsum(groups) - groups)[:, None]
    line = np.where(mine < 0, groups.sum(), line) * deck.size  # blocked hands count apart
    lows, highs = line + low, line + high
    bins = int(groups.sum() + 1) * deck.size
    table = np.bincount(lows.ravel(), minlength=bins)
    table += np.bincount(highs.ravel(), minlength=bins)
    swap = table.take(highs) > table.take(lows)
    given, turned = (low << _CARD | high).astype(np.int32), (high << _CARD | low).astype(np.int32)
    keys: Keys = mine.astype(np.int32) << 2 * _CARD | np.where(swap, turned, given)
    keys[mine < 0] = _NO_HAND
    keys.sort(axis=1)
    return keys


def _lay_out(
    deck: Deck, streets: list[Street], dealt: list[Dealt], cards: Cards,
    progress: Callable[[int], None] | None,
) -> Boards:  # fmt: skip
    """Units as flat arrays."""
    parts: list[dict[str, NDArray[Any]]] = []
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
            done += batch.units
            if progress is not None:
                progress(done)
        above = below
    return _joined(streets, dealt, parts, _sizes(deck, dealt, cards))


def _sizes(deck: Deck, dealt: list[Dealt], cards: Cards) -> dict[str, NDArray[Any]]:
    """How often each card is left on each board; boards on which that is the same share a row."""
    boards = [each.cards for each in dealt]
    last = [each[:, -1] if each.shape[1] else np.zeros(len(each), np.int64) for each in boards]
    size_at = np.full(sum(map(len, boards)), -1, dtype=np.int64)
    rows, share = np.ones((1, int(cards.slot.max()) + 1)), np.ones(len(size_at))
    if cards.merged:
        out = np.ones((len(size_at), deck.size), dtype=np.bool_)
        at = 0
        for each in boards:
            out[np.arange(at, at + len(each))[:, None], each] = False
            at += len(each)
        left = out.astype(np.int64) @ (cards.slot[:, None] == np.arange(rows.shape[1]))
        share = 1.0 / (left[np.arange(len(left)), cards.slot[np.concatenate(last)]] + 1)
        rows, of = np.unique(left, axis=0, return_inverse=True)
        size_at = of.ravel() * rows.shape[1]
    return {"size_at": size_at, "size": rows.ravel(), "share": share,
            "dealt": cards.slot[np.concatenate(last)]}  # fmt: skip


class _Batch:
    """Some boards of a street. up = 2 * unit + player, as in `Boards`."""

    def __init__(self, deck: Deck, boards: Dealt, cards: Cards, last: bool) -> None:
        self.deck, self.boards, self.last = deck, boards, last
        self.units = len(boards.cards)
        kept = [cards.stand(p) for p in (0, 1)]
        self.alike = np.array_equal(kept[0], kept[1])
        anyone = np.union1d(kept[0], kept[1])
        group, self.groups = dense_ranks(_ranks(deck, boards.cards, last), anyone)
        keys = [_sorted(deck, cards.slot, held, group, self.groups)
                for held in kept[: 1 if self.alike else 2]]  # fmt: skip
        keys = keys * 2 if self.alike else keys
        self.hands = np.stack([(each < _NO_HAND).sum(1) for each in keys], axis=1).ravel()  # [up]
        wide = int(self.hands.max())
        both = np.full((self.units, 2, wide), _NO_HAND, dtype=np.int32)
        for p, each in enumerate(keys):
            both[:, p, : each.shape[1]] = each[:, :wide]
        self.keys = both.reshape(2 * self.units, wide)  # [up, h]
        self.real = np.arange(wide) < self.hands[:, None]
        names = np.zeros(_PAIR + 1, dtype=np.uint16)
        for held, one in itertools.product(kept, (0, 1)):
            pair = cards.slot[deck.hands[held]]
            names[pair[:, one] << _CARD | pair[:, 1 - one]] = held
        self.hand: Small = names.take(self.keys & _PAIR)  # [up, h]

    @cached_property
    def places(self) -> Small:
        """[up, hand] its place; ``padded(hands)`` where it is not held."""
        size = self.deck.num_hands + 1  # one more, for what is no hand
        found = np.empty((2 * self.units, size), dtype=np.uint16)
        found[:] = _padded(self.hands)[:, None]
        hand = np.where(self.real, self.hand, self.deck.num_hands)
        at = np.arange(2 * self.units)[:, None] * size + hand
        found.ravel()[at] = np.arange(self.hand.shape[1], dtype=np.uint16)
        return found[:, :-1]

    def _real(self, table: NDArray[Any]) -> NDArray[Any]:
        """Hands one after another."""
        flat: NDArray[Any] = table.ravel() if self.real.all() else table[self.real]
        return flat

    def hand_parts(self, above: Small) -> dict[str, NDArray[Any]]:
        """Fields of `Boards` by hand; `above` are `places` on the whole street above."""
        h = np.broadcast_to(np.arange(self.hand.shape[1], dtype=np.uint16), self.hand.shape)
        up, same = h, h
        if self.boards.parent[0] >= 0:
            rows = (2 * self.boards.parent[:, None] + np.arange(2)).ravel()
            up = above.take(rows[:, None] * self.deck.num_hands + self.hand)
        if not self.alike:
            other = np.arange(2 * self.units) ^ 1
            same = self.places.take(other[:, None] * self.deck.num_hands + self.hand)
        return {
            "hands": self.hands,
            "other": self._real((self.keys & _ONE).astype(np.uint16)),
            "above": self._real(up),
            "same": self._real(same),
            "hand": self._real(self.hand),
        }

    def run_parts(self) -> dict[str, NDArray[Any]]:
        """Fields by run and by group; for those that say where, how many there are."""
        head = self.keys >> _CARD
        new = self.real.copy()
        new[:, 1:] &= head[:, 1:] != head[:, :-1]
        at = np.flatnonzero(new)
        row, start = np.divmod(at, max(1, head.shape[1]))
        found = head.take(at)
        runs = np.bincount(row, minlength=len(head))
        slots = np.repeat(self.groups + 1, 2)
        first = np.cumsum(slots) - slots
        inside = np.bincount(first[row] + (found >> _CARD) + 1, minlength=slots.sum())
        before = np.repeat(np.cumsum(runs) - runs, slots)
        return {
            "run_at": runs + 1,
            "run_card": _ended(row, found & _ONE, np.zeros(len(head)), np.uint16),
            "run_start": _ended(row, start, self.hands, np.uint16),
            "group_at": slots,
            "group_run": (np.cumsum(inside) - before).astype(np.uint16),
            "groups": self.groups,
        }

    def orbit_parts(self) -> dict[str, NDArray[Any]]:
        """Fields by orbit; boards have none where suits exchange nothing or nothing is below."""
        bits = np.repeat(self.boards.symmetries, 2)
        moved = np.flatnonzero((bits > 1) & (not self.last))
        lines = np.zeros(len(bits), dtype=np.int64)
        starts, members = np.zeros(0, np.int64), np.zeros(0, np.uint16)
        if len(moved):
            kinds, kind = np.unique(bits[moved], return_inverse=True)
            classes = np.stack([suit_classes(self.deck, int(each)) for each in kinds])
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
    """[hand] the first hand that suits exchange with it."""
    images = hand_permutations(deck)
    chosen = [k for k in range(len(images)) if symmetries >> k & 1]
    first: Ints = images[chosen].min(0)
    return first


def _ended(row: Ints, values: NDArray[Any], ends: NDArray[Any], kind: Any) -> NDArray[Any]:
    """Values row by row, each row with one more entry at its end."""
    out = np.empty(len(values) + len(ends), dtype=kind)
    out[np.arange(len(values)) + row] = values
    out[np.cumsum(np.bincount(row, minlength=len(ends)) + 1) - 1] = ends
    return out


def _joined(
    streets: list[Street],
    dealt: list[Dealt],
    parts: list[dict[str, NDArray[Any]]],
    sizes: dict[str, NDArray[Any]],
) -> Boards:
    """All batches together; what was counted in each becomes where it starts."""
    members = np.cumsum([0, *(len(part["orbit_hand"]) for part in parts)])
    for part, at in zip(parts, members, strict=False):
        part["orbit_start"] += at
    found = {name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])}
    found |= sizes
    counts = [len(boards.cards) for boards in dealt]
    street = np.repeat(np.arange(len(dealt)), counts)
    children = [np.bincount(dealt[s + 1].parent, minlength=n) for s, n in enumerate(counts[:-1])]
    found["street"] = street
    found["weight"] = np.concatenate([boards.weight for boards in dealt])
    below = np.concatenate([*children, np.zeros(counts[-1], np.int64)])
    found["child_at"] = counts[0] + np.append(0, np.cumsum(below))
    found["orbits"] = np.maximum(found["orbit_at"] - 1, 0)
    found["hand_at"] = found["hands"]
    for name in ("hand_at", "run_at", "group_at", "orbit_at"):
        found[name] = np.cumsum(found[name]) - found[name]
    edges = np.array([[each.rows[p] - len(each.roots) for p in (0, 1)] for each in streets])
    stored = edges[street] * _padded(found["hands"]).reshape(-1, 2)
    found["store_at"] = (np.cumsum(stored, axis=0) - stored).ravel()
    kinds = {"Small": np.uint16, "Floats": np.float64, "Ints": np.int64}
    return Boards(**{
        name: np.ascontiguousarray(found[name], dtype=kinds[kind.__forward_arg__])
        for name, kind in Boards.__annotations__.items()
    })  # fmt: skip
