"""`Report`: what a reproduction found beside what the paper says, as text, picture and file.

And what reproductions share: the command that repeats one, where it runs, and its unit.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from subgame.errors import SubgameError, brief
from subgame.show.html import block, data_frame, table, text
from subgame.tree.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

Record = dict[str, Any]
"""Results by name, as JSON has them: a row, a cell, a picture."""
Progress = Callable[[str, float], None]
"""Called with the current step and the share of the work done (0 to 1)."""
VERSIONS = ("subgame", "numpy", "numba", "scipy")
COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")

INSIDE = 6
"""The most entries of a legend that is drawn inside the axes."""


def row(quantity: str, paper: object, ours: object, note: str = "") -> dict[str, object]:
    """One line of a report: a quantity, the paper's figure (None: not given), ours, a remark."""
    return {"quantity": quantity, "paper": paper, "ours": ours, "note": note}


def compared(rows: Sequence[Record]) -> tuple[list[Record], float]:
    """The rows in which the paper gives a number, and the largest difference of ours."""
    both = [line for line in rows if isinstance(line["paper"], float | int)]
    return both, max(abs(line["paper"] - line["ours"]) for line in both)


def series(label: str, values: Mapping[Any, object], **style: object) -> dict[str, object]:
    """A line of a picture as data, its y by x. `style` may have the lines `low` and `high`, and
    a `line` and a `marker` (as Matplotlib calls them) and its `size`.
    """
    return {"label": label, "x": list(values), "y": list(values.values()), **style}


def marks(
    label: str,
    values: Sequence[Any],
    marker: str = "o",
    size: int = 7,
    spread: Sequence[float | None] | None = None,
) -> dict[str, object]:
    """A mark for each of a panel's `names`, with an interval of so much on either side."""
    result = series(label, dict(enumerate(values)), line="", marker=marker, size=size)
    if spread is None:
        return result
    both = [(value, margin or 0.0) for value, margin in zip(values, spread, strict=True)]
    return {**result, "low": [v - e for v, e in both], "high": [v + e for v, e in both]}


def panel(
    title: str, xlabel: str, ylabel: str, curves: Sequence[Record], **options: Any
) -> dict[str, object]:
    """A picture as data, of `series` and `marks`.

    `options`: `scale` ("linear", "log", or "semilog": logarithmic in x only), `lines` (levels to
    mark: label and y) and `names` (of the numbers x, which are
    then listed from top to bottom).
    """
    return {"title": title, "xlabel": xlabel, "ylabel": ylabel, "series": list(curves), **options}


def notes_of(module: ModuleType) -> tuple[str, ...]:
    """The notes on an experiment: the list after "Notes:" in its module's docstring.

    Python leaves docstrings out with the option ``-OO``, and reports have no notes then.
    """
    listed = (module.__doc__ or "").partition("\nNotes:\n")[2].split("\n* ")[1:]
    return tuple(" ".join(note.split()) for note in listed)


class Found(NamedTuple):
    """What the `run` of an experiment returns; the rest of a `Report` is the same for all."""

    rows: list[Record]
    data: Record
    settings: Record


