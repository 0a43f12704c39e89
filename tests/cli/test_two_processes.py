"""Two processes at one file, and kill -9: nothing is lost, overwritten or doubled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import Cli, runner

from subgame.play import match
from subgame.play.log import read_log
from subgame.play.protocols.histories import read_history
from writers import command, process

PATIENCE = 300
"""Seconds after which a test fails; nothing takes long on an idle machine."""

BLOCKED = """
import sys
from subgame.play import Uniform, match
class Slow(Uniform):
    hands = 0
    def begin(self, seat, seed):
        super().begin(seat, seed)
        self.hands += 1
        if self.hands > 30:
            print("blocked", flush=True)
            sys.stdin.read()
match("kuhn", [Slow(), "call"], hands=60, seed=3, log=sys.argv[1])
"""


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words), capture_output=True, text=True, check=False, timeout=PATIENCE
    )


@pytest.mark.parametrize("words", ["dealer call raise", "match uniform call --game kuhn"])
def test_a_log_replaces_no_other_file(cli: Cli, words: str, tmp_path: Path) -> None:
    path = tmp_path / "n3"
    path.write_bytes(b"thesis")
    answer = cli(*words.split(), "--hands", "2", "--log", str(path))
    assert answer.code == 2
    assert f"{path} is not a log of a match; expected a log of subgame match." in answer.err
    assert path.read_bytes() == b"thesis"


def test_a_second_match_is_told_who_plays_and_goes_on_after_kill_9(tmp_path: Path) -> None:
    log, whole = tmp_path / "match.jsonl", tmp_path / "whole.jsonl"
    words = ("match", "uniform", "call", "--game", "kuhn", "--hands", 60, "--seed", 3, "--log", log)
    with process(sys.executable, "-c", BLOCKED, log, waits_for="blocked") as first:
        second = run(*words)
        assert second.returncode == 2
        assert f"{log} is in use by process {first.pid} on " in second.stderr
        os.kill(first.pid, signal.SIGKILL)
        first.wait(PATIENCE)
    with log.open("ab") as file:
        file.write(b'{"hand":30,"sea')  # a line that the kill cut off
    third = run(*words, "--json")
    assert third.returncode == 0, third.stderr
    match("kuhn", ["uniform", "call"], hands=60, seed=3, log=whole)
    assert log.read_bytes() == whole.read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["match.jsonl", "whole.jsonl"]


def test_two_matches_at_once_write_no_hand_twice(tmp_path: Path) -> None:
    log = tmp_path / "cc.jsonl"
    words = command("match", "uniform", "call", "--game", "kuhn", "--hands", 999, "--log", log)
    both = [
        subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=PATIENCE)[1] for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes in ([0, 0], [0, 2]), said  # one after the other, or one was refused
    if codes == [0, 2]:
        assert any("is in use by process" in text for text in said)
    assert [record["hand"] for record in read_log(log)[1]] == list(range(999))


def test_one_server_uses_a_folder(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="Uvicorn is not installed (the extra 'web')")
    pytest.importorskip("fastapi", reason="FastAPI is not installed (the extra 'web')")
    words = ("serve", "--data", tmp_path / "data", "--port", 0, "--no-browser")
    with process(*command(*words), waits_for="subgame is at") as first:
        second = run(*words)
        assert second.returncode == 2
        assert f"data is in use by process {first.pid} on " in second.stderr
        assert "subgame serve --data" in second.stderr.replace("__main__.py", "subgame")
        os.kill(first.pid, signal.SIGKILL)
        first.wait(PATIENCE)
    with process(*command(*words), waits_for="subgame is at") as third:
        third.send_signal(signal.SIGINT)
        assert third.wait(PATIENCE) == 0


@pytest.mark.parametrize("name", ["subgame.sqlite", "jobs/plan.txt"])
def test_a_server_leaves_other_folders_alone(name: str, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="Uvicorn is not installed (the extra 'web')")
    pytest.importorskip("fastapi", reason="FastAPI is not installed (the extra 'web')")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"thesis")
    answer = run("serve", "--data", tmp_path, "--port", 0, "--no-browser")
    assert (answer.returncode, "Traceback" in answer.stderr) == (2, False), answer.stderr
    assert str(tmp_path) in answer.stderr
    assert (tmp_path / name).read_bytes() == b"thesis"
    assert len(list(tmp_path.iterdir())) == 1


def test_many_jobs_are_as_many_as_there_are_cores() -> None:
    """300 processes would take minutes, and 100,000 never begin."""
    words = ("match", "uniform", "call", "--game", "kuhn", "--hands", 600, "--seed", 1, "--json")
    answer = run(*words, "--jobs", 100_000)
    assert answer.returncode == 0, answer.stderr
    assert "--jobs 100,000: " in answer.stderr
    assert " started. There are " in answer.stderr
    plain = match("kuhn", ["uniform", "call"], hands=600, seed=1)
    assert json.loads(answer.stdout)["mean"] == plain.result.mean


DEALER = """
import sys
from subgame.games.holdem import hunl
from subgame.play import Always, match
from subgame.play.protocols.remote import Remote
log, block = sys.argv[1], int(sys.argv[2])
class Opponent(Always):
    hands, asked = 0, 0
    def begin(self, seat, seed):
        super().begin(seat, seed)
        self.hands, self.asked = self.hands + 1, 0
    def act(self, infoset, legal):
        self.asked += 1  # before its second action in a hand the client has acted
        if self.hands > block and self.asked == 2:
            print("blocked", flush=True)
            sys.stdin.read()
        return super().act(infoset, legal)
remote = Remote(hunl(), "client", journal=__import__("pathlib").Path(log + ".client"))
print("port", remote.address[1], flush=True)
match(hunl(), [remote, Opponent("call")], 20, seed=1, log=log)
"""


def test_a_client_keeps_its_results_if_the_dealer_is_killed(tmp_path: Path) -> None:
    """The dealer is killed in the middle of hand 12; it and the client are started again."""
    log, own = tmp_path / "dealer.jsonl", tmp_path / "client.jsonl"

    def client(port: str) -> list[str]:
        return command("acpc", "call", "127.0.0.1", port, "--seed", 1, "--log", own, "--json")

    with process(sys.executable, "-c", DEALER, log, 12) as dealer:
        assert dealer.stdout is not None
        port = dealer.stdout.readline().split()[1]
        with process(*client(port)) as player:
            assert "blocked" in dealer.stdout.readline()
            os.kill(dealer.pid, signal.SIGKILL)
            out, err = player.communicate(timeout=PATIENCE)
    assert player.returncode == 2
    assert "is gone in the middle of a hand. The 12 hands before it count." in err
    answer, hands = json.loads(out), read_history(log).hands
    assert (answer["hands"], answer["complete"]) == (12, False)
    assert answer["mean"] == pytest.approx(sum(hand.won for hand in hands) / 12 * 10)
    kept = [json.loads(line) for line in own.read_text().splitlines()[1:]]
    assert [(hand.number, hand.won) for hand in hands] == [(k["hand"], k["won"]) for k in kept]
    with process(sys.executable, "-c", DEALER, log, 1000) as dealer:
        assert dealer.stdout is not None
        port = dealer.stdout.readline().split()[1]
        again = subprocess.run(
            client(port), capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        assert dealer.wait(PATIENCE) == 0
    assert again.returncode == 0, again.stderr
    answer, hands = json.loads(again.stdout), read_history(log).hands
    assert (answer["hands"], answer["complete"]) == (20, True)
    assert answer["mean"] == pytest.approx(sum(hand.won for hand in hands) / 20 * 10)
