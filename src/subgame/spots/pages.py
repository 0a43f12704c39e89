"""A report as one HTML file: a sortable table and plots, with nothing to load from elsewhere."""

from __future__ import annotations

import html
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from subgame.spots.tables import Table
from subgame.tree.files import replacing


def page(table: Table, mean: dict[str, Any], title: str, subtitle: str = "") -> str:
    """The text of the file; the first column of the table has the cards.

    >>> text = page(Table([{"flop": "AhKd2c", "ev": 1.5}]), {"ev": 1.5}, "A & B")
    >>> "<title>A &amp; B</title>" in text, '"ev": 1.5' in text
    (True, True)
    """
    made = (files("subgame") / "data" / "report.html").read_text(encoding="utf-8")
    data = {
        "DATA": table.to_json(),
        "MEAN": Table([mean]).to_json()[1:-1],
        "COLUMNS": json.dumps(table.columns),
    }
    for name, text in data.items():
        made = made.replace(f"= {name}", "= " + text.replace("</", "<\\/"), 1)
    return made.replace("SUBTITLE", html.escape(subtitle)).replace("TITLE", html.escape(title))


def save_page(path: str | Path, *parts: Any) -> None:
    """Write `page` to a file."""
    with replacing(path) as new:
        new.write_text(page(*parts), encoding="utf-8")
