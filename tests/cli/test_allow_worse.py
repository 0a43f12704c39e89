"""``subgame refine`` never saves a strategy that is worse than the one before, unless told to."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Answer, Cli, runner

import subgame as sg
from holdem_games import GAMES
from subgame.spots.endgame import load, save


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good strategies, which a short solve can only make worse."""
    at = tmp_path_factory.mktemp("good")
    leduc = sg.compile(sg.games.load("leduc"))
    sg.solve(leduc, iterations=300).strategy.save(at / "leduc.safetensors")
    turn = sg.compile(GAMES["turn"])
    save(sg.solve(turn, "dcfr", iterations=300).strategy, at / "turn.safetensors")
    return at


LEDUC = ("--at", "after round 1", "--iterations", "3")
TURN = ("--iterations", "2")


@pytest.mark.parametrize("technique", ["resolve", "maxmargin", "reach-maxmargin"])
@pytest.mark.parametrize(("name", "options"), [("leduc", LEDUC), ("turn", TURN)])
def test_a_short_solve_keeps_the_blueprint(
    cli: Cli, folder: Path, tmp_path: Path, name: str, options: tuple[str, ...], technique: str
) -> None:
    old, out = folder / f"{name}.safetensors", tmp_path / "new.safetensors"

    def refine(*more: str) -> Answer:
        arguments = ("leduc", str(old)) if name == "leduc" else (str(old),)
        return cli(
            "refine", *arguments, *options, "--technique", technique, "--out", str(out), *more
        )

    answer = refine()
    assert answer.code == 0, answer.err
    assert "The blueprint is kept in" in answer.out
    assert "more iterations" in answer.out
    result = refine("--json").json()
    assert result["kept"]
    assert result["exploitability_after"] <= result["exploitability_before"] * (1 + 1e-6)
    tree = load(old).tree if name == "turn" else sg.compile(sg.games.load("leduc"))
    saved = sg.Strategy.load(out, tree)
    assert sg.exploitability(tree, saved).mean == result["exploitability_after"]
    if len(result["kept"]) == 2 and name == "turn":
        before = sg.Strategy.load(old, tree)
        assert all(np.array_equal(saved.probs[p], before.probs[p]) for p in (0, 1))
    worse = json.loads(refine("--allow-worse", "--json").out)
    assert worse["kept"] == []
    assert worse["exploitability_after"] > 1.5 * worse["exploitability_before"]
    again = sg.Strategy.load(out, tree)
    assert sg.exploitability(tree, again).mean == worse["exploitability_after"]


@pytest.mark.parametrize("options", [("unsafe",), ("reach-maxmargin", "--no-split")])
def test_what_promises_nothing_is_not_saved_if_it_is_worse(
    cli: Cli, folder: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    out = tmp_path / "new.safetensors"
    line = ("refine", "leduc", str(folder / "leduc.safetensors"), *LEDUC, "--technique", *options)
    answer = cli(*line, "--out", str(out))
    assert answer.code == 2
    assert "exploitability after" in answer.out
    assert "new.safetensors" not in answer.out
    assert f"{out} was not saved, because {options[0]} made the strategy more" in answer.err
    assert "--allow-worse" in answer.err
    assert not out.exists()
    assert cli(*line).code == 0  # nothing to save
    assert cli(*line, "--out", str(out), "--allow-worse").code == 0
    assert out.exists()


def test_a_worse_depth_limited_solution_is_not_saved(cli: Cli, tmp_path: Path) -> None:
    """2018, Sec. 3: with one value per state at the limit, Rock-Paper-Scissors+ goes wrong."""
    out = tmp_path / "new.safetensors"
    limit = ("--at", "P2 to move", "--continuations", "none")
    line = ("limit", "rps-plus", "--blueprint", "equilibrium", *limit, "--out", str(out))
    answer = cli(*line)
    assert answer.code == 2
    assert f"{out} was not saved, because depth-limited solving made" in answer.err
    assert not out.exists()
    assert cli(*line, "--allow-worse").code == 0
    assert out.exists()
