"""Amounts of chips: whole numbers, or exact decimals where a spot has fractions of a chip."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Real

from subgame.errors import SubgameError

MOST_CHIPS = 10**12
"""Chips in a pot or a stack; beyond this values would lose whole chips to rounding."""
DECIMALS = 6
"""Decimals that an amount may have."""


class PartChips(Fraction):
    """An amount that is not a whole number of chips. It prints as a decimal.

    >>> half = tidy(Fraction(13, 2))
    >>> print(half), f"{half:,}", tidy(half + half)
    6.5
    (None, '6.5', 13)
    """

    def __str__(self) -> str:
        return format(self, "")

    def __format__(self, spec: str) -> str:
        return format(Decimal(self.numerator) / Decimal(self.denominator), spec or "f")


Chips = int | Fraction
"""A whole number is an `int`, anything else a `PartChips`."""


def tidy(amount: Chips) -> Chips:
    """An amount as an `int` where it is whole, and as a `PartChips` where it is not."""
    if type(amount) is int:
        return amount
    return int(amount) if amount.denominator == 1 else PartChips(amount)


@lru_cache(maxsize=1 << 10)
def exact(number: float) -> Fraction:
    """A number as it is written: 0.1 is one tenth, not the nearest binary fraction."""
    return Fraction(repr(float(number)))


def number(amount: Chips) -> float:
    """An amount as an `int` or a `float`, for JSON and for arithmetic that need not be exact."""
    return amount if isinstance(amount, int) else float(amount)


def read_chips(value: object, what: str) -> Chips:
    """An amount that a caller gave: a number, or text such as ``6.5``.

    >>> read_chips(6.5, "pot"), read_chips("100", "pot")
    (PartChips(13, 2), 100)
    """
    try:
        if isinstance(value, str | Decimal):
            amount = Fraction(str(value).replace(",", "").replace("_", ""))
        else:
            amount = Fraction(value) if isinstance(value, int | Fraction) else exact(value)
        whole = isinstance(value, str | Decimal | Real) and not isinstance(value, bool)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        whole = False
    if not whole:
        raise SubgameError(f"The {what} must be a number of chips, not {value!r}.")
    if not -MOST_CHIPS <= amount <= MOST_CHIPS:
        raise SubgameError(f"The {what} must be at most {MOST_CHIPS:,} chips.")
    if 10**DECIMALS % amount.denominator:
        raise SubgameError(
            f"The {what} must have at most {DECIMALS} decimals of a chip, not {value!r}."
        )
    return tidy(amount)


def unit_of(*amounts: Chips) -> Chips:
    """The largest of 1, 0.1, 0.01, … of which all amounts are multiples.

    >>> print(unit_of(6, 100), unit_of(tidy(Fraction(13, 2)), 100))
    1 0.1
    """
    for decimals in range(DECIMALS + 1):
        if not any(amount * 10**decimals % 1 for amount in amounts):
            break
    return tidy(Fraction(1, 10**decimals))
