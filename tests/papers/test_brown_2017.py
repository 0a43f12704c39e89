"""Brown & Sandholm 2017, "Safe and Nested Subgame Solving": Coin Toss, derived by hand.

One subgame (Sections 2, 4 and 5). Let P2 guess Heads with probability h and Tails with t, and
forfeit with the rest. Play then is worth 1 - 2h to P1 from Heads and 1 - 2t from Tails, Sell 0.5
and -0.5, so P1 at best wins

    ( max(0.5, 1 - 2h) + max(-0.5, 1 - 2t) ) / 2.

The blueprint (h, t) = (1/2, 1/4) gives Play 0 and 1/2, and P1 1/2 in all.

* Unsafe: P1 arrives with 3/4 (Heads) and 1/2 (Tails): always guess Heads. P1 wins 3/4.
* Resolve: 1 - 2h <= 0 and 1 - 2t <= 1/2, so any h >= 1/2, t >= 1/4; the blueprint is one of them.
* Maxmargin: margins 2h - 1 and 2t - 1/2 are equal at h = 5/8, t = 3/8, both 1/4. Play is worth
  -1/4 and 1/4, and P1 wins (1/2 + 1/4) / 2 = 3/8.
* Gifts: from Heads, Sell (terminal) is worth 0.5 and Play 0: a gift of 0.5. From Tails Sell is the
  worse of the two: none. The alternative payoffs become 1/2 and 1/2.
* Reach-Resolve: any h >= 1/4, t >= 1/4. P1 wins (1/2 + 1 - 2t) / 2, at most 1/2.
* Reach-Maxmargin: margins 2h - 1/2 and 2t - 1/2 are equal at h = t = 1/2, both 1/2. Play is worth 0
  and 0, and P1 wins 1/4: better than Maxmargin, not yet the optimum.
* Gifts scaled by c (Appendix F): alternatives c/2 and 1/2, so 2h - 1 + c/2 = 2t - 1/2 at
  h = 5/8 - c/8. c = 0 is Maxmargin, c = 1 Reach-Maxmargin; c = 3 gives h = 1/4, the equilibrium.

Two subgames (Section 5, Fig. 4), without Forfeit. With h in a subgame it is worth 1 - 2h from Heads
and 2h - 1 from Tails, 0 and 0 in the blueprint; Play is the mean of the two subgames. P1 wins
(1/2 + 0) / 2 = 1/4. The gift of Heads is again 0.5. A subgame is reached from Heads (pi_-1 =
1/4) half as often as the coin lands so (1/2).

* Split: alternatives 1/2 and 0. Reach-Resolve: 1/4 <= h <= 1/2. Reach-Maxmargin: 2h - 1/2 = 1 - 2h
  at h = 3/8, margin 1/4. Both subgames: Play is worth 1/4 and -1/4, and P1 wins (1/2 - 1/4) / 2 =
  1/8; only one of them: 1/8 and -1/8, and (1/2 - 1/8) / 2 = 3/16.
* Not split: alternatives 1 and 0. Reach-Resolve: 0 <= h <= 1/2, so always Tails is a solution. In
  one subgame only, Play becomes 1/2 and -1/2, and P1 wins 0: optimal. In both, Play is worth 1 from
  Heads, more than Sell's 0.5: the CBV of Heads has doubled. (That P1 wins (1 - 1/2) / 2 = 1/4 as
  before is an accident of what P1 loses from Tails; `CoinTossMany` below has no such luck.)
  Reach-Maxmargin: 2h = 1 - 2h at h = 1/4, margin 1/2; both subgames give the equilibrium, 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import subgame as sg
from helpers import tree_of
from subgame.games.coin_toss import CoinTossState
from subgame.refine.report import Refinement

EXACT = 1e-9
SOLVERS = [("lp", None, EXACT), ("cfr+", 5000, 5e-3), ("dcfr", 5000, 5e-3)]
"""Schedule, iterations, and how near it comes."""


def coin_toss(technique: sg.Gadget | str, schedule: str = "lp", **options: Any) -> Refinement:
    tree = tree_of("coin-toss")
    blueprint = sg.Strategy.published(tree, "paper")
    return sg.refine(tree, blueprint, at="Play", technique=technique, schedule=schedule, **options)


def play(guess: dict[str, float]) -> tuple[float, float]:
    """What Play is worth to P1 from Heads and from Tails."""
    return 1 - 2 * guess["Heads"], 1 - 2 * guess["Tails"]


def won_by_p1(guess: dict[str, float]) -> float:
    heads, tails = play(guess)
    return (max(0.5, heads) + max(-0.5, tails)) / 2


def guesses(heads: float, tails: float) -> dict[str, float]:
    return {"Heads": heads, "Tails": tails, "Forfeit": 1 - heads - tails}


# One subgame ------------------------------------------------------------------------------------


def test_what_the_blueprint_allows() -> None:
    """Section 4.2: "a'_T leads to a terminal payoff of 0 for Heads and 1/2 for Tails"."""
    refined = coin_toss("resolve")
    (part,) = refined.parts
    assert part.player == 1
    assert part.infosets == ("Heads Play", "Tails Play")
    np.testing.assert_allclose(part.weight, [0.5, 0.5], atol=EXACT)
    np.testing.assert_allclose(part.cbv, [0, 0.5], atol=EXACT)
    np.testing.assert_allclose(part.alternatives, [0, 0.5], atol=EXACT)
    assert refined.before.per_seat[1] == pytest.approx(0.5, abs=EXACT)
    # P1's half: P2 guesses Heads and wins (3/4 - 1/2) / 2, and from Sell (-1/4 + 1/2) 0.5 / 2.
    assert refined.before.per_seat[0] == pytest.approx(1 / 8 + 1 / 16, abs=EXACT)


@pytest.mark.parametrize(("schedule", "iterations", "near"), SOLVERS)
def test_unsafe_always_guesses_heads(schedule: str, iterations: int | None, near: float) -> None:
    """Section 4.1: "P2 would always choose Heads"."""
    refined = coin_toss("unsafe", schedule, iterations=iterations)
    assert refined.strategy["Play"] == pytest.approx(guesses(1, 0), abs=near)
    np.testing.assert_allclose(refined.parts[0].margins, [1, -0.5], atol=2 * near)
    assert refined.after.per_seat[1] == pytest.approx(0.75, abs=near)
    assert refined.after.per_seat[1] - refined.before.per_seat[1] == pytest.approx(0.25, abs=near)


@pytest.mark.parametrize(("schedule", "iterations", "near"), SOLVERS)
def test_resolve_keeps_both_margins(schedule: str, iterations: int | None, near: float) -> None:
    refined = coin_toss("resolve", schedule, iterations=iterations)
    guess = refined.strategy["Play"]
    assert guess["Heads"] >= 1 / 2 - near
    assert guess["Tails"] >= 1 / 4 - near
    assert refined.margin >= -near
    assert refined.after.per_seat[1] <= 0.5 + near
    assert refined.after.per_seat[1] == pytest.approx(won_by_p1(guess), abs=EXACT)


def test_the_blueprint_solves_its_own_resolve_gadget() -> None:
    """Section 4.2: "one solution to the augmented subgame is the blueprint itself"."""
    (part,) = coin_toss("resolve").parts
    leaving = float(part.weight @ part.alternatives)  # P1 can always have this much
    for guess in (guesses(1 / 2, 1 / 4), guesses(1 / 2, 1 / 2), guesses(3 / 4, 1 / 4)):
        best = part.weight @ np.maximum(part.alternatives, play(guess))
        assert best == pytest.approx(leaving, abs=EXACT)
    best = part.weight @ np.maximum(part.alternatives, play(guesses(1, 0)))
    assert best == pytest.approx(leaving + 0.25, abs=EXACT)


@pytest.mark.parametrize(("schedule", "iterations", "near"), SOLVERS)
def test_maxmargin(schedule: str, iterations: int | None, near: float) -> None:
    """Section 5 and Appendix A: 5/8, 3/8, 0; P1's EVs -1/4 and 1/4, and 3/8 in all."""
    refined = coin_toss("maxmargin", schedule, iterations=iterations)
    assert refined.strategy["Play"] == pytest.approx(guesses(5 / 8, 3 / 8), abs=near)
    (part,) = refined.parts
    np.testing.assert_allclose(part.alternatives, [0, 0.5], atol=EXACT)
    np.testing.assert_allclose(part.values, [-1 / 4, 1 / 4], atol=2 * near)
    np.testing.assert_allclose(part.margins, [1 / 4, 1 / 4], atol=2 * near)
    assert refined.after.per_seat[1] == pytest.approx(3 / 8, abs=near)


