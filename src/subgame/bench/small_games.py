"""`subgame bench`: our speed and memory beside those of OpenSpiel and LiteEFG, from one run.

Every solver is measured in fresh processes, one after the other, on the CPU and on the same game:
ours with our own rules, the peers with OpenSpiel's. A time is the best of several repeats after a
warm-up, so neither our kernels' compilation (Numba, kept on disk) nor JAX's is in it.

- *CFR+ iteration*: both players updated and averaged once. Ours and OpenSpiel's C++ and JAX
  solvers run with their defaults; LiteEFG's is its CFRplus baseline on its OpenSpiel environment.
- *to an exploitability*: `subgame.solve` with its own checks counted. The peers are checked at
  the same iterations, but only their iterations are counted. Nothing is extrapolated.
- *exploitability*: of an average strategy that is already computed.
- *LP*: `subgame.solve_lp` beside OpenSpiel's sequence_form_lp, which needs cvxpy.
- *build*: our `compile` without the game's own import; the peers' solver made from a loaded game.
  JAX's includes its compilation, LiteEFG's the game file it writes (to a temporary folder).
- *peak memory*: of a process that imports, builds and solves; ours until 1e-3, the peers' for
  five iterations, as theirs does not grow any further.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subgame.bench import contenders

if TYPE_CHECKING:
    from rich.table import Table

OURS = contenders.OURS
PEERS = ("OpenSpiel", "OpenSpiel JAX", "LiteEFG")
LIMIT, QUICK_LIMIT = 300.0, 25.0
"""Seconds after which a peer's process is stopped; what it has not measured by then is null."""
VERSIONS = ("subgame", "numpy", "numba", "scipy", "open_spiel", "jax", "chex", "cvxpy", "LiteEFG")


@dataclass(frozen=True, slots=True)
class Work:
    """Something to measure. Its bar is a factor over the best peer, or an upper bound."""

    name: str
    game: str
    task: str
    unit: str = "s"
    times: float | None = None
    below: float | None = None

    @property
    def bar(self) -> str:
        if self.times is not None:
            return f">= {self.times:g}x best peer"
        return f"< {figure(self.below, self.unit)}" if self.below is not None else ""


WORKS = (
    Work("leduc, CFR+ iteration", "leduc", "iteration", times=30),
    Work("leduc to 1e-4", "leduc", "to 1e-4", below=0.2),
    Work("leduc, exploitability", "leduc", "exploitability", below=0.2e-3),
    Work("leduc, LP", "leduc", "lp", below=0.3),
    Work("leduc, build", "leduc", "build"),
    Work("liar's dice, CFR+ iteration", "liar's dice", "iteration", times=100),
    Work("liar's dice to 1e-3", "liar's dice", "to 1e-3", below=2),
    Work("liar's dice to 1e-4", "liar's dice", "to 1e-4", below=10),
    Work("liar's dice, exploitability", "liar's dice", "exploitability", below=5e-3),
    Work("liar's dice, LP", "liar's dice", "lp", below=15),
    Work("liar's dice, build", "liar's dice", "build"),
    Work("liar's dice, peak memory", "liar's dice", "memory", unit="bytes", below=200e6),
    Work("goofspiel(5), CFR+ iteration", "goofspiel(5)", "iteration", times=5),
    Work("goofspiel(5), build", "goofspiel(5)", "build"),
)
SHARED = ("build", "iteration", "exploitability")
"""Tasks that one process measures one after the other; any other task has its own process."""

LEFT_OUT = {
    ("LiteEFG", "", "lp"): "it has no LP",
    ("OpenSpiel JAX", "", "lp"): "it has no LP",
    ("OpenSpiel JAX", "", "exploitability"): "it has none of its own",
    ("OpenSpiel JAX", "liar's dice", "to 1e-3"): "left out, as its build alone takes minutes",
    ("OpenSpiel JAX", "liar's dice", "memory"): "left out, as its build alone takes minutes",
    ("OpenSpiel", "liar's dice", "lp"): "left out, as its dense matrices take over 20 GB",
    ("", "liar's dice", "to 1e-4"): "left out, as it takes many minutes",
}
"""(peer, game, task), empty for any -> why it is not measured. Bars use the other peers."""


# Rows ----------------------------------------------------------------------------------------
def run(
    only: str | None = None, quick: bool = False, progress: Callable[[str], None] | None = None
) -> list[dict[str, Any]]:
    """Measure, and return one row per work whose name contains `only`.

    A row has: work, ours and unit ("s" or "bytes"), peers (name -> value, None where there is
    none), best_peer (of those measured), ratio (its value over ours), bar (in words, empty
    where there is none), bar_met (None where no peer or no bar is there to tell) and notes
    (name -> why its value is None).

    `quick` leaves out the peers' long solves and our long LP, and stops a peer after some 20
    seconds. In full it takes about ten minutes, most of them the peers'.
    """
    works = [work for work in WORKS if (only or "").lower() in work.name.lower()]
    if not works:
        from subgame.errors import SubgameError

        names = ", ".join(work.name for work in WORKS)
        raise SubgameError(f"No benchmark has '{only}' in its name. Known: {names}.")
    if quick:
        works = [work for work in works if (work.game, work.task) != ("liar's dice", "lp")]
    values: dict[tuple[str, str, str], float | str] = {}  # a value, or why there is none
    for game in dict.fromkeys(work.game for work in works):
        tasks = [work.task for work in works if work.game == game]
        for who in (OURS, *PEERS):
            missing = {task: _left_out(who, game, task, quick) for task in tasks}
            values |= {(who, game, task): why for task, why in missing.items() if why}
            for job in _jobs([task for task in tasks if not missing[task]]):
                if progress is not None:
                    progress(f"{game}: {who}, {', '.join(job)}")
                limit = QUICK_LIMIT if quick and who != OURS else LIMIT
                answers = measure(who, game, job, limit)
                values |= {(who, game, task): answer for task, answer in answers.items()}
    return [
        _row(work, {who: values[who, work.game, work.task] for who in (OURS, *PEERS)})
        for work in works
    ]


