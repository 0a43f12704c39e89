"""`PairEngine`: hold'em trees whose pairs of hands have weights of their own, in NumPy.

Without folded players the weight of two hands is 1, or 0 if they share a card, and a terminal takes
one sum over the hands (`engines.numba.range_terminals`). With folded players it is a matrix for each
board (`subgame.games.holdem.bunching`), and a terminal is a product with it. So this engine is exact
as well, but slower and larger by about the number of hands. It takes schedules without prediction.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.base import EngineBase
from subgame.engines.contract import Both, Floats, Mode, Numbers, Pair, Regrets, Response
from subgame.engines.rounding import RESOLUTION
from subgame.errors import SubgameError
from subgame.games.holdem.evaluate import rank_hands
from subgame.memory import Allowance
from subgame.tree.ranges.betting_tree import LANES, Street
from subgame.tree.ranges.deal import padded
from subgame.tree.ranges.tree import RangeTree

Ints = NDArray[np.int64]
Weights = NDArray[np.float32]


class PairPlan(NamedTuple):
    """A strategy with its reach at the roots."""

    sigma: Numbers
    reach: Floats  # [root, infoset]


class PairBoard(NamedTuple):
    """A board: its hands, where they are on the board before, and the weights of pairs."""

    street: Street
    parent: int  # -1: none
    chance: float
    hands: tuple[int, int]
    above: tuple[Ints, Ints]  # [hand] its place on the board before
    at: tuple[int, int]  # where the players' numbers begin
    met: Weights  # [player 0's hand, player 1's] the weights of pairs
    won: Weights | None  # the same with the sign of a showdown; None before the last street


class PairEngine(EngineBase):
    """The operations of `contract.Engine`, with a matrix of pair weights for every board."""

    resolution = RESOLUTION["float32"]

    def __init__(self, tree: RangeTree) -> None:
        if tree.merged or len(tree.units.dealt[0].cards) > 1 or tree.has_locks:
            raise SubgameError(
                f"{tree.game_name} has folded ranges, which cannot be solved with locks, merged "
                "hands or several first boards."
            )
        self.tree = tree
        hands = tree.boards.hands.reshape(-1, 2).astype(np.float64)
        last = tree.boards.street == len(tree.streets) - 1
        need = 4 * float((hands.prod(1) * (1 + last)).sum())
        Allowance.of().refuse(f"{tree.game_name}: the weights of all pairs of hands", need)

    @cached_property
    def boards(self) -> list[PairBoard]:
        """All boards, each after the one before it."""
        return [self._board(u) for u in range(len(self.tree.units))]

    def _board(self, u: int) -> PairBoard:
        tree, b, unit = self.tree, self.tree.boards, self.tree.units[u]
        one, two = unit.hands
        start = [int(b.hand_at[2 * u + p]) for p in (0, 1)]
        above = [b.above[at : at + len(h)] for at, h in zip(start, (one, two), strict=True)]
        met, won = tree.holdem.pair_weights(unit.cards, one, two), None
        if unit.street == len(tree.streets) - 1:
            rank = rank_hands(unit.cards, tree.holdem.deck).astype(np.int32)
            won = met * np.sign(rank[one][:, None] - rank[two][None, :]).astype(np.float32)
        return PairBoard(
            tree.streets[unit.street],
            unit.parent,
            unit.weight,
            (len(one), len(two)),
            (above[0].astype(np.int64), above[1].astype(np.int64)),
            (int(b.store_at[2 * u]), int(b.store_at[2 * u + 1])),
            met,
            won,
        )

    # Numbers of a board ----------------------------------------------------------------------
    def _block(self, board: PairBoard, p: int, numbers: Numbers) -> NDArray[np.float32]:
        """[tile, action, LANES] a view of a player's numbers on a board."""
        actions = board.street.rows[p] - len(board.street.roots)
        size = padded(board.hands[p])
        end = board.at[p] + actions * size
        block: NDArray[np.float32] = numbers[board.at[p] : end].reshape(-1, actions, LANES)
        return block

    def _read(self, board: PairBoard, p: int, numbers: Numbers) -> Floats:
        """[action, hand] a player's numbers on a board."""
        block = self._block(board, p, numbers).transpose(1, 0, 2)
        return block.reshape(len(block), -1)[:, : board.hands[p]].astype(np.float64)

    def _write(self, board: PairBoard, p: int, numbers: Numbers, values: Floats) -> None:
        block = self._block(board, p, numbers)
        whole = np.zeros((len(values), len(block) * LANES))
        whole[:, : values.shape[1]] = values
        block[:] = whole.reshape(len(values), -1, LANES).transpose(1, 0, 2)

    def _matched(self, board: PairBoard, p: int, numbers: Numbers) -> Floats:
        """[action, hand] probabilities in proportion to what is above zero; uniform without."""
        weights = np.maximum(self._read(board, p, numbers), 0)
        for actions in _decisions(board.street, p):
            total = weights[actions].sum(0)
            share = weights[actions] / np.where(total > 0, total, 1)
            weights[actions] = np.where(total > 0, share, 1 / (actions.stop - actions.start))
        return weights

    # Up and down the tree --------------------------------------------------------------------
    def _reach(self, p: int, sigma: list[Floats], reach: Floats) -> list[Floats]:
        """[board][row, hand] a player's reach."""
        out = list[Floats]()
        for board, played in zip(self.boards, sigma, strict=True):
            street, roots = board.street, len(board.street.roots)
            rows = np.empty((street.rows[p], board.hands[p]))
            if board.parent < 0:
                rows[:roots] = reach
            else:
                leaves = [pair[p] for pair in self.boards[board.parent].street.leaf_rows]
                rows[:roots] = out[board.parent][leaves][:, board.above[p]]
            for j, actions in enumerate(_decisions(street, p)):
                at = slice(actions.start + roots, actions.stop + roots)
                rows[at] = rows[street.parent[p][j]] * played[actions]
            out.append(rows)
        return out

    def _paid(self, board: PairBoard, p: int, theirs: Floats) -> Floats:
        """[row, hand] what a player wins at the terminals of a board."""
        out = np.zeros((board.street.rows[p], board.hands[p]))
        for showdown, matrix in ((False, board.met), (True, board.won)):
            ends = [end for end in board.street.endings if end.showdown == showdown]
            if not ends or matrix is None:
                continue
            rows = np.array([end.rows[p] for end in ends])
            kept, place = np.unique(rows, return_inverse=True)
            scale = np.array([end.pays[p] for end in ends])[:, None]
            met = np.zeros((len(kept), theirs.shape[1]))
            np.add.at(met, place, scale * theirs[[end.rows[1 - p] for end in ends]])
            if showdown and p == 1:
                met = -met
            out[kept] += met @ (matrix if p else matrix.T)
        return out

    def _values(self, p: int, theirs: list[Floats], sigma: list[Floats] | None) -> list[Floats]:
        """[board][row, hand] a player's values with `sigma`, or with the best actions."""
        values = [self._paid(board, p, x) for board, x in zip(self.boards, theirs, strict=True)]
        for u in range(len(self.boards) - 1, -1, -1):
            board, rows = self.boards[u], values[u]
            street, roots = board.street, len(board.street.roots)
            for j, actions in reversed([*enumerate(_decisions(street, p))]):
                paid = rows[actions.start + roots : actions.stop + roots]
                mean = paid.max(0) if sigma is None else (sigma[u][actions] * paid).sum(0)
                rows[street.parent[p][j]] += mean
            if board.parent >= 0:
                leaves = [pair[p] for pair in self.boards[board.parent].street.leaf_rows]
                above = values[board.parent]
                above[np.ix_(leaves, board.above[p])] += board.chance * rows[:roots]
        return values

    # Learning --------------------------------------------------------------------------------
    def regrets(self, p: int, *, predictive: bool = False) -> Regrets:
        """Zeros for player `p`."""
        if predictive:
            raise SubgameError(
                "Folded ranges are solved by schedules without prediction: hs-dcfr, dcfr, cfr+."
            )
        size = self.tree.stored(p)
        return Regrets(np.zeros(size, np.float32), np.zeros(size, np.float32), None)

    def roots(self, p: int) -> Floats:
        """[root, infoset] the tree's reach of player `p`."""
        ways = len(self.tree.streets[0].roots)
        return np.tile(np.asarray(self.tree.players[p].reach, np.float64), (ways, 1))

    def rates(self, discounts: Floats, begin: int) -> Floats:
        """[t, 4] discounts and the number of earlier iterations."""
        if discounts.shape[1] > 3 and discounts[:, 3].any():
            raise SubgameError("Folded ranges cannot be solved with trembles.")
        return np.column_stack([discounts[:, :3], begin - 1 + np.arange(len(discounts))])

    def sweep(self, p: int, mode: Mode, pair: Pair, rates: Both, reach: Both) -> Floats:
        """One traversal for player `p`; returns the values [root, infoset]."""
        if mode in (Mode.RESPOND, Mode.WITHIN):
            raise SubgameError("Folded ranges cannot be solved by best responses (cfr-br).")
        mine, theirs = pair
        sigma = [self._matched(board, p, mine.regret) for board in self.boards]
        other = [self._matched(board, 1 - p, theirs.regret) for board in self.boards]
        against = self._reach(1 - p, other, reach[1 - p])
        best = mode == Mode.BEST
        values = self._values(p, against, None if best else sigma)
        if mode == Mode.LEARN:
            self._learn(p, mine, rates[0], sigma, values)
            if mine.average is not None:
                self._average(p, mine, rates[0], sigma, reach[p])
        return self._at_roots(values)

    def _learn(
        self, p: int, mine: Regrets, rates: Floats, sigma: list[Floats], values: list[Floats]
    ) -> None:
        """Discount the regrets and add those of this iteration."""
        for board, played, rows in zip(self.boards, sigma, values, strict=True):
            roots, regret = len(board.street.roots), self._read(board, p, mine.regret)
            regret *= np.where(regret > 0, rates[0], rates[1])
            for actions in _decisions(board.street, p):
                paid = rows[actions.start + roots : actions.stop + roots]
                regret[actions] += paid - (played[actions] * paid).sum(0)
            self._write(board, p, mine.regret, regret)

    def _average(
        self, p: int, mine: Regrets, rates: Floats, sigma: list[Floats], reach: Floats
    ) -> None:
        """Discount the average and add the reach of this iteration."""
        rows = self._reach(p, sigma, reach)
        for board, own in zip(self.boards, rows, strict=True):
            average = rates[2] * self._read(board, p, mine.average)
            self._write(board, p, mine.average, average + own[len(board.street.roots) :])

    def _at_roots(self, values: list[Floats]) -> Floats:
        """[root, infoset]"""
        result: Floats = values[0][: len(self.tree.streets[0].roots)] / self.tree.deals
        return result

    def current(self, p: int, regrets: Regrets, rates: Floats) -> Numbers:
        """The probabilities that regret matching plays."""
        out = np.zeros(self.tree.stored(p), np.float32)
        for board in self.boards:
            self._write(board, p, out, self._matched(board, p, regrets.regret))
        return out

    def behaviour(self, p: int, average: Numbers) -> Numbers:
        """The probabilities of an average; uniform where it is zero."""
        return self.current(p, Regrets(np.asarray(average), None, None), np.ones(4))

    # Evaluation ------------------------------------------------------------------------------
    def plan(self, p: int, sigma: Numbers, reach: Floats | None = None) -> PairPlan:
        """A strategy with its reach at the roots, by default the tree's."""
        return PairPlan(sigma, self.roots(p) if reach is None else np.atleast_2d(reach))

    def first_street(self, p: int, sigma: Numbers | None, opponent_plan: PairPlan) -> Floats:
        """[row, infoset] player `p`'s value of each row of the first street; None: a best one."""
        theirs, reach = opponent_plan
        other = [self._matched(board, 1 - p, np.asarray(theirs)) for board in self.boards]
        mine = None
        if sigma is not None:
            mine = [self._matched(board, p, np.asarray(sigma)) for board in self.boards]
        values = self._values(p, self._reach(1 - p, other, reach), mine)
        result: Floats = values[0] / self.tree.deals
        return result

    def values(self, p: int, sigma: Numbers, opponent_plan: PairPlan) -> Response:
        """Player `p`'s values when playing `sigma`."""
        return self._response(self.first_street(p, sigma, opponent_plan))

    def respond(self, p: int, opponent_plan: PairPlan) -> Response:
        """Player `p`'s counterfactual best response."""
        return self._response(self.first_street(p, None, opponent_plan))

    def _response(self, rows: Floats) -> Response:
        return Response(rows[: len(self.tree.streets[0].roots)])


def _decisions(street: Street, p: int) -> list[slice]:
    """[j] a decision's actions among all actions of the player on the street."""
    roots = len(street.roots)
    return [
        slice(first - roots, first - roots + len(actions))
        for first, actions in zip(street.first[p], street.actions[p], strict=True)
    ]
