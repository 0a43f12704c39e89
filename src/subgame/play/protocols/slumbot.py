"""An agent of ours against Slumbot, over its HTTP API.

Slumbot deals, so this is not a match of ours: it tells us our cards, and we answer with actions.
The API has two requests, each a POST of JSON:

    /new_hand  {"token"}                  /act  {"token", "incr"}

Both answer with ``token``, ``client_pos`` (0 is the big blind), ``hole_cards``, ``board`` and
``action``, the whole betting so far (`notation.SLUMBOT`); at the end of a hand also with
``winnings`` and ``bot_hole_cards``. Blinds are 50 and 100, stacks 20,000.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from subgame.errors import ArgumentError, SubgameError
from subgame.games.base import Game
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting, NoLimit
from subgame.play.agent import Agent
from subgame.play.log import match_log
from subgame.play.match import Hand, kept_policies
from subgame.play.protocols.acpc import moves_of, read_cards, rebuilt, whole_game
from subgame.play.protocols.follow import Follower
from subgame.play.protocols.http import check_address, post
from subgame.play.protocols.notation import SLUMBOT, shown
from subgame.play.running import MatchResult, result_of
from subgame.play.scoring import Scorer

URL = "https://slumbot.com"
PREFIX = "/slumbot/api"


class Slumbot:
    """The HTTP API. The token is renewed from every answer."""

    def __init__(self, url: str = URL, prefix: str = PREFIX, patience: float = 60.0) -> None:
        self.address = f"{check_address(url)}/{prefix.strip('/')}".rstrip("/")
        self.patience = patience
        self.token: str | None = None

    def new_hand(self) -> dict[str, object]:
        """Begin a hand."""
        return self._post("new_hand", {})

    def act(self, action: str) -> dict[str, object]:
        """Take an action, in the notation of Slumbot."""
        return self._post("act", {"incr": action})

    def _post(self, name: str, body: dict[str, str]) -> dict[str, object]:
        if self.token is not None:
            body = {"token": self.token, **body}
        where = f"{self.address}/{name}"
        answer = post(where, body, self.patience)
        if answer.get("error_msg"):
            raise SubgameError(f"{where} says: {shown(str(answer['error_msg']), 200)}")
        if isinstance(token := answer.get("token"), str):
            self.token = token
        return answer


@dataclass(frozen=True)
class Told:
    """What an answer says."""

    seat: int
    betting: Betting
    hands: tuple[tuple[int, ...], tuple[int, ...]]
    board: tuple[int, ...]
    winnings: float | None

    @classmethod
    def of(cls, answer: dict[str, Any], game: Holdem) -> Told:
        """The answer, checked by the rules."""
        seat, action, won = answer.get("client_pos"), answer.get("action"), answer.get("winnings")
        if type(seat) is not int or seat not in (0, 1) or not isinstance(action, str):
            raise SubgameError(
                f"Slumbot's answer {shown(json.dumps(answer), 200)} must have a client_pos 0 or 1 "
                f"and an action."
            )
        mine, theirs, board = (
            _cards(answer, name) for name in ("hole_cards", "bot_hole_cards", "board")
        )
        betting = SLUMBOT.read_line(game.rules, action)
        held = (mine, theirs) if seat == 0 else (theirs, mine)
        streets = [cards for cards in (board[:3], board[3:4], board[4:]) if cards]
        text = "/".join(["|".join(map("".join, held)), *map("".join, streets)])
        hands, cards = read_cards(game, text, betting)
        if not hands[seat] or (won is not None and not hands[1 - seat]):
            raise SubgameError("Slumbot's answer does not have the cards of the players.")
        if (won is not None) != betting.is_over or not isinstance(won, int | float | None):
            raise SubgameError(
                f"Slumbot's answer has the betting '{shown(action)}' and the winnings {won!r}; "
                f"winnings are for hands that are over."
            )
        return cls(seat, betting, hands, cards, won)


def _cards(answer: dict[str, Any], name: str) -> list[str]:
    cards = answer.get(name) or []
    if not isinstance(cards, list) or not all(isinstance(card, str) for card in cards):
        raise SubgameError(f"The {name} of Slumbot's answer must be a list of cards.")
    return cards


def play_one(api: Slumbot, follower: Follower, number: int) -> Hand:
    """Play one hand; our agent is agent 0."""
    game, answer = follower.game, api.new_hand()
    while True:
        seen = Told.of(answer, game)
        seat, betting = seen.seat, seen.betting
        follower.reach(number, seat, seen.hands[seat], seen.board, betting)
        if seen.winnings is not None:
            break
        if betting.player != seat:
            raise SubgameError(f"Slumbot waits for an action after '{betting}', but must act.")
        action = follower.act()
        betting.child(action)  # an illegal action is ours to report, not Slumbot's
        answer = api.act(SLUMBOT.write(betting, action))
    name = game.deck.name
    state = rebuilt(game, (name(seen.hands[0]), name(seen.hands[1])), seen.board, betting)
    won = state.returns()[seat]
    if won != seen.winnings:
        raise SubgameError(
            f"Slumbot says that we win {seen.winnings:g} chips in hand {number}; by the rules it "
            f"is {won:g}."
        )
    kept = kept_policies((follower.agent,))
    return Hand(number, (seat, 1 - seat), moves_of(state), won, kept)


def play_slumbot(
    agent: Agent,
    game: Game,
    hands: int,
    api: Slumbot,
    *,
    seed: int = 0,
    log: str | Path | None = None,
    scorer: Scorer | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> MatchResult:
    """Let an agent play against Slumbot; every hand is in the log before the next one begins.

    A run whose log exists goes on where it was. `game` is hunl, with any sizes of bets. With a
    `scorer` hands are also estimated by AIVAT; the agent is then the one that it records
    (`subgame.play.scoring.recorded`).
    """
    rules = whole_game(game)
    if rules.rules != NoLimit():
        raise SubgameError(
            f"Slumbot plays hunl with blinds of 50 and 100 and stacks of 20,000 chips, not {game}."
        )
    if hands < 1:
        raise ArgumentError("hands", f"must be at least 1, not {hands}.")
    begin, names = time.perf_counter(), (agent.name, "slumbot")
    follower = Follower(agent, rules, seed)
    played: list[Hand] = []
    with ExitStack() as stack:
        book = None
        if log is not None:
            head = {"game": str(game), "agents": list(names), "seed": seed, "url": api.address}
            book = match_log(log, head)
            stack.callback(book.close)
            played = list(map(Hand.of, book.records))
        while len(played) < hands:
            hand = play_one(api, follower, len(played))
            played.append(hand if scorer is None else scorer.scored(hand))
            if book is not None:
                book.append([played[-1].record()])
            if progress is not None:
                progress(len(played), hands)
    result = result_of(game, names, played[:hands], duplicate=False)
    seconds = time.perf_counter() - begin
    less = None if scorer is None else scorer.result(played[:hands])
    return replace(result, seconds=seconds, log=None if log is None else str(log), aivat=less)
