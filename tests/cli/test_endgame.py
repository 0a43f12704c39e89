"""``subgame endgame``: what it prints, the JSON, files, errors, Ctrl-C."""

from __future__ import annotations

import itertools
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import Cli, runner
from rich.console import Console

import subgame as sg
from subgame.cli import hand_grid
from subgame.games.holdem.cards import RANKS
from subgame.show.grid import ALL_IN, CALL, FOLD, Square
from subgame.solve import solver
from subgame.solve.results import Result, Step
from subgame.spots import hand_classes
from subgame.spots.browse import decision
from subgame.spots.endgame import Endgame

SPOT = ("endgame", "--board", "QsJh2h8d3c", "--pot", "100", "--stack", "200")
RANGES = ("--oop", "66+,A8s+,KQo:0.5,T9s,54s", "--ip", "QQ-22,ATo+,KJ:0.25")
DATA = Path(__file__).parents[3] / "shared" / "data" / "libratus_endgames"
NUMBERS = (
    "ev",
    "equity",
    "exploitability",
    "exploitability_percent",
    "iterations",
    "seconds",
    "nodes",
    "memory_bytes",
    "root",
)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


# Results -------------------------------------------------------------------------------------
def test_json_has_every_number(cli: Cli) -> None:
    answer = cli(*SPOT, "--target", "0.1%", "--json")
    assert answer.code == 0, answer.err
    result = answer.json()
    assert result.keys() >= {*NUMBERS}
    assert sum(result["ev"]) == pytest.approx(100, abs=1e-6)
    assert result["equity"] == pytest.approx([0.5, 0.5])
    assert 0 <= result["exploitability"] <= 0.1
    assert result["exploitability_percent"] == pytest.approx(result["exploitability"])
    gains = np.array(result["best_response_ev"]) - result["ev"]
    assert gains.mean() == pytest.approx(result["exploitability"])
    assert (result["nodes"], result["stopped"]) == (45, "target")
    assert result["memory_bytes"] > 10_000
    assert len(result["root"]) == len(result["ip"]) == 1081
    assert result["actions"] == {
        "c": "check",
        "r50": "bet 50",
        "r100": "bet 100",
        "r200": "all-in 200",
    }
    for row in itertools.chain(result["root"].values(), result["ip"].values()):
        assert list(row) == list(result["actions"])
        assert sum(row.values()) == pytest.approx(1)
    assert sum(result["frequency"].values()) == pytest.approx(1)
    assert result["hands"]["oop"]["QhQd"]["equity"] == pytest.approx(1, abs=0.02)


def test_json_agrees_with_the_library(cli: Cli) -> None:
    outcome = cli(*SPOT, *RANGES, "--iterations", "40", "--threads", "1", "--json").json()
    game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, RANGES[1::2])
    result = sg.solve(sg.compile(game), "hs-dcfr", iterations=40, threads=1)
    solved = Endgame.of(result.strategy)
    assert outcome["iterations"] == 40
    assert outcome["ev"] == pytest.approx(list(solved.ev))
    assert outcome["root"] == solved.decision().table()
    assert outcome["hands"]["ip"] == solved.hands(1)


def test_the_grids_and_figures_without_colours(cli: Cli) -> None:
    answer = cli(*SPOT, *RANGES)
    assert answer.code == 0, answer.err
    assert "\x1b" not in answer.out
    lines = answer.out.splitlines()
    assert max(len(line) for line in lines if "  # " not in line) <= 100
    assert lines[0].startswith("Q♠ J♥ 2♥ 8♦ 3♣   pot 100, 200 behind")
    assert sum(line.startswith("AA ") for line in lines) == 1  # IP has no aces
    for words in (
        "OOP first to act on the river",
        "IP after OOP check",
        "EV",
        "equity",
        "exploitability",
        "iterations",
        "time",
        "memory",
        "x check",
        "a all-in 200 (200 %)",
    ):
        assert words in answer.out
    assert "nodes; solving needs" in answer.err


def test_colours_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = runner(capsys, monkeypatch)
    for name, value in {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    out = cli(*SPOT, *RANGES, "--line", "r50").out
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in out.splitlines()]
    assert max(len(line) for line in plain if "  # " not in line) <= 80
    assert "IP after OOP bet 50" in plain
    for red, green, blue in (CALL, FOLD):
        assert f"48;2;{red};{green};{blue}" in out


