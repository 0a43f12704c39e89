"""Depth limits of hold'em: whole ranges with a table of values beside explicit trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, cast

import numpy as np
import pytest

import subgame as sg
from subgame.engines.arrays import as_numpy
from subgame.engines.contract import RangeEngine
from subgame.engines.factory import engine
from subgame.engines.street import LeafTable, StreetEngine
from subgame.games import holdem
from subgame.games.base import TERMINAL
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.papers.off_tree import OffTree, alike, allowances
from subgame.refine.behind import GadgetRun
from subgame.refine.continuations import biased
from subgame.refine.gadgets import Maxmargin, Resolve
from subgame.refine.learners import GadgetInputs
from subgame.refine.ranges.limit import RangeLimit
from subgame.refine.ranges.pairs import PairTables
from subgame.refine.ranges.play import BeforeCards
from subgame.refine.ranges.subgames import flat
from subgame.refine.sequence.limit import DepthLimited
from subgame.refine.subgame import Trunk
from subgame.solve.schedule import parse
from subgame.solve.solver import Run
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

RANGES = ("AA,KT,QJ,TT", "AA,KK:0.5,QJ,JTs:0.3,KT")
DECK = Deck("TJQKA", "hs")
GAMES = {
    "turn": holdem.endgame("QsJhThKs", 4, 12, RANGES, "all: 1x / cap 1", deck=DECK),
    "flop": holdem.endgame("QsJhTh", 4, 8, RANGES, "all: 1x / cap 1", deck=DECK),
}
EVEN = "even"
"""With hands of one weight: that of the own hand is reach on trees by boards, chance on others, so
that a gadget weighs root infosets otherwise."""
GAMES[EVEN] = holdem.endgame(
    "QsJhTh", 4, 8, ("AA,KT,QJ,TT", "AA,KK,QJ,JTs,KT"), "all: 1x / cap 1", deck=DECK
)
LIMIT = {"turn": "before the river", "flop": "before the turn"}
BETS = "preflop: 0.5x 1x / cap 2; flop: 1x / cap 1"
NLFH = holdem.nlfh(2000, 10, 20, BETS, "JQKA", "hs")
US, OPPONENT = 0, 1


def has_torch(device: str) -> None:
    if device == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")


def kind(action: str) -> str:
    return {"f": "fold", "c": "call"}.get(action[0], "raise")


@cache
def explicit(name: str) -> sg.PublicTree:
    return sg.compile(GAMES[name], explicit=True)


@cache
def ranged(name: str, merge: bool) -> tuple[sg.PublicTree, sg.Strategy, sg.Strategy]:
    """A tree by boards, a blueprint, and the same blueprint over histories."""
    tree, other = sg.compile(GAMES[name], merge=merge), explicit(name)
    blueprint = sg.solve(tree, "dcfr", iterations=30).strategy
    known = set(other.players[0].names) | set(other.players[1].names)
    table = {name: row for name, row in blueprint.table().items() if name in known}
    return tree, blueprint, sg.Strategy.from_table(other, table)


@pytest.mark.parametrize("device", ["cpu", "torch"])
@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("name", list(LIMIT))
def test_a_limited_street_is_solved_as_over_histories(name: str, merge: bool, device: str) -> None:
    has_torch(device)
    if device == "torch" and not merge:
        pytest.skip("slow, and the same tree inside")
    tree, blueprint, same = ranged(name, merge)
    count = 300 if device == "cpu" else 60
    for player in (0, 1):
        theirs = biased(blueprint, 1 - player)
        limited = sg.depth_limited(
            tree, blueprint, at=LIMIT[name], player=player, continuations=theirs, device=device
        )
        result = sg.solve_limited(limited, schedule="dcfr", iterations=count, device=device)
        options = biased(same, 1 - player, classes=kind)
        twin = sg.depth_limited(
            explicit(name), same, at=LIMIT[name], player=player, continuations=options
        )
        want = sg.solve_limited(twin, schedule="dcfr", iterations=300)
        gaps = float(result.result.exploitability) + float(want.result.exploitability)
        assert result.result.value == pytest.approx(want.result.value, abs=2 * gaps + 1e-6)
        if name == "turn" and device == "cpu":  # converged: one solution above the limit
            gap = sg.exploitability(tree, result.strategy).per_seat[player]
            other = sg.exploitability(explicit(name), want.strategy).per_seat[player]
            assert gap == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize("device", ["cpu", "torch"])
def test_within_a_subgame_behind_a_gadget(device: str) -> None:
    has_torch(device)
    tree, blueprint, same = ranged(EVEN, False)
    (part,) = sg.cut(tree, ["Qs Jh Th Js | cc/"])
    (twin,) = sg.cut(explicit(EVEN), ["Qs Jh Th Js | cc/"])
    for player in (0, 1):
        limited = sg.depth_limited(
            tree,
            blueprint,
            at="before the river",
            player=player,
            continuations=biased(blueprint, 1 - player),
            within=part,
            device=device,
        )
        count = 300 if device == "cpu" else 40
        result = sg.solve_limited(limited, technique="resolve", schedule="dcfr", iterations=count)
        other = sg.depth_limited(
            explicit(EVEN),
            same,
            at="before the river",
            player=player,
            continuations=biased(same, 1 - player, classes=kind),
            within=twin,
        )
        # Solved by the same learner: a gadget game as a tree is in other units.
        inputs, _ = Trunk(same, 1 - player).inputs(twin, Resolve(), None)
        run = GadgetRun(cast(DepthLimited, other), parse("dcfr"), Resolve(), inputs)
        run.advance(300)
        here, there = result.result.exploitability, run.evaluate(run.played())
        gaps = float(here) + float(there)
        assert gaps < 0.02
        assert here.per_seat[player] == pytest.approx(there.per_seat[player], abs=2 * gaps + 1e-6)


def chips(game: Holdem, state: Any, table: dict[str, dict[str, float]], o: int) -> float:
    """What player `o` wins from a state on, if both play by the table."""
    p = state.current_player()
    if p == TERMINAL:
        return float(state.returns()[o])
    row = dict(state.chance_outcomes()) if p < 0 else table[state.information_state(p)]
    return sum(share * chips(game, state.child(a), table, o) for a, share in row.items())


@pytest.mark.parametrize("device", ["cpu", "torch"])
@pytest.mark.parametrize("o", [0, 1])
@pytest.mark.parametrize("name", list(LIMIT))
def test_pairs_of_hands_against_brute_force(name: str, o: int, device: str) -> None:
    has_torch(device)
    game, (tree, blueprint, _) = GAMES[name], ranged(name, False)
    assert isinstance(tree, RangeTree)
    run = engine(tree, device=device)
    batch = run.stage(tree.streets[1:])
    below = [np.asarray(blueprint.probs[p])[-batch.tree.stored(p) :] for p in (0, 1)]
    result = as_numpy(PairTables(tree, batch).values((below[0], below[1]), o))
    table, hands = blueprint.table(), tree.units[0].hands
    for leaf, h, j in list(product(*map(range, result.shape)))[:: 7 if name == "flop" else 1]:
        mine, yours = int(hands[o][h]), int(hands[1 - o][j])
        if not game.deck.disjoint[mine, yours]:
            assert result[leaf, h, j] == 0
            continue
        both = (mine, yours) if o == 0 else (yours, mine)
        state = HoldemState(game, both, game.board, tree.streets[1].roots[leaf])
        assert result[leaf, h, j] == pytest.approx(chips(game, state, table, o), abs=1e-4)


# Off-tree bets -------------------------------------------------------------------------------


@cache
def flop_holdem(device: str) -> tuple[RangeTree, RangeEngine, sg.Strategy]:
    """A tree, its engine and a random strategy, the same for hands that suits exchange."""
    tree = compile_range_tree(NLFH)
    draw, probs = np.random.default_rng(3), []
    for p in (0, 1):
        weights = np.zeros(tree.stored(p), np.float32)
        for cells, actions in tree.players[p].decisions():
            weights[cells] = draw.random(len(actions), np.float32)
        probs.append(tree.normalise(p, weights))
    run = engine(tree, device=device)
    return tree, run, sg.Strategy(tree, (probs[0], probs[1]))


def raises(device: str, bet: str) -> OffTree:
    start = NLFH.start()
    sizes = [start.child(name) for name in NLFH.actions(start) if name[0] == "r"]
    return OffTree(flop_holdem(device)[1], start.child(bet), sizes)


def known_table(device: str) -> LeafTable:
    tree, _, sigma = flop_holdem(device)
    limited = sg.depth_limited(tree, sigma, at="before the flop", player=US, device=device)
    assert isinstance(limited, RangeLimit)
    return limited.table


@pytest.mark.parametrize("device", ["cpu", "torch"])
def test_a_bet_that_is_known_has_the_values_it_had(device: str) -> None:
    has_torch(device)
    _, run, sigma = flop_holdem(device)
    size = next(name for name in NLFH.actions(NLFH.start()) if name[0] == "r")
    after = NLFH.start().child(size)
    off = OffTree(run, after, [after])
    (got,) = off.values(off.ours(US, sigma.probs[US]), sigma.probs[OPPONENT], OPPONENT)
    want = as_numpy(known_table(device).values[0])[off.like[0]]
    np.testing.assert_allclose(as_numpy(got), want, atol=1e-3)
    np.testing.assert_allclose(as_numpy(off.mean(known_table(device)).values[0]), want, atol=1e-3)


@pytest.mark.parametrize("device", ["cpu", "torch"])
def test_after_an_off_tree_bet_the_size_we_take_it_for_is_hidden(device: str) -> None:
    """By ranges: the opponent plays as after one size, we as after each, in the real pot."""
    has_torch(device)
    tree, run, sigma = flop_holdem(device)
    off = raises(device, "r50")
    ours = off.ours(US, sigma.probs[US])
    tables = off.values(ours, sigma.probs[OPPONENT], OPPONENT)
    leaves, hands = len(off.like[0]), NLFH.deck.num_hands
    entry = as_numpy(run.enter(US, np.ones((leaves, 1, hands)), 1))
    for size, table in zip(off.sizes, tables, strict=True):
        plan = off.as_after(size, OPPONENT, sigma.probs[OPPONENT])
        paid = [
            off.batch.values(OPPONENT, plan, off.batch.plan(US, our, flat(entry))).roots
            for our in ours
        ]
        mean = np.mean(paid, axis=0)
        mean = mean.reshape(leaves, -1, mean.shape[1])
        want = as_numpy(run.rise(OPPONENT, mean, 1))[:, 0, :hands] * tree.deals
        np.testing.assert_allclose(as_numpy(table).sum(2), want, rtol=1e-4, atol=1e-3)


def test_choices_must_correspond() -> None:
    start = NLFH.start()
    with pytest.raises(sg.SubgameError, match="they must be the same"):
        alike(NLFH, start.child("r2000"), ("c",), start.child("c"))


@dataclass(frozen=True, eq=False)
class Fixed(LeafTable):
    """Leaves that pay the opponent given values."""

    paid: Any  # [leaf, hand]

    def won(self, p: int, reach: Any) -> Any:
        return self.paid[:, None]


@pytest.mark.parametrize("device", ["cpu", "torch"])
@pytest.mark.parametrize("cap", [1, 2])
def test_leaves_at_their_allowances_give_the_alternative(cap: int, device: str) -> None:
    """Then the bet pays the opponent what there is without it, if that is not less."""
    has_torch(device)
    bets = f"preflop: 1x / cap {cap}; flop: 1x / cap 1"
    tree = compile_range_tree(holdem.nlfh(2000, 10, 20, bets, "JQKA", "hs"))
    run = engine(tree, device=device)
    start = tree.holdem.start()
    size = start.child(next(name for name in tree.holdem.actions(start) if name[0] == "r"))
    off = OffTree(run, size, [size])
    hands, draw = tree.holdem.deck.num_hands, np.random.default_rng(cap)
    values = 40 * draw.random((2, len(off.like[0]), hands, hands))
    table = LeafTable(run.array(values), OPPONENT)
    street = StreetEngine(run, off.streets[0], table)
    entry = street.array(np.ones((1, hands)))
    edges = street.sides[US].rows - street.sides[US].roots
    ours = street.behaviour(US, street.array(draw.random((edges, hands))))
    # With more to lose than the bet brings, the opponent would like to fold where that is possible.
    for alternative in (200.0, -200.0) if cap == 1 else (200.0,):
        level = np.full((1, hands), alternative)
        allowed = allowances(street, ours, entry, level)
        arguments = street.array(allowed.alternative * allowed.weight) * tree.deals
        again = StreetEngine(run, off.streets[0], Fixed(table.values[:1], OPPONENT, arguments))
        result = allowances(again, ours, entry, level)
        # Nothing is left to share out then, and nothing was given up.
        np.testing.assert_allclose(result.alternative, allowed.alternative, rtol=0, atol=1e-2)


@pytest.mark.parametrize(
    ("gadget", "device"), [(Resolve(), "cpu"), (Maxmargin(), "cpu"), (Maxmargin(), "torch")]
)
def test_a_gadget_before_the_cards_holds_the_sum_over_boards(gadget: Any, device: str) -> None:
    """Values of all flops together come to no more than the alternatives that can be met."""
    has_torch(device)
    tree, run, sigma = flop_holdem(device)
    last = tree.streets[1]
    stage, leaves, hands = run.stage([last]), len(last.roots), NLFH.deck.num_hands
    entry = as_numpy(run.enter(US, np.ones((leaves, 1, hands)), 1))
    weight = as_numpy(run.opposing(OPPONENT, np.ones((leaves, 1, hands)), 0))[:, 0, :hands]

    def best(ours: Any) -> Any:
        """[leaf, hand] normalised: what the opponent can get on all flops."""
        won = stage.respond(OPPONENT, stage.plan(US, ours, flat(entry))).roots
        won = won.reshape(leaves, -1, won.shape[1])
        return as_numpy(run.rise(OPPONENT, won, 1))[:, 0, :hands] / weight

    below = np.asarray(sigma.probs[US])[-stage.tree.stored(US) :]
    alternative = best(below)
    put = run.array
    inputs = GadgetInputs(
        OPPONENT, entry, put(weight), put(weight), put(alternative), put(alternative)
    )
    theirs = flat(as_numpy(stage.opposing(OPPONENT, entry, 0)))
    solved = Run(
        stage.tree,
        parse("dcfr"),
        on=stage,
        learner=lambda _: BeforeCards(gadget.learner(inputs), run, 1),
        reach=(flat(entry), theirs),
    )
    solved.advance(400 if device == "cpu" else 100)
    margin = alternative - best(solved.played()[US])
    assert margin.min() > -0.5  # of pots of 40 to 4000 chips
    assert margin.mean() > 1