@pytest.mark.parametrize(("schedule", "iterations", "near"), SOLVERS)
def test_reach_maxmargin(schedule: str, iterations: int | None, near: float) -> None:
    refined = coin_toss("reach-maxmargin", schedule, iterations=iterations)
    assert refined.strategy["Play"] == pytest.approx(guesses(1 / 2, 1 / 2), abs=near)
    (part,) = refined.parts
    np.testing.assert_allclose(part.gifts, [0.5, 0], atol=EXACT)
    np.testing.assert_allclose(part.alternatives, [0.5, 0.5], atol=EXACT)
    np.testing.assert_allclose(part.margins, [1 / 2, 1 / 2], atol=2 * near)
    np.testing.assert_allclose(part.values, [0, 0], atol=2 * near)
    assert refined.after.per_seat[1] == pytest.approx(1 / 4, abs=near)


@pytest.mark.parametrize(("schedule", "iterations", "near"), SOLVERS)
def test_reach_resolve(schedule: str, iterations: int | None, near: float) -> None:
    refined = coin_toss("reach-resolve", schedule, iterations=iterations)
    guess = refined.strategy["Play"]
    (part,) = refined.parts
    np.testing.assert_allclose(part.alternatives, [0.5, 0.5], atol=EXACT)
    assert min(guess["Heads"], guess["Tails"]) >= 1 / 4 - near
    assert refined.margin >= -2 * near
    assert refined.after.per_seat[1] <= 1 / 2 + near


