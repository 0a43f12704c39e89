"""How time grows with size, drawn: ``python benchmarks/gpu_check/growth.py FILE``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 20
"""Bytes per action and hand: regrets read twice and written once, averages read and written."""


def draw(result: dict[str, Any]) -> Figure:
    """The part `growth` of what the check measured, beside the bandwidth it measured."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.6), layout="constrained")
    axes = figure.subplots()
    (points,) = (rows for rows in result["growth"].values() if isinstance(rows, list))
    kinds = {"flops side by side": True, "turn and flop endgames": False}
    for (label, flops), marker in zip(kinds.items(), "oD", strict=True):
        some = [row for row in points if row[0].startswith("flops") == flops]
        axes.plot([row[3] for row in some], [row[4] for row in some], marker, label=label)
    cells = [row[3] for row in points]
    speed = result["copy bandwidth, GB/s"] * 1e9
    for factor, style in ((1.0, "-"), (4.0, ":")):
        name = "least bytes at copy bandwidth" if factor == 1 else "four times that"
        line = [LEAST * many / speed * 1e3 * factor for many in (min(cells), max(cells))]
        axes.plot((min(cells), max(cells)), line, style, color="0.4", label=name)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="boards × actions × hands",
        ylabel="ms per iteration of DCFR",
        title=result["device"],
    )
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def main() -> None:
    """What ``python benchmarks/gpu_check/growth.py`` does."""
    parser = argparse.ArgumentParser(prog="python benchmarks/gpu_check/growth.py")
    parser.add_argument("file", type=Path, help="what gpu_check --out wrote")
    asked = parser.parse_args()
    figure = draw(json.loads(asked.file.read_text()))
    for kind in ("png", "svg"):
        figure.savefig(asked.file.with_name(f"{asked.file.stem}-growth.{kind}"), dpi=150)


if __name__ == "__main__":
    main()
