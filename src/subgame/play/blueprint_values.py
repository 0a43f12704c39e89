"""`BlueprintValues`: what ranges win from a public state on, if both players follow a blueprint.

It is the value function by which AIVAT takes the luck out of whole hold'em
(`subgame.play.aivat`). All betting that the blueprint knows below a decision is summed,
exactly over both players' hands, on whole boards: on all of them where one card is to come, and on
a fixed choice of them before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.follow import DETERMINISTIC, FollowedBetting
from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.numba.one_hand import one_hand
from subgame.engines.numba.sampled import NumbaSweeps, flat
from subgame.engines.numba.sampled_kernels import (
    NO_SUMS,
    Flat,
    Hands,
    add_fold,
    add_showdown,
    rows,
    sweep,
)
from subgame.engines.numba.strengths import ahead
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS
from subgame.games.holdem.rules import Betting
from subgame.play.aivat import ValueFunction
from subgame.play.hunl.preflop_values import PreflopValues
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Reached
from subgame.tree.betting_arrays import STORED, BettingArrays

Floats = NDArray[np.float64]
Board = tuple[int, ...]
Ranges = tuple[Floats, Floats]
ORDERED_BOARDS = 2_000
"""Boards whose hands are kept in order."""
BEFORE = 24
"""Whole boards for values before the flop."""
USUAL = 15
"""Big blinds of a pot that has the usual number of boards; a larger one has more, in proportion."""
MOST = 50
"""The most boards of a large pot."""
SETTLED = 0.2
"""The share of the pot that may be behind where only the showdown counts."""
EARLY = 4
"""Whole boards for the values of all hands before the flop, which are means over classes."""


class Sums(NamedTuple):
    """Sums over pairs of hands and boards: of what player 0 wins, and of their reach."""

    won: float
    reach: float

    @property
    def mean(self) -> float:
        """What player 0 wins on average, in chips."""
        return self.won / self.reach if self.reach > 0 else 0.0


class BlueprintValues(ValueFunction):
    """Values of public states with both players' ranges, by self-play of a blueprint.

    `boards` are the whole boards for values on the flop, on the turn, and after each turn card.

    >>> from subgame.blueprints.recipe import BlueprintRecipe
    >>> from subgame.blueprints.training import Trainer
    >>> cards = {"ranks": "9TJQKA", "suits": "cd"}
    >>> recipe = BlueprintRecipe("tiny", "all: a / cap 1", (None, 6, 6, 6), 400, **cards)
    >>> values = BlueprintValues(StoredBlueprint.of(Trainer(recipe)))
    >>> start, ones = recipe.game.start(), np.ones(66)
    >>> board = tuple(range(5))
    >>> sums = values.sums(start, (board,), (ones, ones))
    >>> sums.reach == 21 * 10  # pairs of hands that the board leaves
    True
    """

    hand_boards = (4, 4)
    """Whole boards for the values of one hand on the flop and on the turn."""
    drawn = (0, 6)
    """Flops and turn cards that are drawn to take out the luck of the deal."""

    def __init__(
        self, blueprint: StoredBlueprint, boards: tuple[int, int, int] = (4, 12, 6)
    ) -> None:
        self.blueprint, self.deck, self.boards = blueprint, blueprint.game.deck, boards
        self.final = blueprint.cards.showdown
        engine = NumbaSweeps(blueprint.tree, blueprint.cards.counts, self.deck)
        weights = engine.zeros()
        for s, units in enumerate(blueprint.probabilities):
            engine.street(weights, s)[:, : units.shape[1]] = units
        self.flat = engine.flat
        room = np.zeros(2 * self.deck.num_hands, np.float32)  # for both players' ranges
        self.table = np.concatenate([engine.strategy(weights), room])
        self._hands = lru_cache(ORDERED_BOARDS)(self._sorted)
        self._below = lru_cache(None)(self._cut)
        self._followed: dict[tuple[str, ...], FollowedBetting] = {}
        self._before: dict[tuple[str, bytes, bytes], float] = {}
        """Values before the flop, by betting and ranges: the same come again in every deal."""
        self._hands_before: dict[tuple[str, bytes, int], Floats] = {}
        """Values before the flop of all hands of a player, by betting, opponent's range, player."""

    # As AIVAT asks for them --------------------------------------------------------------------
    def here(self, reached: Reached, p: int) -> Callable[[int], float]:
        assert isinstance(reached, ReachedRanges)
        if reached.board:
            return partial(self.hand_value, reached, p)
        return self._early(reached, p).item

    def samples(self, reached: Reached) -> int | None:
        assert isinstance(reached, ReachedRanges)
        cards = len(reached.board)
        return None if cards + 1 >= self.final else self.drawn[cards > 0]

    def opening(self, reached: Reached, p: int) -> Floats | None:
        assert isinstance(reached, ReachedRanges)
        return None if reached.board or reached.player < 0 else self._early(reached, p)

    def _early(self, reached: ReachedRanges, p: int) -> Floats:
        """[hand] the values of all hands of player `p` before the flop."""
        key = str(reached.betting), reached.reach[1 - p].tobytes(), p
        if key not in self._hands_before:
            self._hands_before[key] = self._class_values(reached, p)
        return self._hands_before[key]

    def mean(self, reached: Reached) -> float:
        assert isinstance(reached, ReachedRanges)
        betting, board, ranges = reached.betting, reached.board, reached.reach
        if board:
            return self._mean(reached, self.boards[self.final - len(board) <= 1])
        key = str(betting), ranges[0].tobytes(), ranges[1].tobytes()
        if key not in self._before:
            self._before[key] = self.sums(betting, self.runouts((), BEFORE), ranges).mean
        return self._before[key]

    def mean_after_deal(self, reached: Reached) -> float:
        assert isinstance(reached, ReachedRanges)
        return self._mean(reached, self.boards[2])

    def _mean(self, reached: ReachedRanges, boards: int) -> float:
        """The value after the flop: exact if hardly anything is behind, otherwise by boards.

        An error of a large pot's value is the luck of many small pots. So it has more boards.
        """
        betting, board = reached.betting, reached.board
        behind = float(min(betting.rules.stacks)) - float(betting.at_stake)
        if len(board) < self.final <= len(board) + 2 and behind <= SETTLED * float(betting.pot):
            return self._shown(reached)
        size = float(betting.pot) / (USUAL * float(betting.rules.blinds[1]))
        most = min(round(boards * max(1.0, size)), MOST)
        return self.sums(betting, self.runouts(board, most), reached.reach).mean

    def _shown(self, reached: ReachedRanges) -> float:
        """What player 0 wins by a showdown without more bets, over all cards to come."""
        end = reached.betting
        while not end.is_over:
            end = end.child("c")
        if not end.is_showdown:
            return float(end.net()[0])
        one, two = reached.reach
        won = one @ ahead(reached.board, self.final, self.deck) @ two
        return float(end.at_stake) * float(won) / self.deck.pairs(one, two)

    def knows(self, reached: Reached) -> bool:
        assert isinstance(reached, ReachedRanges)
        abstract = self.followed(reached.betting).waiting
        return abstract is not None and abstract.history == reached.betting.history

    # Sums over hands and boards ----------------------------------------------------------------
    def runouts(self, board: Board, most: int) -> list[Board]:
        """The whole boards that may follow, or a choice of `most` of them, always the same."""
        left = [card for card in range(self.deck.size) if card not in board]
        more = self.final - len(board)
        if more <= 0:
            return [board]
        random = Random(math.prod(2 * card + 3 for card in board))
        if more == 1:
            return [(*board, card) for card in random.sample(left, min(most, len(left)))]
        out: list[Board] = []
        while len(out) < most:  # every next card comes before any comes again
            for card in random.sample(left, len(left)):
                others = random.sample([c for c in left if c != card], more - 1)
                out.append((*board, card, *others))
        return out[:most]

    def followed(self, betting: Betting) -> FollowedBetting:
        """A betting, with that of the blueprint which stands for it.

        Each bet is taken for the nearest one that the blueprint knows. A street that follows begins
        with about as many pots behind as really are (`FollowedBetting.end_like`).
        """
        known = self._followed.get(betting.history)
        if known is None:
            known = self._followed[betting.history] = self._follow(betting)
        return known

    def _follow(self, betting: Betting) -> FollowedBetting:
        menu = self.blueprint.actions
        hand = FollowedBetting(betting.rules.start(), self.blueprint.game.start())
        *past, now = " ".join(betting.history).split("/")
        for street in past:
            real = hand.real.play(street)
            hand = FollowedBetting(real, hand.end_like(real, menu, DETERMINISTIC))
        for action in now.split():
            hand = hand.after(action, menu, DETERMINISTIC)
        return hand

    def sums(self, betting: Betting, boards: Sequence[Board], ranges: Ranges) -> Sums:
        """Sums over whole boards; `ranges` are [hand] the reach of each player."""
        real, abstract = betting, self.followed(betting).waiting
        decision = None if abstract is None else self.blueprint.find(abstract)
        total_won = total_reach = 0.0
        for board in boards:
            hands, order = self._hands(board)
            zero, one = (np.ascontiguousarray(reach[order], np.float32) for reach in ranges)
            if not zero.any() or not one.any():
                continue
            cards, met = np.zeros(64, np.float32), np.zeros(len(order), np.float32)
            add_fold(one, np.float32(1), hands, cards, met)
            reach = float(zero.astype(np.float64) @ met)
            if decision is not None and abstract is not None:
                scale = float(real.pot) / float(abstract.pot)
                won = self._swept(decision, scale, hands, order, (zero, one))
            elif real.is_over and not real.is_showdown:
                won = reach * float(real.net()[0])
            else:
                paid, end = np.zeros(len(order), np.float32), real
                while not end.is_over:
                    end = end.child("c")
                add_showdown(one, np.float32(end.at_stake), hands, cards, paid)
                won = float(zero.astype(np.float64) @ paid)
            total_won, total_reach = total_won + won, total_reach + reach
        return Sums(total_won, total_reach)

    def _swept(
        self,
        decision: int,
        scale: float,
        hands: Hands,
        order: NDArray[np.int64],
        ranges: tuple[NDArray[np.float32], NDArray[np.float32]],
    ) -> float:
        """What player 0 wins below a decision of the blueprint, times the reach of the hands."""
        flat, sequences = self._below(decision, scale)
        self._enter(order, ranges)
        reach, value = (rows(count, len(order)) for count in sequences[::-1])
        sweep(0, flat, self.table, hands, reach, value, NO_SUMS)
        return float(value[0].sum(dtype=np.float64))

    def _enter(
        self, order: NDArray[np.int64], ranges: tuple[NDArray[np.float32], NDArray[np.float32]]
    ) -> None:
        """Write both players' ranges to the table."""
        size = self.deck.num_hands
        for p, weights in enumerate(ranges):
            part = self.table[len(self.table) - (2 - p) * size :][:size]
            part[order] = weights

    # One hand against a range --------------------------------------------------------------------
    def hand_value(self, reached: ReachedRanges, p: int, s: int) -> float:
        """What hand `s` of player `p` wins on average against the other player's range."""
        real, held = reached.betting, set(self.deck.hands[s].tolist())
        abstract = self.followed(real).waiting
        decision = None if abstract is None else self.blueprint.find(abstract)
        end = real
        while decision is None and not end.is_over:
            end = end.child("c")
        won = met = 0.0
        most = self.hand_boards[self.final - len(reached.board) <= 1]
        for board in self.runouts(reached.board, most):
            if held.intersection(board):
                continue
            hands, order = self._hands(board)
            h = int(np.flatnonzero(order == s)[0])
            theirs = np.ascontiguousarray(reached.reach[1 - p][order], np.float32)
            apart = self.deck.disjoint[s][order] * theirs
            reach = float(apart.sum(dtype=np.float64))
            if decision is not None and abstract is not None:
                scale = float(real.pot) / float(abstract.pot)
                flat, sequences = self._below(decision, scale)
                ours = np.zeros(len(order), np.float32)
                ours[h] = 1
                self._enter(order, (ours, theirs) if p == 0 else (theirs, ours))
                won += one_hand(p, flat, self.table, hands, h, sequences)
            elif not end.is_showdown:
                won += reach * float(end.net()[p])
            else:
                ahead = np.sign(hands.tie_of[h] - hands.tie_of)
                won += float(end.at_stake) * float(apart @ ahead)
            met += reach
        return won / met if met > 0 else 0.0

    @cached_property
    def preflop(self) -> PreflopHands | None:
        """The table of ways to the flop beside the blueprint, if there is one."""
        beside = PreflopValues.beside(self.blueprint)
        return None if beside is None else PreflopHands(self.blueprint)

    def _class_values(self, reached: ReachedRanges, p: int) -> Floats:
        """[hand] what each hand of player `p` wins before the flop: the mean over its class."""
        won, met = np.zeros(self.deck.num_hands), np.zeros(self.deck.num_hands)
        real, abstract = reached.betting, self.followed(reached.betting).waiting
        decision = None if abstract is None else self.blueprint.find(abstract)
        if self.preflop is not None and real.is_over:
            return self.preflop.values(real, 1.0, p, reached.reach[1 - p])
        if self.preflop is not None and decision is not None and abstract is not None:
            scale = float(real.pot) / float(abstract.pot)
            return self.preflop.values(abstract, scale, p, reached.reach[1 - p])
        end = real
        while decision is None and not end.is_over:
            end = end.child("c")
        for board in self.runouts((), EARLY):
            hands, order = self._hands(board)
            ours = np.ones(len(order), np.float32)
            theirs = np.ascontiguousarray(reached.reach[1 - p][order], np.float32)
            cards, meets = np.zeros(64, np.float32), np.zeros(len(order), np.float32)
            add_fold(theirs, np.float32(1), hands, cards, meets)
            met[order] += meets
            if decision is not None and abstract is not None:
                flat, sequences = self._below(decision, float(real.pot) / float(abstract.pot))
                self._enter(order, (ours, theirs) if p == 0 else (theirs, ours))
                reach, value = (rows(sequences[q], len(order)) for q in (1 - p, p))
                sweep(p, flat, self.table, hands, reach, value, NO_SUMS)
                won[order] += value[0, : len(order)]
            elif not end.is_showdown:
                won[order] += meets * float(end.net()[p])
            else:
                paid = np.zeros(len(order), np.float32)
                add_showdown(theirs, np.float32(end.at_stake), hands, cards, paid)
                won[order] += paid
        kind = self.blueprint.cards.of(())
        return (np.bincount(kind, won) / np.maximum(np.bincount(kind, met), 1e-30))[kind]

    def _sorted(self, board: Board) -> tuple[Hands, NDArray[np.int64]]:
        """The hands of a whole board from the weakest on, and which they are."""
        ranks = rank_hands(board, self.deck)
        free = int(self.deck.compatible(board).sum())
        order = np.argsort(ranks, kind="stable")[len(ranks) - free :]
        new = np.append(True, np.diff(ranks[order]) > 0)
        tie = np.append(np.flatnonzero(new), len(order))
        streets = BOARD_CARDS[: len(self.blueprint.probabilities)]
        buckets = [self.blueprint.cards.of(board[:cards])[order] for cards in streets]
        bucket = np.stack([*buckets, order]).astype(np.int64)
        return Hands(self.deck.hands[order], tie, np.cumsum(new), bucket), order

    def _cut(self, decision: int, scale: float) -> tuple[Flat, tuple[int, int]]:
        """What follows a decision, as kernels take it; and the sequences of both players.

        Two decisions with one action each stand above it: there the players' ranges come in, as
        probabilities by "bucket", which is the hand.
        """
        tree, size = self.blueprint.tree, self.deck.num_hands
        below, waiting = [], [decision]
        while waiting:
            d = waiting.pop()
            below.append(d)
            waiting += [int(c) for c in tree.child[tree.first[d] : tree.first[d + 1]] if c >= 0]
        kept = np.sort(np.array(below))
        ones = int(np.searchsorted(tree.player[kept], 1))
        whole = np.concatenate([[-1], kept[:ones], [-2], kept[ones:]])  # -1, -2: the ranges
        place = {int(d): k for k, d in enumerate(whole)}
        street = len(self.blueprint.probabilities)
        code, child, stake, width = list[int](), list[int](), list[float](), list[int]()
        most = float(min(self.blueprint.game.start().rules.stacks))
        for d in whole.tolist():
            if d < 0:
                code, stake, width = [*code, 0], [*stake, 0.0], [*width, 1]
                child.append(place[-2] if d == -1 else place[decision])
                continue
            part = slice(tree.first[d], tree.first[d + 1])
            code += tree.code[part].tolist()
            child += [place[c] if c >= 0 else c for c in tree.child[part].tolist()]
            stake += np.clip(tree.stake[part] * scale, -most, most).tolist()
            width.append(part.stop - part.start)
        stored: dict[str, Any] = {
            "player": np.where(whole < 0, -1 - whole, tree.player[whole]),
            "street": np.where(whole < 0, street, tree.street[whole]),
            "first": np.cumsum([0, *width]),
            "code": np.array(code),
            "child": np.array(child),
            "stake": np.array(stake),
        }
        cut = BettingArrays.completed({name: stored[name] for name in STORED})
        own = len(self.table) - 2 * size + (-1 - whole) * size
        cell = np.where(whole < 0, own, self.flat.cell[whole])
        made = flat(cut, cell, np.append(self.flat.counts, size))
        return made, (cut.sequences(0), cut.sequences(1))


