"""``subgame gtowizard``: an agent of ours in GTO Wizard's benchmark."""

from __future__ import annotations

from rich.text import Text

from subgame.cli.arguments import grouped, opt
from subgame.cli.common import emit, stdout
from subgame.cli.match import Alone, HandsOption, Recorded
from subgame.cli.progress import Meter


@grouped
def gtowizard_command(
    *,
    player: Alone,
    hands: HandsOption = 100,
    url: str = opt("https://researcher.gtowizard.com", "URL", "Where the benchmark is."),
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
    from subgame.play.protocols.gtowizard import Benchmark, play_benchmark

    api = Benchmark(url)
    rules, agent, _ = player.seated()
    with Meter(str(rules)) as meter:
        progress = meter.counting(f"Playing at {url}", "hands")
        scores = play_benchmark(
            agent, rules, hands, api, seed=recorded.seed, log=recorded.log, progress=progress
        )
    agent.close()
    plain, less = scores.estimates()
    if recorded.json:
        quieter = {
            "aivat_mean": None if less is None else less.mean,
            "aivat_interval95": None if less is None else less.interval95,
        }
        emit(player.summary(rules, len(scores.won), plain, recorded.log) | quieter)
        return
    by_aivat = "" if less is None else f", {less} by the server's AIVAT"
    won = f"{plain} {rules.unit[0]}{by_aivat}, {len(scores.won):,} hands"
    stdout().print(Text(f"{player.agent} wins {won}"))
