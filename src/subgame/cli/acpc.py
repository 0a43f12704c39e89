"""``subgame acpc``: an agent of ours at a dealer elsewhere."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from subgame.cli.arguments import argument, grouped, opt
from subgame.cli.common import emit, finish, stdout
from subgame.cli.match import Alone, Recorded
from subgame.cli.progress import Meter
from subgame.errors import SubgameError


@dataclass(frozen=True)
class Kept(Recorded):
    """The same at a dealer who decides how many hands there are."""

    log: Path | None = opt(
        None, "FILE", "Write every finished hand to FILE. Hands that are already in FILE count too."
    )


@grouped
def acpc_command(
    *,
    player: Alone,
    host: str = argument("HOST", "Where the dealer is."),
    port: int = argument("PORT", "The dealer's port for this player."),
    reconnect: float = opt(
        0.0, "S", "Try for S seconds to reach a dealer that is not there, or is gone."
    ),
    aivat: bool = opt(
        False,
        None,
        "Keep in the log what the agent would have done with every hand. The dealer does not show "
        "hands that were folded, so AIVAT needs the dealer's log: subgame histories estimates it.",
    ),
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
    from subgame.play.protocols.client import Client

    failure, stopped = None, ""
    rules, agent, _ = player.seated(aivat)
    with closing(agent), Meter(str(rules)) as meter:

        def progress(done: int) -> None:
            meter.update(f"Playing at {host}, port {port}", f"{done:,} hands", None)

        at = Client(agent, rules, seed=recorded.seed, log=recorded.log, progress=progress)
        with closing(at) as client:
            try:
                client.play(host, port, reconnect)
            except (SubgameError, KeyboardInterrupt) as error:
                if not client.played.won:
                    raise
                failure = error if isinstance(error, SubgameError) else None
                stopped = "" if failure else "interrupted"
    whole = failure is None and not stopped
    played, unit = client.played, rules.unit[0]
    if recorded.json:
        more = {"complete": whole, "actions": played.actions}
        emit(player.summary(rules, len(played.won), played.result, recorded.log) | more)
    else:
        won = f"{played.result.mean:+.4g} ± {played.result.interval95:.3g} {unit}"
        rest = "" if whole else "; the match did not end"
        stdout().print(Text(f"{player.agent} wins {won}, {len(played.won):,} hands{rest}"))
    finish(failure, stopped)
