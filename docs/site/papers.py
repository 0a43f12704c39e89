"""One page of results per paper: its tables and figures beside ours, from ``docs/results``.

``python docs/site/papers.py`` writes the pages; the build of the site makes them again.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from results import as_text

HERE = Path(__file__).parent
FOLDER = HERE.parent / "results"
PLAIN = "Maxmargin, plain (DCFR blueprint)"
UNSAFE = "Unsafe (expensive), CFR+ with 2,400 iterations"
"""The rows of Table 2 that come from other runs."""
CFR_PLUS = "brown2017-table2-cfr+-2400"


def papers() -> list[dict[str, Any]]:
    """What `papers.toml` says of each paper."""
    entries = tomllib.loads((HERE / "papers.toml").read_text(encoding="utf-8"))["paper"]
    return list(entries)


def load(key: str) -> dict[str, Any]:
    """The content of one result file."""
    content = json.loads((FOLDER / f"{key}.json").read_text(encoding="utf-8"))
    return dict(content)


def page(paper: dict[str, Any]) -> str:
    """The page of one paper."""
    lines = [f"# {paper['title']}", "", f"*{paper['full']}*", "", paper["about"], ""]
    for experiment in paper["experiment"]:
        lines += _experiment(experiment)
    return "\n".join(lines).rstrip() + "\n"


def _experiment(said: dict[str, Any]) -> list[str]:
    """A heading, the table in the paper's layout, the picture, why it differs, the command."""
    key = said["key"]
    content = load(key)
    lines = [f"## {said['title']}", "", said["why"], ""]
    if "more" in said:
        lines += [said["more"], ""]
    if said.get("layout") == "buckets":
        lines += _by_buckets(content["rows"])
    elif not said.get("short"):
        rows = content["rows"] + (_other_runs(content) if key == "brown2017-table2" else [])
        lines += _rows(rows)
    if (FOLDER / f"{key}.svg").exists() and not said.get("short"):
        lines += [f"![{said['title']}: the paper's figures and ours]({key}.svg)", ""]
    files = ", ".join(f"[{name}]({name}.json)" for name in (key, *said.get("also", ())))
    lines += [f"`{content['command']}`", "", f"Settings, machine and notes: {files}.", ""]
    return lines


def _rows(rows: list[dict[str, Any]]) -> list[str]:
    """The lines of a report, with the ratio of ours to the paper's where both are numbers."""
    lines = ["| | paper | ours | ratio | |", "| --- | ---: | ---: | ---: | --- |"]
    for row in rows:
        cells = [as_text(row[name]) for name in ("quantity", "paper", "ours")]
        cells += [ratio(row["paper"], row["ours"]), as_text(row["note"])]
        lines.append("| " + " | ".join(cell.strip() or " " for cell in cells) + " |")
    return [*lines, ""]


def ratio(paper: Any, ours: Any) -> str:
    """Ours as a multiple of the paper's figure.

    >>> ratio(2.0, 3.0), ratio(570.0, "+503.7 ± 103.5"), ratio(None, 1.0), ratio("yes", True)
    ('1.50', '0.88', '', '')
    """
    first, second = _number(paper), _number(ours)
    if first is None or second is None or first * second <= 0:
        return ""
    return f"{second / first:.2f}"


def _number(value: Any) -> float | None:
    if isinstance(value, str) and (match := re.match(r"[+-]?\d+(\.\d+)?(?= ±)", value)):
        return float(match[0])
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _by_buckets(rows: list[dict[str, Any]]) -> list[str]:
    """Techniques down and buckets across, as the paper prints it; then as shares."""
    table: dict[str, dict[str, tuple[float | None, float]]] = {}
    for row in rows:
        where, _, technique = row["quantity"].partition(": ")
        buckets = where.partition(", ")[2]
        if buckets != "exact":
            table.setdefault(technique, {})[buckets] = (row["paper"], row["ours"])
    columns = list(table["Blueprint"])
    heads = "".join(f" {name} buckets, paper | ours |" for name in columns)
    start = [f"| mbb/h |{heads}", "| --- |" + " ---: | ---: |" * len(columns)]
    shares = [f"| share of the blueprint |{heads}", start[1]]
    for technique, cells in table.items():
        name = as_text(technique)
        line, share = [name], [name]
        for column in columns:
            paper, ours = cells.get(column, (None, None))
            base = table["Blueprint"][column]
            line += [as_text(paper), as_text(ours)]
            share += [_share(paper, base[0]), _share(ours, base[1])]
        start.append("| " + " | ".join(line) + " |")
        if technique != "Blueprint":
            shares.append("| " + " | ".join(share) + " |")
    return [*start, "", *shares, ""]


def _share(value: float | None, whole: float | None) -> str:
    return "–" if value is None or whole is None else f"{value / whole:.3f}"


def _other_runs(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of Table 2 from other runs: Unsafe by the paper's CFR+, and Maxmargin's plain form."""
    [unsafe] = [row for row in load(CFR_PLUS)["rows"] if row["quantity"] == "Unsafe (expensive)"]
    value = content["data"]["cells"]["Value of the bet"]["mbb/h"]
    gross = load("brown2017-table2-dcfr")["data"]["mbb/h"]["Maxmargin"]
    note = f"an earlier run with 600 iterations: {gross:.4g}, less {value:.2g} for the bet"
    plain = {"quantity": PLAIN, "paper": 1.22, "ours": gross - value, "note": note}
    return [unsafe | {"quantity": UNSAFE}, plain]


if __name__ == "__main__":
    for paper in papers():
        (FOLDER / f"{paper['page']}.md").write_text(page(paper), encoding="utf-8")
