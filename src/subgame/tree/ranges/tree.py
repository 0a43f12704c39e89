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
from subgame.tree.public_tree import Index, PublicTree, Treeplex, no_plex, no_terminals
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
from subgame.tree.ranges.hand_order import Boards, lay_out_hands

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Merge = bool | Literal["boards"]


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


class RangeSide(Treeplex):
    """One player's side of a `RangeTree`: infosets are counted, named on demand."""

    def __init__(self, tree: RangeTree, p: int, reach: Floats) -> None:
        put = object.__setattr__
        hands = tree.units[0].hands[p]
        put(self, "tree", tree)
        put(self, "player", p)
        put(self, "plex", no_plex())
        put(self, "slots", [tree.holdem.deck.hand_name(int(hand)) for hand in hands])
        put(self, "reach", reach)
        put(self, "num_sequences", tree.stored(p))

    tree: RangeTree
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
        return np.concatenate([hands_left(units.deck, each.cards, kept) for each in units.dealt])

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
class RangeTree(PublicTree):
    """Hold'em compiled: the betting of each street once, and a unit for every board.

    Strategies over it are float32 weights in the kernels' own layout, played in proportion; root
    slots have no part in them.
    """

    weighted: ClassVar[bool] = True

    holdem: Holdem = None  # type: ignore[assignment]
    streets: list[Street] = field(default_factory=list)
    units: Sequence[Unit] = ()
    betting_tree: BettingTree = None  # type: ignore[assignment]
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
        return sum(array.nbytes for array in (*self.betting_tree, *self.boards))

    @property
    def num_cards(self) -> int:
        """Cards that are not the same."""
        units = self.units
        assert isinstance(units, Units)
        return int(units.cards.slot.max()) + 1

    @property
    def merged(self) -> bool:
        """Whether hands that are the same are one in it."""
        units = self.units
        assert isinstance(units, Units)
        return units.cards.merged

    @cached_property
    def digest(self) -> str:
        sha = hashlib.sha256()
        boards = self.boards if self.merged else self.boards[: Boards._fields.index("size_at")]
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
    units = Units(deck, dealt, arrays, cards)
    reach = [weight[held] for weight, held in zip(weights, units[0].hands, strict=True)]
    if boards is None:
        deals = float(weights[0] @ deck.disjoint @ weights[1])
    else:
        deals = float(deck.disjoint[np.ix_(*units[0].hands)].sum())
    tree = RangeTree(
        game=str(game),
        players=(None, None),  # type: ignore[arg-type]
        terminals=no_terminals(),
        node_names=(),
        node_parent=np.zeros(0, np.int32),
        node_chance=np.zeros(0),
        holdem=game,
        streets=streets,
        units=units,
        betting_tree=lay_out(streets),
        boards=arrays,
        deals=deals,
    )
    sides = tuple(RangeSide(tree, p, reach[p]) for p in (0, 1))
    object.__setattr__(tree, "players", sides)
    return tree
