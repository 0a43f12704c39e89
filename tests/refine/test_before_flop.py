"""The betting before the flop to a depth limit, beside exact values of a small deck."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import subgame as sg
from recipes import FLOP, trained
from subgame.blueprints.follow import FollowedBetting
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.errors import SubgameError
from subgame.games.holdem.translation import mapping
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.hunl import preflop_values
from subgame.play.hunl.below import Continuation, more_of_each
from subgame.play.hunl.laid import warm
from subgame.play.hunl.preflop import _leaf, solve_before_flop
from subgame.play.hunl.preflop_responses import SOLVED, Generation, self_generated
from subgame.play.hunl.preflop_values import PreflopSums, PreflopValues, draw, trainer_of
from subgame.play.hunl.street import LimitedStreet
from subgame.play.named import known_strategy
from subgame.refine.continuations import Continuations, biased
from subgame.refine.limit import Limit
from subgame.refine.ranges.limit import RangeLimit, limited_ranges
from subgame.refine.ranges.reached import ReachedRanges
from subgame.solve.schedule import parse
from subgame.solve.solver import Limits, Run
from subgame.tree.ranges.betting_tree import grow_street
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
    return over_tree(blueprint, tree)


def over_tree(blueprint: StoredBlueprint, tree: RangeTree) -> sg.Strategy:
    result = known_strategy(tree, BlueprintAgent(blueprint.game, blueprint).inner)
    assert result is not None
    return result


STAGES = (15, 20, 30)
"""Iterations of three blueprints. Where two actions are as good as one another, rounding decides
between them, and two ways of solving part; that does not happen with most blueprints."""


def far_from_exact_values(
    table: PreflopValues, tree: RangeTree, offered: Continuations, blueprint: sg.Strategy
) -> float:
    """Solve both ways for 40 iterations: the greatest difference of probabilities."""
    start, player = ReachedRanges.start(FLOP.game), 1 - offered.player
    limits = Limits(40)
    at = LimitedStreet(table.blueprint, start, start.betting, player)
    plan = solve_before_flop(table, at, limits, len(offered))
    assert plan.iterations == 40
    limit = limited_ranges(tree, Limit(blueprint, "before the flop", player, offered))
    assert isinstance(limit, RangeLimit)
    exact = Run(tree, parse("dcfr"), on=limit.street)
    street, hands = limit.street.street, limit.plain.tree.units[0].hands
    laid = at.laid.over_street(street, limit.street, (), hands)
    roots = [limit.street.roots(p) for p in (0, 1)]
    exact.cfr.begin_with(warm(limit.street, laid, roots, float(start.betting.pot)))
    exact.advance(40)
    far = 0.0
    for p in (0, 1):
        past = limit.street.sides[p].roots
        for state, first, names in zip(
            street.states[p], street.first[p], street.actions[p], strict=True
        ):
            want = np.asarray(exact.played()[p])[first - past : first - past + len(names)]
            result = plan.rows[state.history]
            assert result.actions == names
            far = max(far, float(np.abs(result.probabilities[hands[p]].T - want).max()))
    return far


@pytest.mark.parametrize(("player", "choices"), [(0, 4), (1, 4), (0, 1)])
def test_the_round_is_solved_as_with_exact_values(
    player: int, choices: int, tree: RangeTree
) -> None:
    """All flops are looked at, so that values are those of every pair of hands."""
    far = list[float]()
    for stage in STAGES:
        blueprint = trained(FLOP, stage)
        table, strategy = PreflopValues.of(blueprint), over_tree(blueprint, tree)
        assert table.boards == 56
        offered = biased(strategy, 1 - player)
        assert {*offered.names} == {"blueprint", "10 x fold", "10 x call", "10 x raise"}
        some = replace(offered, probs=offered.probs[:choices], names=offered.names[:choices])
        far.append(far_from_exact_values(table, tree, some, strategy))
    assert np.median(far) < 2e-3


@pytest.mark.parametrize("player", [0, 1])
def test_continuations_may_be_other_blueprints(player: int, tree: RangeTree) -> None:
    far = list[float]()
    for stage in STAGES:
        blueprint, other = trained(FLOP, stage), trained(replace(FLOP, seed=5), 2)
        strategy = over_tree(blueprint, tree)
        both = [Continuation(blueprint), Continuation(other)]
        table = PreflopSums(blueprint, both).added(draw(blueprint, 56), 56)
        probs = [played.probs[1 - player] for played in (strategy, over_tree(other, tree))]
        offered = replace(biased(strategy, 1 - player), probs=np.stack(probs), names=("one", "two"))
        far.append(far_from_exact_values(table, tree, offered, strategy))
    assert np.median(far) < 2e-3


def test_responses_win_what_a_best_response_wins(
    blueprint: StoredBlueprint, tree: RangeTree, strategy: sg.Strategy
) -> None:
    """Without buckets an exact best response is known: to the solution, then the blueprint."""
    start = ReachedRanges.start(FLOP.game)

    def exact(table: PreflopValues) -> float:
        """What best responses win from the solutions of a table; mean of both seats, mbb/h."""
        won = []
        for o in (0, 1):
            at = LimitedStreet(blueprint, start, start.betting, 1 - o)
            plan = solve_before_flop(table, at, Limits(SOLVED))
            probs = np.array(strategy.probs[1 - o])
            for state in grow_street(FLOP.game, start.betting).states[1 - o]:
                here = replace(start, betting=state)
                cells = here.cells(tree)
                assert cells is not None
                probs[cells] = plan.rows[state.history].probabilities
            sides = (probs, strategy.probs[1]) if o == 1 else (strategy.probs[0], probs)
            won.append(sg.exploitability(tree, sg.Strategy(tree, sides)).per_seat[1 - o])
        return float(np.mean(won)) * FLOP.game.unit[1]

    table, result = self_generated(blueprint, 3, 56, iterations=150)
    assert [response.continuations for response in result] == [1, 2, 3]
    assert table.values.shape[1] == 4
    one, two = exact(replace(table, values=table.values[:, :1])), exact(table)
    assert 0.95 * one < result[0].mean < one + result[0].interval95
    three = exact(replace(table, values=table.values[:, :3]))
    assert 0.9 * three < result[2].mean < three + result[2].interval95
    assert two < 0.9 * one  # with more responses to choose from, the solution loses less


def test_a_table_goes_on_from_its_checkpoint(blueprint: StoredBlueprint, tmp_path: Path) -> None:
    """It is the same as one that was not interrupted; one of other boards begins anew."""
    made, kept = partial(self_generated, blueprint, iterations=3), tmp_path / "kept"
    whole, generations = made(3, 4)

    def interrupt(table: PreflopValues, won: list[Generation]) -> None:
        if len(won) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(3, 4, watch=interrupt, checkpoint=kept)
    seen = list[int]()
    table, again = made(3, 4, watch=lambda table, won: seen.append(len(won)), checkpoint=kept)
    assert seen == [3]
    assert again == generations
    assert (table.values == whole.values).all()
    assert (table.ahead == whole.ahead).all()
    shorter, first = made(1, 4, checkpoint=kept)
    assert (shorter.values == whole.values[:, :2]).all()
    assert (shorter.boards, first) == (whole.boards, generations[:1])
    fewer, _ = made(1, 2, checkpoint=kept)
    assert (fewer.boards, fewer.choices) == (2, 2)
    (tmp_path / "other").write_text("not a checkpoint")
    with pytest.raises(SubgameError, match="other"):
        made(1, 2, checkpoint=tmp_path / "other")


def test_an_off_tree_bet_is_answered_better_than_by_translation(tree: RangeTree) -> None:
    """Exactly, in the game with the bet; after it both play the flop by translation."""
    game = replace(FLOP.game, bets=replace(FLOP.game.bets, added=("r200",)))
    larger, start = range_tree(sg.compile(game, merge="boards")), ReachedRanges.start(game)
    here, shares = start.after("r200"), list[float]()
    cells = here.cells(larger)
    assert cells is not None
    for stage in STAGES:
        blueprint = trained(FLOP, stage)
        strategy = over_tree(blueprint, tree)
        translated = sg.translate(larger, strategy, "deterministic-pseudo-harmonic")
        at = LimitedStreet(blueprint, start, blueprint.game.start(), 0)
        plan = solve_before_flop(PreflopValues.of(blueprint), at, Limits(200))
        planned = plan.rows[here.betting.history]
        assert planned.actions == here.actions == ("f", "c")
        probs = np.array(translated.probs[0])
        probs[cells] = planned.probabilities
        answered = sg.Strategy(larger, (probs, translated.probs[1]))
        before = sg.exploitability(range_tree(strategy.tree), strategy).per_seat[0]
        more = [
            sg.exploitability(larger, played).per_seat[0] - before
            for played in (translated, answered)
        ]
        assert more[0] > 2  # chips that the bet wins
        shares.append(more[1] / more[0])
    assert max(shares) < 1
    assert np.mean(shares) < 0.85


def test_a_leaf_between_two_has_values_between_theirs(
    blueprint: StoredBlueprint, table: PreflopValues
) -> None:
    game = replace(FLOP.game, bets=replace(FLOP.game.bets, added=("r200",)))
    start = game.start()
    assert [str(leaf) for leaf in table.leaves] == ["cc/", "cr300c/", "r300c/"]
    hand, how = FollowedBetting(start, blueprint.game.start()), mapping("pseudo-harmonic")
    shares = hand.standing_for(start.play("r200c"), blueprint.actions, how)
    by = {str(betting): share for betting, share in shares.items()}
    assert sum(by.values()) == pytest.approx(1)
    assert by["cc/"] == pytest.approx(1 / 3)  # between no bet and the pot
    result = _leaf(table, hand, start.play("r200c"), 1)
    called, _, raised = table.values[1].swapaxes(0, 1)  # what the small blind wins, in pots
    assert result == pytest.approx(400 * (by["cc/"] * called + by["r300c/"] * raised), abs=1e-3)
    # All-in the cards decide.
    allin = _leaf(table, hand, start.play("r600c"), 1)
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
    assert read.values == pytest.approx(table.values, abs=float(np.abs(table.values).max()) / 250)
    assert read.equity == pytest.approx(table.equity, abs=1e-6)
    other = StoredBlueprint.of(Trainer(FLOP))
    with pytest.raises(sg.SubgameError, match="not a table of values before the flop of"):
        PreflopValues.load(tmp_path / "tiny.preflop.safetensors", other)
    pytest.importorskip("torch")
    seen = [
        sample._replace(buckets=[b.astype(np.int64) for b in sample.buckets])
        for sample in draw(blueprint, 4)
    ]
    one, two = (
        PreflopSums(blueprint, more_of_each(blueprint), trainer).added(seen, 4)
        for trainer in (None, trainer_of(blueprint, 0, "torch"))
    )
    assert one.boards == two.boards == 4
    assert one.values == pytest.approx(two.values, abs=1e-5)
    made = PreflopValues.make(blueprint, 3, trainer=trainer_of(blueprint, 0, "torch"))
    assert made.boards == 3
    with pytest.raises(sg.SubgameError, match="boards must be at least 1"):
        PreflopValues.make(blueprint, 0)
    monkeypatch.setattr(preflop_values, "WORK", 1e5)
    with pytest.raises(sg.SubgameError, match="--preflop makes it"):
        PreflopValues.of(blueprint)
