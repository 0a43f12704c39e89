"""Solves of any length never make a strategy worse: exploitability is computed exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import subgame as sg
from helpers import tree_of
from holdem_games import GAMES
from subgame.engines.factory import engine
from subgame.play.named import known_strategy
from subgame.play.searching import NestedAgent
from subgame.refine.accept import SHARES, Acceptance
from subgame.refine.gadgets import technique as technique_named
from subgame.refine.subgame import Subgame, Trunk, combine

SAFE = ("resolve", "maxmargin", "reach-maxmargin")
EXACT = 1e-9
BUDGETS = (1, 2, 5, 20)


def rises(before: sg.Strategy, after: sg.Strategy) -> list[float]:
    """For each seat: how much more a best response wins."""
    one, two = (sg.exploitability(s.tree, s).per_seat for s in (before, after))
    return [new - old for old, new in zip(one, two, strict=True)]


def whole(agent: NestedAgent, tree: sg.PublicTree) -> sg.Strategy:
    strategy = known_strategy(tree, agent)
    assert strategy is not None
    return strategy


@pytest.mark.parametrize("made_by", [5, 40])
@pytest.mark.parametrize("iterations", BUDGETS)
def test_an_agent_is_never_below_its_blueprint(iterations: int, made_by: int) -> None:
    tree = tree_of("leduc-ranks")
    blueprint = sg.solve(tree, iterations=made_by).strategy
    technique = SAFE[iterations % 3]
    options: dict[str, Any] = {
        "technique": technique,
        "iterations": iterations,
        "seconds": None,
    }
    careful = whole(NestedAgent(blueprint, **options), tree)
    assert max(rises(blueprint, careful)) <= EXACT
    if iterations < 5:  # and it takes care for that
        careless = whole(NestedAgent(blueprint, **options, allow_worse=True), tree)
        assert max(rises(blueprint, careless)) > 0.1


@pytest.mark.slow
def test_an_agent_of_holdem_is_never_below_its_blueprint() -> None:
    tree = sg.compile(GAMES["turn"], merge=False)
    blueprint = sg.solve(tree, iterations=30).strategy
    size = tree.precision * 100
    for iterations in (2, 20):
        agent = NestedAgent(blueprint, technique="maxmargin", iterations=iterations, seconds=None)
        assert max(rises(blueprint, whole(agent, tree))) <= size


def subgames_of(tree: sg.PublicTree, depth: int) -> list[Subgame]:
    try:
        return [s for s in sg.cut(tree, f"depth {depth}") if s.tree.num_infosets]
    except sg.SubgameError:
        return []


@pytest.mark.parametrize("iterations", BUDGETS)
def test_nested_solves_never_add_up_to_a_loss(iterations: int) -> None:
    """Every subgame at depth 1 is solved, then every one at depth 2 inside, and so on.

    Alternatives are those of the strategy as it then is.
    """
    improved = 0
    for seed in range(12):
        tree = tree_of(f"random(seed={seed})")
        blueprint = strategy = sg.Strategy.random(tree, seed=seed)
        gadget = technique_named(SAFE[seed % 2])
        for depth in (1, 2, 3):
            for subgame in subgames_of(tree, depth):
                for p in (0, 1):
                    strategy = solved_in(strategy, subgame, p, gadget, iterations)
            assert max(rises(blueprint, strategy)) <= EXACT, (seed, depth)
        improved += min(rises(blueprint, strategy)) < -1e-3
    assert improved > 3


def solved_in(
    strategy: sg.Strategy, subgame: Subgame, p: int, gadget: sg.Gadget, iterations: int
) -> sg.Strategy:
    """A strategy with as much of a short solve of a subgame as loses nothing."""
    trunk = Trunk(strategy, 1 - p)
    inputs, _ = trunk.inputs(subgame, gadget)
    if subgame.overlaps or not subgame.serves(p) or not (inputs.weight > 0).any():
        return strategy
    refined = sg.refine(
        strategy.tree,
        strategy,
        at=[subgame],
        player=p,
        technique=gadget,
        iterations=iterations,
        allow_worse=True,
    )
    before = subgame.restrict(strategy, p)
    check = Acceptance(gadget, inputs, engine(subgame.tree), before)
    sigma = check(refined.parts[0].sigma).sigma
    return combine(strategy, [(subgame, p, np.asarray(sigma))])


def test_refine_mixes_where_it_cannot_play_all() -> None:
    """Parts between the blueprint and what was found: no margin is below 0 there."""
    tree = tree_of("leduc-ranks")
    blueprint = sg.solve(tree, iterations=5).strategy
    refined = sg.refine(
        tree, blueprint, at="after the board card", technique="maxmargin", iterations=1
    )
    mixed = [part for part in refined.parts if 0 < part.share < 1]
    assert mixed
    for part in mixed:
        assert part.share in SHARES
        assert part.rejected is None
        assert part.margin >= -EXACT
    assert all(part.share == 0 for part in refined.kept)
    assert refined.after.mean < refined.before.mean


@pytest.mark.parametrize("game", ["leduc-ranks", "turn"])
def test_a_realisation_plan_is_read_back(game: str) -> None:
    """Mixed with itself a strategy stays what it is, on trees of both kinds."""
    tree = tree_of(game) if game != "turn" else sg.compile(GAMES["turn"], merge=False)
    run, sigma = engine(tree), sg.solve(tree, iterations=7).strategy.probs
    for p in (0, 1):
        plan = run.realisation(p, sigma[p], np.asarray(run.roots(p)))
        reached = np.asarray(run.behaviour(p, 0.3 * plan + 0.7 * plan))
        one, two = (
            run.respond(1 - p, run.plan(p, strategy)).roots for strategy in (sigma[p], reached)
        )
        assert np.allclose(one, two, atol=1e-5)
