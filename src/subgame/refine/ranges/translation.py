"""Action translation on hold'em trees: whole ranges along every line of betting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.follow import AbstractDecision, FollowedBetting
from subgame.engines.arrays import Floats, as_numpy
from subgame.engines.contract import RangeEngine
from subgame.engines.factory import engine
from subgame.errors import SubgameError
from subgame.games.holdem.rules import Bet, Betting
from subgame.games.holdem.translation import ActionMapping, answer
from subgame.tree.public_tree import Numbers
from subgame.tree.ranges.betting_tree import LANES, decisions
from subgame.tree.ranges.merging import Unmerged, unmerged
from subgame.tree.ranges.tree import RangeTree, range_tree
from subgame.tree.strategy import Strategy

Row = tuple[int, int]
"""A street, and one of the translating player's rows there."""
Belief = dict[tuple[Betting, Row], float]
"""Where the hand of the smaller game may be, with the translating player's last row in it, and how
likely the mapping brings it there."""


def translate_ranges(
    tree: RangeTree, strategy: Strategy, how: ActionMapping, device: str | None
) -> tuple[Numbers, Numbers]:
    """Both players' weights over `tree`; see `translation.translate`."""
    small, large = unmerged(range_tree(strategy.tree)), unmerged(tree)
    if [u.cards for u in small.tree.units] != [u.cards for u in large.tree.units]:
        raise SubgameError("Compile both games with the same boards, hands and merge=.")
    run = engine(small.tree, device=device)
    one, two = (_Translator(small, large, run, strategy, how, p).weights() for p in (0, 1))
    return large.gather(0, one), large.gather(1, two)


class _Translator:
    """Player `p` with a strategy of the smaller game, following a hand of it.

    A realisation plan says how often a row of the smaller game is reached with each hand. So the
    plan of the translating player is the mean of those of all hands of the smaller game that the
    betting may be taken for.
    """

    def __init__(
        self,
        small: Unmerged,
        large: Unmerged,
        run: RangeEngine,
        strategy: Strategy,
        how: ActionMapping,
        p: int,
    ) -> None:
        self.game, self.real, self.run, self.how, self.p = (
            small.tree.holdem,
            large.tree,
            run,
            how,
            p,
        )
        sigma = small.spread(p, strategy.probs[p])
        self.plan = run.row_reach(p, sigma, as_numpy(run.roots(p)))  # [street][row, board, hand]
        self.streets, self.known = small.tree.streets, decisions(small.tree.streets, p)
        self.places = decisions(large.tree.streets, p)
        self.out = np.zeros(large.tree.stored(p), np.float32)

    def weights(self) -> NDArray[np.float32]:
        """[q] how often each sequence of the larger tree is reached and taken."""
        self._visit(self.real.holdem.start(), {(self.game.start(), (0, 0)): 1.0})
        return self.out

    def _visit(self, state: Betting, belief: Belief) -> None:
        """Follow the real betting from `state` on."""
        if state.is_over:
            return
        belief = self._caught_up(state, belief)
        names = self.real.holdem.actions(state)
        own = state.player == self.p
        branches = (self._act if own else self._translate)(state, names, belief)
        for name, branch in zip(names, branches, strict=True):
            self._visit(state.child(name), branch)

    def _caught_up(self, state: Betting, belief: Belief) -> Belief:
        """The belief once the next cards are dealt: a call ends an abstract round that is open.

        Only the opponent can be left to act there: we raised where nobody really can.
        """
        out: Belief = {}
        for (line, row), share in belief.items():
            while not line.is_over and line.street < state.street:
                line = line.child("c")
            out[line, row] = out.get((line, row), 0.0) + share
        return out

    def _here(self, line: Betting, state: Betting) -> AbstractDecision | None:
        """The decision of the smaller game that stands for the real one; None if none does."""
        waiting = FollowedBetting(state, line).waiting
        return None if waiting is None else AbstractDecision(waiting, self.game.actions(waiting))

    def _translate(self, state: Betting, names: Sequence[str], belief: Belief) -> list[Belief]:
        """What the opponent's actions are taken for."""
        out: list[Belief] = [{} for _ in names]
        for (line, row), share in belief.items():
            here = self._here(line, state)
            for k, name in enumerate(names):
                if here is None:
                    branches = {line: 1.0}
                else:
                    shares = here.translated(state, name, self.how)
                    branches = {here.child(i): part for i, part in shares.items()}
                for after, part in branches.items():
                    out[k][after, row] = out[k].get((after, row), 0.0) + share * part
        return out

    def _act(self, state: Betting, names: Sequence[str], belief: Belief) -> list[Belief]:
        """What the translating player does, written down; and what follows."""
        bets = [state.bet(name) for name in names]
        out: list[Belief] = [{} for _ in bets]
        s, j = self.places[state.history]
        first = (0, 0)
        weight = np.zeros((len(bets), *self._at(first, s).shape))
        for (line, row), share in belief.items():
            moves = [(answer(Bet(0), bets), line, row)]
            if (here := self._here(line, state)) is not None:
                street, k = self.known[line.history]
                start = self.streets[street].first[self.p][k]
                moves = [
                    (answer(bet, bets), here.child(a), (street, start + a))
                    for a, bet in enumerate(here.bets)
                ]
            for real, after, taken in moves:
                weight[real] += share * self._at(taken, s)
                out[real][after, taken] = out[real].get((after, taken), 0.0) + share
        self._write(s, j, weight)
        return out

    def _at(self, row: Row, street: int) -> Floats:
        """[board, hand] the plan of a row, on a street at or after its own."""
        s, number = row
        reach = self.plan[s][number][None]
        while s < street:
            s += 1
            reach = self.run.enter(self.p, reach, s)
        out: Floats = as_numpy(reach)[0]
        return out

    def _write(self, s: int, j: int, weight: Floats) -> None:
        """Weights [action, board, hand] of a decision, to where its sequences are."""
        side, units = self.real.players[self.p], self.real.units
        block, cut = side.street_block(self.out, s), side.street_actions(s, j)
        tile = 0
        for b, u in enumerate(range(units.first[s], units.first[s + 1])):
            many = len(units[u].hands[self.p])
            tiles = -(-many // LANES)
            here = np.zeros((len(weight), tiles * LANES), np.float32)
            here[:, :many] = weight[:, b, :many]
            block[tile : tile + tiles, cut] = here.reshape(len(weight), tiles, LANES).swapaxes(0, 1)
            tile += tiles
