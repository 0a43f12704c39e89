"""Matches: the estimate is that of exact evaluation, the log loses nothing."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import subgame as sg
from subgame.games import holdem
from subgame.games.base import CHANCE
from subgame.games.no_limit import NoLimitLeduc
from subgame.play import Always, StrategyAgent, Translated, Uniform, match, play_hand
from subgame.play.agent import Agent
from subgame.play.match import Estimate, mixed_seed, observations
from subgame.solve.evaluate import head_to_head
from subgame.tree.ranges.tree import RangeTree, compile_range_tree


@pytest.fixture(scope="module")
def leduc() -> sg.PublicTree:
    return sg.compile(sg.games.load("leduc"))


@pytest.fixture(scope="module")
def flop() -> RangeTree:
    game = holdem.nlfh(
        ranks="6789", suits="cds", bets="preflop: 1x / cap 1; flop: 1x / cap 1", stack=1000
    )
    return compile_range_tree(game, merge="boards")


def close(estimate: Estimate, exact: float) -> None:
    """Within four standard errors: a false alarm once in 16,000 seeds, and the seed is fixed."""
    assert abs(estimate.mean - exact) < 2.04 * estimate.interval95
    assert estimate.interval95 < 10 * abs(exact)


def test_a_match_estimates_the_exact_value(leduc: sg.PublicTree) -> None:
    one, two = sg.Strategy.random(leduc, 1), sg.Strategy.random(leduc, 2)
    exact = head_to_head(leduc, one, two)
    result = match("leduc", [StrategyAgent(one), StrategyAgent(two)], hands=4000, seed=3)
    close(result.result, exact.mean)
    for seat in (0, 1):
        close(result.per_seat[seat], exact.per_seat[seat])


def test_holdem_agents_find_their_hands_on_every_board(flop: RangeTree) -> None:
    """Boards merged by suit symmetry are found by a permutation that carries the hand along."""
    game = flop.holdem
    one, two = sg.Strategy.random(flop, 1), sg.Strategy.uniform(flop)
    agents = [StrategyAgent(one), StrategyAgent(two)]
    exact = head_to_head(flop, one, two)
    result = match(game, agents, hands=4000, seed=3)
    _, scale = game.unit
    for seat in (0, 1):
        assert abs(result.per_seat[seat].mean - exact.per_seat[seat] * scale) < (
            2.04 * result.per_seat[seat].interval95
        )
    state = game.new_initial_state().child("9d8d").child("7c6c").child("c").child("c")
    state = state.child("9s7d6s")
    name = state.information_state(0)
    actions, at = flop.players[0].lookup(name)
    assert actions == state.legal_actions()
    cards, line = name.rsplit(" | ", 1)
    twin = f"{cards.translate(str.maketrans('dcs', 'csd'))} | {line}"
    assert (flop.players[0].lookup(twin)[1] == at).all()
    with pytest.raises(KeyError):
        flop.players[0].lookup(name.replace("cc/", "ccc/"))


def test_a_duplicate_match_deals_the_same_cards_twice() -> None:
    game, agents = sg.games.load("leduc"), (Uniform(), Always("call"))
    for k in range(0, 20, 2):
        one, two = (play_hand(game, agents, k + i, seed=5, duplicate=True) for i in (0, 1))
        assert one.seats != two.seats
        deals = [[a for p, a in hand.moves if p == CHANCE] for hand in (one, two)]
        shared = min(map(len, deals))
        assert shared >= 2
        assert deals[0][:shared] == deals[1][:shared]
    mirror = match(game, [Always("call"), Always("call")], hands=400, duplicate=True)
    assert mirror.result == Estimate(0.0, 0.0, 200)  # the same play on both sides cancels


def test_processes_play_the_same_hands() -> None:
    with ProcessPoolExecutor(1) as pool:
        many = match("leduc", ["uniform", "raise"], hands=1200, seed=4, executor=pool)
    alone = match("leduc", ["uniform", "raise"], hands=1200, seed=4)
    assert many.result == alone.result
    assert many.lines == alone.lines


def test_hands_are_grouped_by_street_and_line() -> None:
    result = match("leduc", ["call", "raise"], hands=40, seed=1)
    assert [group.name for group in result.streets] == ["round 2"]
    assert sum(group.hands for group in result.lines) == 40
    game = holdem.nlfh(ranks="6789", suits="cds", stack=400)
    result = match(game, ["uniform", "uniform"], hands=60, seed=1)
    assert {group.name for group in result.streets} == {"preflop", "flop"}
    assert sum(group.share(60) for group in result.streets) == pytest.approx(result.result.mean)


def test_a_log_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    first = match("kuhn", ["uniform", "call"], hands=60, seed=2, log=whole)
    data = whole.read_bytes()
    cut.write_bytes(data[: len(data) // 2])  # killed in the middle of a line
    second = match("kuhn", ["uniform", "call"], hands=60, seed=2, log=cut)
    assert cut.read_bytes() == data
    assert second.result == first.result
    assert [json.loads(line)["hand"] for line in data.splitlines()[1:]] == list(range(60))


def test_the_log_of_another_match_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    match("kuhn", ["uniform", "call"], hands=4, log=log)
    with pytest.raises(sg.SubgameError, match="its seed is 0, that of this match is 1"):
        match("kuhn", ["uniform", "call"], hands=4, seed=1, log=log)
    log.write_text("no log\n")
    with pytest.raises(sg.SubgameError, match="is not a log of a match"):
        match("kuhn", ["uniform", "call"], hands=4, log=log)


def test_best_response_wins_what_exact_evaluation_says(leduc: sg.PublicTree) -> None:
    strategy = sg.solve(leduc, iterations=3).strategy
    exact = sg.exploitability(leduc, strategy).mean
    result = match("leduc", ["best-response", StrategyAgent(strategy)], hands=4000, seed=1)
    close(result.result, exact)


def test_translation_is_that_of_the_whole_strategy() -> None:
    """The agent that translates hand by hand plays the strategy that `translate` computes."""
    small, large = (NoLimitLeduc(bets=bets) for bets in ("fcpa", "all"))
    ours = sg.solve(sg.compile(small), iterations=20).strategy
    tree = sg.compile(large)
    exact = head_to_head(tree, sg.translate(tree, ours), sg.Strategy.uniform(tree))
    agents = [Translated(ours, small, large), Uniform()]
    result = match(large, agents, hands=6000, seed=1)
    for seat in (0, 1):
        close(result.per_seat[seat], exact.per_seat[seat])


def test_illegal_actions_end_the_match() -> None:
    class Wrong(Agent):
        name = "wrong"

        def act(self, infoset: str, legal: object) -> str:
            return "x"

    with pytest.raises(sg.SubgameError, match="The agent 'wrong' did 'x' in hand 0"):
        match("kuhn", [Wrong(), "call"], hands=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hands": 0}, "hands must be at least 1"),
        ({"hands": 3, "duplicate": True}, "hands must be even"),
        ({"seed": -1}, "seed must be a whole number from 0 to"),
        ({"agents": ["unifrom", "call"]}, "uniform"),
        ({"agents": ["uniform"]}, "two agents"),
        ({"agents": ["best-response", "best-response"]}, "best response to each other"),
        ({"agents": ["none.safetensors", "call"]}, "There is no file"),
    ],
)
def test_bad_input(options: dict[str, object], message: str) -> None:
    arguments = {"agents": ["uniform", "call"], "hands": 2} | options
    with pytest.raises(sg.SubgameError, match=message):
        match("kuhn", **arguments)  # type: ignore[arg-type]


def test_seeds_differ_and_intervals_are_known() -> None:
    assert len({mixed_seed(a, b, c) for a in range(9) for b in range(9) for c in range(3)}) == 243
    assert list(observations([1, 3, 5, 5], duplicate=True)) == [2, 5]
    assert Estimate.of([1.0]).interval95 == float("inf")


def test_the_first_of_a_billion_hands_is_played_at_once() -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        match("kuhn", ["uniform", "call"], hands=10**15, progress=stop)