@pytest.mark.parametrize("scale", [0, 0.5, 1, 2, 3, 4])
def test_scaled_gifts(scale: float) -> None:
    """Appendix F: "At 0, the algorithm is identical to Maxmargin"; at 3 here it is optimal."""
    refined = coin_toss(sg.ReachMaxmargin(scale=scale))
    heads = 5 / 8 - scale / 8
    assert refined.strategy["Play"] == pytest.approx(guesses(heads, 1 - heads), abs=EXACT)
    # Beyond 3 Play from Heads pays more than Sell, and what was won from Tails is given away.
    wanted = {0: 3 / 8, 0.5: 5 / 16, 1: 1 / 4, 2: 1 / 8, 3: 0, 4: 1 / 8}[scale]
    assert refined.after.per_seat[1] == pytest.approx(wanted, abs=EXACT)


def test_theorem_1_is_tight_here() -> None:
    """exp(sigma') <= exp(sigma) - pi_-1(I) M(I) where a best response reaches I: Tails here."""
    for name in ("maxmargin", "reach-maxmargin"):
        refined = coin_toss(name)
        (part,) = refined.parts
        response = sg.best_response(refined.strategy.tree, refined.strategy, 0)
        assert response.strategy["Tails"] == {"Sell": 0, "Play": 1}
        assert response.strategy["Heads"] == {"Sell": 1, "Play": 0}
        promised = refined.before.per_seat[1] - part.weight[1] * part.margins[1]
        assert refined.after.per_seat[1] == pytest.approx(promised, abs=EXACT)


