"""Errors that point at the part of a text that is wrong."""

from __future__ import annotations

from subgame.errors import TextError


def fault(what: str, text: str, start: int, token: str, reason: str) -> TextError:
    """An error in a text the user wrote: a sentence, then the text with the token underlined.

    >>> print(fault("board", "Qs Jx", 3, "Jx", "there is no suit 'x'"))
    In the board 'Qs Jx', at 'Jx' (character 4): there is no suit 'x'.
      Qs Jx
         ^^
    """
    line_start = text.rfind("\n", 0, start) + 1
    line = text[line_start:].split("\n", 1)[0]
    before = "".join("\t" if char == "\t" else " " for char in text[line_start:start])
    shown = text if len(text) <= 60 and "\n" not in text else f"{line[:57]}..."
    where = f"at '{token}' (character {start + 1})" if token else "at its end"
    carets = "^" * max(1, len(token))
    return TextError(
        f"In the {what} '{shown}', {where}: {reason}.", f"  {line}\n  {before}{carets}"
    )
