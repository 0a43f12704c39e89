"""IREG-PRM+ beside a slow implementation, and the properties that its abstract states."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import subgame as sg
from subgame.games.base import CHANCE, TERMINAL
from subgame.papers.zhang2025_ireg import Matrix
from subgame.solve.increasing_regret import (
    IncreasingRegret,
    Infosets,
    norm_shift,
    solve_increasing,
)


def slow_shift(values: list[float], norm: float) -> float:
    """The number c for which the positive parts of values - c have this norm, by bisection."""
    low, high = max(values) - norm, max(values)
    for _ in range(200):
        middle = (low + high) / 2
        above = math.hypot(*(max(0.0, value - middle) for value in values))
        low, high = (middle, high) if above > norm else (low, middle)
    return (low + high) / 2


class Slow:
    """One player: regrets, strategies and averages of infosets by name."""

    def __init__(self, p: int, gamma: float) -> None:
        self.p, self.gamma = p, gamma
        self.regret: dict[str, dict[str, float]] = {}
        self.sigma: dict[str, dict[str, float]] = {}
        self.average: Any = defaultdict(lambda: defaultdict(float))

    def play(self, state: Any) -> dict[str, float]:
        name, actions = state.information_state(self.p), state.legal_actions()
        self.regret.setdefault(name, dict.fromkeys(actions, 0.0))
        return self.sigma.setdefault(name, dict.fromkeys(actions, 1 / len(actions)))

    def walk(self, state: Any, own: float, others: float, opponent: Any, seen: Any) -> float:
        """The player's value; `seen` has utilities and own reach of the player's infosets."""
        player = state.current_player()
        if player == TERMINAL:
            return float(state.returns()[self.p])
        if player != self.p:
            parts = state.chance_outcomes() if player == CHANCE else opponent(state).items()
            shares = [
                q * self.walk(state.child(a), own, others * q, opponent, seen) for a, q in parts
            ]
            return float(sum(shares))
        sigma = self.play(state)
        won = {
            a: self.walk(state.child(a), own * q, others, opponent, seen) for a, q in sigma.items()
        }
        utility, _ = seen.setdefault(state.information_state(player), (defaultdict(float), own))
        for a, value in won.items():
            utility[a] += others * value
        return sum(sigma[a] * value for a, value in won.items())

    def learn(self, t: int, seen: dict[str, tuple[dict[str, float], float]]) -> None:
        for name, (utility, reach) in seen.items():
            sigma, old = self.sigma[name], self.regret[name]
            for a, q in sigma.items():
                self.average[name][a] += (t + 1) ** self.gamma * reach * q
            norm = math.hypot(*old.values())
            mean = sum(sigma[a] * utility[a] for a in sigma)
            shift = min(mean, slow_shift([old[a] + utility[a] for a in sigma], norm))
            new = {a: max(0.0, old[a] + utility[a] - shift) for a in sigma}
            norm = math.hypot(*new.values())
            shift = slow_shift([new[a] + utility[a] for a in sigma], norm)
            theta = {a: max(0.0, new[a] + utility[a] - shift) for a in sigma}
            self.regret[name], total = new, sum(theta.values())
            self.sigma[name] = {
                a: w / total if norm > 0 else 1 / len(sigma) for a, w in theta.items()
            }


@pytest.mark.parametrize("name", ["kuhn", "coin-toss", "goofspiel(cards=3)", "random(seed=3)"])
@pytest.mark.parametrize("alternating", [True, False])
def test_it_is_its_equations(name: str, alternating: bool) -> None:
    game, gamma = sg.games.load(name), 1.5
    players = [Slow(p, gamma) for p in (0, 1)]
    for t in range(8):
        waiting = []
        for p, player in enumerate(players):
            seen: Any = {}
            player.walk(game.new_initial_state(), 1.0, 1.0, players[1 - p].play, seen)
            if alternating:
                player.learn(t, seen)
            else:
                waiting.append(seen)
        for player, seen in zip(players, waiting, strict=False):
            player.learn(t, seen)
    tree, compared = sg.compile(game), 0
    played = solve_increasing(tree, 8, IncreasingRegret(gamma, alternating))
    for p, part in enumerate(tree.players):
        for infoset in part.names:
            average = players[p].average[infoset]
            total = sum(average.values())
            if total > 0:
                want = {a: weight / total for a, weight in average.items()}
                assert played[infoset] == pytest.approx(want, abs=1e-8), infoset
                compared += 1
    assert compared > 2


@pytest.mark.parametrize("actions", [1, 2, 3, 7])
def test_the_shift_gives_the_norm(actions: int) -> None:
    rng = np.random.default_rng(actions)
    values = rng.normal(size=(actions, 200)) * 10.0 ** rng.integers(-6, 6, 200)
    values[:, :50] = np.round(values[:, :50])  # ties
    norm = np.abs(rng.normal(size=200)) * 10.0 ** rng.integers(-6, 6, 200)
    norm[::10] = 0.0
    shift = norm_shift(values, norm)
    size = np.linalg.norm(np.maximum(0.0, values - shift), axis=0)
    scale = np.abs(values).max(0) + norm
    assert np.abs(size - norm).max() <= 1e-12 * scale.max()
    assert (np.abs(size - norm) <= 1e-12 * scale).all()
    slow = [slow_shift(list(values[:, i]), norm[i]) for i in range(200)]
    assert (np.abs(shift - slow) <= 1e-9 * scale).all()


def utilities(kind: str, actions: int, count: int, seed: int) -> list[np.ndarray]:
    """[a, 1] utilities: noise, a slow drift, repeated ones, of growing size, or an adversary's."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(count, actions, 1))
    steps = np.arange(count)[:, None, None]
    out = {
        "noise": noise,
        "drift": noise.cumsum(0) / 10,
        "same": np.broadcast_to(noise[0], noise.shape),
        "growing": noise * 1.1**steps,
        "turning": np.where(steps // 7 % 2, noise[0], -noise[0]),
    }
    return list(out[kind])


KINDS = ("noise", "drift", "same", "growing", "turning")


def strategy(infosets: Infosets) -> np.ndarray:
    total = infosets.weights.sum()
    return (
        infosets.weights / total
        if total > 0
        else np.full_like(infosets.weights, 1 / len(infosets.weights))
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("actions", [2, 5])
def test_norms_do_not_fall_and_the_regret_is_bounded(kind: str, actions: int) -> None:
    """The inequalities in the module's docstring, in every iteration."""
    infosets, root = Infosets(actions, 1), math.sqrt(actions)
    regret, credit, before = np.zeros((actions, 1)), 0.0, np.zeros((actions, 1))
    moved, missed, fell = 0.0, 0.0, 0
    for u in utilities(kind, actions, 120, seed=actions):
        x, old, theta = strategy(infosets), infosets.regret, infosets.weights
        norm = float(np.linalg.norm(old))
        mean = float((u * x).sum())
        infosets.observe(u - mean)
        regret, new = regret + u - mean, float(np.linalg.norm(infosets.regret))
        scale = new + np.abs(u).max()
        assert new >= norm - 1e-12 * scale
        if norm > 0:
            s = mean - float(norm_shift(old + u, np.array([norm]))[0])
            credit += max(0.0, s)
            assert new - norm <= 2 * root * max(0.0, -s) + 1e-9 * scale
            far = float(np.linalg.norm(theta - old))
            wrong = (1 + root) * float(np.linalg.norm(u - before))
            assert s >= (far**2 - wrong**2) / (2 * theta.sum()) - 1e-9 * scale
            moved, missed = moved + far**2 / (2 * root * norm), missed + root * wrong**2 / norm
            fell += s > 1e-9 * scale
        else:
            moved, missed = -new, 0.0
        assert regret.max() <= new - credit + 1e-9 * scale
        assert regret.max() <= missed - moved + 1e-9 * scale  # the RVU-type bound
        before = u
    assert fell or kind in ("same", "drift")  # the minimum was taken, so that the test bites


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [1e-9, 10.0, 1e6])
def test_the_scale_of_utilities_does_not_matter(kind: str, factor: float) -> None:
    one, other = Infosets(4, 1), Infosets(4, 1)
    for u in utilities(kind, 4, 40, seed=1):
        assert strategy(other) == pytest.approx(strategy(one), abs=1e-6)
        regret = u - (u * strategy(one)).sum()
        one.observe(regret)
        other.observe(factor * regret)


def test_averages_converge_like_1_over_t_where_predictive_cfr_is_slow() -> None:
    """The matrix game of Farina et al. 2023; T^-1 of uniform averages, and the last strategy."""
    tree = sg.compile(Matrix())
    uniform, last = (IncreasingRegret(gamma, alternating=False) for gamma in (0.0, math.inf))
    gaps = {
        count: sg.exploitability(tree, solve_increasing(tree, count, uniform)).mean
        for count in (50, 200, 1000)
    }
    assert all(count * gap < 4 for count, gap in gaps.items())  # Reg_1 + Reg_2 does not grow
    assert gaps[1000] < gaps[200] / 4.5
    assert sg.exploitability(tree, solve_increasing(tree, 500, last)).mean < 1e-6


@pytest.mark.parametrize("name", ["kuhn", "goofspiel(cards=3)", "random(seed=5)"])
def test_it_solves_games(name: str) -> None:
    tree = sg.compile(sg.games.load(name))
    few, many = (sg.exploitability(tree, solve_increasing(tree, n)).mean for n in (20, 300))
    assert many < max(few / 3, 1e-12)
    assert many < 1e-2


def test_nonsense_is_refused() -> None:
    tree = sg.compile(sg.games.load("kuhn"))
    with pytest.raises(sg.SubgameError, match="iterations"):
        solve_increasing(tree, 0)
    for gamma in (-1.0, math.nan):
        with pytest.raises(sg.SubgameError, match="gamma"):
            solve_increasing(tree, 1, IncreasingRegret(gamma))
