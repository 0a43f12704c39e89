"""A saved spot with numbers that are not finite is neither shown nor refined."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Cli, runner

import subgame as sg
from subgame.spots.endgame import Endgame
from subgame.tree.files import read_tensors, write_tensors

SPOT = "--board QsJh2h8d3c --pot 100 --stack 100 --oop AA,KK --ip QQ,JJ --bets a --iterations 3"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


@pytest.fixture
def saved(cli: Cli, tmp_path: Path) -> Path:
    path = tmp_path / "spot.safetensors"
    assert cli("endgame", *SPOT.split(), "--out", str(path), "--json").code == 0
    return path


@pytest.mark.parametrize("name", ["regret0", "average1", "player0", "ev0"])
def test_numbers_that_are_not_finite(cli: Cli, saved: Path, name: str) -> None:
    head, tensors = read_tensors(saved)
    arrays = {key: np.array(tensor) for key, tensor in tensors.items()}
    arrays[name].ravel()[-1] = np.nan
    write_tensors(saved, arrays, head)
    for words in (
        ["endgame", str(saved)],
        ["endgame", str(saved), "--iterations", "5"],
        ["refine", str(saved), "--at", "root"],
        ["compare", str(saved), str(saved)],
    ):
        answer = cli(*words)
        assert (answer.code, answer.out) == (2, ""), words
        assert f"is damaged (the numbers '{name}' are not all finite)" in answer.err
    with pytest.raises(sg.SubgameError, match="is damaged"):
        Endgame.open(saved)


def test_a_damaged_state_of_the_solver(cli: Cli, saved: Path) -> None:
    head, tensors = read_tensors(saved)
    for wrong in ("", "[", "[1]", json.dumps({"iteration": 3, "schedule": "[]"})):
        arrays = {key: np.array(tensor) for key, tensor in tensors.items()}
        write_tensors(saved, arrays, {**head, "state": wrong})
        answer = cli("endgame", str(saved), "--iterations", "5")
        assert (answer.code, answer.out) == (2, "")
        assert "damaged state of the solver" in answer.err or "without the state" in answer.err


def test_a_header_in_utf_16_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wide.safetensors"
    text = json.dumps({"__metadata__": {"board": "QsJh2h"}}).encode("utf-16")
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(sg.SubgameError, match="is not a safetensors file"):
        read_tensors(path)
