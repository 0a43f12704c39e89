"""An agent of ours at an ACPC dealer.

The dealer closes the connection when the match is over. Our own dealer says so first, in a comment,
so that a client can tell the end of a match from a dealer that was killed and will come back.
"""

from __future__ import annotations

import logging
import math
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from subgame.errors import SubgameError
from subgame.games.base import Game
from subgame.games.holdem.game import Holdem
from subgame.play.agent import Agent
from subgame.play.match import Estimate, kept_policies
from subgame.play.protocols.acpc import VERSION, MatchState, rebuilt, whole_game
from subgame.play.protocols.follow import Follower
from subgame.play.protocols.notation import ACPC
from subgame.play.protocols.wire import END, LostError, Wire
from subgame.tree.log import Kind, Log, read_whole

LOGGER = logging.getLogger("subgame")
RETRY = 0.1
"""Seconds between attempts to connect."""
HANDS = Kind(
    "match at a dealer",
    "subgame acpc",
    "subgame-acpc-1",
    ("hand", "seat", "state", "won"),
    ("hand",),
    "The match goes on; hands that the log lacks are lost if it is stopped.",
)
"""Logs of clients: of each hand the last state that the dealer sent, and what was won."""


@dataclass
class Played:
    """What a client has played: its result in each hand that it saw end."""

    game: Holdem
    won: dict[int, float] = field(default_factory=dict)
    """Chips by the number of the hand."""
    actions: int = 0

    @property
    def result(self) -> Estimate:
        """The result in the unit of the game."""
        scale = self.game.unit[1]
        return Estimate.of([value * scale for value in self.won.values()])


class Client:
    """An agent at a dealer. `played` has the results so far, also after an error in `play`."""

    def __init__(
        self,
        agent: Agent,
        game: Game,
        *,
        seed: int = 0,
        log: str | Path | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """With `log` each hand that ends is written to that file; hands that it has are counted."""
        rules = whole_game(game)
        self.played, self.follower = Played(rules), Follower(agent, rules, seed)
        self.progress = progress or (lambda hands: None)
        self.hands: dict[int, dict[str, Any]] = {}
        head = {"game": str(game), "agent": agent.name, "seed": seed}
        self.log = None if log is None else Log(log, HANDS, head)
        for record in [] if self.log is None else self.log.records:
            self._count(record)

    def play(self, host: str, port: int, reconnect: float = 0.0) -> None:
        """Play at an ACPC dealer until the match is over.

        For `reconnect` seconds the client tries again to reach a dealer that is not there, or whose
        connection was lost before our dealer's word that the match is over.
        """
        while True:
            wire = _connect(host, port, reconnect, begun=bool(self.played.actions))
            if wire is None:
                if self._in_hand:
                    raise self._gone(host, port, f" and was not back within {reconnect:g} s")
                LOGGER.warning("The dealer has not come back; the match counts as over.")
                return
            try:
                wire.send(VERSION)
                while (line := wire.read(math.inf)) != END:
                    self._hear(line, wire)
                    self.progress(len(self.played.won))
                return
            except LostError as error:
                if reconnect <= 0 and self._in_hand:
                    raise self._gone(host, port) from None
                if reconnect <= 0:
                    return
                LOGGER.warning("The dealer at %s, port %d: %s", host, port, error)
            finally:
                wire.close()

    @property
    def _in_hand(self) -> bool:
        return bool(self.follower.moves) and not self.follower.betting.is_over

    def _gone(self, host: str, port: int, more: str = "") -> SubgameError:
        done = f"The {len(self.played.won):,} hands before it count."
        return SubgameError(
            f"The dealer at {host}, port {port}, is gone in the middle of a hand{more}. {done}"
        )

    def _hear(self, line: str, wire: Wire) -> None:
        """One line of the dealer's: answer it where the agent acts, or note the result."""
        game, follower = self.played.game, self.follower
        said = MatchState.parse(line, game)
        seat, betting = said.seat, said.betting
        follower.reach(said.hand, seat, said.hands[seat], said.board, betting)
        if betting.player == seat:
            wire.send(f"{line}:{ACPC.write(betting, follower.act())}")
            self.played.actions += 1
        if betting.is_over:
            self._end(said, line)

    def _end(self, said: MatchState, line: str) -> None:
        """A hand is over."""
        game, betting, won = self.played.game, said.betting, None
        one, two = said.hands
        if betting.is_showdown and one and two:
            name = game.deck.name
            state = rebuilt(game, (name(one), name(two)), said.board, betting)
            won = float(state.returns()[said.seat])
        elif not betting.is_showdown:
            won = float(betting.net()[said.seat])
        record: dict[str, Any] = {"hand": said.hand, "seat": said.seat, "state": line, "won": won}
        if kept := kept_policies((self.follower.agent,)):
            record["policies"] = [list(policy) for policy in kept[0]]
        known = self.hands.get(said.hand)
        if known is None and self.log is not None:
            self.log.append([record])
        elif known is not None and self.log is not None and _outcome(known) != _outcome(record):
            raise SubgameError(
                f"{self.log.path} has hand {said.hand} already, and it ended otherwise: it is the "
                "log of another match. Give another file."
            )
        self._count(record)

    def _count(self, record: dict[str, Any]) -> None:
        self.hands[record["hand"]] = record
        if record["won"] is not None:
            self.played.won[record["hand"]] = float(record["won"])

    def close(self) -> None:
        """Close the log."""
        if self.log is not None:
            self.log.close()


def _outcome(record: dict[str, Any]) -> dict[str, Any]:
    """A record without the policies, which may differ where a hand was decided again."""
    return {name: value for name, value in record.items() if name != "policies"}


def read_policies(path: str | Path) -> dict[int, tuple[int, tuple[tuple[str, ...], ...]]]:
    """The recorded policies of a client's log: number of the hand -> (seat, policies)."""
    _, records = read_whole(path, HANDS)
    policies = {}
    for record in records:
        number, seat, kept = record["hand"], record["seat"], record.get("policies", [])
        if not (isinstance(number, int) and isinstance(seat, int) and isinstance(kept, list)):
            raise HANDS.foreign(path)
        policies[number] = seat, tuple(tuple(map(str, packed)) for packed in kept)
    return policies


def _connect(host: str, port: int, patience: float, begun: bool) -> Wire | None:
    """A connection; None if the dealer of a match that has begun does not come back."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return Wire(socket.create_connection((host, port), timeout=10))
        except (OSError, OverflowError, UnicodeError) as error:  # the last for odd names
            if not time.monotonic() <= deadline:
                if begun:
                    return None
                raise SubgameError(
                    f"There is no dealer at {host}, port {port} ({error})."
                ) from None
        time.sleep(RETRY)
