"""The betting before the flop to a depth limit, beside exact values of a small deck."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import subgame as sg
from recipes import FLOP, trained
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.named import known_strategy
from subgame.refine.depth import preflop
from subgame.refine.depth.blueprint_below import in_mind
from subgame.refine.depth.continuations import biased
from subgame.refine.depth.limit import Limit
from subgame.refine.depth.preflop import PreflopValues, _leaf, solve_before_flop
from subgame.refine.depth.ranges import RangeLimit, limited_ranges
from subgame.refine.live.ranges import ReachedRanges
from subgame.refine.nested.mappings import mapping
from subgame.solve.schedule import parse
from subgame.solve.solver import Limits, Run
from subgame.tree.ranges.tree import RangeTree, range_tree


@pytest.fixture(scope="module")
def blueprint() -> StoredBlueprint:
    return trained(FLOP, 20)


@pytest.fixture(scope="module")
def table(blueprint: StoredBlueprint) -> PreflopValues:
    return PreflopValues.of(blueprint)


@pytest.fixture(scope="module")
def tree() -> RangeTree:
    return range_tree(sg.compile(FLOP.game, merge="boards"))


@pytest.fixture(scope="module")
def strategy(blueprint: StoredBlueprint, tree: RangeTree) -> sg.Strategy:
    """The blueprint over the whole tree."""
    found = known_strategy(tree, BlueprintAgent(blueprint.game, blueprint).inner)
    assert found is not None
    return found


@pytest.mark.parametrize(("player", "choices"), [(0, 4), (1, 4), (0, 1)])
def test_the_round_is_solved_as_with_exact_values(
    player: int, choices: int, table: PreflopValues, tree: RangeTree, strategy: sg.Strategy
) -> None:
    """All flops are looked at, so that values are those of every pair of hands."""
    assert table.boards == 56
    start = ReachedRanges.start(FLOP.game)
    limits = Limits(40)
    plan = solve_before_flop(table, start, start.betting, player, limits, choices)
    assert plan.iterations == 40
    offered = biased(strategy, 1 - player)
    assert {*offered.names} == {"blueprint", "10 x fold", "10 x call", "10 x raise"}
    some = replace(offered, probs=offered.probs[:choices], names=offered.names[:choices])
    limit = limited_ranges(tree, Limit(strategy, "before the flop", player, some))
    assert isinstance(limit, RangeLimit)
    exact = Run(tree, parse("dcfr"), on=limit.street)
    exact.advance(40)
    street, hands = limit.street.street, limit.plain.tree.units[0].hands
    for p in (0, 1):
        past = limit.street.sides[p].roots
        for state, first, names in zip(
            street.states[p], street.first[p], street.actions[p], strict=True
        ):
            want = np.asarray(exact.played()[p])[first - past : first - past + len(names)]
            found = plan.rows[state.history]
            assert found.actions == names
            assert np.abs(found.probabilities[hands[p]].T - want).max() < 2e-3


def test_an_off_tree_bet_is_answered_better_than_by_translation(
    blueprint: StoredBlueprint, table: PreflopValues, strategy: sg.Strategy
) -> None:
    """Exactly, in the game with the bet; after it both play the flop by translation."""
    game = replace(FLOP.game, bets=replace(FLOP.game.bets, added=("r200",)))
    larger = range_tree(sg.compile(game, merge="boards"))
    heard = sg.translate(larger, strategy, "deterministic-pseudo-harmonic")
    start = ReachedRanges.start(game)
    plan = solve_before_flop(table, start, blueprint.game.start(), 0, Limits(200))
    here = start.after("r200")
    planned, cells = plan.rows[here.betting.history], here.cells(larger)
    assert cells is not None
    assert planned.actions == here.actions == ("f", "c")
    probs = np.array(heard.probs[0])
    probs[cells] = planned.probabilities
    answered = sg.Strategy(larger, (probs, heard.probs[1]))
    before = sg.exploitability(range_tree(strategy.tree), strategy).per_seat[0]
    more = [sg.exploitability(larger, each).per_seat[0] - before for each in (heard, answered)]
    assert more[0] > 5  # chips that the bet wins
    assert more[1] < 0.3 * more[0]


def test_a_leaf_between_two_has_values_between_theirs(
    blueprint: StoredBlueprint, table: PreflopValues
) -> None:
    game = replace(FLOP.game, bets=replace(FLOP.game.bets, added=("r200",)))
    start, mind = game.start(), blueprint.game.start()
    assert [str(leaf) for leaf in table.leaves] == ["cc/", "cr300c/", "r300c/"]
    shares = in_mind(blueprint, start, start.play("r200c"), mind, mapping("pseudo-harmonic"))
    by = {str(each): share for each, share in shares.items()}
    assert sum(by.values()) == pytest.approx(1)
    assert by["cc/"] == pytest.approx(1 / 3)  # between no bet and the pot
    found = _leaf(table, start, start.play("r200c"), mind, 1)
    called, _, raised = table.values[1].swapaxes(0, 1)  # what the small blind wins, in pots
    assert found == pytest.approx(400 * (by["cc/"] * called + by["r300c/"] * raised), abs=1e-3)
    # All-in the cards decide.
    allin = _leaf(table, start, start.play("r600c"), mind, 1)
    assert allin == pytest.approx(np.repeat(600 * table.equity[None], 4, axis=0))


def test_tables_on_files_and_devices(
    tmp_path: Path,
    blueprint: StoredBlueprint,
    table: PreflopValues,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blueprint.save(tmp_path / "tiny.safetensors")
    table.save(tmp_path / "tiny.preflop.safetensors")
    again = StoredBlueprint.load(tmp_path / "tiny.safetensors")
    read = PreflopValues.of(again)
    assert read.boards == table.boards
    assert read.values == pytest.approx(table.values, abs=2e-3)
    assert read.equity == pytest.approx(table.equity, abs=1e-6)
    other = StoredBlueprint.of(Trainer(FLOP))
    with pytest.raises(sg.SubgameError, match="not a table of values before the flop of"):
        PreflopValues.load(tmp_path / "tiny.preflop.safetensors", other)
    torch = pytest.importorskip("torch")
    one, two, seen = PreflopValues(blueprint), PreflopValues(blueprint), table.draw(4)
    one.add(seen)
    two.add(seen, torch.as_tensor)
    assert one.boards == two.boards == 4
    assert one.values == pytest.approx(two.values, abs=1e-5)
    made = PreflopValues.make(blueprint, 3, device="torch")
    assert made.boards == 3
    monkeypatch.setattr(preflop, "WORK", 1e5)
    with pytest.raises(sg.SubgameError, match="--preflop makes it"):
        PreflopValues.of(blueprint)
