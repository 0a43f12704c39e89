"""What the kernels of hold'em trees are called with: which arguments are blank until a call."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from subgame.engines.contract import Floats, Numbers, Regrets
from subgame.engines.numba.int16 import Int16Numbers
from subgame.engines.numba.native import Blank, Packed
from subgame.engines.numba.range_scratch import Form

NONE: NDArray[np.float32] = np.zeros(1, dtype=np.float32)
NOTHING: Floats = np.zeros(0)
UNCHECKED = Packed(((NOTHING, NOTHING), NOTHING))
INTEGER, RATES = Blank(""), Blank("d2")
CHECK = Blank(UNCHECKED.kind, len(UNCHECKED.slots))
Stored = tuple[bool, bool, bool]
"""How a player's numbers are stored: in 16 bits, with an average, with a prediction."""


@lru_cache
def player_form(stored: Stored) -> tuple[Blank | Packed, ...]:
    """`range_tiles.PlayerNumbers` with a blank for each array that there is."""
    short, *there = stored
    none = Packed(Int16Numbers(1).ints if short else NONE)
    scale, no_scale = (Blank("f1") if short else Packed(NONE)), Packed(NONE)
    numbers = Blank("h1" if short else "f1")
    return (
        *(numbers if one else none for one in (True, *there)),
        Packed(np.array(there)),
        *(scale if one else no_scale for one in (True, *there)),
    )


def numbers_of(regrets: Regrets) -> tuple[Stored, tuple[Numbers, ...]]:
    """How a player's numbers are stored, and what takes the place of the blanks."""
    regret, average, instant = regrets
    a, b = average is not None, instant is not None
    if isinstance(regret, Int16Numbers):
        there = [numbers for numbers in regrets if numbers is not None]
        arrays = (*(numbers.ints for numbers in there), *(numbers.scales for numbers in there))
        return (True, a, b), arrays
    if b:
        return (False, a, b), (regret, average, instant) if a else (regret, instant)
    return (False, a, b), (regret, average) if a else (regret,)


@lru_cache
def iterations_form(players: tuple[Stored, ...]) -> Form:
    return Form(tuple(map(player_form, players)), RATES, (INTEGER, CHECK))


@lru_cache
def sweep_form(one: Stored, two: Stored) -> Form:
    return Form(3 * (INTEGER,), (player_form(one), player_form(two)), RATES)


@lru_cache
def match_form(form: Stored) -> Form:
    return Form(INTEGER, player_form(form), RATES, Blank("f1"))


@lru_cache
def reach_form(form: Stored) -> Form:
    return Form(3 * (INTEGER,), player_form(form), RATES, Blank("d3"))


OPPOSING = Form(2 * (INTEGER,), Blank("d3"), Blank("d3"), 3 * (Blank("d2"),))


def readable(numbers: Numbers) -> Numbers:
    """Numbers in a type that kernels read; for arrays that cannot be written they have no code."""
    if isinstance(numbers, Int16Numbers):
        return numbers
    if numbers.dtype == np.float32 and numbers.flags.carray:
        return numbers
    return np.require(numbers, np.float32, ["C", "A", "W"])


def none_like(numbers: Numbers) -> Numbers:
    """A placeholder for missing numbers, of the type of `numbers`: kernels are compiled by type."""
    return Int16Numbers(1) if isinstance(numbers, Int16Numbers) else NONE
