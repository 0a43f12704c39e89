"""``subgame play``: play against an agent in the terminal."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NoReturn, TypeGuard

import typer
from rich.text import Text

from subgame.cli.arguments import GameArgument, grouped, opt
from subgame.cli.common import check_least, load_game, stdout
from subgame.cli.match import AGENT, Agents, check_agent
from subgame.cli.progress import Meter

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.games.holdem.game import Holdem
    from subgame.play.match import Hand

HELP = (
    "Type one of the actions that are listed. In hold'em: fold, check, call, bet 250 (a total), "
    "50% (of the pot) or all-in. explain shows what the agent did last and why, with its cards; "
    "quit ends the game. mbb/h is thousandths of a big blind per hand; ± is a 95 % interval."
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
    from subgame.play.match import play_hand
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
    scale, won = rules.unit[1], list[float]()
    tell(f"{_heading(rules)} against {opponent.name}, seed {start}. Type help or quit.")
    try:
        while hands is None or len(won) < hands:
            number = len(won)
            tell(f"Hand {number + 1}: you are player {number % 2}{_place(rules, number % 2)}.")
            hand = play_hand(rules, (you, thinks), number, start)
            won.append(hand.won * scale)
            tell(f"  {_ended(rules, hand)} {_so_far(rules, won)}")
    except (KeyboardInterrupt, typer.Abort):
        tell("")
    finally:
        opponent.close()
    if won:
        count = "1 hand" if len(won) == 1 else f"{len(won)} hands"
        tell(f"{count}, {sum(won) / scale:+g} chips.")


def _leave() -> NoReturn:
    """The player ends the game."""
    raise typer.Abort


def _is_whole_holdem(rules: Game) -> TypeGuard[Holdem]:
    """Whether hold'em is played from the first blind on."""
    from subgame.games.holdem.game import Holdem

    return isinstance(rules, Holdem) and not rules.board and rules.first is None


def _heading(rules: Game) -> str:
    """What is played."""
    if not _is_whole_holdem(rules):
        return str(rules)
    from subgame.spots.lines import chips_text

    blinds, stacks = rules.rules.blinds, rules.rules.stacks
    deep = chips_text(min(stacks))
    small, big = (chips_text(blind) for blind in sorted(blinds))
    return f"Heads-up no-limit hold'em, blinds {small} and {big}, {deep} chips each,"


def _place(rules: Game, seat: int) -> str:
    """Which blind a seat has, in a whole game of hold'em."""
    if not _is_whole_holdem(rules):
        return ""
    return ", the small blind" if seat == rules.start().player else ", the big blind"


def _ended(rules: Game, hand: Hand) -> str:
    """How a hand ended. In hold'em its actions were told while it was played."""
    from subgame.games.holdem.game import Holdem

    result = f"You {'win' if hand.won >= 0 else 'lose'} {abs(hand.won):,g} chips."
    if isinstance(rules, Holdem):
        mine = hand.seats.index(0)
        return f"The agent had {hand.moves[1 - mine][1]}. {result}"
    moves = ", ".join(f"{_who(player, hand.seats)} {action}" for player, action in hand.moves)
    return f"{moves}. {result}"


def _so_far(rules: Game, won: list[float]) -> str:
    """The result so far, in the unit of the game."""
    from subgame.play.match import Estimate

    unit = rules.unit[0]
    return f"So far {Estimate.of(won)} {unit if unit.endswith('/h') else f'{unit} a hand'}."


def _who(player: int, seats: tuple[int, int]) -> str:
    if player < 0:
        return "dealt"
    return "you" if seats[player] == 0 else "the agent"
