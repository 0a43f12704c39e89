"""The agents against whom a person can play."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.play.agent import Agent
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
