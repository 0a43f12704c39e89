"""Bad input: each kind has a clear message, and the match goes on or ends with its log intact."""

from __future__ import annotations

import logging
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from dealing import PATIENT, Dealer, Rude

from subgame.errors import SubgameError
from subgame.games.holdem import Holdem, hunl
from subgame.play import Always
from subgame.play.log import read_log
from subgame.play.protocols.acpc import MatchState
from subgame.play.protocols.client import Client
from subgame.play.protocols.histories import check_hands, read_acpc, read_history, read_phh
from subgame.play.protocols.remote import Limits, Remote

HANDS = 3
SAID = Callable[[str], bytes]
"""What is sent instead of an answer, from the line that asks for one."""


@pytest.fixture(scope="module")
def game() -> Holdem:
    return hunl()


def answer(text: str) -> SAID:
    return lambda line: f"{line}:{text}\r\n".encode()


def other(old: str, new: str) -> SAID:
    def said(line: str) -> bytes:
        assert old in line
        return f"{line.replace(old, new, 1)}:c\r\n".encode()

    return said


# At the first turn of hand 1 the player is in seat 1, before the flop: MATCHSTATE:1:1::|cards
GOES_ON: dict[str, tuple[SAID, str]] = {
    "a truncated line": (lambda line: line[:12].encode() + b"\r\n", "is no answer to"),
    "a line cut before the action": (lambda line: line.encode() + b"\r\n", "is no answer to"),
    "an empty line": (lambda line: b"\r\n", "is no answer to"),
    "binary rubbish": (lambda line: bytes(range(256)) + b"\n", r"\\x00\\x01"),
    "a line that is too long": (lambda line: b"A" * 1_000_000 + b"\n", "AAAA"),
    "the wrong seat": (other("E:1:", "E:0:"), "is no answer to"),
    "another hand": (other(":1::", ":0::"), "is no answer to"),
    "a reply to another state": (other(":1::", ":1:r300r900:"), "is no answer to"),
    "the wrong pot": (other(":1::", ":1:r99999:"), "is no answer to"),
    "other cards": (other(":|", ":2c2d|"), "is no answer to"),
    "a raise that is too small": (answer("r101"), "'r101', which is not legal; it becomes r200"),
    "a raise that is too large": (answer("r20001"), "it becomes r20000"),
    "a raise to nothing": (answer("r0"), "it becomes r200"),
    "a raise without an amount": (answer("r"), "'r' is not an action .* It becomes a call"),
    "a negative raise": (answer("r-300"), "It becomes a call"),
    "a huge number": (answer("r" + "9" * 3000), r"999\.\.\.' is not an action"),
    "digits of another script": (answer("r\u0663\u0660\u0660"), "It becomes a call"),
    "an unknown action": (answer("check"), "'check' is not an action"),
    "no action": (answer(""), "'' is not an action"),
    "an action with spaces": (answer(" c"), "' c' is not an action"),
    "two actions": (answer("cc"), "'cc' is not an action"),
    "two replies at once": (
        lambda line: f"{line}:c\r\n{line}:f\r\n".encode(),
        "f', which is no answer to",
    ),
}


def play(game: Holdem, log: Path, said: SAID, limits: Limits | None = None) -> Dealer:
    """A match with a player who says something in hand 1 and otherwise calls."""
    remote = Remote(game, "rude", limits=limits or PATIENT)
    dealer = Dealer(game, (remote, "call"), HANDS, log)
    player = Rude(remote)
    while (line := player.next_turn()) is not None:
        proper = f"{line}:c\r\n".encode()
        if ":1::|" not in line:
            player.send(proper)
            continue
        data = said(line)
        if not data:
            player.close()
            break
        player.send(data)
        if limits is None and not data.startswith(f"{line}:".encode()):
            player.send(proper)  # after what is no answer
    if limits is None:
        dealer.result()
    else:
        dealer.thread.join(600)
    player.close()
    return dealer