def test_the_optimum_and_a_slip_of_the_paper() -> None:
    """P2's optimum is Heads 1/4, Tails 3/4 (Section 2).

    Section 5 prints "Heads with probability 3/4 and Tails with probability 1/4", which makes P1
    indifferent in neither case and pays P1 1/2.
    """
    tree = tree_of("coin-toss")
    for guess, won in ((guesses(1 / 4, 3 / 4), 0), (guesses(3 / 4, 1 / 4), 1 / 2)):
        assert won_by_p1(guess) == won
        strategy = sg.Strategy.from_table(tree, {"Play": guess})
        assert sg.exploitability(tree, strategy).per_seat[1] == pytest.approx(won, abs=EXACT)


@pytest.mark.parametrize("on", [sg.Resolve(), sg.Maxmargin()], ids=["resolve", "maxmargin"])
def test_estimates_that_are_right_give_the_optimum(on: sg.Gadget) -> None:
    """Appendix C: with the values of sigma* as alternatives, only sigma* itself is left."""
    alternatives = {"Heads Play": 0.5, "Tails Play": -0.5}
    refined = coin_toss(sg.Estimate(on), alternatives=alternatives)
    assert refined.strategy["Play"] == pytest.approx(guesses(1 / 4, 3 / 4), abs=EXACT)
    assert refined.after.per_seat[1] == pytest.approx(0, abs=EXACT)
    # Heads may now get more than the blueprint's 0: the margin says so, the gift pays for it.
    np.testing.assert_allclose(refined.parts[0].margins, [-0.5, 1], atol=EXACT)


# Distributional alternative payoffs --------------------------------------------------------------


@pytest.mark.parametrize("form", ["respond", "hedge"])
def test_narrow_distributions_keep_the_margins(form: Any) -> None:
    """Appendix C.1: "as the distributions narrow, ... converges to the Resolve augmented subgame".

    The blueprint pays P1 the mean of max(X, CBV) = CBV + spread / sqrt(2 pi) at each root infoset;
    a solution pays no more, so the weighted sum of what exceeds a CBV vanishes with the spread.
    """
    technique = sg.Distributional(form, estimate=False)
    for spread in (0.1, 0.01, 0.001, 0.0):
        refined = coin_toss(technique, "cfr+", iterations=2000, uncertainty=spread)
        assert refined.parts[0].bound <= spread / np.sqrt(2 * np.pi) + 1e-3
        assert refined.after.per_seat[1] <= 0.5 + refined.parts[0].bound + EXACT


@pytest.mark.parametrize("form", ["respond", "hedge"])
@pytest.mark.parametrize(
    ("spread", "heads"),
    [([0.25, 0.25], 5 / 8), ([1.0, 1.0], 5 / 8), ([0.3, 0.1], 11 / 16), ([0.1, 0.3], 9 / 16)],
)
def test_wider_distributions(form: Any, spread: list[float], heads: float) -> None:
    """P2 pays the sum of E max(X, v); its slope in v is P(X <= v), equal at the optimum.

    So margins relate as the spreads do: (2h - 1) / s_Heads = (2t - 1/2) / s_Tails, t = 1 - h. With
    equal spreads that is Maxmargin; with 3 to 1, 2h - 1 = 3/8 and h = 11/16.
    """
    technique = sg.Distributional(form, estimate=False)
    refined = coin_toss(technique, "cfr+", iterations=4000, uncertainty=spread)
    assert refined.strategy["Play"] == pytest.approx(guesses(heads, 1 - heads), abs=5e-3)


# Two subgames -----------------------------------------------------------------------------------


def two(technique: sg.Gadget, at: Any = "after Play", schedule: str = "lp") -> Refinement:
    tree = tree_of("coin-toss-two")
    blueprint = sg.Strategy.published(tree, "paper")
    return sg.refine(tree, blueprint, at=at, technique=technique, schedule=schedule)


