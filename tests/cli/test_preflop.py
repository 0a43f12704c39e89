"""Preflop ranges: against push or fold, against plain enumeration, and from the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Cli, runner

import subgame as sg
from subgame.cli import preflop as command
from subgame.errors import SubgameError
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.ranges import class_names
from subgame.spots.classes import preflop
from subgame.spots.preflop import PreflopSolution, preflop_game, solve_preflop
from subgame.spots.pushfold import push_fold

NAMES = class_names(DECK)


@pytest.fixture(scope="module")
def solution() -> PreflopSolution:
    return solve_preflop(20, "2.5r / raise a / cap 2", iterations=100)


def test_push_or_fold_is_one_of_its_trees() -> None:
    chart = push_fold(10)
    result = solve_preflop(10, "a / cap 1; remove c", target=1e-4)
    assert result.value == pytest.approx(chart.value, abs=5e-4)
    push, call = result.decision().chart(), result.decision("all-in").chart()
    for name in NAMES:
        if abs(chart.push_ev[name]) > 0.02:
            assert push[name]["all-in 10"] == pytest.approx(chart.push[name], abs=0.02), name
        if abs(chart.call_ev[name]) > 0.1:
            assert call[name]["call 9"] == pytest.approx(chart.call[name], abs=0.02), name


def test_the_value_is_that_of_all_pairs_of_hands(solution: PreflopSolution) -> None:
    """Hand by hand of the small blind: every line with its chance and what it pays."""
    table, value = preflop(), 0.0
    charts = {line: solution.decision(line).probs for line in solution.lines()}
    root, limped, opened = charts[""], charts["call 0.5"].T, charts["raise to 2.5"].T
    jammed = charts["call 0.5, raise to 2.5, all-in 20"].T
    for i in range(169):
        even = 2 * table.equity[i] - 1
        behind, faced = charts["call 0.5, raise to 2.5"][i], charts["raise to 2.5, all-in 20"][i]
        against = jammed[0] * 2.5 + jammed[1] * 20 * even
        raised = behind[0] * -1 + behind[1] * 2.5 * even + behind[2] * against
        pay = root[i, 0] * -0.5 + root[i, 1] * (limped[0] * even + limped[1] * raised)
        answer = faced[0] * -2.5 + faced[1] * 20 * even
        pay += root[i, 2] * (opened[0] + opened[1] * 2.5 * even + opened[2] * answer)
        value += table.pairs[i] @ pay
    assert value / table.pairs.sum() == pytest.approx(solution.value, abs=1e-9)


def test_a_decision_by_classes(solution: PreflopSolution) -> None:
    first = solution.decision()
    assert first.names == ("fold", "call 0.5", "raise to 2.5")
    assert first.frequency.sum() == pytest.approx(1)
    answer = solution.decision("raise to 2.5")
    assert answer.seat == "big blind"
    assert answer.reach == pytest.approx(np.ones(169))
    later = solution.decision("raise to 2.5, all-in")
    row = next(row for row in later.class_table() if row["class"] == "AA")
    assert row["weight"] == pytest.approx(first.chart()["AA"]["raise to 2.5"])
    assert row["fold"] < 0.01
    assert solution.exploitability < 0.01
    for stack, bets in ((1, "a"), (20, "2.5q")):
        with pytest.raises(SubgameError):
            solve_preflop(stack, bets)


# The command -----------------------------------------------------------------------------------
@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


def test_the_command_preflop(cli: Cli) -> None:
    arguments = (
        "preflop",
        "--stack",
        "20",
        "--bets",
        "2.5r / raise a / cap 2",
        "--iterations",
        "100",
    )
    text = cli(*arguments, "--line", "raise to 2.5")
    assert text.code == 0, text.err
    for words in ("Big blind after raise to 2.5, 20 big blinds", "AA  a", "The small blind wins"):
        assert words in text.out
    answer = cli(*arguments, "--json").json()
    assert answer["player"] == "small blind"
    assert sum(answer["frequency"].values()) == pytest.approx(1)
    assert cli(*arguments, "--csv").out.startswith("class,weight,chance,fold,call 0.5,raise to 2.5")
    assert "--stack must be above 1 big blind" in cli("preflop", "--stack", "1").err
    assert "which --flop gives" in cli(*arguments, "--device", "torch").err
    assert "the flop comes" in cli(*arguments, "--line", "raise to 2.5, call").err


def test_betting_on_the_flop(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a small deck: the frequencies are those of the strategy of flop hold'em."""
    game = sg.holdem.nlfh(20, 1, 2, "preflop: 2r a / cap 2; flop: 1x / cap 1", "TJQKA", "hs")
    shown = command._flop(game, command.Solving(iterations=20), "raise to 4")
    result = sg.solve(sg.compile(game, merge="boards"), "dcfr", iterations=20)
    assert shown.value == pytest.approx(-result.value)
    mix = result.strategy["AsAh |  | r4"]
    row = next(row for row in shown.rows if row["class"] == "AA")
    assert [row[name] for name in shown.decision.names] == pytest.approx(list(mix.values()))
    assert preflop_game(20, flop="1x / cap 1").rules.last == "flop"
