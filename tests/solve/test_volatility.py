"""VAD-CFR beside a slow implementation of the paper's listing, history by history."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

import subgame as sg
from subgame.games.base import CHANCE, TERMINAL
from subgame.solve.volatility import Volatility, solve_volatility


class Slow:
    """The listing with dictionaries: regrets, policies and the moving average of each infoset."""

    def __init__(self, game: sg.Game, how: Volatility) -> None:
        self.game, self.how = game, how
        self.regret: Any = defaultdict(lambda: defaultdict(float))
        self.average: Any = defaultdict(lambda: defaultdict(float))
        self.policy: dict[str, dict[str, float]] = {}
        self.lately: dict[str, float] = {}

    def play(self, state: Any) -> dict[str, float]:
        name, actions = self.name(state), state.legal_actions()
        return self.policy.setdefault(name, dict.fromkeys(actions, 1 / len(actions)))

    @staticmethod
    def name(state: Any) -> str:
        player = state.current_player()
        return f"{player} {state.information_state(player)}"

    def value(self, state: Any, p: int, own: float, others: float, seen: Any) -> float:
        """Player `p`'s value; `seen` collects regrets and own reach of the player's infosets."""
        player = state.current_player()
        if player == TERMINAL:
            return float(state.returns()[p])
        if player == CHANCE:
            parts: list[tuple[str, float]] = state.chance_outcomes()
            return sum(q * self.value(state.child(a), p, own, others * q, seen) for a, q in parts)
        policy = self.play(state)
        if player != p:
            return sum(
                q * self.value(state.child(a), p, own, others * q, seen) for a, q in policy.items()
            )
        values = {
            a: self.value(state.child(a), p, own * q, others, seen) for a, q in policy.items()
        }
        mean = sum(policy[a] * won for a, won in values.items())
        regrets, _ = seen.setdefault(self.name(state), (defaultdict(float), own))
        for a, won in values.items():
            regrets[a] += others * (won - mean)
        return mean

    def iterate(self, t: int) -> None:
        for p in (0, 1):
            seen: dict[str, tuple[dict[str, float], float]] = {}
            self.value(self.game.new_initial_state(), p, 1.0, 1.0, seen)
            for name, (regrets, reach) in seen.items():
                self.update(t, name, regrets, reach)

    def update(self, t: int, name: str, regrets: dict[str, float], reach: float) -> None:
        h, size = self.how, max(abs(r) for r in regrets.values())
        if t >= h.skipped:
            volatility = min(1.0, size / h.largest)
            gamma = min(h.most_gamma, h.gamma + h.gamma_sensitivity * volatility)
            weight = (t + 1.0) ** gamma / (1 + size**h.stability)
            weight *= (1 + size / h.largest) ** h.weighting
            for a, q in self.policy[name].items():
                self.average[name][a] += weight * reach * q
        old = self.lately.get(name, 0.0)
        self.lately[name] = size if t == 0 else h.decay * size + (1 - h.decay) * old
        volatility = min(1.0, self.lately[name] / h.largest)
        alpha = max(0.1, h.alpha - h.sensitivity * volatility)
        beta = min(alpha, h.beta - h.sensitivity * volatility)
        ahead = {}
        for a, r in regrets.items():
            gain = r * h.boost if r > 0 else r
            for step in (1.0, h.optimism / (1 + t / h.fading) * (1 - h.sensitivity * volatility)):
                regret = self.regret[name][a]
                power = (t + 1.0) ** (alpha if regret >= 0 else beta)
                new = power / (power + 1) * regret + step * gain
                if step == 1.0 and a not in ahead:
                    self.regret[name][a] = max(h.floor, new)
                    ahead[a] = 0.0
                else:
                    ahead[a] = max(0.0, new) ** h.power
        total = sum(ahead.values())
        self.policy[name] = {
            a: w / total if total > 0 else 1 / len(ahead) for a, w in ahead.items()
        }


@pytest.mark.parametrize("name", ["kuhn", "coin-toss", "goofspiel(cards=3)"])
def test_it_is_the_listing(name: str) -> None:
    how = Volatility(skipped=4, largest=0.3, floor=-0.2)  # so that every branch is taken
    game = sg.games.load(name)
    slow = Slow(game, how)
    for t in range(12):
        slow.iterate(t)
    tree = sg.compile(game)
    played = solve_volatility(tree, 12, how)
    compared = 0
    for p, player in enumerate(tree.players):
        for infoset in player.names:
            average = slow.average[f"{p} {infoset}"]
            total = sum(average.values())
            if total > 0:
                want = {a: weight / total for a, weight in average.items()}
                assert played[infoset] == pytest.approx(want, abs=1e-9), infoset
                compared += 1
    assert compared > 2


def test_it_solves_leduc_and_refuses_nonsense() -> None:
    tree = sg.compile(sg.games.load("leduc"))
    few, many = (sg.exploitability(tree, solve_volatility(tree, n)).mean for n in (501, 700))
    assert many < few < 0.2
    with pytest.raises(sg.SubgameError, match="iterations"):
        solve_volatility(tree, 0)
