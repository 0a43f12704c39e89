"""Hand histories: every hand through PokerKit, out and in again."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import subgame as sg
from subgame.games.holdem import Holdem, hunl
from subgame.play import match
from subgame.play.protocols.histories import (
    History,
    _their_game,
    check_hands,
    read_history,
    replay,
    write_history,
    write_phh,
)

kit: Any = pytest.importorskip("pokerkit")
HANDS = 60


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("match") / "match.jsonl"
    match("hunl", ["uniform", "raise"], HANDS, seed=3, log=path)
    return path


@pytest.fixture(scope="module")
def history(log: Path) -> History:
    return read_history(log)


@pytest.mark.parametrize("suffix", [".phhs", ".log", ".jsonl"])
def test_hands_come_back(suffix: str, history: History, tmp_path: Path) -> None:
    path = tmp_path / f"hands{suffix}"
    write_history(history, path)
    again = read_history(path, history.game)
    assert again.hands == history.hands
    assert again.names == history.names


@pytest.mark.parametrize("agents", [("uniform", "uniform"), ("call", "raise"), ("call", "call")])
def test_phh_is_what_pokerkit_writes(agents: tuple[str, str], tmp_path: Path) -> None:
    """But for the cards of who need not show them, which are written here."""
    path = tmp_path / "match.jsonl"
    match("hunl", list(agents), HANDS, seed=5, log=path)
    history = read_history(path)
    tables = [*kit.HandHistory.loads_all("".join(write_phh(history)))]
    assert len(tables) == HANDS
    for hand, table in zip(history.hands, tables, strict=True):
        state = replay(history.game, hand)
        theirs = kit.HandHistory.from_game_state(_their_game(history.game.rules), state)
        for ours, wanted in zip(table.actions, theirs.actions, strict=True):
            assert ours == wanted or ours.startswith(f"{wanted} ")
        for field in ("variant", "antes", "blinds_or_straddles", "min_bet", "starting_stacks"):
            assert getattr(table, field) == getattr(theirs, field)


def test_phh_is_written_without_pokerkit(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pokerkit", None)
    assert "".join(write_phh(history)).count("variant = 'NT'") == HANDS


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"won":', '"won":NaN,"x":', "Agent 0 wins nan chips; by the rules it is"),
        ('"won":', '"won":1e9,"x":', "Agent 0 wins 1e.09 chips; by the rules it is"),
        ('"seats":[0,1]', '"seats":[0,7]', "in the seats must be 0 and 1"),
        ('"],[', '"],[-1,"7h7h"],[', "this card was already given"),
    ],
)
def test_a_log_is_checked_hand_by_hand(
    old: str, new: str, words: str, log: Path, tmp_path: Path
) -> None:
    path = tmp_path / "changed.jsonl"
    path.write_text(log.read_text().replace(old, new, 1))
    with pytest.raises(sg.SubgameError, match=f"changed.jsonl: Line 2: .*{words}"):
        read_history(path)


def test_hands_replace_an_older_file(history: History, tmp_path: Path) -> None:
    path = tmp_path / "hands.jsonl"
    write_history(history._replace(hands=history.hands[:1]), path)
    write_history(history._replace(hands=history.hands[5:9]), path)
    assert read_history(path).hands == history.hands[5:9]


def test_pokerkit_reads_our_acpc_log(history: History, tmp_path: Path) -> None:
    """Its own reader, which counts chips by itself, plays every hand to the same result."""
    path = tmp_path / "match.log"
    write_history(history, path)
    game = kit.NoLimitTexasHoldem((), True, 0, (50, 100), 100)
    theirs = kit.HandHistory.from_acpc_protocol(game, 20000, path.read_text(), error_status=True)
    won = []
    for hand in theirs:
        *_, state = hand
        seat = hand.players.index("uniform")
        won.append(float(state.payoffs[seat]))
    assert won == [hand.won for hand in history.hands]
    total = round(sum(won))
    assert path.read_text().splitlines()[-1] == f"SCORE:{total}|{-total}:uniform|raise"


def test_small_decks_and_short_games_are_replayed(tmp_path: Path) -> None:
    for name in ("nlfh", "nlth", "hunl(stack=700, ranks=6789TJ)"):
        path = tmp_path / f"{name[:4]}.jsonl"
        match(name, ["uniform", "uniform"], 20, seed=2, log=path)
        assert check_hands(read_history(path)) == 20
    short = read_history(tmp_path / "nlfh.jsonl")
    with pytest.raises(sg.SubgameError, match="games that end on the flop"):
        write_history(short, tmp_path / "short.phhs")
    write_history(short, tmp_path / "short.log")
    assert read_history(tmp_path / "short.log", short.game).hands == short.hands


def test_broken_hands_are_found(history: History) -> None:
    hand = history.hands[0]
    moves = list(hand.moves)
    (first, action), rest = moves[2], moves[3:]
    broken = {
        "is 1's turn": ((1 - first, action), rest),
        "breaks a rule": ((first, "r150"), rest),
        "agent 0 wins": ((first, "f"), []),
    }
    for says, (move, more) in broken.items():
        wrong = replace(hand, moves=(*moves[:2], move, *more), won=12345.0)
        with pytest.raises(sg.SubgameError, match=says):
            replay(history.game, wrong)


def test_files_that_are_no_histories(history: History, tmp_path: Path) -> None:
    other = tmp_path / "hands.txt"
    other.write_text("x")
    with pytest.raises(sg.SubgameError, match=r"no kind of history called '\.txt'"):
        read_history(other)
    with pytest.raises(sg.SubgameError, match=r"no kind of history called '\.txt'"):
        write_history(history, other)
    bad = tmp_path / "bad.jsonl"
    for text in ("", "[]\n", '{"format":"subgame-match-1"}\n', '{"format":"other"}\n'):
        bad.write_text(text)
        with pytest.raises(sg.SubgameError, match=r"bad\.jsonl"):
            read_history(bad)
    leduc = tmp_path / "leduc.jsonl"
    match("leduc", ["uniform", "call"], 2, log=leduc)
    with pytest.raises(sg.SubgameError, match="whole hands of hold'em"):
        read_history(leduc)


def test_a_hand_of_another_program(tmp_path: Path) -> None:
    """A hand in PHH as PokerKit's documentation has them, without players' names."""
    path = tmp_path / "one.phh"
    path.write_text(
        "variant = 'NT'\nantes = [0, 0]\nblinds_or_straddles = [50, 100]\nmin_bet = 100\n"
        "starting_stacks = [1000, 1000]\nactions = ['d dh p1 AsKs', 'd dh p2 2c2d', "
        "'p2 cbr 300', 'p1 cc', 'd db 2h5s9c', 'p1 cc', 'p2 cbr 700', 'p1 f']\n"
    )
    history = read_history(path)
    (hand,) = history.hands
    assert isinstance(history.game, Holdem)
    assert history.game.rules == hunl(stack=1000).rules
    assert hand.won == -300
    assert [action for player, action in hand.moves if player >= 0] == [
        "r300",
        "c",
        "c",
        "r700",
        "f",
    ]
