"""Every kernel against the slow oracle: all schedules, values and best responses, all games."""

from __future__ import annotations

import random
from itertools import cycle, product

import numpy as np
import pytest

import subgame as sg
from helpers import RANDOM, SMALL, array_of, oracle_of, profile_of, strategy_of, tree_of
from oracle import RULES
from subgame.engines.factory import engine
from subgame.solve.evaluate import expected_value
from subgame.solve.schedule import parse
from subgame.solve.solver import Run
from subgame.tree.sequence.tree import SequenceTree

TIGHT = 1e-10


@pytest.mark.parametrize("name", [*SMALL, *RANDOM[::2]])
def test_values_and_best_responses(name: str) -> None:
    tree, oracle = tree_of(name), oracle_of(name)
    profile = oracle.random_profile(random.Random(name))
    strategy = strategy_of(tree, profile)
    assert expected_value(tree, strategy) == pytest.approx(
        oracle.expected_value(profile), abs=TIGHT
    )
    result = sg.exploitability(tree, strategy)
    for p in (0, 1):
        wins = oracle.best_response_value(profile, 1 - p)
        assert result.per_seat[p] == pytest.approx(wins, abs=TIGHT)
        response = sg.best_response(tree, strategy, p)
        values = oracle.counterfactual_best_response(profile, p)
        reaches = oracle.counterfactual_reach(profile, p)
        assert response.value == pytest.approx(oracle.best_response_value(profile, p), abs=TIGHT)
        for infoset, value in response.values.items():
            assert value.counterfactual == pytest.approx(values[infoset], abs=TIGHT)
            assert value.reach == pytest.approx(reaches[infoset], abs=TIGHT)
            if value.reach > 0:
                assert value.normalised == pytest.approx(value.counterfactual / value.reach)
        # What the response claims to win, it wins.
        won = expected_value(tree, response.strategy) * (1 if p == 0 else -1)
        assert won == pytest.approx(response.value, abs=TIGHT)


@pytest.mark.parametrize("name", [*SMALL, *RANDOM])
def test_counterfactual_values(name: str) -> None:
    tree, oracle = tree_of(name), oracle_of(name)
    profile = oracle.random_profile(random.Random(name))
    strategy, run = strategy_of(tree, profile), engine(tree)
    for p in (0, 1):
        result = run.values(p, strategy.probs[p], run.plan(1 - p, strategy.probs[1 - p]))
        wanted = array_of(tree, p, oracle.counterfactual_values(profile, p))
        slots = len(tree.players[p].slots)
        assert result.sequences is not None
        np.testing.assert_allclose(result.sequences[slots:], wanted[slots:], atol=TIGHT)


def _forced(tree: SequenceTree, p: int) -> list[int]:
    """The sequences of infosets with a single action."""
    side = tree.players[p]
    return [int(side.first[i]) for i, actions in enumerate(side.actions) if len(actions) == 1]


@pytest.mark.parametrize(
    ("name", "rule"), [*product(SMALL, RULES), *zip(RANDOM[::3], cycle(RULES), strict=False)]
)
def test_first_ten_iterations(name: str, rule: str) -> None:
    """Regrets, current and average strategy after each of ten iterations."""
    tree, oracle = tree_of(name), oracle_of(name)
    run = Run(tree, parse(rule))
    before = [np.zeros(player.num_sequences) for player in tree.players]
    for t, snapshot in enumerate(oracle.cfr(10, RULES[rule]), start=1):
        run.advance(1)
        assert run.iteration == t
        average = run.strategy()
        for p in (0, 1):
            slots = len(tree.players[p].slots)
            kept = run.cfr.pair[p]
            for k, (ours, theirs) in enumerate(
                (
                    (kept.regret, snapshot.regrets[p]),
                    (np.asarray(kept.average), snapshot.sums[p]),
                    (average.probs[p], snapshot.average[p]),
                )
            ):
                wanted = array_of(tree, p, theirs)
                if k == 1:  # none is kept where there is no choice
                    wanted[_forced(tree, p)] = 0
                np.testing.assert_allclose(ours[slots:], wanted[slots:], atol=TIGHT)
        # Where a regret is zero but for rounding, the order of sums decides what is played next;
        # so each iteration starts from the oracle's own numbers, which were just found equal.
        for p in (0, 1):
            kept, now = run.cfr.pair[p], array_of(tree, p, snapshot.regrets[p])
            if RULES[rule].predictive:
                discount = np.array([RULES[rule].discount(t, r) for r in before[p]])
                assert kept.instant is not None
                kept.instant[:] = RULES[rule].prediction * (now - discount * before[p])
            kept.regret[:] = before[p] = now
        ahead = run.engine.rates(run.schedule.discounts(t + 1, 1), t + 1)[0]
        for p in (0, 1):
            wanted = array_of(tree, p, snapshot.current[p])
            slots = len(tree.players[p].slots)
            sigma = run.engine.current(p, run.cfr.pair[p], ahead)
            np.testing.assert_allclose(sigma[slots:], wanted[slots:], atol=TIGHT)


def test_ten_iterations_are_ten_times_one() -> None:
    """Chunking changes nothing: the same bytes."""
    tree = tree_of("leduc")
    for rule in RULES:
        once, often = Run(tree, parse(rule)), Run(tree, parse(rule))
        once.advance(10)
        for _ in range(10):
            often.advance(1)
        for a, b in zip(once.cfr.pair, often.cfr.pair, strict=True):
            assert a.regret.tobytes() == b.regret.tobytes()
            assert np.asarray(a.average).tobytes() == np.asarray(b.average).tobytes()


def test_strategy_round_trip() -> None:
    tree, oracle = tree_of("leduc"), oracle_of("leduc")
    profile = oracle.random_profile(random.Random(1))
    back = profile_of(strategy_of(tree, profile))
    for p in (0, 1):
        assert back[p] == profile[p]
