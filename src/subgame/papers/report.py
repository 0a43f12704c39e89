"""`Report`: what a reproduction found beside what the paper says, as text, picture and file."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VERSIONS = ("subgame", "numpy", "numba", "scipy")
COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")


def row(quantity: str, paper: Any, ours: Any, note: str = "") -> dict[str, Any]:
    """One line of a report: a quantity, the paper's figure (None: not given), ours, a remark."""
    return {"quantity": quantity, "paper": paper, "ours": ours, "note": note}


def panel(
    title: str, xlabel: str, ylabel: str, series: Sequence[dict[str, Any]], **options: Any
) -> dict[str, Any]:
    """A picture as data; each of `series` has a label, x and y, and perhaps low and high,
    a `line` and a `marker` (as Matplotlib calls them) and its `size`.

    `options`: `scale` ("linear", "log", or "semilog": logarithmic in x only), `lines` (levels to
    mark: label, y and perhaps the `side` of the label) and `names` (of the numbers x, which are
    then listed from top to bottom).
    """
    return {"title": title, "xlabel": xlabel, "ylabel": ylabel, "series": list(series), **options}


@dataclass(frozen=True)
class Report:
    """A reproduction: the paper's figures beside ours, and the series behind them."""

    key: str
    paper: str
    what: str
    rows: list[dict[str, Any]]
    """`row`s: quantity, paper, ours, note."""
    data: dict[str, Any]
    """JSON-able: ``"panels"`` are what `plot` draws, the rest is for further use."""
    command: str
    seed: int
    settings: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Why our figures differ from the paper's where they do."""
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """The fields that ``subgame reproduce --json`` prints."""
        return {**asdict(self), "notes": list(self.notes)}

    def table(self, width: int = 110) -> str:
        """The rows as text, and below them why they differ where they do."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        shown = Table(box=SIMPLE_HEAD, title=f"{self.key}: {self.what}", title_justify="left")
        for name, right in (("quantity", False), ("paper", True), ("ours", True), ("note", False)):
            shown.add_column(name, justify="right" if right else "left")
        for line in self.rows:
            shown.add_row(
                *(Text(figure(line[key])) for key in ("quantity", "paper", "ours")),
                Text(line["note"], style="dim"),
            )
        console = Console(width=width, color_system=None)
        with console.capture() as text:
            console.print(Text(self.paper, style="italic"))
            console.print(shown)
            for note in self.notes:
                console.print(Text(f"* {note}"))
            done = ", ".join(f"{key} {figure(value)}" for key, value in self.settings.items())
            console.print(Text(f"Settings: {done}. Took {self.seconds:.3g} s."))
        return text.get()

    def plot(self, path: str | Path) -> list[Path]:
        """Draw the panels to a file; to a .png and a .svg where `path` has no ending."""
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        panels = self.data["panels"]
        lines = max(len(shown.get("names", ())) for shown in panels)
        size = (6.8 * len(panels), max(4.6, 1.2 + 0.23 * lines))
        made = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(made)
        axes = made.subplots(1, len(panels), squeeze=False)[0]
        for ax, shown in zip(axes, panels, strict=True):
            _draw(ax, shown)
        made.suptitle(self.paper, fontsize="small", wrap=True)
        path = Path(path)
        files = [path] if path.suffix else [Path(f"{path}.png"), Path(f"{path}.svg")]
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": self.key}):
            for file in files:
                made.savefig(file, dpi=100)
        return files

    def save(self, folder: str | Path) -> list[Path]:
        """Write ``<key>.json`` with where it comes from, and the picture as .png and .svg."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self.key}.json"
        found = {
            **self.as_dict(),
            "commit": commit(),
            "machine": machine(),
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        }
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return [file, *self.plot(folder / self.key)]

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """Read what `save` wrote, to show or draw it again."""
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        kept = {entry.name: found[entry.name] for entry in fields(cls)}
        return cls(**{**kept, "notes": tuple(kept["notes"])})


def figure(value: Any) -> str:
    """A figure as people read it.

    >>> figure(-0.25), figure(3e-17), figure(None), figure(6400000), figure([1, 2])
    ('-0.25', '0', '-', '6,400,000', '1, 2')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "0" if abs(value) < 1e-13 else f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(figure(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {figure(item)}" for key, item in value.items())
    return str(value)


def _draw(ax: Axes, shown: dict[str, Any]) -> None:
    """One panel."""
    scale = shown.get("scale", "linear")
    for colour, line in zip(COLOURS * 4, shown["series"], strict=False):
        style = {
            "marker": line.get("marker", "o"),
            "markersize": line.get("size", 4),
            "linestyle": line.get("line", "-"),
            "color": colour,
            "label": line["label"],
        }
        ax.plot(*(line[axis] for axis in ("yx" if "names" in shown else "xy")), **style)
        if "low" in line:
            ax.fill_between(line["x"], line["low"], line["high"], color=colour, alpha=0.15, lw=0)
    for mark in shown.get("lines", ()):
        ax.axhline(mark["y"], color="black", linestyle=":", linewidth=1)
        side = mark.get("side", "right")
        ax.annotate(
            mark["label"],
            (float(side == "right"), mark["y"]),
            ha=side,
            va="bottom",
            xycoords=("axes fraction", "data"),
            fontsize="small",
            bbox={"color": "white", "alpha": 0.6, "lw": 0, "pad": 1},
        )
    if scale in ("log", "semilog"):
        ax.set_xscale("log")
    if scale == "log":
        ax.set_yscale("log")
    if "names" in shown:
        ax.set_yticks(range(len(shown["names"])), shown["names"], fontsize="small")
        ax.invert_yaxis()
        ax.margins(x=0.2)
    ax.set(title=shown["title"], xlabel=shown["xlabel"], ylabel=shown["ylabel"])
    ax.grid(visible=True, alpha=0.3)
    made = ax.legend(fontsize="small")
    if "names" in shown and len(shown["series"]) > 6:  # too many to stand on the points
        made.set_loc("upper left")
        made.set_bbox_to_anchor((1, 1))


def commit() -> str:
    """The commit of the checkout in the working folder, or "unknown"."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return found.stdout.strip() or "unknown"


def machine(versions: Sequence[str] = VERSIONS) -> dict[str, str]:
    """Where the figures come from: the system, its processors and the versions."""
    found = {
        "platform": platform.platform(),
        "processor": _processor(),
        "cpus": str(os.cpu_count() or 0),
        "python": platform.python_version(),
    }
    for name in versions:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
