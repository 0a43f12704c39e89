"""An ACPC program as an agent: this process is its dealer.

`Remote` listens at a port. The program connects, says ``VERSION:2.0.0``, is told every state of
every hand and answers where it acts. A match between two of them is a match as any other: `match`
deals, keeps the log and goes on where the log ends.

What happens with a program that does not do what it should:

| what | answer |
| --- | --- |
| a line that is not the state that was sent, with an action | a warning; the dealer waits on |
| a raise of a wrong size | the nearest legal raise, as the dealer of the ACPC does |
| any other illegal action | a check or call, as the dealer of the ACPC does |
| no answer in time | the match ends; its log goes on with the next call |
| a lost connection | the dealer waits for a new one and says again where play is |

A dealer that is killed in the middle of a hand must not ask for the same action twice: the player
would know the cards. With a `journal` every answer of the hand is on disk before it counts, and a
dealer that is started again takes it from there.
"""

from __future__ import annotations

import contextlib
import logging
import math
import shlex
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from subgame.errors import SubgameError, read_text, unreadable
from subgame.games.base import CHANCE, Game, State
from subgame.games.holdem.game import HoldemState
from subgame.play.agent import Watcher
from subgame.play.protocols.acpc import VERSION, MatchState, whole_game
from subgame.play.protocols.notation import ACPC, nearest_legal, shown
from subgame.play.protocols.wire import END, LostError, SilentError, Wire
from subgame.tree.files import replacing

LOGGER = logging.getLogger("subgame")
HOST = "127.0.0.1"
JOURNAL = "# journal of subgame dealer"
"""The first line of a journal."""
PATIENCE = 5.0
"""Seconds for a program to say its version, and to end after the match."""
MOST_BAD = 1000
"""Lines that are no answers, after which the match ends."""
STARTS = 3
"""Times that a program which ends during a match is started again."""


@dataclass(frozen=True)
class Limits:
    """Time limits of a player in seconds, those of the ACPC by default."""

    action: float = 10.0
    hand: float = 600.0
    average: float = 6.0
    """Per hand, over the whole match."""
    connect: float = 60.0
    """For the player to connect, and to connect again after a lost connection."""

    def __post_init__(self) -> None:
        for name, seconds in vars(self).items():
            if not seconds > 0:
                raise SubgameError(f"The time limit '{name}' must be above 0 s, not {seconds}.")


@dataclass
class Clock:
    """The time that a player has used, and the limits on it.

    >>> clock = Clock("A", Limits(action=10, hand=600, average=6), hands=2)
    >>> clock.spend(9.0)
    >>> clock.spend(9.0)
    Traceback (most recent call last):
    subgame.errors.SubgameError: 'A' has used 18.0 s for the match; the limit is 12.0 s.
    """

    name: str
    limits: Limits
    hands: float = math.inf
    """Hands of the match; without end where the number is not known."""
    this_hand: float = 0.0
    in_all: float = 0.0
    slowest_action: float = 0.0
    slowest_hand: float = 0.0
    played: int = 0

    def new_hand(self) -> None:
        """A new hand begins."""
        self.this_hand, self.played = 0.0, self.played + 1

    @property
    def allowed(self) -> float:
        """The seconds that the next action may take by all three limits."""
        limits = self.limits
        whole = limits.average * self.hands - self.in_all
        return max(0.0, min(limits.action, limits.hand - self.this_hand, whole))

    def spend(self, seconds: float, acted: bool = True) -> None:
        """An action, or a lost connection, took this long; too long is an error."""
        self.this_hand += seconds
        self.in_all += seconds
        self.slowest_hand = max(self.slowest_hand, self.this_hand)
        one = seconds if acted else 0.0
        self.slowest_action = max(self.slowest_action, one)
        whole = self.limits.average * self.hands
        for what, used, limit in (
            ("an action", one, self.limits.action),
            ("a hand", self.this_hand, self.limits.hand),
            ("the match", self.in_all, whole),
        ):
            if used > limit:
                raise SubgameError(
                    f"'{self.name}' has used {used:.1f} s for {what}; the limit is {limit:.1f} s."
                )

    def summary(self) -> dict[str, float]:
        """The times as JSON has them."""
        return {
            "slowest_action": self.slowest_action,
            "slowest_hand": self.slowest_hand,
            "average_hand": self.in_all / max(1, self.played),
        }


