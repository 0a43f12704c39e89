"""The oracle itself, against truths that do not come from it."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass
from typing import Self

import numpy as np
import pytest

from oracle import PLAYERS, RULES, Oracle, Profile, Rule, Strategy
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.games.kuhn import Kuhn

Numbers = dict[str, float]


@dataclass(frozen=True, slots=True)
class CoinState(State):
    """Coin Toss (Brown and Sandholm 2017): player 0 sees the coin, sells it or has it guessed."""

    moves: tuple[str, ...] = ()

    def current_player(self) -> int:
        if not self.moves:
            return CHANCE
        if self.moves[-1] == "sell" or len(self.moves) == 3:
            return TERMINAL
        return len(self.moves) - 1

    def legal_actions(self) -> tuple[str, ...]:
        return ("sell", "play") if len(self.moves) == 1 else ("heads", "tails", "forfeit")

    def chance_outcomes(self) -> list[tuple[str, float]]:
        return [("heads", 0.5), ("tails", 0.5)]

    def child(self, action: str) -> Self:
        return type(self)((*self.moves, action))

    def returns(self) -> tuple[float, float]:
        if self.moves[-1] == "sell":
            won = 0.5 if self.moves[0] == "heads" else -0.5
        else:
            won = -1.0 if self.moves[2] == self.moves[0] else 1.0
        return won, -won

    def information_state(self, player: int) -> str:
        return self.moves[0] if player == 0 else "guess"


class CoinToss(Game):
    name = "coin-toss"

    def new_initial_state(self) -> CoinState:
        return CoinState()


@pytest.fixture(scope="module")
def kuhn() -> Oracle:
    return Oracle(Kuhn())


@pytest.fixture(scope="module")
def coin() -> Oracle:
    return Oracle(CoinToss())


def equilibrium(alpha: float) -> tuple[Strategy, Strategy]:
    """Kuhn's family of equilibria: bluff the jack with alpha."""
    bet_first = {"J": alpha, "Q": 0, "K": 3 * alpha, "Jpb": 0, "Qpb": alpha + 1 / 3, "Kpb": 1}
    bet_second = {"Jp": 1 / 3, "Qp": 0, "Kp": 1, "Jb": 0, "Qb": 1 / 3, "Kb": 1}
    first, second = (
        {infoset: {"p": 1 - bet, "b": bet} for infoset, bet in bets.items()}
        for bets in (bet_first, bet_second)
    )
    return first, second


def pure_strategies(oracle: Oracle, player: int) -> list[Strategy]:
    sets = oracle.infosets[player]
    return [
        {
            infoset: {a: float(a == choice) for a in sets[infoset]}
            for infoset, choice in zip(sets, choices, strict=True)
        }
        for choices in itertools.product(*sets.values())
    ]


def with_strategy(profile: Profile, player: int, strategy: Strategy) -> list[Strategy]:
    return [strategy if i == player else profile[i] for i in PLAYERS]


def at_first(oracle: Oracle, player: int, numbers: Numbers) -> float:
    """The sum over the infosets where the player moves for the first time."""
    return sum(x for infoset, x in numbers.items() if oracle.parents[player][infoset] is None)


def test_infosets(kuhn: Oracle, coin: Oracle) -> None:
    assert set(kuhn.infosets[0]) == {"J", "Q", "K", "Jpb", "Qpb", "Kpb"}
    assert set(kuhn.infosets[1]) == {"Jp", "Qp", "Kp", "Jb", "Qb", "Kb"}
    assert all(actions == ["p", "b"] for actions in kuhn.infosets[0].values())
    assert kuhn.parents[0]["Qpb"] == ("Q", "p")
    assert len(kuhn.histories[1]["Kb"]) == 2
    assert coin.infosets == (
        {"heads": ["sell", "play"], "tails": ["sell", "play"]},
        {"guess": ["heads", "tails", "forfeit"]},
    )


def test_random_profile(kuhn: Oracle) -> None:
    for rng in (random.Random(0), np.random.default_rng(0)):
        for strategy in kuhn.random_profile(rng):
            for row in strategy.values():
                assert min(row.values()) > 0
                assert sum(row.values()) == pytest.approx(1, abs=1e-15)


