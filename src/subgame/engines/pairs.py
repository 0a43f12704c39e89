"""`PairEngine`: hold'em trees whose pairs of hands have weights of their own, in NumPy.

Without folded players the weight of two hands is 1, or 0 if they share a card, and a terminal is a
sum over the hands (`engines.numba.range_terminals`). With folded players it is a matrix for each
board (`subgame.games.holdem.bunching`), and a terminal is a product with it. So this engine is
exact as well, but slower and larger. It takes schedules without prediction.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.base import EngineBase
from subgame.engines.blas import one_blas_thread
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


class PairStreet(NamedTuple):
    """All boards of a street. Their hands are one axis, board after board, each padded to tiles."""

    betting: Street
    hands: tuple[list[slice], list[slice]]  # [p][board] the hands of a board, without padding
    size: tuple[int, int]  # [p] places with padding
    above: tuple[Ints, Ints]  # [p][place] the same hand's place on the street before
    chance: tuple[Floats, Floats]  # [p][place] the weight of its board; 0 in the padding
    met: list[Weights]  # [board][player 0's hand, player 1's] the weights of pairs
    won: list[Weights]  # the same with the sign of a showdown; empty before the last street


def pair_bytes(tree: RangeTree) -> int:
    """Bytes of the matrices of all boards: one each, and one more on the last street."""
    hands = tree.boards.hands.reshape(-1, 2)
    last = tree.boards.street == len(tree.streets) - 1
    return 4 * int((hands.prod(1) * (1 + last)).sum())


class PairEngine(EngineBase):
    """The operations of `contract.Engine`, with a matrix of pair weights for every board.

    Arrays of a street are ``[row, place]``, with the rows of `betting_tree` and the places of
    `PairStreet`.
    """

    resolution = RESOLUTION["float32"]

    def __init__(self, tree: RangeTree) -> None:
        if tree.merged or len(tree.units.dealt[0].cards) > 1 or tree.has_locks:
            raise SubgameError(
                f"{tree.game_name} has folded ranges, which cannot be solved with locks, merged "
                "hands or several first boards."
            )
        self.tree = tree
        what = f"{tree.game_name}: the weights of all pairs of hands"
        Allowance.of().refuse(what, pair_bytes(tree))

    @cached_property
    def streets(self) -> list[PairStreet]:
        """The streets with the weights of all pairs of hands, which take most of the memory."""
        made = list[PairStreet]()
        for s in range(len(self.tree.streets)):
            made.append(self._street(s, made[-1] if made else None))
        return made

    def _street(self, s: int, before: PairStreet | None) -> PairStreet:
        tree, b = self.tree, self.tree.boards
        boards = range(tree.units.first[s], tree.units.first[s + 1])
        hands: tuple[list[slice], list[slice]] = ([], [])
        above, chance = list[Ints](), list[Floats]()
        for p in (0, 1):
            many = b.hands[[2 * u + p for u in boards]]
            start = np.cumsum(padded(many)) - padded(many)
            hands[p].extend(slice(at, at + n) for at, n in zip(start, many, strict=True))
            above.append(np.zeros(int(padded(many).sum()), np.int64))
            chance.append(np.zeros(len(above[p])))
            for u, places in zip(boards, hands[p], strict=True):
                parent = tree.units[u].parent
                at, first = int(b.hand_at[2 * u + p]), 0
                if before is not None:
                    first = before.hands[p][parent - tree.units.first[s - 1]].start
                above[p][places] = first + b.above[at : at + places.stop - places.start]
                chance[p][places] = tree.units[u].weight
        met, won = list[Weights](), list[Weights]()
        for u in boards:
            unit = tree.units[u]
            one, two = unit.hands
            met.append(tree.holdem.pair_weights(unit.cards, one, two))
            if s == len(tree.streets) - 1:
                rank = rank_hands(unit.cards, tree.holdem.deck).astype(np.int32)
                won.append(met[-1] * np.sign(rank[one][:, None] - rank[two]).astype(np.float32))
        size = len(above[0]), len(above[1])
        sides = (above[0], above[1]), (chance[0], chance[1])
        return PairStreet(tree.streets[s], hands, size, *sides, met, won)

    # Numbers of a street ---------------------------------------------------------------------
    def _read(self, s: int, p: int, numbers: Numbers) -> Floats:
        """[action, place] a player's numbers on a street."""
        block = self.tree.players[p].street_block(np.asarray(numbers), s)
        return block.transpose(1, 0, 2).reshape(block.shape[1], -1).astype(np.float64)

    def _write(self, s: int, p: int, numbers: Numbers, values: Floats) -> None:
        block = self.tree.players[p].street_block(numbers, s)
        block[:] = values.reshape(len(values), -1, LANES).transpose(1, 0, 2)

    def _matched(self, p: int, numbers: Numbers) -> list[Floats]:
        """[street][action, place] probabilities in proportion to positive numbers, or uniform."""
        sigma = self.tree.normalise(p, np.maximum(np.asarray(numbers), 0))
        return [self._read(s, p, sigma) for s in range(len(self.streets))]

    # Up and down the tree --------------------------------------------------------------------
    def _reach(self, p: int, sigma: list[Floats], reach: Floats) -> list[Floats]:
        """[street][row, place] a player's reach."""
        out = list[Floats]()
        for s, street in enumerate(self.streets):
            betting, roots = street.betting, len(street.betting.roots)
            rows = np.zeros((betting.rows[p], street.size[p]))
            if s == 0:
                rows[:roots, street.hands[p][0]] = reach
            else:
                rows[:roots] = out[-1][self._leaves(s - 1, p)][:, street.above[p]]
                rows[:roots, street.chance[p] == 0] = 0
            for j, actions in enumerate(_decisions(betting, p)):
                at = slice(actions.start + roots, actions.stop + roots)
                rows[at] = rows[betting.parent[p][j]] * sigma[s][actions]
            out.append(rows)
        return out

    def _leaves(self, s: int, p: int) -> list[int]:
        """[leaf] a player's row at the leaves of a street."""
        return [rows[p] for rows in self.tree.streets[s].leaf_rows]

    def _paid(self, s: int, p: int, theirs: Floats, kind: type) -> Floats:
        """[row, place] what a player wins at the terminals of a street, in float32 or float64."""
        street = self.streets[s]
        out = np.zeros((street.betting.rows[p], street.size[p]))
        for showdown, matrices in ((False, street.met), (True, street.won)):
            ends = [end for end in street.betting.endings if end.showdown == showdown]
            if not ends:
                continue
            kept, place = np.unique([end.rows[p] for end in ends], return_inverse=True)
            met, sign = np.zeros((len(kept), theirs.shape[1])), -1 if showdown and p else 1
            for k, end in zip(place, ends, strict=True):
                met[k] += sign * end.pays[p] * theirs[end.rows[1 - p]]
            sides = zip(street.hands[p], street.hands[1 - p], matrices, strict=True)
            met = met.astype(kind, copy=False)
            with one_blas_thread():
                for mine, yours, matrix in sides:
                    out[kept, mine] += met[:, yours] @ (matrix if p else matrix.T)
        return out

    def _values(
        self,
        p: int,
        theirs: list[Floats],
        sigma: list[Floats] | None,
        kind: type = np.float64,
    ) -> list[Floats]:
        """[street][row, place] a player's values with `sigma`, or with the best actions."""
        values = [self._paid(s, p, rows, kind) for s, rows in enumerate(theirs)]
        for s in range(len(self.streets) - 1, -1, -1):
            street, rows = self.streets[s], values[s]
            betting, roots = street.betting, len(street.betting.roots)
            for j, actions in reversed([*enumerate(_decisions(betting, p))]):
                paid = rows[actions.start + roots : actions.stop + roots]
                mean = paid.max(0) if sigma is None else (sigma[s][actions] * paid).sum(0)
                rows[betting.parent[p][j]] += mean
            for k, leaf in enumerate(self._leaves(s - 1, p) if s else ()):
                risen = np.bincount(street.above[p], street.chance[p] * rows[k])
                values[s - 1][leaf, : len(risen)] += risen
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
        sigma, other = self._matched(p, mine.regret), self._matched(1 - p, theirs.regret)
        against = self._reach(1 - p, other, reach[1 - p])
        best = mode == Mode.BEST
        values = self._values(p, against, None if best else sigma, np.float32)
        if mode == Mode.LEARN:
            self._learn(p, mine, rates[0], sigma, values)
            if mine.average is not None:
                self._average(p, mine, rates[0], sigma, reach[p])
        return self._at_roots(p, values)

    def _learn(
        self, p: int, mine: Regrets, rates: Floats, sigma: list[Floats], values: list[Floats]
    ) -> None:
        """Discount the regrets and add those of this iteration."""
        for s, (played, rows) in enumerate(zip(sigma, values, strict=True)):
            betting, regret = self.tree.streets[s], self._read(s, p, mine.regret)
            roots = len(betting.roots)
            regret *= np.where(regret > 0, rates[0], rates[1])
            for actions in _decisions(betting, p):
                paid = rows[actions.start + roots : actions.stop + roots]
                regret[actions] += paid - (played[actions] * paid).sum(0)
            self._write(s, p, mine.regret, regret)

    def _average(
        self, p: int, mine: Regrets, rates: Floats, sigma: list[Floats], reach: Floats
    ) -> None:
        """Discount the average and add the reach of this iteration."""
        for s, own in enumerate(self._reach(p, sigma, reach)):
            average = rates[2] * self._read(s, p, mine.average)
            self._write(s, p, mine.average, average + own[len(self.tree.streets[s].roots) :])

    def _at_roots(self, p: int, values: list[Floats]) -> Floats:
        """[root, infoset]"""
        places, roots = self.streets[0].hands[p][0], len(self.tree.streets[0].roots)
        result: Floats = values[0][:roots, places] / self.tree.deals
        return result

    def current(self, p: int, regrets: Regrets, rates: Floats) -> Numbers:
        """The probabilities that regret matching plays."""
        return self.tree.normalise(p, np.maximum(np.asarray(regrets.regret), 0))

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
        mine = None if sigma is None else self._matched(p, sigma)
        values = self._values(p, self._reach(1 - p, self._matched(1 - p, theirs), reach), mine)
        result: Floats = values[0][:, self.streets[0].hands[p][0]] / self.tree.deals
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
