"""Helpers for tests of protocols: a dealer in a thread, and players that say what a test wants."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path

from subgame.errors import SubgameError
from subgame.games.holdem import Holdem
from subgame.play import MatchResult, match
from subgame.play.agent import Agent
from subgame.play.protocols.remote import Limits, Remote

PATIENT = Limits(action=600, hand=600, average=600, connect=600)
"""For players who are not late, however slow the machine."""


class Dealer:
    """A match in a thread of its own; `result` waits for it and raises its error."""

    def __init__(
        self, game: Holdem, players: tuple[Agent | str, Agent | str], hands: int, log: Path | None
    ) -> None:
        self.error: SubgameError | None = None
        self.outcome: MatchResult | None = None
        for player in players:
            if isinstance(player, Remote):
                assert player.address  # the port is taken before anybody connects

        def run() -> None:
            try:
                self.outcome = match(game, players, hands, seed=1, log=log)
            except SubgameError as error:
                self.error = error

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def result(self) -> MatchResult:
        self.thread.join(600)
        if self.error is not None:
            raise self.error
        assert self.outcome is not None
        return self.outcome


class Rude:
    """A player at a socket that sends whatever a test gives it, and calls otherwise."""

    def __init__(self, remote: Remote, version: bytes = b"VERSION:2.0.0\r\n") -> None:
        self.socket = socket.create_connection(remote.address, timeout=600)
        self.file = self.socket.makefile("rb")
        self.socket.sendall(version)
        self.received: list[str] = []

    def next_turn(self) -> str | None:
        """The next state in which this player acts; None where the match is over."""
        for raw in self.file:
            line = raw.decode().rstrip("\r\n")
            self.received.append(line)
            if line.startswith("#"):
                return None
            _, seat, _, betting, _ = line.split(":")
            if _to_act(betting) == int(seat):
                return line
        return None

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def call_on(self, until: Callable[[], bool] = lambda: False) -> None:
        """Call until the match is over."""
        while not until() and (line := self.next_turn()) is not None:
            self.send(f"{line}:c\r\n".encode())

    def close(self) -> None:
        self.file.close()
        self.socket.close()


def _to_act(betting: str) -> int | None:
    """Who acts, for lines without all-ins: read independently of the package."""
    streets = betting.split("/")
    actions = [letter for letter in streets[-1] if letter in "fcr"]
    if "f" in actions or (len(streets) == 4 and len(actions) > 1 and actions[-1] == "c"):
        return None
    return (1 - len(actions) % 2) if len(streets) == 1 else len(actions) % 2
