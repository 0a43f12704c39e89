"""``subgame endgame``: decisions of later streets, tables, and solving further from a file."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Cli, runner

import subgame as sg
from subgame.spots.endgame import Endgame, load
from subgame.tree.files import read_tensors, write_tensors

SPOT = ("endgame", "--board", "QsJh2h8d", "--pot", "100", "--stack", "100", "--bets", "0.5x a")
RANGES = ("--oop", "AA,KQs,76s", "--ip", "QJ,99,AKo:0.5")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


@pytest.fixture(scope="module")
def spot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spot that was solved for 20 iterations and saved with its state."""
    path = tmp_path_factory.mktemp("spots") / "spot.safetensors"
    from subgame.cli import main

    assert main([*SPOT, *RANGES, "--iterations", "20", "--out", str(path), "--json"]) == 0
    return path


def test_a_line_leads_to_the_river(cli: Cli, spot: Path) -> None:
    answer = cli("endgame", str(spot), "--line", "check, bet 50, call / 3c", "--hand", "KQs")
    assert answer.code == 0, answer.err
    assert "OOP after OOP check, IP bet 50, OOP call 50, 3♣" in answer.out
    for words in ("here: pot 200, reached", "EQR", "  KhQh", "all-in 50"):
        assert words in answer.out
    short = cli("endgame", str(spot), "--line", "xb50c3c", "--hand", "KQs")
    assert short.out == answer.out.replace("check, bet 50, call / 3c", "xb50c3c")


def test_json_and_csv_have_the_tables_of_the_decision(cli: Cli, spot: Path) -> None:
    line = ("--line", "x b50 c / 3d x")
    want = Endgame.open(spot).decision(line[1])
    result = cli("endgame", str(spot), *line, "--json").json()["decision"]
    assert result["line"] == want.line == "c r50 c / 3d c"
    assert result["ev"] == pytest.approx(want.ev)
    assert len(result["hands"]) == len(want.hand_table())
    for table, method in (("hands", want.hand_table), ("classes", want.class_table)):
        text = cli("endgame", str(spot), *line, "--csv", table, "--hand", "QJ,99").out
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [row["class"] for row in rows] == [row["class"] for row in method("QJ,99")]
        assert float(rows[0]["ev"]) == pytest.approx(method("QJ,99")[0]["ev"])
    actions = cli("endgame", str(spot), *line, "--csv", "actions").out
    assert actions.splitlines()[0].startswith("action,name,frequency")
    wrong = cli("endgame", str(spot), "--csv", "hand")
    assert (wrong.code, "did you mean 'hands'" in wrong.err) == (2, True)
    assert "choose one form" in cli("endgame", str(spot), "--csv", "hands", "--json").err


# Files ---------------------------------------------------------------------------------------
def test_a_saved_spot_is_solved_further_bit_for_bit(cli: Cli, spot: Path) -> None:
    more = ("--iterations", "40", "--threads", "1", "--out")
    assert cli("endgame", str(spot), *more, "further.safetensors").code == 0
    assert cli(*SPOT, *RANGES, *more, "once.safetensors").code == 0
    one, two = (read_tensors(f"{name}.safetensors") for name in ("further", "once"))
    for name in ("player0", "player1", "regret0", "average1"):
        np.testing.assert_array_equal(one[1][name], two[1][name])
    assert one[0]["iterations"] == "40"


def test_a_checkpoint_continues_alone_and_with_resume(cli: Cli) -> None:
    run = ("--iterations", "10", "--checkpoint", "run.safetensors", "--json")
    assert cli(*SPOT, *RANGES, *run).json()["iterations"] == 10
    assert cli("endgame", "run.safetensors", "--iterations", "20", "--json").code == 0
    again = cli("endgame", "--resume", "run.safetensors", "--iterations", "20", "--json")
    assert again.json()["iterations"] == 20
    refused = cli("endgame", "run.safetensors", "--resume", "run.safetensors")
    assert "so FILE cannot be given with it" in refused.err


def test_what_was_saved_without_its_state_is_not_solved_further(cli: Cli) -> None:
    for kind in ("strategy", "half"):
        out = ("--save", kind, "--out", f"{kind}.safetensors")
        assert cli(*SPOT, *RANGES, "--iterations", "20", *out).code == 0
        answer = cli("endgame", f"{kind}.safetensors", "--target", "0.01%")
        assert (answer.code, "without the state of the solver" in answer.err) == (2, True)
        assert cli("endgame", f"{kind}.safetensors", "--line", "x b50 c / 3c").code == 0
    whole, half = (Path(f"{name}.safetensors").stat().st_size for name in ("strategy", "half"))
    assert half < 0.6 * whole
    assert "did you mean 'half'" in cli(*SPOT, "--save", "halv").err


def test_rivers_are_left_out_and_solved_again(cli: Cli, spot: Path) -> None:
    """The streets before are those of the whole file, and rivers can be looked at."""
    out = ("--save", "without-rivers", "--out", "small.safetensors")
    assert cli("endgame", str(spot), *out).code == 0
    assert Path("small.safetensors").stat().st_size < spot.stat().st_size / 10
    whole, small = (
        cli("endgame", file, "--json").json() for file in (str(spot), "small.safetensors")
    )
    assert small["ev"] == whole["ev"]
    assert small["frequency"] == pytest.approx(whole["frequency"], abs=1e-5)
    assert cli("endgame", "small.safetensors", "--line", "x b50 c / 3c").code == 0
    ghosts = cli("endgame", "small.safetensors", "--ghosts")
    assert (ghosts.code, "of a whole solution only" in ghosts.err) == (2, True)
    assert "without the state" in cli("endgame", "small.safetensors", "--target", "0.01%").err
    river = cli("endgame", "--board", "QsJh2h8d3c", "--pot", "9", "--stack", "9", *out)
    assert (river.code, "no betting on a later street" in river.err) == (2, True)


def test_sixteen_bits_hold_the_solution(cli: Cli, spot: Path) -> None:
    solved = Endgame.open(spot)
    solved.save("half.safetensors", half=True)
    again = Endgame.open("half.safetensors")
    assert again.strategy.probs[0].dtype == np.float16
    assert again.ev == solved.ev  # stored
    one, two = (endgame.decision("x b50 c / 3c") for endgame in (solved, again))
    assert two.ev == pytest.approx(one.ev, abs=0.05)
    assert two.frequency == pytest.approx(one.frequency, abs=1e-3)
    gap = sg.exploitability(again.tree, load("half.safetensors"))
    assert solved.exploitability is not None
    assert gap == pytest.approx(solved.exploitability, abs=0.01)


def test_a_spot_is_mapped_and_damage_is_noticed(cli: Cli, spot: Path) -> None:
    """Numbers stay in the file; one that is not finite is noticed wherever it is."""
    solved = Endgame.open(spot)
    assert isinstance(solved.strategy.probs[0], np.memmap)
    assert np.isfinite(solved.decision("x b50 c / 3c").ev).all()
    header, tensors = read_tensors(spot)
    spoilt = {name: np.array(numbers) for name, numbers in tensors.items()}
    spoilt["player0"][-16:] = np.nan
    write_tensors("spoilt.safetensors", spoilt, header)
    with pytest.raises(sg.SubgameError, match="is damaged"):
        Endgame.open("spoilt.safetensors")
    with pytest.raises(sg.SubgameError, match="is damaged"):
        load("spoilt.safetensors")
