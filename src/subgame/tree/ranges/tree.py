"""`RangeTree`: hold'em compiled board by board, and the list of its boards.

A *board* here is the public cards on one street, with the hands that each player can hold, in the
order that the kernels need: by rank on the last street. Every board after the first street has a
parent, the board before its last cards were dealt.

Boards that differ only by a permutation of suits are one board, if the cards so far and the ranges
treat those suits alike. It is weighted by the number of boards it represents
(`BoardArrays.weight`), and its values are averaged over the hands that the permutations exchange.

Hands can be merged too. Where no flush is possible any more in some suits and the ranges treat
these suits alike, their cards of one rank are *equivalent* (`isomorphism.same_cards`). A board then
has one hand for each class of equivalent hands, and one child for each class of equivalent next
cards. Kernels see the merged hands, and how many cards of each class are left; all other code sees
every hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.frozen import Frozen
from subgame.games.base import Game
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.isomorphism import same_cards
from subgame.games.holdem.rules import Betting
from subgame.memory import Allowance
from subgame.tree.public_tree import OnDemand, PublicTree, Reals, both
from subgame.tree.ranges import deal
from subgame.tree.ranges.betting_tree import (
    LANES,
    BettingTree,
    Street,
    check_size,
    grow,
    lay_out,
)
from subgame.tree.ranges.boards import CARD_MASK, BoardArrays, lay_out_hands
from subgame.tree.ranges.boards import Board as Board
from subgame.tree.ranges.boards import BoardList as BoardList
from subgame.tree.ranges.deal import padded
from subgame.tree.ranges.find import Finder, InfosetIndex
from subgame.tree.ranges.probabilities import Locks, normalise, sums_error

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Merge = bool | Literal["boards"]


@dataclass(frozen=True, eq=False, repr=False)
class RangeSide(Frozen):
    """One player's part of a `RangeTree`; names of infosets are computed on demand."""

    player: int
    holdem: Holdem
    streets: list[Street]
    units: BoardList
    reach: Floats  # [s]

    @cached_property
    def slots(self) -> Sequence[str]:
        """[s] names of the root infosets: the hands on the first board."""
        names = self.holdem.deck.hand_names
        return [names[hand] for hand in self.units[0].hands[self.player]]

    @cached_property
    def num_sequences(self) -> int:
        """Numbers of an array of regrets or averages, padding included: where the last one ends."""
        boards, up = self.units.boards, self.player - 2
        street = self.streets[int(boards.street[-1])]
        edges = street.rows[self.player] - len(street.roots)
        return int(boards.store_at[up]) + edges * padded(int(boards.hands[up]))

    @cached_property
    def _infoset_at(self) -> Ints:
        """[u + 1] where each board's infosets start; they are ``[decision, hand]``."""
        decisions = np.array([len(street.parent[self.player]) for street in self.streets])
        return np.append(0, np.cumsum(decisions[self.units.boards.street] * self._hands))

    @cached_property
    def _hands(self) -> Ints:
        """[u] how many hands the player can hold."""
        units = self.units
        kept = units.cards.kept[self.player]
        left = [deal.hands_left(units.deck, street.cards, kept) for street in units.dealt]
        return np.concatenate(left)

    def _street(self, u: int) -> Street:
        return self.streets[int(self.units.boards.street[u])]

    def locate(self, i: int) -> tuple[int, int, int]:
        """(board, decision, index of the hand) of infoset `i`."""
        u = int(np.searchsorted(self._infoset_at, i, side="right")) - 1
        j, h = divmod(int(i - self._infoset_at[u]), int(self._hands[u]))
        return u, j, h

    def number(self, u: int, j: int, h: int) -> int:
        """The number of an infoset by its board, decision and hand; the inverse of `locate`."""
        return int(self._infoset_at[u]) + j * int(self._hands[u]) + h

    def sequences(self, i: int) -> NDArray[np.int64]:
        """The sequences of infoset `i`, one per action."""
        u, j, h = self.locate(i)
        result: Ints = self.cells(u, j)[h]
        return result

    @cached_property
    def finder(self) -> Finder:
        """Finds infosets by name."""
        return Finder(self)

    def lookup(self, name: str) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """The actions and sequences of the infoset of that name, or a KeyError.

        The board may be any that a permutation of suits turns into one of the tree.
        """
        return self.finder.sequences(name)

    def cells(self, u: int, j: int) -> NDArray[np.int64]:
        """[h, action] the sequences of decision `j` on board `u`."""
        start, h = self.units.boards.store_at[2 * u + self.player], self.units[u].held(self.player)
        return self._cells(self._street(u), j, start, h[1])

    def _cells(self, street: Street, j: int, start: Ints, h: Ints) -> Ints:
        """[h, action] the sequences of decision `j` where a board's numbers begin at `start`."""
        p, roots = self.player, len(street.roots)
        edges = np.arange(len(street.actions[p][j])) + street.first[p][j] - roots
        tile = start + h // LANES * ((street.rows[p] - roots) * LANES) + h % LANES
        cells: Ints = tile[:, None] + edges * LANES
        return cells

    def street_block(self, numbers: Reals, s: int) -> Reals:
        """[tile, action, LANES] a view of the numbers of street `s`, all boards one after another.

        A decision's actions are neighbours along the middle axis, see `street_actions`.
        """
        b, street, p = self.units.boards, self.streets[s], self.player
        first, last = self.units.first[s : s + 2]
        start = int(b.store_at[2 * first + p])
        end = int(b.store_at[2 * last + p]) if last < len(self.units) else self.num_sequences
        return numbers[start:end].reshape(-1, street.rows[p] - len(street.roots), LANES)

    def street_actions(self, s: int, j: int) -> slice:
        """Where the actions of decision `j` are in a `street_block`."""
        street, p = self.streets[s], self.player
        first = street.first[p][j] - len(street.roots)
        return slice(first, first + len(street.actions[p][j]))

    def street_cells(self, s: int, j: int) -> Ints:
        """[board and hand, action] the sequences of decision `j` on all boards of street `s`."""
        b, (first, last) = self.units.boards, self.units.first[s : s + 2]
        here = slice(2 * first + self.player, 2 * last, 2)
        hands, start = b.hands[here], b.store_at[here]
        h = np.arange(int(hands.sum())) - np.repeat(np.cumsum(hands) - hands, hands)
        return self._cells(self.streets[s], j, np.repeat(start, hands), h)

    def decisions(self) -> Iterator[tuple[Ints, tuple[str, ...]]]:
        """For each street and decision: the sequences [board and hand, action], and the actions."""
        for s, street in enumerate(self.streets):
            for j, actions in enumerate(street.actions[self.player]):
                yield self.street_cells(s, j), actions

    def name(self, i: int) -> str:
        """The name of infoset `i`: the player's hand, the board and the betting."""
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
        """[i] names of the infosets."""
        return OnDemand(int(self._infoset_at[-1]), self.name)

    @cached_property
    def actions(self) -> Sequence[tuple[str, ...]]:
        """[i] names of the actions at each infoset."""
        return OnDemand(int(self._infoset_at[-1]), self.actions_at)

    @cached_property
    def index(self) -> InfosetIndex:
        """From an infoset's name to its number."""
        return InfosetIndex(self, self.finder)

    @cached_property
    def origin(self) -> NDArray[np.int32]:
        """[i] infosets are in the game's own order."""
        return np.arange(len(self.names), dtype=np.int32)


