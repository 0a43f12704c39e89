"""Cutting: which parts of a game are subgames, what is refused, and that nothing is lost."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import subgame as sg
from helpers import oracle_of, profile_of, strategy_of, tree_of
from margin_program import root_of, root_values
from subgame import gambit, openspiel
from subgame.engines.factory import engine
from subgame.games.leduc import ROUND_OVER
from subgame.refine.sequence.subgames import sequence_subgames
from subgame.refine.subgame import combine
from subgame.solve.evaluate import expected_value

TIGHT = 1e-12
CUTS = [
    ("kuhn", "depth 1"),
    ("kuhn", "depth 2"),
    ("leduc", "after round 1"),
    ("leduc", "after the board card"),
    ("liars-dice(dice=1, faces=3)", "after the first bid"),
    ("goofspiel(cards=3)", "depth 2"),
    ("coin-toss", "Play"),
    ("coin-toss-two", "after Play"),
    *((f"random(seed={seed})", f"depth {1 + seed % 3}") for seed in range(40)),
]


# Frontiers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "at", "count"),
    [
        ("leduc", "after round 1", 5),  # Burch et al. 2014
        ("leduc", "after the board card", 30),  # and each of six cards
        ("leduc", "before chance", 5),
        ("leduc", "after chance", 30),
        ("liars-dice(faces=4)", "after the first bid", 8),
        ("coin-toss", "Play", 1),
        ("coin-toss", "after Play", 1),
        ("coin-toss-two", "after Play", 2),
        ("coin-toss-two", "before chance", 1),
        ("coin-toss-two", "after chance", 2),
        ("kuhn", "depth 1", 2),
        ("kuhn", ["p", "b"], 2),
        ("kuhn", 0, 1),
        ("kuhn", ["p", "p"], 1),
        ("goofspiel(cards=3, order=random)", "after chance", 3),
    ],
)
def test_frontiers(name: str, at: Any, count: int) -> None:
    subgames = sequence_subgames(tree_of(name), at)
    assert len(subgames) == count
    tops = np.concatenate([subgame.top for subgame in subgames])
    assert len(np.unique(tops)) == len(tops)  # disjoint
    for subgame in subgames:
        assert subgame.whole is tree_of(name)
        assert subgame.name in repr(subgame)


def test_a_node_by_name_and_by_number() -> None:
    tree = tree_of("kuhn")
    number = tree.node_names.index("pb")
    (by_name,), (by_number,) = (sequence_subgames(tree, at) for at in ("pb", number))
    assert by_name.top.tolist() == by_number.top.tolist()
    assert by_name.tree.digest == by_number.tree.digest


def test_liars_dice_after_the_first_bid() -> None:
    tree = tree_of("liars-dice(faces=4)")
    subgames = sequence_subgames(tree, "after the first bid")
    assert [s.name.strip() for s in subgames] == [f"{q}-{f}" for q in (1, 2) for f in range(1, 5)]
    for subgame in subgames:
        assert subgame.chance == pytest.approx(np.full((4, 4), 1 / 16))
        assert len(subgame.tree.players[1].names) > 0
    blueprint = sg.solve(tree, iterations=3).strategy
    refined = sg.refine(tree, blueprint, at=subgames, technique="maxmargin", schedule="lp")
    assert refined.margin >= -1e-7
    for before, after in zip(refined.before.per_seat, refined.after.per_seat, strict=True):
        assert after <= before + 1e-7
    assert refined.after.mean < 0.9 * refined.before.mean


def test_the_whole_game_is_a_subgame() -> None:
    """Cut at the root: nothing is lost, and every technique solves the game itself."""
    tree = tree_of("kuhn")
    (whole,) = sg.cut(tree, 0)
    for inner, outer in zip(whole.tree.players, tree.players, strict=True):
        assert list(inner.names) == list(outer.names)
        assert list(inner.actions) == list(outer.actions)
    strategy = sg.Strategy.random(tree, seed=7)
    same = sg.Strategy(whole.tree, (whole.restrict(strategy, 0), whole.restrict(strategy, 1)))
    assert expected_value(whole.tree, same) == pytest.approx(
        expected_value(tree, strategy), abs=TIGHT
    )
    assert sg.exploitability(whole.tree, same).per_seat == pytest.approx(
        sg.exploitability(tree, strategy).per_seat, abs=TIGHT
    )
    for name in ("unsafe", "maxmargin"):
        refined = sg.refine(tree, sg.Strategy.uniform(tree), at=0, technique=name, schedule="lp")
        assert refined.after.mean == pytest.approx(0, abs=1e-9)
        assert [part.weight.tolist() for part in refined.parts] == [[1.0], [1.0]]
    gained = [
        before - after
        for before, after in zip(refined.before.per_seat, refined.after.per_seat, strict=True)
    ]
    assert [part.margin for part in refined.parts] == pytest.approx(gained, abs=1e-9)


def test_a_function_that_chooses_what_a_frontier_does() -> None:
    """One subgame instead of five subgames, and no less safe."""
    tree = tree_of("leduc")

    def after_round_1(state: Any) -> bool:
        return state.first in ROUND_OVER and not state.first.endswith("f")

    (joint,) = sequence_subgames(tree, after_round_1)
    five = sequence_subgames(tree, "after round 1")
    assert sorted(joint.top.tolist()) == sorted(h for s in five for h in s.top.tolist())
    for p in (0, 1):
        slots = joint.tree.players[p].slots
        assert len(slots) == sum(len(s.tree.players[p].slots) for s in five) == 30
        assert sorted(slots) == sorted(name for s in five for name in s.tree.players[p].slots)
    blueprint = sg.Strategy.random(tree, seed=3)
    refined = [
        sg.refine(tree, blueprint, at=at, technique="maxmargin", schedule="lp")
        for at in (after_round_1, "after round 1")
    ]
    # The joint margin is the smallest of the five.
    for p in (0, 1):
        margins = [[q.margin for q in r.parts if q.player == p] for r in refined]
        assert margins[0] == [pytest.approx(min(margins[1]), abs=1e-7)]
    assert max(r.after.mean for r in refined) <= refined[0].before.mean


# What is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "at", "sentence"),
    [
        ("leduc", "after round one", r"called 'after round one'; did you mean 'after round 1'\?"),
        ("coin-toss", "Plya", r"no frontier or public state called 'Plya'; did you mean 'Play'\?"),
        ("coin-toss", ["Play", "Shell"], r"called 'Shell'; did you mean 'Sell'\?"),
        ("kuhn", "depth 9", "No public state of kuhn is at the frontier 'depth 9'"),
        ("kuhn", "before chance", "No public state of kuhn is at the frontier 'before chance'"),
        ("kuhn", ["p", "pb"], "'pb' lies below another one of the frontier"),
        ("kuhn", ["", "b"], "'b' lies below another one of the frontier"),
        ("kuhn", 9, "Public states are numbered 0 to 8, not 9"),
        ("kuhn", -1, "Public states are numbered 0 to 8, not -1"),
        ("kuhn", [], "The frontier is empty: name at least one"),
        ("kuhn", 1.5, "A frontier must be a name, a number or a function, not 1.5"),
        ("kuhn", None, "A frontier must be a name, a number or a function, not None"),
        ("kuhn", lambda state: False, "is true at no public state, so there is no subgame"),
    ],
)
def test_refused(name: str, at: Any, sentence: str) -> None:
    with pytest.raises(sg.SubgameError, match=sentence):
        sg.cut(tree_of(name), at)


def test_a_function_that_leaks_is_refused_by_name() -> None:
    """The infoset and both histories are in the sentence."""

    def heads(state: Any) -> bool:
        return bool(state.public == ("Play",) and state.coin == "Heads")

    sentence = "in 'Play' player 1 cannot tell history 'Heads Play' from 'Tails Play'"
    with pytest.raises(sg.SubgameError, match=sentence):
        sg.cut(tree_of("coin-toss"), heads)

    def kings(state: Any) -> bool:  # player 0 holds a king: player 0 can tell, player 1 cannot
        return bool(state.information_state(0).startswith("K") and state.public_state() == "b")

    with pytest.raises(
        sg.SubgameError, match="must contain whole infosets: in 'Jb' player 1 cannot tell"
    ):
        sg.cut(tree_of("kuhn"), kings)


def test_augmented_infosets_count_too() -> None:
    """Burch et al. 2014, Def. 1: also whoever does not act must know that the subgame began.

    After "pb" in Kuhn it is player 0's turn, who knows of holding the king; player 1, who bet, does
    not.
    """

    def king_faces_a_bet(state: Any) -> bool:
        return bool(state.current_player() == 0 and state.information_state(0) == "Kpb")

    with pytest.raises(sg.SubgameError, match=r"in '[JQ]pb' player 1 cannot tell history"):
        sg.cut(tree_of("kuhn"), king_faces_a_bet)

    def rock_twice(state: Any) -> bool:  # all is public: a subgame, if an empty one
        return bool(state.moves == ("Rock", "Rock"))

    (end,) = sg.cut(tree_of("rps"), rock_twice)
    assert end.tree.num_infosets == 0


def test_the_tree_of_a_subgame_cannot_be_cut() -> None:
    (subgame,) = sg.cut(tree_of("coin-toss"), "Play")
    with pytest.raises(sg.SubgameError, match="cut the tree of the whole game"):
        sg.cut(subgame.tree, 0)


def test_subgames_of_another_game_are_refused() -> None:
    tree = tree_of("coin-toss")
    foreign = sg.cut(tree_of("coin-toss-two"), "after Play")
    with pytest.raises(sg.SubgameError, match="was not cut from"):
        sg.refine(tree, sg.Strategy.published(tree, "paper"), at=foreign)
    again = sg.cut(sg.compile(sg.games.load("coin-toss")), "Play")  # an equal tree will do
    assert sg.refine(tree, sg.Strategy.published(tree, "paper"), at=again, iterations=1).parts


# Putting things back together -------------------------------------------------------------------


@pytest.mark.parametrize(("name", "at"), CUTS)
def test_the_blueprint_comes_back_byte_for_byte(name: str, at: str) -> None:
    tree = tree_of(name)
    blueprint, other = (sg.Strategy.random(tree, seed=seed) for seed in (1, 2))
    subgames = sg.cut(tree, at)
    same = combine(blueprint, [(s, p, s.restrict(blueprint, p)) for s in subgames for p in (0, 1)])
    mixed = combine(blueprint, [(s, p, s.restrict(other, p)) for s in subgames for p in (0, 1)])
    inside = 0
    for p in (0, 1):
        assert same.probs[p].tobytes() == blueprint.probs[p].tobytes()
        assert same.probs[p] is not blueprint.probs[p]
        names = {infoset for s in subgames for infoset in s.tree.players[p].names}
        inside += len(names)
        for i, infoset in enumerate(tree.players[p].names):
            source = other if infoset in names else blueprint
            assert mixed.row(p, i) == source.row(p, i), infoset
    assert inside == sum(s.tree.num_infosets for s in subgames) > 0


@pytest.mark.parametrize(("name", "at"), CUTS)
def test_embedding(name: str, at: str) -> None:
    """A sequence inside and its place in the whole tree are the same infoset and action."""
    tree = tree_of(name)
    for subgame in sequence_subgames(tree, at):
        for p in (0, 1):
            side, whole, where = subgame.tree.players[p], tree.players[p], subgame.places[p]
            assert len(where) == side.num_sequences
            assert (where[: len(side.slots)] == -1).all()
            for i, infoset in enumerate(side.names):
                j = whole.index[infoset]
                assert side.actions[i] == whole.actions[j]
                assert where[side.sequences(i)].tolist() == whole.sequences(j).tolist()


# Values inside are values of the whole ------------------------------------------------------------


@pytest.mark.parametrize(("name", "at"), CUTS)
def test_values_inside_are_those_of_the_whole_game(name: str, at: str) -> None:
    """Counterfactual values and best responses at every infoset inside, against the oracle."""
    tree, oracle = tree_of(name), oracle_of(name)
    profile = oracle.random_profile(random.Random(f"{name} {at}"))
    strategy, whole = strategy_of(tree, profile), engine(tree)
    for subgame in sequence_subgames(tree, at):
        run = engine(subgame.tree)
        for o in (0, 1):
            p = 1 - o
            reach = whole.plan(p, strategy.probs[p])[subgame.sequence[p]]
            plan = run.plan(p, subgame.restrict(strategy, p), reach)
            side = subgame.tree.players[o]
            values = run.values(o, subgame.restrict(strategy, o), plan).sequences
            response = run.respond(o, plan)
            wanted = oracle.counterfactual_values(profile, o)
            best = oracle.counterfactual_best_response(profile, o)
            for i, infoset in enumerate(side.names):
                row = [wanted[infoset][action] for action in side.actions[i]]
                assert values is not None
                assert response.infosets is not None
                np.testing.assert_allclose(values[side.sequences(i)], row, atol=TIGHT)
                assert response.infosets[i] == pytest.approx(best[infoset], abs=TIGHT)

            root = root_of(oracle, subgame, profile, p)
            assert sorted(side.slots) == sorted(root.weight)
            weight = subgame.weight(o, reach)
            known = root_values(oracle, root, profile)
            for s, slot in enumerate(side.slots):
                assert weight[s] == pytest.approx(root.weight[slot], abs=TIGHT)
                got = response.roots[0, s]
                assert got == pytest.approx(known[slot] * root.weight[slot], abs=TIGHT)


@pytest.mark.parametrize(("name", "at"), CUTS)
def test_weights_are_reaches(name: str, at: str) -> None:
    """Where a player acts at the top, the slot's weight is the infoset's counterfactual reach."""
    tree, oracle = tree_of(name), oracle_of(name)
    strategy = sg.Strategy.random(tree, seed=5)
    profile = profile_of(strategy)
    acting = 0
    for subgame in sequence_subgames(tree, at):
        assert subgame.chance.shape == tuple(len(side.slots) for side in subgame.tree.players)
        for p in (0, 1):
            reach = oracle.counterfactual_reach(profile, p)
            plan = engine(tree).plan(1 - p, strategy.probs[1 - p])[subgame.sequence[1 - p]]
            weight = subgame.weight(p, plan)
            side = subgame.tree.players[p]
            for i, infoset in enumerate(side.names):
                parent = int(side.plex.parent[i])
                if parent < len(side.slots) and side.slots[parent] == infoset:
                    acting += 1
                    assert weight[parent] == pytest.approx(reach[infoset], abs=TIGHT)
    if name in ("kuhn", "coin-toss", "coin-toss-two"):
        assert acting


# Games from elsewhere ---------------------------------------------------------------------------


@pytest.mark.parametrize("at", ["before chance", "after chance"])
def test_openspiel_leduc_refines_to_the_same(at: str) -> None:
    """Its public states are derived; two private deals are not a public chance event."""
    pytest.importorskip("pyspiel")
    ours, theirs = tree_of("leduc"), sg.compile(openspiel.load("leduc_poker"))
    assert len(sg.cut(ours, at)) == len(sg.cut(theirs, at))
    for technique, schedule, iterations in (("maxmargin", "lp", None), ("resolve", "cfr+", 100)):
        refined = [
            sg.refine(
                tree,
                sg.Strategy.uniform(tree),
                at=at,
                technique=technique,
                schedule=schedule,
                iterations=iterations,
            )
            for tree in (ours, theirs)
        ]
        for one, two in zip(*(r.before.per_seat for r in refined), strict=True):
            assert one == pytest.approx(two, abs=1e-12)
        assert refined[0].margin == pytest.approx(refined[1].margin, abs=1e-7)
        if schedule != "lp":  # an LP may pick another vertex
            for one, two in zip(*(r.after.per_seat for r in refined), strict=True):
                assert one == pytest.approx(two, abs=1e-7)
        for r in refined:
            assert r.after.mean < r.before.mean


def test_a_gambit_file_can_be_cut_and_refined() -> None:
    """Kuhn through an .efg file, which knows of neither public states nor who knows what."""
    rules = sg.games.load("kuhn")
    ours, theirs = tree_of("kuhn"), sg.compile(gambit.loads(gambit.dumps(rules)))
    for at in ("depth 1", "depth 2"):
        refined = [
            sg.refine(tree, sg.Strategy.uniform(tree), at=at, technique="maxmargin", schedule="lp")
            for tree in (ours, theirs)
        ]
        assert len(refined[0].parts) == len(refined[1].parts) > 0
        for one, two in zip(*(r.parts for r in refined), strict=True):
            assert one.player == two.player
            assert sorted(one.cbv) == pytest.approx(sorted(two.cbv), abs=1e-12)
            assert sorted(one.weight) == pytest.approx(sorted(two.weight), abs=1e-12)
            assert one.margin == pytest.approx(two.margin, abs=1e-9)
        for before, after in zip(
            refined[1].before.per_seat, refined[1].after.per_seat, strict=True
        ):
            assert after <= before + 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_derived_public_states_cut_as_well(seed: int) -> None:
    """Random games that do not say their public states: refining is safe all the same."""
    tree = tree_of(f"random(seed={seed}, public=False)")
    blueprint = sg.Strategy.random(tree, seed=seed)
    for depth in (1, 2, 3):
        refined = sg.refine(
            tree, blueprint, at=f"depth {depth}", technique="maxmargin", schedule="lp"
        )
        assert refined.margin >= -1e-7
        for before, after in zip(refined.before.per_seat, refined.after.per_seat, strict=True):
            assert after <= before + 1e-7