def test_an_asymmetric_stack_and_a_line(cli: Cli) -> None:
    result = cli(
        *SPOT[:-1], "300/150", *RANGES, "--bets", "a / raise none", "--line", "c r150", "--json"
    ).json()
    assert result["stacks"] == [300, 150]
    assert list(result["actions"]) == ["c", "r150"]
    assert result["line"]["player"] == "oop"
    assert result["line"]["actions"] == {"f": "fold", "c": "call 150"}
    assert result["line"]["strategy"].keys() <= result["root"].keys()


def test_no_bets_are_told(cli: Cli) -> None:
    answer = cli(*SPOT, "--bets", "turn: 1x", "--json")
    assert "allow no bet on these streets" in answer.err
    assert answer.json()["ev"] == pytest.approx([50, 50])


def test_suits_are_not_merged_on_request(cli: Cli) -> None:
    spot = ("endgame", "--board", "QsJh2h8d", "--pot", "100", "--stack", "50", "--bets", "a")
    run = ("--iterations", "2", "--json")
    merged, whole = (cli(*spot, *option, *run).json() for option in ((), ("--no-merge",)))
    assert merged["nodes"] < whole["nodes"]
    assert merged["ev"] == pytest.approx(whole["ev"], abs=1e-3)
    refused = cli("endgame", "spot.safetensors", "--no-merge")
    assert "so --no-merge cannot be given with it" in refused.err


# Files ---------------------------------------------------------------------------------------
def test_a_saved_spot_is_shown_again(cli: Cli, tmp_path: Path) -> None:
    file = str(tmp_path / "spot.safetensors")
    first = cli(*SPOT, *RANGES, "--iterations", "30", "--out", file, "--json").json()
    assert first["out"] == file
    again = cli("endgame", file, "--json").json()
    assert again["stopped"] == "saved"
    assert again["seconds"] is None
    for key in ("ev", "equity", "root", "ip", "nodes", "iterations"):
        assert again[key] == first[key]
    assert again["exploitability"] == pytest.approx(first["exploitability"], rel=1e-6)
    shown = cli("endgame", file, "--line", "c r50")
    assert shown.code == 0
    assert "OOP after OOP check, IP bet 50" in shown.out


@pytest.mark.skipif(not DATA.exists(), reason="the endgames of Libratus are not here")
def test_a_libratus_endgame(cli: Cli) -> None:
    file, bets = str(DATA / "subgame3.txt"), "1x a / cap 2"
    result = cli("endgame", file, "--iterations", "20", "--bets", bets, "--json").json()
    assert (result["board"], result["pot"], result["stacks"]) == ("4s8hTc9h2s", 500, [19750, 19750])
    assert sum(result["ev"]) == pytest.approx(500)
    assert result["exploitability_percent"] == pytest.approx(result["exploitability"] / 5)


# Errors --------------------------------------------------------------------------------------
GOOD = "--board QsJh2h8d3c --pot 100 --stack 1000"
WRONG = [
    ("", "--board is missing"),
    ("--board QsJh2h8d3c --pot 100", "--stack is missing"),
    ("--board QsJx2h --pot 100 --stack 10", "there is no suit 'x'"),
    ("--board QsQs2h --pot 100 --stack 10", "this card was already given"),
    ("--board QsJh --pot 100 --stack 10", "A board has 3, 4 or 5 cards"),
    ("--board QsJh2h8d3c --pot -1 --stack 10", "--pot: The pot must be a number of chips above 0"),
    ("--board QsJh2h8d3c --pot many --stack 10", "--pot"),
    ("--board QsJh2h8d3c --pot 100 --stack 10k", "not '10k'"),
    ("--board QsJh2h8d3c --pot 100 --stack 1/2/3", "two stacks are expected, not 3: '1/2/3'"),
    ("--board QsJh2h8d3c --pot 100 --stack 5 --min-bet 10", "below the smallest bet"),
    (f"{GOOD} --oop AA,KQx+", "--oop: In the range 'AA,KQx+', at 'KQx' (character 4)"),
    (f"{GOOD} --ip ,", "--ip: The range is empty"),
    (f"{GOOD} --ip AA:0", "the player on the button is empty"),
    (f"{GOOD} --ip QsJs", "blocks every hand"),
    (f"{GOOD} --oop AsKs --ip AsKd", "the hands share a card"),
    (f"{GOOD} --bets river:5y", "--bets: In the bet sizes 'river:5y', at '5y' (character 7)"),
    (f"{GOOD} --bets 1x,5y", "--bets: In the bet sizes '1x,5y', at '5y' (character 4)"),
    (f"{GOOD} --bets rivr:1x", "there is no street 'rivr'"),
    (f"{GOOD} --target 0%", "--target must be a share of the pot such as 0.1%"),
    (f"{GOOD} --target low", "not 'low'"),
    (f"{GOOD} --target nan", "not 'nan'"),
    (f"{GOOD} --target 1%%", "not '1%%'"),
    (f"{GOOD} --iterations 0", "--iterations must be a whole number"),
    (f"{GOOD} --seconds -1", "--seconds must be a number above 0"),
    (f"{GOOD} --threads 0", "--threads must be"),
    (f"{GOOD} --min-bet 0", "--min-bet: The smallest bet must be a number of chips above 0"),
    (f"{GOOD} --schedule mccfr", "The schedule mccfr does not solve hold'em"),
    (f"{GOOD} --schedule lp", "The schedule lp does not solve hold'em"),
    (f"{GOOD} --schedule dcffr", "did you mean 'dcfr'"),
    (f"{GOOD} --line r70", "not 'r70'"),
    (f"{GOOD} --line cc", "the hand is over"),
    ("--board QsJh2h8d --pot 100 --stack 1000 --line cc", "the river comes; name it in the line"),
    (f"{GOOD} --out a.txt", ".safetensors"),
    (f"{GOOD} --out no/a.safetensors", "there is no folder"),
    ("--board QsJh2h --pot 100 --stack 1000 --memory-limit 10MB", "over the limit"),
    (f"{GOOD} --memory-limit 150kB --schedule pcfr+", "over the limit of 150kB"),
    (f"{GOOD} --memory-limit lots", "'lots'"),
    ("missing.txt", "There is no file missing.txt; expected a Libratus endgame: a text file"),
    ("missing.safetensors", "There is no file missing.safetensors; expected a hold'em spot"),
    ("missing.txt --pot 10", "defines the spot, so --pot cannot be given"),
    ("missing.safetensors --target 1%", "There is no file missing.safetensors"),
    ("missing.safetensors --bets 1x", "so --bets cannot be given"),
    (f"{GOOD} --bord Qs", "did you mean '--board'?"),
]


