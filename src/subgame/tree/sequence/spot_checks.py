"""Rules of `State` that a walk cannot see, checked at a sample of the histories.

`subgame.games.conformance.check` checks them everywhere, at twice the cost of a walk.
"""

from __future__ import annotations

from collections.abc import Callable

from subgame.errors import SubgameError
from subgame.games.base import Game, State
from subgame.games.conformance import View, difference, view_of

FIRST, EVERY = 64, 4096
"""Histories that are checked: the first ones, and then one in so many."""


def is_sampled(h: int) -> bool:
    """Whether history `h` is checked."""
    return h < FIRST or h % EVERY == 0


def check_unchanged(state: State, before: View, name: Callable[[], str], game: Game) -> None:
    """Raise an error if a state is no longer as it was `before` its children were made."""
    now = view_of(state)
    if now != before:
        raise SubgameError(
            f"{game}: the state at history {name()} changed its {difference(before, now)} when "
            "child() was called; child() must return a new state and leave the old one as it is."
        )


def check_same(view: View, path: list[str], name: Callable[[], str], game: Game) -> None:
    """Raise an error if the same history, walked again from the start, is another one."""
    state = game.new_initial_state()
    for action in path:
        state = state.child(action)
    again = view_of(state)
    if again != view:
        raise SubgameError(
            f"{game}: two walks to history {name()} differ in {difference(view, again)}; a game "
            "must be deterministic, and all chance must be in chance_outcomes()."
        )
