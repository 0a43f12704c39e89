"""Techniques on hold'em trees: learners beside gadget games of explicit small decks, and LP3."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import subgame as sg
from holdem_refining import (
    GAMES,
    SAFE,
    aligned,
    board_tree,
    dealt,
    explicit,
    hand,
    inputs_of,
    spread,
)
from subgame.refine.behind import GadgetRun
from subgame.refine.gadgets import Gadget
from subgame.refine.learners import Choice, RandomAlternative
from subgame.refine.sequence.programs import program
from subgame.refine.sequence.subgames import gadget_form
from subgame.refine.subgame import Trunk
from subgame.solve.schedule import parse
from subgame.solve.solver import Run
from subgame.tree.ranges.tree import RangeSide, RangeTree
from subgame.tree.sequence.form import assemble

# Units ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "at"),
    [
        *((name, "root") for name in GAMES),
        ("turn", "after the river"),
        ("flop", "after the turn"),
        ("flop", "after the river"),
        ("weights", "Qs Jh Th Js Ah | cr4"),
    ],
)
def test_values_are_those_of_the_explicit_subgame(name: str, at: str) -> None:
    blueprint = sg.Strategy.random(board_tree(name), seed=2)
    refined = sg.refine(board_tree(name), blueprint, at=at, technique="unsafe", iterations=20)
    whole = [dealt(name)] if at == "root" else sg.cut(explicit(name), at)
    same = sg.refine(
        explicit(name),
        spread(blueprint, explicit(name)),
        at=whole,
        technique="unsafe",
        iterations=20,
    )
    ours = {(part.subgame.name, part.player): part for part in refined.parts}
    compared = 0
    for part in same.parts:
        key = ("root" if at == "root" else part.subgame.name, part.player)
        if key not in ours:  # an all-in: nobody acts
            assert not part.subgame.tree.players[part.player].names
            continue
        place = aligned(ours[key], part)
        np.testing.assert_allclose(ours[key].cbv[place], part.cbv, atol=1e-5)
        # A range is chance in the explicit tree, and its player's reach in ours.
        most = ours[key].subgame.most(1 - part.player)[place]
        np.testing.assert_allclose(ours[key].weight[place] * most, part.weight, atol=1e-9)
        compared += 1
    assert compared == len(refined.parts)


@pytest.mark.parametrize("name", GAMES)
def test_what_the_opponent_can_get_at_the_root_is_what_a_best_response_wins(name: str) -> None:
    tree = board_tree(name)
    blueprint = sg.Strategy.random(tree, seed=3)
    refined = sg.refine(tree, blueprint, at="root", technique="resolve", iterations=30)
    for part in refined.parts:
        reach = tree.players[1 - part.player].reach
        assert (part.cbv * part.weight) @ reach == pytest.approx(
            refined.before.per_seat[part.player], abs=1e-9
        )
        assert (part.values * part.weight) @ reach == pytest.approx(
            refined.after.per_seat[part.player], abs=1e-9
        )


@pytest.mark.parametrize("name", GAMES)
def test_the_blueprints_own_values_leave_it_a_margin_of_zero(name: str) -> None:
    """Written down and read back by hand, as a user would: alternatives by name."""
    tree = board_tree(name)
    blueprint = sg.Strategy.random(tree, seed=4)
    once = sg.refine(tree, blueprint, at="root", technique="resolve", iterations=1, player=0)
    kept = dict(zip(once.parts[0].infosets, once.parts[0].cbv.tolist(), strict=True))
    again = sg.refine(
        tree,
        blueprint,
        at="root",
        technique=sg.Estimate(),
        iterations=1,
        player=0,
        alternatives=kept,
    )
    part = again.parts[0]
    np.testing.assert_allclose(part.alternatives - part.cbv, 0, atol=1e-12)
    np.testing.assert_allclose(part.gifts, 0)


@pytest.mark.parametrize(
    "gadget",
    [
        sg.ReachMaxmargin(),
        sg.ReachMaxmargin(split=False),
        sg.ReachResolve(scale=0.5),
        sg.ReachMaxmargin(gifts="estimated"),
    ],
    ids=["split", "not split", "scaled", "estimated"],
)
@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("bets", "after the river"),
        ("weights", "Qs Jh Th Js Ah | cr4r6"),
        ("weights", "Qs Jh Th Js Ah | r4r6"),
    ],
)
def test_gifts_are_those_of_the_explicit_tree(name: str, at: str, gadget: Gadget) -> None:
    """The blueprint calls most of the time, so that a weak hand had better fold than go on."""
    tree, oracle = board_tree(name), explicit(name)
    weights = [probs.copy() for probs in sg.Strategy.random(tree, seed=3).probs]
    for p, side in enumerate(tree.players):
        for i, actions in enumerate(side.actions):
            weights[p][side.sequences(i)[actions.index("c")]] *= 20
    blueprint = sg.Strategy.from_weights(tree, weights)
    refined = sg.refine(tree, blueprint, at=at, technique=gadget, iterations=1)
    same = sg.refine(oracle, spread(blueprint, oracle), at=at, technique=gadget, iterations=1)
    ours = {(part.subgame.name, part.player): part for part in refined.parts}
    arguments = 0.0
    for part in same.parts:
        key = (part.subgame.name, part.player)
        if key in ours:
            place = aligned(ours[key], part)
            np.testing.assert_allclose(ours[key].gifts[place], part.gifts, atol=1e-5)
            arguments += float(part.gifts.sum())
    assert arguments > 0


# Learners beside gadget games -----------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["cfr", "cfr+", "dcfr", "pdcfr+"])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("name", ["river", "turn"])
@pytest.mark.parametrize(
    "gadget",
    [
        sg.Resolve(),
        sg.Maxmargin(),
        sg.Resolve(refined=0.2),
        sg.Maxmargin(refined=0.2),
        sg.Distributional("respond"),
        sg.Distributional("hedge"),
    ],
    ids=lambda g: f"{g.name}-{g.form if g.entry == 'random' else g.refined}",
)
def test_a_learner_takes_the_steps_of_the_explicit_game(
    gadget: Gadget, name: str, player: int, schedule: str
) -> None:
    """One iteration from random regrets: where none are there, rounding would break exact ties.

    Beside the gadget game, or a learner on the explicit subgame where there is none.
    """
    tree, plan, o = board_tree(name), parse(schedule), 1 - player
    ours, theirs = _runs(gadget, name, sg.Strategy.random(tree, seed=5), player, schedule)
    rng = np.random.default_rng(6)
    scale = dict.fromkeys(tree.players[o].slots, 1.0)
    if gadget.entry == "choose" and not isinstance(theirs, GadgetRun):
        # Behind "choose" the opponent's values are normalised in the gadget game.
        weights = ours.inputs.weight.tolist()
        scale = {s: 1 / w for s, w in zip(scale, weights, strict=True) if w > 0}
    where = []
    for p in (0, 1):
        whole, side = tree.players[p], theirs.tree.players[p]
        assert isinstance(whole, RangeSide)
        inner = [i for i in range(len(side.names)) if side.names[i] in whole.index]
        mine = [whole.sequences(whole.index[side.names[i]]) for i in inner]
        same = [side.sequences(i) for i in inner]
        unit = [_chance(tree, whole.locate(whole.index[side.names[i]])[0]) for i in inner]
        if p == o:
            unit = [u * scale[hand(side.names[i])] for u, i in zip(unit, inner, strict=True)]
        units = np.repeat(unit, [len(s) for s in same])
        where.append((np.concatenate(mine), np.concatenate(same), units))
        for field in ("regret", *(["instant"] if plan.predictive else [])):
            drawn = np.abs(rng.normal(size=len(units))).astype(np.float32)
            getattr(ours.cfr.pair[p], field)[where[p][0]] = drawn
            getattr(theirs.cfr.pair[p], field)[where[p][1]] = drawn * units
    entries = [_Entry.of(run, gadget, o) for run in (ours, theirs)]
    assert entries[0].hands.keys() >= entries[1].hands.keys()  # some hands leave us none
    drawn = np.abs(rng.normal(size=(2, len(entries[1].hands))))
    for entry in entries:
        entry.begin(list(entries[1].hands), drawn, plan.discounts(11, 1), 11)
    ours.iteration = theirs.iteration = 10
    ours.advance(1)
    theirs.advance(1)
    for got, want in zip(*(entry.now(list(entries[1].hands)) for entry in entries), strict=True):
        np.testing.assert_allclose(got, want, atol=2e-5)
    for p in (0, 1):
        got = ours.cfr.pair[p].regret[where[p][0]] * where[p][2]
        want = theirs.cfr.pair[p].regret[where[p][1]]
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def _chance(tree: RangeTree, u: int) -> float:
    """Of the cards of unit `u` and of a pair of hands."""
    p = 1 / tree.deals
    while u > 0:
        p, u = p * tree.units[u].weight, tree.units[u].parent
    return p


def _runs(
    gadget: Gadget, name: str, blueprint: sg.Strategy, player: int, schedule: str
) -> tuple[GadgetRun, Run]:
    """The same gadget on the hold'em tree and on the explicit one, both about to be solved."""
    tree, plan, o = board_tree(name), parse(schedule), 1 - player
    inputs, _ = Trunk(blueprint, o).inputs(sg.cut(tree, "root")[0], gadget)
    known = replace(inputs, spread=np.full(len(inputs.weight), 0.5))
    oracle = inputs_of(name, blueprint, player, gadget)
    oracle = replace(oracle, spread=np.full(len(oracle.weight), 0.5))
    ours = GadgetRun(tree, plan, gadget, known)
    if gadget.is_finite and not gadget.refined:
        return ours, Run(assemble(gadget_form(gadget, dealt(name).form, oracle)), plan)
    return ours, GadgetRun(dealt(name).tree, plan, gadget, oracle)


