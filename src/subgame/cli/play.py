"""``subgame play``: play against an agent in the terminal."""

from __future__ import annotations

import random
from typing import Annotated

import typer
from rich.text import Text

from subgame.cli.common import GameArgument, check_least, load_game, option, stdout
from subgame.cli.match import AGENT, Agents
from subgame.cli.options import grouped


@grouped
def play_command(
    *,
    game: GameArgument,
    against: Annotated[str, option("AGENT", f"The opponent: {AGENT}")] = "uniform",
    agents: Agents,
    hands: Annotated[int | None, option("N", "Stop after N hands.", "until Ctrl-C")] = None,
    seed: Annotated[int | None, option("N", "Seed of the deals.", "a new one each time")] = None,
) -> None:
    """Play a game against an agent.

    You change seats after every hand. Type an action, or end with Ctrl-C.

    [bold]Examples[/]

    subgame play kuhn

    subgame solve leduc --out leduc.safetensors

    subgame play leduc --against leduc.safetensors --hands 20
    """
    from subgame.play.human import Human
    from subgame.play.match import Estimate, play_hand
    from subgame.play.named import named_agents

    check_least("hands", hands)
    rules, console = load_game(game), stdout()
    start = random.SystemRandom().randrange(2**31) if seed is None else seed

    def tell(line: str) -> None:
        console.print(Text(line))

    you = Human(ask=lambda question: str(typer.prompt(question, prompt_suffix="")), tell=tell)
    opponent = named_agents(rules, (against, "uniform"), agents.options())[0]
    unit, scale = rules.unit
    won: list[float] = []
    tell(f"{rules} against {opponent.name}, seed {start}. Ctrl-C ends the game.")
    try:
        while hands is None or len(won) < hands:
            number = len(won)
            tell(f"Hand {number + 1}: you are player {number % 2}.")
            hand = play_hand(rules, (you, opponent), number, start)
            told = [f"{_who(player, hand.seats)} {action}" for player, action in hand.moves]
            tell("  " + ", ".join(told))
            won.append(hand.won * scale)
            tell(f"  You win {hand.won:+g} chips. So far {Estimate.of(won)} {unit} a hand.")
    except (KeyboardInterrupt, typer.Abort):
        tell("")
    finally:
        opponent.close()
    if won:
        tell(f"{len(won)} hands, {sum(won) / scale:+g} chips.")


def _who(player: int, seats: tuple[int, int]) -> str:
    if player < 0:
        return "dealt"
    return "you" if seats[player] == 0 else "the agent"
