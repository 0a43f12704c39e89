"""A page of the documentation site for one file of ``docs/results``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from subgame.papers.report import figure

ABOUT = "command commit date seed seconds settings machine device torch python before after"
"""Fields that say how a file was made."""
WIDEST = 9
"""Columns of a table that also shows what is nested."""
LONGEST = 40
"""Lines of a list of numbers that is shown; the file has them all."""


def page_of(path: Path) -> str:
    """The page of one file: the paper's figures beside ours, the picture, the notes, the source."""
    result = json.loads(path.read_text(encoding="utf-8"))
    notes = result.pop("notes", [])
    notes += [result.pop("note")] if "note" in result else []
    about = {key: result.pop(key) for key in ABOUT.split() if key in result}
    result.pop("key", None)
    lines = [f"# {path.stem}", ""]
    for key in ("what", "paper", "columns"):
        if key in result:
            lines += [f"{_sentence(str(result.pop(key)))}", ""]
    if path.with_suffix(".svg").exists():
        lines += [f"![The figures of {path.stem}]({path.stem}.svg)", ""]
    if "data" in result:  # a reproduction: the rest are the numbers behind the picture
        result.pop("data")
    if "rows" in result:
        result["Figures"] = result.pop("rows")
    lines += _value(result, 2)
    if notes:
        lines += ["## Notes", "", *(f"- {as_text(note)}" for note in notes), ""]
    lines += ["## How it was made", "", *_value(about, 3), f"The file: [{path.name}]({path.name})."]
    return "\n".join(lines) + "\n"


def _value(value: Any, level: int) -> list[str]:
    """Any JSON value as Markdown: tables where it is a table, headings where it is nested."""
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return _table(value)
    if isinstance(value, dict) and value:
        plain = {k: v for k, v in value.items() if not _nested(v)}
        lines = _table([{"": k, "value": v} for k, v in plain.items()]) if plain else []
        rest = {k: v for k, v in value.items() if _nested(v)}
        if not plain and _alike(rest):
            return _table([{"": key, **row} for key, row in rest.items()])
        for key, inside in rest.items():
            lines += [f"{'#' * min(level, 6)} {as_text(key)}", "", *_value(inside, level + 1)]
        return lines
    return [as_text(value), ""] if value else []


def _nested(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(item, dict | list) for item in value)
    return isinstance(value, dict)


def _alike(rows: dict[str, Any]) -> bool:
    """Whether dictionaries have the same few keys, so that they are lines of one table."""
    lines = list(rows.values())
    return (
        len(lines) > 1
        and all(isinstance(row, dict) for row in lines)
        and len({tuple(row) for row in lines}) == 1
        and len(lines[0]) <= 8
        and not any(_nested(cell) for row in lines for cell in row.values())
    )


def _table(rows: list[dict[str, Any]]) -> list[str]:
    heads = list(dict.fromkeys(key for row in rows for key in row))
    if len(heads) > WIDEST:  # what is nested stays in the file
        heads = [head for head in heads if not any(isinstance(row.get(head), dict) for row in rows)]
    lines = ["| " + " | ".join(as_text(head) or " " for head in heads) + " |"]
    lines.append("| " + " | ".join("---" for _ in heads) + " |")
    for row in rows[:LONGEST]:
        lines.append("| " + " | ".join(as_text(row.get(head, "")) or " " for head in heads) + " |")
    if len(rows) > LONGEST:
        lines += ["", f"{len(rows) - LONGEST:,} more lines are in the file."]
    return [*lines, ""]


def as_text(value: Any) -> str:
    """A value as people read it, safe in a Markdown table."""
    if value is None:
        return "–"
    if isinstance(value, int | float):
        return figure(value)
    if isinstance(value, list):
        shown = ", ".join(as_text(item) for item in value[:LONGEST])
        return shown + (" …" if len(value) > LONGEST else "")
    if isinstance(value, dict):
        return ", ".join(f"{as_text(key)} {as_text(item)}" for key, item in value.items())
    out = str(value).replace("\n", " ")
    for sign in "\\`*_[]<>|#":
        out = out.replace(
            sign, f"\\{sign}" if sign not in "<>" else {"<": "&lt;", ">": "&gt;"}[sign]
        )
    return out


def _sentence(text: str) -> str:
    return f"{as_text(text[:1].upper() + text[1:]).rstrip('.')}."
