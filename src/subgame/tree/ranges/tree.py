"""The boards of a hold'em tree, and the tree itself.

A *unit* is one board on one street, with the hands each player can hold there in an order that
suits its evaluator: by rank where hands are shown down. BoardList hang below one another by the cards
dealt. Boards that differ only in the names of suits which neither the cards so far nor the ranges
tell apart are one unit, counted as often as it stands for (see `BoardArrays.weight`); what comes back
from it is averaged over the hands that those suits exchange.

Where no flush can come any more in some suits and the ranges do not tell them apart, their cards of
one rank are *the same card* several times (`isomorphism.same_cards`): a unit then has one hand for
all that are the same, and one board for all next cards that are. Kernels see places of hands and
slots of cards, with how often each card is left; everybody else sees every hand.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.isomorphism import same_cards
from subgame.games.holdem.rules import Betting
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.betting_tree import LANES, BettingTree, Street, grow, lay_out
from subgame.tree.ranges.deal import (
    Cards,
    Dealt,
    check_first,
    deal_out,
    dealt_first,
    hands_left,
    left_alone,
    padded,
)
from subgame.tree.ranges.hand_order import BoardArrays, lay_out_hands
from subgame.tree.ranges.probabilities import normalise, sums_error

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Merge = bool | Literal["boards"]


@dataclass(frozen=True)
class Board:
    """One board; its hands are looked up when they are asked for."""

    cards: tuple[int, ...]
    street: int
    parent: int
    weight: float
    number: int
    of: BoardList = field(repr=False, compare=False)

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


class BoardList(Sequence[Board]):
    """All boards of a tree, street by street; each is made when it is asked for."""

    def __init__(self, deck: Deck, dealt: list[Dealt], boards: BoardArrays, cards: Cards) -> None:
        self.deck, self.dealt, self.boards, self.cards = deck, dealt, boards, cards
        self.first = [0, *itertools.accumulate(len(street.cards) for street in dealt)]
        self.permutations = math.factorial(deck.num_suits)

    def __len__(self) -> int:
        return self.first[-1]

    @overload
    def __getitem__(self, u: int) -> Board: ...
    @overload
    def __getitem__(self, u: slice) -> list[Board]: ...
    def __getitem__(self, u: int | slice) -> Board | list[Board]:
        if isinstance(u, slice):
            return [self._unit(k) for k in range(*u.indices(len(self)))]
        if not -len(self) <= u < len(self):
            raise IndexError(u)
        return self._unit(int(u) % len(self))

    def __iter__(self) -> Iterator[Board]:
        return map(self._unit, range(len(self)))

    def chance(self, u: int) -> float:
        """How likely the cards of a board are dealt, given what both players hold."""
        chance = 1.0
        while (unit := self._unit(u)).parent >= 0:
            chance, u = chance * unit.weight, unit.parent
        return chance

    def _unit(self, u: int) -> Board:
        s = int(self.boards.street[u])
        k, street = u - self.first[s], self.dealt[s]
        above = int(street.parent[k])
        parent = above if above < 0 else above + self.first[s - 1]
        cards = tuple(street.cards[k].tolist())
        return Board(cards, s, parent, float(street.weight[k]), u, self)


@dataclass(frozen=True, eq=False)
class RangeSide:
    """One player's side of a `RangeTree`: infosets are counted, and named on demand."""

    player: int
    holdem: Holdem = field(repr=False)
    streets: list[Street] = field(repr=False)
    units: BoardList = field(repr=False)
    slots: Sequence[str] = field(repr=False)  # [s] the hands on the first board
    reach: Floats = field(repr=False)  # [s]
    num_sequences: int  # what a solver keeps per regret or average, padding included

    @cached_property
    def _infoset_at(self) -> Ints:
        """[u + 1] the infosets of each unit: decisions times hands, hands innermost."""
        decisions = np.array([len(street.parent[self.player]) for street in self.streets])
        return np.append(0, np.cumsum(decisions[self.units.boards.street] * self._hands))

    @cached_property
    def _hands(self) -> Ints:
        """[u]"""
        units = self.units
        if not units.cards.merged:
            return units.boards.hands[self.player :: 2]
        kept = units.cards.kept[self.player]
        return np.concatenate([hands_left(units.deck, each.cards, kept) for each in units.dealt])

    def _street(self, u: int) -> Street:
        return self.streets[int(self.units.boards.street[u])]

    def locate(self, i: int) -> tuple[int, int, int]:
        """(unit, decision, place of the hand) of infoset `i`."""
        u = int(np.searchsorted(self._infoset_at, i, side="right")) - 1
        j, h = divmod(int(i - self._infoset_at[u]), int(self._hands[u]))
        return u, j, h

    def sequences(self, i: int) -> NDArray[np.int64]:
        """The sequences of infoset `i`, one per action."""
        u, j, h = self.locate(i)
        found: Ints = self.cells(u, j)[h]
        return found

    def cells(self, u: int, j: int) -> NDArray[np.int64]:
        """[h, action] the sequences of decision `j` on the board of unit `u`."""
        p, street = self.player, self._street(u)
        edges = street.rows[p] - len(street.roots)
        h = self.units[u].held(p)[1]
        edge = street.first[p][j] - len(street.roots) + np.arange(len(street.actions[p][j]))
        store = self.units.boards.store_at[2 * u + p]
        tile = store + h // LANES * (edges * LANES) + h % LANES
        cells: Ints = tile[:, None] + edge * LANES
        return cells

    def street_cells(self, s: int, j: int) -> Ints:
        """[board and hand, action] the sequences of decision `j` on all boards of street `s`."""
        b, street, p = self.units.boards, self.streets[s], self.player
        first, last = self.units.first[s : s + 2]
        hands, start = (each[2 * first + p : 2 * last : 2] for each in (b.hands, b.store_at))
        h = np.arange(int(hands.sum())) - np.repeat(np.cumsum(hands) - hands, hands)
        edges = street.rows[p] - len(street.roots)
        edge = street.first[p][j] - len(street.roots) + np.arange(len(street.actions[p][j]))
        tile = np.repeat(start, hands) + h // LANES * (edges * LANES) + h % LANES
        cells: Ints = tile[:, None] + edge * LANES
        return cells

    def decisions(self) -> Iterator[tuple[Ints, tuple[str, ...]]]:
        """Per street and decision the sequences [board and hand, action], and the actions."""
        for s, street in enumerate(self.streets):
            for j, actions in enumerate(street.actions[self.player]):
                yield self.street_cells(s, j), actions

    def name(self, i: int) -> str:
        """What the player knows at infoset `i`: the own hand, the board and the betting."""
        u, j, h = self.locate(i)
        hand = self.units[u].held(self.player)[0][h]
        state = self._street(u).states[self.player][j]
        return self.holdem.infoset_name(int(hand), self.units[u].cards, state)

    def actions_at(self, i: int) -> tuple[str, ...]:
        """The actions of infoset `i`."""
        u, j, _ = self.locate(i)
        return self._street(u).actions[self.player][j]

    @cached_property
    def names(self) -> Sequence[str]:
        """[i]"""
        return OnDemand(int(self._infoset_at[-1]), self.name)

    @cached_property
    def actions(self) -> Sequence[tuple[str, ...]]:
        """[i]"""
        return OnDemand(int(self._infoset_at[-1]), self.actions_at)

    @cached_property
    def index(self) -> dict[str, int]:
        """From an infoset's name to its number."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def origin(self) -> NDArray[np.int32]:
        """[i] infosets are in the game's own order."""
        return np.arange(len(self.names), dtype=np.int32)


