"""Rules of a game that only a sample of the histories is checked for while it is compiled."""

from __future__ import annotations

import random
from typing import Any

import pytest

import subgame as sg
from subgame.games.base import CHANCE, TERMINAL


class Changing(sg.State):
    """Player 0 moves twice. Subclasses break one rule each."""

    def __init__(self, done: tuple[str, ...] = ()) -> None:
        self.done = done

    def current_player(self) -> int:
        return 0 if len(self.done) < 2 else TERMINAL

    def legal_actions(self) -> tuple[str, ...]:
        return ("l", "r")

    def child(self, action: str) -> Any:
        return type(self)((*self.done, action))

    def returns(self) -> tuple[float, float]:
        won = float(self.done == ("l", "r"))
        return won, -won

    def information_state(self, player: int) -> str | None:
        return " ".join(self.done) if player == 0 else None


class ChildChangesIt(Changing):
    def child(self, action: str) -> Any:
        made = type(self)((*self.done, action))
        self.done = made.done
        return made


class ChildIsTheSame(Changing):
    def child(self, action: str) -> Any:
        self.done = (*self.done, action)
        return self


class RandomPayoffs(Changing):
    def returns(self) -> tuple[float, float]:
        won = random.random()
        return won, -won


class RandomChild(Changing):
    def __init__(self, done: tuple[str, ...] = ()) -> None:
        super().__init__(done)
        self.won = random.random()

    def returns(self) -> tuple[float, float]:
        return self.won, -self.won


class IntegerActions(Changing):
    def legal_actions(self) -> Any:
        return (0, 1)


class IntegerOutcomes(Changing):
    def current_player(self) -> int:
        return super().current_player() if self.done else CHANCE

    def chance_outcomes(self) -> Any:
        return [(0, 0.5), (1, 0.5)]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (ChildChangesIt, "the state at history the start changed its"),
        (ChildIsTheSame, "the state at history the start changed its"),
        (RandomPayoffs, r"two walks to history 'l l' differ in returns"),
        (RandomChild, r"two walks to history 'l l' differ in returns"),
        (IntegerActions, "the action 0 at history the start is not a string"),
        (IntegerOutcomes, "the chance outcome 0 at history the start is not a string"),
    ],
    ids=lambda case: case.__name__ if isinstance(case, type) else "",
)
def test_what_the_conformance_suite_refuses_compile_names(kind: type[Changing], words: str) -> None:
    class Made(sg.Game):
        name = "made"

        def new_initial_state(self) -> Changing:
            return kind()

    with pytest.raises(sg.SubgameError, match=words):
        sg.compile(Made())
    with pytest.raises(sg.SubgameError):
        sg.games.conformance.check(Made())