@dataclass
class _Entry:
    """How the opponent enters in a run: by a learner, or at the infosets of a gadget game."""

    run: Run
    gadget: Gadget
    o: int
    hands: dict[str, Any]
    """To where a hand stands: its root infoset, or its sequences of entering (and leaving)."""

    @classmethod
    def of(cls, run: Run, gadget: Gadget, o: int) -> _Entry:
        side = run.tree.players[o]
        if isinstance(run, GadgetRun):
            return cls(run, gadget, o, {hand(text): s for s, text in enumerate(side.slots)})
        outer = {text: i for i, text in enumerate(side.names) if side.origin[i] < 0}
        if gadget.entry == "leave":
            return cls(run, gadget, o, {hand(t): side.sequences(i) for t, i in outer.items()})
        (i,) = outer.values()
        return cls(
            run,
            gadget,
            o,
            {hand(a): [q] for a, q in zip(side.actions[i], side.sequences(i), strict=True)},
        )

    def begin(self, hands: list[str], drawn: Any, discounts: Any, t: int) -> None:
        """Regrets ``[choice, hand]`` before iteration `t`, whose discounts are given."""
        learner = self.run.cfr.learner
        for k, name in enumerate(hands):
            if isinstance(learner, Choice):
                learner.regret[:, 0, self.hands[name]] = drawn[: len(learner.regret), k]
            elif learner is None:
                for c, q in enumerate(self.hands[name]):
                    self.run.cfr.pair[self.o].regret[q] = drawn[c, k]
        if isinstance(learner, Choice):
            learner.ahead[...] = self.run.engine.rates(discounts, t)[0, :4]
            learner.sigma[...] = learner.strategy()

    def now(self, hands: list[str]) -> tuple[Any, Any]:
        """Regrets [choice, hand] (none of a random alternative), and what is played next."""
        learner, run = self.run.cfr.learner, self.run
        at = [self.hands[name] for name in hands]
        if isinstance(learner, RandomAlternative):
            return np.zeros(0), learner.enter()[0, at]
        if isinstance(learner, Choice):
            return learner.regret[:, 0, at], learner.strategy()[:, 0, at]
        ahead = run.engine.rates(run.schedule.discounts(run.iteration + 1, 1), run.iteration + 1)
        kept, places = run.cfr.pair[self.o], np.array(at).T
        return kept.regret[places], run.engine.current(self.o, kept, ahead[0])[places]


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_maxmargin_reaches_the_optimum_of_lp3(name: str, player: int) -> None:
    blueprint = sg.Strategy.random(board_tree(name), seed=player)
    best = program("lp3", dealt(name), inputs_of(name, blueprint, player, sg.Maxmargin()))
    refined = sg.refine(
        board_tree(name),
        blueprint,
        at="root",
        technique="maxmargin",
        player=player,
        iterations=2000,
    )
    part = refined.parts[0]
    assert part.gap is not None
    assert part.gap < 5e-3
    assert best.objective - part.gap - 1e-5 <= part.margin <= best.objective + 1e-5


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("method", SAFE)
def test_safe_techniques_never_lose_more_than_their_gap(method: str, name: str) -> None:
    tree = board_tree(name)
    for seed in range(2):
        blueprint = sg.Strategy.random(tree, seed=seed)
        refined = sg.refine(tree, blueprint, at="root", technique=method, iterations=400)
        for part in refined.parts:
            assert part.gap is not None
            weight = part.weight if refined.technique.entry == "leave" else 1.0
            assert (part.margins * weight >= -part.gap - 1e-6).all()
            grown = refined.after.per_seat[part.player] - refined.before.per_seat[part.player]
            assert grown <= part.bound + 1e-6
            assert part.bound <= part.gap * max(1.0, float(np.sum(part.weight))) + 1e-6