def test_uniform_value_by_enumeration(kuhn: Oracle) -> None:
    # Betting: its probability under uniform play, and what player 0 wins with the better card
    # and with the worse one.
    lines = [
        (1 / 4, 1, -1),  # pp
        (1 / 8, -1, -1),  # pbp
        (1 / 8, 2, -2),  # pbb
        (1 / 4, 1, 1),  # bp
        (1 / 4, 2, -2),  # bb
    ]
    deals = list(itertools.permutations((0, 1, 2), 2))
    total = sum(p * (up if a > b else down) for a, b in deals for p, up, down in lines)
    assert len(deals) == 6
    assert total / 6 == pytest.approx(1 / 8)
    assert kuhn.expected_value(kuhn.uniform()) == pytest.approx(total / 6, abs=1e-15)


def test_best_response_to_uniform(kuhn: Oracle) -> None:
    uniform = kuhn.uniform()
    # Player 0, by card: J bets (-1/2, not -1), Q bets (1/2, not 0), K either way (3/2).
    assert kuhn.best_response_value(uniform, 0) == pytest.approx(1 / 2, abs=1e-15)
    first = kuhn.counterfactual_best_response(uniform, 0)
    assert first == pytest.approx(
        {
            "J": -1 / 6,
            "Q": 1 / 6,
            "K": 3 / 6,
            "Jpb": -1 / 6,  # reached with 1/3 * 1/2; folds
            "Qpb": 0,  # folding costs 1, calling is even
            "Kpb": 2 / 6,
        }
    )
    # Player 1, by card: after p -1/2, 1/2, 3/2 by betting; after b -1 by folding, 0, 2.
    assert kuhn.best_response_value(uniform, 1) == pytest.approx(5 / 12, abs=1e-15)
    second = kuhn.counterfactual_best_response(uniform, 1)
    assert second == pytest.approx(
        {"Jp": -1 / 12, "Qp": 1 / 12, "Kp": 3 / 12, "Jb": -1 / 6, "Qb": 0, "Kb": 2 / 6}
    )
    per_seat, mean = kuhn.exploitability(uniform)
    assert per_seat == pytest.approx((3 / 8, 13 / 24))
    assert mean == pytest.approx(11 / 24)


@pytest.mark.parametrize("alpha", [0, 1 / 12, 1 / 6, 1 / 4, 1 / 3])
def test_analytic_equilibria(kuhn: Oracle, alpha: float) -> None:
    profile = equilibrium(alpha)
    assert kuhn.expected_value(profile) == pytest.approx(-1 / 18, abs=1e-15)
    per_seat, mean = kuhn.exploitability(profile)
    assert per_seat == pytest.approx((0, 0), abs=1e-15)
    assert mean == pytest.approx(0, abs=1e-15)


def test_outside_the_family_is_exploitable(kuhn: Oracle) -> None:
    first = equilibrium(1 / 3)[0]
    first["J"] = {"p": 0.5, "b": 0.5}
    per_seat, mean = kuhn.exploitability((first, equilibrium(0)[1]))
    assert per_seat[1] > 0.01
    assert mean > 0.005


def test_coin_toss(coin: Oracle) -> None:
    guess = {"guess": {"heads": 0.25, "tails": 0.75, "forfeit": 0.0}}
    sell = {"heads": {"sell": 1.0, "play": 0.0}, "tails": {"sell": 0.5, "play": 0.5}}
    assert coin.best_response_value((sell, guess), 0) == pytest.approx(0, abs=1e-15)
    values = coin.counterfactual_values((sell, guess), 0)
    assert values == {
        "heads": {"sell": 0.25, "play": 0.25},
        "tails": {"sell": -0.25, "play": -0.25},
    }
    # Only tails is ever played: guessing tails wins 1 there.
    assert coin.counterfactual_reach((sell, guess), 1) == {"guess": 0.25}
    assert coin.counterfactual_best_response((sell, guess), 1) == {"guess": 0.25}
    assert coin.counterfactual_values((sell, guess), 1) == {
        "guess": {"heads": -0.25, "tails": 0.25, "forfeit": -0.25}
    }


