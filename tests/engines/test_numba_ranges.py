"""The CPU engine of hold'em trees: what the engine contract promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import subgame as sg
from holdem_games import GAMES
from subgame.engines.contract import Mode, Regrets
from subgame.engines.numba.range_scratch import STILL
from subgame.engines.numba.ranges import NumbaRangeEngine
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.game import Holdem
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import parse
from subgame.solve.solver import Run
from subgame.tree.ranges.betting_tree import grow
from subgame.tree.ranges.boards import BoardArrays
from subgame.tree.ranges.stage import stage_tree
from subgame.tree.ranges.tree import RangeSide, RangeTree, compile_range_tree

DECK = Deck("TJQKA", "chs")
FLOP = sg.holdem.endgame("Qs Kh As", 4, 40, bets="all: 1x / cap 1", deck=DECK)
SUITS = sg.holdem.endgame("Qs Ks As", 4, 40, bets="all: 1x / cap 1", deck=DECK)
NARROW = sg.holdem.endgame(
    "Qs Kh As", 4, 8, ("AA,KK:0.5,KQ,JT", "QQ,AK,TT,JJ:0.2"), "all: a / cap 1", deck=DECK
)
SCHEDULES = ["cfr", "cfr+", "dcfr", "pdcfr+", "pcfr+(alternating=False)"]
RESPONDERS = ["cfr-br(responder=0)", "cfr-br(responder=1)"]


def solved(engine: Any, schedule: str, counts: tuple[int, ...] = (9,), **options: Any) -> Cfr:
    plan = parse(schedule)
    cfr = Cfr(
        engine,
        predictive=plan.predictive,
        alternating=plan.alternating,
        responder=plan.responder,
        **options,
    )
    done = 0
    for count in counts:
        cfr.advance(plan.discounts(done + 1, count + 1), done + 1)
        done += count
    return cfr


def random_sigma(engine: NumbaRangeEngine, p: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return engine.behaviour(p, rng.random(engine.tree.stored(p), dtype=np.float32))


def random_reach(engine: NumbaRangeEngine, p: int, seed: int) -> Any:
    reach = engine.roots(p)
    return reach * np.random.default_rng(seed).random(reach.shape)


def several(game: Holdem, boards: int = 4) -> tuple[RangeTree, list[Any], list[Any]]:
    """Some turns of a flop side by side, below all ways into the turn."""
    roots, deck = grow(game)[0].leaves, game.deck
    left = [card for card in range(deck.size) if card not in game.board]
    cards = [(*game.board, card) for card in left[:boards]]
    return compile_range_tree(game, boards=cards, roots=roots, merge=False), cards, roots


# Learning ------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES + RESPONDERS)
@pytest.mark.parametrize("name", sorted(GAMES))
def test_many_iterations_at_once_are_those_of_the_plain_loop(name: str, schedule: str) -> None:
    tree = compile_range_tree(GAMES[name], merge=True)
    fast, slow = NumbaRangeEngine(tree, 1), NumbaRangeEngine(tree, 2)
    slow.fused = False
    same(solved(fast, schedule, (6, 1, 5)), solved(slow, schedule, (6, 1, 5)))


@pytest.mark.parametrize("schedule", ["cfr", "dcfr", "pdcfr+"])
def test_so_are_they_below_several_roots_and_in_sixteen_bits(schedule: str) -> None:
    tree, _, _ = several(FLOP)
    for storage in ("float32", "int16"):
        fast, slow = (NumbaRangeEngine(tree, threads, storage) for threads in (2, 1))
        slow.fused = False
        reach = tuple(random_reach(fast, p, p) for p in (0, 1))
        same(*(solved(engine, schedule, (5,), reach=reach) for engine in (fast, slow)))


def same(one: Cfr, two: Cfr) -> None:
    for mine, yours in zip(one.pair, two.pair, strict=True):
        for got, want in zip(mine, yours, strict=True):
            if want is None:
                assert got is None
                continue
            got, want = np.asarray(got), np.asarray(want)
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6 * np.abs(want).max())


@pytest.mark.parametrize("schedule", ["dcfr", "pdcfr+", "cfr"])
def test_several_roots_and_boards_are_solved_as_each_alone(schedule: str) -> None:
    tree, boards, roots = several(FLOP)
    engine = NumbaRangeEngine(tree, 2)
    reach = [random_reach(engine, p, p) for p in (0, 1)]
    assert reach[0].shape == (len(roots) * len(boards), 55)
    cfr = solved(engine, schedule, reach=(reach[0], reach[1]))
    results = [found_by(cfr, p, reach) for p in (0, 1)]
    for way, root in enumerate(roots):
        for k, cards in enumerate(boards):
            at = [way * len(boards) + k]
            alone = NumbaRangeEngine(
                compile_range_tree(FLOP, boards=[cards], roots=[root], merge=False), 1
            )
            own = [weights[at] for weights in reach]
            one = solved(alone, schedule, reach=(own[0], own[1]))
            for p in (0, 1):
                for got, want in zip(results[p], found_by(one, p, own), strict=True):
                    np.testing.assert_allclose(got[at], want, rtol=1e-5, atol=1e-9)


def found_by(cfr: Cfr, p: int, reach: list[Any]) -> tuple[Any, Any]:
    """What player `p` gets by the average and at best, at every root."""
    engine: Any = cfr.engine
    mine, theirs = (engine.behaviour(q, cfr.pair[q].average) for q in (p, 1 - p))
    against = engine.plan(1 - p, theirs, reach[1 - p])
    return engine.values(p, mine, against).roots, engine.respond(p, against).roots


def test_a_narrower_board_is_padded() -> None:
    """Whatever stands there: nothing is learnt from it, and nothing is paid."""
    streets = grow(NARROW, grow(NARROW)[0].leaves)
    tree = stage_tree(compile_range_tree(NARROW, merge=False), streets)
    engine = NumbaRangeEngine(tree, 2)
    held = [np.array([len(unit.hands[p]) for unit in tree.units[: engine.many]]) for p in (0, 1)]
    assert len(set(held[0])) > 1
    for p in (0, 1):
        roots = engine.roots(p).reshape(engine.ways, engine.many, -1)
        assert roots.shape[2] == held[p].max()
        np.testing.assert_array_equal(roots.sum(2), np.tile(held[p], (engine.ways, 1)))
        values = engine.respond(p, engine.plan(1 - p, random_sigma(engine, 1 - p, 0))).roots
        assert not values[engine.roots(p) == 0].any()
        assert values[engine.roots(p) == 1].any()


def test_threads_change_nothing() -> None:
    tree, _, _ = several(FLOP, 5)
    runs = [solved(NumbaRangeEngine(tree, threads), "dcfr") for threads in (1, 2, 3)]
    for other in runs[1:]:
        for p in (0, 1):
            np.testing.assert_array_equal(other.pair[p].regret, runs[0].pair[p].regret)


def test_probabilities_are_positive_and_sum_to_one() -> None:
    tree = compile_range_tree(GAMES["turn"], merge=True)
    for storage in ("float32", "int16"):
        engine = NumbaRangeEngine(tree, 1, storage)
        cfr = solved(engine, "pdcfr+")
        rates = engine.rates(parse("pdcfr+").discounts(10, 1), 10)[0]
        for p in (0, 1):
            side = tree.players[p]
            assert isinstance(side, RangeSide)
            regrets = cfr.pair[p]
            regret, instant = np.asarray(regrets.regret), np.asarray(regrets.instant)
            ahead = regret * np.where(regret > 0, rates[0], rates[1]) + instant
            made = (
                (engine.behaviour(p, regrets.average), np.asarray(regrets.average)),
                (engine.current(p, regrets, rates), ahead),
            )
            for probs, weights in made:
                assert probs.dtype == np.float32
                assert (probs >= 0).all()
                for i in range(len(side.names)):
                    cells = side.sequences(i)
                    plus = np.where(weights[cells] > 0, weights[cells], 0).astype(np.float64)
                    want = plus / plus.sum() if plus.sum() > 0 else 1 / len(cells)
                    np.testing.assert_allclose(probs[cells], want, rtol=1e-5, atol=1e-6)
            none = engine.behaviour(p, np.zeros(tree.stored(p), np.float32))
            assert none[side.sequences(0)] == pytest.approx(1 / len(side.sequences(0)))


def test_a_sweep_evaluates_and_responds() -> None:
    tree = compile_range_tree(GAMES["turn"], merge=True)
    engine = NumbaRangeEngine(tree, 1)
    still, reach = engine.rates(np.ones((1, 3)), 1)[0], (engine.roots(0), engine.roots(1))
    sigma = [random_sigma(engine, p, p) for p in (0, 1)]
    for p in (0, 1):
        mine, theirs = (Regrets(sigma[q].copy(), None, None) for q in (p, 1 - p))
        against = engine.plan(1 - p, sigma[1 - p], reach[1 - p][0])
        got = engine.sweep(p, Mode.EVALUATE, (mine, theirs), (still, still), reach)
        want = engine.values(p, sigma[p], against).roots
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        best = engine.respond(p, against).roots
        for mode in (Mode.BEST, Mode.RESPOND):
            got = engine.sweep(p, mode, (mine, theirs), (still, still), reach)
            np.testing.assert_allclose(got, best, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(
            engine.values(p, mine.regret, against).roots, best, rtol=1e-5, atol=1e-6
        )


def test_sampling_is_refused() -> None:
    engine = NumbaRangeEngine(compile_range_tree(GAMES["river"]), 1)
    with pytest.raises(sg.SubgameError, match="without sampling"):
        engine.sample(
            (engine.regrets(0), engine.regrets(1)),
            np.ones((2, 3)),
            "chance",
            np.zeros(1, np.uint64),
        )


# The inside of a street ----------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_reached_by_the_product_of_probabilities(threads: int) -> None:
    for tree in (compile_range_tree(NARROW, merge="boards"), several(FLOP)[0]):
        engine = NumbaRangeEngine(tree, threads)
        for p in (0, 1):
            sigma, reach = random_sigma(engine, p, 3), random_reach(engine, p, 4)
            reached, side = engine.row_reach(p, sigma, reach), tree.players[p]
            assert isinstance(side, RangeSide)
            for u, unit in enumerate(tree.units):
                s, street = unit.street, tree.streets[unit.street]
                b, held = u - int(engine.first[s]), unit.hands[p]
                want = np.zeros((street.rows[p], len(held)))
                if s == 0:
                    entry = reach.reshape(engine.ways, engine.many, -1)[:, b, : len(held)]
                else:
                    above = tree.units[unit.parent]
                    place = [above.hands[p].tolist().index(hand) for hand in held]
                    out = [rows[p] for rows in tree.streets[s - 1].leaf_rows]
                    k = unit.parent - int(engine.first[s - 1])
                    entry = reached[s - 1][out][:, k, place]
                want[: len(street.roots)] = entry
                for j, (parent, first) in enumerate(
                    zip(street.parent[p], street.first[p], strict=True)
                ):
                    probs = sigma[side.cells(u, j)].T  # [action, h]
                    want[first : first + len(probs)] = want[parent] * probs
                np.testing.assert_allclose(reached[s][:, b, : len(held)], want, rtol=1e-6)
                assert not reached[s][:, b, len(held) :].any()


@pytest.mark.parametrize("game", [NARROW, SUITS], ids=["narrow", "suits"])
def test_values_of_rows_hang_together(game: Holdem) -> None:
    """Roots as a response has them, decisions at their best action, streets as stages of them."""
    tree = compile_range_tree(game, merge="boards")
    engine = NumbaRangeEngine(tree, 2)
    for p in (0, 1):
        sigma, reach = random_sigma(engine, 1 - p, 5), engine.roots(1 - p)
        rows = engine.row_values(p, sigma, reach)
        best = engine.respond(p, engine.plan(1 - p, sigma, reach)).roots
        np.testing.assert_allclose(rows[0][0], best, rtol=1e-9)
        ending = {end.rows[p] for end in tree.streets[1].endings}
        leaves = {row[p] for row in tree.streets[1].leaf_rows}
        street = tree.streets[1]
        for row in set(street.parent[p]) - ending - leaves:
            here = [j for j, parent in enumerate(street.parent[p]) if parent == row]
            maxima = [
                rows[1][street.first[p][j] :][: len(street.actions[p][j])].max(0) for j in here
            ]
            np.testing.assert_allclose(rows[1][row], np.sum(maxima, axis=0), rtol=1e-9, atol=1e-12)
        stage = engine.stage(tree.streets[1:])
        for q in (0, 1):
            assert stage.tree.stored(q) == tree.stored(q) - int(
                tree.boards.store_at[2 * engine.first[1] + q]
            )
        below = sigma[-stage.tree.stored(1 - p) :]
        there = engine.row_reach(1 - p, sigma, reach)
        arrived = there[1][: stage.ways].reshape(stage.ways * stage.many, -1)
        values = stage.respond(p, stage.plan(1 - p, below, arrived)).roots
        want = rows[1][: stage.ways].reshape(values.shape)
        np.testing.assert_allclose(values, want, rtol=1e-9, atol=1e-12)
        inside = stage.row_values(p, below, arrived)
        for got, same in zip(inside, rows[1:], strict=True):
            np.testing.assert_allclose(got, same, rtol=1e-9, atol=1e-12)


def test_a_stage_is_the_tree_of_its_boards() -> None:
    roots = grow(FLOP)[0].leaves[:2]
    whole = compile_range_tree(FLOP, merge=False)
    stage = NumbaRangeEngine(whole, 2).stage(grow(FLOP, roots))
    boards = [unit.cards for unit in whole.units if unit.street == 1]
    plain = NumbaRangeEngine(compile_range_tree(FLOP, boards=boards, roots=roots), 1)
    assert [unit.cards for unit in stage.tree.units] == [unit.cards for unit in plain.tree.units]
    for name in ("street", "child_at", "hands", "store_at", "groups"):
        np.testing.assert_array_equal(
            getattr(stage.tree.boards, name), getattr(plain.tree.boards, name)
        )
    b = stage.tree.boards
    np.testing.assert_array_equal(b.weight[stage.many :], plain.tree.boards.weight[stage.many :])
    begin = int(b.hand_at[0])
    for name in ("hand", "above", "cards", "same"):
        got, want = getattr(b, name)[begin:], getattr(plain.tree.boards, name)
        np.testing.assert_array_equal(got, want, err_msg=name)
    reach = [random_reach(plain, p, p) for p in (0, 1)]
    runs = [solved(engine, "dcfr", reach=(reach[0], reach[1])) for engine in (stage, plain)]
    for p in (0, 1):
        np.testing.assert_array_equal(runs[0].pair[p].regret, runs[1].pair[p].regret)
        got, want = (
            np.array(found_by(run, p, reach)) * engine.tree.deals
            for run, engine in zip(runs, (stage, plain), strict=True)
        )
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert stage.tree.deals == whole.deals


def test_a_stage_of_boards_that_suits_exchange_pays_what_all_boards_pay() -> None:
    whole = compile_range_tree(SUITS, merge="boards")
    streets = grow(SUITS, whole.streets[0].leaves)
    stage = NumbaRangeEngine(stage_tree(whole, streets), 1)
    boards = [unit.cards for unit in whole.units if unit.street == 1]
    plain = NumbaRangeEngine(compile_range_tree(SUITS, boards=boards, roots=streets[0].roots), 1)
    assert len(stage.tree.units) < len(plain.tree.units)
    values = []
    for engine in (stage, plain):
        sigma = [engine.behaviour(p, np.zeros(engine.tree.stored(p), np.float32)) for p in (0, 1)]
        responses = [engine.respond(p, engine.plan(1 - p, sigma[1 - p])).roots for p in (0, 1)]
        values.append([roots * engine.tree.deals for roots in responses])
    for p in (0, 1):
        np.testing.assert_allclose(values[0][p], values[1][p], rtol=1e-9, atol=1e-9)


def test_a_river_stage_of_many_boards() -> None:
    whole = NumbaRangeEngine(compile_range_tree(FLOP, merge=False), 2)
    stage = whole.stage([whole.tree.streets[2]])
    assert stage.many == 132
    sigma = [random_sigma(whole, p, p) for p in (0, 1)]
    for p in (0, 1):
        rows = whole.row_values(p, sigma[1 - p], whole.roots(1 - p))[2][: stage.ways]
        reach = whole.row_reach(1 - p, sigma[1 - p], whole.roots(1 - p))[2][: stage.ways]
        below = sigma[1 - p][-stage.tree.stored(1 - p) :]
        plan = stage.plan(1 - p, below, reach.reshape(stage.ways * stage.many, -1))
        values = stage.respond(p, plan).roots.reshape(rows.shape)
        np.testing.assert_allclose(values, rows, rtol=1e-9, atol=1e-12)


def test_opposing_is_the_reach_of_hands_that_share_no_card() -> None:
    tree = compile_range_tree(NARROW, merge=False)
    engine, deck = NumbaRangeEngine(tree, 2), tree.holdem.deck
    rng = np.random.default_rng(1)
    for p in (0, 1):
        for s in range(3):
            units = [unit for unit in tree.units if unit.street == s]
            wide = max(len(unit.hands[1 - p]) for unit in units)
            reach = rng.random((19, len(units), wide))
            opposing = engine.opposing(p, reach, s)
            for k, unit in enumerate(units):
                mine, theirs = unit.hands[p], unit.hands[1 - p]
                pairs = deck.disjoint[np.ix_(mine, theirs)]
                want = reach[:, k, : len(theirs)] @ pairs.T / tree.deals
                np.testing.assert_allclose(opposing[:, k, : len(mine)], want, rtol=1e-9, atol=1e-12)
                assert not opposing[:, k, len(mine) :].any()


def test_merged_hands_are_refused() -> None:
    tree = compile_range_tree(sg.holdem.endgame("QsJh2h8d", 4, 8, bets="all: a"), merge=True)
    assert tree.merged
    engine = NumbaRangeEngine(tree)
    for call in (
        lambda: engine.stage(tree.streets[1:]),
        lambda: engine.row_reach(0, np.zeros(0), np.zeros(0)),
        lambda: engine.opposing(0, np.zeros(0), 0),
    ):
        with pytest.raises(sg.SubgameError, match="merge=False"):
            call()


def test_a_stage_has_the_streets_of_its_tree() -> None:
    tree = compile_range_tree(FLOP, merge=False)
    with pytest.raises(sg.SubgameError, match="last streets"):
        stage_tree(tree, tree.streets[:2])
    assert isinstance(stage_tree(tree, tree.streets).boards, BoardArrays)


@pytest.mark.parametrize("name", ["river", "turn", "suits"])
@pytest.mark.parametrize("storage", ["float32", "int16"])
def test_a_check_within_the_iterations_is_the_exploitability(name: str, storage: str) -> None:
    for merge in (False, True):
        run = Run(compile_range_tree(GAMES[name], merge=merge), parse("hs-dcfr"), storage=storage)
        assert run.can_check
        assert run.advance(3) is None
        wins = run.advance(4, check=True)
        assert wins is not None
        exact = run.measure()
        assert wins[::-1] == pytest.approx(exact.per_seat, abs=1e-5 * GAMES[name].rules.pot)
        before = [np.array(regrets.regret) for regrets in run.cfr.pair]
        run.cfr.advance(np.ones((1, 3)), 8, check=True)  # no iteration: nothing is learnt
        for mine, then in zip(run.cfr.pair, before, strict=True):
            np.testing.assert_array_equal(np.array(mine.regret), then)


@pytest.mark.parametrize("mode", ["values", "sweep"])
def test_the_same_array_of_reach_may_have_other_numbers_later(mode: str) -> None:
    engine = NumbaRangeEngine(compile_range_tree(GAMES["river"]), 1)
    sigma = [random_sigma(engine, p, seed=p) for p in (0, 1)]
    pair = Regrets(sigma[0], None, None), Regrets(sigma[1], None, None)
    still, reach = engine.rates(np.ones((1, 3)), 1)[0], random_reach(engine, 1, seed=2)

    def values() -> Any:
        if mode == "values":
            return engine.values(0, sigma[0], engine.plan(1, sigma[1], reach)).roots
        return engine.sweep(0, Mode.EVALUATE, pair, (still, still), (engine.roots(0), reach))

    before = values()
    reach *= 0.5
    np.testing.assert_allclose(values(), before / 2, rtol=1e-5, atol=1e-6)


def test_runs_of_an_engine_with_different_reach_take_turns() -> None:
    engine, plan = NumbaRangeEngine(compile_range_tree(GAMES["river"]), 1), parse("dcfr")
    reach = [tuple(random_reach(engine, p, seed) for p in (0, 1)) for seed in (1, 2)]
    alone = [solved(engine, "dcfr", (6,), reach=entered) for entered in reach]
    turns = [Cfr(engine, reach=(entered[0], entered[1])) for entered in reach]
    for begin in (1, 4):
        for cfr in turns:
            cfr.advance(plan.discounts(begin, 4), begin)
            engine.sweep(0, Mode.EVALUATE, cfr.pair, (STILL[0], STILL[0]), turns[0].reach)
    for one, two in zip(alone, turns, strict=True):
        for p in (0, 1):
            np.testing.assert_array_equal(one.pair[p].regret, two.pair[p].regret)


@pytest.mark.parametrize("schedule", ["hs-dcfr", "pcfr+", "cfr-br", "cfr"])
def test_a_run_goes_on_when_the_engine_gets_other_threads(schedule: str) -> None:
    tree = compile_range_tree(GAMES["turn"])
    engine = NumbaRangeEngine(tree, 1)
    runs = [Run(tree, parse(schedule), on=engine) for _ in range(2)]
    for threads in (1, 2, 2, 1):
        engine.set_threads(threads)
        runs[0].advance(3, check=True)
    runs[1].advance(12)
    for one, two in zip(*(run.cfr.pair for run in runs), strict=True):
        np.testing.assert_array_equal(one.regret, two.regret)
        np.testing.assert_array_equal(one.average, two.average)


def test_a_solve_to_a_target_ends_with_an_exact_measure() -> None:
    tree = compile_range_tree(GAMES["turn"])
    result = sg.solve(tree, "hs-dcfr", target=0.02)
    assert result.stopped == "target"
    assert result.exploitability <= 0.02
    assert result.curve[-1].exploitability == pytest.approx(float(result.exploitability), abs=1e-6)
    assert sg.exploitability(tree, result.strategy) == pytest.approx(result.exploitability)
    exact = {}
    run = Run(tree, parse("hs-dcfr"))
    for point in result.curve:
        run.advance(point.iteration - run.iteration)
        exact[point.iteration] = float(run.measure())
    for point in result.curve:
        assert point.exploitability == pytest.approx(exact[point.iteration], abs=4e-4)
