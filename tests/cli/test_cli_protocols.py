"""The commands dealer, acpc, slumbot and histories."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from cli_helpers import Cli, runner

from slumbot_stand_in import StandIn


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


def test_dealer_and_histories(cli: Cli, tmp_path: Path) -> None:
    log, out = tmp_path / "match.jsonl", tmp_path / "match.log"
    words = ["--hands", "20", "--log", str(log)]
    result = cli("dealer", "call", "raise", *words, "--json").json()
    assert result["hands"] == 20
    assert result["times"] == {}
    won = round(result["mean"] * 2)  # 20 hands, 100 chips are 1,000 mbb
    assert result["score"] == f"SCORE:{won}|{-won}:call|raise"
    assert result["score"] in cli("dealer", "call", "raise", *words).out
    answer = cli("histories", str(log), "--out", str(out), "--check", "--json").json()
    assert (answer["hands"], answer["checked"], answer["agents"]) == (20, 20, ["call", "raise"])
    assert out.read_text().splitlines()[-1] == result["score"]
    assert "20 hands between call and raise" in cli("histories", str(out)).out


def test_slumbot(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "slumbot.jsonl"
    with StandIn() as there:
        words = ["slumbot", "call", "--hands", "5", "--url", there.url, "--log", str(log)]
        result = cli(*words, "--json").json()
        assert "call against slumbot" in cli(*words).out
    assert there.hands == 5
    assert (result["hands"], result["unit"], result["log"]) == (5, "mbb/h", str(log))
    assert result["mean"] == sum(there.results) / 5 * 10


def test_any_legal_bet_may_be_typed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("c\nr50\nr777\n" + "c\n" * 9))
    shown = cli("play", "hunl", "--against", "call", "--hands", "1", "--seed", "1").out
    assert "'r50' is not legal here." in shown
    assert "You bet 777." in shown


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["dealer", "alice=99999", "call"], "cannot listen at 127.0.0.1, port 99999"),
        (["dealer", "0", "call", "--game", "leduc"], "whole hands of hold'em"),
        (["dealer", "0", "call", "--action-seconds", "0"], "time limit 'action' must be above 0"),
        (["dealer", "0", "call", "--connect-seconds", "0.01"], "'player1' has not connected"),
        (["dealer", "a=0", "a=0"], "Both players are called 'a'"),
        (["dealer", "alise", "call"], "There is no agent called 'alise'"),
        (["match", "acpc:", "call", "--game", "hunl"], "needs a command"),
        (["match", "acpc:'x", "call", "--game", "hunl"], "cannot be read"),
        (["match", "acpc:true", "call", "--game", "hunl"], "ended 4 times"),
        (["match", "acpc:./nothing", "call", "--game", "hunl"], "cannot be started"),
        (["match", "acpc:true", "call", "--game", "hunl", "--jobs", "2"], "one hand at a time"),
        (["acpc", "call", "127.0.0.1", "1"], "There is no dealer at 127.0.0.1, port 1"),
        (["acpc", "call", "127.0.0.1", "99999"], "PORT must be from 1 to 65,535, not 99999"),
        (["acpc", "call", "127.0.0.1", "1", "--game", "kuhn"], "whole hands of hold'em"),
        (["slumbot", "call", "--hands", "0"], "--hands must be a whole number of at least 1"),
        (["slumbot", "call", "--url", "ftp://x"], "must begin with http"),
        (["histories", "none.phhs"], "There is no file none.phhs"),
        (["histories", "none.xyz"], "There is no file none.xyz; expected hands"),
    ],
)
def test_bad_input(cli: Cli, words: list[str], says: str) -> None:
    done = cli(*words)
    assert done.code == 2
    assert says in done.err
    assert done.err.rstrip().count("\n") <= 1  # the dealer first says where it listens