def test_best_response_at_an_unreached_infoset(coin: Oracle) -> None:
    never = {"sell": 1.0, "play": 0.0}
    profile = ({"heads": never, "tails": never}, coin.uniform()[1])
    assert coin.best_response_value(profile, 1) == 0
    assert coin.counterfactual_best_response(profile, 1) == {"guess": 0}
    # Player 0's choice not to play does not weigh the values of player 0.
    assert coin.counterfactual_values(profile, 0)["tails"]["play"] == pytest.approx(1 / 6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("name", ["kuhn", "coin"])
class TestRandomProfiles:
    """Identities that hold for any profile."""

    @pytest.fixture
    def oracle(self, name: str, kuhn: Oracle, coin: Oracle) -> Oracle:
        return kuhn if name == "kuhn" else coin

    @pytest.fixture
    def profile(self, oracle: Oracle, seed: int) -> Profile:
        return oracle.random_profile(random.Random(seed))

    def test_best_response_is_best_pure(
        self, oracle: Oracle, profile: Profile, player: int
    ) -> None:
        sign = 1 if player == 0 else -1
        best = max(
            sign * oracle.expected_value(with_strategy(profile, player, pure))
            for pure in pure_strategies(oracle, player)
        )
        assert oracle.best_response_value(profile, player) == pytest.approx(best, abs=1e-14)

    def test_counterfactual_best_response_is_best_pure(
        self, oracle: Oracle, profile: Profile, player: int
    ) -> None:
        result = oracle.counterfactual_best_response(profile, player)
        tables = [
            (pure, oracle.counterfactual_values(with_strategy(profile, player, pure), player))
            for pure in pure_strategies(oracle, player)
        ]
        for infoset, actions in oracle.infosets[player].items():
            best = max(
                sum(pure[infoset][a] * values[infoset][a] for a in actions)
                for pure, values in tables
            )
            assert result[infoset] == pytest.approx(best, abs=1e-14)

    def test_first_infosets_make_up_the_game(
        self, oracle: Oracle, profile: Profile, player: int
    ) -> None:
        reach = oracle.counterfactual_reach(profile, player)
        best = oracle.counterfactual_best_response(profile, player)
        values = {
            infoset: sum(profile[player][infoset][a] * v for a, v in row.items())
            for infoset, row in oracle.counterfactual_values(profile, player).items()
        }
        missed, paid = 0.0, 0.0  # how often the game ends before the player moves, and what it pays
        if "guess" in oracle.infosets[player]:
            heads, tails = (profile[0][coin]["sell"] / 2 for coin in ("heads", "tails"))
            missed, paid = heads + tails, (tails - heads) / 2
        value = oracle.expected_value(profile) * (1 if player == 0 else -1)
        assert at_first(oracle, player, reach) + missed == pytest.approx(1, abs=1e-14)
        assert at_first(oracle, player, values) + paid == pytest.approx(value, abs=1e-14)
        assert at_first(oracle, player, best) + paid == pytest.approx(
            oracle.best_response_value(profile, player), abs=1e-14
        )

    def test_counterfactual_values_are_slopes(
        self, oracle: Oracle, profile: Profile, player: int
    ) -> None:
        """The value is linear in one infoset's row: pi_i(I) v(I, .) up to a constant."""
        sign = 1 if player == 0 else -1
        reach = oracle.own_reach(profile, player)
        values = oracle.counterfactual_values(profile, player)
        for infoset, actions in oracle.infosets[player].items():
            worth = {}
            for action in actions:
                row = {a: float(a == action) for a in actions}
                changed = {**profile[player], infoset: row}
                worth[action] = sign * oracle.expected_value(
                    with_strategy(profile, player, changed)
                )
            for a, b in itertools.pairwise(actions):
                slope = reach[infoset] * (values[infoset][a] - values[infoset][b])
                assert worth[a] - worth[b] == pytest.approx(slope, abs=1e-14)


def test_discounts() -> None:
    rule = Rule(1.5, 0, 2)
    assert rule.discount(2, 1.0) == 1 / 2
    assert rule.discount(5, 1.0) == 8 / 9
    assert rule.discount(5, -1.0) == 1 / 2
    assert rule.discount(5, 0.0) == 1 / 2
    floor = Rule(math.inf, -math.inf, 1)
    assert (floor.discount(7, 1.0), floor.discount(7, -1.0)) == (1, 0)
    assert Rule(1, -2, 1).discount(1, 0.0) == 1  # defined, though it multiplies nothing
    assert Rule(1, -2, 1).discount(3, -1.0) == pytest.approx(1 / 5)


def test_first_iteration_by_hand(kuhn: Oracle) -> None:
    (step,) = kuhn.cfr(1, RULES["cfr"])
    # J against uniform: passing is worth -5/4, betting -1/2; dealt with 1/3.
    assert step.regrets[0]["J"] == pytest.approx({"p": -1 / 8, "b": 1 / 8})
    # Kb: folding is worth -1, calling 2; dealt with 1/3, bet with 1/2.
    assert step.regrets[1]["Kb"] == pytest.approx({"p": -1 / 4, "b": 1 / 4})
    assert step.current[0]["J"] == {"p": 0, "b": 1}
    assert step.current[1]["Kb"] == {"p": 0, "b": 1}
    assert step.average == kuhn.uniform()
    assert step.sums[0]["Jpb"] == {"p": 1 / 4, "b": 1 / 4}


def faced(oracle: Oracle, iterations: int, rule: Rule) -> list[tuple[Profile, Profile]]:
    """For each iteration the profiles at which player 0 and player 1 updated."""
    steps = oracle.cfr(iterations, rule)
    before = [oracle.uniform(), *(step.current for step in steps[:-1])]
    if not rule.alternating:
        return [(old, old) for old in before]
    return [(old, (step.current[0], old[1])) for old, step in zip(before, steps, strict=True)]


def instant_regrets(oracle: Oracle, profile: Profile, player: int) -> Strategy:
    values = oracle.counterfactual_values(profile, player)
    result: Strategy = {}
    for infoset, row in values.items():
        mean = sum(profile[player][infoset][a] * row[a] for a in row)
        result[infoset] = {a: row[a] - mean for a in row}
    return result


def flat(strategy: Strategy) -> dict[tuple[str, str], float]:
    return {(infoset, a): x for infoset, row in strategy.items() for a, x in row.items()}


@pytest.mark.parametrize("name", ["cfr", "lcfr"])
@pytest.mark.parametrize("alternating", [False, True])
def test_linear_regrets_in_closed_form(kuhn: Oracle, name: str, alternating: bool) -> None:
    """CFR sums its regrets, LCFR weights those of iteration t by t / T."""
    base = RULES[name]
    rule = Rule(base.alpha, base.beta, base.gamma, alternating=alternating)
    last = 12
    end = kuhn.cfr(last, rule)[-1]
    for player in PLAYERS:
        total = dict.fromkeys(flat(kuhn.uniform()[player]), 0.0)
        for t, profiles in enumerate(faced(kuhn, last, rule), start=1):
            weight = t / last if name == "lcfr" else 1.0
            for key, regret in flat(instant_regrets(kuhn, profiles[player], player)).items():
                total[key] += weight * regret
        assert flat(end.regrets[player]) == pytest.approx(total, abs=1e-13)


@pytest.mark.parametrize("name", RULES)
def test_average_in_closed_form(kuhn: Oracle, name: str) -> None:
    """S_T weights iteration t by (t / T) ** gamma."""
    rule, last = RULES[name], 12
    end = kuhn.cfr(last, rule)[-1]
    for player in PLAYERS:
        total = dict.fromkeys(flat(kuhn.uniform()[player]), 0.0)
        for t, profiles in enumerate(faced(kuhn, last, rule), start=1):
            reach = kuhn.own_reach(profiles[player], player)
            for key, prob in flat(profiles[player][player]).items():
                total[key] += (t / last) ** rule.gamma * reach[key[0]] * prob
        assert flat(end.sums[player]) == pytest.approx(total, abs=1e-13)
        for infoset, row in end.average[player].items():
            mass = sum(total[infoset, a] for a in row)
            expected = {a: total[infoset, a] / mass for a in row}
            assert row == pytest.approx(expected, abs=1e-12)


def test_floor_and_prediction(kuhn: Oracle) -> None:
    """PCFR+ as published: R = max(R + r, 0), the strategy matches max(R + r, 0) + r."""
    rule, last = RULES["pcfr+"], 12
    steps = kuhn.cfr(last, rule)
    for player in PLAYERS:
        kept = dict.fromkeys(flat(kuhn.uniform()[player]), 0.0)
        for step, profiles in zip(steps, faced(kuhn, last, rule), strict=True):
            instant = flat(instant_regrets(kuhn, profiles[player], player))
            kept = {key: max(kept[key] + instant[key], 0.0) for key in kept}
            wanted = {key: max(kept[key] + instant[key], 0.0) for key in kept}
            result = {key: max(x, 0.0) for key, x in flat(step.regrets[player]).items()}
            assert result == pytest.approx(kept, abs=1e-13)
            for infoset, row in step.current[player].items():
                mass = sum(wanted[infoset, a] for a in row)
                for a, prob in row.items():
                    expected = wanted[infoset, a] / mass if mass > 0 else 1 / len(row)
                    assert prob == pytest.approx(expected, abs=1e-9)


def test_infinite_gamma_is_the_last_iterate(kuhn: Oracle) -> None:
    steps = kuhn.cfr(5, Rule(math.inf, -math.inf, math.inf))
    reach = kuhn.own_reach(steps[-2].current, 0)
    for infoset, row in steps[-1].average[0].items():
        if reach[infoset] > 0:
            assert row == pytest.approx(steps[-2].current[0][infoset])
        else:
            assert row == {"p": 0.5, "b": 0.5}


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("cfr", 2e-2),
        ("cfr+", 1e-3),
        ("lcfr", 1e-2),
        ("dcfr", 1e-2),
        ("pcfr+", 1e-4),
        ("pdcfr+", 1e-6),
    ],
)
def test_convergence(kuhn: Oracle, name: str, bound: float) -> None:
    end = kuhn.cfr(1000 if name == "cfr+" else 300, RULES[name])[-1]
    per_seat, mean = kuhn.exploitability(end.average)
    assert min(per_seat) > -1e-12
    assert mean < bound
    assert kuhn.expected_value(end.average) == pytest.approx(-1 / 18, abs=2 * bound)


