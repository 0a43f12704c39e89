"""Bunching: how the unknown hands of players who folded change what is left in the deck.

Each of k folded players had a hand of a range, with weight p_i. Cards that are in the hands of the
two players or on the board, S, leave these folded hands possible:

    F(S) = sum of p_1(f_1) … p_k(f_k) over hands f_1 … f_k that share no card with S or each other.

A pair of hands on a board has the weight of both ranges times F(hands and board). The next card
follows from the same function: over all cards c that are left,

    sum of F(S + c) = (cards left - 2 k) F(S),

so that every card has the same chance, 1 / (cards left - 2 k), once F is taken of the whole board.

F is exact, by inclusion and exclusion. Let x_i(c) be the weight of the hands with card c and t_i
that of all hands, each without the hands that S blocks. F is t_1 for one player, and for two
players ``t_1 t_2 - I_12`` with ``I_12 = sum of x_1(c) x_2(c) - sum of p_1(f) p_2(f)``, the weight
of the pairs that share a card. For three players it is

    t_1 t_2 t_3 - I_12 t_3 - I_13 t_2 - I_23 t_1 + N_1 + N_2 + N_3 - N,

where N_1 is the weight of triples in which f_1 meets f_2 and f_3, and N that of triples which all
meet: in one card, or as the sides of a triangle. For four players it is a sum over the hands of the
last of them. Tables are over all sets of m free cards, in colexicographic order: a set of cards
c_1 < c_2 < … is number C(c_1, 1) + C(c_2, 2) + ….
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from subgame.errors import SubgameError
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.ranges import Range
from subgame.lazy import np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

MOST_FOLDED = 4
"""Folded players that can be given."""
CLOSED = 3
"""Folded players for whom F is a formula."""
WORK = 4e8
"""Hands times sets of cards that a sum may have."""
CHUNK = 1 << 11
"""Sets of cards that are looked at at once."""
NOTHING = 1e-12
"""What rounding leaves of zero."""


class Bunching:
    """F of sets of cards beside those that are `gone`: the first board and the dead cards."""

    def __init__(self, deck: Deck, gone: Iterable[int], folded: Sequence[Range]) -> None:
        self.deck, self.count = deck, len(folded)
        self.gone = frozenset(gone)
        free = np.array([card for card in range(deck.size) if card not in self.gone])
        self.size = len(free)
        self.number: Ints = np.full(deck.size, -1)
        self.number[free] = np.arange(self.size)
        self.graphs: list[Floats] = []  # [card, card] weights of the hands of each folded player
        low, high = deck.hands.T
        for held in folded:
            whole = np.zeros((deck.size, deck.size))
            whole[low, high] = whole[high, low] = held.weights / held.combos
            self.graphs.append(whole[np.ix_(free, free)])
        self._tables: dict[tuple[int, int], Floats] = {}

    @cached_property
    def _choose(self) -> Ints:
        """[n, m] how many sets of m cards n cards have."""
        rows = [[math.comb(n, m) for m in range(15)] for n in range(self.deck.size + 1)]
        return np.array(rows, np.int64)

    # Tables ----------------------------------------------------------------------------------
    def check(self, later: int) -> None:
        """Raise an error if the table for boards with `later` more cards would take too long."""
        sets = math.comb(self.size, 4 + later)
        if self.count > CLOSED and sets * math.comb(self.size, 2) > WORK:
            raise SubgameError(
                f"{self.count} folded ranges with {later} cards to come take too long to be exact: "
                f"give at most four on the river and {CLOSED} before it."
            )

    def table(self, players: int, m: int) -> Floats:
        """F of the first `players` ranges, for every set of m free cards."""
        key = players, m
        if key not in self._tables:
            out = np.empty(math.comb(self.size, m))
            for at in range(0, len(out), CHUNK):
                sets = self._sets(np.arange(at, min(at + CHUNK, len(out))), m)
                out[at : at + CHUNK] = self._weights(players, sets)
            out[np.abs(out) < NOTHING] = 0.0
            self._tables[key] = out
        return self._tables[key]

    def _sets(self, numbers: Ints, m: int) -> Ints:
        """[set, m] the cards of the sets with these numbers, the lowest first."""
        left, out = numbers.copy(), np.empty((len(numbers), m), np.int64)
        for k in range(m, 0, -1):
            column = self._choose[:, k]
            out[:, k - 1] = np.searchsorted(column, left, side="right") - 1
            left -= column[out[:, k - 1]]
        return out

    def _place(self, sets: Ints) -> Ints:
        """[...] the numbers of sets of cards [..., m], the lowest first."""
        m = sets.shape[-1]
        result: Ints = self._choose[sets, np.arange(1, m + 1)].sum(-1)
        return result

    def _weights(self, players: int, sets: Ints) -> Floats:
        """[set] F of some sets."""
        if players == 1:
            return _left(self.graphs[0], sets)
        if players == 2:
            one, two = self.graphs[:2]
            sharing = (_by_card(one, sets) * _by_card(two, sets)).sum(1) - _left(one * two, sets)
            result: Floats = _left(one, sets) * _left(two, sets) - sharing
            return result
        if players == CLOSED:
            return self._three(sets)
        graph, fewer = self.graphs[players - 1], self.table(players - 1, sets.shape[1] + 2)
        total = np.zeros(len(sets))
        for a, b in zip(*np.nonzero(np.triu(graph)), strict=True):
            free = np.flatnonzero((sets != a).all(1) & (sets != b).all(1))
            more = np.sort(np.concatenate([sets[free], np.tile([a, b], (len(free), 1))], axis=1))
            total[free] += graph[a, b] * fewer[self._place(more)]
        return total

    def _three(self, sets: Ints) -> Floats:
        """[set] F of three ranges; see the top of the module."""
        graphs = self.graphs[:3]
        by_card, left = [_by_card(g, sets) for g in graphs], [_left(g, sets) for g in graphs]
        same = _left(graphs[0] * graphs[1] * graphs[2], sets)
        one_card = (by_card[0] * by_card[1] * by_card[2]).sum(1)
        total: Floats = left[0] * left[1] * left[2] - self._triangles(sets)
        total += 2 * one_card + 4 * same  # of N_1, N_2 and N_3, less that of N
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            alike = graphs[i] * graphs[j]  # the hand is the same
            sharing = (by_card[i] * by_card[j]).sum(1) - _left(alike, sets)
            total += (by_card[i] @ graphs[k] * by_card[j]).sum(1) - sharing * left[k]
            # Triples in which players i and j have the same hand are in N_i and in N_j.
            total -= 2 * (by_card[k] * _by_card(alike, sets)).sum(1)
        return total

    def _triangles(self, sets: Ints) -> Floats:
        """[set] the weight of the triples of hands that are the sides of a triangle."""
        whole, by_card, by_pair, by_three = self._sides
        total: Floats = whole - by_card[sets].sum(1)
        for i, j in itertools.combinations(range(sets.shape[1]), 2):
            total += by_pair[sets[:, i], sets[:, j]]
        for i, j, k in itertools.combinations(range(sets.shape[1]), 3):
            total -= by_three[sets[:, i], sets[:, j], sets[:, k]]
        return total

    @cached_property
    def _sides(self) -> tuple[float, Floats, Floats, Floats]:
        """The weight of all triangles, and of those with one, two and three given cards."""
        one, two, three = self.graphs[:3]
        turns = [(one, two, three), (two, three, one), (three, one, two)]
        by_card: Floats = np.sum([np.diag(a @ b @ c) for a, b, c in turns], axis=0)
        by_pair: Floats = np.sum([a * (b @ c + (b @ c).T) for a, b, c in turns], axis=0)
        three_cards = np.einsum("uv,vw,wu->uvw", one, two, three)
        orders = itertools.permutations(range(3))
        by_three: Floats = np.sum([three_cards.transpose(order) for order in orders], axis=0)
        return float(np.trace(one @ two @ three)), by_card, by_pair, by_three

    # Pairs of hands --------------------------------------------------------------------------
    def of(self, cards: Iterable[int]) -> float:
        """F of cards; those of the first board need not be among them."""
        numbers = np.sort(self.number[[card for card in cards if card not in self.gone]])
        return float(self.table(self.count, len(numbers))[self._place(numbers)])

    def pairs(self, board: Iterable[int], one: Ints, two: Ints) -> npt.NDArray[np.float32]:
        """[hand, hand] F of a board with each pair of hands, 0 where two of the cards are one."""
        later = self.number[[card for card in board if card not in self.gone]]
        mine, yours = self.number[self.deck.hands[one]], self.number[self.deck.hands[two]]
        m = 4 + len(later)
        table, out = self.table(self.count, m), np.zeros((len(one), len(two)), np.float32)
        rows = max(1, CHUNK * 64 // max(len(two), 1))
        for at in range(0, len(one), rows):
            some = mine[at : at + rows]
            shape = (len(some), len(two))
            sets = np.empty((*shape, m), np.int64)
            sets[:, :, :2], sets[:, :, 2:4], sets[:, :, 4:] = some[:, None], yours[None], later
            sets.sort(axis=2)
            apart = (sets[:, :, 1:] > sets[:, :, :-1]).all(2) & (sets[:, :, 0] >= 0)
            places = self._place(np.where(apart[:, :, None], sets, np.arange(m)))
            out[at : at + rows] = np.where(apart, table[places], 0.0)
        return out


def _left(graph: Floats, sets: Ints) -> Floats:
    """[set] the weight of the hands that a set leaves possible."""
    total, by_card = graph.sum() / 2, graph.sum(1)
    inside = graph[sets[:, :, None], sets[:, None, :]].sum((1, 2)) / 2
    result: Floats = total - by_card[sets].sum(1) + inside
    return result


def _by_card(graph: Floats, sets: Ints) -> Floats:
    """[set, card] the weight of the hands with a card that a set leaves possible."""
    out: Floats = graph.sum(1) - graph[sets].sum(1)
    np.put_along_axis(out, sets, 0.0, axis=1)
    return out
