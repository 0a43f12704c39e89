"""RTCFR+ beside a slow implementation of its equations, history by history."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

import subgame as sg
from subgame.games.base import CHANCE, TERMINAL
from subgame.solve.reward_transformation import RewardTransformation, solve_transformed

Sequence = tuple[str, str] | None  # an infoset and an action; None before the first


class Slow:
    """One player: regrets, strategies and realisation plans by name."""

    def __init__(self, p: int, how: RewardTransformation) -> None:
        self.p, self.how, self.gamma = p, how, how.gamma
        self.regret: dict[str, dict[str, float]] = {}
        self.above: dict[str, Sequence] = {}  # in the order in which infosets are met
        self.reference: dict[Sequence, float] | None = None

    def sigma(self, name: str) -> dict[str, float]:
        regret = self.regret[name]
        total = sum(regret.values())
        return {a: r / total if total > 0 else 1 / len(regret) for a, r in regret.items()}

    def played(self, name: str) -> dict[str, float]:
        sigma = self.sigma(name)
        return {a: (1 - self.gamma * len(sigma)) * q + self.gamma for a, q in sigma.items()}

    def plan(self) -> dict[Sequence, float]:
        out: dict[Sequence, float] = {None: 1.0}
        for name, above in self.above.items():
            out |= {(name, a): out[above] * q for a, q in self.played(name).items()}
        return out

    def walk(
        self, state: Any, last: Sequence, others: float, opponent: Slow, won: Any = None
    ) -> None:
        """Meet every infoset; add what is won after each of the player's sequences to `won`."""
        player = state.current_player()
        if player == TERMINAL:
            if won is not None:
                won[last] += others * state.returns()[self.p]
            return
        if player == CHANCE:
            for a, q in state.chance_outcomes():
                self.walk(state.child(a), last, others * q, opponent, won)
            return
        name = state.information_state(player)
        if player != self.p:
            met = opponent.regret.setdefault(name, dict.fromkeys(state.legal_actions(), 0.0))
            for a in met:
                q = opponent.played(name)[a]
                self.walk(state.child(a), last, others * q, opponent, won)
            return
        self.above.setdefault(name, last)
        for a in self.regret.setdefault(name, dict.fromkeys(state.legal_actions(), 0.0)):
            self.walk(state.child(a), (name, a), others, opponent, won)

    def iterate(self, t: int, game: sg.Game, opponent: Slow) -> None:
        value: dict[Sequence, float] = defaultdict(float)
        self.walk(game.new_initial_state(), None, 1.0, opponent, value)
        plan = self.plan()
        if self.reference is None:
            self.reference = plan
        if (t + 1) % self.how.every == 0:
            self.reference, self.gamma = plan, self.gamma / 2
        regrets = {}
        for name, above in reversed(self.above.items()):
            sigma = self.sigma(name)
            for a in sigma:
                far = plan[name, a] - self.reference[name, a]
                value[name, a] -= self.how.mu * far
            mean = sum(q * value[name, a] for a, q in sigma.items())
            value[above] += mean
            regrets[name] = {a: value[name, a] - mean for a in sigma}
        for name, regret in regrets.items():
            for a, r in regret.items():
                self.regret[name][a] = max(0.0, self.regret[name][a] + r)


@pytest.mark.parametrize("name", ["kuhn", "coin-toss", "random(seed=3)"])
def test_it_is_its_equations(name: str) -> None:
    how = RewardTransformation(mu=0.3, gamma=0.01, every=4)  # so that every term counts
    game = sg.games.load(name)
    players = [Slow(p, how) for p in (0, 1)]
    for p in (0, 1):
        players[p].walk(game.new_initial_state(), None, 1.0, players[1 - p])
    for t in range(14):
        for p in (0, 1):
            players[p].iterate(t, game, players[1 - p])
    tree = sg.compile(game)
    played = solve_transformed(tree, 14, how)
    for p, player in enumerate(tree.players):
        for infoset in player.names:
            want = players[p].played(infoset)
            assert played[infoset] == pytest.approx(want, abs=1e-9), infoset


def test_its_last_strategy_converges() -> None:
    tree = sg.compile(sg.games.load("goofspiel(cards=3)"))
    gaps = [sg.exploitability(tree, solve_transformed(tree, n)).mean for n in (10, 100, 1000)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-3


def test_nonsense_is_refused() -> None:
    tree = sg.compile(sg.games.load("kuhn"))
    with pytest.raises(sg.SubgameError, match="iterations"):
        solve_transformed(tree, 0)
    for how in ({"mu": -1.0}, {"every": 0}, {"gamma": 0.6}, {"gamma": -0.1}):
        with pytest.raises(sg.SubgameError, match=next(iter(how))):
            solve_transformed(tree, 1, RewardTransformation(**how))