def test_open_spiel_exploitability(kuhn: Oracle) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    policy = pytest.importorskip("open_spiel.python.policy")
    algorithm = pytest.importorskip("open_spiel.python.algorithms.exploitability")
    game = pyspiel.load_game("kuhn_poker")
    theirs = algorithm.exploitability(game, policy.UniformRandomPolicy(game))
    assert kuhn.exploitability(kuhn.uniform())[1] == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(
    ("module", "solver_name", "rule"),
    [
        ("cfr", "CFRSolver", Rule(math.inf, math.inf, 0)),
        ("cfr", "CFRPlusSolver", RULES["cfr+"]),
        ("discounted_cfr", "LCFRSolver", RULES["lcfr"]),
        ("discounted_cfr", "DCFRSolver", RULES["dcfr"]),
    ],
)
def test_open_spiel_cfr(kuhn: Oracle, module: str, solver_name: str, rule: Rule) -> None:
    """Iterates and averages are those of OpenSpiel's solvers, all of which alternate."""
    pyspiel = pytest.importorskip("pyspiel")
    algorithm = pytest.importorskip(f"open_spiel.python.algorithms.{module}")
    solver = getattr(algorithm, solver_name)(pyspiel.load_game("kuhn_poker"))
    for step in kuhn.cfr(30, rule):
        solver.evaluate_and_update_policy()
        for ours, theirs in (
            (step.current, solver.current_policy()),
            (step.average, solver.average_policy()),
        ):
            for infoset, row in (ours[0] | ours[1]).items():
                probs = theirs.policy_for_key(str("JQK".index(infoset[0])) + infoset[1:])
                assert (row["p"], row["b"]) == pytest.approx(tuple(probs), abs=1e-9), step.t
