"""The boards of a hold'em tree, and the tree itself.

A *unit* is one board on one street, with the hands each player can hold there in an order that
suits its evaluator: by rank where hands are shown down. Units hang below one another by the cards
dealt. Boards that differ only in the names of suits which neither the cards so far nor the ranges
tell apart are one unit, counted as often as it stands for (see `Boards.weight`); what comes back
from it is averaged over the hands that those suits exchange.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.errors import MemoryLimitError, human_bytes
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.isomorphism import card_permutations, hand_permutations
from subgame.tree.forest import LANES, Forest, Street, grow, lay_out
from subgame.tree.public_tree import Index, PublicTree, Treeplex, no_plex, no_terminals

Ints = NDArray[np.int64]
Small = NDArray[np.uint16]
Floats = NDArray[np.float64]


class Boards(NamedTuple):
    """All units as a kernel sees them. up = 2 * unit + player; h = place in a unit's hand order.

    Hands of a unit come in *runs* that share a card, and runs in *groups* of equal rank.
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


def padded(hands: int) -> int:
    """Hands, up to a full vector of `LANES`."""
    return -(-hands // LANES) * LANES


@dataclass(frozen=True)
class Unit:
    """One board while the tree is built."""

    cards: tuple[int, ...]
    street: int
    symmetries: Ints  # permutations of the suits that leave it, and the ranges, as they are
    hands: tuple[Ints, Ints]  # [h] in each player's order
    ranks: NDArray[np.int16]  # [hand] all equal where nothing is shown down
    parent: int = -1
    weight: float = 1.0


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
        b, p = self.tree.boards, self.player
        decisions = np.array([len(street.parent[p]) for street in self.tree.streets])
        return np.concatenate([[0], np.cumsum(decisions[b.street] * b.hands[p::2])])

    def locate(self, i: int) -> tuple[int, int, int]:
        """(unit, decision, place of the hand) of infoset `i`."""
        u = int(np.searchsorted(self._infoset_at, i, side="right")) - 1
        j, h = divmod(
            int(i - self._infoset_at[u]), int(self.tree.boards.hands[2 * u + self.player])
        )
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
        h = np.arange(b.hands[2 * u + p])
        edge = street.first[p][j] - len(street.roots) + np.arange(len(street.actions[p][j]))
        tile = b.store_at[2 * u + p] + h // LANES * (edges * LANES) + h % LANES
        cells: Ints = tile[:, None] + edge * LANES
        return cells

    def name(self, i: int) -> str:
        """What the player knows: her hand, the board and the betting."""
        u, j, h = self.locate(i)
        t, b = self.tree, self.tree.boards
        hand = b.hand[b.hand_at[2 * u + self.player] + h]
        state = t.streets[int(b.street[u])].states[self.player][j]
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
    units: list[Unit] = field(default_factory=list)
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

    @cached_property
    def digest(self) -> str:
        sha = hashlib.sha256()
        for array in (*self.forest, *self.boards, *(side.reach for side in self.players)):
            sha.update(np.ascontiguousarray(array).tobytes())
        return sha.hexdigest()[:16]


def compile_boards(
    game: Holdem,
    *,
    memory_limit: float = math.inf,
    every_hand: bool = False,
    progress: Callable[[int], None] | None = None,
) -> BoardTree:
    """Compile hold'em. With `every_hand` a hand outside the range is a root slot of reach 0.

    `memory_limit` is checked against what a solver will keep: two float32 per action, hand and
    board.
    """
    streets = grow(game)
    weights = game.weights()
    free = game.deck.compatible(game.board)
    kept = [np.flatnonzero(free if every_hand else weight > 0) for weight in weights]
    last = game.start().street + len(streets) - 1
    units = list(_units(game, streets, kept, memory_limit, progress, last))
    tree = BoardTree(
        game=str(game), players=(None, None), terminals=no_terminals(),  # type: ignore[arg-type]
        node_names=(), node_parent=np.zeros(0, np.int32), node_chance=np.zeros(0),
        holdem=game, streets=streets, units=units, forest=lay_out(streets),
        boards=_lay_out(game, streets, units),
        deals=float(weights[0] @ game.deck.disjoint @ weights[1]),
    )  # fmt: skip
    sides = tuple(HandPlex(tree, p, weights[p][units[0].hands[p]]) for p in (0, 1))
    object.__setattr__(tree, "players", sides)
    return tree


def _units(
    game: Holdem, streets: list[Street], kept: list[Ints], limit: float,
    progress: Callable[[int], None] | None, last: int,
) -> Iterator[Unit]:  # fmt: skip
    """Every board, street by street, each street's below one parent side by side."""
    cards = card_permutations(game.deck)
    masks = game.deck.hand_masks
    above = [_unit(game, game.board, 0, game.symmetries, kept, last)]
    yield above[0]
    count, needed = 1, _bytes(streets[0], above[0])
    first = 0  # the number of the first unit of the street above
    for s in range(1, len(streets)):
        new = BOARD_CARDS[game.start().street + s] - BOARD_CARDS[game.start().street + s - 1]
        below = []
        for k, parent in enumerate(above):
            free = game.deck.size - len(parent.cards)
            chance = 1 / math.comb(free - 4, new)
            for added, times in _deals(parent, new, cards, game.deck.size):
                mask = np.uint64(game.deck.mask(added))
                left = [held[(masks[held] & mask) == 0] for held in parent.hands]
                stay = (np.sort(cards[parent.symmetries][:, list(added)]) == added).all(1)
                unit = _unit(game, parent.cards + added, s, parent.symmetries[stay], left, last,
                             parent=first + k, weight=times * chance)  # fmt: skip
                needed += _bytes(streets[s], unit)
                if needed > limit:
                    raise MemoryLimitError(
                        f"{game} needs more than {human_bytes(needed)} to solve, over the limit "
                        f"of {human_bytes(limit)}."
                    )
                count += 1
                if progress is not None and count % 64 == 0:
                    progress(count)
                below.append(unit)
                yield unit
        first += len(above)
        above = below


def _bytes(street: Street, unit: Unit) -> int:
    """Regrets and average of both players, float32."""
    return sum(
        8 * (street.rows[p] - len(street.roots)) * padded(len(unit.hands[p])) for p in (0, 1)
    )


def _deals(
    parent: Unit, new: int, permutations: Ints, size: int
) -> Iterator[tuple[tuple[int, ...], int]]:
    """The next cards, one of each kind that suits exchange, and how many it stands for."""
    free = [card for card in range(size) if card not in parent.cards]
    if len(parent.symmetries) == 1:
        yield from ((deal, 1) for deal in itertools.combinations(free, new))
        return
    every = np.array(list(itertools.combinations(free, new)))
    images = np.sort(permutations[parent.symmetries][:, every], axis=2)  # [symmetry, deal, card]
    keys = (images * size ** np.arange(new)[::-1]).sum(2).min(0)
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    for at, count in zip(first.tolist(), times.tolist(), strict=True):
        yield tuple(every[at].tolist()), count


def _unit(
    game: Holdem, cards: tuple[int, ...], street: int, symmetries: Ints, hands: Sequence[Ints],
    last: int, **links: Any,
) -> Unit:  # fmt: skip
    """A board with its hands in order: by rank on the last street, then so that runs are long."""
    shown = street + game.start().street == last
    ranks = rank_hands(cards, game.deck) if shown else np.zeros(game.deck.num_hands, np.int16)
    ordered = [_order(game.deck.hands, held, ranks) for held in hands]
    return Unit(cards, street, symmetries, (ordered[0], ordered[1]), ranks, **links)


def _primary(pairs: Ints, group: Ints, size: int) -> Ints:
    """[h] which of its two cards (0 or 1) a hand shares with more hands of its group."""
    table = np.zeros((int(group.max(initial=0)) + 1, size), dtype=np.int64)
    np.add.at(table, (np.repeat(group, 2), pairs.ravel()), 1)
    return (table[group, pairs[:, 1]] > table[group, pairs[:, 0]]).astype(np.int64)


def _order(all_pairs: Ints, held: Ints, ranks: NDArray[np.int16]) -> Ints:
    group = np.unique(ranks[held], return_inverse=True)[1]
    pairs = all_pairs[held]
    shared = _primary(pairs, group, int(all_pairs.max()) + 1)
    rows = np.arange(len(held))
    return held[np.lexsort((pairs[rows, 1 - shared], pairs[rows, shared], group))]


def _lay_out(game: Holdem, streets: list[Street], units: list[Unit]) -> Boards:
    """Units as flat arrays."""
    flat: dict[str, list[Any]] = {name: [] for name in Boards._fields}
    at = dict.fromkeys(("hand", "run", "group", "orbit"), 0)
    orbit_hands = 0
    store = [0, 0]
    places = np.zeros((2, game.deck.num_hands), dtype=np.int64)
    children: list[list[int]] = [[] for _ in units]
    for u, unit in enumerate(units):
        if unit.parent >= 0:
            children[unit.parent].append(u)
    for u, unit in enumerate(units):
        ranks = np.unique(unit.ranks[np.concatenate(unit.hands)])  # that either player can hold
        groups = len(ranks)
        flat["street"].append(unit.street)
        flat["weight"].append(unit.weight)
        flat["groups"].append(groups)
        for p in (0, 1):
            held = unit.hands[p]
            pairs = game.deck.hands[held]
            group = np.searchsorted(ranks, unit.ranks[held])
            shared = _primary(pairs, group, game.deck.size)
            rows = np.arange(len(held))
            card, other = pairs[rows, shared], pairs[rows, 1 - shared]
            begins = np.flatnonzero(np.diff(card, prepend=-1) | np.diff(group, prepend=-1))
            flat["hands"].append(len(held))
            flat["store_at"].append(store[p])
            store[p] += (streets[unit.street].rows[p] - len(streets[unit.street].roots)) * padded(
                len(held)
            )
            flat["hand_at"].append(at["hand"])
            at["hand"] += len(held)
            flat["other"].append(other)
            flat["hand"].append(held)
            places[1 - p] = padded(len(unit.hands[1 - p]))
            places[1 - p, unit.hands[1 - p]] = np.arange(len(unit.hands[1 - p]))
            flat["same"].append(places[1 - p, held])
            if unit.parent >= 0:
                upper = units[unit.parent].hands[p]
                places[p, upper] = np.arange(len(upper))
                flat["above"].append(places[p, held])
            else:
                flat["above"].append(rows)
            flat["run_at"].append(at["run"])
            flat["run_card"].append(np.append(card[begins], 0))
            flat["run_start"].append(np.append(begins, len(held)))
            at["run"] += len(begins) + 1
            flat["group_at"].append(at["group"])
            flat["group_run"].append(np.searchsorted(group[begins], np.arange(groups + 1)))
            at["group"] += groups + 1
            members, starts = _orbits(game, unit, held) if children[u] else (_NONE, _NONE)
            flat["orbit_at"].append(at["orbit"])
            flat["orbits"].append(max(len(starts) - 1, 0))
            flat["orbit_start"].append(starts + orbit_hands)
            flat["orbit_hand"].append(members)
            orbit_hands += len(members)
            at["orbit"] += len(starts)
    flat["child_at"] = [1, *(1 + np.cumsum([len(below) for below in children]))]
    arrays = []
    for name, kind in Boards.__annotations__.items():
        values = flat[name]
        joined = np.concatenate(values) if isinstance(values[0], np.ndarray) else np.array(values)
        dtype = {"Small": np.uint16, "Floats": np.float64, "Ints": np.int64}[kind.__forward_arg__]
        arrays.append(np.ascontiguousarray(joined.astype(dtype)))
    return Boards(*arrays)


_NONE: Ints = np.zeros(0, dtype=np.int64)


def _orbits(game: Holdem, unit: Unit, held: Ints) -> tuple[Ints, Ints]:
    """Places of hands, orbit by orbit, and where each orbit starts; nothing if none is moved."""
    if len(unit.symmetries) == 1:
        return _NONE, _NONE
    classes = hand_permutations(game.deck)[unit.symmetries][:, held].min(0)
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    return order, np.append(starts, len(order))
