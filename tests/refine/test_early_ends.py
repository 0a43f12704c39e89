"""Subgames at whose top the game is over for some hidden cards and goes on for others.

Nobody can tell the two: the terminal histories have the public state and the information states of
the decisions. The answers come from `margin_program`, which has its own walk and linear program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

import pytest

import subgame as sg
from helpers import profile_of
from margin_program import largest_margin, root_of, root_values
from oracle import Oracle
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.games.conformance import check

CARDS = "123"


@dataclass(frozen=True, slots=True)
class EarlyState(State):
    """Both players are dealt a card; `first` acts in public, then the other, then `first`.

    If the cards are equal, the game is over after the first action, though nobody is told so.
    """

    first: int
    history: tuple[str, ...] = ()

    def current_player(self) -> int:
        h = self.history
        if len(h) < 2:
            return CHANCE
        if len(h) == 5 or (len(h) == 3 and h[0] == h[1]):
            return TERMINAL
        return (self.first, 1 - self.first, self.first)[len(h) - 2]

    def legal_actions(self) -> tuple[str, ...]:
        return ("a", "b")

    def chance_outcomes(self) -> list[tuple[str, float]]:
        return [(card, 1 / len(CARDS)) for card in CARDS]

    def child(self, action: str) -> Self:
        return type(self)(self.first, (*self.history, action))

    def returns(self) -> tuple[float, float]:
        digest = blake2b(" ".join(self.history).encode(), digest_size=4).digest()
        won = int.from_bytes(digest, "big") / 2**31 - 1
        return won, -won

    def information_state(self, player: int) -> str:
        own = self.history[player : player + 1]
        return f"P{player} {' '.join((*own, *self.history[2:]))}"

    def public_state(self) -> str:
        return " ".join(self.history[2:])


class EarlyEnds(Game):
    name = "early-ends"
    parameter_names = ("first",)

    def __init__(self, first: int) -> None:
        self.first = first

    def new_initial_state(self) -> EarlyState:
        return EarlyState(self.first)

    def frontiers(self) -> dict[str, Callable[[State], bool]]:
        return {"after action 1": lambda s: isinstance(s, EarlyState) and len(s.history) == 3}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("player", [0, 1])
def test_a_margin_is_the_linear_programs_in_both_seats(first: int, player: int) -> None:
    game = EarlyEnds(first)
    check(game)
    tree, oracle = sg.compile(game), Oracle(game)
    blueprint = sg.Strategy.random(tree, seed=3)
    refined = sg.refine(
        tree,
        blueprint,
        at="after action 1",
        technique=sg.Maxmargin(),
        player=player,
        schedule="lp",
    )
    profile = profile_of(blueprint)
    margins = []
    for part in refined.parts:
        assert len({*part.infosets}) == len(part.infosets) == len(CARDS)
        root = root_of(oracle, part.subgame, profile, player)
        best = largest_margin(oracle, root, root_values(oracle, root, profile))
        assert part.margin == pytest.approx(best, abs=1e-9)
        margins.append(best)
    assert max(margins) > 0.01  # the test bites: some subgame can be improved
    assert refined.after.per_seat[player] <= refined.before.per_seat[player] + 1e-12