class Remote(Watcher):
    """A player at a socket. With a `command` the program is started with host and port.

    With port 0 the system chooses one; `address` says which.
    """

    def __init__(
        self,
        game: Game,
        name: str,
        *,
        command: Sequence[str] = (),
        host: str = HOST,
        port: int = 0,
        limits: Limits | None = None,
        journal: Path | None = None,
    ) -> None:
        self.game, self.name, self.command = whole_game(game), name, tuple(command)
        self.limits = limits or Limits()
        self.clock = Clock(name, self.limits)
        self.wire: Wire | None = None
        self.program: subprocess.Popen[bytes] | None = None
        self.starts = self.bad = 0
        self.number = -1
        self.line = ""  # where play is, as the player was or will be told
        self.kept: dict[str, str] = {}  # the player's actions in this hand
        self.state: HoldemState | None = None
        self.journal = journal
        self._wanted = host, port
        self._listener: socket.socket | None = None

    @property
    def listener(self) -> socket.socket:
        """Where the program connects; made when first asked for, and closed after the match."""
        if self._listener is None:
            host, port = self._wanted
            try:
                self._listener = socket.create_server((host, port), backlog=5)
            except (OSError, OverflowError) as error:
                raise SubgameError(
                    f"'{self.name}' cannot listen at {host}, port {port} ({error})."
                ) from None
        return self._listener

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, port = self.listener.getsockname()[:2]
        return str(host), int(port)

    def expect(self, hands: int) -> None:
        self.clock = Clock(self.name, self.limits, hands)
        self._journal()  # a file that is none is refused before anybody waits

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.line, self.number = "", -1

    def watch(self, number: int, state: State) -> None:
        assert isinstance(state, HoldemState)
        if state.current_player() == CHANCE:
            return
        if number != self.number:
            self.number = number
            self._connected()  # no hand begins without the player
            self.clock.new_hand()
            self.kept = self._answers(number)
        self.state = state
        self.line = MatchState.of(state, self.seat, number).text()
        if state.current_player() == self.seat:
            return  # told by `act`, which waits for the answer and for a lost connection
        if self.wire is not None:
            try:
                self.wire.send(self.line)
            except LostError:  # the player may come back, and is waited for where they act
                self._drop()

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        if self.line not in self.kept:
            self.kept[self.line] = self._asked()
            if self.journal is not None:
                with self.journal.open("a", encoding="ascii") as file:
                    start = "" if file.tell() else f"{JOURNAL}\n"
                    file.write(f"{start}{self.line}:{self.kept[self.line]}\n")
        return self.kept[self.line]

    def _journal(self) -> list[str]:
        """The whole lines of the journal after its first one; another file is refused."""
        if self.journal is None or not self.journal.exists():
            return []
        wanted = "a journal of subgame dealer"
        text = read_text(self.journal, wanted)
        first, *lines = text[: text.rfind("\n") + 1].split("\n")
        if text and first != JOURNAL:
            raise unreadable(self.journal, "is no journal of this player", wanted)
        return lines[:-1]

    def _answers(self, number: int) -> dict[str, str]:
        """What the journal has of this hand: actions by the state that was sent."""
        if self.journal is None or not self.journal.exists():
            return {}
        lines = [line for line in self._journal() if line.split(":")[2:3] == [str(number)]]
        with replacing(self.journal) as new:
            new.write_text("".join(f"{line}\n" for line in (JOURNAL, *lines)), encoding="ascii")
        return {state: action for state, _, action in (line.rpartition(":") for line in lines)}

    def _asked(self) -> str:
        """The player's answer where play is, within the time limits."""
        while True:
            begin = time.monotonic()
            wire = self._connected()
            self.clock.spend(time.monotonic() - begin, acted=False)
            begin, allowed = time.monotonic(), self.clock.allowed
            try:
                wire.send(self.line)
                action = self._answer(wire, begin + allowed)
            except SilentError:
                limits = self.limits
                raise SubgameError(
                    f"'{self.name}' has not answered '{self.line}' within {allowed:.1f} s; the "
                    f"limits are {limits.action:g} s for an action, {limits.hand:g} s for a hand "
                    f"and {limits.average:g} s per hand on average."
                ) from None
            except LostError as error:
                LOGGER.warning("'%s' in hand %d: %s", self.name, self.number, error)
                self._drop()
                self.clock.spend(time.monotonic() - begin, acted=False)
                continue
            self.clock.spend(time.monotonic() - begin)
            return action

    def _answer(self, wire: Wire, deadline: float) -> str:
        """The action in the next line that answers the state that was sent."""
        assert self.state is not None
        betting = self.state.betting
        while True:
            said = wire.read(deadline)
            state, _, text = said.rpartition(":")
            if state != self.line:
                self._warn(
                    f"sent '{shown(said)}', which is no answer to '{self.line}'; it is ignored"
                )
                continue
            try:
                action = ACPC.read(betting, text)
            except SubgameError as error:
                self._warn(f"{error} It becomes a call")
                return "c"
            legal = nearest_legal(betting, action)
            if legal != action:
                becomes = "a call" if legal == "c" else ACPC.write(betting, legal)
                self._warn(f"sent '{shown(text)}', which is not legal; it becomes {becomes}")
            return legal

    def _warn(self, what: str) -> None:
        LOGGER.warning("'%s' in hand %d: %s.", self.name, self.number, what)
        self.bad += 1
        if self.bad > MOST_BAD:
            raise SubgameError(f"'{self.name}' has sent {MOST_BAD:,} lines that are no answers.")

    # Connections.

    def _connected(self) -> Wire:
        """The connection; waits for one if there is none."""
        deadline = time.monotonic() + self.limits.connect
        while self.wire is None:
            self._start()
            wire = self._accept(deadline)
            if wire is not None and self._greeted(wire, deadline):
                self.wire = wire
        return self.wire

    def _accept(self, deadline: float) -> Wire | None:
        """The next connection; None if the program has ended without one."""
        while (left := deadline - time.monotonic()) > 0:
            self.listener.settimeout(min(left, 0.2) if self.program else left)
            try:
                return Wire(self.listener.accept()[0])
            except TimeoutError:
                if self.program is not None and self.program.poll() is not None:
                    return None
        host, port = self.address
        raise SubgameError(
            f"'{self.name}' has not connected to {host}, port {port}, within "
            f"{self.limits.connect:g} s."
        )

    def _greeted(self, wire: Wire, deadline: float) -> bool:
        """Whether a new connection begins with the version of the protocol."""
        with contextlib.suppress(LostError, SilentError):
            said = wire.read(min(deadline, time.monotonic() + PATIENCE))
            if said.startswith("VERSION:2."):
                return True
            self._warn(f"began with '{shown(said)}' instead of '{VERSION}'")
        wire.close()
        return False

    def _start(self) -> None:
        """Start the program, if there is one and it does not run."""
        if not self.command or (self.program is not None and self.program.poll() is None):
            return
        if self.starts > STARTS:
            raise SubgameError(
                f"'{self.name}' ended {self.starts} times before the match was over, the last time "
                f"with code {self.program.returncode if self.program else 0}."
            )
        self.starts += 1
        words = [*self.command, *map(str, self.address)]
        try:
            self.program = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
        except OSError as error:
            raise SubgameError(
                f"The program '{self.command[0]}' cannot be started ({error.strerror or error})."
            ) from None

    def _drop(self) -> None:
        if self.wire is not None:
            self.wire.close()
        self.wire = None

    def close(self) -> None:
        if self.wire is not None:
            with contextlib.suppress(LostError):
                self.wire.send(END)
        self._drop()
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        if self.program is not None:
            try:
                self.program.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.program.kill()
                self.program.wait()
        self.program, self.starts = None, 0


def started(game: Game, name: str) -> Remote:
    """The agent ``acpc:COMMAND``: a program that is started with host and port as arguments."""
    try:
        command = shlex.split(name.partition(":")[2])
    except ValueError as error:
        raise SubgameError(f"The command of '{name}' cannot be read ({error}).") from None
    if not command:
        raise SubgameError("An agent acpc:COMMAND needs a command, such as 'acpc:./player.sh'.")
    return Remote(game, name, command=command)