@pytest.mark.parametrize("at", ["after the river", "Qs Jh Th Ks | c"])
def test_safe_techniques_in_parts_of_a_tree(at: str) -> None:
    tree = board_tree("turn")
    for seed, method in enumerate(("resolve", "maxmargin")):
        blueprint = sg.Strategy.random(tree, seed=seed)
        refined = sg.refine(tree, blueprint, at=at, technique=method, iterations=300)
        assert refined.after.mean <= refined.before.mean + refined.bound + 1e-6
        assert refined.bound < 0.01
        assert sg.exploitability(tree, refined.strategy).per_seat == refined.after.per_seat


def test_parts_agree_with_the_explicit_tree_in_the_whole_game() -> None:
    """Unsafe, where the solution is unique enough: exploitability after all rivers are solved."""
    blueprint = sg.Strategy.random(board_tree("flop"), seed=1)
    same = spread(blueprint, explicit("flop"))
    for at in ("after the turn", "after the river"):
        ours = sg.refine(board_tree("flop"), blueprint, at=at, technique="unsafe", iterations=300)
        subgames = [s for s in sg.cut(explicit("flop"), at) if s.tree.players[0].names]
        theirs = sg.refine(explicit("flop"), same, at=subgames, technique="unsafe", iterations=300)
        assert ours.before.mean == pytest.approx(theirs.before.mean, abs=1e-6)
        assert ours.after.mean == pytest.approx(theirs.after.mean, abs=1e-3)


