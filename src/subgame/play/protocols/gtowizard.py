"""An agent of ours in GTO Wizard's public benchmark, over its HTTP API.

Provost, Ilenič, Solinas & Beardsell 2026, "GTO Wizard Benchmark". The server deals "HUNL 200BB":
blinds of 50 and 100, stacks of 20,000. The API has two requests, each a POST of JSON with the
header ``X-API-KEY``:

    /hands  {"game_name"}                 /hands/ID/act  {"action", "amount"}

Both answer with ``hand_id`` and ``game_state``, which has ``action_history`` (``f``, ``k``, ``c``,
``bN`` with the player's chips on the street, ``_`` between streets), ``board_cards``, ``players``
(ours is the one whose ``hole_cards`` are shown), ``is_hand_over``, and at the end ``winnings`` and
the server's own ``aivat_score``. This is what the published client and programs that use it say. It
was tested against a stand-in only, not against the server.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from subgame.errors import SubgameError
from subgame.games.base import Game
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting, NoLimit
from subgame.play.agent import Agent
from subgame.play.match import Estimate, kept_policies
from subgame.play.protocols.acpc import read_cards, rebuilt, whole_game
from subgame.play.protocols.follow import Follower
from subgame.play.protocols.http import BusyError, check_address, post
from subgame.play.protocols.notation import SLUMBOT, shown
from subgame.tree.log import Kind, Log

URL, GAME_NAME = "https://researcher.gtowizard.com", "HUNL 200BB"
KEY = "GTOW_API_KEY"
"""The environment variable that has the user's key."""
ATTEMPTS = 6
HANDS = Kind(
    "run of GTO Wizard's benchmark",
    "subgame gtowizard",
    "subgame-gtowizard-1",
    ("hand", "seat", "actions", "won"),
    ("hand",),
    "The run goes on; hands that the log lacks are lost if it is stopped.",
)
"""Logs: of each hand the betting, both players' cards as far as they were shown, and results."""


@dataclass(frozen=True)
class Told:
    """What an answer says."""

    hand_id: int
    betting: Betting
    held: tuple[str, ...]
    """The hands that are shown: ours, and at a showdown both, in the order of the players."""
    board: tuple[int, ...]
    over: bool
    winnings: float | None
    aivat: float | None

    @classmethod
    def of(cls, answer: dict[str, Any], game: Holdem) -> Told:
        """The answer, checked by the rules."""
        try:
            state = answer["game_state"]
            history = [str(action) for action in state["action_history"]]
            held = tuple(str(p["hole_cards"]) for p in state["players"] if p["hole_cards"])
            over = bool(state["is_hand_over"])
            won, aivat = state.get("winnings"), state.get("aivat_score")
            board, number = str(state["board_cards"] or ""), int(answer["hand_id"])
            results = [None if value is None else float(value) for value in (won, aivat)]
        except (KeyError, TypeError, ValueError):
            raise SubgameError(
                f"The answer {shown(str(answer), 200)} is not one of GTO Wizard's benchmark."
            ) from None
        betting, line = game.start(), " ".join(history)
        for action in history:
            if action != "_":
                betting = betting.child(SLUMBOT.read(betting, action))
        if over != betting.is_over or (over and results[0] is None):
            raise SubgameError(f"After '{shown(line)}' the server and the rules disagree.")
        seen = game.deck.parse(board) if board else ()
        return cls(number, betting, held, tuple(seen), over, *results)