def with_heads(tree: sg.PublicTree, **heads: float) -> sg.Strategy:
    """The paper's blueprint, but P2 guesses Heads that often in S1, S2."""
    blueprint = sg.Strategy.published(tree, "paper")
    table = blueprint.table() | {
        f"Play {name}": {"Heads": h, "Tails": 1 - h} for name, h in heads.items()
    }
    return sg.Strategy.from_table(tree, table)


def from_heads(strategy: sg.Strategy) -> float:
    """What P1 can get at the infoset Heads, given that the coin landed so."""
    return sg.best_response(strategy.tree, strategy, 0).values["Heads"].normalised


@pytest.mark.parametrize(("split", "heads"), [(True, 0.5), (False, 1.0)])
def test_alternatives_of_two_subgames(split: bool, heads: float) -> None:
    """Fig. 4: "the alternative payoff in both subgames can be 0.5"; of one alone, "at most 1"."""
    refined = two(sg.ReachResolve(split=split))
    assert refined.before.per_seat[1] == pytest.approx(1 / 4, abs=EXACT)
    assert [part.subgame.name for part in refined.parts] == ["Play S1", "Play S2"]
    for part in refined.parts:
        np.testing.assert_allclose(part.weight, [1 / 4, 1 / 4], atol=EXACT)
        np.testing.assert_allclose(part.cbv, [0, 0], atol=EXACT)
        np.testing.assert_allclose(part.alternatives, [heads, 0], atol=EXACT)
        assert part.margin >= -EXACT
    if split:
        assert refined.after.per_seat[1] <= 1 / 4 + EXACT
        assert from_heads(refined.strategy) <= 0.5 + EXACT


@pytest.mark.parametrize(
    ("technique", "at", "heads", "margin", "won"),
    [
        (sg.Unsafe(), "after Play", 1, -1, 3 / 4),
        (sg.Maxmargin(), "after Play", 1 / 2, 0, 1 / 4),
        (sg.ReachMaxmargin(), "after Play", 3 / 8, 1 / 4, 1 / 8),
        (sg.ReachMaxmargin(), "Play S1", 3 / 8, 1 / 4, 3 / 16),
        (sg.ReachMaxmargin(split=False), "after Play", 1 / 4, 1 / 2, 0),
        (sg.ReachMaxmargin(split=False), "Play S1", 1 / 4, 1 / 2, 1 / 8),
    ],
)
def test_two_subgames(
    technique: sg.Gadget, at: str, heads: float, margin: float, won: float
) -> None:
    refined = two(technique, at)
    for part in refined.parts:
        guess = refined.strategy[part.subgame.name]
        assert guess == pytest.approx({"Heads": heads, "Tails": 1 - heads}, abs=EXACT)
        assert part.margin == pytest.approx(margin, abs=EXACT)
    assert len(refined.parts) == (1 if at == "Play S1" else 2)
    assert refined.after.per_seat[1] == pytest.approx(won, abs=EXACT)


def test_always_tails_solves_the_gadget_that_is_not_split() -> None:
    """Section 5: "P2 always choosing Tails would be a solution (though not the only solution)"."""
    for part in two(sg.ReachResolve(split=False)).parts:
        leaving = float(part.weight @ part.alternatives)
        for h, solves in ((0, True), (1 / 4, True), (1 / 2, True), (5 / 8, False)):
            best = part.weight @ np.maximum(part.alternatives, [1 - 2 * h, 2 * h - 1])
            assert bool(best <= leaving + EXACT) == solves


def test_one_subgame_not_split_is_safe_and_both_are_not() -> None:
    tree = tree_of("coin-toss-two")
    one, both = with_heads(tree, S1=0), with_heads(tree, S1=0, S2=0)
    assert from_heads(with_heads(tree)) == pytest.approx(0.5, abs=EXACT)  # Sell
    assert sg.exploitability(tree, one).per_seat[1] == pytest.approx(0, abs=EXACT)
    assert from_heads(one) == pytest.approx(0.5, abs=EXACT)
    assert from_heads(both) == pytest.approx(1, abs=EXACT)  # Play, above the 0.5 of Sell
    assert sg.exploitability(tree, both).per_seat[1] == pytest.approx(1 / 4, abs=EXACT)