@dataclass(frozen=True)
class Report:
    """A reproduction: the paper's figures beside ours, and the series behind them."""

    __repr__ = brief

    key: str
    paper: str
    what: str
    rows: list[Record]
    """`row`s: quantity, paper, ours, note."""
    data: Record
    """JSON-able: ``"panels"`` are what `plot` draws, the rest is for further use."""
    command: str
    seed: int
    settings: Record = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Why our figures differ from the paper's where they do."""
    seconds: float = 0.0

    def as_dict(self) -> dict[str, object]:
        """The fields that ``subgame reproduce --json`` prints."""
        return {**asdict(self), "notes": list(self.notes)}

    def text(self, width: int = 110) -> str:
        """The rows as text, and below them why they differ where they do."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        shown = Table(box=SIMPLE_HEAD, title=f"{self.key}: {self.what}", title_justify="left")
        for name in ("quantity", "paper", "ours", "note"):
            shown.add_column(name, justify="right" if name in ("paper", "ours") else "left")
        for line in self.rows:
            cells = (Text(figure(line[key])) for key in ("quantity", "paper", "ours"))
            shown.add_row(*cells, Text(line["note"], style="dim"))
        console = Console(width=width, color_system=None)
        with console.capture() as text:
            console.print(Text(self.paper, style="italic"))
            console.print(shown)
            for note in self.notes:
                console.print(Text(f"* {note}"))
            done = ", ".join(f"{key} {figure(value)}" for key, value in self.settings.items())
            console.print(Text(f"Settings: {done}. Took {self.seconds:.3g} s."))
        return text.get()

    def to_pandas(self) -> DataFrame:
        """The rows as a pandas data frame: quantity, paper, ours, note."""
        return data_frame(self.rows)

    def _repr_html_(self) -> str:
        """The paper's figures beside ours, and the notes, for notebooks."""
        keys = ("quantity", "paper", "ours", "note")
        rows = [
            [figure(line[key]) if key != "note" else line[key] for key in keys]
            for line in self.rows
        ]
        notes = "".join(f"<li>{text(note, 2000)}</li>" for note in self.notes)
        return block(f"{self.key}: {self.what}", table(keys, rows), f"<ul>{notes}</ul>")

    def plot(self, path: str | Path) -> list[Path]:
        """Draw the panels to a file; to a .png and a .svg where `path` has no ending."""
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        panels = self.data["panels"]
        lines = max(len(shown.get("names", ())) for shown in panels)
        high = max(min(4.6, 1.8 + 0.4 * lines), 1.2 + 0.23 * lines) if lines else 4.6
        made = Figure(figsize=(sum(map(_width, panels)), high), layout="constrained")
        FigureCanvasAgg(made)
        axes = made.subplots(1, len(panels), squeeze=False)[0]
        for ax, shown in zip(axes, panels, strict=True):
            _draw(ax, shown)
        for ax, after in pairwise(axes):  # neighbours with the same lines share one legend
            same = ax.get_legend_handles_labels()[1] == after.get_legend_handles_labels()[1]
            if same and (legend := ax.get_legend()) is not None:
                legend.remove()
        made.suptitle(self.paper, fontsize="small", wrap=True)
        path = Path(path)
        files = [path] if path.suffix else [Path(f"{path}.png"), Path(f"{path}.svg")]
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": self.key}):
            for file in files:
                dated = {"Date": None} if file.suffix == ".svg" else None
                with replacing(file) as new:
                    made.savefig(new, dpi=100, metadata=dated)
        return files

    def save(self, folder: str | Path) -> list[Path]:
        """Write ``<key>.json`` with where it comes from, and the picture as .png and .svg."""
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SubgameError(f"{folder} cannot be made: {error.strerror}.") from None
        file = folder / f"{self.key}.json"
        stored = {
            **self.as_dict(),
            "commit": commit(),
            "machine": machine(),
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        }
        text = json.dumps(stored, indent=1, ensure_ascii=False) + "\n"
        with replacing(file) as new:
            new.write_text(text, encoding="utf-8")
        return [file, *self.plot(folder / self.key)]

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """Read what `save` wrote, to show or draw it again."""
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
        kept = {entry.name: stored[entry.name] for entry in fields(cls)}
        return cls(**{**kept, "notes": tuple(kept["notes"])})


def figure(value: object) -> str:
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