def test_unsafe_at_the_root_is_solving_the_endgame() -> None:
    tree = board_tree("weights")
    blueprint = sg.Strategy.random(tree, seed=1)
    refined = sg.refine(tree, blueprint, at="root", technique="unsafe", iterations=300)
    solved = sg.solve(tree, refined.schedule, iterations=300)
    for p in (0, 1):
        np.testing.assert_array_equal(refined.strategy.probs[p], solved.strategy.probs[p])
    assert refined.parts[0].gap == pytest.approx(2 * float(solved.exploitability))


def test_distributional_forms_agree_and_tend_to_resolve() -> None:
    tree = board_tree("river")
    blueprint = sg.Strategy.random(tree, seed=2)
    after = {}
    for form in ("respond", "hedge"):
        for sure in (1e-6, 1.0):
            refined = sg.refine(
                tree,
                blueprint,
                at="root",
                technique=sg.Distributional(form, estimate=False),
                iterations=700,
                uncertainty=sure,
            )
            after[form, sure] = refined
    one, two = after["respond", 1.0], after["hedge", 1.0]
    for ours, theirs in zip(one.parts, two.parts, strict=True):
        np.testing.assert_allclose(ours.values, theirs.values, atol=0.02)
    for refined in (after["respond", 1e-6], after["hedge", 1e-6]):
        assert refined.margin > -0.02
