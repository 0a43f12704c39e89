"""``subgame gtowizard``: an agent of ours in GTO Wizard's benchmark."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from subgame.cli.arguments import JsonOption, opt
from subgame.cli.checks import check_least, check_writable
from subgame.cli.common import emit, load_game, stdout
from subgame.cli.grouping import grouped
from subgame.cli.match import AgentArgument, Agents, GameOption, HandsOption
from subgame.cli.options import SeedOption
from subgame.cli.progress import Meter


@grouped
def gtowizard_command(
    *,
    agent: AgentArgument,
    game: GameOption = "hunl",
    hands: HandsOption = 100,
    url: str = opt("https://researcher.gtowizard.com", "URL", "Where the benchmark is."),
    log: Path | None = opt(
        None, "FILE", "Write every hand to FILE. If FILE exists, the run continues from it."
    ),
    agent_options: Agents,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Let an agent play GTO Wizard's benchmark, over its HTTP API.

    The benchmark deals hunl with blinds of 50 and 100 and stacks of 20,000 chips. It needs a key of
    your own in the environment variable GTOW_API_KEY. The result is what the agent wins per hand,
    and the same by the server's AIVAT. The client was tested against a stand-in only.

    [bold]Examples[/]

    subgame gtowizard call --hands 100 --log benchmark.jsonl

    subgame gtowizard limited --seconds 2 --hands 5000 --log benchmark.jsonl
    """
    check_least("hands", hands)
    check_writable("--log", log)
    rules = load_game(game)
    from subgame.play.named import named_agents
    from subgame.play.protocols.gtowizard import Benchmark, play_benchmark

    api = Benchmark(url)
    player = named_agents(rules, (agent, "uniform"), agent_options.options())[0]
    with Meter(str(rules)) as meter:
        progress = meter.counting(f"Playing at {url}", "hands")
        scores = play_benchmark(player, rules, hands, api, seed=seed, log=log, progress=progress)
    player.close()
    plain, less = scores.estimates()
    unit = rules.unit[0]
    if json:
        emit(
            {
                "game": str(rules),
                "agent": agent,
                "hands": len(scores.won),
                "unit": unit,
                "mean": plain.mean,
                "interval95": plain.interval95,
                "aivat_mean": None if less is None else less.mean,
                "aivat_interval95": None if less is None else less.interval95,
                "log": None if log is None else str(log),
            }
        )
        return
    quieter = "" if less is None else f", {less} by the server's AIVAT"
    stdout().print(Text(f"{agent} wins {plain} {unit}{quieter}, {len(scores.won):,} hands"))
