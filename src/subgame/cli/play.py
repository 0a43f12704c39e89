"""``subgame play``: play against an agent in the terminal."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NoReturn

import typer
from rich.text import Text

from subgame.cli.arguments import GameArgument, opt
from subgame.cli.checks import check_least
from subgame.cli.common import load_game, stdout
from subgame.cli.grouping import grouped
from subgame.cli.match import AGENT, Agents, check_agent
from subgame.cli.progress import Meter

if TYPE_CHECKING:
    from subgame.games.base import Game

HELP = (
    "Type one of the actions that are listed. In hold'em: fold, check, call, bet 250 (a total), "
    "50% (of the pot) or all-in. explain shows what the agent did last and why, with its cards; "
    "quit ends the game."
)


@grouped
def play_command(
    *,
    game: GameArgument,
    against: str | None = opt(
        None,
        "AGENT",
        f"The opponent: {AGENT}",
        "limited in hunl, uniform in other games",
        callback=check_agent,
    ),
    agents: Agents,
    hands: int | None = opt(None, "N", "Stop after N hands.", "until Ctrl-C"),
    seed: int | None = opt(None, "N", "Seed of the deals.", "a new one each time"),
) -> None:
    """Play a game against an agent.

    You change seats after every hand. Type an action, or quit (or Ctrl-C) to end. In hold'em say
    fold, check, call, bet 250, 50% or all-in; any legal size will do. Type explain to see what the
    agent did last and why: it shows the agent's cards. Type help to see these words.

    [bold]Examples[/]

    subgame play hunl

    subgame play kuhn

    subgame solve leduc --out leduc.safetensors

    subgame play leduc --against leduc.safetensors --hands 20
    """
    check_least("hands", hands)
    rules, console = load_game(game), stdout()

    from subgame.play.human import Human, Thinks
    from subgame.play.match import Estimate, play_hand
    from subgame.play.named import named_agents, usual

    start = random.SystemRandom().randrange(2**31) if seed is None else seed

    def tell(line: str) -> None:
        console.print(Text(line))

    with Meter(str(rules)) as meter:
        meter.update("Loading the agent")
        asked = agents.options()
        name = against or usual(rules, asked, otherwise="uniform")
        opponent = named_agents(rules, (name, "uniform"), asked)[0]
    you = Human(
        ask=lambda question: str(typer.prompt(question, prompt_suffix="")),
        tell=tell,
        answers={"help": lambda: HELP, "?": lambda: HELP, "explain": opponent.explain}
        | {"quit": _leave},
    )
    thinks = Thinks(opponent, lambda: Meter(opponent.name).saying("The agent thinks"))
    unit, scale = rules.unit
    won: list[float] = []
    tell(f"{rules} against {opponent.name}, seed {start}. Type quit to end the game.")
    try:
        while hands is None or len(won) < hands:
            number = len(won)
            tell(f"Hand {number + 1}: you are player {number % 2}{_place(rules, number % 2)}.")
            hand = play_hand(rules, (you, thinks), number, start)
            moves = [f"{_who(player, hand.seats)} {action}" for player, action in hand.moves]
            tell("  " + ", ".join(moves))
            won.append(hand.won * scale)
            tell(f"  You win {hand.won:+g} chips. So far {Estimate.of(won)} {unit} a hand.")
    except (KeyboardInterrupt, typer.Abort):
        tell("")
    finally:
        opponent.close()
    if won:
        tell(f"{len(won)} hands, {sum(won) / scale:+g} chips.")


def _leave() -> NoReturn:
    """The player ends the game."""
    raise typer.Abort


def _place(rules: Game, seat: int) -> str:
    """Which blind a seat has, in a whole game of hold'em."""
    from subgame.games.holdem.game import Holdem

    if not isinstance(rules, Holdem) or rules.board or rules.first is not None:
        return ""
    return ", the small blind" if seat == rules.start().player else ", the big blind"


def _who(player: int, seats: tuple[int, int]) -> str:
    if player < 0:
        return "dealt"
    return "you" if seats[player] == 0 else "the agent"
