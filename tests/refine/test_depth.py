"""Depth-limited solving: multi-valued states, continuations, leaf values, Proposition 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import subgame as sg
from helpers import depth_limited, profile_of, tree_of
from subgame.engines.factory import engine
from subgame.refine.behind import Technique, solve_gadget
from subgame.refine.continuations import Continuations
from subgame.refine.continuations import biased as biased_continuations
from subgame.refine.gadgets import technique
from subgame.refine.limit import LeafValues
from subgame.refine.sequence.continuations import all_pure
from subgame.refine.sequence.leaves import Leaf, Rollouts
from subgame.refine.sequence.limit import DepthLimited
from subgame.refine.sequence.programs import best_completion
from subgame.refine.sequence.subgames import sequence_subgames
from subgame.refine.subgame import Trunk
from subgame.refine.verbs.depth import LimitedSolution
from subgame.solve.evaluate import expected_value
from subgame.solve.program import constraints, maximin
from subgame.solve.results import Result
from subgame.solve.solver import Limits

ROUND, CARD = "after round 1", "after the board card"
AT = "P2 to move"
MIXED = {"Rock": 0.4, "Paper": 0.4, "Scissors": 0.2}


@cache
def equilibrium(name: str) -> Result:
    return sg.solve_lp(tree_of(name))


@cache
def rough(name: str, iterations: int) -> sg.Strategy:
    return sg.solve(tree_of(name), "cfr+", iterations=iterations).strategy


def guaranteed(name: str, strategy: sg.Strategy, player: int) -> float:
    """What a strategy gets at least, less what an equilibrium would: 0 or below."""
    value = equilibrium(name).value * (1 - 2 * player)
    return -sg.exploitability(tree_of(name), strategy).per_seat[player] - value


# RPS+ (2018, Sec. 2) -------------------------------------------------------------------------
def test_rps_plus_with_equilibrium_values_alone_is_indifferent() -> None:
    tree = tree_of("rps-plus")
    limited = depth_limited(tree, sg.Strategy.published(tree, "equilibrium"), at=AT)
    assert [len(player.names) for player in limited.players] == [1, 0]  # nothing to choose
    np.testing.assert_allclose(np.concatenate([v.value for v in limited.values]), 0, atol=1e-15)
    for move in MIXED:  # whatever P1 does is an equilibrium of this tree, and loses in the game
        pure = sg.Strategy.from_table(limited, {"P1 to move": {move: 1}})
        assert sg.exploitability(limited, pure).per_seat == pytest.approx((0, 0), abs=1e-15)
        assert sg.exploitability(tree, limited.complete(pure)).per_seat[0] >= 1


@pytest.mark.parametrize("way", ["all pure", "biased", "self-generated"])
def test_rps_plus_with_many_values_is_solved(way: str) -> None:
    """The optimum makes P2's three moves equal: -p + 2s = r - 2s = -2r + 2p = 0, hence 2 : 2 : 1.

    It is the only one, so any solver must find it.
    """
    tree = tree_of("rps-plus")
    blueprint = sg.Strategy.published(tree, "equilibrium")
    theirs = {
        "all pure": lambda: all_pure(tree, at=AT, player=1),
        "biased": lambda: biased_continuations(blueprint, 1),
        "self-generated": lambda: sg.self_generated(tree, blueprint, at=AT),
    }[way]()
    assert len(theirs) == (3 if way == "all pure" else 4)
    limited = depth_limited(sg.games.load("rps-plus"), blueprint, at=AT, continuations=theirs)
    solved = sg.solve_limited(limited)
    assert solved.strategy["P1 to move"] == pytest.approx(MIXED, abs=1e-9)
    assert solved.result.value == pytest.approx(0, abs=1e-12)
    by_cfr = sg.solve_limited(limited, schedule="cfr+", iterations=3000).strategy["P1 to move"]
    assert by_cfr == pytest.approx(MIXED, abs=2e-3)
    if len(theirs) > 3:  # one continuation fewer is not enough
        fewer = depth_limited(tree, blueprint, at=AT, continuations=theirs[:3])
        assert guaranteed("rps-plus", sg.solve_limited(fewer).strategy, 0) < -0.1


# Proposition 1 -------------------------------------------------------------------------------
EXACT = [
    ("kuhn", ("p", "b"), 0),
    ("kuhn", ("pb",), 0),
    ("kuhn", ("pb",), 1),
    ("leduc", CARD, 0),
    ("leduc", CARD, 1),
    ("leduc-ranks", CARD, 0),
    ("liars-dice(dice=1, faces=3)", "depth 4", 0),
    ("liars-dice(dice=1, faces=3)", "depth 4", 1),
    ("goofspiel(cards=3)", "after trick 1", 0),
    ("coin-toss", "Play", 0),
]


@pytest.mark.parametrize(("name", "at", "player"), EXACT)
def test_proposition_1(name: str, at: str | tuple[str, ...], player: int) -> None:
    """All pure continuations, our equilibrium below: the trunk is part of an equilibrium."""
    tree, whole = tree_of(name), equilibrium(name)
    theirs = all_pure(tree, at=at, player=1 - player)
    limited = depth_limited(tree, whole.strategy, at=at, player=player, continuations=theirs)
    solved = sg.solve_limited(limited)
    assert solved.result.value == pytest.approx(whole.value, abs=1e-9)
    assert guaranteed(name, solved.strategy, player) == pytest.approx(0, abs=1e-8)
    best = best_completion(tree, solved.strategy, at=at, player=player)
    assert best.value == pytest.approx(whole.value * (1 - 2 * player), abs=1e-8)
    assert guaranteed(name, best.strategy, player) == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("seed", range(60))
def test_proposition_1_on_random_games(seed: int) -> None:
    name, player = f"random(seed={seed}, public={seed % 3 > 0})", seed % 2
    tree, whole = tree_of(name), equilibrium(name)
    subgames = sg.cut(tree, "depth 2" if seed % 4 > 1 else "depth 3")
    theirs = all_pure(tree, at=subgames, player=1 - player)
    limited = depth_limited(tree, whole.strategy, at=subgames, player=player, continuations=theirs)
    solved = sg.solve_limited(limited)
    assert solved.result.value == pytest.approx(whole.value, abs=1e-8)
    assert guaranteed(name, solved.strategy, player) == pytest.approx(0, abs=1e-7)


def some_optimum(limited: DepthLimited, player: int, seed: int) -> sg.Strategy:
    """A random one of the many optimal strategies of a player in a limited tree, completed."""
    size, reach = limited.players[player].num_sequences, limited.players[1 - player].reach
    parts, prefer = constraints(limited, player), np.random.default_rng(seed).uniform(0, 1e-5, size)
    plan = maximin("", parts, reach, (np.zeros(size), np.ones(size)), prefer=prefer).x[:size]
    sides = list(sg.Strategy.uniform(limited).probs)
    sides[player] = engine(limited).behaviour(player, np.maximum(plan, 0))
    return limited.complete(sg.Strategy(limited, (sides[0], sides[1])))


def test_one_value_is_not_enough() -> None:
    """What the two tests above would see if the opponent could not adapt.

    The limited tree has many optima. Some of them lose in the game.
    """
    lost = 0
    for seed in range(20):
        name, player = f"random(seed={seed})", seed % 2
        tree, subgames = tree_of(name), sg.cut(tree_of(name), "depth 3")
        limited = depth_limited(tree, equilibrium(name).strategy, at=subgames, player=player)
        result = sg.solve_limited(limited)
        assert result.result.value == pytest.approx(equilibrium(name).value, abs=1e-8)
        for draw in range(3):
            some = some_optimum(limited, player, draw)
            best = best_completion(tree, some, at=subgames, player=player)
            lost += best.value < equilibrium(name).value * (1 - 2 * player) - 1e-3
    assert lost >= 4
    for name, at in (("kuhn", ("p", "b")), ("leduc", CARD)):
        limited = depth_limited(tree_of(name), equilibrium(name).strategy, at=at)
        worst = min(guaranteed(name, some_optimum(limited, 0, draw), 0) for draw in range(10))
        assert worst < -0.1


@pytest.mark.parametrize("gadget", ["resolve", "maxmargin", "reach-maxmargin"])
def test_proposition_1_in_a_subgame(gadget: str) -> None:
    """The root constraint keeps a depth-limited subgame solution safe, hence exact."""
    name = "leduc-ranks"
    tree, whole = tree_of(name), equilibrium(name)
    leaves = sg.cut(tree, CARD)
    for player in (0, 1):
        theirs = all_pure(tree, at=leaves, player=1 - player)
        for within in sequence_subgames(tree, ["r", "cr"]):
            limited = depth_limited(
                tree, whole.strategy, at=leaves, player=player, continuations=theirs, within=within
            )
            assert limited.within is within
            solved = sg.solve_limited(limited, technique=gadget)
            assert guaranteed(name, solved.strategy, player) == pytest.approx(0, abs=1e-7)


def test_one_value_is_not_safe() -> None:
    """Nor is the root constraint enough if the opponent cannot adapt below the limit."""
    name = "leduc-ranks"
    tree, whole = tree_of(name), equilibrium(name)
    worst = 0.0
    for within in sequence_subgames(tree, ["r", "cr"]):
        limited = depth_limited(tree, whole.strategy, at=CARD, player=1, within=within)
        solved = sg.solve_limited(limited, technique="resolve")
        worst = min(worst, guaranteed(name, solved.strategy, 1))
    assert worst < -0.1


@pytest.mark.parametrize("seed", range(20))
def test_proposition_1_in_subgames_of_random_games(seed: int) -> None:
    name, player = f"random(seed={seed})", seed % 2
    tree, whole = tree_of(name), equilibrium(name)
    leaves = sg.cut(tree, "depth 4")
    theirs = all_pure(tree, at=leaves, player=1 - player)
    for within in sequence_subgames(tree, "depth 1"):
        limited = depth_limited(
            tree, whole.strategy, at=leaves, player=player, continuations=theirs, within=within
        )
        for gadget in ("resolve", "maxmargin"):
            solved = sg.solve_limited(limited, technique=gadget)
            assert guaranteed(name, solved.strategy, player) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("gadget", ["unsafe", "resolve", "maxmargin", "estimate-maxmargin"])
@pytest.mark.parametrize("seed", [0, 3, 8])
def test_all_pure_for_both_is_no_limit_at_all(gadget: str, seed: int) -> None:
    """Gadget games on the limited and on the whole subgame have one value, for any blueprint."""
    tree = tree_of(f"random(seed={seed})")
    blueprint = sg.Strategy.random(tree, seed)
    leaves = sg.cut(tree, "depth 4")
    own, theirs = (all_pure(tree, at=leaves, player=p) for p in (0, 1))
    for within in sequence_subgames(tree, "depth 2")[:2]:
        limited = depth_limited(
            tree, blueprint, at=leaves, continuations=theirs, own=own, within=within
        )
        result = sg.solve_limited(limited, technique=gadget).result
        used = technique(gadget)
        trunk = Trunk(blueprint, 1)
        estimate = trunk.value_of(within, blueprint) if used.estimate else None
        inputs, _ = trunk.inputs(within, used, estimate)
        whole = solve_gadget(Technique(used, "lp", Limits()), within, inputs).result
        assert result.value == pytest.approx(whole.value, abs=1e-8)
        if gadget == "maxmargin":  # carried alternatives a tenth higher are a margin a tenth larger
            higher = inputs.alternative + 0.1
            carried = sg.solve_limited(limited, technique=gadget, alternatives=higher).result
            assert carried.value == pytest.approx(result.value + 0.1, abs=1e-8)


# The tree ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("kuhn", ("p", "b")),
        ("leduc-ranks", ROUND),
        ("leduc-ranks", CARD),
        ("goofspiel(cards=3)", "after trick 1"),
        ("liars-dice(dice=1, faces=3)", "depth 2"),
        ("random(seed=5)", "depth 3"),
        ("random(seed=11, public=False)", "depth 2"),
    ],
)
def test_choosing_is_playing(name: str, at: str) -> None:
    """What choices are worth at the limit is what the mixtures are worth in the whole game."""
    tree = tree_of(name)
    blueprint, *others = (sg.Strategy.random(tree, seed) for seed in range(4))
    own, theirs = (Continuations.of([blueprint, *others], p) for p in (0, 1))
    for player, mine, yours in (
        (0, None, theirs),
        (0, own, theirs),
        (1, None, own),
        (1, theirs, own),
    ):
        limited = depth_limited(
            tree, blueprint, at=at, player=player, continuations=yours, own=mine
        )
        for seed in range(3):
            strategy = sg.Strategy.random(limited, seed)
            value = expected_value(tree, limited.complete(strategy))
            assert expected_value(limited, strategy) == pytest.approx(value, abs=1e-12)
        # A best response that may only choose is a best response that may do less.
        whole = sg.exploitability(tree, limited.complete(strategy)).per_seat
        for win, most in zip(sg.exploitability(limited, strategy).per_seat, whole, strict=True):
            assert win <= most + 1e-12


@pytest.mark.parametrize("schedule", ["cfr", "lcfr", "dcfr", "pcfr+", "mccfr(sampling=public)"])
def test_every_schedule_solves_it(schedule: str) -> None:
    tree, blueprint = tree_of("leduc-ranks"), rough("leduc-ranks", 100)
    limited = depth_limited(
        tree, blueprint, at=ROUND, continuations=biased_continuations(blueprint, 1)
    )
    exact = sg.solve_limited(limited).result.value
    solved = sg.solve(limited, schedule, iterations=3000)
    assert solved.exploitability < (0.3 if schedule.startswith("mccfr") else 0.03)
    assert solved.value == pytest.approx(exact, abs=0.3 if schedule.startswith("mccfr") else 0.03)


def test_the_limit_makes_the_tree_small() -> None:
    tree, blueprint = tree_of("leduc"), rough("leduc", 20)
    limited = depth_limited(
        tree, blueprint, at=ROUND, continuations=biased_continuations(blueprint, 1)
    )
    assert isinstance(limited, sg.PublicTree)
    assert limited.num_infosets < tree.num_infosets / 10
    assert limited.num_nodes == 1 + len({n.split("/")[0] for n in tree.node_names} - {""})
    choice = limited.players[1].index["Ks:crc · continuation"]
    assert limited.players[1].actions[choice] == ("blueprint", "10 x c", "10 x r", "10 x f")


def test_equal_continuations_are_offered_once() -> None:
    tree = tree_of("kuhn")
    blueprint = sg.Strategy.from_table(tree, {"Kb": {"b": 1}, "Jb": {"p": 1}})
    limited = depth_limited(
        tree, blueprint, at="b", continuations=biased_continuations(blueprint, 1)
    )
    assert list(limited.players[1].names[-1:]) == ["Qb · continuation"]
    assert not {"Kb · continuation", "Jb · continuation"} & set(limited.players[1].names)


# Continuations -------------------------------------------------------------------------------
def test_biased_multiplies_and_normalises() -> None:
    tree = tree_of("leduc")
    blueprint = sg.Strategy.random(tree, 3)
    kinds = {"f": "fold", "c": "call", "r": "raise"}
    theirs = biased_continuations(blueprint, 1, classes=kinds, factor=5)
    assert set(theirs.names) == {"blueprint", "5 x fold", "5 x call", "5 x raise"}
    fold = sg.Strategy(tree, (blueprint.probs[0], theirs.probs[theirs.names.index("5 x fold")]))
    before, after = blueprint["Js:r"], fold["Js:r"]
    total = 5 * before["f"] + before["c"] + before["r"]
    assert after["f"] == pytest.approx(5 * before["f"] / total)
    assert after["r"] == pytest.approx(before["r"] / total)
    assert fold["Js:c"] == pytest.approx(blueprint["Js:c"])  # nothing to fold to
    assert biased_continuations(blueprint, 1, classes=lambda a: kinds[a] * (a == "r")).names == (
        "blueprint",
        "10 x raise",
    )


def test_all_pure_counts() -> None:
    """Player 1 of Leduc after the card: 3 ways after a check, 3 after a raise; player 0: 3 + 2."""
    tree = tree_of("leduc-ranks")
    assert len(all_pure(tree, at=CARD, player=1)) == 9
    assert len(all_pure(tree, at=CARD, player=0)) == 5
    assert len(all_pure(tree, at=ROUND, player=1)) == 9**3
    with pytest.raises(sg.SubgameError, match="more than the limit of 100"):
        all_pure(tree, at=ROUND, player=1, limit=100)


@pytest.mark.parametrize("player", [0, 1])
def test_more_values_are_better_on_leduc(player: int) -> None:
    """Bias and self-play: what the trunk loses at best falls with K, as in 2018, Fig. 2."""
    name = "leduc-ranks"
    tree, blueprint = tree_of(name), rough(name, 1000)
    subgames = sg.cut(tree, ROUND)
    value = equilibrium(name).value * (1 - 2 * player)

    def loss(solved: LimitedSolution) -> float:
        best = best_completion(tree, solved.strategy, at=subgames, player=player)
        assert best.value >= -sg.exploitability(tree, solved.strategy).per_seat[player] - 1e-9
        return value - best.value

    theirs, biased = biased_continuations(blueprint, 1 - player), []
    for count in range(1, len(theirs) + 1):
        limited = depth_limited(
            tree, blueprint, at=subgames, player=player, continuations=theirs[:count]
        )
        biased.append(sg.solve_limited(limited))
    grown: list[LimitedSolution] = []
    kept = sg.self_generated(
        tree, blueprint, at=subgames, player=player, count=8, watch=grown.append
    )
    assert len(kept) == len(grown) <= 8
    for solved in (biased, grown):
        worth = [solution.result.value * (1 - 2 * player) for solution in solved]
        assert np.all(np.diff(worth) < 1e-9)  # more choices never hurt the opponent
        assert loss(solved[0]) > 0.01
        assert loss(solved[-1]) < 0.05 * loss(solved[0])
        assert loss(solved[-1]) < sg.exploitability(tree, blueprint) * 2


def test_self_generated_ends_where_nothing_is_new() -> None:
    tree, blueprint = tree_of("leduc-ranks"), rough("leduc-ranks", 20)
    for weaken in (False, True):
        seen: list[LimitedSolution] = []
        theirs = sg.self_generated(
            tree, blueprint, at=ROUND, count=40, weaken=weaken, watch=seen.append
        )
        assert len(theirs) == len(seen) < 40
        last = seen[-1]
        reply = sg.best_response(tree, last.strategy, 1)
        if not weaken:  # the trunk is then optimal with the blueprint below it
            assert reply.value == pytest.approx(last.result.exploitability.per_seat[0], abs=1e-8)
        again = depth_limited(
            tree, blueprint, at=ROUND, continuations=theirs.add("again", reply.strategy.probs[1])
        )
        assert isinstance(last.limited, DepthLimited)
        assert again.num_infosets == last.limited.num_infosets
    assert len(sg.self_generated(tree, blueprint, at=ROUND, count=1)) == 1


# Judging a trunk -----------------------------------------------------------------------------
def test_best_completion() -> None:
    tree, whole = tree_of("leduc-ranks"), equilibrium("leduc-ranks")
    for player in (0, 1):
        value = whole.value * (1 - 2 * player)
        best = best_completion(tree, whole.strategy, at=ROUND, player=player)
        assert best.value == pytest.approx(value, abs=1e-9)
        rash = sg.Strategy.random(tree, player)
        held = best_completion(tree, rash, at=ROUND, player=player)
        before = -sg.exploitability(tree, rash).per_seat[player]
        assert before < held.value < value
        after = -sg.exploitability(tree, held.strategy).per_seat[player]
        assert after == pytest.approx(held.value, abs=1e-8)
        trunk = {n for n in tree.players[player].names if "/" not in n}
        rows, old = profile_of(held.strategy)[player], profile_of(rash)[player]
        assert all(rows[n] == old[n] for n in trunk)


# Errors --------------------------------------------------------------------------------------
def test_errors_are_sentences() -> None:
    tree = tree_of("kuhn")
    uniform, theirs = sg.Strategy.uniform(tree), all_pure(tree_of("kuhn"), at="b", player=1)
    other = sg.Strategy.uniform(tree_of("leduc"))
    limited = depth_limited(tree, uniform, at="b", continuations=theirs)

    def wrong(leaf: Leaf) -> LeafValues:
        return LeafValues(np.zeros((1, 1, 1)), np.zeros((1, 1, 1)))

    calls: dict[str, Callable[[], object]] = {
        "was made for": lambda: depth_limited(tree, other, at="b"),
        "The blueprint must be a Strategy": lambda: depth_limited(tree, None, at="b"),
        "0 or 1, not 2": lambda: depth_limited(tree, uniform, at="b", player=2),
        "pass them as own=": lambda: depth_limited(
            tree, uniform, at="b", player=1, continuations=theirs
        ),
        "own= takes": lambda: depth_limited(tree, uniform, at="b", own=theirs),
        "must be the first": lambda: depth_limited(
            tree, uniform, at="b", continuations=theirs, weaken=True
        ),
        "A penalty must be": lambda: depth_limited(tree, uniform, at="b", penalty=-1.0),
        "continuations lie over": lambda: depth_limited(
            tree, uniform, at="b", continuations=Continuations.of(other, 1)
        ),
        "6 x 1 x 1 numbers": lambda: depth_limited(tree, uniform, at="b", values=wrong),
        "No part of the frontier": lambda: depth_limited(
            tree, uniform, at="b", within=sequence_subgames(tree, "p")[0]
        ),
        "no infoset 'J' of player 0": lambda: limited.complete(other),
        "has no root infosets": lambda: sg.solve_limited(limited, technique="resolve"),
        "needs a technique": lambda: sg.solve_limited(
            depth_limited(tree, uniform, at="pb", within=sequence_subgames(tree, "p")[0])
        ),
        "count must be a whole number": lambda: sg.self_generated(tree, uniform, at="b", count=0),
        "at least 2": lambda: Rollouts(1),
        "number above 0": lambda: biased_continuations(uniform, 1, factor=0),
        "at least one continuation": lambda: Continuations.of([], 1),
        "different trees": lambda: Continuations.of([uniform, other], 1),
        "2 names": lambda: Continuations.of(uniform, 1, ["a", "b"]),
        "Only the first continuations": lambda: theirs[1:],
        "keeps no histories": lambda: sg.solve(limited, "mccfr(sampling=external)", iterations=1),
    }
    for match, call in calls.items():
        with pytest.raises(sg.SubgameError, match=match):
            call()