def _left_out(who: str, game: str, task: str, quick: bool) -> str:
    """Why something is not measured at all; empty if it is."""
    if who == OURS:
        return ""
    for key in ((who, "", task), (who, game, task), (who, game, ""), ("", game, task)):
        if key in LEFT_OUT:
            return LEFT_OUT[key]
    return "left out by quick" if quick and task.startswith("to ") else ""


def _jobs(tasks: Iterable[str]) -> list[list[str]]:
    """The tasks of one game, by the process that measures them."""
    tasks = list(tasks)
    shared = [task for task in SHARED if task in tasks]
    return [*([shared] if shared else []), *([task] for task in tasks if task not in SHARED)]


def _row(work: Work, measured: dict[str, float | str]) -> dict[str, object]:
    """A line of the table from all values; a string is the reason why there is no value."""
    values = {who: value if isinstance(value, float) else None for who, value in measured.items()}
    ours = values.pop(OURS)
    best = min((v, who) for who, v in values.items() if v) if any(values.values()) else None
    ratio = best[0] / ours if best and ours else None
    met: bool | None = None
    if work.bar and ours is None:
        met = False
    elif work.times is not None and ratio is not None:
        met = ratio >= work.times
    elif work.below is not None and ours is not None:
        met = ours < work.below
    return {
        "work": work.name,
        "ours": ours,
        "unit": work.unit,
        "peers": values,
        "best_peer": best[1] if best else None,
        "ratio": ratio,
        "bar": work.bar,
        "bar_met": met,
        "notes": {who: why for who, why in measured.items() if isinstance(why, str)},
    }


def figure(value: float | None, unit: str) -> str:
    """A value as people write it.

    >>> figure(0.00123, "s"), figure(12.3, "s"), figure(2e8, "bytes"), figure(None, "s")
    ('1.23 ms', '12.3 s', '200 MB', '-')
    """
    if value is None:
        return "-"
    if unit == "bytes":
        return f"{value / 1e6:.0f} MB"
    for size, name in ((1.0, "s"), (1e-3, "ms")):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value * 1e6:.3g} µs"


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """The rows for a terminal; what is missing is explained below."""
    from rich.table import Table
    from rich.text import Text

    peers = list(dict.fromkeys(name for row in rows for name in row["peers"]))
    made = Table(caption_justify="left")
    made.add_column("work")
    for name in (OURS, *peers, "best peer / ours"):
        made.add_column(name, justify="right")
    made.add_column("bar")
    why: dict[str, list[str]] = {}
    for row in rows:
        cells = [Text(figure(row["ours"], row["unit"]), style="bold")]
        for name in peers:
            style = "cyan" if name == row["best_peer"] else ""
            cells.append(Text(figure(row["peers"].get(name), row["unit"]), style=style))
        ratio = row["ratio"]
        number = "-" if ratio is None else f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.2g}x"
        cells.append(Text(number))
        word, style = {True: ("met", "green"), False: ("missed", "red")}.get(
            row["bar_met"], ("unknown" if row["bar"] else "", "")
        )
        made.add_row(row["work"], *cells, Text(f"{row['bar']} {word}".strip(), style=style))
        for name, reason in row.get("notes", {}).items():
            why.setdefault(f"{name}: {reason}", []).append(row["work"])
    if why:
        made.caption = Text("\n".join(f"{text} ({'; '.join(on)})" for text, on in why.items()))
    return made


# Processes -----------------------------------------------------------------------------------
def measure(who: str, game: str, tasks: Sequence[str], limit: float) -> dict[str, float | str]:
    """Measure tasks in a fresh process: a value each, or why there is none."""
    with tempfile.TemporaryDirectory() as scratch:
        order = json.dumps({"who": who, "game": game, "tasks": list(tasks), "scratch": scratch})
        # -P: this folder's modules are not to be taken for top-level ones.
        command = [sys.executable, "-P", contenders.__file__, order]
        try:
            done = subprocess.run(
                command,
                env={**os.environ, "JAX_PLATFORMS": "cpu"},
                timeout=limit,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            why = ": ".join([f"its process ended with code {done.returncode}", *last])
        except subprocess.TimeoutExpired:
            why = f"not done in {limit:.0f} s"
        written = Path(scratch, "answers")
        answers = map(json.loads, written.read_text().splitlines() if written.exists() else ())
        return {**dict.fromkeys(tasks, why), **dict(answers)}
