"""Both river spots of ``subgame bench holdem``, solved to below 0.01 % of the pot.

Best responses are found twice: by the judge, and by walking the betting with whole matrices of
float64 numbers here, which shares nothing with the kernels but the rules and the ranks of hands.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import subgame as sg
from subgame.bench.holdem_spots import SPOTS
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.rules import Betting
from subgame.spots.browse import decision
from subgame.spots.endgame import Endgame

Floats = NDArray[np.float64]


class Walk:
    """A player's best response on a river, pair of hands by pair of hands."""

    def __init__(self, strategy: sg.Strategy, player: int) -> None:
        root = decision(strategy)
        game, hands = root.tree.holdem, root.tree.units[0].hands
        self.strategy, self.game, self.player = strategy, game, player
        ranks = rank_hands(game.board, game.deck).astype(np.int64)
        mine, theirs = (ranks[hands[p]] for p in (player, 1 - player))
        self.pairs = game.deck.disjoint[np.ix_(hands[player], hands[1 - player])].astype(np.float64)
        self.beats = self.pairs * np.sign(mine[:, None] - theirs[None, :])
        self.start = game.start()

    def wins(self) -> float:
        """What the best response wins, in net chips, with all hands as likely as each other."""
        reach = np.ones(self.pairs.shape[1])
        return float(self._value(self.start, reach).sum() / self.pairs.sum())

    def _value(self, betting: Betting, reach: Floats) -> Floats:
        """[h] against a reach [g] of the opponent, who plays the strategy."""
        out: Floats
        if betting.folded >= 0:
            sign = 1.0 if betting.folded != self.player else -1.0
            out = sign * betting.at_stake * (self.pairs @ reach)
        elif betting.is_over:
            out = betting.at_stake * (self.beats @ reach)
        else:
            below = [betting.child(action) for action in self.game.actions(betting)]
            if betting.player == self.player:
                out = np.max([self._value(child, reach) for child in below], axis=0)
            else:
                played = decision(self.strategy, " ".join(betting.history)).probs
                values = [self._value(child, reach * played[:, a]) for a, child in enumerate(below)]
                out = np.sum(values, axis=0)
        return out


@pytest.mark.parametrize(
    ("name", "nodes", "position"), [("river-45", 45, 52.0), ("river-177", 177, 53.0)]
)
def test_a_river_is_solved_below_a_ten_thousandth_of_the_pot(
    name: str, nodes: int, position: float
) -> None:
    tree = SPOTS[name].tree()
    assert (tree.num_nodes, len(tree.players[0].slots)) == (nodes, 1081)
    result = sg.solve(tree, "dcfr", target=0.0099, iterations=4000)  # the pot is 100
    assert result.stopped == "target"
    judged = sg.exploitability(tree, result.strategy)
    assert 0 <= judged.mean < 0.01
    for p, wins in enumerate(judged.per_seat):
        assert Walk(result.strategy, 1 - p).wins() == pytest.approx(wins, abs=1e-9)
    solved = Endgame.of(result.strategy)
    assert sum(solved.ev) == pytest.approx(100, abs=1e-6)
    assert solved.equity == pytest.approx((0.5, 0.5))
    assert solved.ev[1] > position  # position is worth something