BLUEPRINT = 0
"""The first continuation of the table: the player goes on by the blueprint."""


class PreflopHands:
    """Values of hands before the flop. Axes: i = class of the player, j = class of the opponent."""

    def __init__(self, blueprint: StoredBlueprint) -> None:
        self.blueprint, self.table = blueprint, PreflopValues.of(blueprint)
        self.classes = self.table.classes
        self.size = np.bincount(self.classes).astype(np.float64)
        self.meets = self.table.pairs / self.size[:, None]  # [i, j] hands that one hand may meet
        self.leaf = {leaf.history: k for k, leaf in enumerate(self.table.leaves)}

    def values(self, abstract: Betting, scale: float, p: int, reach: Floats) -> Floats:
        """[hand] what each hand of player `p` wins from a betting of the blueprint on.

        `reach` is [hand] that of the other player; pots are `scale` times the blueprint's.
        """
        theirs = np.bincount(self.classes, reach, len(self.size)) / self.size
        met = self.meets @ theirs
        won = self._won(abstract, p, theirs) * scale
        values: Floats = (won / np.where(met > 0, met, 1.0))[self.classes]
        return values

    def _won(self, here: Betting, p: int, theirs: Floats) -> Floats:
        """[i] what a hand wins, times the reach of the hands that it may meet."""
        if here.is_over and not here.is_showdown:
            return float(here.net()[p]) * (self.meets @ theirs)
        if here.is_over:
            return float(here.at_stake) * ((self.meets * self.table.equity) @ theirs)
        if here.street > 0:
            k = self.leaf.get(here.history)
            paid = self.table.values[p, BLUEPRINT, k] if k is not None else self.table.equity / 2
            return float(here.pot) * ((self.meets * paid) @ theirs)
        decision = self.blueprint.decision(here)
        units = self.blueprint.rows(decision).astype(np.float64)  # [action, class]
        share = units / units.sum(0)
        won = np.zeros(len(self.size))
        for action, row in zip(self.blueprint.tree.actions(decision), share, strict=True):
            if here.player == p:
                won += row * self._won(here.child(action), p, theirs)
            else:
                won += self._won(here.child(action), p, theirs * row)
        return won
