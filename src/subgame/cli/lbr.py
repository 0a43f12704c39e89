"""``subgame lbr``: a lower bound on how exploitable an agent is."""

from __future__ import annotations

from rich.text import Text

from subgame.cli.arguments import JsonOption, grouped, opt
from subgame.cli.common import check_least, emit, load_game, stdout
from subgame.cli.match import AgentArgument, Agents, GameOption, HandsOption
from subgame.cli.options import SeedOption
from subgame.cli.progress import Meter


@grouped
def lbr_command(
    *,
    agent: AgentArgument,
    game: GameOption = "nlfh",
    setting: str = opt(
        "fcpa",
        "NAME",
        "What LBR may do: fc (fold and call), fcpa (also pot and all-in), fcpa-river and so on "
        "(those on one street alone), 56 (56 bets), or one of the two of the 2018 paper, "
        "2018-flop and 2018-turn.",
    ),
    hands: HandsOption = 1000,
    agents: Agents,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Measure what local best response wins against an agent.

    Local best response (Lisy & Bowling 2017) knows the agent's strategy and looks one action ahead.
    What it wins is a lower bound on the agent's exploitability, for games too large for an exact
    one.

    [bold]Examples[/]

    subgame lbr fold --game nlfh --hands 100

    subgame lbr call --game nlfh --setting fc --json

    subgame lbr nested --game leduc --hands 200
    """
    check_least("hands", hands)
    rules = load_game(game)
    from subgame.play.lbr import LocalBestResponse
    from subgame.play.named import named_agents
    from subgame.play.running import match

    with Meter(str(rules)) as meter:
        progress = meter.counting(f"Playing {rules}", "hands")
        opponent = named_agents(rules, (agent, "uniform"), agents.options())[0]
        responder = LocalBestResponse(rules, opponent, setting)
        result = match(rules, (responder, opponent), hands, seed=seed, progress=progress)
    if json:
        emit(
            {
                "hands": result.hands,
                "mean": result.result.mean,
                "interval95": result.result.interval95,
                "setting": setting,
            }
        )
        return
    won = f"{result.result.mean:+.4g} ± {result.result.interval95:.3g} {result.unit}"
    stdout().print(Text(f"LBR ({setting}) wins {won} against {agent}, {result.hands:,} hands"))
