"""Bet sizes of a betting tree: `BetSizes` documents the grammar, `rules.amounts` gives chips."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NoReturn

from subgame.errors import SubgameError, fault
from subgame.games.holdem.sizes import (
    FORMS,
    NUMBER,
    OPTIONS,
    STREETS,
    Size,
    StreetSizes,
    digits,
    moves,
    share,
    street_number,
)

Token = tuple[str, int]
"""A piece of the text, and where it starts."""
Place = tuple[int, str]
"""A player and a street."""

GROUPS = {"all": STREETS, "postflop": STREETS[1:], **{street: (street,) for street in STREETS}}
PLAYERS = {"oop": 0, "ip": 1}
_ONCE = {"cap": "a cap was", "donk": "donk bets were"}
_LINES = ("add", "remove")
MOST_SIZES = 200
"""Sizes of the longest list, and lines that are added or removed."""
_TOKEN = re.compile(r"[;:/\n]|[^\s,;:/]+")
_RAISE = re.compile(r"raise(\d{0,9})")
_EXAMPLES = "'river: 1x', 'oop turn: 50% / donk 33%', 'cap 4', 'all-in 0.67' and 'chip 50'"


@dataclass
class Parser:
    """Reads clause by clause."""

    text: str
    streets: str  # that sizes without a street apply to
    named: dict[Place, tuple[int, StreetSizes]] = field(default_factory=dict)
    """The sizes of each place, and for how many places they were given."""
    options: dict[str, Any] = field(default_factory=dict)
    """The fields of `BetSizes` that are numbers, by their names in the text."""
    lines: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def read(self) -> dict[str, Any]:
        """The fields of the `BetSizes` that the text describes."""
        tokens = [(match[0], match.start()) for match in _TOKEN.finditer(self.text)]
        clauses = _split(tokens, ";\n")
        if not any(clauses):
            raise SubgameError("The bet sizes are empty; write 'none' for no bets.")
        for clause in filter(None, clauses):
            head = clause[0][0]
            colon = any(token == ":" for token, _ in clause)
            if head in OPTIONS and not colon:
                self._option(clause)
            elif head in _LINES and not colon:
                self._line(clause)
            else:
                self._clause(clause)
        oop, ip = (
            tuple(self.named.get((p, street), (0, StreetSizes()))[1] for street in STREETS)
            for p in (0, 1)
        )
        fields: dict[str, Any] = dict(zip(STREETS, oop, strict=True))
        fields |= {name.replace("-", "_"): value for name, value in self.options.items()}
        added, removed = (tuple(self.lines[name]) for name in _LINES)
        return fields | {"ip": None if oop == ip else ip, "added": added, "removed": removed}

    def _clause(self, clause: list[Token]) -> None:
        """Sizes, after the streets and players they are for; a clause for fewer overrides."""
        names, *rest = _split(clause, ":")
        if len(rest) > 1:
            second = [token for token in clause if token[0] == ":"][1]
            self._fail(second, "a clause has only one colon")
        if not rest:
            self._check_begins_with_size(clause)
            names, rest = [], [clause]
        elif not names:
            self._fail(clause[0], "the name of a street must come before the colon")
        for name in names:
            if name[0] not in GROUPS and name[0] not in PLAYERS:
                known = ", ".join((*GROUPS, *PLAYERS))
                self._fail(name, f"there is no street '{name[0]}' (streets and players: {known})")
        tokens, sizes = rest[0], self._sizes(rest[0], clause[-1])
        groups = [(name[0], name) for name in names if name[0] in GROUPS]
        players = sorted({PLAYERS[name] for name, _ in names if name in PLAYERS}) or [0, 1]
        if players == [1] and sizes.donks is not None:
            donk = next(token for token in tokens if token[0] == "donk")
            self._fail(donk, "only the player out of position can make a donk bet")
        for group, shown in groups or [(self.streets, clause[0])]:
            if group != "preflop":
                self._no_multiple_of_nothing(tokens)
            places = [(p, street) for p in players for street in GROUPS[group]]
            for place in places:
                width = self.named[place][0] if place in self.named else 2 * len(STREETS) + 1
                if width == len(places):
                    self._fail(shown, f"the sizes of the {place[1]} were already given")
                if width > len(places):
                    self.named[place] = len(places), sizes

    def _check_begins_with_size(self, clause: list[Token]) -> None:
        """Raise an error unless a clause without streets and players can be sizes."""
        head = clause[0]
        if head[0] in GROUPS or head[0] in PLAYERS:
            what = "a street" if head[0] in GROUPS else "a player"
            self._fail(head, f"a colon must follow the name of {what}")
        known = ("a", "e", "bet", "none", "/")
        if head[0] not in known and not NUMBER.match(head[0]):
            self._fail(head, f"a size is {FORMS}; other clauses look like {_EXAMPLES}")

    def _sizes(self, tokens: list[Token], end: Token) -> StreetSizes:
        sizes: dict[str, Any] = {}
        raises: list[tuple[Size, ...]] = []
        for part in _split(tokens, "/"):
            if not part:
                self._fail(end, "sizes are missing; write 'none' for no bets")
            head, *rest = part
            raised = _RAISE.fullmatch(head[0])
            if head[0] in _ONCE:
                if head[0] in sizes:
                    self._fail(head, f"{_ONCE[head[0]]} already given")
                cap = head[0] == "cap"
                sizes[head[0]] = self._number(part) if cap else self._list(rest, head)
            elif raised:
                number = int(raised[1] or 1)
                if number <= len(raises):
                    order = "raise, raise2, raise3 and so on"
                    self._fail(head, f"raises must be in order, each once: {order}")
                if number > 100:
                    self._fail(head, "the number of this raise is too large")
                before = raises[-1] if raises else sizes.get("bets", ())
                raises += [before] * (number - 1 - len(raises))
                raises.append(self._list(rest, head))
            elif raises or {"bets", "donk"} & sizes.keys():
                self._fail(head, "bets come first and only once; raises start with 'raise'")
            else:
                sizes["bets"] = self._list(rest if head[0] == "bet" else part, head)
        return StreetSizes(
            sizes.get("bets", ()), tuple(raises), sizes.get("cap"), sizes.get("donk")
        )

    def _list(self, tokens: list[Token], head: Token) -> tuple[Size, ...]:
        if not tokens:
            self._fail(head, "sizes must follow here; write 'none' for no sizes")
        if [token for token, _ in tokens] == ["none"]:
            return ()
        sizes: list[Size] = []
        for token in tokens:
            try:
                size = Size.parse(token[0])
            except SubgameError as error:
                numeric = NUMBER.fullmatch(token[0].rstrip("xr%"))
                why = str(error).partition(": ")[2].rstrip(".") if numeric else ""
                self._fail(token, why or f"a size is {FORMS}")
            if len(sizes) == MOST_SIZES:
                self._fail(token, f"a list has at most {MOST_SIZES} sizes")
            if size in sizes:
                self._fail(token, "this size was already given")
            sizes.append(size)
        return tuple(sizes)

    def _no_multiple_of_nothing(self, tokens: list[Token]) -> None:
        for part in _split(tokens, "/"):
            wrong = [token for token in part if token[0].endswith("r")]
            if wrong and not _RAISE.fullmatch(part[0][0]):
                why = "a multiple of the bet needs a bet before it; only preflop has one"
                self._fail(wrong[0], why)

    def _line(self, clause: list[Token]) -> None:
        """``add c r50 r150`` or ``remove c r50``."""
        head, *rest = clause
        text = "".join(token for token, _ in rest)
        if moves(text) is None:
            bad = next((t for t in rest if t[0] != "/" and moves(t[0]) is None), head)
            actions = "f, c and r with a total, as in c r50 c / r120"
            self._fail(bad, f"a line must follow '{head[0]}', of the actions {actions}")
        if len(self.lines[head[0]]) == MOST_SIZES:
            self._fail(head, f"at most {MOST_SIZES} lines can be added, and as many removed")
        self.lines[head[0]].append(text)

    def _option(self, clause: list[Token]) -> None:
        name = clause[0][0]
        if name in self.options:
            self._fail(clause[0], f"'{name}' was already given")
        self.options[name] = value = self._number(clause)
        if name == "all-in" and not 0 < value <= 1:
            self._fail(clause[1], "the share of the stack must be above 0 and at most 1")
        if name == "chip" and value <= 0:
            self._fail(clause[1], "the smallest chip must be above 0")

    def _number(self, part: list[Token]) -> Any:
        name, whole = part[0][0], part[0][0] == "cap"
        text = part[1][0] if len(part) > 1 else ""
        plain = text if name in ("cap", "chip") else text.removesuffix("%")
        if not re.fullmatch(r"\d{1,9}" if whole else NUMBER, plain):
            kind = "a whole number" if whole else "a number"
            self._fail(part[:2][-1], f"{kind} must follow '{name}'")
        if len(part) > 2:
            self._fail(part[2], f"'{name}' takes one number")
        return int(text) if whole else share(text)

    def _fail(self, token: Token, reason: str) -> NoReturn:
        raise fault("bet sizes", self.text, token[1], token[0], reason)


def _split(tokens: list[Token], marks: str) -> list[list[Token]]:
    """The tokens between the marks."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token[0] in marks:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


