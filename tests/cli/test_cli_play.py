"""The commands match, lbr and play."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from cli_helpers import Cli, runner


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


def test_match_prints_what_its_contract_says(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    words = ["--game", "leduc", "--hands", "60", "--seed", "3", "--duplicate", "--aivat"]
    result = cli("match", "uniform", "call", *words, "--log", str(log), "--json").json()
    keys = {"hands", "seconds", "unit", "mean", "interval95", "aivat_mean", "aivat_interval95"}
    assert keys | {"log", "breakdown"} == set(result)
    for groups, hands in (("streets", 60), ("seats", 2)):
        rows = result["breakdown"][groups]
        assert groups == "seats" or sum(row["hands"] for row in rows) == hands
    shares = sum(row["share"] for row in result["breakdown"]["streets"])
    assert shares == pytest.approx(result["mean"])
    assert (result["hands"], result["unit"], result["log"]) == (60, "chips", str(log))
    assert result["aivat_interval95"] < result["interval95"]
    assert len(log.read_text().splitlines()) == 61
    again = cli("match", "uniform", "call", *words, "--json").json()
    assert (again["mean"], again["aivat_mean"]) == (result["mean"], result["aivat_mean"])
    shown = cli("match", "uniform", "call", *words).out
    assert "by AIVAT" in shown
    assert "60 hands" in shown


def test_a_saved_strategy_plays_and_is_beaten(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "kuhn.safetensors"
    cli("solve", "kuhn", "--iterations", "1", "--out", str(file))
    words = ["--game", "kuhn", "--hands", "400", "--aivat", "--json"]
    result = cli("match", "best-response", str(file), *words).json()
    assert result["aivat_mean"] - result["aivat_interval95"] > 0


def test_lbr_prints_what_its_contract_says(cli: Cli) -> None:
    words = ["--game", "nlfh", "--setting", "fcpa", "--hands", "10", "--json"]
    result = cli("lbr", "fold", *words).json()
    assert set(result) == {"hands", "mean", "interval95", "setting"}
    assert (result["hands"], result["mean"], result["setting"]) == (10, 750, "fcpa")
    assert result["interval95"] > 0


def test_search_agents_on_a_given_blueprint(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "leduc.safetensors"
    cli("solve", "leduc-ranks", "--iterations", "20", "--out", str(file))
    words = ["--game", "leduc-ranks", "--blueprint", str(file), "--iterations", "10", "--json"]
    result = cli("match", "nested", "limited:resolve", *words, "--hands", "6", "--aivat").json()
    assert result["breakdown"]["agents"] == ["nested", "limited:resolve"]
    assert result["aivat_mean"] is not None
    result = cli("lbr", "nested", *words, "--hands", "2").json()
    assert result["hands"] == 2


def test_play(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("b\nx\np\nb\n"))
    shown = cli("play", "kuhn", "--hands", "2", "--seed", "1").out
    assert "'x' is not legal here." in shown
    assert "2 hands" in shown


def test_quit_ends_the_game(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("b\nquit\n"))
    answer = cli("play", "kuhn", "--seed", "1")
    assert answer.code == 0
    assert "1 hand, " in answer.out


def test_play_the_whole_of_holdem_in_words(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default opponent comes with the package; any size may be typed, in a player's words."""
    monkeypatch.setattr("subgame.play.hunl.agent.load_kernels", lambda deck: None)
    monkeypatch.setattr("sys.stdin", io.StringIO("explain\nraise to 150\nraise to 777\n"))
    shown = cli("play", "hunl", "--hands", "1", "--seed", "5").out
    answer = " ".join(shown.split())
    assert "hold'em, blinds 50 and 100, 20,000 chips each, against limited" in answer
    assert "you are player 0, the big blind" in shown
    assert "the agent plays: " in shown
    assert "check or call " in answer
    assert "all 1,326 hands alike" in answer  # the range before the first action
    assert "'raise to 150' is not legal here." in shown
    assert "You raise to 777." in shown
    assert "The agent had " in shown


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["match", "unifrom", "call"], "uniform"),
        (["match", "uniform", "call", "--hands", "0"], "a whole number of at least 1"),
        (["match", "uniform", "call", "--jobs", "2", "--dask", "x"], "exclude each other"),
        (["match", "uniform", "none.safetensors"], "There is no file none.safetensors"),
        (["match", "uniform", "fold", "--game", "rps"], "the actions are"),
        (["lbr", "call", "--game", "leduc", "--setting", "2018-flop"], "with bet sizes"),
        (["match", "nested:rezolve", "call", "--game", "kuhn"], "resolve"),
        (["match", "nested", "call", "--seconds", "0"], "seconds must be a number above 0"),
        (["match", "blueprint", "call", "--blueprint", "none.safetensors"], "none.safetensors"),
        (["lbr", "call", "--setting", "fcpb"], "fcpa"),
        (["play", "nosuchgame"], "There is no game"),
    ],
)
def test_bad_input(cli: Cli, words: list[str], says: str) -> None:
    done = cli(*words)
    assert done.code == 2
    assert says in done.err


def test_dask() -> None:
    """A local cluster gives the same result as this process."""
    distributed = pytest.importorskip("distributed")
    from subgame.play import match

    here = match("kuhn", ["uniform", "call"], hands=600, seed=2)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        there = match(
            "kuhn", ["uniform", "call"], hands=600, seed=2, executor=client.get_executor()
        )
    assert there.result == here.result
    assert there.lines == here.lines


def test_a_person_sees_pot_and_stacks_and_can_ask_for_help(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = iter(["help", "fold"])
    monkeypatch.setattr("typer.prompt", lambda question, **more: print(question) or next(typed))
    shown = " ".join(cli("play", "hunl", "--against", "raise", "--hands", "1").out.split())
    assert "The pot is 300; you have 19,900 behind, the agent 19,800." in shown
    assert "quit ends the game" in shown
    assert "inf" not in shown