def _draw(ax: Axes, shown: Record) -> None:
    """One panel."""
    scale, listed = shown.get("scale", "linear"), "names" in shown
    drawn: list[Any] = []
    stems = list(dict.fromkeys(_stem(line["label"]) for line in shown["series"]))
    for line in shown["series"]:
        colour = COLOURS[stems.index(_stem(line["label"])) % len(COLOURS)]
        covers = line["y"] in drawn  # the same curve again: dashed, so that both are seen
        drawn.append(line["y"])
        style = {
            "marker": line.get("marker", "o"),
            "markersize": line.get("size", 4),
            "linestyle": line.get("line", (0, (4, 4)) if covers else "-"),
            "color": colour,
            "label": line["label"],
        }
        ax.plot(*(line[axis] for axis in ("yx" if listed else "xy")), **style)
        if "low" in line and listed:
            ax.hlines(line["x"], line["low"], line["high"], color=colour, alpha=0.5, lw=3)
        elif "low" in line:
            ax.fill_between(line["x"], line["low"], line["high"], color=colour, alpha=0.15, lw=0)
    for mark, dashes in zip(shown.get("lines", ()), (":", "--", "-.") * 4, strict=False):
        ax.axhline(mark["y"], color="0.35", linestyle=dashes, linewidth=1, label=mark["label"])
    if scale in ("log", "semilog"):
        ax.set_xscale("log")
    if scale == "log":
        ax.set_yscale("log")
    if listed:
        ax.set_yticks(range(len(shown["names"])), shown["names"], fontsize="small")
        ax.set_ylim(len(shown["names"]) - 0.5, -0.5)
        ax.margins(x=0.1)
    else:
        _count(ax, [x for line in shown["series"] for x in line["x"]])
    ax.set(title=shown["title"], xlabel=shown["xlabel"], ylabel=shown["ylabel"])
    ax.grid(visible=True, alpha=0.3)
    if listed or len(ax.get_legend_handles_labels()[1]) > INSIDE:  # it would cover points
        ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    else:
        ax.legend(fontsize="small")


def _stem(label: str) -> str:
    """The paper's marks have the colours of ours."""
    return label.removesuffix(", paper")


def _width(shown: Record) -> float:
    """Inches of a panel: what is listed beside its axes, names and a legend, needs room."""
    names = shown.get("names", ())
    beside = max(map(len, names), default=0) + max(len(line["label"]) for line in shown["series"])
    return max(6.8, 4.2 + 0.075 * beside) if names else 6.8


def _count(ax: Axes, numbers: Sequence[float]) -> None:
    """Ticks at whole numbers where x is a small count, on either scale."""
    from matplotlib.ticker import NullLocator

    if all(number == int(number) for number in numbers) and max(numbers) <= 20:
        ticks = sorted({int(number) for number in numbers})
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.xaxis.set_minor_locator(NullLocator())


def commit() -> str:
    """The commit of the checkout in the working folder, or "unknown".

    Where a copy of the checkout has no history, SUBGAME_COMMIT may say what it is a copy of.
    """
    if named := os.environ.get("SUBGAME_COMMIT"):
        return named
    try:
        git = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return git.stdout.strip() or "unknown"


def provenance(command: str, versions: Sequence[str] = VERSIONS) -> dict[str, object]:
    """What a result file says of itself: the command, the commit, when and where it was run."""
    return {
        "command": command,
        "commit": commit(),
        "date": datetime.now(UTC).isoformat("T", "seconds"),
        "machine": machine(versions),
    }


def machine(versions: Sequence[str] = VERSIONS) -> dict[str, str]:
    """Where the figures come from: the system, its processors and the versions."""
    from importlib.metadata import PackageNotFoundError, version

    result = {
        "platform": platform.platform(),
        "processor": _processor(),
        "cpus": str(os.cpu_count() or 0),
        "python": platform.python_version(),
    }
    for name in versions:
        try:
            result[name] = version(name)
        except PackageNotFoundError:
            result[name] = "not installed"
    return result


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def command(key: str, quick: bool, seed: int, options: Mapping[str, object]) -> str:
    """The command that repeats a run, of the experiment's `options` those that change figures.

    >>> command("burch2014-fig4", quick=False, seed=1, options={"budget": 60.0, "keep": "a.jsonl"})
    'subgame reproduce burch2014-fig4 --seed 1 --budget 60'
    """
    words = ["subgame reproduce", key, *["--quick"] * quick, *[f"--seed {seed}"] * (seed > 0)]
    for name, value in options.items():
        if name != "keep":
            words.append(f"--budget {value:g}" if name == "budget" else f"--set {name}={value}")
    return " ".join(words)


def device(quick: bool) -> str:
    """Where whole flop hold'em is solved: a GPU; a quick run with a small deck needs none."""
    if quick:
        return "cpu"
    from subgame.engines.torch.runtime import load_torch

    if not load_torch().cuda.is_available():
        raise SubgameError(
            "Whole flop hold'em is solved on a GPU, but PyTorch finds none here; --quick does the "
            "same with a small deck."
        )
    return "cuda"


def mbb(chips: float, big_blind: int = 100) -> float:
    """Thousandths of a big blind."""
    return chips / big_blind * 1000