USUAL = (25, 30, 33, 40, 50, 60, 66, 67, 70, 75, 80, 100, 120, 125, 133, 150, 200)
"""Bare numbers that are likely meant as percentages of the pot."""


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
    | ``turn: 50% / donk 33%`` | donk bets of a third of the pot; ``donk none`` for no donk bets |
    | ``oop turn: 33%; ip turn: 1x`` | the two players' sizes, out of and in position |
    | ``0.5x 1x a`` | all streets at once, or the `streets` given to `parse` |
    | ``cap 4`` | at most four on each street that has no cap of its own |
    | ``all-in 67%`` | a size that takes more than 67 % of the stack becomes all-in |
    | ``force-all-in 15%`` | so does a size that leaves at most 15 % of the pot, once called |
    | ``add-all-in 1.5`` | all-in is added where it is at most 1.5 times the pot |
    | ``merge 10%`` | of sizes that are near each other the largest alone is kept |
    | ``chip 50`` | totals are multiples of 50 chips (except all-in) |
    | ``add c r50 r150`` | one line, whatever the sizes say; then the sizes hold again |
    | ``remove c r50`` | without the last action of this line, and all that follows it |

    A clause names streets (preflop, flop, turn, river, postflop for the last three, or all),
    players (oop, ip) or both. A clause for fewer streets and players overrides one for more. A
    street that no clause names has no bets. `Size` says what a size means. The first aggressive
    action of a street is the bet, also before the flop, where it raises the blind:
    ``preflop: 2.5r`` opens to 2.5 big blinds.

    ``merge`` goes from the largest size down, as PioSOLVER does: a size of Y times the pot is left
    out next to a larger one of X if (1 + X) / (1 + Y) is below one plus the threshold.

    >>> sizes = BetSizes.parse("flop: 0.5x 1x a; turn: 1x a / raise 2.5r; cap 3")
    >>> print(sizes)
    flop: 0.5x 1x a; turn: 1x a / raise 2.5r; cap 3
    >>> from subgame.games.holdem.rules import NoLimit
    >>> NoLimit((900, 900), (5, 10), "flop", pot=100).start().actions(sizes)
    ('c', 'r50', 'r100', 'r900')
    >>> print(BetSizes.parse("33% / raise 3r; oop turn: 1x / donk 25%", "postflop"))
    flop: 0.33x / raise 3r; oop turn: 1x / donk 0.25x; ip turn: 0.33x / raise 3r; river: 0.33x /
    raise 3r
    >>> BetSizes.parse("flop: 0.5x; turn: half")
    Traceback (most recent call last):
    subgame.errors.TextError: In the bet sizes 'flop: 0.5x; turn: half', at 'half' (character 19):
    a size is a share of the pot (0.5x or 50%), a multiple of the bet (2.5r), chips (250), a
    geometric size (e or 2e), all-in (a) or none.
      flop: 0.5x; turn: half
                        ^^^^
    """

    preflop: StreetSizes = field(default_factory=StreetSizes)
    flop: StreetSizes = field(default_factory=StreetSizes)
    turn: StreetSizes = field(default_factory=StreetSizes)
    river: StreetSizes = field(default_factory=StreetSizes)
    cap: int | None = None
    all_in: float = 1.0
    chip: float | None = None  # None: the unit of the rules, a whole chip or its decimals
    ip: tuple[StreetSizes, ...] | None = None  # of the player in position, where they differ
    force_all_in: float = 0.0
    add_all_in: float = 0.0
    merge: float = 0.0
    added: tuple[str, ...] = ()  # lines such as cr50r150
    removed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.cap is not None and self.cap < 0:
            raise SubgameError(f"The cap on bets and raises must be at least 0, not {self.cap}.")
        if not 0 < self.all_in <= 1:
            raise SubgameError(
                f"The share of the stack that becomes all-in must be above 0 and at most 1, "
                f"not {self.all_in}."
            )
        if not min(self.force_all_in, self.add_all_in, self.merge) >= 0:
            raise SubgameError("The thresholds of bet sizes must be at least 0.")
        if self.chip is not None and not 0 < self.chip < math.inf:
            raise SubgameError(f"The smallest chip must be above 0, not {self.chip}.")
        if self.ip is not None and len(self.ip) != len(STREETS):
            raise SubgameError("The sizes of the player in position must be those of four streets.")
        for street in STREETS[1:]:
            both = [self.street(street, p) for p in (0, 1)]
            if any(size.kind == "raise" for street in both for size in street.bets):
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
        return cls(**Parser(text, streets).read())

    def street(self, name: str, player: int = 0) -> StreetSizes:
        """The sizes of one street, for the player out of position (0) or in position (1)."""
        own = (self.preflop, self.flop, self.turn, self.river)
        return (self.ip if player == 1 and self.ip is not None else own)[street_number(name)]

    def since(self, street: str) -> BetSizes:
        """The sizes from a street on; there are none before it."""
        first = STREETS.index(street)
        none = StreetSizes()
        mine = [self.street(name) if s >= first else none for s, name in enumerate(STREETS)]
        yours = self.ip and (*[none] * first, *self.ip[first:])
        preflop, flop, turn, river = mine
        return replace(self, preflop=preflop, flop=flop, turn=turn, river=river, ip=yours)

    def amended(self, history: Iterable[str], actions: tuple[str, ...]) -> tuple[str, ...]:
        """The actions after a history with those of the lines added and removed one by one."""
        if not self.added and not self.removed:
            return actions
        past = tuple(action for action in history if action != "/")
        more = _next_moves(self.added, True).get(past, ())
        fewer = _next_moves(self.removed, False).get(past, ())
        kept = [action for action in {*actions, *more} if action not in fewer]
        return tuple(sorted(kept, key=lambda a: ("fcr".index(a[0]), Fraction(a[1:] or 0))))

    def hint(self, pot: float) -> str | None:
        """A sentence on sizes in chips that look like percentages of the pot."""
        lists = [self.street(street, p) for street in STREETS[1:] for p in (0, 1)]
        for sizes in lists:
            for size in (
                *sizes.bets,
                *(sizes.donks or ()),
                *(s for row in sizes.raises for s in row),
            ):
                if size.kind == "chips" and size.amount in USUAL and pot != 100:
                    bare = digits(size.amount)
                    return (
                        f"The bet size {bare} means {bare} chips, {100 * size.amount / pot:.3g} % "
                        f"of the pot; write {bare}% for a share of the pot."
                    )
        return None

    def __str__(self) -> str:
        """The text that `parse` reads back as these sizes."""
        clauses: list[str] = []
        for street in STREETS:
            mine, yours = self.street(street), self.street(street, 1)
            if mine == yours and mine != StreetSizes():
                clauses.append(f"{street}: {mine}")
            elif mine != yours:
                clauses += [f"oop {street}: {mine}", f"ip {street}: {yours}"]
        for name in OPTIONS:
            value = getattr(self, name.replace("-", "_"))
            if value != getattr(NOTHING, name.replace("-", "_")):
                clauses.append(f"{name} {digits(value)}")
        clauses += [f"add {line}" for line in self.added]
        clauses += [f"remove {line}" for line in self.removed]
        return "; ".join(clauses) or "all: none"


NOTHING = BetSizes()


@lru_cache(maxsize=64)
def _next_moves(lines: tuple[str, ...], whole: bool) -> dict[tuple[str, ...], tuple[str, ...]]:
    """History -> the actions that lines take after it: everywhere, or where each line ends."""
    result: dict[tuple[str, ...], tuple[str, ...]] = {}
    for line in lines:
        steps = moves(line) or ()
        for k in range(0 if whole else max(0, len(steps) - 1), len(steps)):
            result[steps[:k]] = (*result.get(steps[:k], ()), steps[k])
    return result