@dataclass(frozen=True, eq=False, repr=False)
class RangeTree(PublicTree):
    """Hold'em compiled: the betting of each street once, and all boards.

    Strategies over it are float32, in the kernels' layout ``[board][tile][action][LANES]``: the
    hands of a board in tiles of `LANES`, the last tile padded. Root infosets have no numbers there.
    """

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.float32)
    usual_schedule: ClassVar[str] = "dcfr"  # a third of the others' gap on Libratus' river

    players: tuple[RangeSide, RangeSide]
    holdem: Holdem
    streets: list[Street]
    units: BoardList
    betting_tree: BettingTree
    boards: BoardArrays
    deals: float
    """The sum of the weights of all pairs of hands; root values divided by it are expectations."""
    locks: Locks = field(default=(None, None), kw_only=True)
    lock_texts: tuple[str, ...] = field(default=(), kw_only=True)

    def action_class(self, action: str) -> str:
        """The kind of an action: fold, call (or check) or raise (or bet)."""
        return {"f": "fold", "c": "call"}.get(action[0], "raise")

    def stored(self, p: int) -> int:
        """The size of an array of player `p`'s regrets or averages."""
        return self.players[p].num_sequences

    @property
    def zero_sum(self) -> bool:
        return not self.holdem.rules.raked

    @property
    def not_plain(self) -> str:
        lock, rake = "has locked decisions", "has a rake, so it is not zero-sum"
        if self.holdem.folded:
            return "has folded ranges"
        return lock if self.has_locks else "" if self.zero_sum else rake

    @property
    def has_locks(self) -> bool:
        return any(self.locks)

    @property
    def num_nodes(self) -> int:
        """Number of public states: decisions, terminals and deals, on all boards."""
        nodes = [
            sum(map(len, street.states))
            + len({ending.rows for ending in street.endings})
            + len(street.leaves)
            for street in self.streets
        ]
        return int(np.bincount(self.boards.street) @ nodes)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.betting_tree, *self.boards))

    @property
    def num_cards(self) -> int:
        """Number of classes of equivalent cards."""
        return int(self.units.cards.slot.max()) + 1

    @property
    def merged(self) -> bool:
        """Whether hands are merged by suit symmetry."""
        return self.units.cards.merged

    def normalise(self, p: int, weights: Reals) -> NDArray[np.float32]:
        return normalise(self.players[p], weights)

    def sums_error(self, p: int, probs: Reals) -> float:
        return sums_error(self.players[p], probs)

    @cached_property
    def digest(self) -> str:
        import hashlib  # with OpenSSL, which takes a hundredth of a second

        sha = hashlib.sha256()
        # The first card is that of the run, and was not kept when the first strategies were saved.
        kept = self.boards._replace(cards=self.boards.cards & np.uint16(CARD_MASK))
        boards = kept if self.merged else kept[: BoardArrays._fields.index("size_at")]
        for array in (*self.betting_tree, *boards, *(side.reach for side in self.players)):
            sha.update(np.ascontiguousarray(array).tobytes())
        sha.update(b"".join(lock.bytes for lock in self.locks if lock))
        sha.update(b"".join(held.weights.tobytes() for held in self.holdem.folded))
        return sha.hexdigest()[:16]


