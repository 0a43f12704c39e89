"""``subgame slumbot``: an agent of ours against Slumbot."""

from __future__ import annotations

from subgame.cli.arguments import grouped, opt
from subgame.cli.common import emit
from subgame.cli.match import AIVAT, Alone, HandsOption, Recorded, show_result
from subgame.cli.progress import Meter


@grouped
def slumbot_command(
    *,
    player: Alone,
    hands: HandsOption = 100,
    url: str = opt("https://slumbot.com", "URL", "Where Slumbot is."),
    prefix: str = opt("/slumbot/api", "PATH", "The path before new_hand and act."),
    aivat: bool = opt(False, None, AIVAT),
    recorded: Recorded,
) -> None:
    """Let an agent play against Slumbot, over its HTTP API.

    Slumbot deals hunl with blinds of 50 and 100 and stacks of 20,000 chips. The result is what the
    agent wins per hand, with its 95 % interval. Every hand is checked by the rules of this package.

    [bold]Examples[/]

    subgame slumbot call --hands 100 --log slumbot.jsonl

    subgame slumbot limited --seconds 2 --hands 1000 --log slumbot.jsonl --aivat

    subgame histories slumbot.jsonl --out slumbot.phhs
    """
    recorded.check(hands)
    from subgame.play.protocols.slumbot import Slumbot, play_slumbot

    api = Slumbot(url, prefix)
    rules, agent, scorer = player.seated(aivat)
    with Meter(str(rules)) as meter:
        progress = meter.counting(f"Playing at {url}", "hands")
        result = play_slumbot(
            agent,
            rules,
            hands,
            api,
            seed=recorded.seed,
            log=recorded.log,
            scorer=scorer,
            progress=progress,
        )
    agent.close()
    emit(result.summary()) if recorded.json else show_result(result)
