"""The ACPC protocol: lines, the dealer and the client, over real sockets."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from dealing import PATIENT, Dealer, Rude

import subgame as sg
from subgame.errors import SubgameError
from subgame.games.holdem import Holdem, hunl, nlfh
from subgame.play import Always, Uniform, match, play_hand
from subgame.play.agent import Agent
from subgame.play.match import Hand
from subgame.play.protocols.acpc import MatchState, log_line, read_log_line
from subgame.play.protocols.client import Client, Played
from subgame.play.protocols.follow import Follower
from subgame.play.protocols.histories import check_hands, read_history, replay
from subgame.play.protocols.notation import ACPC
from subgame.play.protocols.remote import Clock, Limits, Remote


@pytest.fixture(scope="module")
def game() -> Holdem:
    return hunl()


class Listening(Agent):
    """Takes every action of another agent and notes the infosets it was asked at."""

    name = "listening"

    def __init__(self, inner: Agent) -> None:
        self.inner, self.asked = inner, list[str]()

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.inner.begin(seat, seed)

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        self.asked.append(infoset)
        return self.inner.act(infoset, legal)


def test_the_example_of_the_protocol_document(game: Holdem) -> None:
    """Hand 31 of the document: what player 1 is told, from the first line to the showdown."""
    lines = [
        "MATCHSTATE:1:31::|JdTc",
        "MATCHSTATE:1:31:r300:|JdTc",
        "MATCHSTATE:1:31:r300r900:|JdTc",
        "MATCHSTATE:1:31:r300r900c/:|JdTc/6dJc9c",
        "MATCHSTATE:1:31:r300r900c/r1800:|JdTc/6dJc9c",
        "MATCHSTATE:1:31:r300r900c/r1800r3600:|JdTc/6dJc9c",
        "MATCHSTATE:1:31:r300r900c/r1800r3600r9000:|JdTc/6dJc9c",
        "MATCHSTATE:1:31:r300r900c/r1800r3600r9000c/:|JdTc/6dJc9c/Kh",
        "MATCHSTATE:1:31:r300r900c/r1800r3600r9000c/r20000:|JdTc/6dJc9c/Kh",
        "MATCHSTATE:1:31:r300r900c/r1800r3600r9000c/r20000c/:JsTh|JdTc/6dJc9c/Kh/Qc",
    ]
    state, sent = game.new_initial_state(), []
    moves = ["JsTh", "JdTc", "r300", "r900", "c", "6dJc9c", "r900", "r2700", "r8100", "c", "Kh"]
    for move in [*moves, "r11000", "c", "Qc"]:
        state = state.child(move)
        if state.current_player() != -1:
            sent.append(MatchState.of(state, 1, 31).text())
    assert sent == lines
    for line in lines:
        assert MatchState.parse(line, game).text() == line


def test_pokerkit_writes_the_same_lines(game: Holdem) -> None:
    for number in range(60):
        hand = play_hand(game, (Uniform(), Uniform()), number, seed=4)
        theirs = _pokerkit_lines(game, hand)
        for seat in (0, 1):
            state, ours = game.new_initial_state(), list[str]()
            for player, action in hand.moves:
                if player == seat:
                    ours.append(f"{ours[-1]}:{ACPC.write(state.betting, action)}")
                state = state.child(action)
                if state.current_player() != -1:
                    ours.append(MatchState.of(state, seat, number).text())
            assert ours == theirs[seat]
        line = log_line(game, hand, ("A", "B"))
        assert read_log_line(game, line, ("A", "B")) == hand


def _pokerkit_lines(game: Holdem, hand: Hand) -> list[list[str]]:
    kit: Any = pytest.importorskip("pokerkit")
    theirs = kit.NoLimitTexasHoldem((), True, 0, game.rules.blinds, game.rules.blinds[1])
    ended = replay(game, hand)
    history = kit.HandHistory.from_game_state(theirs, ended)
    return [
        [line.rstrip() for _, line in history.to_acpc_protocol(seat, hand.number)]
        for seat in (0, 1)
    ]


def test_a_match_over_sockets_is_the_match_without(game: Holdem, tmp_path: Path) -> None:
    """Two clients and a dealer play the hands that the agents play in one process."""
    log = tmp_path / "sockets.jsonl"
    remotes = (Remote(game, "A", limits=PATIENT), Remote(game, "B", limits=PATIENT))
    dealer = Dealer(game, remotes, 40, log)
    played: dict[int, Played] = {}

    def client(k: int) -> None:
        player = Client(Uniform(), game, seed=1)
        player.play(*remotes[k].address)
        played[k] = player.played

    threads = [threading.Thread(target=client, args=(k,)) for k in (0, 1)]
    for thread in threads:
        thread.start()
    result = dealer.result()
    for thread in threads:
        thread.join()
    plain = match(game, ["uniform", "uniform"], 40, seed=1, log=tmp_path / "plain.jsonl")
    assert result.result == plain.result
    assert read_history(log).hands == read_history(tmp_path / "plain.jsonl").hands
    assert len(played[0].won) == 40
    assert played[0].result.mean == pytest.approx(result.result.mean)
    assert played[1].result.mean == pytest.approx(-result.result.mean)
    assert [remote.bad for remote in remotes] == [0, 0]
    assert check_hands(read_history(log)) == 40


def test_the_order_of_the_dealers_cards_does_not_matter(game: Holdem) -> None:
    agent = Listening(Always("call"))
    follower = Follower(agent, game)
    for flop in ("8c8d5c", "5c8d8c"):
        said = MatchState.parse(f"MATCHSTATE:0:30:cc/:8h9s|/{flop}", game)
        follower.reach(said.hand, 0, said.hands[0], said.board, said.betting)
        follower.act()
    state = game.new_initial_state()
    for move in ("9s8h", "AsAd", "c", "c", "5c8c8d"):
        state = state.child(move)
    assert agent.asked[-1] == state.information_state(0)
    assert len(set(agent.asked)) == 2  # before the flop and on it


def test_an_agent_at_a_dealer_knows_what_it_knows_in_a_match() -> None:
    """Infosets are named as the game names them."""
    game = nlfh(bets="all: 0.5x 1x a; cap 4")
    here = Listening(Uniform())
    match(game, [here, "call"], 30, seed=1)
    there, remote = Listening(Uniform()), Remote(game, "A", limits=PATIENT)
    dealer = Dealer(game, (remote, "call"), 30, None)
    thread = threading.Thread(target=Client(there, game, seed=1).play, args=remote.address)
    thread.start()
    dealer.result()
    thread.join()
    assert there.asked == here.asked


class Killer(Agent):
    """Calls, and on the turn of one hand first kills the process that plays against it."""

    name = "killer"

    def __init__(self, hand: int) -> None:
        self.hand, self.hands = hand, 0
        self.kill = list[int]()

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.hands += 1

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        acted = infoset.rpartition("| ")[2].count("/") > 1  # both have, before the flop and on it
        if self.hands > self.hand and self.kill and acted:
            os.kill(self.kill.pop(), signal.SIGKILL)
        return "c"


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "subgame", *map(str, words)]


def test_a_killed_client_comes_back_in_the_middle_of_a_hand(game: Holdem, tmp_path: Path) -> None:
    """Two processes, 60 hands, one of them killed on the turn of a hand after hand 30."""
    log, killer = tmp_path / "match.jsonl", Killer(30)
    remote = Remote(game, "client", limits=PATIENT)
    words = command("acpc", "uniform", *remote.address, "--seed", 1)
    dealer = Dealer(game, (remote, killer), 60, log)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        killer.kill.append(first.pid)
        first.wait(600)
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=600)
    dealer.result()
    assert first.returncode == -signal.SIGKILL
    history = read_history(log)
    assert [hand.number for hand in history.hands] == list(range(60))
    assert check_hands(history) == 60
    plain = match(game, ["uniform", Always("call")], 60, seed=1, log=tmp_path / "plain.jsonl")
    assert plain.hands == 60
    assert read_history(tmp_path / "plain.jsonl").hands == history.hands
    assert "hands" in done.stdout
    assert 0 < remote.clock.slowest_action < PATIENT.action


@pytest.mark.slow
def test_a_long_match_survives_two_kills(game: Holdem, tmp_path: Path) -> None:
    """3,000 hands: a client is killed after 1,000 of them, the dealer after 2,000."""
    log, ports = tmp_path / "match.jsonl", [_free_port(), _free_port()]
    seats = [f"alice={ports[0]}", f"bob={ports[1]}"]
    deal = command("dealer", *seats, "--hands", 3000, "--seed", 1, "--log", log, "--json")
    clients = [
        command("acpc", "uniform", "127.0.0.1", port, "--seed", 1, "--reconnect", 600)
        for port in ports
    ]
    began = time.monotonic()
    dealer, one, two = (
        subprocess.Popen(words, stdout=subprocess.DEVNULL) for words in (deal, *clients)
    )
    _wait_for(log, 1000)
    one.kill()
    one.wait()
    one = subprocess.Popen(clients[0], stdout=subprocess.DEVNULL)
    _wait_for(log, 2000)
    dealer.kill()
    dealer.wait()
    done = subprocess.run(deal, stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    summary = json.loads(done.stdout)
    assert [process.wait(600) for process in (one, two)] == [0, 0]
    seconds = time.monotonic() - began
    history = read_history(log)
    assert [hand.number for hand in history.hands] == list(range(3000))
    assert check_hands(history) == 3000
    plain = match(game, ["uniform", "uniform"], 3000, seed=1, log=tmp_path / "plain.jsonl")
    assert read_history(tmp_path / "plain.jsonl").hands == history.hands
    assert summary["mean"] == plain.result.mean
    for used in summary["times"].values():
        assert used["slowest_action"] < 10
        assert used["average_hand"] < 6
    assert sorted(path.name for path in tmp_path.iterdir()) == ["match.jsonl", "plain.jsonl"]
    print(f"{seconds:.1f} s, {summary['score']}, {summary['times']}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _wait_for(log: Path, hands: int) -> None:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        if log.exists() and log.read_bytes().count(b"\n") > hands:
            return
        time.sleep(0.02)
    raise AssertionError(f"{hands} hands were not played in time.")


def test_a_killed_dealer_asks_no_action_twice(game: Holdem, tmp_path: Path) -> None:
    """The journal has the answers of the hand that was being played when the dealer was killed."""
    journal = tmp_path / "journal"
    seen: Counter[str] = Counter()
    for stop in (3, 100):  # the first dealer is gone after three actions
        remote = Remote(game, "A", limits=PATIENT, journal=journal)
        dealer = Dealer(game, (remote, "call"), 2, None)
        player = Rude(remote)
        for _ in range(stop):
            line = player.next_turn()
            if line is None:
                break
            seen[line] += 1
            player.send(f"{line}:c\r\n".encode())
        if stop == 3:
            remote.limits = Limits(connect=0.01)
        player.close()
        if stop == 3:
            with pytest.raises(SubgameError, match="has not connected"):
                dealer.result()
        else:
            dealer.result()
    asked_again = {line for line, count in seen.items() if count > 1}
    assert len(seen) == 8
    assert not asked_again


def test_programs_are_started_and_started_again(game: Holdem, tmp_path: Path) -> None:
    """A program that ends after a few hands is started again and finds its way."""
    script = tmp_path / "player.py"
    script.write_text(
        "import socket, sys\n"
        "with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as s:\n"
        "    s.sendall(b'VERSION:2.0.0\\r\\n')\n"
        "    for k, line in enumerate(s.makefile('rb')):\n"
        "        line = line.rstrip()\n"
        "        if line[:1] == b'#' or k > 25: break\n"
        "        s.sendall(line + b':c\\r\\n')\n"
    )
    log = tmp_path / "log.jsonl"
    result = match(game, [f"acpc:{sys.executable} {script}", "call"], 8, log=log)
    plain = match(game, ["call", "call"], 8)
    assert result.result == plain.result
    assert check_hands(read_history(log)) == 8


@pytest.mark.parametrize(
    ("limits", "seconds", "says"),
    [
        (Limits(action=1), [1.5], "1.5 s for an action; the limit is 1.0 s"),
        (Limits(hand=2), [0.9, 0.9, 0.9], "2.7 s for a hand; the limit is 2.0 s"),
        (Limits(average=0.5), [0.9, 0.9], "1.8 s for the match; the limit is 1.0 s"),
    ],
)
def test_time_limits(limits: Limits, seconds: list[float], says: str) -> None:
    clock = Clock("A", limits, hands=2)
    for used in seconds[:-1]:
        clock.spend(used)
    with pytest.raises(SubgameError, match=says):
        clock.spend(seconds[-1])
    assert clock.slowest_action == max(seconds)


def test_only_whole_hands_of_holdem_are_dealt() -> None:
    spot = sg.holdem.endgame("Qs Jh 2h 8d 3c", pot=100, stacks=200)
    for game in (spot, sg.games.load("leduc")):
        with pytest.raises(SubgameError, match="whole hands of hold'em"):
            Remote(game, "A")


def test_a_match_of_programs_is_not_shared_out(game: Holdem) -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(SubgameError, match="one hand at a time"):
        match(game, ["acpc:false", "call"], 8, executor=pool)
