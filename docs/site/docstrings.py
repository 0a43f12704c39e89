"""A Griffe extension: docstrings of the package as Markdown.

Doctests become blocks of code, and axes such as ``[leaf][hand]`` are not taken for links.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(```.*?```|^    .*?$|``[^`]+``|`[^`]+`)", re.MULTILINE | re.DOTALL)


def as_markdown(text: str) -> str:
    """The text of a docstring as Markdown."""
    parts = CODE.split(DOCTEST.sub(lambda example: f"```pycon\n{example[0]}\n```", text))
    parts[::2] = [part.replace("][", "]\\[").replace("*", "\\*") for part in parts[::2]]
    return "".join(parts)


class AsMarkdown(griffe.Extension):
    """Rewrites every docstring."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
