"""Burch, Johanson & Bowling 2014, "Solving Imperfect Information Games Using Decomposition".

Theorem 1, the re-solving game of Fig. 2 and the example of rock-paper-scissors. CFR-D is tested
elsewhere.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

import subgame as sg
from helpers import oracle_of, profile_of, sequences_above, tree_of
from margin_program import root_of, root_values
from subgame.engines.factory import engine
from subgame.refine.sequence.subgames import SequenceSubgame, gadget_form
from subgame.refine.subgame import Subgame, Trunk, combine
from subgame.solve.evaluate import expected_value
from subgame.tree.sequence.form import assemble

EXACT = 1e-9
SEEDS = range(60)


def subgames_of(name: str, at: str) -> list[Subgame]:
    return [s for s in sg.cut(tree_of(name), at) if s.tree.num_infosets]


# Rock-paper-scissors ----------------------------------------------------------------------------


def always(action: str) -> dict[str, dict[str, float]]:
    row = {a: float(a == action) for a in ("Rock", "Paper", "Scissors")}
    return {"P2 to move": row}


def test_rock_paper_scissors() -> None:
    """Fig. 1: the subgame has one infoset of player two and three augmented ones of player one."""
    tree = tree_of("rps")
    (subgame,) = subgames_of("rps", "depth 1")
    assert len(subgame.tree.players[0].slots) == 3
    assert len(subgame.tree.players[1].slots) == 1
    assert [len(side.names) for side in subgame.tree.players] == [0, 1]

    equilibrium = sg.Strategy.uniform(tree)
    for schedule in ("lp", "cfr+"):
        refined = sg.refine(tree, equilibrium, at="depth 1", technique="resolve", schedule=schedule)
        (part,) = refined.parts
        np.testing.assert_allclose(part.alternatives, [0, 0, 0], atol=EXACT)
        # Values of at most 0 at all three leave player two no choice.
        for probability in refined.strategy["P2 to move"].values():
            assert probability == pytest.approx(1 / 3, abs=1e-3)
        assert refined.after.mean == pytest.approx(0, abs=1e-3)


def test_rock_solves_the_subgame_alone_but_not_the_game() -> None:
    """ "When player two always played rock ... the values for R, P and S were 0, 1, and -1"."""
    tree = tree_of("rps")
    (subgame,) = subgames_of("rps", "depth 1")
    uniform = sg.Strategy.uniform(tree)
    rock = sg.Strategy.from_table(tree, uniform.table() | always("Rock"))
    run = engine(subgame.tree)
    values = run.respond(0, run.plan(1, subgame.restrict(rock, 1))).roots[0]
    wanted = {"Rock": 0, "Paper": 1, "Scissors": -1}
    for slot, value in zip(subgame.tree.players[0].slots, values.tolist(), strict=True):
        assert value == wanted[slot.split(",")[0]]
    # Against the fixed trunk, every strategy is as good as another: Unsafe accepts them all.
    unsafe = sg.refine(tree, uniform, at="depth 1", technique="unsafe", schedule="lp").parts[0]
    assert unsafe.gap == pytest.approx(0, abs=EXACT)
    assert expected_value(tree, rock) == pytest.approx(0, abs=EXACT)
    assert sg.exploitability(tree, rock).per_seat[1] == pytest.approx(1, abs=EXACT)


# Theorem 1 --------------------------------------------------------------------------------------


def test_theorem_1() -> None:
    """Values at the root that do not rise leave exploitability where it was, or lower.

    The other way round: wherever a random replacement is more exploitable, some value rose. And
    by no more than the sum of what rose, as the opponent's reach of a root infoset is at most one.
    """
    rose = fell = 0
    for seed in SEEDS:
        name = f"random(seed={seed})"
        tree = tree_of(name)
        blueprint, other = (sg.Strategy.random(tree, seed=s) for s in (seed, seed + 1000))
        before = sg.exploitability(tree, blueprint).per_seat
        for subgame in subgames_of(name, f"depth {2 + seed % 3}"):
            for p in (0, 1):
                run, o = engine(subgame.tree), 1 - p
                reach = engine(tree).plan(p, blueprint.probs[p])[sequences_above(subgame, p)]
                slots = [
                    run.respond(o, run.plan(p, subgame.restrict(strategy, p), reach)).roots[0]
                    for strategy in (blueprint, other)
                ]
                combined = combine(blueprint, [(subgame, p, subgame.restrict(other, p))])
                after = sg.exploitability(tree, combined).per_seat[p]
                more = float(np.maximum(slots[1] - slots[0], 0).sum())
                assert after <= before[p] + more + EXACT
                if after > before[p] + EXACT:
                    assert (slots[1] > slots[0]).any()
                    rose += 1
                fell += after < before[p] - EXACT
    assert rose > 20
    assert fell > 20


@cache
def exact(name: str) -> sg.Strategy:
    return sg.solve_lp(tree_of(name)).strategy


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("kuhn", "depth 1"),
        ("kuhn", "depth 2"),
        ("leduc", "after round 1"),
        ("liars-dice(dice=1, faces=3)", "after the first bid"),
        ("goofspiel(cards=3)", "depth 2"),
        ("coin-toss", "Play"),
        ("coin-toss-two", "after Play"),
        *((f"random(seed={seed})", "depth 2") for seed in range(5)),
    ],
)
@pytest.mark.parametrize("technique", ["resolve", "maxmargin", "reach-resolve", "reach-maxmargin"])
def test_an_equilibrium_stays_one(name: str, at: str, technique: str) -> None:
    """ "Let's say we started with an equilibrium, and then discarded" it in the subgame."""
    tree = tree_of(name)
    equilibrium = exact(name)
    refined = sg.refine(tree, equilibrium, at=at, technique=technique, schedule="lp")
    assert refined.parts
    assert refined.before.mean < 1e-8
    assert refined.after.mean < 1e-7
    rough = sg.refine(tree, equilibrium, at=at, technique=technique, iterations=200)
    assert rough.after.mean <= refined.before.mean + rough.bound + EXACT
    assert rough.after.mean <= sum(part.gap or 0 for part in rough.parts) / 2 + 1e-8


# Units ------------------------------------------------------------------------------------------


def own_gadget(
    blueprint: sg.Strategy, subgame: Subgame, p: int, gadget: sg.Gadget
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """What player p's opponent can win in the gadget if p plays the blueprint; weights, CBVs."""
    inputs, _ = Trunk(blueprint, 1 - p).inputs(subgame, gadget)
    assert isinstance(subgame, SequenceSubgame)
    tree = assemble(gadget_form(gadget, subgame.form, inputs))
    table = {
        name: blueprint.row(p, blueprint.tree.players[p].index[name])
        for name in subgame.tree.players[p].names
    }
    strategy = sg.Strategy.from_table(tree, table)
    return sg.exploitability(tree, strategy).per_seat[p], inputs.weight, inputs.cbv


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("kuhn", "depth 1"),
        ("leduc", "after round 1"),
        ("liars-dice(dice=1, faces=3)", "depth 2"),
        *((f"random(seed={seed})", f"depth {1 + seed % 3}") for seed in range(20)),
    ],
)
def test_the_blueprint_has_margin_zero_in_its_own_gadgets(name: str, at: str) -> None:
    """ "For any I, u(I . T) = v(I), the original counterfactual best response value of I".

    In units of the whole game (Burch et al.) behind the door of Resolve, normalised behind that of
    Maxmargin; for both players.
    """
    tree, blueprint = tree_of(name), sg.Strategy.random(tree_of(name), seed=7)
    oracle, profile = oracle_of(name), profile_of(blueprint)
    for subgame in subgames_of(name, at):
        for p in (0, 1):
            if not subgame.tree.players[p].names:
                continue
            root = root_of(oracle, subgame, profile, p)
            values = root_values(oracle, root, profile)
            won, weight, cbv = own_gadget(blueprint, subgame, p, sg.Resolve())
            slots = subgame.tree.players[1 - p].slots
            np.testing.assert_allclose(weight, [root.weight[s] for s in slots], atol=1e-12)
            np.testing.assert_allclose(cbv, [values[s] for s in slots], atol=1e-12)
            assert won == pytest.approx(weight @ cbv, abs=1e-12)
            won, _, _ = own_gadget(blueprint, subgame, p, sg.Maxmargin())
            assert won == pytest.approx(0, abs=1e-12)
            # Where the opponent acts at the top, the judge of the whole game says the same.
            judge = sg.best_response(tree, blueprint, 1 - p).values
            for s, slot in enumerate(slots):
                if slot in judge and slot in subgame.tree.players[1 - p].index:
                    assert judge[slot].counterfactual == pytest.approx(
                        weight[s] * cbv[s], abs=1e-12
                    )
                    assert judge[slot].normalised == pytest.approx(cbv[s], abs=1e-10)