@pytest.mark.parametrize("kind", GOES_ON)
def test_the_match_goes_on(
    kind: str, game: Holdem, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said, message = GOES_ON[kind]
    with caplog.at_level(logging.WARNING, "subgame"):
        play(game, tmp_path / "log.jsonl", said)
    warnings = [record.getMessage() for record in caplog.records]
    assert any(re.search(message, line) for line in warnings), warnings
    assert len(warnings) == (2 if kind == "binary rubbish" else 1)  # it has a line break
    assert all(len(line) < 400 and line.isprintable() for line in warnings)
    history = read_history(tmp_path / "log.jsonl")
    assert [hand.number for hand in history.hands] == list(range(HANDS))
    assert check_hands(history) == HANDS


def test_a_fold_where_nothing_was_bet_is_a_check(
    game: Holdem, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    remote, log = Remote(game, "rude", limits=PATIENT), tmp_path / "log.jsonl"
    dealer = Dealer(game, (remote, "call"), 1, log)
    player = Rude(remote)
    with caplog.at_level(logging.WARNING, "subgame"):
        while (line := player.next_turn()) is not None:
            player.send(f"{line}:f\r\n".encode())
    dealer.result()
    assert "'f', which is not legal; it becomes a call" in caplog.text
    (hand,) = read_history(log).hands
    assert [action for player, action in hand.moves if player >= 0] == ["c"] * 8


def test_comments_are_no_input(
    game: Holdem, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "subgame"):
        play(game, tmp_path / "log.jsonl", lambda line: b"# hello\r\n; hello\n")
    assert not caplog.records


ENDS: dict[str, tuple[SAID, Limits, str]] = {
    "silence": (
        lambda line: b"#\n",
        Limits(action=1),
        "has not answered 'MATCHSTATE:1:1::.* within 1.0 s; the limits are",
    ),
    "a line without an end": (
        lambda line: f"{line}:c".encode(),
        Limits(action=1),
        "has not answered",
    ),
    "too long for a hand": (lambda line: b"#\n", Limits(hand=1), r"within [01]\.\d s"),
    "too long on average": (lambda line: b"#\n", Limits(average=0.5), r"within [01]\.\d s"),
    "a flood": (lambda line: b"x\n" * 1001, Limits(), "1,000 lines that are no answers"),
    "a lost connection": (lambda line: b"", Limits(connect=1), "has not connected to"),
}


@pytest.mark.parametrize("kind", ENDS)
def test_the_match_ends_with_its_log(kind: str, game: Holdem, tmp_path: Path) -> None:
    said, limits, message = ENDS[kind]
    log = tmp_path / "log.jsonl"
    dealer = play(game, log, said, limits)
    with pytest.raises(SubgameError, match=message):
        dealer.result()
    assert [record["hand"] for record in read_log(log)[1]] == [0]
    play(game, log, answer("c"))  # the same match goes on
    assert [hand.number for hand in read_history(log).hands] == list(range(HANDS))


def test_only_the_right_version_is_let_in(game: Holdem, caplog: pytest.LogCaptureFixture) -> None:
    remote = Remote(game, "rude", limits=PATIENT)
    dealer = Dealer(game, (remote, "call"), 1, None)
    with caplog.at_level(logging.WARNING, "subgame"):
        for version in (b"VERSION:1.0.0\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\n"):
            stranger = Rude(remote, version)
            assert stranger.next_turn() is None
            stranger.close()
        Rude(remote).call_on()
    dealer.result()
    assert caplog.text.count("instead of 'VERSION:2.0.0'") == 3


# What a dealer may send to a client of ours.
FROM_DEALER = {
    "": "is not a line MATCHSTATE",
    "\x00\xff\x07": "is not a line MATCHSTATE",
    "MATCHSTATE:0:0::AsKs": "two hands",
    "MATCHSTATE:2:0::AsKs|": "a seat 0 or 1",
    "MATCHSTATE:0:-1::AsKs|": "number of a hand",
    f"MATCHSTATE:0:{'9' * 40}::AsKs|": "number of a hand",
    "MATCHSTATE:1:0::AsKs|": "does not tell player 1 their own cards",
    "MATCHSTATE:0:0::As|": "must have 0 or 2 cards",
    "MATCHSTATE:0:0::AsXs|": "there is no rank 'X'",
    "MATCHSTATE:0:0::AsAs|": "already given",
    "MATCHSTATE:0:0:cc/:AsKs|": "must have 3 cards on the board",
    "MATCHSTATE:0:0:cc/:AsKs|/As2c3d": "is given twice",
    "MATCHSTATE:0:0::AsKs|/2c3d4h": "must have 0 cards on the board",
    "MATCHSTATE:0:0:r150:AsKs|": "between 200 and 20000",
    "MATCHSTATE:0:0:r300:AsKs|:c": "is not a line MATCHSTATE",
    "MATCHSTATE:0:0:r300fc:AsKs|": "the street ends before",
}


@pytest.mark.parametrize("line", FROM_DEALER)
def test_a_client_refuses_what_breaks_the_rules(line: str, game: Holdem) -> None:
    with pytest.raises(SubgameError, match=FROM_DEALER[line]):
        MatchState.parse(line, game)


def test_a_client_says_what_is_wrong_with_its_dealer(game: Holdem) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        for sent, says in (
            (b"MATCHSTATE:0:0:r150:AsKs|\r\n", "between 200 and 20000"),
            (b"MATCHSTATE:0:0:r300:AsKs|\r\n", "gone in the middle of a hand"),
        ):
            thread = threading.Thread(target=_send_once, args=(server, sent))
            thread.start()
            with pytest.raises(SubgameError, match=says):
                Client(Always("call"), game).play(*address)
            thread.join()
    with pytest.raises(SubgameError, match="There is no dealer at"):
        Client(Always("call"), game).play(*address)


def _send_once(server: socket.socket, data: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(100)
        connection.sendall(data)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "no line STATE"),
        ("STATE:0:f:AsKs|2c2d:50|-50", "is not a line STATE"),
        ("STATE:0:f:AsKs|2c2d:50|-50:A", "does not name two players"),
        ("STATE:0:f:AsKs|2c2d:75|-75:A|B", "by the rules it is 50 and -50"),
        ("STATE:0:f:AsKs|2c2d:x|y:A|B", "by the rules it is 50 and -50"),
        ("STATE:0:c:AsKs|2c2d:50|-50:A|B", "is not over"),
        ("STATE:0:f:AsKs|:50|-50:A|B", "does not show both hands"),
    ],
)
def test_bad_logs_of_a_dealer(line: str, says: str, game: Holdem) -> None:
    with pytest.raises(SubgameError, match=says):
        read_acpc(line, game)


PHH = """variant = 'NT'
antes = [0, 0]
blinds_or_straddles = [50, 100]
min_bet = 100
starting_stacks = [20000, 20000]
actions = ['d dh p1 AsKs', 'd dh p2 2c2d', 'p2 f']
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("variant", "not TOML [", "cannot read this PHH"),
        ("'NT'", "'FT'", "Only heads-up no-limit|cannot read"),
        ("[0, 0]", "[5, 5]", "Only heads-up no-limit"),
        ("[20000, 20000]", "[20000, 10000]", "equal stacks"),
        ("'p2 f'", "'p2 cbr 150'", "breaks a rule of PokerKit|is not over"),
        ("'p2 f'", "'p1 f'", "breaks a rule of PokerKit|wrong player"),
        ("'p2 f'", "'p2 cc'", "is not over"),
        ("2c2d", "????", "does not show both hands"),
    ],
)
def test_bad_phh(old: str, new: str, says: str) -> None:
    assert len(read_phh(PHH).hands) == 1
    with pytest.raises(SubgameError, match=says):
        read_phh(PHH.replace(old, new, 1))
