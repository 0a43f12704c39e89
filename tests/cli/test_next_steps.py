"""Where to go next: commands that can be typed as they stand, with the options they need."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

import pytest
from cli_helpers import Cli, runner

SPOT = (
    "endgame --board QsJh2h8d3c --pot 100 --stack 300 --oop AA,KK,76s --ip QQ,AK "
    "--bets '0.5x a' --iterations 30"
)
ROUND = "--at 'after round 1'"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


def steps(out: str) -> list[str]:
    """The commands that are named below a result."""
    _, _, below = out.partition("Where to go next\n")
    return [line.partition("  # ")[0].strip() for line in below.splitlines()]


# What is typed, and what is said to come next.
LINES = [
    (
        "solve 'liars-dice(faces=2)' --schedule dcfr --iterations 20 --memory-limit 1GB",
        [
            "solve 'liars-dice(faces=2)' --schedule dcfr --iterations 20 --memory-limit 1GB "
            "--out strategy.safetensors",
            "solve 'liars-dice(faces=2)' --schedule dcfr --memory-limit 1GB --target",
            "solve 'liars-dice(faces=2)' --memory-limit 1GB --schedule lp",
        ],
    ),
    (
        "solve kuhn --iterations 9 --memory-limit 1GB --out 'my own.safetensors'",
        [
            "exploit kuhn 'my own.safetensors' --memory-limit 1GB",
            "solve kuhn",
            "solve kuhn",
        ],
    ),
    (
        "exploit kuhn random --seed 3 --memory-limit 1GB",
        [
            "solve kuhn --memory-limit 1GB --out strategy.safetensors",
            "exploit kuhn strategy.safetensors --memory-limit 1GB",
        ],
    ),
    (
        f"refine leduc-ranks random --seed 3 {ROUND} --technique reach-resolve --no-split "
        "--player 0 --gap 0.5",
        [
            f"refine leduc-ranks random --seed 3 {ROUND} --player 0 --gap 0.5 "
            "--technique maxmargin",
            f"refine leduc-ranks random --seed 3 {ROUND} --player 0 --technique all",
            f"refine leduc-ranks random --seed 3 {ROUND} --technique reach-resolve --no-split "
            "--player 0 --gap 0.5 --out refined.safetensors",
        ],
    ),
    (
        "refine coin-toss --blueprint paper --at Play --schedule lp --out x.safetensors",
        [
            "refine coin-toss --blueprint paper --at Play --schedule lp --technique maxmargin",
            "refine coin-toss --blueprint paper --at Play --technique all",
            "exploit coin-toss x.safetensors",
        ],
    ),
    (
        f"limit leduc-ranks random --seed 3 {ROUND} --player 0 --weaken",
        [
            f"limit leduc-ranks random --seed 3 --player 0 --weaken {ROUND} --continuations self "
            "--best-below",
            f"train leduc-ranks random {ROUND} --player 0 --seed 3 --out leaves.safetensors",
        ],
    ),
    (SPOT, [f"{SPOT} --line r50", f"{SPOT} --out spot.safetensors"]),
    (
        f"{SPOT} --line r50 --out spot.safetensors --threads 1",
        ["endgame spot.safetensors --threads 1"],
    ),
]


@pytest.mark.parametrize(("line", "wanted"), LINES, ids=[line[:40] for line, _ in LINES])
def test_they_keep_what_was_asked_for(cli: Cli, line: str, wanted: list[str]) -> None:
    answer = cli(*shlex.split(line))
    assert answer.code == 0
    named = steps(answer.out)
    assert len(named) == len(wanted)
    for command, start in zip(named, wanted, strict=True):
        words = shlex.split(command)
        assert words[:2] == ["subgame", shlex.split(start)[0]]
        assert not Counter(shlex.split(start)) - Counter(words), command  # in any order
        if "train" not in command and "--technique all" not in command:  # which take a while
            assert cli(*shlex.split(command)[1:]).code == 0


def test_a_comparison_leads_to_the_best_in_full(cli: Cli) -> None:
    answer = cli(
        "refine",
        "coin-toss",
        "--blueprint",
        "paper",
        "--at",
        "Play",
        "--technique",
        "all",
        "--iterations",
        "50",
    )
    for command in steps(answer.out):
        assert " --iterations 50 --technique " in command
        assert cli(*shlex.split(command)[1:]).code == 0
