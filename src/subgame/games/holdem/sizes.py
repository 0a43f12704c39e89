"""Amounts of chips, one bet size (`Size`) and the sizes of one street (`StreetSizes`).

See `bets.BetSizes`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Literal, get_args

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


Kind = Literal["pot", "raise", "chips", "all-in", "geometric"]

STREETS = ("preflop", "flop", "turn", "river")
FORMS = (
    "a share of the pot (0.5x or 50%), a multiple of the bet (2.5r), chips (250), a geometric size "
    "(e or 2e), all-in (a) or none"
)
OPTIONS = ("cap", "all-in", "force-all-in", "add-all-in", "merge", "chip")
"""The numbers of `BetSizes`, as the text names them."""
NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+")
_GEOMETRIC = re.compile(rf"(\d{{0,2}})e(?:({NUMBER.pattern})([x%]))?")
_MOVES = re.compile(r"[fc]|r\d{1,15}(?:\.\d{1,9})?")


def street_number(name: str) -> int:
    """The place of a street in `STREETS`."""
    if name not in STREETS:
        raise SubgameError(f"There is no street '{name}'; the streets are {', '.join(STREETS)}.")
    return STREETS.index(name)


@dataclass(frozen=True, slots=True)
class Size:
    """One size of a bet or a raise: the player's total on the street after it ("raise to").

    | text | kind | the total |
    | --- | --- | --- |
    | ``0.5x``, ``50%`` | pot | the bet to match, plus this share of the pot once it is called |
    | ``2.5r`` | raise | this multiple of the bet to match |
    | ``250`` | chips | so many chips |
    | ``a`` | all-in | as much as both players can still put in |
    | ``2e`` | geometric | the share of the pot that, bet twice and called, is all-in |
    | ``e`` | geometric | the same with one bet on each street that is left |
    | ``e150%`` | geometric | the same, but at most 150 % of the pot |

    >>> Size.parse("50%"), str(Size("all-in"))
    (Size(kind='pot', amount=0.5, most=0.0), 'a')
    """

    kind: Kind
    amount: float = 0.0
    most: float = 0.0  # the largest share of the pot of a geometric size; 0: no limit

    def __post_init__(self) -> None:
        kind, amount = self.kind, self.amount
        broken = amount < 0 or amount % 1 != 0
        for wrong, reason in (
            (kind not in get_args(Kind), f"the kinds of bet size are {', '.join(get_args(Kind))}"),
            (not math.isfinite(amount), "it must be a finite number"),
            (kind == "pot" and amount <= 0, "a share of the pot must be above 0"),
            (kind == "raise" and amount <= 1, "a raise must be to more than 1 times the bet"),
            (kind == "chips" and amount <= 0, "chips must be above 0"),
            (kind == "all-in" and amount, "all-in takes no amount"),
            (kind == "geometric" and broken, "a geometric size takes a whole number of bets"),
            (
                not 0 <= self.most < math.inf or (self.most and kind != "geometric"),
                "only a geometric size has a limit, a share of the pot above 0",
            ),
        ):
            if wrong:
                raise SubgameError(
                    f"A bet size of kind '{kind}' cannot have the amount {amount}: {reason}."
                )

    @classmethod
    def parse(cls, text: str) -> Size:
        """A size from text: ``0.5x``, ``50%``, ``2.5r``, ``250``, ``2e`` or ``a``."""
        if text == "a":
            return cls("all-in")
        equal = _GEOMETRIC.fullmatch(text)
        if equal:
            most = share(equal[2] + (equal[4] if equal[4] == "%" else "")) if equal[2] else 0.0
            return cls("geometric", float(equal[1] or 0), most)
        kinds: dict[str, Kind] = {"x": "pot", "r": "raise", "%": "pot"}
        number = text[:-1] if text[-1:] in kinds else text
        if not NUMBER.fullmatch(number):
            raise SubgameError(f"'{text}' is not a bet size; a size is {FORMS}.")
        return cls(kinds.get(text[-1:], "chips"), share(text if text[-1] == "%" else number))

    def __str__(self) -> str:
        if self.kind == "all-in":
            return "a"
        if self.kind == "geometric":
            limit = f"{digits(self.most)}x" if self.most else ""
            return f"{int(self.amount) or ''}e{limit}"
        return digits(self.amount) + {"pot": "x", "raise": "r", "chips": ""}[self.kind]


def share(text: str) -> float:
    """A number, or a percentage as a share of one.

    >>> share("33%"), share("0.33")
    (0.33, 0.33)
    """
    return float(Decimal(text[:-1]) / 100) if text.endswith("%") else float(text)


@dataclass(frozen=True, slots=True)
class StreetSizes:
    """The bets of one street.

    ``raises[k]`` holds the sizes of raise number k + 1; its last entry also holds for all later
    raises. Where ``raises`` is empty, raises have the sizes of the bets. A donk bet is a bet of the
    player out of position into the player who made the last bet of the street before.
    """

    bets: tuple[Size, ...] = ()
    raises: tuple[tuple[Size, ...], ...] = ()
    cap: int | None = None  # the largest number of bets and raises on this street
    donks: tuple[Size, ...] | None = None  # None: as the other bets

    def __post_init__(self) -> None:
        if self.cap is not None and self.cap < 0:
            raise SubgameError(f"The cap on bets and raises must be at least 0, not {self.cap}.")

    def sizes(self, raises: int, *, donk: bool = False) -> tuple[Size, ...]:
        """The sizes after this many bets and raises on the street; `donk`: of a donk bet."""
        if donk and raises == 0 and self.donks is not None:
            return self.donks
        if raises == 0 or not self.raises:
            return self.bets
        return self.raises[min(raises, len(self.raises)) - 1]

    def __str__(self) -> str:
        parts = [_join(self.bets)]
        if self.donks is not None:
            parts.append(f"donk {_join(self.donks)}")
        for number, sizes in enumerate(self.raises, start=1):
            parts.append(f"raise{number if number > 1 else ''} {_join(sizes)}")
        if self.cap is not None:
            parts.append(f"cap {self.cap}")
        return " / ".join(parts)


def moves(line: str) -> tuple[str, ...] | None:
    """The actions of a line such as ``c r50 c / r120``; None if it is not one.

    >>> moves("c r50 c / r120.5"), moves("b50")
    (('c', 'r50', 'c', 'r120.5'), None)
    """
    plain = re.sub(r"[\s,/]", "", line)
    actions = tuple(_MOVES.findall(plain))
    return actions if actions and "".join(actions) == plain else None


def digits(number: float) -> str:
    """The fewest digits that read back as this number, without an exponent."""
    return str(int(number)) if number == int(number) else f"{Decimal(repr(float(number))):f}"


def _join(sizes: Iterable[Size]) -> str:
    return " ".join(map(str, sizes)) or "none"
