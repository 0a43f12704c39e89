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

from subgame.errors import SubgameError
from subgame.games.base import Game
from subgame.games.holdem.game import Holdem
from subgame.play.agent import Agent
from subgame.play.match import Estimate
from subgame.play.protocols.acpc import VERSION, MatchState, rebuilt, whole_game
from subgame.play.protocols.follow import Follower
from subgame.play.protocols.notation import ACPC
from subgame.play.protocols.wire import END, LostError, Wire

LOGGER = logging.getLogger("subgame")
RETRY = 0.1
"""Seconds between attempts to connect."""


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


def play_acpc(
    agent: Agent,
    game: Game,
    host: str,
    port: int,
    *,
    seed: int = 0,
    reconnect: float = 0.0,
    progress: Callable[[int], None] | None = None,
) -> Played:
    """Let an agent play at an ACPC dealer until the match is over.

    For `reconnect` seconds the client tries again to reach a dealer that is not there, or whose
    connection was lost before our dealer's word that the match is over.
    """
    rules = whole_game(game)
    played, follower = Played(rules), Follower(agent, rules, seed)
    while True:
        wire = _connect(host, port, reconnect, begun=bool(played.actions))
        if wire is None:
            return played
        try:
            wire.send(VERSION)
            while (line := wire.read(math.inf)) != END:
                _hear(line, wire, follower, played)
                if progress is not None:
                    progress(len(played.won))
            return played
        except LostError as error:
            over = follower.betting.is_over or not follower.told
            if reconnect <= 0 and not over:
                raise SubgameError(
                    f"The dealer at {host}, port {port}, is gone in the middle of a hand."
                ) from None
            if reconnect <= 0:
                return played
            LOGGER.warning("The dealer at %s, port %d: %s", host, port, error)
        finally:
            wire.close()


def _connect(host: str, port: int, patience: float, begun: bool) -> Wire | None:
    """A connection; None if the dealer of a match that has begun does not come back."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return Wire(socket.create_connection((host, port), timeout=10))
        except (OSError, OverflowError, UnicodeError) as error:  # the last for odd names
            if not time.monotonic() <= deadline:
                if begun:
                    LOGGER.warning(
                        "The dealer has not come back within %g s; the match counts as over.",
                        patience,
                    )
                    return None
                raise SubgameError(
                    f"There is no dealer at {host}, port {port} ({error})."
                ) from None
        time.sleep(RETRY)


def _hear(line: str, wire: Wire, follower: Follower, played: Played) -> None:
    """One line of the dealer's: answer it where the agent acts, or note the result."""
    said = MatchState.parse(line, played.game)
    seat, betting = said.seat, said.betting
    follower.reach(said.hand, seat, said.hands[seat], said.board, betting)
    if betting.player == seat:
        wire.send(f"{line}:{ACPC.write(betting, follower.act())}")
        played.actions += 1
    if betting.is_over:
        one, two = said.hands
        if betting.is_showdown and one and two:
            name = played.game.deck.name
            state = rebuilt(played.game, (name(one), name(two)), said.board, betting)
            played.won[said.hand] = state.returns()[seat]
        elif not betting.is_showdown:
            played.won[said.hand] = float(betting.net()[seat])
