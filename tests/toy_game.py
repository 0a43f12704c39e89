"""A toy game whose rules can be replaced one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from subgame.games.base import CHANCE, TERMINAL, Game, State

History = tuple[str, ...]


@dataclass(frozen=True)
class Rules:
    """A sound game: chance deals x or y, seen by player 0 alone, who acts; then player 1 acts.

    Each test replaces one rule by a broken one.
    """

    player: Callable[[History], int] = lambda h: (CHANCE, 0, 1, TERMINAL)[len(h)]
    actions: Callable[[History], Sequence[Any]] = lambda h: ("l", "r")
    outcomes: Callable[[History], Sequence[tuple[str, float]]] = lambda h: (("x", 0.5), ("y", 0.5))
    returns: Callable[[History], Any] = lambda h: (1.0, -1.0)
    known: Callable[[History, int], Any] = lambda h, p: f"P{p} {' '.join(h if p == 0 else h[1:])}"
    public: Callable[[History], Any] = lambda h: None
    players: int = 2


@dataclass(frozen=True)
class ToyState(State):
    rules: Rules
    history: History = ()

    def current_player(self) -> int:
        return self.rules.player(self.history)

    def legal_actions(self) -> Sequence[str]:
        return self.rules.actions(self.history)

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        return self.rules.outcomes(self.history)

    def child(self, action: str) -> Self:
        return replace(self, history=(*self.history, action))

    def returns(self) -> tuple[float, float]:
        paid: tuple[float, float] = self.rules.returns(self.history)
        return paid

    def information_state(self, player: int) -> str | None:
        known: str | None = self.rules.known(self.history, player)
        return known

    def public_state(self) -> str | None:
        public: str | None = self.rules.public(self.history)
        return public


class Toy(Game):
    name = "toy"

    def __init__(self, **broken: Any) -> None:
        self.rules = Rules(**broken)
        self.num_players = self.rules.players

    def new_initial_state(self) -> State:
        return ToyState(self.rules)
