"""Values at a depth limit: exact, by rollouts, by a network; weakened and penalised."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import subgame as sg
from helpers import depth_limited, profile_of, tree_of
from oracle import Profile
from subgame.engines.factory import engine
from subgame.games.base import CHANCE, TERMINAL
from subgame.refine.continuations import Continuations, biased
from subgame.refine.sequence.leaf_network import train_leaf_network
from subgame.refine.sequence.leaves import Leaf, Rollouts
from subgame.refine.sequence.leaves import exact as exact_values
from subgame.refine.sequence.programs import best_completion
from subgame.solve.evaluate import expected_value

ROUND = "after round 1"


@cache
def rough(name: str, iterations: int) -> sg.Strategy:
    return sg.solve(tree_of(name), "cfr+", iterations=iterations).strategy


# Weakening and penalties (2018, Sec. 4) ------------------------------------------------------
def beats(leaf: Leaf, value: np.ndarray, blueprint: sg.Strategy) -> float:
    """By how much a continuation of player 1 beats the blueprint at an infoset, at most."""
    plan = engine(leaf.subgame.whole).plan(0, blueprint.probs[0])
    belief = leaf.chance * plan[leaf.subgame.sequence[0][leaf.slots[0]]]
    worst = -np.inf
    for s in range(len(leaf.subgame.tree.players[1].slots)):
        here = leaf.slots[1] == s
        if belief[here].sum() > 0:
            worth = -(belief[here] @ value[here, 0]) / belief[here].sum()
            worst = max(worst, float((worth[1:] - worth[0]).max()))
    return worst


def test_weakened_continuations_do_not_beat_the_blueprint() -> None:
    tree = tree_of("kuhn")
    blueprint = sg.Strategy.random(tree, 1)
    reply = sg.best_response(tree, blueprint, 1).strategy
    theirs = Continuations.of([blueprint, reply, sg.Strategy.random(tree, 2)], 1)
    plain = depth_limited(tree, blueprint, at=("p", "b"), continuations=theirs)
    weak = depth_limited(tree, blueprint, at=("p", "b"), continuations=theirs, weaken=True)
    for leaf, strong, values in zip(plain.leaves, plain.values, weak.values, strict=True):
        assert beats(leaf, strong.value, blueprint) > 0.1
        assert beats(leaf, values.value, blueprint) == pytest.approx(0, abs=1e-12)
        lowered = values.value - strong.value  # player 0's payoff: raised, all of I by as much
        assert lowered.min() >= -1e-15
        np.testing.assert_allclose(lowered[:, :, 0], 0, atol=1e-15)
        for s in range(3):
            rows = lowered[leaf.slots[1] == s]
            np.testing.assert_allclose(rows, rows[:1].repeat(len(rows), 0), atol=1e-12)
    # P2 only chooses here, so against the blueprint's trunk P2 gets what the blueprint gets.
    value, table = expected_value(tree, blueprint), blueprint.table()
    wins = []
    for limited in (weak, plain):
        trunk = sg.Strategy.from_table(limited, {card: table[card] for card in "JQK"})
        wins.append(sg.exploitability(limited, trunk).per_seat[0])
    assert wins[0] == pytest.approx(-value, abs=1e-12)
    assert wins[1] > -value + 0.1


def test_a_penalty_spares_the_blueprint() -> None:
    tree, blueprint = tree_of("leduc-ranks"), rough("leduc-ranks", 20)
    theirs = biased(blueprint, 1)
    worth = [
        sg.solve_limited(
            depth_limited(tree, blueprint, at=ROUND, continuations=theirs, penalty=penalty)
        ).result.value
        for penalty in (0.0, 0.05, lambda state: 0.1 + 0.0 * len(state.first), 100.0)
    ]
    assert worth == sorted(worth)
    assert worth[1] <= worth[0] + 0.05 + 1e-9
    single = sg.solve_limited(depth_limited(tree, blueprint, at=ROUND)).result.value
    assert worth[-1] == pytest.approx(single, abs=1e-9)


# Leaf values ---------------------------------------------------------------------------------
def play_on(state: sg.State, rows: Profile) -> float:
    """What player 0 wins from a state on, by the rules alone."""
    player = state.current_player()
    if player == TERMINAL:
        return state.returns()[0]
    if player == CHANCE:
        return sum(prob * play_on(state.child(a), rows) for a, prob in state.chance_outcomes())
    row = rows[player][state.information_state(player) or ""]
    return sum(prob * play_on(state.child(a), rows) for a, prob in row.items())


@pytest.mark.parametrize(
    ("name", "at"), [("kuhn", ("p", "b")), ("leduc-ranks", ROUND), ("random(seed=7)", "depth 3")]
)
def test_exact_values_are_those_of_the_rules(name: str, at: str) -> None:
    tree = tree_of(name)
    mixed = [sg.Strategy.random(tree, seed) for seed in (1, 2)]
    own, theirs = (Continuations.of(mixed, p) for p in (0, 1))
    limited = depth_limited(tree, mixed[0], at=at, continuations=theirs, own=own)
    assert limited.standard_error == 0
    rows = [profile_of(strategy) for strategy in mixed]
    for leaf, result in zip(limited.leaves[:4], limited.values, strict=False):
        for h, state in list(enumerate(leaf.states()))[:10]:
            for k, m in np.ndindex(2, 2):
                value = play_on(state, (rows[k][0], rows[m][1]))
                assert result.value[h, k, m] == pytest.approx(value, abs=1e-12)


def test_rollouts_estimate_the_exact_values() -> None:
    tree, blueprint = tree_of("leduc-ranks"), rough("leduc-ranks", 50)
    theirs = biased(blueprint, 1)
    exact = depth_limited(tree, blueprint, at=ROUND, continuations=theirs)
    sampled = [
        depth_limited(
            tree, blueprint, at=ROUND, continuations=theirs, values=Rollouts(count, seed=seed)
        )
        for count, seed in ((400, 1), (400, 1), (400, 2), (6400, 1))
    ]
    for one, two, other in zip(*(limited.values for limited in sampled[:3]), strict=True):
        np.testing.assert_array_equal(one.value, two.value)
        assert not np.array_equal(one.value, other.value)
    scores = np.concatenate(
        [
            ((rough.value - fine.value) / np.maximum(rough.error, 1e-9)).ravel()
            for rough, fine in zip(sampled[0].values, exact.values, strict=True)
        ]
    )
    assert abs(scores.mean()) < 0.3
    assert 0.8 < scores.std() < 1.2
    assert np.abs(scores).max() < 5
    assert sampled[3].standard_error == pytest.approx(sampled[0].standard_error / 4, rel=0.2)
    near = sg.solve_limited(sampled[3]).result.value
    assert near == pytest.approx(sg.solve_limited(exact).result.value, abs=0.1)


def test_a_network_learns_the_values() -> None:
    pytest.importorskip("torch")
    tree, blueprint = tree_of("leduc-ranks"), rough("leduc-ranks", 200)
    theirs = biased(blueprint, 1)
    exact = depth_limited(tree, blueprint, at=ROUND, continuations=theirs)
    spread = np.concatenate([v.value for v in exact.values]).std()
    for data, pot, epochs, near in (
        (exact_values, None, 300, 0.05),
        (Rollouts(1000), lambda s: 1.0 + s.first.count("r"), 200, 0.2),  # they miss by 0.1
    ):
        net = train_leaf_network(
            tree,
            blueprint,
            at=ROUND,
            continuations=theirs,
            data=data,
            pot=pot,
            layers=(64, 64),
            epochs=epochs,
            rate=3e-3,
            holdout=0.0,
        )
        learned = depth_limited(tree, blueprint, at=ROUND, continuations=theirs, values=net)
        assert learned.standard_error == pytest.approx(net.training_error)
        for result, true in zip(learned.values, exact.values, strict=True):
            assert np.sqrt(((result.value - true.value) ** 2).mean()) < near * spread
        if data is exact_values:  # good enough to play by
            solved = sg.solve_limited(learned)
            best = best_completion(tree, solved.strategy, at=ROUND, player=0)
            assert best.value > sg.solve_lp(tree).value - 0.01
    kept = train_leaf_network(
        tree,
        blueprint,
        at=ROUND,
        continuations=theirs,
        data=exact_values,
        layers=(8,),
        epochs=2,
        features=lambda state: [float(len(state.first)), 1.0],  # type: ignore[attr-defined]
    )
    assert np.isfinite(kept.holdout_error)
    with pytest.raises(sg.SubgameError, match="trained for 1 x 4 continuations, not for 1 x 2"):
        depth_limited(tree, blueprint, at=ROUND, continuations=theirs[:2], values=kept)


def test_without_torch_a_network_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    tree = tree_of("kuhn")
    with pytest.raises(sg.SubgameError, match=r"subgame\[gpu\]"):
        train_leaf_network(tree, sg.Strategy.uniform(tree), at="b")