@dataclass(frozen=True, slots=True)
class CoinTossManyState(CoinTossState):
    """As in Fig. 4 with four subgames, and Sell pays 0 from Tails."""

    def chance_outcomes(self) -> list[tuple[str, float]]:
        if not self.coin:
            return [("Heads", 0.5), ("Tails", 0.5)]
        return [(f"S{k}", 0.25) for k in range(1, 5)]

    def returns(self) -> tuple[float, float]:
        won = (0.5 if self.coin == "Heads" else 0.0) if self.public[0] == "Sell" else 1.0
        if self.public[-1] == self.coin:
            won = -1.0
        return won, -won


class CoinTossMany(sg.Game):
    name = "coin-toss-many"

    def new_initial_state(self) -> CoinTossManyState:
        return CoinTossManyState(subgames=2)


@pytest.mark.parametrize(
    ("split", "subgames", "heads", "won"),
    [(False, 4, 0, 1 / 2), (False, 1, 0, 1 / 4), (True, 4, 3 / 8, 1 / 4)],
)
def test_gifts_that_are_not_split_break_safety(
    split: bool, subgames: int, heads: float, won: float
) -> None:
    """Four subgames and Sell pays 0 from Tails; P2 guesses evenly, P1 wins (1/2 + 0) / 2 = 1/4.

    The gift of Heads is 1/2, and a subgame is reached a quarter of the time. Not split: the
    alternative of Heads is 4 x 1/2 = 2, and of margins 1 + 2h and 1 - 2h the smaller is largest at
    h = 0, and only there. Done in one subgame, Play is worth (1 + 0 + 0 + 0) / 4 < 1/2 from Heads,
    and P1 wins 1/4 as before. Done in all, it is worth 1 from Heads and P1 wins (1 + 0) / 2 = 1/2.
    Split: 2h - 1/2 = 1 - 2h at h = 3/8; Play is worth 1/4 and -1/4, and P1 wins 1/4.
    """
    tree = sg.compile(CoinTossMany())
    names = [f"Play S{k}" for k in range(1, subgames + 1)]
    evenly = sg.Strategy.uniform(tree)
    technique = sg.ReachMaxmargin(split=split)
    refined = sg.refine(tree, evenly, at=names, technique=technique, schedule="lp", player=1)
    assert refined.before.per_seat[1] == pytest.approx(1 / 4, abs=EXACT)
    for name in names:
        assert refined.strategy[name]["Heads"] == pytest.approx(heads, abs=EXACT)
    assert refined.after.per_seat[1] == pytest.approx(won, abs=EXACT)
    assert refined.margin == pytest.approx(1 / 4 if split else 1, abs=EXACT)


# The normal distribution of Appendix C.1 ---------------------------------------------------------


def expected_maximum(
    mean: NDArray[np.float64], spread: float, value: NDArray[np.float64]
) -> NDArray[np.float64]:
    """E max(X, value), X normal."""
    from scipy.stats import norm

    z = (value - mean) / spread
    out: NDArray[np.float64] = mean + spread * (z * norm.cdf(z) + norm.pdf(z))
    return out


def test_the_example_of_overfitting() -> None:
    """Appendix C.1: 0.99 and 9.99 suit the estimates 1 and 10, but 1.01 and 0 suit their spread."""
    mean, cautious, bold = np.array([1.0, 10]), np.array([0.99, 9.99]), np.array([1.01, 0])
    for spread, better in ((1e-3, cautious), (1.0, bold)):
        worse = bold if better is cautious else cautious
        paid = [float(expected_maximum(mean, spread, v).sum()) for v in (better, worse)]
        assert paid[0] < paid[1]
