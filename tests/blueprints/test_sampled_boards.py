"""Traversals over sampled boards: a slow oracle, Numba and PyTorch give the same sums."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.training import Trainer
from subgame.engines.numba.sampled import NumbaSweeps
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.rules import Betting

RECIPE = BlueprintRecipe(
    "tiny", "all: 1x a / cap 2", (None, 5, 5, 5), 400, ranks="TJQKA", suits="cd", boards=3
)


class Oracle:
    """Regrets and reach of one board by walking every pair of hands, action by action."""

    def __init__(self, trainer: Trainer, sigma: NDArray[np.float32], board: NDArray[Any]) -> None:
        self.trainer, self.sigma, self.board = trainer, sigma, tuple(board.tolist())
        self.deck, self.tree = trainer.deck, trainer.tree
        self.ranks = rank_hands(board, self.deck)
        self.out: dict[int, float] = defaultdict(float)

    def cells(self, betting: Betting, hand: int) -> list[int]:
        """Where the numbers of a decision's actions are in a table."""
        engine, d = self.trainer.engine, self.tree.find(betting)
        assert d is not None
        s = betting.street
        bucket = self.trainer.cards.of(self.board[: (0, 3, 4, 5)[s]])[hand]
        actions = len(self.tree.actions(d))
        k = engine.counts[s]
        return [engine.start[s] + (int(self.tree.row[d]) + a) * k + bucket for a in range(actions)]

    def walk(self, betting: Betting, p: int, hands: tuple[int, int], reach: float) -> float:
        """What player `p` wins, weighted by the opponent's reach; regrets are added up."""
        if betting.is_over:
            mine, yours = (int(self.ranks[hand]) for hand in hands)
            winner = -1 if mine == yours else int(mine < yours)
            return reach * betting.net(winner)[p]
        player = betting.player
        cells = self.cells(betting, hands[player])
        names = self.trainer.recipe.game.actions(betting)
        if player != p:
            return sum(
                self.walk(betting.child(name), p, hands, reach * float(self.sigma[cell]))
                for name, cell in zip(names, cells, strict=True)
            )
        values = [self.walk(betting.child(name), p, hands, reach) for name in names]
        here = sum(float(self.sigma[c]) * v for c, v in zip(cells, values, strict=True))
        for cell, value in zip(cells, values, strict=True):
            self.out[cell] += value - here
        return here


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    return Trainer(RECIPE)


@pytest.fixture(scope="module")
def sigma(trainer: Trainer) -> NDArray[np.float32]:
    weights = np.random.default_rng(3).normal(size=trainer.engine.start[-1]).astype(np.float32)
    result: NDArray[np.float32] = trainer.engine.strategy(weights)
    return result


@pytest.mark.parametrize("p", [0, 1])
def test_sums_are_those_of_a_slow_oracle(
    trainer: Trainer, sigma: NDArray[np.float32], p: int
) -> None:
    board = trainer.draw(1)[:1]
    oracle = Oracle(trainer, sigma, board[0])
    start, deck = RECIPE.game.start(), trainer.deck
    for one in range(deck.num_hands):
        if oracle.ranks[one] < 0:
            continue
        _averages(oracle, start, p, one)
        for two in range(deck.num_hands):
            if oracle.ranks[two] >= 0 and deck.disjoint[one, two]:
                oracle.walk(start, p, (one, two), 1.0)
    ranks, buckets = trainer.look_up(board)
    result = trainer.engine.deltas(p, sigma, ranks, buckets, 0)
    expected = np.zeros(len(result))
    expected[list(oracle.out)] = list(oracle.out.values())
    for s, rows in enumerate(trainer.tree.player_rows):
        trainer.engine.street(expected, s)[rows[p]] /= trainer.engine.opponents
    assert np.abs(expected).max() > 100
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=0.01)


