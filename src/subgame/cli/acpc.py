"""``subgame acpc``: an agent of ours at a dealer elsewhere."""

from __future__ import annotations

from rich.text import Text

from subgame.cli.arguments import JsonOption, argument, opt
from subgame.cli.common import emit, load_game, stdout
from subgame.cli.match import AgentArgument, GameOption
from subgame.cli.options import SeedOption, grouped
from subgame.cli.progress import Meter
from subgame.errors import SubgameError


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
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Let an agent play at a dealer of the ACPC protocol.

    The dealer decides how many hands are played. --game must have the dealer's blinds and stacks;
    its bet sizes are those that the agent's strategy has.

    [bold]Examples[/]

    subgame acpc call localhost 18791

    subgame acpc hunl.safetensors localhost 18791 --reconnect 60
    """
    if not 0 < port < 2**16:
        raise SubgameError(f"PORT must be from 1 to 65,535, not {port}.")
    if not reconnect >= 0:
        raise SubgameError(f"--reconnect must be at least 0 seconds, not {reconnect}.")
    rules = load_game(game)
    from subgame.play.named import named_agents
    from subgame.play.protocols.client import play_acpc

    player = named_agents(rules, (agent, "uniform"))[0]
    with Meter(str(rules)) as meter:

        def progress(done: int) -> None:
            meter.update(f"Playing at {host}, port {port}", f"{done:,} hands", None)

        played = play_acpc(
            player, rules, host, port, seed=seed, reconnect=reconnect, progress=progress
        )
    player.close()
    found, unit = played.result, rules.unit[0]
    if json:
        emit(
            {
                "game": str(rules),
                "agent": agent,
                "hands": len(played.won),
                "actions": played.actions,
                "unit": unit,
                "mean": found.mean,
                "interval95": found.interval95,
            }
        )
        return
    won = f"{found.mean:+.4g} ± {found.interval95:.3g} {unit}"
    stdout().print(Text(f"{agent} wins {won}, {len(played.won):,} hands"))
