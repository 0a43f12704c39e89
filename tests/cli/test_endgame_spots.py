"""``subgame endgame``: spots with rake, dead cards, lines, locks, and files of other programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_helpers import Cli, runner

BOARD = ("endgame", "--board", "QsJh2h8d3c")
SPOT = (*BOARD, "--pot", "100", "--stack", "200", "--oop", "AA,KQ,T9s", "--ip", "QQ,AK,JT")
FEW = ("--iterations", "20")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


def test_rake(cli: Cli) -> None:
    rake = ("--rake", "5%", "--rake-cap", "4")
    result = cli(*SPOT, *rake, *FEW, "--json").json()
    assert result["zero_sum"] is False
    assert 95 <= sum(result["ev"]) < 97
    gains = [best - ev for best, ev in zip(result["best_response_ev"], result["ev"], strict=True)]
    assert result["gains"] == pytest.approx(gains, abs=1e-6)
    assert result["exploitability"] == pytest.approx(sum(gains) / 2, abs=1e-6)
    shown = cli(*SPOT, *rake, *FEW).out
    assert "best-response gain" in shown
    assert "5 %, at most 4 chips" in shown
    assert "zero_sum" not in cli(*SPOT, *FEW, "--json").json()


def test_short_deck(cli: Cli, tmp_path: Path) -> None:
    spot = ("endgame", "--board", "QsJh9h8d6c", "--pot", "100", "--stack", "200", "--deck", "short")
    out = tmp_path / "spot.safetensors"
    result = cli(*spot, *FEW, "--json", "--out", str(out)).json()
    assert len(result["root"]) == 31 * 30 // 2
    assert sum(result["ev"]) == pytest.approx(100, abs=1e-3)
    again = cli("endgame", str(out), "--json", "--hand", "AKs").json()
    assert again["root"] == result["root"]
    assert "36 cards, ranking short" in cli("endgame", str(out)).out
    assert "there is no rank '2'" in cli(*SPOT, "--deck", "short").err
    assert "short-trips" in cli(*SPOT, "--deck", "shor").err


def test_folded_ranges(cli: Cli, tmp_path: Path) -> None:
    file, out = tmp_path / "range.txt", tmp_path / "spot.safetensors"
    file.write_text("random,77+:0,AT+:0")
    folded = ("--folded", "KK+,AK:0.5", "--folded", f"@{file}", *FEW)
    solved = cli(*SPOT, *folded, "--json", "--out", str(out), "--save", "strategy").json()
    assert sum(solved["ev"]) == pytest.approx(100, abs=1e-3)
    assert solved["ev"] != pytest.approx(cli(*SPOT, *FEW, "--json").json()["ev"], abs=0.1)
    again = cli("endgame", str(out), "--json").json()
    assert (again["root"], again["ev"]) == (solved["root"], solved["ev"])
    assert "2 ranges (bunching)" in cli("endgame", str(out)).out
    assert "--folded: In the range 'AXs'" in cli(*SPOT, "--folded", "AXs").err
    assert "without prediction" in cli(*SPOT, *folded, "--schedule", "pcfr+").err


def test_fractions_dead_cards_and_lines(cli: Cli) -> None:
    spot = (*BOARD, "--pot", "6.5", "--stack", "20/15.5", "--dead", "As Kd", "--oop", "AA,KK")
    lines = ("--add-line", "c r1.3 r5", "--remove-line", "r3.3")
    answer = cli(*spot, "--bets", "50% a", *lines, *FEW, "--json")
    assert answer.code == 0, answer.err
    result = answer.json()
    assert (result["pot"], result["stacks"]) == (6.5, [20, 15.5])
    assert sorted(result["root"]) == ["AdAc", "AhAc", "AhAd", "KhKc", "KsKc", "KsKh"]
    assert list(result["actions"]) == ["c", "r15.5"]
    assert list(result["ip_actions"]) == ["c", "r1.3", "r3.3", "r15.5"]
    assert result["ip_actions"]["r1.3"] == "bet 1.3"


def test_locks(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "locks.txt"
    file.write_text("bet 100: QQ = fold 25%, call 75%\n")
    out = tmp_path / "spot.safetensors"
    bets = ("--bets", "1x")
    locks = ("--lock", "start: AA = bet 100%; KQ = check 100%", "--lock", f"@{file}")
    result = cli(*SPOT, *bets, *locks, *FEW, "--json", "--line", "r100", "--out", str(out)).json()
    assert result["root"]["AsAh"] == {"c": 0, "r100": 1}
    assert result["line"]["strategy"]["QhQd"] == {"f": 0.25, "c": 0.75, "r200": 0}
    again = cli("endgame", str(out), "--json").json()
    assert again["root"] == result["root"]
    free = cli(*SPOT, *bets, *FEW, "--json").json()
    assert free["root"]["KsQd"] != result["root"]["KsQd"]
    assert "storage float32" in cli(*SPOT, *locks, "--storage", "int16").err


def test_a_file_of_another_program(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "texas.txt"
    file.write_text(
        "set_pot 60\nset_effective_stack 200\nset_board Qs,Jh,2h,8d,3c\nset_range_ip QQ,AK\n"
        "set_range_oop AA,KQ\nset_bet_sizes oop,river,bet,50\nset_raise_limit 3\n"
    )
    answer = cli("endgame", "--import", str(file), *FEW, "--json")
    assert answer.code == 0, answer.err
    result = answer.json()
    assert (result["pot"], list(result["actions"])) == (60, ["c", "r30"])
    assert "The command set_raise_limit was left out." in answer.err
    changed = cli("endgame", "--import", str(file), "--pot", "100", *FEW, "--json").json()
    assert list(changed["actions"]) == ["c", "r50"]
    assert "The bet size 33 means 33 chips" in cli(*SPOT[:4], "60", *SPOT[5:], "--bets", "33").err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("--rake much", "--rake: The rake must be a share of the pot from 0 to below 1"),
        ("--rake 200%", "such as 5% or 0.05, not '200%'"),
        ("--rake=5% --rake-cap=-3", "--rake-cap: The cap of the rake must be a number of chips"),
        ("--dead Qs", "--dead: The dead card Qs is on the board"),
        ("--add-line b50", "--add-line: 'b50' is no line; write it as c r50 c / r120"),
        ("--add-line f", "The line 'f' cannot be added"),
        ("--remove-line r7", "The line 'r7' cannot be removed"),
        ("--lock AA=call", "--lock: The lock 'AA=call' cannot be read"),
        ("--lock start:AA=fold", "not 'fold'"),
        ("--oop @missing.txt", "There is no file missing.txt; expected a range"),
        ("--import missing.txt", "There is no file missing.txt"),
    ],
)
def test_one_sentence_and_exit_code_2(cli: Cli, more: str, words: str) -> None:
    answer = cli(*SPOT, *more.split(" ", 1))
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert words in answer.err