def _averages(oracle: Oracle, start: Betting, p: int, hand: int) -> None:
    """The opponent's reach. Betting sequences of the player do not change it."""
    seen: set[tuple[int, int]] = set()
    tree, cells = oracle.tree, oracle.cells

    def visit(betting: Betting, reach: float) -> None:
        if betting.is_over:
            return
        names = oracle.trainer.recipe.game.actions(betting)
        mine = cells(betting, hand) if betting.player != p else []
        for a, name in enumerate(names):
            after = reach * float(oracle.sigma[mine[a]]) if mine else reach
            if mine and (betting.street, mine[a]) not in seen:
                seen.add((betting.street, mine[a]))
                oracle.out[mine[a]] += after
            visit(betting.child(name), after)

    assert tree.find(start) == tree.root
    visit(start, 1.0)


@pytest.mark.parametrize("p", [0, 1])
def test_pytorch_and_threads_agree_with_numba(
    trainer: Trainer, sigma: NDArray[np.float32], p: int
) -> None:
    torch = pytest.importorskip("torch")
    other = Trainer(RECIPE, device="torch", cards=trainer.cards)
    boards = trainer.draw(2)
    one = trainer.engine.deltas(p, sigma, *trainer.look_up(boards), 0)
    two = other.engine.deltas(p, torch.as_tensor(sigma), *other.look_up(boards), 0)
    np.testing.assert_allclose(two.numpy(), one, rtol=1e-4, atol=1e-2)
    threads = NumbaSweeps(trainer.tree, trainer.cards.counts, trainer.deck, threads=2)
    np.testing.assert_allclose(
        threads.deltas(p, sigma, *trainer.look_up(boards)), one, rtol=1e-4, atol=1e-2
    )
    weights = np.random.default_rng(5).normal(size=len(sigma)).astype(np.float32)
    played = other.engine.strategy(torch.as_tensor(weights)).numpy()
    np.testing.assert_allclose(played, trainer.engine.strategy(weights), atol=1e-6)


def test_external_sampling_has_the_same_mean(trainer: Trainer, sigma: NDArray[np.float32]) -> None:
    sampled = NumbaSweeps(trainer.tree, trainer.cards.counts, trainer.deck, pairs=10_000)
    places = trainer.look_up(trainer.draw(3))
    exact = trainer.engine.deltas(0, sigma, *places, 0)
    result = sampled.deltas(0, sigma, *places, 0)
    mine = np.concatenate(
        [sampled.part(exact, g).ravel() for g in trainer.tree.groups if g.player == 0]
    )
    drawn = np.concatenate(
        [sampled.part(result, g).ravel() for g in trainer.tree.groups if g.player == 0]
    )
    assert np.linalg.norm(drawn - mine) < 0.1 * np.linalg.norm(mine)
    # The average is in proportion.
    shares = [(exact, g) for g in trainer.tree.groups if g.player == 1]
    whole = np.concatenate([sampled.part(table, g).ravel() for table, g in shares])
    part = np.concatenate([sampled.part(result, g).ravel() for _, g in shares])
    assert np.corrcoef(whole, part)[0, 1] > 0.995


def test_discounts_and_sums(trainer: Trainer) -> None:
    engine, rng = trainer.engine, np.random.default_rng(1)
    size = engine.start[-1]
    regret, average, sums = (rng.normal(size=size).astype(np.float32) for _ in range(3))
    before = regret.copy(), average.copy()
    engine.apply(0, sums, regret, average, (0.5, 0.25, 0.75))
    for group in trainer.tree.groups:
        old, new, more = (engine.part(table, group) for table in (before[0], regret, sums))
        if group.player == 0:
            expected = np.where(old > 0, 0.5 * old, 0.25 * old) + more
            np.testing.assert_allclose(new, expected, rtol=1e-5, atol=1e-6)
        else:
            assert (new == old).all()
            was, now = (engine.part(table, group) for table in (before[1], average))
            np.testing.assert_allclose(now, 0.75 * was + more, rtol=1e-5, atol=1e-6)
    engine.apply(0, sums, regret, average, (1.0, 0.0, 1.0))  # regret matching+
    assert engine.part(regret, trainer.tree.groups[0]).min() >= 0
