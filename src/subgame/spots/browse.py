"""Looking at a solution: any decision of any street, with EV, equity and frequencies by hand.

A decision is named by a line of play (see `subgame.spots.lines`), with the turn and river cards in
any suit: cards that differ from a board of the tree only by suit are looked up there.

At a decision a player's EV is what the player wins of the pot as it lies there, bets included, less
what the player still puts in. So folding has the EV 0, and the EVs of both players add up to the
pot. Equity is the share of the pot without further betting, against what the opponent holds there.
EQR (equity realisation) is EV divided by equity times pot: above 1, a hand wins more than its
share.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import regret_matching
from subgame.engines.factory import engine
from subgame.engines.numba.ranges import NumbaRangeEngine
from subgame.errors import SubgameError
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.evaluate import equities
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.rules import Betting, NoLimit
from subgame.games.holdem.sizes import STREETS
from subgame.spots.decisions import Decision
from subgame.spots.lines import Walk, follow_to_decision
from subgame.tree.ranges.betting_tree import decisions
from subgame.tree.ranges.find import locate
from subgame.tree.ranges.stage import Below, tree_below
from subgame.tree.ranges.tree import Merge, RangeTree, compile_range_tree, range_tree
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pair = tuple[Floats, Floats]
PARTS = 4
"""Boards whose parts of the tree are kept for the next decision."""


class Spot(NamedTuple):
    """A board of a line, as the tree knows it."""

    unit: int  # the tree's board
    hands: Ints  # [hand] the hand that stands for each hand there


class Explorer:
    """Reads a strategy decision by decision; only what a decision needs is read and computed."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy, self.tree = strategy, range_tree(strategy.tree)
        self.game: Holdem = self.tree.holdem
        self.numbers = [decisions(self.tree.streets, p) for p in (0, 1)]
        self._spots: dict[tuple[int, ...], Spot] = {}
        self._parts: dict[int, tuple[Below, NumbaRangeEngine]] = {}
        self._calm: dict[tuple[int, ...], NumbaRangeEngine] = {}

    def __reduce__(self) -> tuple[type[Explorer], tuple[Strategy]]:
        return Explorer, (self.strategy,)

    # Where a line leads ----------------------------------------------------------------------
    def spot(self, board: tuple[int, ...]) -> Spot:
        """The board of the tree that stands for some cards."""
        if board not in self._spots:
            try:
                self._spots[board] = Spot(*locate(self.tree.units, board))
            except KeyError:
                raise SubgameError(
                    f"{self.game} has no board {self.game.deck.name(board)}."
                ) from None
        return self._spots[board]

    def probs(self, board: tuple[int, ...], betting: Betting) -> Floats:
        """[hand, action] what the acting player does with each hand of the deck; 0 if blocked.

        Where a strategy has only zeros it is uniform.
        """
        p, (u, hands) = betting.player, self.spot(board)
        side = self.tree.players[p]
        cells = side.cells(u, self.numbers[p][betting.history][1])
        weights = np.asarray(self.strategy.probs[p][cells], dtype=np.float64)
        if not np.isfinite(weights).all():
            raise SubgameError("The strategy is damaged: it has probabilities that are not finite.")
        out = np.zeros((self.game.deck.num_hands, weights.shape[1]))
        out[self.tree.units[u].hands[p]] = regret_matching(weights, 1)
        result: Floats = out[hands]
        return result

    def reach(self, walk: Walk) -> list[Floats]:
        """[hand] for each player: the weight in the range times the probabilities of the line."""
        reach, deck = list[Floats](), self.game.deck
        for p, side in enumerate(self.tree.players):
            out = np.zeros(deck.num_hands)
            out[self.tree.units[0].hands[p]] = side.reach
            reach.append(out)
        for board, state, action in walk.steps:
            taken = self.probs(board, state)[:, self.game.actions(state).index(action)]
            reach[state.player] = reach[state.player] * taken
        free = deck.compatible(walk.board)
        return [weights * free for weights in reach]

    # Values ----------------------------------------------------------------------------------
    def part(self, u: int) -> tuple[Below, NumbaRangeEngine]:
        """Board `u` and what is below it, and the kernels for it."""
        if u not in self._parts:
            if len(self._parts) >= PARTS:
                self._parts.pop(next(iter(self._parts)))
            below = tree_below(self.tree, u)
            self._parts[u] = below, cast(NumbaRangeEngine, engine(below.tree))
        return self._parts[u]

    def values(self, walk: Walk, reach: list[Floats]) -> tuple[Floats, Pair]:
        """[hand, action] of the acting player and [hand] of both players: EV at a decision."""
        state, (u, hands), deck = walk.betting, self.spot(walk.board), self.game.deck
        street, held, p = (
            self.tree.streets[self.tree.units[u].street],
            self.tree.units[u].hands,
            state.player,
        )
        j = self.numbers[p][state.history][1]
        values = list[Floats]()
        for q in (0, 1):
            rows = self.rows(walk, q)
            first = street.first[p][j]
            chosen = slice(first, first + len(street.actions[p][j]))
            row = rows[chosen if q == p else [street.at[p][j][q]]] * self.tree.deals
            every = np.full((deck.num_hands, len(row)), np.nan)
            every[held[q]] = row.T
            against = self.game.facing(walk.board, reach[1 - q])
            with np.errstate(divide="ignore", invalid="ignore"):
                per_hand = every[hands] / np.where(against > 0, against, np.nan)[:, None]
            values.append(per_hand + float(state.staked[q] + state.bets[q]))
        mixed = (values[p] * self.probs(walk.board, state)).sum(1)
        other = values[1 - p][:, 0]
        return values[p], (mixed, other) if p == 0 else (other, mixed)

    def rows(self, walk: Walk, q: int) -> Floats:
        """[row, hand] player `q`'s counterfactual values on the street where a line leads.

        Only the rows below the root of the line are computed.
        """
        (u, hands), steps = self.spot(walk.board), walk.steps
        below, run = self.part(u)
        street = below.tree.streets[0]
        above = tuple(step for step in steps if step.betting.street < street.index)
        entered = np.zeros(self.game.deck.num_hands)
        entered[hands] = self.reach(Walk(above, walk.board, walk.betting))[1 - q]
        opponent = np.zeros((len(street.roots), len(below.tree.players[1 - q].slots)))
        opponent[root_of(street.roots, walk.betting)] = entered[below.tree.units[0].hands[1 - q]]
        sigma = [below.numbers(k, self.strategy.probs[k]) for k in (q, 1 - q)]
        return run.first_street(q, sigma[0], run.plan(1 - q, sigma[1], opponent))

    def equities(self, board: tuple[int, ...], reach: list[Floats]) -> Pair:
        """[hand] of both players: the share of the pot without further betting, from 0 to 1."""
        deck, last = self.game.deck, BOARD_CARDS[self.game.rules.last_street]
        if len(board) < last - 1 or self.game.folded:
            return self._calm_equities(board, reach)
        rest = [c for c in range(deck.size) if c not in (*board, *self.game.dead)]
        boards = [board] if len(board) == last else [(*board, c) for c in rest]
        won, met = equities(np.array(boards), deck, np.stack(reach))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = won.sum(0) / met.sum(0)
        return share[:, 1], share[:, 0]

    def _calm_equities(self, board: tuple[int, ...], reach: list[Floats]) -> Pair:
        """The same as values of a game on these cards with one chip from each player and no bets.

        It is faster where many boards can come.
        """
        spot, deck, out = self.spot(board), self.game.deck, list[Floats]()
        cards = self.tree.units[spot.unit].cards
        if cards not in self._calm:
            # Below the first board fewer suits can still flush, but hands were played differently.
            merge = merging(self.tree) if spot.unit == 0 else False
            calm = calm_tree(self.game, cards, merge)
            self._calm[cards] = cast(NumbaRangeEngine, engine(calm))
        run = self._calm[cards]
        for p in (0, 1):
            stored = np.zeros(deck.num_hands)
            stored[spot.hands] = reach[1 - p]
            blank = [np.zeros(run.tree.stored(q), np.float32) for q in (0, 1)]
            held = run.tree.units[0].hands
            response = run.values(p, blank[p], run.plan(1 - p, blank[1 - p], stored[held[1 - p]]))
            every = np.full(deck.num_hands, np.nan)
            every[held[p]] = response.roots[0] * run.tree.deals
            against = self.game.facing(board, reach[1 - p])
            with np.errstate(divide="ignore", invalid="ignore"):
                won = every[spot.hands] / np.where(against > 0, against, np.nan)
            out.append((1 + won) / 2)
        return out[0], out[1]

    # Decisions -------------------------------------------------------------------------------
    def decision(self, line: str = "") -> Decision:
        """The decision after a line."""
        walk = follow_to_decision(self.game, line)
        reach = self.reach(walk)
        p, (u, hands) = walk.betting.player, self.spot(walk.board)
        back = np.zeros(len(hands), dtype=np.int64)
        back[hands] = np.arange(len(hands))
        held = back[self.tree.units[u].hands[p]]
        likely = reach[p][held] * self.game.facing(walk.board, reach[1 - p])[held]
        total = likely.sum()
        return Decision(
            explorer=self,
            walk=walk,
            actions=self.game.actions(walk.betting),
            hands=held,
            probs=self.probs(walk.board, walk.betting)[held],
            reach=reach[p][held],
            chance=likely / total if total > 0 else likely,
            ranges=(reach[0], reach[1]),
        )


def merging(tree: RangeTree) -> Merge:
    """What is merged by suit symmetry in a tree, as `compile` is told."""
    return True if tree.merged else "boards" if len(tree.units[0].symmetries) > 1 else False


def calm_tree(game: Holdem, board: tuple[int, ...], merge: Merge) -> RangeTree:
    """The cards of a game from a board on, with one chip from each player and no bets."""
    if len(board) < 3:
        raise SubgameError(
            f"Equity can be computed only from the flop on, but {game} starts before it."
        )
    rules = NoLimit((1, 1), (0, 1), STREETS[len(board) - 2], 2, game.rules.last)
    calm = replace(game, rules=rules, bets=BetSizes(), first=None, board=board)
    return compile_range_tree(calm, merge=merge)


def root_of(roots: list[Betting], state: Betting) -> int:
    """The betting with which the street of a state began."""
    past = state.history
    return next(k for k, root in enumerate(roots) if past[: len(root.history)] == root.history)


def decision(strategy: Strategy, line: str = "") -> Decision:
    """The decision after a line such as ``c r50`` or ``check, bet 50, call / 3c``."""
    return Explorer(strategy).decision(line)
