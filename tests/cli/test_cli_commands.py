"""Every command: its JSON, its tables and its streams."""

from __future__ import annotations

import itertools
import json
import logging
import math
import os
import re
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Cli, runner
from rich.table import Table
from rich.text import Text

import subgame as sg
from subgame import gambit
from subgame.cli import COMMANDS as SENTENCES
from subgame.cli import GROUPS, bench, console, demo
from subgame.cli.progress import Meter
from subgame.cli.solve import sparkline
from subgame.solve.results import Result, Step

SOLVE_KEYS = {
    "game",
    "schedule",
    "iterations",
    "seconds",
    "value",
    "exploitability",
    "exploitability_per_seat",
    "stopped",
    "seed",
}
COMMANDS = (
    "games",
    "dealer",
    "acpc",
    "slumbot",
    "gtowizard",
    "gauntlet",
    "histories",
    "solve",
    "exploit",
    "endgame",
    "report",
    "compare",
    "pushfold",
    "preflop",
    "refine",
    "limit",
    "blueprint",
    "abstract",
    "train",
    "match",
    "lbr",
    "play",
    "serve",
    "suite",
    "reproduce",
    "demo",
    "bench",
)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


# Help and version ----------------------------------------------------------------------------
@pytest.mark.parametrize("args", [(), ("--help",), ("-h",)])
def test_help_lists_the_commands(cli: Cli, args: tuple[str, ...]) -> None:
    answer = cli(*args)
    assert answer.code == 0
    assert all(command in answer.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_and_json(cli: Cli, command: str) -> None:
    answer = cli(command, "--help")
    assert (answer.code, answer.err) == (0, "")
    assert "--json" in answer.out or command in ("play", "serve")  # which is for people


@pytest.mark.parametrize("command", ["solve", "exploit", "bench", "report", "compare", "pushfold"])
def test_help_teaches_by_examples(cli: Cli, command: str) -> None:
    assert f"subgame {command} " in cli(command, "--help").out.partition("Examples")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_80_columns(cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """Lines are full: a paragraph is broken where the terminal ends, not where its source does."""
    monkeypatch.setenv("COLUMNS", "80")
    out = cli(command, "--help").out
    lines = [line.strip() for line in out.partition("╭")[0].splitlines()]
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    for line, after in itertools.pairwise(lines):
        if line and after:  # within a paragraph
            assert len(line) + 1 + len(after.split()[0]) > 78, line


def test_help_says_what_the_commands_are_for(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    panels = cli("--help").out.split("╭─ ")[2:]  # the first one has the options
    assert [panel.partition(" ─")[0] for panel in panels] == list(GROUPS)
    for panel, commands in zip(panels, GROUPS.values(), strict=True):
        listed = re.findall(r"^│ ([a-z]+) ", panel, re.MULTILINE)
        assert listed == list(commands)
        assert panel.count("│\n") <= len(commands) + 1  # one line for each command, or one more
    assert sorted(COMMANDS) == sorted(name for group in GROUPS.values() for name in group)
    for name, sentence in SENTENCES.items():
        function = getattr(import_module(f"subgame.cli.{name}"), f"{name}_command")
        assert function.__doc__.startswith(sentence)


def test_version(cli: Cli) -> None:
    answer = cli("--version")
    assert answer.code == 0
    assert answer.out.startswith("subgame 0.")


# games ---------------------------------------------------------------------------------------
def test_games_json(cli: Cli) -> None:
    games = {row["name"]: row for row in cli("games", "--json").json()["games"]}
    assert set(games) == set(sg.games.names())
    assert games["liars-dice"]["parameters"] == {"dice": 1, "faces": 6}
    assert games["liars-dice"]["required"] == []


def test_games_table(cli: Cli) -> None:
    answer = cli("games")
    assert (answer.code, answer.err) == (0, "")
    assert "dice=1, faces=6" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 100


# solve ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("schedule", ["cfr", "cfr+", "dcfr(alpha=2)", "pcfr+", "lp"])
def test_solve_json(cli: Cli, schedule: str) -> None:
    answer = cli("solve", "kuhn", "--schedule", schedule, "--json")
    result = answer.json()
    assert answer.code == 0
    assert set(result) == SOLVE_KEYS
    assert result["game"] == "kuhn"
    assert result["value"] == pytest.approx(-1 / 18, abs=1e-3)
    assert result["exploitability"] == pytest.approx(sum(result["exploitability_per_seat"]) / 2)


def test_solve_stops_at_what_comes_first(cli: Cli) -> None:
    limits = ("--iterations", "100000", "--seconds", "60", "--target", "1e-2")
    assert cli("solve", "kuhn", *limits, "--json").json()["stopped"] == "target"
    assert cli("solve", "kuhn", "--seconds", "0.05", "--json").json()["stopped"] == "seconds"


def test_solve_shows_the_result_on_stdout_only(cli: Cli) -> None:
    answer = cli("solve", "kuhn")
    assert (answer.code, answer.err) == (0, "")
    for words in ("-0.0555", "exploitability", "all iterations done", "Jpb", "Where to go next"):
        assert words in answer.out
    assert max(map(len, answer.out.splitlines())) <= 100


def test_solve_shows_names_that_look_like_markup(cli: Cli) -> None:
    pytest.importorskip("pyspiel")
    answer = cli("solve", "openspiel:leduc_poker", "--iterations", "1")
    assert answer.code == 0
    assert "[Observer: 0]" in answer.out


def test_solve_reads_gambit_files(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "kuhn.efg"
    gambit.save(sg.games.load("kuhn"), file)
    result = cli("solve", str(file), "--schedule", "lp", "--json").json()
    assert result["value"] == pytest.approx(-1 / 18)
    assert result["game"] == str(file)


def test_solve_reads_openspiel_games(cli: Cli) -> None:
    pytest.importorskip("pyspiel")
    result = cli("solve", "openspiel:kuhn_poker", "--schedule", "lp", "--json").json()
    assert result["value"] == pytest.approx(-1 / 18)


def test_out_and_plot_are_written(cli: Cli, tmp_path: Path) -> None:
    out, plot = tmp_path / "kuhn.safetensors", tmp_path / "kuhn.png"
    answer = cli("solve", "kuhn", "--out", str(out), "--plot", str(plot), "--json")
    result = answer.json()
    assert set(result) == SOLVE_KEYS | {"out"}
    assert result["out"] == str(out)
    assert plot.read_bytes().startswith(b"\x89PNG")
    evaluated = cli("exploit", "kuhn", str(out), "--json").json()
    assert evaluated["exploitability"] == pytest.approx(result["exploitability"], abs=1e-15)


def test_a_checkpoint_is_continued_bit_for_bit(cli: Cli, tmp_path: Path) -> None:
    file = str(tmp_path / "run.ckpt")
    seeded = ("--schedule", "dcfr", "--seed", "7")
    assert cli("solve", "kuhn", *seeded, "--iterations", "300", "--checkpoint", file).code == 0
    more = ("--iterations", "500", "--resume", file, "--json")
    resumed = cli("solve", "kuhn", *seeded, *more).json()
    whole = cli("solve", "kuhn", *seeded, "--iterations", "500", "--json").json()
    assert resumed["iterations"] == 500
    assert resumed["exploitability_per_seat"] == whole["exploitability_per_seat"]


def test_numbers_that_json_lacks_become_null(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Result, "as_dict", lambda self: {"value": math.nan, "seat": [math.inf, 1.0]}
    )
    assert cli("solve", "kuhn", "--json").json() == {"value": None, "seat": [None, 1.0]}


# exploit -------------------------------------------------------------------------------------
def test_exploit_uniform(cli: Cli) -> None:
    result = cli("exploit", "kuhn", "uniform", "--json").json()
    assert set(result) == {"game", "exploitability", "exploitability_per_seat", "value"}
    assert result["exploitability"] == pytest.approx(0.4583333333)
    assert result["value"] == pytest.approx(0.125)


def test_exploit_random_depends_on_the_seed(cli: Cli) -> None:
    one, two, again = (
        cli("exploit", "kuhn", "random", "--seed", seed, "--json").json() for seed in "121"
    )
    assert one == again != two


def test_exploit_json_file_with_infosets_left_out(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text(json.dumps({"K": {"b": 1}, "Kpb": {"p": 0, "b": 1.0}}))
    result = cli("exploit", "kuhn", str(file), "--json").json()
    tree = sg.compile(sg.games.load("kuhn"))
    same = sg.Strategy.from_table(tree, {"K": {"b": 1.0}, "Kpb": {"b": 1.0}})
    assert result["exploitability"] == pytest.approx(sg.exploitability(tree, same).mean)


def test_exploit_blueprint(cli: Cli) -> None:
    result = cli("exploit", "coin-toss", "--blueprint", "paper", "--json").json()
    assert result["exploitability_per_seat"] == pytest.approx([0.1875, 0.5])


def test_exploit_shows_where_to_gain(cli: Cli) -> None:
    answer = cli("exploit", "kuhn", "uniform")
    assert (answer.code, answer.err) == (0, "")
    assert "0.458333" in answer.out
    rows = [line.split() for line in answer.out.splitlines()]
    assert ["1", "Kb", "p", "0.500", "b", "0.500", "b", "0.25"] in rows


# demo and bench ------------------------------------------------------------------------------
def few_techniques(meter: Meter) -> demo.Section:
    """The last section as it is laid out, without its work."""
    return demo.Section("techniques", "Subgames are solved again", Text("a table"), [])


def test_demo(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SCHEDULES", dict.fromkeys(demo.SCHEDULES, 300))
    result = cli("demo", "--json").json()
    (spot,) = result["sections"]["river"]
    assert sum(spot["ev"]) == pytest.approx(100)
    assert spot["exploitability"] <= 0.1
    rows = {line["technique"]: line for line in result["sections"]["safely"]}
    assert rows["unsafe"]["exploitability_after"] > rows["unsafe"]["exploitability_before"]
    for name in ("resolve", "maxmargin"):
        assert rows[name]["exploitability_after"] < rows[name]["exploitability_before"]
    exact = {
        row["game"]: row["value"]
        for row in result["sections"]["schedules"]
        if row["schedule"] == "lp"
    }
    assert exact == {"kuhn": pytest.approx(-1 / 18), "leduc": pytest.approx(-0.0856064, abs=1e-6)}
    for row in result["sections"]["schedules"]:
        off = row["value"] - exact[row["game"]]
        assert abs(off) <= 2 * row["exploitability"] + 1e-9
    rows = {line["technique"]: line for line in result["sections"]["techniques"]}
    assert len(rows) == 9
    for name in ("resolve", "maxmargin", "reach-resolve", "reach-maxmargin"):
        assert rows[name]["margin"] > -1e-3
        assert rows[name]["exploitability_after"] < rows[name]["exploitability_before"]
    assert rows["unsafe"]["margin"] < 0
    monkeypatch.setattr(demo, "SCHEDULES", {"cfr+": 10})
    monkeypatch.setattr(demo, "SECTIONS", (*demo.SECTIONS[:1], few_techniques))
    answer = cli("demo")
    assert answer.code == 0
    assert "1. A poker spot" in answer.out
    assert "AKs" in answer.out
    assert "2. Subgames are solved again" in answer.out
    assert "Where to go next" in answer.out


def test_bench_hands_over(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    import subgame.bench.small_games

    asked: list[tuple[Any, ...]] = []

    def run(only: str | None, quick: bool, progress: Any) -> list[dict[str, Any]]:
        asked.append((only, quick))
        progress("leduc [iteration]")
        return [{"work": "leduc", "ratio": math.nan}]

    def table(rows: list[dict[str, Any]]) -> Table:
        made = Table("work")
        made.add_row(rows[0]["work"])
        return made

    monkeypatch.setattr(subgame.bench.small_games, "run", run)
    monkeypatch.setattr(subgame.bench.small_games, "table", table)
    answer = cli("bench", "--quick", "--only", "leduc", "--json")
    assert answer.json()["benchmarks"] == [{"work": "leduc", "ratio": None}]
    assert "python" in answer.json()["machine"]
    assert answer.err == "leduc [iteration]\n"
    assert "leduc" in cli("bench").out
    assert asked == [("leduc", True), (None, False)]
    assert bench.bench_command.__doc__


# Progress ------------------------------------------------------------------------------------
def test_progress_is_lines_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr("subgame.cli.progress.REPEAT", 600.0)
    with Meter("kuhn", patience=0) as meter:
        meter.histories(1234)
        meter.step(Step(10, 0.1, 0.5, 0.25))  # too soon after the first line
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "Compiling kuhn: 1,234 histories\n")
    with Meter("kuhn", patience=0) as meter:
        meter.histories(1)
    assert capsys.readouterr().err == "Compiling kuhn: 1 history\n"


def test_progress_is_a_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    err, end = "", time.monotonic() + 600
    with Meter("kuhn", patience=0) as meter:
        meter.step(Step(1234, 0.1, 0.5, 0.25))
        while "1,234 iterations, exploitability 0.5" not in err and time.monotonic() < end:
            time.sleep(0.02)
            said = capsys.readouterr()
            assert said.out == ""
            err += said.err
    assert "Solving kuhn" in err
    assert "1,234 iterations, exploitability 0.5" in err


def test_short_work_shows_no_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Meter("kuhn", patience=600) as meter:
        meter.histories(1234)
    assert capsys.readouterr().err == ""


def test_what_the_library_logs_is_said_above_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with Meter("kuhn"):
        logging.getLogger("subgame").warning("Compiling kernels")
    logging.getLogger("subgame").warning("Not shown any more")
    assert capsys.readouterr().err == "Compiling kernels\n"


def test_sparkline_bears_anything() -> None:
    assert sparkline([1.0]) == "▁"
    assert len(sparkline([0.0, math.inf, *range(100)][2:])) == 32
    assert sparkline([1.0, 0.0])[0] == "█"


def test_names_are_shown_on_one_line() -> None:
    assert console.one_line("") == "(empty)"
    assert "\n" not in console.one_line("a\r\nb\n\nc")


# As a program --------------------------------------------------------------------------------
def test_streams_and_exit_code_of_the_program() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "subgame.cli"]
    good = subprocess.run([*command, "solve", "kuhn"], capture_output=True, env=env, check=False)
    assert good.returncode == 0
    assert b"0.0555" in good.stdout
    bad = subprocess.run([*command, "solve", "kuhnn"], capture_output=True, env=env, check=False)
    assert (bad.returncode, bad.stdout, bad.stderr.count(b"\n")) == (2, b"", 1)


def test_a_reader_that_leaves_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "subgame.cli", "games"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.stderr == b""
