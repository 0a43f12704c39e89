"""``subgame slumbot``: an agent of ours against Slumbot."""

from __future__ import annotations

from subgame.cli.arguments import opt
from subgame.cli.common import emit, load_game
from subgame.cli.grouping import grouped
from subgame.cli.match import (
    AIVAT,
    AgentArgument,
    Agents,
    GameOption,
    HandsOption,
    Recorded,
    show_result,
)
from subgame.cli.progress import Meter


@grouped
def slumbot_command(
    *,
    agent: AgentArgument,
    game: GameOption = "hunl",
    hands: HandsOption = 100,
    url: str = opt("https://slumbot.com", "URL", "Where Slumbot is."),
    prefix: str = opt("/slumbot/api", "PATH", "The path before new_hand and act."),
    aivat: bool = opt(False, None, AIVAT),
    agent_options: Agents,
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
    rules = load_game(game)
    from subgame.play.protocols.slumbot import play_slumbot
    from subgame.play.scoring import seated_alone

    player, scorer = seated_alone(rules, agent, agent_options.options(), aivat)
    with Meter(str(rules)) as meter:
        progress = meter.counting(f"Playing at {url}", "hands")
        result = play_slumbot(
            player,
            rules,
            hands,
            url=url,
            prefix=prefix,
            seed=recorded.seed,
            log=recorded.log,
            scorer=scorer,
            progress=progress,
        )
    player.close()
    emit(result.summary()) if recorded.json else show_result(result)