@pytest.mark.parametrize(("line", "words"), WRONG, ids=[line for line, _ in WRONG])
def test_one_sentence_and_exit_code_2(cli: Cli, line: str, words: str) -> None:
    answer = cli("endgame", *line.split())
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert answer.err.endswith(".\n")
    assert words in answer.err
    assert "^" not in answer.err


def test_ctrl_c_keeps_what_is_done(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    complete = solver.complete
    presses = iter([signal.SIGINT])

    def interrupted(
        run: solver.Run, limits: solver.Limits, checkpoint: Any, progress: Any, *, keep: bool
    ) -> Result:
        def press(step: Step) -> None:
            for number in presses:
                signal.raise_signal(number)

        shown = press if progress else None  # not the warm-up
        return complete(run, limits, checkpoint, shown, keep=keep)

    monkeypatch.setattr(solver, "complete", interrupted)
    answer = cli(*SPOT, "--seconds", "60", "--json")
    assert answer.code == 130
    assert answer.json()["stopped"] == "interrupted"
    assert answer.json()["iterations"] > 0


# The grid ------------------------------------------------------------------------------------
def test_the_grid_is_that_of_every_chart() -> None:
    game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AhKh,AsKs:0.5,22,AQo", "random"))
    shown = decision(sg.Strategy.uniform(sg.compile(game)))
    grid = shown.squares()
    names = [[cell.name for cell in line] for line in grid]
    assert names[0][:3] == ["AA", "AKs", "AQs"]
    assert names[1][:3] == ["AKo", "KK", "KQs"]
    assert [line[i] for i, line in enumerate(names)] == [rank * 2 for rank in reversed(RANKS)]
    assert len({name for line in names for name in line}) == 169
    suited, offsuit, twos = grid[0][1], grid[1][0], grid[12][12]
    assert suited.weight == pytest.approx(1.5 / 4)
    assert (offsuit.weight, twos.weight) == (0, 1)
    assert suited.mix == pytest.approx(np.full(4, 0.25))


def test_a_cell_is_split_by_its_actions() -> None:
    shown = [hand_classes.Look(CALL, "x"), hand_classes.Look(ALL_IN, "a")]
    cell = Square("AKs", 1.0, (0.5, 0.5))
    text = hand_grid._cell(cell, shown, 6)
    assert text.plain == " AKs  "
    console = Console(force_terminal=True, color_system="truecolor", width=20)
    papers = [s.style.bgcolor for s in text.render(console) if s.text.strip("\n") and s.style]
    colours = [tuple(paper.triplet) for paper in papers if paper and paper.triplet]
    assert colours[0] == ALL_IN
    assert colours[-1] == CALL
    assert hand_grid._letters(cell, shown, 6) == "AKs xa"
    assert hand_grid._letters(cell, shown, 5) == "AKs x"
