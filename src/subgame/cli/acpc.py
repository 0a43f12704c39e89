"""``subgame acpc``: an agent of ours at a dealer elsewhere."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from subgame.cli.arguments import argument, opt
from subgame.cli.common import emit, finish, load_game, stdout
from subgame.cli.grouping import grouped
from subgame.cli.match import AgentArgument, Agents, GameOption, Recorded
from subgame.cli.progress import Meter
from subgame.errors import SubgameError

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.play.protocols.client import Played


@dataclass(frozen=True)
class Kept(Recorded):
    """The same at a dealer who decides how many hands there are."""

    log: Path | None = opt(
        None, "FILE", "Write every finished hand to FILE. Hands that are already in FILE count too."
    )


@grouped
def acpc_command(
    *,
    agent: AgentArgument,
    host: str = argument("HOST", "Where the dealer is."),
    port: int = argument("PORT", "The dealer's port for this player."),
    game: GameOption = "hunl",
    reconnect: float = opt(
        0.0, "S", "Try for S seconds to reach a dealer that is not there, or is gone."
    ),
    aivat: bool = opt(
        False,
        None,
        "Keep in the log what the agent would have done with every hand. The dealer does not show "
        "hands that were folded, so AIVAT needs the dealer's log: subgame histories estimates it.",
    ),
    agent_options: Agents,
    recorded: Kept,
) -> None:
    """Let an agent play at a dealer of the ACPC protocol.

    The dealer decides how many hands are played. --game must have the dealer's blinds and stacks;
    its bet sizes are those that the agent's strategy has. If the dealer goes away in the middle of
    a hand, the result of the hands before it is shown and the exit code is 2.

    [bold]Examples[/]

    subgame acpc call localhost 18791

    subgame acpc hunl.safetensors localhost 18791 --reconnect 60 --log hands.jsonl

    subgame acpc limited localhost 18791 --seconds 2 --log hands.jsonl --aivat

    subgame histories dealer.log --policies hands.jsonl --aivat
    """
    if aivat and recorded.log is None:
        raise SubgameError("--aivat needs --log FILE, in which the agent's strategy is kept.")
    if not 0 < port < 2**16:
        raise SubgameError(f"PORT must be from 1 to 65,535, not {port}.")
    if not reconnect >= 0:
        raise SubgameError(f"--reconnect must be at least 0 seconds, not {reconnect}.")
    recorded.check()
    rules = load_game(game)
    from subgame.play.protocols.client import Client
    from subgame.play.scoring import seated_alone

    failure, stopped = None, ""
    player, _ = seated_alone(rules, agent, agent_options.options(), aivat)
    with closing(player), Meter(str(rules)) as meter:

        def progress(done: int) -> None:
            meter.update(f"Playing at {host}, port {port}", f"{done:,} hands", None)

        at = Client(player, rules, seed=recorded.seed, log=recorded.log, progress=progress)
        with closing(at) as client:
            try:
                client.play(host, port, reconnect)
            except (SubgameError, KeyboardInterrupt) as error:
                if not client.played.won:
                    raise
                failure = error if isinstance(error, SubgameError) else None
                stopped = "" if failure else "interrupted"
    whole = failure is None and not stopped
    _show(client.played, agent, rules, recorded, whole)
    finish(failure, stopped)


def _show(played: Played, agent: str, rules: Game, recorded: Kept, whole: bool) -> None:
    estimate, unit = played.result, rules.unit[0]
    if recorded.json:
        emit(
            {
                "game": str(rules),
                "agent": agent,
                "hands": len(played.won),
                "complete": whole,
                "actions": played.actions,
                "unit": unit,
                "mean": estimate.mean,
                "interval95": estimate.interval95,
                "log": None if recorded.log is None else str(recorded.log),
            }
        )
        return
    won = f"{estimate.mean:+.4g} ± {estimate.interval95:.3g} {unit}"
    rest = "" if whole else "; the match did not end"
    stdout().print(Text(f"{agent} wins {won}, {len(played.won):,} hands{rest}"))
