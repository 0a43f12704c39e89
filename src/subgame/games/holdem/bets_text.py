"""The grammar of bet sizes, which `BetSizes` documents: from text to the fields of a `BetSizes`."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NoReturn

from subgame.errors import SubgameError, fault
from subgame.games.holdem.sizes import (
    FORMS,
    NUMBER,
    OPTIONS,
    STREETS,
    Size,
    StreetSizes,
    moves,
    share,
)

Token = tuple[str, int]
"""A piece of the text, and where it starts."""
Place = tuple[int, str]
"""A player and a street."""

GROUPS = {"all": STREETS, "postflop": STREETS[1:], **{street: (street,) for street in STREETS}}
PLAYERS = {"oop": 0, "ip": 1}
_ONCE = {"cap": "a cap was", "donk": "donk bets were"}
_LINES = ("add", "remove")
MOST = 200
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
            if len(sizes) == MOST:
                self._fail(token, f"a list has at most {MOST} sizes")
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
        if len(self.lines[head[0]]) == MOST:
            self._fail(head, f"at most {MOST} lines can be added, and as many removed")
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
