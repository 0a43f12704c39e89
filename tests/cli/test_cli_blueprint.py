"""``subgame blueprint``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_helpers import Cli, runner

from subgame.blueprints.stored import StoredBlueprint
from subgame.play.hunl import preflop_responses
from subgame.play.hunl.preflop_values import PreflopValues

RECIPE = """
[game]
stack = 400
ranks = "9TJQKA"
suits = "cd"
[bets]
all = "a / cap 1"
[buckets]
flop = 4
turn = 4
river = 4
[training]
boards = 2
"""


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(RECIPE)
    return runner(capsys, monkeypatch)


def test_a_recipe_is_trained_and_goes_on(cli: Cli, tmp_path: Path) -> None:
    first = cli("blueprint", "tiny.toml", "--iterations", "2")
    assert first.code == 0
    assert "2 iterations, 4 boards" in first.out
    assert "Saved as tiny.safetensors" in first.out
    more = cli("blueprint", "tiny.toml", "--iterations", "3", "--resume", "--json")
    assert json.loads(more.out)["iterations"] == 3
    made = StoredBlueprint.load(tmp_path / "tiny.safetensors")
    assert made.recipe.name == "tiny"
    assert made.card["boards"] == 6


def test_a_table_for_the_agent_is_made(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflop_responses, "BATCHES", 1)
    words = ["--iterations", "2", "--preflop", "2", "--responses", "1"]
    answer = cli("blueprint", "tiny.toml", *words)
    assert answer.code == 0
    assert "values before the flop are saved as tiny.preflop.safetensors" in answer.out
    table = PreflopValues.of(StoredBlueprint.load(tmp_path / "tiny.safetensors"))
    assert table.boards == table.choices == 2
    words[-1] = "2"
    assert cli("blueprint", "tiny.toml", *words, "--resume").code == 0
    more = PreflopValues.of(StoredBlueprint.load(tmp_path / "tiny.safetensors"))
    assert more.choices == 3
    assert (more.values[:, :2] == table.values).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.toml"], "There is no file missing.toml; expected a recipe of a blueprint"),
        (["tiny.toml"], "does not say when training ends"),
        (
            ["tiny.toml", "--responses", "0"],
            "--responses must be a whole number of at least 1",
        ),
        (["tiny.toml", "--responses", "2"], "--responses belongs to --preflop"),
        (["tiny.toml", "--hours", "0"], "--hours must be a number above 0, not 0.0"),
        (["tiny.toml", "--iterations", "2", "--memory-limit", "1KiB"], "Training tiny needs"),
    ],
)
def test_what_is_refused(cli: Cli, words: list[str], message: str) -> None:
    answer = cli("blueprint", *words)
    assert answer.code == 2
    assert message in answer.err


def test_a_network_is_trained_for_a_blueprint(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    game, file = "hunl(stack=400, bets=all: a, ranks=9TJQKA, suits=cd)", "tiny.safetensors"
    assert cli("blueprint", "tiny.toml", "--iterations", "1").code == 0
    small = ("--rollouts", "2", "--epochs", "1", "--layers", "4")
    result = cli("train", game, file, *small, "--holdout", "0.5", "--json").json()
    assert (result["blueprint"], result["boards"], len(result["held out: error"])) == ("tiny", 2, 4)
    assert (tmp_path / "tiny.flop-network.safetensors").is_file()
    shown = cli("train", game, file, *small, "--out", "other.safetensors")
    assert "more raises" in shown.out
    assert "Saved as other.safetensors" in shown.out
    played = ("match", "limited", "call", "--game", game, "--blueprint", file, "--values")
    assert cli(*played, "network", "--hands", "1", "--iterations", "2").code == 0
    assert "no kind of values called 'networks'" in cli(*played, "networks").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["hunl", "uniform"], "In hold'em a network is trained for a blueprint"),
        (["hunl", "--blueprint", "hunl-defualt"], "did you mean 'hunl-default'?"),
        (["hunl", "--blueprint", "hunl-default", "--at", "flop"], "--at does not apply to hunl"),
    ],
)
def test_what_a_network_is_not_trained_for(cli: Cli, words: list[str], message: str) -> None:
    answer = cli("train", *words)
    assert answer.code == 2
    assert message in answer.err
