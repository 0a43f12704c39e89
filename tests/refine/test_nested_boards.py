"""Off-tree bets answered on all boards at once, beside nested solving history by history."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from subgame.refine.nested.answers import Nested, nest

import subgame as sg
from subgame.engines.factory import engine
from subgame.games import holdem
from subgame.games.holdem.bets import BetSizes
from subgame.refine.gadgets import technique
from subgame.refine.nested.translation import mapping, translate
from subgame.solve.schedule import parse
from subgame.tree.ranges.betting_tree import Street, grow
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

from subgame.engines.torch import TorchRangeEngine  # noqa: E402
from subgame.engines.torch.batch import Blocks, Sweeps  # noqa: E402
from subgame.refine.nested.boards import BoardNest, lost, translated, widened  # noqa: E402

SMALL = "preflop: 1x / cap 1; flop: 1x 2x / cap 1"
LARGE = BetSizes.parse("preflop: 1x 2x / cap 1; flop: 1x 1.5x 2x / cap 1")
GAME = holdem.nlfh(2000, 10, 20, SMALL, "JQKA", "hs")


@cache
def blueprint() -> tuple[sg.Strategy, TorchRangeEngine, tuple[Blocks, Blocks]]:
    """One and the same strategy over histories and over boards."""
    explicit = sg.compile(GAME, explicit=True)
    found = sg.solve(explicit, iterations=60, schedule="cfr+").strategy
    run = TorchRangeEngine(compile_range_tree(GAME), "cpu")
    sides = []
    for p in (0, 1):
        side, index = run.tree.players[p], explicit.players[p].index
        weights = np.zeros(run.tree.stored(p), np.float32)
        for i, name in enumerate(side.names):
            row = found.row(p, index[name])
            weights[side.sequences(i)] = [row[action] for action in side.actions[i]]
        sides.append(run.from_cpu(p, weights))
    return found, run, (sides[0], sides[1])


@cache
def nested(p: int, name: str, expensive: bool, iterations: int = 300) -> BoardNest:
    _, run, sides = blueprint()
    made = BoardNest(run, sides, LARGE, p, technique(name), parse("pcfr+"), iterations, expensive)
    made.run()
    return made


@cache
def by_history(p: int, name: str) -> Nested:
    tree = sg.compile(widened(GAME, LARGE, 1 - p), explicit=True)
    return nest(blueprint()[0], tree, technique=name, player=p, schedule="pcfr+", iterations=400)


def names(cards: tuple[int, ...]) -> str:
    return " ".join(GAME.deck.card_name(card) for card in cards)


def whole(made: BoardNest) -> tuple[Sweeps, list[Street]]:
    streets = grow(made.large)
    return made.engine.stage(streets), streets


@pytest.mark.parametrize("p", [1])
def test_margins_are_those_found_history_by_history(p: int) -> None:
    """The smallest margin that Maxmargin attains is unique, whatever else its solution does."""
    made, want = nested(p, "maxmargin", False), by_history(p, "maxmargin")
    first = {answer.public: answer for answer in want.answers if answer.depth == 1}
    compared = 0
    for answer in made.answers:
        if answer.depth > 1:
            continue
        street = int(answer.values.shape[1] > 1)
        boards = [unit.cards for unit in made.engine.tree.units if unit.street == street]
        for k, bet in enumerate(answer.bets):
            for u, cards in enumerate(boards):
                other = first[f"{names(cards)} | {bet}"]
                real = answer.weight[k, u] > 0
                got = float((answer.alternative - answer.values)[k, u][real].min())
                margin = float((other.cbv - other.values)[other.weight > 0].min())
                assert got == pytest.approx(margin, abs=0.1)  # of 40 chips and more in the pot
                compared += 1
    assert compared == 1 + 3 * len([u for u in made.engine.tree.units if u.street == 1])


@pytest.mark.parametrize("p", [1])
@pytest.mark.parametrize("name", ["resolve", "maxmargin"])
def test_exploitability_is_that_found_history_by_history(p: int, name: str) -> None:
    made = nested(p, name, False)
    sweeps, streets = whole(made)
    got = lost(sweeps, made.strategy(sweeps, streets), made.engine)
    want = by_history(p, name).after.per_seat[p]
    assert got == pytest.approx(want, abs=0.02)  # of some 30 chips in the pot


@pytest.mark.parametrize(
    ("name", "expensive"), [("resolve", False), ("reach-maxmargin", True), ("unsafe", True)]
)
def test_the_exploitability_is_the_cpu_engines(name: str, expensive: bool) -> None:
    made = nested(0, name, expensive, 30)
    sweeps, streets = whole(made)
    sigma = made.strategy(sweeps, streets)
    tree = compile_range_tree(made.large)
    assert isinstance(tree, RangeTree)
    weights = TorchRangeEngine(tree, "cpu").to_cpu(0, sigma)
    run: Any = engine(tree)
    won = run.respond(1, run.plan(0, weights)).slots @ tree.players[1].reach
    assert lost(sweeps, sigma, made.engine) == pytest.approx(won, rel=1e-9)


@pytest.mark.parametrize("p", [0, 1])
def test_safe_answers_lose_no_more_than_their_margins_say(p: int) -> None:
    """At most what the blueprint loses plus all that margins lack."""
    made = nested(p, "resolve", False)
    before = lost(made.engine, blueprint()[2][p], made.engine)
    lacking = sum(
        float(((answer.values - answer.alternative).clamp(min=0) * answer.weight * scale).sum())
        for answer in made.answers
        for scale in [_chance(made, answer.values.shape[1])]
    )
    sweeps, streets = whole(made)
    after = lost(sweeps, made.strategy(sweeps, streets), made.engine)
    assert after <= before + lacking / made.engine.tree.deals + 1e-6


def _chance(made: BoardNest, units: int) -> Any:
    if units == 1:
        return 1.0
    return made.engine.places[1].weight[None, :, None]


@pytest.mark.parametrize("p", [0])
def test_translation_is_that_of_histories(p: int) -> None:
    """On sizes between those known: a smaller bet may be taken for a check."""
    larger = BetSizes.parse("preflop: 1x / cap 1; flop: 1x 1.5x 2x / cap 1")
    strategy, run, sides = blueprint()
    game = widened(GAME, larger, 1 - p)
    tree = sg.compile(game, explicit=True)
    want = sg.exploitability(tree, translate(strategy, tree)).per_seat[p]
    streets = grow(game)
    sweeps = run.stage(streets)
    reached = run.reaches(p, sides[p], run.slots(run.tree.players[p].reach, torch.float64))
    plan = Blocks(
        run,
        p,
        [rows[level.bets[p].roots :] for rows, level in zip(reached, run.levels, strict=True)],
    )
    how = mapping("pseudo-harmonic")
    found = translated(plan, run.tree.streets, GAME, (sweeps, streets), how)
    assert lost(sweeps, found, run) == pytest.approx(want, rel=1e-5)


def test_what_cannot_be_done_is_said() -> None:
    _, run, sides = blueprint()
    with pytest.raises(sg.SubgameError, match="expensive"):
        BoardNest(run, sides, LARGE, 0, technique("unsafe"), parse("cfr+"), 1)
    with pytest.raises(sg.SubgameError, match="distributional"):
        BoardNest(run, sides, LARGE, 0, technique("distributional"), parse("cfr+"), 1)
    streets = grow(widened(GAME, "preflop: 1x / cap 1; flop: 0.5x 1x 2x / cap 1", 1))
    with pytest.raises(sg.SubgameError, match="taken for a check"):
        translated(
            sides[0],
            run.tree.streets,
            GAME,
            (run.stage(streets), streets),
            mapping("pseudo-harmonic"),
        )
