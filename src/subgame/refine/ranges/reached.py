"""A public state of hold'em that play has reached: board, betting and both ranges."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from random import Random

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import as_numpy, normalise
from subgame.engines.factory import engine
from subgame.games.base import CHANCE
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS, Holdem, HoldemState
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import Betting
from subgame.refine.ranges.subgames import RangeSubgame, Spot
from subgame.refine.reached import Followed, Reached
from subgame.tree.public_tree import Numbers, OnDemand, PublicTree, restrict
from subgame.tree.ranges.find import board_key
from subgame.tree.ranges.merging import places
from subgame.tree.ranges.tree import compile_range_tree, range_tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RUNOUTS = 1000
"""Boards of the showdown are all looked at up to this many; more are sampled."""
EXACT, SAMPLED = 1_500, 400
"""Boards of `mean_showdown`: all are looked at up to the first number; of more, the second number
is drawn."""


@dataclass(frozen=True, eq=False)
class ReachedRanges(Reached):
    """A public state of hold'em. An infoset is a hand of the deck, by its index.

    >>> import subgame as sg
    >>> start = ReachedRanges.start(sg.holdem.hunl())
    >>> start.player, start.after("c").after("c").after("QsJh2h").actions[0]
    (1, 'c')
    """

    game: Holdem
    board: tuple[int, ...]
    betting: Betting
    chance: float  # the probability of the cards on the board, given both hands
    reach: tuple[Floats, Floats]
    above: tuple[Ints, Ints]

    @classmethod
    def start(cls, game: Holdem) -> ReachedRanges:
        """The start of a game: both players' ranges."""
        every = np.arange(game.deck.num_hands)
        return cls(game, game.board, game.start(), 1.0, game.weights(), (every, every))

    @cached_property
    def state(self) -> HoldemState:
        return HoldemState(self.game, (0, 0), self.board, self.betting)

    @cached_property
    def player(self) -> int:
        return self.state.current_player()

    @property
    def is_over(self) -> bool:
        return self.betting.is_over

    @property
    def actions(self) -> tuple[str, ...]:
        return self.state.legal_actions()

    def names(self, p: int) -> Sequence[str]:
        name = partial(self.game.infoset_name, board=self.board, betting=self.betting)
        return OnDemand(self.game.deck.num_hands, name)

    def number(self, p: int, name: str) -> int:
        return _hands(self.game.deck)[name.split(" | ")[0]]

    def outcomes(self, p: int, s: int) -> Mapping[str, float]:
        deck, weight = self.game.deck, self.reach[1 - p] * self.fitting(p, s)
        left = [c for c in range(deck.size) if c not in {*self.board, *deck.hands[s].tolist()}]
        table = np.where(deck.hand_table >= 0, weight[deck.hand_table], 0.0)  # [card, card]
        total, single = weight.sum(), table.sum(1)
        cards = np.array(list(itertools.combinations(left, self._to_deal)))
        lost = single[cards].sum(1)
        for a, b in itertools.combinations(range(cards.shape[1]), 2):
            lost -= table[cards[:, a], cards[:, b]]
        share = np.maximum(total - lost, 0)
        share /= share.sum()
        return {
            deck.name(dealt): float(one)
            for dealt, one in zip(cards.tolist(), share, strict=True)
            if one > 0
        }

    @property
    def ways(self) -> int:
        return math.comb(self.game.deck.size - 4 - len(self.board), self._to_deal)

    def _left(self, s: int) -> list[int]:
        """The cards that neither the board nor hand `s` has."""
        taken = {*self.board, *self.game.deck.hands[s].tolist()}
        return [card for card in range(self.game.deck.size) if card not in taken]

    def sampled_deal(self, p: int, s: int, random: Random) -> str:
        """The next cards, drawn as likely as they are for player `p` with hand `s`."""
        deck, weight = self.game.deck, self.reach[1 - p] * self.fitting(p, s)
        other = random.choices(range(deck.num_hands), weight.tolist())[0]
        held = set(deck.hands[other].tolist())
        left = [card for card in self._left(s) if card not in held]
        return deck.name(sorted(random.sample(left, self._to_deal)))

    def mean_showdown(self, p: int, s: int, random: Random) -> float:
        """What player `p` with hand `s` wins on average at the showdown, when the rest is dealt.

        Boards are all looked at up to `EXACT`, otherwise drawn from the cards that hand `s` leaves.
        A hand of the other player fits a constant share of them, by which the sum is divided: so
        the expectation is exact.
        """
        from subgame.engines.numba.strengths import ranks  # solving on a GPU needs no Numba

        deck, left = self.game.deck, self._left(s)
        more = BOARD_CARDS[self.game.rules.last_street] - len(self.board)
        dealt: Iterable[Sequence[int]] = itertools.combinations(left, more)
        if math.comb(len(left), more) > EXACT:
            dealt = (random.sample(left, more) for _ in range(SAMPLED))
        rank = ranks(np.array([(*self.board, *cards) for cards in dealt], dtype=np.int64), deck)
        weight = self.reach[1 - p] * self.fitting(p, s)
        ahead = np.sign(rank[:, [s]].astype(np.int64) - rank) * (rank >= 0)
        fits = math.comb(len(left) - 2, more) / math.comb(len(left), more)
        won = float((ahead @ weight).mean()) / (fits * float(weight.sum()))
        return float(self.betting.at_stake) * won

    def dealt_values(self, followed: Followed, p: int) -> dict[str, Floats]:
        """All boards as one tree with many roots."""
        deck, o = self.game.deck, 1 - p
        left = [card for card in range(deck.size) if card not in self.board]
        dealt = list(itertools.combinations(left, self._to_deal))
        boards = [(*self.board, *cards) for cards in dealt]
        every = Range(np.ones(deck.num_hands), deck)
        game = replace(self.game, board=boards[0], first=self.betting, ranges=(every, every))
        tree = compile_range_tree(game, boards=boards, roots=[self.betting])
        run = engine(tree)
        wide = run.roots(o).shape[1]
        reach = np.zeros((len(boards), wide))
        for row, unit in zip(reach, tree.units, strict=False):
            row[: len(unit.hands[o])] = self.reach[o][unit.hands[o]]
        one, two = (
            restrict(np.asarray(followed.sigma[q]), places(tree, range_tree(followed.tree), q), 0)
            for q in (0, 1)
        )
        mine, theirs = (one, two) if p == 0 else (two, one)
        won = run.values(p, mine, run.plan(o, theirs, reach)).roots
        weight = as_numpy(run.opposing(p, reach[None], 0))[0]
        out = {}
        for b, cards in enumerate(dealt):
            hands = tree.units[b].hands[p]
            values = normalise(won[b, : len(hands)], weight[b, : len(hands)])
            out[deck.name(cards)] = np.zeros(deck.num_hands)
            out[deck.name(cards)][hands] = values
        return out

    @property
    def _to_deal(self) -> int:
        return next(n for n in BOARD_CARDS if n > len(self.board)) - len(self.board)

    def child(self, action: str) -> ReachedRanges:
        if self.player != CHANCE:
            return replace(self, betting=self.betting.child(action))
        deck = self.game.deck
        board = (*self.board, *deck.parse(action))
        free = deck.compatible(board)
        ways = math.comb(deck.size - 4 - len(self.board), len(board) - len(self.board))
        reach = (self.reach[0] * free, self.reach[1] * free)
        return replace(self, board=board, chance=self.chance / ways, reach=reach)

    def with_reach(self, reach: tuple[Floats, Floats]) -> ReachedRanges:
        free = self.game.deck.compatible(self.board)
        return replace(self, reach=(reach[0] * free, reach[1] * free))

    def held(self, p: int) -> NDArray[np.bool_]:
        """[hand] those that player `p` may hold, however play came here."""
        held: NDArray[np.bool_] = self.game.weights()[p] > 0
        return held & self.game.deck.compatible(self.board)

    def weight(self, p: int) -> Floats:
        weight: Floats = self.chance * self.held(p) * self.game.deck.facing(self.reach[1 - p])
        return weight

    @cached_property
    def subgame(self) -> RangeSubgame:
        one, two = (Range(self.held(p).astype(np.float64), self.game.deck) for p in (0, 1))
        below = replace(self.game, board=self.board, first=self.betting, ranges=(one, two))
        tree = compile_range_tree(below, merge=False)
        return RangeSubgame(tree, "here", tree, Spot(0, self.betting))

    def roots(self, p: int) -> Ints:
        return self.subgame.hands(p)

    def restrict(self, followed: Followed, p: int) -> Numbers:
        part, whole = self.subgame.tree, range_tree(followed.tree)
        return restrict(np.asarray(followed.sigma[p]), places(part, whole, p), elsewhere=0.0)

    def cells(self, tree: PublicTree) -> Ints | None:
        side = range_tree(tree).players[self.player]
        try:
            actions, first, stride = side.finder.cells(self.board, str(self.betting))
        except KeyError:
            return None
        sequences = first[:, None] + stride * np.arange(len(actions))
        return np.where(first[:, None] < 0, -1, sequences)

    def deals(self, tree: PublicTree) -> Sequence[str]:
        deck, known = self.game.deck, range_tree(tree).players[0].finder.boards
        left = [card for card in range(deck.size) if card not in self.board]
        return [
            deck.name(cards)
            for cards in itertools.combinations(left, self._to_deal)
            if board_key((*self.board, *cards)) in known
        ]

    def _first_values(self, followed: Followed, *, best: bool) -> Floats:
        tree, p, o = self.subgame.tree, self.player, 1 - self.player
        run = engine(tree)
        sigma = None if best else self.restrict(followed, p)
        reach = self.reach[o][self.roots(o)][None]
        values = as_numpy(run.row_values(p, self.restrict(followed, o), reach, sigma)[0])
        first, count = tree.streets[0].first[p][0], len(tree.streets[0].actions[p][0])
        return values[first : first + count, 0, : len(self.roots(p))].T

    def fitting(self, p: int, s: int) -> Floats:
        deck = self.game.deck
        fits: Floats = deck.disjoint[s] * (self.game.weights()[1 - p] > 0)
        return fits * deck.compatible(self.board)

    def checked_down(self, p: int, s: int) -> Floats:
        betting = self.betting
        while not betting.is_over:
            betting = betting.child("c")
        if not betting.is_showdown:
            return np.full(self.game.deck.num_hands, float(betting.net()[p]))
        final = BOARD_CARDS[self.game.rules.last_street]
        share = showdown(self.game.deck, self.board, final, s)
        return float(betting.at_stake) * (2 * share - 1)


