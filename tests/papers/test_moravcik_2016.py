"""Moravcik et al. 2016, "Refining Subgames in Large Imperfect Information Games".

The subgame margin (Def. 2), Theorem 1, LP2 and LP3 and the max-margin gadget, on random games. The
oracle is a second LP3 that shares no code with the package (`margin_program`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import subgame as sg
from helpers import oracle_of, profile_of, sequences_above, tree_of
from margin_program import largest_margin, root_of, root_values
from subgame.engines.factory import engine
from subgame.games.holdem.game import HoldemState
from subgame.games.holdem.ranges import Range
from subgame.papers import KEYS
from subgame.papers import moravcik2016_fig5 as fig5
from subgame.refine.report import Part
from subgame.refine.sequence.subgames import sequence_subgames
from subgame.refine.subgame import Subgame, combine

SEEDS = range(0, 40, 2)
"""`refine/test_properties` has LP3 and Theorem 1 on sixty more."""
EXACT = 1e-7


@cache
def case(seed: int) -> tuple[sg.PublicTree, sg.Strategy, list[Subgame]]:
    """A random game, a random blueprint, and the subgames two or three steps down."""
    tree = tree_of(f"random(seed={seed})")
    subgames = [s for s in sg.cut(tree, f"depth {2 + seed % 2}") if s.tree.num_infosets]
    assert subgames, f"random(seed={seed}) has no subgame there"
    return tree, sg.Strategy.random(tree, seed=seed), subgames


@cache
def refined_by(technique: str, seed: int) -> tuple[Part, ...]:
    """The parts of a case, refined by linear program."""
    tree, blueprint, subgames = case(seed)
    result = sg.refine(tree, blueprint, at=subgames, technique=technique, schedule="lp")
    return tuple(result.parts)


def alone(blueprint: sg.Strategy, part: Part, sigma: NDArray[np.float64]) -> sg.Strategy:
    """sigma_1[S <- sigma_S]: the blueprint with one subgame refined."""
    return combine(blueprint, [(part.subgame, part.player, sigma)])


def reached(strategy: sg.Strategy, part: Part) -> NDArray[np.float64]:
    """[s] the reach of a pure best response of the opponent at the root slots."""
    tree, o = strategy.tree, 1 - part.player
    response = sg.best_response(tree, strategy, o).strategy
    plan: NDArray[np.float64] = engine(tree).plan(o, response.probs[o])
    return plan[sequences_above(part.subgame, o)]


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_1(seed: int) -> None:
    """Margin >= 0: u1 does not fall; and it rises by pi_-2(I) SM where a best response reaches I.

    The refined strategies are Maxmargin's, Resolve's, and halves of either and the blueprint.
    """
    tree, blueprint, _ = case(seed)
    before = sg.exploitability(tree, blueprint).per_seat
    for name in ("maxmargin", "resolve"):
        for part in refined_by(name, seed):
            p, run = part.player, engine(part.subgame.tree)
            plans = [
                run.plan(p, sigma) for sigma in (part.sigma, part.subgame.restrict(blueprint, p))
            ]
            for share in (1.0, 0.5):  # CBV is convex in the plan: margins are at least shared too
                sigma = run.behaviour(p, share * plans[0] + (1 - share) * plans[1])
                combined = alone(blueprint, part, sigma)
                above = engine(tree).plan(p, blueprint.probs[p])[sequences_above(part.subgame, p)]
                ours = run.plan(p, sigma, above)
                values = run.respond(1 - p, ours).roots[0] / part.weight
                margin = float((part.cbv - values).min())
                assert margin >= share * part.margin - EXACT
                assert margin >= -EXACT
                gain = before[p] - sg.exploitability(tree, combined).per_seat[p]
                assert gain >= -EXACT
                for s in np.flatnonzero(reached(combined, part)):
                    assert gain >= part.weight[s] * margin - EXACT


def test_best_responses_do_reach_subgames() -> None:
    """The second half of Theorem 1 is not empty above: margins and reach are often positive."""
    count = 0
    for seed in SEEDS:
        for part in refined_by("maxmargin", seed):
            combined = alone(case(seed)[1], part, part.sigma)
            count += part.margin > 1e-3 and bool(reached(combined, part).any())
    assert count >= len(SEEDS) // 2


@pytest.mark.parametrize("seed", SEEDS)
def test_lp3_is_the_margin(seed: int) -> None:
    """The gadget solved by linear program reaches LP3's optimum, and by CFR+ within its gap."""
    tree, blueprint, subgames = case(seed)
    oracle, profile = oracle_of(f"random(seed={seed})"), profile_of(blueprint)
    exact = refined_by("maxmargin", seed)
    rough = sg.refine(tree, blueprint, at=subgames, technique="maxmargin", iterations=200)
    assert len(exact) == len(rough.parts) > 0
    for part, other in zip(exact, rough.parts, strict=True):
        root = root_of(oracle, part.subgame, profile, part.player)
        cbv = root_values(oracle, root, profile)
        np.testing.assert_allclose(part.cbv, [cbv[s] for s in part.infosets], atol=1e-10)
        best = largest_margin(oracle, root, cbv)
        assert best >= -EXACT  # the blueprint itself has margin 0
        assert part.gap is not None
        assert part.gap < EXACT
        assert part.margin == pytest.approx(best, abs=EXACT)
        assert other.gap is not None
        assert best - other.gap - EXACT <= other.margin <= best + EXACT