def compile_range_tree(
    game: Holdem,
    *,
    memory_limit: float | Allowance = math.inf,
    number: float = 4.0,
    merge: Merge = "boards",
    boards: Sequence[Sequence[int]] | None = None,
    roots: list[Betting] | None = None,
    progress: Callable[[int], None] | None = None,
) -> RangeTree:
    """Compile hold'em board by board.

    `merge` says what is merged by suit symmetry where the game allows it: boards ("boards"), boards
    and hands (True), or nothing (False). Hands are not merged where there are dead cards, and
    nothing is where there are folded ranges.

    `memory_limit` is compared with what a solver allocates: a regret and an average of `number`
    bytes per action, hand and board. Boards and betting are counted before they are laid out.
    `progress` is called now and then with the number of boards laid out so far.

    `boards` are the boards of the first street, instead of the game's one board. Each has weight 1,
    every hand that it does not block, and no suit symmetry. The root infosets are then those of the
    first of them, reach is 1, and `deals` counts the pairs of hands on one board. The caller gives
    the solver a reach for every board. `roots` are the betting states at which the first street
    begins, instead of `game.start()`.
    """
    merge = _checked(game, merge, boards)
    if roots is not None and len({root.street for root in roots}) != 1:
        raise SubgameError("A tree must have one or more roots, all on the same street.")
    start = [game.start()] if roots is None else roots
    deck, weights, street = game.deck, game.weights(), start[0].street
    if boards is None:
        kept = [np.flatnonzero(weight > 0) for weight in weights]
        to_come = BOARD_CARDS[game.rules.last_street] - len(game.board)
        same, suits = np.arange(deck.size), game.symmetries if merge else np.zeros(1, np.int64)
        if merge and merge != "boards" and not game.dead:
            same = same_cards(game.board, to_come, weights, deck)
        top = deal.dealt_first(game, [game.board], deal.left_alone(deck, suits, same), street)
    else:
        kept, same = [np.flatnonzero(deck.compatible(game.dead))] * 2, np.arange(deck.size)
        top = deal.dealt_first(game, boards, np.zeros(1, np.int64), street)
        free = deck.compatible((*game.dead, *boards[0])).astype(np.float64)
        weights = (free, free)
    cards = deal.Cards.of(deck, same, kept)
    if not isinstance(memory_limit, Allowance):
        memory_limit = Allowance.of(memory_limit, host=False)
    idle = all(root.is_over for root in start)  # a solver then has no numbers
    allowed = Allowance.of(host=False) if idle else memory_limit
    dealt = deal.deal_out(game, street, top, cards, number, allowed)
    cost = deal.cost_of_action(deck, dealt, cards, number)
    check_size(game, start, cost, memory_limit, progress)
    streets = grow(game, roots, progress=progress)
    arrays = lay_out_hands(deck, streets, dealt, cards, progress)
    units = BoardList(deck, dealt, arrays, cards)
    reach = both(lambda p: weights[p][units[0].hands[p]])
    return put_together(game, streets, units, reach, _deals(game, weights))


def _checked(game: Holdem, merge: Merge, boards: Sequence[Sequence[int]] | None) -> Merge:
    """What is merged, or an error."""
    if merge not in (True, False, "boards"):
        raise SubgameError(f'merge must be True, "boards" or False, not {merge!r}.')
    if game.folded and boards is not None:
        raise SubgameError(f"{game} has folded ranges, so boards cannot be solved together.")
    return False if game.folded else merge


def _deals(game: Holdem, weights: tuple[Floats, Floats]) -> float:
    """The sum of the weights of all pairs of hands."""
    one, two = weights
    return float(one @ game.facing(game.board, two)) if game.folded else game.deck.pairs(one, two)


def put_together(
    game: Holdem,
    streets: list[Street],
    units: BoardList,
    reach: tuple[Floats, Floats],
    deals: float,
    name: Game | str | None = None,
) -> RangeTree:
    """Make a tree of its betting and its boards; `reach` is that of the first board's hands."""
    return RangeTree(
        of_game=name or game,
        players=both(lambda p: RangeSide(p, game, streets, units, reach[p])),
        holdem=game,
        streets=streets,
        units=units,
        betting_tree=lay_out(streets),
        boards=units.boards,
        deals=deals,
        num_roots=len(streets[0].roots) * len(units.dealt[0].cards),
    )


def range_tree(tree: PublicTree) -> RangeTree:
    """The tree itself if it is hold'em compiled board by board; an error otherwise."""
    if not isinstance(tree, RangeTree):
        raise SubgameError(f"This needs hold'em, compiled board by board, not {tree!r}.")
    return tree