@lru_cache(maxsize=8)
def _hands(deck: Deck) -> dict[str, int]:
    return {deck.hand_name(hand): hand for hand in range(deck.num_hands)}


@lru_cache(maxsize=2000)  # all hands of a board: callers ask for each in turn, then begin again
def showdown(deck: Deck, board: tuple[int, ...], final: int, hand: int) -> Floats:
    """[hand] the share of the pot that `hand` wins against each hand when the rest is dealt.

    The boards are all looked at where there are at most `RUNOUTS`, and otherwise some are drawn.
    """
    taken = {*board, *(int(card) for card in deck.hands[hand])}
    left = [card for card in range(deck.size) if card not in taken]
    count = final - len(board)
    boards: Sequence[tuple[int, ...]]
    if math.comb(len(left), count) <= RUNOUTS:
        boards = list(itertools.combinations(left, count))
    else:
        random = Random(hand)
        boards = [tuple(random.sample(left, count)) for _ in range(RUNOUTS // 5)]
    won, possible = np.zeros(deck.num_hands), np.zeros(deck.num_hands)
    for dealt in boards:
        whole = tuple(sorted((*board, *dealt)))
        ranks, free = _ranked(deck, whole)
        won += free * ((ranks < ranks[hand]) + 0.5 * (ranks == ranks[hand]))
        possible += free
    share: Floats = np.full(deck.num_hands, 0.5)
    np.divide(won, possible, out=share, where=possible > 0)
    return share


@lru_cache(maxsize=2000)
def _ranked(deck: Deck, board: tuple[int, ...]) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
    """[hand] strengths on a whole board, and which hands it leaves."""
    return rank_hands(board, deck), deck.compatible(board)
