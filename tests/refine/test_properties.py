"""What the theorems promise, on three hundred random games with random blueprints.

Every game is cut at a frontier of its own, and all subgames there are refined independently of each
other, for both players. `gap` is the NashConv of a gadget game as the solver left it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import subgame as sg
from helpers import oracle_of, profile_of, sequences_above, tree_of
from margin_program import Root, Sequence, largest_margin, root_of, root_values, worth
from subgame.engines.factory import engine
from subgame.games.base import TERMINAL
from subgame.refine.report import Part, Refinement
from subgame.refine.subgame import Subgame, Trunk, combine
from subgame.refine.verbs.refine import _safe_parts

SEEDS = range(300)
LP_SEEDS = [*range(0, 300, 9), 267]
"""In game 267 Reach-Maxmargin gives a gift back."""
SAFE = {"resolve": sg.Resolve(), "maxmargin": sg.Maxmargin(), "reach": sg.ReachMaxmargin()}
EXACT = 1e-7
TINY = 1e-9


def name_of(seed: int) -> str:
    return f"random(seed={seed})"


@cache
def subgames_of(seed: int) -> tuple[Subgame, ...]:
    """The subgames of one frontier: depth 1 to 4 in turn, or the next one where somebody acts."""
    tree = tree_of(name_of(seed))
    for k in range(4):
        subgames = cut(tree, 1 + (seed + k) % 4)
        if any(subgame.tree.num_infosets for subgame in subgames):
            return subgames
    return ()


def cut(tree: sg.PublicTree, depth: int) -> tuple[Subgame, ...]:
    """The subgames at a depth; a game may end before it."""
    try:
        return tuple(sg.cut(tree, f"depth {depth}"))
    except sg.SubgameError:
        return ()


def blueprint_of(seed: int) -> sg.Strategy:
    return sg.Strategy.random(tree_of(name_of(seed)), seed=seed)


def refined(seed: int, technique: sg.Gadget, **options: Any) -> Refinement:
    tree = tree_of(name_of(seed))
    subgames = list(subgames_of(seed))
    return sg.refine(tree, blueprint_of(seed), at=subgames, technique=technique, **options)


@cache
def exactly(seed: int, name: str) -> Refinement:
    """By linear program."""
    return refined(seed, SAFE[name], schedule="lp")


def rises(refinement: Refinement) -> list[float]:
    """For each seat: how much more a best response wins than against the blueprint."""
    pairs = zip(refinement.after.per_seat, refinement.before.per_seat, strict=True)
    return [after - before for after, before in pairs]


def of_player(refinement: Refinement, p: int) -> list[Part]:
    return [part for part in refinement.parts if part.player == p]


def test_every_game_has_subgames() -> None:
    """No game is left out below, and neither player."""
    sizes = [len(subgames_of(seed)) for seed in SEEDS]
    assert sum(size > 0 for size in sizes) == len(SEEDS) == 300
    assert sum(size > 1 for size in sizes) > 150
    parts = [
        sum(bool(s.tree.players[p].names) for seed in SEEDS for s in subgames_of(seed))
        for p in (0, 1)
    ]
    assert min(parts) > 500


# Safety -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAFE)
def test_safe_techniques_are_safe_exactly(name: str) -> None:
    """No root infoset gains more than its gift, and only Reach-Maxmargin gives gifts back.

    So the bound, which counts only what exceeds the gifts, is 0, and no blueprint has to be kept.
    """
    returned = 0.0
    for seed in LP_SEEDS:
        refinement = exactly(seed, name)
        assert max(rises(refinement)) <= EXACT, seed
        assert refinement.margin >= -EXACT, seed
        for part in refinement.parts:
            assert part.bound <= EXACT, seed
            assert part.rejected is None, seed
            returned += float(part.weight @ np.maximum(part.values - part.cbv, 0))
    assert (returned > 1e-2) == (name == "reach")


@pytest.mark.parametrize("name", SAFE)
def test_safe_techniques_are_safe_up_to_the_gap(name: str) -> None:
    """CFR+ stopped early breaks a promise by no more than it was away from solving the gadget.

    Resolve: what exceeds the CBVs, weighted, is at most the gap; parts add up. Maxmargin: each
    margin is within the gap of the best one, which is not negative; as the opponent comes to one
    root infoset in all, the largest gap of any part is enough.
    """
    for seed in SEEDS[list(SAFE).index(name) :: len(SAFE)]:
        refinement = refined(seed, SAFE[name], iterations=100, allow_worse=True)
        for p, rise in enumerate(rises(refinement)):
            gaps = [part.gap for part in of_player(refinement, p) if part.gap is not None]
            slack = sum(gaps) if name == "resolve" else max(gaps, default=0.0)
            assert rise <= slack + TINY, seed
        for part in refinement.parts:
            assert part.gap is not None
            assert part.gap >= -TINY
            if name == "resolve":
                assert part.bound <= part.gap + TINY, seed
            else:
                assert part.margin >= -part.gap - TINY, seed


@pytest.mark.parametrize("least", [0.0, 1e-12, 1e-6])
def test_blueprints_that_hardly_ever_come_somewhere(least: float) -> None:
    """Nearly pure blueprints: root infosets with tiny weights, or that are never reached at all."""
    for seed in range(0, 60, 9):
        tree = tree_of(name_of(seed))
        rng = np.random.default_rng(seed)
        weights = []
        for side in tree.players:
            row = np.full(side.num_sequences, least)
            for i in range(len(side.names)):
                row[rng.choice(side.sequences(i))] = 1.0
            weights.append(row)
        pure = sg.Strategy.from_weights(tree, tuple(weights))
        subgames = list(subgames_of(seed))
        for name, technique in SAFE.items():
            exact = sg.refine(tree, pure, at=subgames, technique=technique, schedule="lp")
            assert max(rises(exact)) <= EXACT, (seed, name)
            for part in exact.parts:
                assert part.gap is None or part.gap <= 2 * EXACT, (seed, name)
                assert np.isfinite(part.values).all()
                assert (part.gap is None) == (not part.weight.any())  # then the blueprint stays


PROMISED = [
    sg.Resolve(),
    sg.Maxmargin(),
    sg.ReachResolve(),
    sg.ReachMaxmargin(scale=0.5),
    sg.Resolve(refined=0.2),
    sg.Estimate(keep_safe=True),
]


@pytest.mark.parametrize("k", range(len(PROMISED)))
def test_a_safe_technique_is_never_worse_however_short_its_solve(k: int) -> None:
    """Some parts keep the blueprint, some do not; played all the same, they would be worse."""
    technique, kept, played, worse = PROMISED[k], 0, 0, 0.0
    assert technique.is_safe
    for seed, iterations in itertools.product(range(k, 300, 30), (2, 20)):
        refinement = refined(seed, technique, iterations=iterations)
        assert max(rises(refinement)) <= 1e-5, (seed, iterations)
        assert not refinement.is_worse
        for part in refinement.parts:
            same = np.array_equal(
                part.sigma, part.subgame.restrict(blueprint_of(seed), part.player)
            )
            assert same or part.rejected is None
            assert (part in refinement.kept) == (part.rejected is not None)
            played += not same
        kept += len(refinement.kept)
        risky = refined(seed, technique, iterations=iterations, allow_worse=True)
        assert not risky.kept
        assert risky.is_worse == (max(rises(risky)) > 1e-5)
        worse = max(worse, *rises(risky))
    assert kept > 3
    assert played > 3
    assert worse > 0.1


@pytest.mark.parametrize("technique", ["resolve", "maxmargin"])
@pytest.mark.parametrize("schedule", ["dcfr", "cfr+", "pdcfr+"])
def test_rounding_is_that_of_float64(technique: str, schedule: str) -> None:
    """Nothing can be gained on an equilibrium, and CFR loses a millionth: that is no rounding."""
    tree = tree_of("leduc-ranks")
    blueprint = sg.solve_lp(tree).strategy
    options: dict[str, Any] = {"technique": technique, "schedule": schedule, "iterations": 3000}
    result = sg.refine(tree, blueprint, at="after round 1", **options)
    assert max(rises(result)) <= 1e-9
    assert all(part.rounding < 1e-9 for part in result.parts)


def test_several_subgames_together() -> None:
    """Two parts that gain alone lose together; then one of them is not played.

    2017, Fig. 4: if both subgames pay more for Heads, Play is better than Sell.
    """
    tree = sg.compile(sg.games.load("coin-toss-two"))
    guess = {"Heads": 0.375, "Tails": 0.625}
    blueprint = sg.Strategy.from_table(
        tree, sg.Strategy.published(tree, "paper").table() | {"Play S1": guess, "Play S2": guess}
    )
    result = sg.refine(tree, blueprint, at=["Play S1", "Play S2"], player=1, schedule="lp")
    parts = []
    for part in result.parts:
        side, sigma = part.subgame.tree.players[1], part.sigma.copy()
        assert side.actions[0] == ("Heads", "Tails")
        sigma[side.sequences(0)] = (0, 1)
        parts.append(replace(part, sigma=sigma, values=np.array([1.0, -1.0])))

    def exploited(played: list[Part]) -> float:
        made = [(part.subgame, part.player, part.sigma) for part in played]
        return sg.exploitability(tree, combine(blueprint, made)).per_seat[1]

    assert result.before.per_seat[1] == pytest.approx(0.125)
    for part in parts:
        assert part.margin == -0.75
        assert exploited([part]) == pytest.approx(0.0625)
    assert exploited(parts) == pytest.approx(0.25)
    safe = _safe_parts(blueprint, parts, result.before, None)
    assert [part.rejected for part in safe] == [None, -0.75]
    assert exploited(safe) == pytest.approx(0.0625)


# Margins ----------------------------------------------------------------------------------------


def test_margins_are_the_optimum_of_lp3() -> None:
    """With and without gifts, against the linear program of `margin_program`."""
    count = 0
    for seed in LP_SEEDS:
        oracle, profile = oracle_of(name_of(seed)), profile_of(blueprint_of(seed))
        for name in ("maxmargin", "reach"):
            for part in exactly(seed, name).parts:
                root = root_of(oracle, part.subgame, profile, part.player)
                assert sorted(part.infosets) == sorted(root.weight)
                cbv = root_values(oracle, root, profile)
                for s, slot in enumerate(part.infosets):
                    assert part.weight[s] == pytest.approx(root.weight[slot], abs=1e-12)
                    assert part.cbv[s] == pytest.approx(cbv[slot], abs=1e-10)
                gifts = dict(zip(part.infosets, part.gifts.tolist(), strict=True))
                best = largest_margin(oracle, root, {s: v + gifts[s] for s, v in cbv.items()})
                assert part.margin == pytest.approx(best, abs=EXACT), seed
                count += 1
    assert count > 125


def response_reach(strategy: sg.Strategy, part: Part) -> NDArray[np.float64]:
    """[s] reach of a pure best response of the opponent at the root slots of a part."""
    tree, o = strategy.tree, 1 - part.player
    response = sg.best_response(tree, strategy, o).strategy
    plan: NDArray[np.float64] = engine(tree).plan(o, response.probs[o])
    return plan[sequences_above(part.subgame, o)]


def test_theorem_1_of_moravcik() -> None:
    """One subgame alone: exp(sigma') <= exp(sigma) - pi_-2(I) SM where a best response reaches I.

    And a sharper one for whatever margins: a best response that is followed down to the subgame,
    and then by a CBR to the blueprint, wins all its margins back.
    """
    reached = 0
    for seed in LP_SEEDS:
        refinement = exactly(seed, "maxmargin")
        tree, blueprint = tree_of(name_of(seed)), blueprint_of(seed)
        for part in refinement.parts:
            p = part.player
            combined = combine(blueprint, [(part.subgame, p, part.sigma)])
            before = refinement.before.per_seat[p]
            after = sg.exploitability(tree, combined).per_seat[p]
            reach = response_reach(combined, part)
            assert after <= before - reach @ (part.weight * part.margins) + TINY, seed
            for s in np.flatnonzero(reach):
                assert after <= before - part.weight[s] * part.margin + EXACT, seed
                reached += part.margin > 1e-3
    assert reached > 25


@cache
def with_gifts(seeds: range) -> list[tuple[int, int, list[Subgame]]]:
    """(seed, player, subgames) wherever the player's opponent left a gift on the way."""
    out = []
    for seed in seeds:
        tree, blueprint = tree_of(name_of(seed)), blueprint_of(seed)
        for depth in (4, 5):  # a random game goes on for four events at least
            subgames = list(cut(tree, depth))
            for p in (0, 1):
                trunk = Trunk(blueprint, 1 - p)
                inside = [s for s in subgames if s.tree.players[p].names]
                if any((trunk.inputs(s, sg.ReachMaxmargin())[1] > 1e-6).any() for s in inside):
                    out.append((seed, p, subgames))
    return out


def test_theorem_1_of_brown_and_sandholm() -> None:
    """exp(sigma') <= exp(sigma^-S) - pi_-1(I) M_r(I) where a best response to sigma' reaches I.

    sigma' has all subgames refined by Reach-Maxmargin, sigma^-S all but S.
    """
    cases = with_gifts(range(0, 300, 4))
    assert len(cases) > 20
    reached = 0
    for seed, p, subgames in cases[:12]:
        tree, blueprint = tree_of(name_of(seed)), blueprint_of(seed)
        both = [
            sg.refine(tree, blueprint, at=subgames, technique=name, schedule="lp", player=p)
            for name in ("reach-maxmargin", "maxmargin")
        ]
        after = both[0].after.per_seat[p]
        assert after <= both[0].before.per_seat[p] + EXACT, seed
        for part, other in zip(both[0].parts, both[1].parts, strict=True):
            assert part.margin >= other.margin - EXACT  # "larger than or equal to" Maxmargin's
            old = part.subgame.restrict(blueprint, p)
            without = combine(both[0].strategy, [(part.subgame, p, old)])
            reach = response_reach(both[0].strategy, part)
            most = sg.exploitability(tree, without).per_seat[p]
            for s in np.flatnonzero(reach):
                assert after <= most - part.weight[s] * part.margins[s] + EXACT, seed
                reached += part.margins[s] > 1e-3
    assert reached > 5


# Gifts ------------------------------------------------------------------------------------------


def whole_game(tree: sg.PublicTree) -> Subgame:
    return sg.cut(tree, 0)[0]


def gifts_by_hand(seed: int, o: int) -> dict[Sequence, tuple[float, float]]:
    """For each action of o: the gift (2017, Sec. 5), not normalised, and pi_-o of its infoset."""
    tree, oracle = tree_of(name_of(seed)), oracle_of(name_of(seed))
    profile = profile_of(blueprint_of(seed))
    cbv = worth(oracle, root_of(oracle, whole_game(tree), profile, 1 - o), profile)
    reach = oracle.counterfactual_reach(profile, o)
    out: dict[Sequence, tuple[float, float]] = {}
    for infoset, nodes in oracle.histories[o].items():
        ending = [
            action
            for action in oracle.infosets[o][infoset]
            if all(node.children[action].player == TERMINAL for node in nodes)
        ]
        for action in oracle.infosets[o][infoset]:
            best = max(cbv[infoset, a] for a in {*ending, action})
            out[infoset, action] = best - cbv[infoset, action], reach[infoset]
    return out


def taken(roots: list[Root], at: Sequence, share: float) -> float:
    """How much the slots below a sequence can take if each gains `share`: o takes the best way."""
    below: dict[str, dict[Sequence, float]] = defaultdict(dict)
    total = 0.0
    for root in roots:
        for slot, above in root.above.items():
            if at in above:
                k = above.index(at)
                if k == len(above) - 1:
                    total += root.weight[slot] * share
                else:
                    below[above[k + 1][0]][above[k + 1]] = 0.0
    for actions in below.values():
        total += max(taken(roots, action, share) for action in actions)
    return total


def test_gifts_and_their_division() -> None:
    """Gifts agree with a count by hand, and all slots together never take more than was given."""
    positive = several = 0
    for seed, p, subgames in with_gifts(range(0, 300, 4)):
        oracle, blueprint = oracle_of(name_of(seed)), blueprint_of(seed)
        gifts, profile, o = gifts_by_hand(seed, 1 - p), profile_of(blueprint), 1 - p
        roots = [root_of(oracle, subgame, profile, p) for subgame in subgames]
        for technique in (sg.ReachMaxmargin(), sg.ReachMaxmargin(split=False)):
            trunk = Trunk(blueprint, o)
            for subgame, root in zip(subgames, roots, strict=True):
                weight = trunk.inputs(subgame, technique)[0].weight
                result = subgame.gifts(trunk, technique, weight)
                slots = subgame.tree.players[o].slots
                for slot, gift in zip(slots, result.tolist(), strict=True):
                    wanted = 0.0
                    for sequence in root.above[slot]:
                        arguments, reach = gifts[sequence]
                        wanted += arguments / (reach if technique.split else root.weight[slot])
                    assert gift == pytest.approx(wanted, abs=1e-9), (seed, slot)
                    positive += technique.split and gift > 1e-6
        for sequence, (arguments, reach) in gifts.items():
            if arguments > 1e-9:
                assert taken(roots, sequence, arguments / reach) <= arguments + 1e-12, (
                    seed,
                    sequence,
                )
                ways = sum(sequence in above for root in roots for above in root.above.values())
                several += ways > 1
    assert positive > 100
    assert several > 20


def test_gifts_scaled_up_break_safety() -> None:
    """Appendix F: "scaling up gifts ... may also lead to far worse performance in some cases".

    A pinned example; not split, no example was found in a thousand random games, so that one is
    made by hand in `test_brown_2017`.
    """
    seed, p = 139, 1
    tree, blueprint = tree_of(name_of(seed)), blueprint_of(seed)
    for schedule in ("lp", "cfr+"):
        result = [
            sg.refine(
                tree,
                blueprint,
                at="depth 5",
                technique=sg.ReachMaxmargin(scale=scale),
                schedule=schedule,
                player=p,
            )
            for scale in (1, 100)
        ]
        assert rises(result[0])[p] <= 1e-3
        assert 1.0 < rises(result[1])[p] <= sum(part.bound for part in result[1].parts) + TINY
        # The gadget's own conditions hold; but the gifts were not there to be given back.
        assert result[1].margin >= -max(part.gap or 0.0 for part in result[1].parts) - TINY
        assert "no more than before" in result[0].text()
        assert "gifts are multiplied by 100" in result[1].text()
        assert result[1].is_worse
        assert not result[1].technique.is_safe


@pytest.mark.parametrize(("seed", "p"), [(1, 0), (4, 0), (36, 1)])
def test_unsafe_is_not_safe(seed: int, p: int) -> None:
    """Pinned examples where endgame solving loses a lot, by either solver."""
    tree, blueprint = tree_of(name_of(seed)), blueprint_of(seed)
    for schedule in ("lp", "cfr+"):
        unsafe, safe = (
            sg.refine(tree, blueprint, at="depth 2", technique=name, schedule=schedule, player=p)
            for name in ("unsafe", "maxmargin")
        )
        assert rises(unsafe)[p] > 3
        assert unsafe.margin < -1
        assert rises(safe)[p] <= 1e-2


# The bound --------------------------------------------------------------------------------------

ALL = [
    sg.Unsafe(),
    sg.Resolve(),
    sg.Resolve(refined=0.1),
    sg.Maxmargin(),
    sg.ReachResolve(),
    sg.ReachResolve(split=False, scale=50),
    sg.ReachMaxmargin(split=False, scale=50),
    sg.Estimate(),
    sg.Estimate(sg.Maxmargin()),
    sg.Estimate(keep_safe=True),
    sg.Distributional("respond"),
    sg.Distributional("hedge"),
    sg.ReachEstimateDistributional(),
]


@pytest.mark.parametrize("k", range(len(ALL)), ids=[gadget.name for gadget in ALL])
def test_the_bound_bounds(k: int) -> None:
    """Whatever the technique, and however badly solved: exploitability grows by no more.

    After two iterations every technique makes some blueprint more exploitable, and in some game
    by more than half of the bound: so a bound that is too small or too large is noticed.
    """
    shares = []
    for seed, iterations in itertools.product(range(k, 300, 25), (2, 20)):
        refinement = refined(seed, ALL[k], iterations=iterations, allow_worse=True)
        for p, rise in enumerate(rises(refinement)):
            bound = sum(part.bound for part in of_player(refinement, p))
            assert rise <= bound + TINY, (seed, iterations)
            if rise > 1e-6:
                shares.append(rise / bound)
        grown = refinement.after.mean - refinement.before.mean
        assert grown <= refinement.bound + TINY, (seed, iterations)
    assert len(shares) >= 3
    assert max(shares) > 0.5
