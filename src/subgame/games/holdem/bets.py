"""Bet sizes of a betting tree. `BetSizes` documents the grammar; `amounts` gives the chips."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Literal, NoReturn, get_args

from subgame.errors import SubgameError
from subgame.games.holdem.pointing import fault

Kind = Literal["pot", "raise", "chips", "all-in"]

STREETS = ("preflop", "flop", "turn", "river")
_GROUPS = {"all": STREETS, "postflop": STREETS[1:], **{street: (street,) for street in STREETS}}
_OPTIONS = ("cap", "all-in", "chip")
_FORMS = "a share of the pot (0.5x), a multiple of the bet (2.5r), chips (250), all-in (a) or none"
_TOKEN = re.compile(r"[;:/\n]|[^\s,;:/]+")
_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+")
_RAISE = re.compile(r"raise(\d{0,9})")


@dataclass(frozen=True, slots=True)
class Size:
    """One size of a bet or a raise: the player's total on the street after it ("raise to").

    | text | kind | the total |
    | --- | --- | --- |
    | ``0.5x`` | pot | the bet to match, plus this share of the pot once it has been called |
    | ``2.5r`` | raise | this multiple of the bet to match |
    | ``250`` | chips | so many chips |
    | ``a`` | all-in | as much as both players can still put in |

    >>> Size.parse("0.5x"), str(Size("all-in"))
    (Size(kind='pot', amount=0.5), 'a')
    """

    kind: Kind
    amount: float = 0.0

    def __post_init__(self) -> None:
        reason = self._why_not()
        if reason:
            raise SubgameError(
                f"A bet size of kind '{self.kind}' cannot have the amount {self.amount}: {reason}."
            )

    def _why_not(self) -> str | None:
        amount = self.amount
        if self.kind not in get_args(Kind):
            return f"the kinds of bet size are {', '.join(get_args(Kind))}"
        if not math.isfinite(amount):
            return "it must be a finite number"
        if self.kind == "pot" and amount <= 0:
            return "a share of the pot must be above 0"
        if self.kind == "raise" and amount <= 1:
            return "a raise must be to more than 1 times the bet"
        if self.kind == "chips" and (amount < 1 or amount != int(amount)):
            return "chips must be a whole number of at least 1"
        if self.kind == "all-in" and amount:
            return "all-in takes no amount"
        return None

    @classmethod
    def parse(cls, text: str) -> Size:
        """A size from text: ``0.5x``, ``2.5r``, ``250`` or ``a``."""
        if text == "a":
            return cls("all-in")
        kinds: dict[str, Kind] = {"x": "pot", "r": "raise"}
        number = text[:-1] if text[-1:] in kinds else text
        if not _NUMBER.fullmatch(number):
            raise SubgameError(f"'{text}' is not a bet size; a size is {_FORMS}.")
        return cls(kinds.get(text[-1:], "chips"), float(number))

    def __str__(self) -> str:
        if self.kind == "all-in":
            return "a"
        return _digits(self.amount) + {"pot": "x", "raise": "r", "chips": ""}[self.kind]


@dataclass(frozen=True, slots=True)
class StreetSizes:
    """The bets of one street.

    ``raises[k]`` holds the sizes of raise number k + 1; its last entry also holds for all later
    raises. Where ``raises`` is empty, raises have the sizes of the bets.
    """

    bets: tuple[Size, ...] = ()
    raises: tuple[tuple[Size, ...], ...] = ()
    cap: int | None = None  # the largest number of bets and raises on this street

    def __post_init__(self) -> None:
        if self.cap is not None and self.cap < 0:
            raise SubgameError(f"The cap on bets and raises must be at least 0, not {self.cap}.")

    def sizes(self, raises: int) -> tuple[Size, ...]:
        """The sizes after this many bets and raises on the street."""
        if raises == 0 or not self.raises:
            return self.bets
        return self.raises[min(raises, len(self.raises)) - 1]

    def __str__(self) -> str:
        parts = [_join(self.bets)]
        for number, sizes in enumerate(self.raises, start=1):
            parts.append(f"raise{number if number > 1 else ''} {_join(sizes)}")
        if self.cap is not None:
            parts.append(f"cap {self.cap}")
        return " / ".join(parts)


@dataclass(frozen=True, slots=True)
class BetSizes:
    """The bets of a whole hand, street by street. Folding, checking and calling need no mention.

    The text is a list of clauses, separated by semicolons or line ends:

    | clause | meaning |
    | --- | --- |
    | ``flop: 0.5x 1x a`` | bets of half the pot, the pot and all-in, and raises of the same sizes |
    | ``turn: 1x / raise 2.5r a`` | raises to 2.5 times the bet or all-in |
    | ``river: 1x / raise 3r / raise2 a`` | from the second raise on, all-in alone |
    | ``turn, river: 1x / raise none`` | two streets at once; no raises |
    | ``flop: 1x / cap 2`` | at most two bets and raises on the flop |
    | ``0.5x 1x a`` | all streets at once, or the `streets` given to `parse` |
    | ``cap 4`` | at most four on each street that has no cap of its own |
    | ``all-in 0.67`` | a size that takes more than 67 % of the stack becomes all-in |
    | ``chip 50`` | totals are multiples of 50 chips (except all-in) |

    A clause names streets: preflop, flop, turn, river, postflop (the last three) or all; a clause
    for one street overrides one for several. A street that no clause names has no bets. `Size`
    says what a size means. The first aggressive action of a street is the bet, also before the
    flop, where it raises the blind: ``preflop: 2.5r`` opens to 2.5 big blinds.

    >>> sizes = BetSizes.parse("flop: 0.5x 1x a; turn: 1x a / raise 2.5r; cap 3")
    >>> print(sizes)
    flop: 0.5x 1x a; turn: 1x a / raise 2.5r; cap 3
    >>> sizes.amounts(Situation("flop", pot=100, to_call=0, stacks=(900, 900), big_blind=10))
    (50, 100, 900)
    >>> BetSizes.parse("flop: 0.5x; turn: 50%")
    Traceback (most recent call last):
    subgame.errors.TextError: In the bet sizes 'flop: 0.5x; turn: 50%', at '50%' (character 19):
    a size is a share of the pot (0.5x), a multiple of the bet (2.5r), chips (250), all-in (a) or
    none.
      flop: 0.5x; turn: 50%
                        ^^^
    """

    preflop: StreetSizes = field(default_factory=StreetSizes)
    flop: StreetSizes = field(default_factory=StreetSizes)
    turn: StreetSizes = field(default_factory=StreetSizes)
    river: StreetSizes = field(default_factory=StreetSizes)
    cap: int | None = None
    all_in: float = 1.0
    chip: int = 1

    def __post_init__(self) -> None:
        if self.cap is not None and self.cap < 0:
            raise SubgameError(f"The cap on bets and raises must be at least 0, not {self.cap}.")
        if not 0 < self.all_in <= 1:
            raise SubgameError(
                f"The share of the stack that becomes all-in must be above 0 and at most 1, "
                f"not {self.all_in}."
            )
        if self.chip < 1:
            raise SubgameError(f"The smallest chip must be at least 1, not {self.chip}.")
        for street in STREETS[1:]:
            if any(size.kind == "raise" for size in self.street(street).bets):
                raise SubgameError(
                    f"A size such as 2.5r multiplies a bet, and the first bet on the {street} "
                    f"has none before it; "
                    "use a share of the pot (0.5x), chips (250) or all-in (a)."
                )

    @classmethod
    def parse(cls, text: str, streets: str = "all") -> BetSizes:
        """The bet sizes that a text describes (see the class).

        Sizes without the name of a street apply to `streets`.
        """
        return _Parser(text, streets).read()

    def street(self, name: str) -> StreetSizes:
        """The sizes of one street."""
        by_name = dict(zip(STREETS, (self.preflop, self.flop, self.turn, self.river), strict=True))
        if name not in by_name:
            raise SubgameError(
                f"There is no street '{name}'; the streets are {', '.join(STREETS)}."
            )
        return by_name[name]

    def amounts(self, situation: Situation) -> tuple[int, ...]:
        """The totals to which the acting player may bet or raise here; see `amounts`."""
        return amounts(self, situation)

    def format(self) -> str:
        """The text that `parse` reads back as these sizes."""
        clauses = [
            f"{street}: {self.street(street)}"
            for street in STREETS
            if self.street(street) != StreetSizes()
        ]
        if self.cap is not None:
            clauses.append(f"cap {self.cap}")
        if self.all_in != 1:
            clauses.append(f"all-in {_digits(self.all_in)}")
        if self.chip != 1:
            clauses.append(f"chip {self.chip}")
        return "; ".join(clauses) or "all: none"

    def __str__(self) -> str:
        return self.format()


@dataclass(frozen=True, slots=True)
class Situation:
    """The betting where a player is about to act. Chips are whole numbers."""

    street: str
    pot: int  # all chips in the middle, those of this street included
    to_call: int
    stacks: tuple[int, int]  # chips behind: the acting player's, the other's
    big_blind: int
    committed: int = 0  # the acting player's chips on this street
    last_raise: int = 0  # by how much the last bet or raise of this street went up
    raises: int = 0  # bets and raises so far on this street; blinds do not count

    def __post_init__(self) -> None:
        chips = (self.pot, self.to_call, *self.stacks, self.committed, self.last_raise, self.raises)
        if min(chips) < 0 or self.big_blind < 1:
            raise SubgameError(
                f"No number of chips may be negative and the big blind must be at least 1: {self}."
            )

    @property
    def all_in(self) -> int:
        """The least legal total that leaves one of the two without chips, once called."""
        match = self.committed + self.to_call
        return min(self.committed + self.stacks[0], match + max(self.stacks[1], self._more))

    @property
    def least(self) -> int:
        """The least total a raise may go to: by the last raise or a big blind more, or all-in."""
        return min(self.committed + self.to_call + self._more, self.all_in)

    @property
    def effective(self) -> int:
        """How many chips the acting player can still lose."""
        return min(self.stacks[0], self.to_call + self.stacks[1])

    @property
    def _more(self) -> int:
        return max(self.last_raise, self.big_blind)


def amounts(sizes: BetSizes, situation: Situation) -> tuple[int, ...]:
    """The totals for the street to which the acting player may bet or raise, ascending.

    A size is rounded to the nearest chip (halves up), lifted to the least legal raise, made all-in
    where it takes more than the `all_in` share of the effective stack, and never exceeds all-in;
    equal totals are listed once. The result is empty where the cap is reached or nobody has chips
    to raise.
    """
    here = sizes.street(situation.street)
    cap = sizes.cap if here.cap is None else here.cap
    capped = cap is not None and situation.raises >= cap
    if capped or situation.stacks[0] <= situation.to_call or situation.stacks[1] == 0:
        return ()
    limit = situation.committed + _exact(sizes.all_in) * situation.effective
    totals: set[int] = set()
    for size in here.sizes(situation.raises):
        total = math.floor(_target(size, situation) / sizes.chip + Fraction(1, 2)) * sizes.chip
        if total < situation.least:
            total = math.ceil(Fraction(situation.least, sizes.chip)) * sizes.chip
        totals.add(situation.all_in if total > limit else total)
    return tuple(sorted(totals))


def _target(size: Size, situation: Situation) -> Fraction:
    """The total a size asks for, before any rounding."""
    match = situation.committed + situation.to_call
    amount = _exact(size.amount)
    if size.kind == "pot":
        return match + amount * (situation.pot + situation.to_call)
    if size.kind == "raise":
        return match * amount
    return amount if size.kind == "chips" else Fraction(situation.all_in)


def _exact(number: float) -> Fraction:
    """A number as it is written: 0.1 is one tenth, not the nearest binary fraction."""
    return Fraction(repr(float(number)))


def _digits(number: float) -> str:
    """The fewest digits that read back as this number, without an exponent."""
    return str(int(number)) if number == int(number) else f"{Decimal(repr(float(number))):f}"


def _join(sizes: Iterable[Size]) -> str:
    return " ".join(map(str, sizes)) or "none"


@dataclass
class _Parser:
    """Reads clause by clause; each token is (text, where it starts)."""

    text: str
    streets: str

    def read(self) -> BetSizes:
        tokens = [(match[0], match.start()) for match in _TOKEN.finditer(self.text)]
        named: dict[str, tuple[int, StreetSizes]] = {}
        options: dict[str, float] = {}
        clauses = _split(tokens, ";\n")
        if not any(clauses):
            raise SubgameError("The bet sizes are empty; write 'none' for no bets.")
        for clause in clauses:
            if any(token == ":" for token, _ in clause):
                self._street_clause(clause, named)
            elif clause and clause[0][0] in _OPTIONS:
                self._option(clause, options)
            elif clause:
                self._sizes_alone(clause, named)
        streets = {street: sizes for street, (_, sizes) in named.items()}
        cap, chip = options.get("cap"), options.get("chip", 1)
        return BetSizes(
            **streets,
            cap=None if cap is None else int(cap),
            all_in=options.get("all-in", 1.0),
            chip=int(chip),
        )

    def _street_clause(
        self, clause: list[tuple[str, int]], named: dict[str, tuple[int, StreetSizes]]
    ) -> None:
        names, *rest = _split(clause, ":")
        if len(rest) > 1:
            self._fail(
                [token for token in clause if token[0] == ":"][1], "a clause has only one colon"
            )
        if not names:
            self._fail(clause[0], "the name of a street must come before the colon")
        for token, at in names:
            if token not in _GROUPS:
                self._fail(
                    (token, at), f"there is no street '{token}' (streets: {', '.join(_GROUPS)})"
                )
        sizes = self._sizes(rest[0], clause[-1])
        for name in names:
            self._put(name[0], name, rest[0], sizes, named)

    def _sizes_alone(
        self, clause: list[tuple[str, int]], named: dict[str, tuple[int, StreetSizes]]
    ) -> None:
        """A clause without a colon: sizes for the default streets."""
        head = clause[0]
        if head[0] in _GROUPS:
            self._fail(head, "a colon must follow the name of a street")
        if head[0] not in ("a", "bet", "none", "/") and not _NUMBER.match(head[0]):
            clauses = "'river: 1x', 'cap 4', 'all-in 0.67' and 'chip 50'"
            self._fail(head, f"a size is {_FORMS}; other clauses look like {clauses}")
        self._put(self.streets, head, clause, self._sizes(clause, clause[-1]), named)

    def _put(
        self,
        group: str,
        token: tuple[str, int],
        tokens: list[tuple[str, int]],
        sizes: StreetSizes,
        named: dict[str, tuple[int, StreetSizes]],
    ) -> None:
        """Give a group of streets its sizes; a clause for fewer streets overrides one for more."""
        streets = _GROUPS[group]
        if streets != ("preflop",):
            self._no_multiple_of_nothing(tokens)
        for street in streets:
            width = named[street][0] if street in named else len(STREETS) + 1
            if width == len(streets):
                self._fail(token, f"the sizes of the {street} were already given")
            if width > len(streets):
                named[street] = len(streets), sizes

    def _sizes(self, tokens: list[tuple[str, int]], end: tuple[str, int]) -> StreetSizes:
        bets: tuple[Size, ...] | None = None
        raises: list[tuple[Size, ...]] = []
        cap: int | None = None
        for part in _split(tokens, "/"):
            if not part:
                self._fail(end, "sizes are missing; write 'none' for no bets")
            head, *rest = part
            raised = _RAISE.fullmatch(head[0])
            if head[0] == "cap":
                if cap is not None:
                    self._fail(head, "a cap was already given")
                cap = int(self._number(part, whole=True))
            elif raised:
                number = int(raised[1] or 1)
                if number <= len(raises):
                    order = "raise, raise2, raise3 and so on"
                    self._fail(head, f"raises must be in order, each once: {order}")
                if number > 100:
                    self._fail(head, "the number of this raise is too large")
                before = raises[-1] if raises else bets or ()
                raises += [before] * (number - 1 - len(raises))
                raises.append(self._list(rest, head))
            elif bets is not None or raises:
                self._fail(head, "bets come first and only once; raises start with 'raise'")
            else:
                bets = self._list(rest if head[0] == "bet" else part, head)
        return StreetSizes(bets or (), tuple(raises), cap)

    def _list(self, tokens: list[tuple[str, int]], head: tuple[str, int]) -> tuple[Size, ...]:
        if not tokens:
            self._fail(head, "sizes must follow here; write 'none' for no sizes")
        if [token for token, _ in tokens] == ["none"]:
            return ()
        sizes: list[Size] = []
        for token in tokens:
            try:
                size = Size.parse(token[0])
            except SubgameError as error:
                numeric = _NUMBER.fullmatch(token[0].rstrip("xr"))
                why = str(error).partition(": ")[2].rstrip(".") if numeric else ""
                self._fail(token, why or f"a size is {_FORMS}")
            if size in sizes:
                self._fail(token, "this size was already given")
            sizes.append(size)
        return tuple(sizes)

    def _no_multiple_of_nothing(self, tokens: list[tuple[str, int]]) -> None:
        for part in _split(tokens, "/"):
            if part and not _RAISE.fullmatch(part[0][0]):
                for token in part:
                    if token[0].endswith("r"):
                        why = "a multiple of the bet needs a bet before it; only preflop has one"
                        self._fail(token, why)

    def _option(self, clause: list[tuple[str, int]], options: dict[str, float]) -> None:
        name = clause[0][0]
        if name in options:
            self._fail(clause[0], f"'{name}' was already given")
        options[name] = value = self._number(clause, whole=name != "all-in")
        if name == "all-in" and not 0 < value <= 1:
            self._fail(clause[1], "the share of the stack must be above 0 and at most 1")
        if name == "chip" and value < 1:
            self._fail(clause[1], "the smallest chip must be at least 1")

    def _number(self, part: list[tuple[str, int]], *, whole: bool) -> float:
        pattern = r"\d{1,9}" if whole else _NUMBER
        if len(part) < 2 or not re.fullmatch(pattern, part[1][0]):
            kind = "a whole number" if whole else "a number"
            self._fail(part[1] if len(part) > 1 else part[0], f"{kind} must follow '{part[0][0]}'")
        if len(part) > 2:
            self._fail(part[2], f"'{part[0][0]}' takes one number")
        return float(part[1][0])

    def _fail(self, token: tuple[str, int], reason: str) -> NoReturn:
        raise fault("bet sizes", self.text, token[1], token[0], reason)


def _split(tokens: list[tuple[str, int]], marks: str) -> list[list[tuple[str, int]]]:
    """The tokens between the marks."""
    parts: list[list[tuple[str, int]]] = [[]]
    for token in tokens:
        if token[0] in marks:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
