"""``subgame gtowizard``: an agent of ours in GTO Wizard's benchmark."""

from __future__ import annotations

from rich.text import Text

from subgame.cli.arguments import opt
from subgame.cli.common import emit, load_game, stdout
from subgame.cli.grouping import grouped
from subgame.cli.match import AgentArgument, Agents, GameOption, HandsOption, Recorded
from subgame.cli.progress import Meter


@grouped
def gtowizard_command(
    *,
    agent: AgentArgument,
    game: GameOption = "hunl",
    hands: HandsOption = 100,
    url: str = opt("https://researcher.gtowizard.com", "URL", "Where the benchmark is."),
    agent_options: Agents,
    recorded: Recorded,
) -> None:
    """Let an agent play GTO Wizard's benchmark, over its HTTP API.

    The benchmark deals hunl with blinds of 50 and 100 and stacks of 20,000 chips. It needs a key of
    your own in the environment variable GTOW_API_KEY. The result is what the agent wins per hand,
    and the same by the server's AIVAT. The client was tested against a stand-in only.

    [bold]Examples[/]

    subgame gtowizard call --hands 100 --log benchmark.jsonl

    subgame gtowizard limited --seconds 2 --hands 5000 --log benchmark.jsonl
    """
    recorded.check(hands)
    rules = load_game(game)
    from subgame.play.named import named_agents
    from subgame.play.protocols.gtowizard import Benchmark, play_benchmark

    api = Benchmark(url)
    player = named_agents(rules, (agent, "uniform"), agent_options.options())[0]
    with Meter(str(rules)) as meter:
        progress = meter.counting(f"Playing at {url}", "hands")
        scores = play_benchmark(
            player, rules, hands, api, seed=recorded.seed, log=recorded.log, progress=progress
        )
    player.close()
    plain, less = scores.estimates()
    unit = rules.unit[0]
    if recorded.json:
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
                "log": None if recorded.log is None else str(recorded.log),
            }
        )
        return
    quieter = "" if less is None else f", {less} by the server's AIVAT"
    stdout().print(Text(f"{agent} wins {plain} {unit}{quieter}, {len(scores.won):,} hands"))