class OnDemand(Sequence[Any]):
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
class RangeTree(PublicTree):
    """Hold'em compiled: the betting of each street once, and a unit for every board.

    Strategies over it are float32, in the kernels' own layout ``[unit][tile][action][LANES]``: the
    hands of a board in tiles of `LANES`, the last one padded. Root slots have no part in them.
    """

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.float32)

    players: tuple[RangeSide, RangeSide]
    holdem: Holdem
    streets: list[Street]
    units: BoardList
    betting_tree: BettingTree
    boards: BoardArrays
    deals: float
    """The sum of all pairs' weights: a root value divided by it is an expectation."""

    def action_class(self, action: str) -> str:
        """fold, call (or check) or raise (or bet)."""
        return {"f": "fold", "c": "call"}.get(action[0], "raise")

    def stored(self, p: int) -> int:
        """Numbers a solver keeps per regret or average of player `p`."""
        return self.players[p].num_sequences

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
        return sum(array.nbytes for array in (*self.betting_tree, *self.boards))

    @property
    def num_cards(self) -> int:
        """Cards that are not the same."""
        return int(self.units.cards.slot.max()) + 1

    @property
    def merged(self) -> bool:
        """Whether hands that are the same are one in it."""
        return self.units.cards.merged

    def normalise(self, p: int, weights: NDArray[Any]) -> NDArray[np.float32]:
        return normalise(self.streets, self.boards, p, weights)

    def sums_error(self, p: int, probs: NDArray[Any]) -> float:
        return sums_error(self.streets, self.boards, p, probs)

    @cached_property
    def digest(self) -> str:
        sha = hashlib.sha256()
        boards = self.boards if self.merged else self.boards[: BoardArrays._fields.index("size_at")]
        for array in (*self.betting_tree, *boards, *(side.reach for side in self.players)):
            sha.update(np.ascontiguousarray(array).tobytes())
        return sha.hexdigest()[:16]


