"""--device on the command line: the same answers from wherever they come."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_helpers import Cli, runner

pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

KUHN = ("solve", "kuhn", "--iterations", "20", "--json")
RIVER = (
    "endgame",
    "--board",
    "QsJh2h8d3c",
    "--pot",
    "100",
    "--stack",
    "200",
    "--oop",
    "AA,KK,76s",
    "--ip",
    "QQ,AK",
    "--iterations",
    "100",
    "--json",
)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


@pytest.mark.parametrize(
    "command",
    [
        KUHN,
        ("solve", "kuhn", "--schedule", "lp", "--json"),
        ("exploit", "leduc", "random", "--seed", "3", "--json"),
        ("refine", "leduc", "random", "--at", "after round 1", "--iterations", "3", "--json"),
        RIVER,
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_the_same_answer(command: tuple[str, ...], cli: Cli) -> None:
    want, got = cli(*command).json(), cli(*command, "--device", "torch").json()
    numbers = [key for key in ("value", "exploitability", "exploitability_after") if key in want]
    assert numbers
    for key in numbers:  # a solved endgame: both are near the equilibrium
        assert got[key] == pytest.approx(want[key], abs=0.2 if command is RIVER else 1e-9)


def test_people_see_where_a_strategy_loses_most(cli: Cli) -> None:
    command = ("exploit", "kuhn", "random", "--seed", "4", "--device")
    want, got = (cli(*command, name) for name in ("cpu", "torch"))
    assert got.code == 0
    assert got.out.partition("Where to go")[0] == want.out.partition("Where to go")[0]
    assert "subgame exploit kuhn strategy.safetensors --device torch" in got.out


def test_a_saved_spot_on_another_device(cli: Cli, tmp_path: Path) -> None:
    file = str(tmp_path / "spot.safetensors")
    made = cli(*RIVER, "--iterations", "20", "--device", "torch", "--out", file).json()
    shown = cli("endgame", file, "--json").json()
    assert shown["exploitability"] == pytest.approx(made["exploitability"], rel=1e-5)
    refined = cli("refine", file, "--iterations", "3", "--device", "torch", "--json").json()
    assert refined["exploitability_before"] == pytest.approx(made["exploitability"], rel=1e-5)


def test_refusals_come_first(cli: Cli) -> None:
    for command in (KUHN, RIVER, ("exploit", "kuhn", "uniform"), ("refine", "kuhn", "uniform")):
        said = cli(*command, "--device", "gpu")
        assert said.code != 0
        assert "There is no device 'gpu'" in said.err
    for command in (RIVER, ("refine", "leduc", "uniform", "--at", "after round 1")):
        said = cli(*command, "--device", "torch", "--threads", "2")
        assert "--threads only applies to the device cpu" in said.err