class Benchmark:
    """The HTTP API."""

    def __init__(self, url: str = URL, key: str | None = None, pause: float = 2.0) -> None:
        key = key or os.environ.get(KEY)
        if not key:
            raise SubgameError(f"GTO Wizard's benchmark needs a key: set {KEY} to yours.")
        self.address, self.headers, self.pause = check_address(url), {"X-API-KEY": key}, pause

    def new_hand(self) -> dict[str, Any]:
        """Begin a hand."""
        return self._post("hands", {"game_name": GAME_NAME})

    def act(self, hand: int, text: str) -> dict[str, Any]:
        """Take an action: f, k, c or b with the player's chips on the street."""
        body: dict[str, Any] = {"action": text[0]}
        if text[1:]:
            body["amount"] = int(text[1:])
        return self._post(f"hands/{hand}/act", body)

    def _post(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer; a busy server is asked again, after longer and longer pauses."""
        for attempt in range(ATTEMPTS):
            try:
                return post(f"{self.address}/{name}", body, 180.0, self.headers)
            except BusyError:
                if attempt + 1 == ATTEMPTS:
                    raise
                time.sleep(self.pause * 2**attempt)
        raise AssertionError


def play_one(api: Benchmark, follower: Follower, number: int) -> dict[str, Any]:
    """Play one hand; its record for the log."""
    game, answer, seat, ours = follower.game, api.new_hand(), None, ""
    while True:
        seen = Told.of(answer, game)
        betting = seen.betting
        if seat is None:  # the button acts first, so where a hand begins with a fold, we are not it
            seat = 0 if seen.over else betting.player
            ours = seen.held[0] if seen.held else ""
        cards = (ours, "") if seat == 0 else ("", ours)
        streets = [seen.board[:3], seen.board[3:4], seen.board[4:]]
        dealt = "/".join(game.deck.name(part) for part in streets if part)
        text = "|".join(cards) + (f"/{dealt}" if dealt else "")
        hands, board = read_cards(game, text, betting)
        follower.reach(number, seat, hands[seat], board, betting)
        if seen.over:
            break
        if betting.player != seat:
            raise SubgameError(f"The server waits for an action after '{betting}', but must act.")
        action = follower.act()
        betting.child(action)
        answer = api.act(seen.hand_id, SLUMBOT.write(betting, action))
    won, theirs = seen.winnings, next((hand for hand in seen.held if hand != ours), "")
    if (by_rules := _won(game, seen, seat, (ours, theirs))) not in (None, won):
        raise SubgameError(
            f"The server says that we win {won:g} chips in hand {number}; by the rules it is "
            f"{by_rules:g}."
        )
    record: dict[str, Any] = {
        "hand": number,
        "seat": seat,
        "actions": str(betting),
        "cards": [ours, theirs],
        "board": game.deck.name(seen.board),
        "won": won,
        "aivat": seen.aivat,
    }
    if kept := kept_policies((follower.agent,)):
        record["policies"] = [list(policy) for policy in kept[0]]
    return record


def _won(game: Holdem, seen: Told, seat: int, cards: tuple[str, str]) -> float | None:
    """What we win by the rules; None where the opponent's cards decide and are not shown."""
    if not seen.betting.is_showdown:
        return float(seen.betting.net()[seat])
    ours, theirs = cards
    if not theirs:
        return None
    hands = (ours, theirs) if seat == 0 else (theirs, ours)
    return float(rebuilt(game, hands, seen.board, seen.betting).returns()[seat])


@dataclass
class Scores:
    """The results of a run in chips, by hands: what was won, and by the server's AIVAT."""

    game: Holdem
    won: list[float] = field(default_factory=list)
    aivat: list[float] = field(default_factory=list)

    def add(self, record: dict[str, Any]) -> None:
        """Count a hand."""
        self.won.append(float(record["won"]))
        if record.get("aivat") is not None:
            self.aivat.append(float(record["aivat"]))

    def estimates(self) -> tuple[Estimate, Estimate | None]:
        """What was won in the unit of the game; and by the server's AIVAT, if it said so."""
        scale = self.game.unit[1]
        less = Estimate.of([scale * value for value in self.aivat]) if self.aivat else None
        return Estimate.of([scale * value for value in self.won]), less


def play_benchmark(
    agent: Agent,
    game: Game,
    hands: int,
    api: Benchmark,
    *,
    seed: int = 0,
    log: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Scores:
    """Let an agent play the benchmark; every hand is in the log before the next one begins."""
    rules = whole_game(game)
    if rules.rules != NoLimit():
        raise SubgameError(
            f"The benchmark plays hunl with blinds of 50 and 100 and stacks of 20,000, not {game}."
        )
    scores, follower = Scores(rules), Follower(agent, rules, seed)
    head = {"game": str(game), "agent": agent.name, "seed": seed, "url": api.address}
    book = None if log is None else Log(log, HANDS, head)
    for record in [] if book is None else book.records[:hands]:
        scores.add(record)
    try:
        while len(scores.won) < hands:
            record = play_one(api, follower, len(scores.won))
            if book is not None:
                book.append([record])
            scores.add(record)
            if progress is not None:
                progress(len(scores.won), hands)
    finally:
        if book is not None:
            book.close()
    return scores
