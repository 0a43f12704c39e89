"""``subgame dealer``: a match between programs that connect to sockets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from subgame.cli.arguments import grouped, opt
from subgame.cli.common import announce, emit, load_game, stdout
from subgame.cli.match import GameOption, HandsOption, Recorded, show_result
from subgame.cli.progress import Meter
from subgame.errors import SubgameError

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.play.agent import Agent
    from subgame.play.protocols.remote import Limits

_PORT = re.compile(r"(?:([\w.-]+)=)?([0-9]{1,5})")

PlayerArgument = Annotated[
    str,
    typer.Argument(
        metavar="PLAYER",
        help="[NAME=]PORT for a program that connects there (0 for any free port), or an agent of "
        "subgame match.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class TimeLimits:
    """The time limits of a player who connects."""

    action_seconds: float = opt(10.0, "S", "Seconds for an action.")
    hand_seconds: float = opt(600.0, "S", "Seconds of a player for a hand.")
    average_seconds: float = opt(
        6.0, "S", "Seconds of a player per hand, on average over the match."
    )
    connect_seconds: float = opt(
        60.0, "S", "Seconds to wait for a player to connect, and to connect again."
    )

    def limits(self) -> Limits:
        """As the dealer has them."""
        from subgame.play.protocols.remote import Limits

        return Limits(
            self.action_seconds, self.hand_seconds, self.average_seconds, self.connect_seconds
        )


@dataclass(frozen=True)
class Journalled(Recorded):
    """The same with what each player did in the current hand."""

    log: Path | None = opt(
        None,
        "FILE",
        "Write every hand to FILE. If FILE exists, the match continues from it. While it "
        "runs, FILE.NAME keeps what the player NAME did in the current hand.",
    )


@grouped
def dealer_command(
    *,
    first: PlayerArgument,
    second: PlayerArgument,
    game: GameOption = "hunl",
    hands: HandsOption = 1000,
    host: str = opt("127.0.0.1", "ADDRESS", "The address to listen at."),
    times: TimeLimits,
    recorded: Journalled,
) -> None:
    """Deal a hold'em match to programs, by the ACPC protocol.

    Each program connects to a port of its own. The protocol is version 2.0.0 of the Annual Computer
    Poker Competition. Players change seats after every hand. A raise of an illegal size becomes
    the nearest legal raise; any other illegal action becomes a call. A player who loses the
    connection may connect again, even during a hand. A player who exceeds a time limit ends the
    match; the same command continues it from its log.

    [bold]Examples[/]

    subgame dealer call raise --hands 10 --log match.jsonl

    subgame dealer alice=18791 bob=18792 --hands 3000 --log alice-bob.jsonl

    subgame dealer call 18791 --hands 100 --action-seconds 2
    """
    recorded.check(hands)
    rules, limits = load_game(game), times.limits()
    from subgame.play.protocols.acpc import score_line, whole_game
    from subgame.play.protocols.remote import Remote
    from subgame.play.running import match

    whole_game(rules)
    players = [
        _player(text, k, rules, recorded.log, host, limits)
        for k, text in enumerate((first, second), 1)
    ]
    named = [player.name for player in players if isinstance(player, Remote)]
    if len(set(named)) < len(named):
        raise SubgameError(f"Both players are called '{named[0]}'; give them two names.")
    for player in players:
        if isinstance(player, Remote):
            where, port = player.address
            announce(f"{player.name} connects to {where}, port {port}.")
    with Meter(str(rules)) as meter:
        progress = meter.counting(f"Playing {rules}", "hands")
        result = match(
            rules, players, hands, seed=recorded.seed, log=recorded.log, progress=progress
        )
    for player in players:
        if isinstance(player, Remote) and player.journal is not None:
            player.journal.unlink(missing_ok=True)  # the match is over, and in the log
    score = score_line(result.result.mean * result.hands / rules.unit[1], result.agents)
    clocks = {
        player.name: player.clock.summary() for player in players if isinstance(player, Remote)
    }
    if recorded.json:
        emit(result.summary() | {"score": score, "times": clocks})
        return
    show_result(result)
    if clocks:
        _show_times(clocks)
    stdout().print(Text(score))


def _player(
    text: str, number: int, game: Game, log: Path | None, host: str, limits: Limits
) -> Agent | str:
    """The player of an argument: a place to connect to, or the name of an agent."""
    from subgame.play.protocols.remote import Remote

    match = _PORT.fullmatch(text)
    if match is None:
        return text
    name, port = match[1] or f"player{number}", int(match[2])
    journal = None if log is None else log.with_name(f"{log.name}.{name}")
    return Remote(game, name, host=host, port=port, limits=limits, journal=journal)


def _show_times(clocks: dict[str, Any]) -> None:
    from subgame.cli.console import table

    columns = ("slowest action", "slowest hand", "average hand")
    shown = table("seconds", *columns, numbers=columns)
    for name, used in clocks.items():
        shown.add_row(name, *(f"{seconds:.3f}" for seconds in used.values()))
    stdout().print(shown)
