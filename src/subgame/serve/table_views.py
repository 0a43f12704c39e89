"""The agents against whom a person can play, and what is seen at a table of hold'em."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from subgame.games.base import Game
    from subgame.games.holdem.game import Holdem
    from subgame.games.holdem.rules import Betting
    from subgame.play.agent import Agent, Event
    from subgame.tree.strategy import Strategy


SIMPLE = ("uniform", "call", "raise", "fold")
BLUEPRINT, SEARCHING = "blueprint", ("nested", "limited")
THINKS = 5.0
"""Seconds that an agent has for a decision if it solves while it plays."""
ITERATIONS = 500
"""The most iterations of one of its decisions."""
SPOT = "job:"
"""What stands before the job of a solution."""


def fitting(game: Game, strategy: Strategy | None) -> list[str]:
    """The agents that can play a game, or a spot with its solution."""
    if not hasattr(game, "deck"):
        return [BLUEPRINT, *SEARCHING, *SIMPLE, "best-response"]
    if strategy is not None:
        return [*SIMPLE, "nested"]
    from subgame.play.named import whole_blueprint

    if whole_blueprint(game) is None:
        return list(SIMPLE)
    return [*SEARCHING[::-1], BLUEPRINT, *SIMPLE]  # the best first


def searching(name: str, solution: Strategy) -> Agent:
    """An agent that solves a spot again while it plays, from the spot's solution."""
    from subgame.play import named

    made = named.SEARCHING[name](solution, seconds=THINKS, iterations=ITERATIONS)
    made.name = name
    return made


def title(name: str, game: Game) -> str:
    """What a table is called."""
    from subgame.games.holdem.game import Holdem

    if name.startswith(SPOT) and isinstance(game, Holdem):
        return f"Spot on {game.deck.name(game.board)}"
    return name if name == str(game).partition("(")[0] else str(game)


def named_actions(betting: Betting | None, legal: Sequence[str]) -> list[dict[str, str]]:
    """The legal actions with their names."""
    from subgame.spots.lines import action_name

    if betting is None:
        return [{"id": action, "name": action} for action in legal]
    return [{"id": action, "name": action_name(betting, action)} for action in legal]


def chips_and_cards(
    game: Holdem, events: Sequence[Event], betting: Betting, *, open: bool
) -> dict[str, object]:
    """The board and all chips; what may be bet if the person's turn is `open`."""
    from subgame.games.holdem.sizes import number

    deck, board = game.deck, list(game.board)
    for event in events:
        if event.player < 0:
            board += deck.parse(event.action)
    return {
        "board": [deck.card_name(card) for card in board],
        "pot": betting.pot,
        "bets": list(betting.bets),
        "behind": list(betting.behind),
        "to_call": betting.to_call,
        "least": betting.least_raise if open else None,
        "most": betting.most_raise if open else None,
        "big_blind": number(game.rules.blinds[1]),
    }


def line_of_play(game: Holdem, events: Sequence[Event], seat: int) -> list[dict[str, str]]:
    """What happened, as the person in a seat tells it."""
    from subgame.spots.lines import action_name

    betting, out = game.start(), list[dict[str, str]]()
    for event in events:
        if event.player < 0:
            out.append({"who": "board", "text": event.action})
            continue
        who = "you" if event.player == seat else "opponent"
        out.append({"who": who, "text": action_name(betting, event.action)})
        betting = betting.child(event.action)
    return out
