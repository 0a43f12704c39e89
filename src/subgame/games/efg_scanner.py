"""The tokens of a Gambit file (`.efg`)."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from subgame.errors import SubgameError

_TOKEN = re.compile(
    r'\s*(?:(?P<quoted>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<mark>[{},])|(?P<word>[^\s{},"]+)|(?P<end>\Z))',
    re.DOTALL,
)
_INTEGER = re.compile(r"[0-9]{1,18}")
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,400}/[0-9]{1,400}|"
    r"(?:[0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,3})?)"
)
_LARGEST = Fraction(10) ** 300  # so that no sum of payoffs overflows a float
_fraction = lru_cache(maxsize=4096)(Fraction)  # files restate the same few numbers


class Token(NamedTuple):
    kind: str  # "quoted", "mark", "word" or "end"
    text: str  # without quotes and escapes
    start: int


def wrong(name: str, text: str, start: int, expected: str, instead: object) -> SubgameError:
    """An error that names a place in a text by line and column."""
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return SubgameError(
        f"{name}, line {line}, column {column}: expected {expected}, found {instead}."
    )


class Scanner:
    """The tokens of a text, with one token of lookahead, and errors with line and column."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._position = 0
        self.token = self._read()

    def _read(self) -> Token:
        match = _TOKEN.match(self._text, self._position)
        if match is None or match.lastgroup is None:
            start = self._text.index('"', self._position)
            raise self.wrong(start, "a closing quote", "the end of the file")
        self._position = match.end()
        kind = match.lastgroup
        text = match[kind]
        if kind == "quoted":
            text = text[1:-1]
            if "\\" in text:
                text = re.sub(r'\\(["\\])', r"\1", text)
        return Token(kind, text, match.start(kind))

    def wrong(self, start: int, expected: str, instead: object) -> SubgameError:
        return wrong(self._name, self._text, start, expected, instead)

    def expected(self, what: str, token: Token | None = None) -> SubgameError:
        token = token or self.token
        shown = " ".join(token.text[:31].split())  # a message is one line
        shown = shown if len(token.text) <= 30 else shown[:30] + "..."
        instead = {"end": "the end of the file", "quoted": f'"{shown}"'}.get(
            token.kind, f"'{shown}'"
        )
        return self.wrong(token.start, what, instead)

    def next(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.token = self._read()
        return token

    def is_mark(self, mark: str) -> bool:
        return self.token.kind == "mark" and self.token.text == mark

    def quoted(self, what: str) -> str:
        if self.token.kind != "quoted":
            raise self.expected(what)
        return self.next().text

    def optional(self) -> str:
        return self.next().text if self.token.kind == "quoted" else ""

    def integer(self, what: str) -> int:
        if self.token.kind != "word" or not _INTEGER.fullmatch(self.token.text):
            raise self.expected(what)
        return int(self.next().text)

    def number(self, token: Token, what: str) -> Fraction:
        if token.kind == "word" and _NUMBER.fullmatch(token.text):
            try:
                value = _fraction(token.text)
            except ZeroDivisionError:
                raise self.expected("a denominator other than zero", token) from None
            if abs(value) > _LARGEST:
                raise self.expected("a number below 1e300", token)
            return value
        raise self.expected(what, token)

    def braces(self, what: str) -> list[Token]:
        """The items between braces, without commas."""
        if not self.is_mark("{"):
            raise self.expected(what)
        self.next()
        items = []
        while not self.is_mark("}"):
            if self.token.kind == "end" or self.is_mark("{"):
                raise self.expected("'}' at the end of the list")
            token = self.next()
            if token.kind != "mark":
                items.append(token)
        self.next()
        return items