def test_the_blueprint_solves_lp2_and_has_margin_zero() -> None:
    """LP2: "The original, unrefined strategy is a solution"."""
    for seed in SEEDS:
        tree, blueprint, _ = case(seed)
        for part in refined_by("resolve", seed):
            p, run = part.player, engine(part.subgame.tree)
            reach = engine(tree).plan(p, blueprint.probs[p])[sequences_above(part.subgame, p)]
            plan = run.plan(p, part.subgame.restrict(blueprint, p), reach)
            own = run.respond(1 - p, plan).roots[0] / part.weight
            np.testing.assert_allclose(own, part.cbv, atol=1e-12)
            assert part.margin >= -EXACT  # and so does Resolve's solution


def test_maxmargin_is_never_below_resolve() -> None:
    """ "Where LP2 guarantees non-negative margin, we maximize it"."""
    better = 0
    for seed in SEEDS:
        margins = [
            [part.margin for part in refined_by(name, seed)] for name in ("maxmargin", "resolve")
        ]
        for most, some in zip(*margins, strict=True):
            assert most >= some - EXACT
            better += most > some + 1e-3
    assert better > len(SEEDS)


# Figure 5 ----------------------------------------------------------------------------------------
HOW = fig5.Settings(iterations=150, quick=True)


@cache
def river() -> int:
    """One of some rivers on which player 0 is refined: that with the largest margin.

    The quick blueprint is hardly trained, so rounding, which differs by machine, decides which.
    """
    return max(range(0, 20, 2), key=lambda k: fig5.refined(HOW, k)["max-margin"]["margin"])


@cache
def line() -> dict[str, Any]:
    return fig5.refined(HOW, river())


def test_figure_5_follows_both_ranges() -> None:
    blueprint = fig5.blueprint_of(True)
    here, game = fig5.reached(blueprint, HOW.seed, river()), blueprint.game
    want, state, dealt = np.ones((2, game.deck.num_hands)), game.start(), 0
    want *= game.deck.compatible(here.board)
    for action in here.betting.history:
        if action == "/":
            dealt = max(3, dealt + 1)
            continue
        at = HoldemState(game, (0, 0), here.board[:dealt], state)
        actions, shares = blueprint.range_strategy(at)
        for hand in np.flatnonzero(game.deck.compatible(here.board)).tolist():
            want[state.player, hand] *= shares[hand, actions.index(action)]
        state = state.child(action)
    np.testing.assert_allclose(here.reach, want, atol=1e-12)
    assert fig5.sequences(here.subgame) < fig5.LARGEST
    assert fig5.reached(blueprint, HOW.seed, river()).board == here.board  # by the seed
    assert fig5.reached(blueprint, HOW.seed + 1, river()).board != here.board


def test_the_margins_of_figure_5_are_those_of_the_game_tree() -> None:
    """History by history, with LP3: what the blueprint gives away and the best margin there is."""
    blueprint = fig5.blueprint_of(True)
    here, deck = fig5.reached(blueprint, HOW.seed, river()), blueprint.game.deck
    ours = Range(here.reach[0] / here.reach[0].max(), deck)
    theirs = Range(deck.compatible(here.board).astype(np.float64), deck)
    game = replace(blueprint.game, board=here.board, first=here.betting, ranges=(ours, theirs))
    tree = sg.compile(game, explicit=True)
    table = {}
    for name in sg.Strategy.uniform(tree).table():
        hand, _, betting = name.split(" | ")
        state = replace(here.state, betting=blueprint.game.start().play(betting))
        actions, rows = blueprint.range_strategy(state)
        row = rows[deck.hand_table[deck.parse(hand)]]
        table[name] = dict(zip(actions, row.tolist(), strict=True))
    played = sg.Strategy.from_table(tree, table)
    dealt = sequence_subgames(tree, lambda state: len(state.hands) == 2)
    best = sg.refine(tree, played, at=dealt, technique="maxmargin", player=0, schedule="lp")
    (part,) = best.parts
    mine = line()["max-margin"]
    assert mine["gap"] < 10 < part.margin
    assert mine["margin"] <= part.margin + 1e-3 <= mine["margin"] + mine["gap"] + 2e-3
    assert line()["endgame solving"]["margin"] < line()["re-solving"]["margin"] < mine["margin"]


def test_figure_5_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep, asked, result = tmp_path / "kept.jsonl", list[int](), line()

    def refined(how: fig5.Settings, k: int) -> dict[str, Any]:
        asked.append(k)
        if k == 2 and len(asked) == 3:
            raise KeyboardInterrupt
        return {**result, "k": k}

    monkeypatch.setattr(fig5, "refined", refined)
    chosen = {"iterations": "60", "subgames": "4"}
    experiment = KEYS["moravcik2016-fig5"]
    with pytest.raises(KeyboardInterrupt):
        experiment.run(True, keep=keep, chosen=chosen)
    report = experiment.run(True, keep=keep, chosen=chosen)
    assert asked == [0, 1, 2, 2, 3]
    assert report.command.endswith("--quick --set iterations=60 --set subgames=4")
    assert report.settings["subgames"] == 4
    assert [row["paper"] for row in report.rows] == [-518.5, 8.79, 101.49]
    assert report.rows[2]["ours"] == pytest.approx(result["max-margin"]["margin"])
    experiment.run(True, keep=keep, chosen={**chosen, "iterations": "61"})  # others do not count
    assert asked[5:] == [0, 1, 2, 3]
    keep.write_text("{")
    with pytest.raises(sg.SubgameError, match="is not a log of a reproduction"):
        experiment.run(True, keep=keep, chosen=chosen)
    assert keep.read_text() == "{"
    with pytest.raises(sg.SubgameError, match="has no setting 'speed'"):
        experiment.run(True, chosen={"speed": "9"})
    with pytest.raises(sg.SubgameError, match="whole number"):
        experiment.run(True, chosen={"iterations": "many"})
    with pytest.raises(sg.SubgameError, match="subgames must be a whole number of at least 1"):
        experiment.run(True, chosen={"subgames": "0"})
