"""Ctrl-C: the result so far, a checkpoint to go on from, and exit code 130."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import runner

import subgame as sg
from holdem_games import GAMES
from subgame.refine.report import Refinement
from subgame.refine.verbs.decompose import compact
from subgame.solve.results import Result, Step
from subgame.solve.solver import Run
from subgame.spots.endgame import save

COMMAND = [sys.executable, "-m", "subgame.cli", "solve", "leduc"]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process")
def test_ctrl_c_gives_the_result_and_a_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "run.ckpt")
    process = subprocess.Popen(
        [*COMMAND, "--seconds", "600", "--checkpoint", file, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "iterations" in line:  # it is solving
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130
    result = json.loads(out)
    assert result["stopped"] == "interrupted"
    assert result["iterations"] > 0
    assert "Traceback" not in err

    more = str(result["iterations"] + 100)
    resume = ("solve", "leduc", "--iterations", more, "--resume", file, "--json")
    after = runner(capsys, monkeypatch)(*resume).json()
    assert after["iterations"] == result["iterations"] + 100
    assert after["seconds"] > result["seconds"]


def test_ctrl_c_before_there_is_a_result(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sg, "compile", interrupted)
    answer = runner(capsys, monkeypatch)("solve", "kuhn", "--json")
    assert answer == (130, "", "Interrupted before there was a result.\n")


def test_an_interrupted_result_says_how_to_go_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    solve = sg.solve
    presses = iter([signal.SIGINT])

    def press(step: Step) -> None:
        for number in presses:  # once: a second Ctrl-C would be meant
            signal.raise_signal(number)

    def interrupted(tree: sg.PublicTree, schedule: str, **options: object) -> Result:
        if "checkpoint" not in options:  # the warm-up
            return solve(tree, schedule, iterations=1)
        options["progress"] = press
        return solve(tree, schedule, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(sg, "solve", interrupted)
    file = str(tmp_path / "run.ckpt")
    answer = runner(capsys, monkeypatch)(
        "solve", "kuhn", "--schedule", "dcfr", "--seconds", "30", "--checkpoint", file
    )
    assert answer.code == 130
    assert "interrupted by Ctrl-C" in answer.out
    assert f"--schedule dcfr --seconds 30 --checkpoint {file} --resume {file}" in answer.out


def test_an_interrupted_refinement_shows_what_it_has(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refine = sg.refine

    def interrupted(*args: Any, **options: Any) -> Refinement:
        refined = refine(*args, **options)
        return replace(
            refined, parts=tuple(replace(part, stopped="interrupted") for part in refined.parts)
        )

    monkeypatch.setattr(sg, "refine", interrupted)
    cli = runner(capsys, monkeypatch)
    answer = cli(
        "refine",
        "coin-toss",
        "--blueprint",
        "paper",
        "--at",
        "Play",
        "--iterations",
        "5",
        "--technique",
        "unsafe,resolve",
        "--json",
    )
    assert answer.code == 130
    assert [row["technique"] for row in answer.json()["techniques"]] == ["unsafe"]
    spot = tmp_path / "spot.safetensors"
    save(sg.Strategy.uniform(sg.compile(GAMES["river"])), spot)
    early = cli("refine", str(spot), "--json")  # while the kernels are got ready
    assert early[:2] == (130, "")
    assert early[2].endswith("Interrupted before there was a result.\n")


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process")
@pytest.mark.parametrize("module", ["subgame", "subgame.cli"])
def test_ctrl_c_while_the_command_is_loaded_is_one_line(module: str) -> None:
    # The signal comes from within, at the first import of Typer, before `main`.
    code = (
        "import signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        f"sys.orig_argv = ['python', '-m', '{module}']\n"
        f"import runpy; runpy.run_module('{module}', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "Interrupted before there was a result.\n"


def test_a_program_that_imports_the_package_keeps_its_own_ctrl_c() -> None:
    code = "import signal, subgame; print(signal.getsignal(2) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


@pytest.mark.parametrize(
    "words", [("reproduce", "burch2014-fig5", "--quick"), ("demo",)], ids=lambda words: words[0]
)
def test_ctrl_c_does_not_go_on_with_half_a_solution(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Both consist of many solves. The first one that is interrupted ends them."""
    cli = runner(capsys, monkeypatch)
    advance, after = Run.advance, []

    def press(run: Run, count: int, check: Any = None) -> None:
        if run.iteration > 2:  # not while the kernels are loaded
            after.append(count)
            signal.raise_signal(signal.SIGINT)
        advance(run, count, check)

    monkeypatch.setattr(Run, "advance", press)
    answer = cli(*words, "--json")
    assert (answer.code, answer.out) == (130, "")
    assert answer.err.endswith("Interrupted before there was a result.\n")
    assert len(after) == 1


def test_solves_inside_other_work_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the work would go on after Ctrl-C."""
    advance = Run.advance

    def press(run: Run, count: int, check: Any = None) -> None:
        if count:
            signal.raise_signal(signal.SIGINT)
        advance(run, count, check)

    tree = sg.compile(sg.games.load("leduc-ranks"))
    blueprint = sg.Strategy.uniform(tree)
    at = "after round 1"
    kept = compact(tree, blueprint, at=at)
    monkeypatch.setattr(Run, "advance", press)
    assert sg.solve(tree, iterations=9).stopped == "interrupted"  # one solve gives what it has
    with pytest.raises(KeyboardInterrupt):
        sg.self_generated(tree, blueprint, at=at, schedule="cfr", iterations=9)
    with pytest.raises(KeyboardInterrupt):
        kept.whole(tree, iterations=9)