def compile_range_tree(
    game: Holdem,
    *,
    memory_limit: float = math.inf,
    every_hand: bool = False,
    merge: Merge = "boards",
    boards: Sequence[Sequence[int]] | None = None,
    roots: list[Betting] | None = None,
    progress: Callable[[int], None] | None = None,
) -> RangeTree:
    """Compile hold'em. With `every_hand` a hand outside the range is a root slot of reach 0.

    `merge` says what is one where the game allows it: boards that suits exchange ("boards"), cards
    that are the same as well (True), or nothing (False).

    `memory_limit` is checked against what a solver will keep: two float32 per action, hand and
    board. `progress` is called now and then with the number of boards laid out so far.

    With `boards`, those stand side by side on the first street instead of the game's own, each
    with every hand that it leaves, weight 1 and no suits exchanged. Root slots are then those of
    the first of them, reach is 1 and `deals` counts the pairs of hands on one board: whoever
    solves such a tree brings a reach for every board. `roots` are the ways into the first street,
    instead of `game.start()`.
    """
    if merge not in (True, False, "boards"):
        raise SubgameError(f'merge is True, "boards" or False, not {merge!r}.')
    if roots is not None and len({root.street for root in roots}) != 1:
        raise SubgameError("The roots of a tree must be one or more, all on the same street.")
    streets = grow(game, roots)
    deck, weights = game.deck, game.weights()
    if boards is None:
        free = deck.compatible(game.board)
        kept = [np.flatnonzero(free if every_hand else weight > 0) for weight in weights]
        to_come = BOARD_CARDS[streets[-1].index] - len(game.board)
        same, suits = np.arange(deck.size), game.symmetries if merge else np.zeros(1, np.int64)
        if merge and merge != "boards":
            same = same_cards(game.board, to_come, weights, deck)
        top = dealt_first([game.board], left_alone(deck, suits, same))
    else:
        weights = (np.ones(deck.num_hands), np.ones(deck.num_hands))
        kept, same = [np.arange(deck.num_hands)] * 2, np.arange(deck.size)
        top = dealt_first(boards, np.zeros(1, np.int64))
    check_first(deck, top, streets[0].index)
    cards = Cards.of(deck, same, kept)
    dealt = list(deal_out(game, streets, top, cards, memory_limit))
    arrays = lay_out_hands(deck, streets, dealt, cards, progress)
    units = BoardList(deck, dealt, arrays, cards)
    reach = [weight[held] for weight, held in zip(weights, units[0].hands, strict=True)]
    if boards is None:
        deals = float(weights[0] @ deck.disjoint @ weights[1])
    else:
        deals = float(deck.disjoint[np.ix_(*units[0].hands)].sum())
    return put_together(game, streets, units, (reach[0], reach[1]), deals)


def put_together(
    game: Holdem,
    streets: list[Street],
    units: BoardList,
    reach: tuple[Floats, Floats],
    deals: float,
) -> RangeTree:
    """A tree from its betting and its boards; `reach` is that of the first board's hands."""
    one, two = (
        RangeSide(
            player=p,
            holdem=game,
            streets=streets,
            units=units,
            slots=[game.deck.hand_name(int(hand)) for hand in units[0].hands[p]],
            reach=reach[p],
            num_sequences=_stored(streets, units.boards, p),
        )
        for p in (0, 1)
    )
    return RangeTree(
        game=str(game),
        players=(one, two),
        holdem=game,
        streets=streets,
        units=units,
        betting_tree=lay_out(streets),
        boards=units.boards,
        deals=deals,
        num_roots=len(streets[0].roots) * len(units.dealt[0].cards),
    )


def _stored(streets: list[Street], boards: BoardArrays, p: int) -> int:
    """Numbers kept of player `p`: where those of the last board end."""
    last = len(boards.street) - 1
    street = streets[int(boards.street[last])]
    edges = street.rows[p] - len(street.roots)
    hands = int(boards.hands[2 * last + p])
    return int(boards.store_at[2 * last + p]) + edges * padded(hands)
