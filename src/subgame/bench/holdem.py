"""`subgame bench holdem`: our hold'em solver beside the fastest open one.

The peer is postflop-solver (Rust, float32, a DCFR variant). Its figures are not measured here but
noted from its quietest runs on a machine of the same kind (2 ARM cores that move about 9.4 GB/s);
`probe` says what this machine moves, so that the two can be compared. A time to a target counts
iterations, not the best responses in between (after every fifth iteration), for both; the seconds
of a whole solve with its own checks are beside it. With `peer`, a command of the peer is run for
each spot on this machine instead (see `ask`), and its answer takes the place of the notes. Seconds
an iteration are those of the fastest slice of a tenth of a second. Spots as players have them
(`REAL`) are also solved from the shell, with warm caches, by the command that users type.
"""

from __future__ import annotations

import json
import os
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

import subgame as sg
from subgame.bench.holdem_spots import REAL, SPOTS, Peer, Spot
from subgame.errors import SubgameError, did_you_mean
from subgame.solve.evaluate import value_of
from subgame.solve.schedule import parse
from subgame.solve.solver import Run
from subgame.spots.endgame import BYTES
from subgame.tree.ranges.tree import RangeTree

if TYPE_CHECKING:
    from rich.table import Table

SCHEDULE = "hs-dcfr"
TARGETS = (0.5, 0.1)
"""Per cent of the pot."""
MOVED = 5
"""Numbers per action and hand in an iteration: regrets read and written when it is its player's
turn, regrets read, average read and written when it is the other's."""
VECTOR_UNITS = {
    "avx512f": "AVX-512",
    "avx2": "AVX2",
    "avx": "AVX",
    "sse2": "SSE2",
    "sve2": "SVE2",
    "sve": "SVE",
    "neon": "NEON",
}
"""LLVM's names of vector units, the widest of each processor first."""
QUICK = ("river-45", "river-177", "river-srp", "river-3bet")
WHOLE = "nlfh"
"""Whole flop hold'em, solved only where it is asked for: it takes minutes."""
PROTOTYPE = {10: 341.0, 50: 47.9, 100: 16.0, 200: 5.57, 400: 1.89}
"""Iterations of CFR+ -> mbb/h, as an independent prototype measured them."""


def run(
    only: str | None = None,
    quick: bool = False,
    threads: Sequence[int] = (1, 2),
    progress: Callable[[str], None] | None = None,
    peer: str | None = None,
) -> dict[str, object]:
    """Measure the spots (or `only` one) with each number of threads, beside the command `peer`."""
    if only is not None and only not in SPOTS and only != WHOLE:
        raise did_you_mean("hold'em spot", only, [*SPOTS, WHOLE])
    names = [only] if only else list(QUICK if quick else SPOTS)
    tell = progress or (lambda line: None)
    if only == WHOLE:
        return whole(max(threads), tell)
    bandwidth = {n: probe(n) for n in threads}
    rows = []
    for name in names:
        for n in threads:
            if name.startswith(("flop-a", "flop-b")) and n == 1 and peer is None:
                continue  # the peer has no figure for it
            tell(f"{name}, {n} thread{'s' if n > 1 else ''} ...")
            rows.append(measure(name, n, bandwidth[n], peer))
    return {
        "vector_unit": vector_unit(),
        "peer": peer or "noted on another machine",
        "schedule": SCHEDULE,
        "bandwidth": bandwidth,
        "rows": rows,
    }


def vector_unit() -> str:
    """The widest vector unit of this machine's processor that kernels are compiled for."""
    from llvmlite import binding

    chosen = os.environ.get("NUMBA_CPU_FEATURES")
    known = binding.get_host_cpu_features()
    names = chosen.split(",") if chosen else [f"+{name}" for name, on in known.items() if on]
    for name, unit in VECTOR_UNITS.items():
        if f"+{name}" in names:
            return unit
    return "none that is known"


def probe(threads: int, size: int = 1 << 26) -> float:
    """Bytes a second that this machine reads and writes when it copies what no cache holds."""
    parts = [
        (np.ones(size // threads, np.uint8), np.empty(size // threads, np.uint8))
        for _ in range(threads)
    ]
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(8):
            began = time.perf_counter()
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), parts))
            best = max(best, 2 * size / (time.perf_counter() - began))
    return best


def whole(threads: int, tell: Callable[[str], None]) -> dict[str, object]:
    """Flop hold'em from the first blind, all 1,755 flops, no abstraction, by CFR+."""
    began = time.perf_counter()
    tree = sg.compile(sg.holdem.nlfh(), memory_limit="12GiB")
    built, milli = time.perf_counter() - began, 1000 / 100
    run, curve, spent = Run(tree, parse("cfr+"), threads=threads), [], 0.0
    for goal, theirs in PROTOTYPE.items():
        for _ in range((goal - run.iteration) // 10):
            spent += _seconds(run.advance, 10)
        gap = float(run.measure()) * milli
        curve.append([goal, spent, gap, theirs])
        tell(f"{goal} iterations, {spent:.0f} s: {gap:.4g} mbb/h (the prototype: {theirs:g})")
    value = -value_of(run.engine, run.played()) * milli
    return {
        "schedule": "cfr+",
        "vector_unit": vector_unit(),
        "bandwidth": {threads: probe(threads)},
        "rows": [],
        "whole": {
            "game": tree.game_name,
            "threads": threads,
            "build_seconds": built,
            "seconds_per_iteration": spent / run.iteration,
            "iterations, s, mbb/h, the prototype's": curve,
            "small blind, mbb/h": value,
        },
    }


def ask(command: str, spot: Spot, threads: int) -> Peer:
    """What a peer's command takes for a spot on this machine.

    The command gets a JSON object on its standard input: board, pot, stack, bets, oop and ip
    (ranges), threads and targets (per cent of the pot). It prints one: seconds_per_iteration,
    iterations (one for each target, null if it was not reached) and memory_bytes.
    """
    request = {
        "board": spot.board,
        "pot": spot.pot,
        "stack": spot.stack,
        "bets": spot.bets,
        "oop": spot.ranges[0],
        "ip": spot.ranges[1],
        "threads": threads,
        "targets": list(TARGETS),
    }
    try:
        done = subprocess.run(
            shlex.split(command),
            input=json.dumps(request),
            capture_output=True,
            text=True,
            check=True,
        )
        said = json.loads(done.stdout)
        counts = [None if n is None else int(n) for n in said["iterations"]]
        first, second = counts
        return Peer(
            float(said["seconds_per_iteration"]), (first, second), said["memory_bytes"] / 2**20
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise SubgameError(f"The peer's command '{command}' failed: {error}.") from None
    except (KeyError, TypeError, ValueError):
        raise SubgameError(
            f"The peer's command '{command}' must print a JSON object with seconds_per_iteration, "
            f"iterations (two numbers or null) and memory_bytes; it printed "
            f"'{done.stdout[:100]}'."
        ) from None


def measure(
    name: str, threads: int, bandwidth: float, command: str | None = None
) -> dict[str, object]:
    """One spot, one number of threads."""
    spot = SPOTS[name]
    began = time.perf_counter()
    tree = spot.tree()
    built = time.perf_counter() - began
    numbers, size = tree.stored(0) + tree.stored(1), BYTES[spot.storage]
    seconds, reached, iterations = _solve(spot, tree, threads)
    peer = spot.peers.get(threads) or spot.peers.get(1)
    peer = ask(command, spot, threads) if command is not None else peer
    row = {
        "spot": name,
        "threads": threads,
        "nodes": tree.num_nodes,
        "build_seconds": built,
        "seconds_per_iteration": seconds,
        "memory_bytes": 2 * size * numbers + tree.nbytes,
        "ns_per_action_hand": seconds / numbers * 1e9,
        "bandwidth_share": MOVED * size * numbers / seconds / bandwidth,
        "iterations": iterations,
        "targets": {str(target): reached.get(target) for target in TARGETS},
        "seconds_with_checks": {
            str(target): _whole_solve(spot, tree, threads, target) for target in reached
        },
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    if name in REAL:
        row["seconds_from_the_shell"] = {
            str(target): from_the_shell(spot, threads, target) for target in reached
        }
    if peer:
        took = [n and n * peer.seconds for n in peer.iterations]
        row["peer"] = {
            "seconds_per_iteration": peer.seconds,
            "memory_bytes": peer.memory * 2**20,
            "targets": dict(zip(map(str, TARGETS), took, strict=True)),
        }
        row["ratio"] = {
            "iteration": peer.seconds / seconds,
            **{
                str(target): other / reached[target][1]
                for target, other in zip(TARGETS, took, strict=True)
                if other and target in reached
            },
        }
    return row


def _whole_solve(spot: Spot, tree: RangeTree, threads: int, target: float) -> float:
    """Seconds of a solve to a target, with the checks that it makes."""
    how = {"target": target * spot.pot / 100, "threads": threads, "storage": spot.storage}
    return _seconds(sg.solve, tree, SCHEDULE, **how)


def _seconds(call: Callable[..., object], *args: object, **options: object) -> float:
    """The seconds that a call takes."""
    began = time.perf_counter()
    call(*args, **options)
    return time.perf_counter() - began


def from_the_shell(spot: Spot, threads: int, target: float) -> float:
    """Seconds of the command that solves a spot, once its kernels are compiled."""
    options = {
        "board": spot.board,
        "pot": spot.pot,
        "stack": spot.stack,
        "oop": spot.ranges[0],
        "ip": spot.ranges[1],
        "bets": spot.bets,
        "target": f"{target}%",
        "threads": threads,
        "schedule": SCHEDULE,
    }
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command, took = [sys.executable, "-m", "subgame.cli", "endgame", *words], []
    for _ in range(2 if spot.most > 500 else 1):
        took.append(_seconds(subprocess.run, command, check=True, capture_output=True))
    return min(took)


def _solve(
    spot: Spot, tree: RangeTree, threads: int
) -> tuple[float, dict[float, tuple[int, float]], int]:
    """Seconds an iteration; for each target the iterations and seconds to it; iterations done."""
    schedule = parse(SCHEDULE)
    run = Run(tree, schedule, threads=threads, storage=spot.storage)
    run.advance(1)
    run.measure()  # kernels are loaded now
    best, slice_ = float("inf"), 1
    for _ in range(6):  # slices of a tenth of a second, where that is more than one iteration
        best = min(best, _seconds(run.advance, slice_) / slice_)
        slice_ = max(1, min(int(0.1 / best), 10 * slice_))
    run = Run(tree, schedule, threads=threads, storage=spot.storage)
    step = 5 if spot.most else 2
    spent = 0.0
    reached: dict[float, tuple[int, float]] = {}
    while True:
        took = _seconds(run.advance, step)
        best, spent = min(best, took / step), spent + took
        if spot.most:
            gap = float(run.measure()) / spot.pot * 100
            for target in TARGETS:
                if gap <= target and target not in reached:
                    reached[target] = (run.iteration, spent)
        if len(reached) == len(TARGETS) or run.iteration >= max(spot.most, 2):
            return best, reached, run.iteration


def table(measured: dict[str, Any]) -> Table:
    """The rows for the terminal."""
    from rich.table import Table

    if "whole" in measured:
        return _whole_table(measured["whole"])
    speeds = ", ".join(
        f"{n} thread{'s' if n > 1 else ''} {b / 1e9:.3g} GB/s"
        for n, b in measured["bandwidth"].items()
    )
    title = (
        f"Hold'em by {measured['schedule']} with {measured['vector_unit']}; "
        f"in brackets: times as fast as the peer ({speeds})"
    )
    out = Table(title=title, box=None, header_style="bold", padding=(0, 1, 0, 0))
    columns = ("spot", "on", "ms/iteration", "to 0.5 % of pot", "to 0.1 %", "MiB", "ns", "band")
    for column in columns:
        out.add_column(column, justify="left" if column == "spot" else "right", no_wrap=True)
    for row in measured["rows"]:
        ratio = row.get("ratio") or {}
        cells = [
            row["spot"],
            str(row["threads"]),
            f"{row['seconds_per_iteration'] * 1e3:.3g} {_times(ratio.get('iteration'))}",
        ]
        for target in map(str, TARGETS):
            ours = row["targets"][target]
            cells.append(
                f"{ours[0]} it {_spent(ours[1])} {_times(ratio.get(target))}" if ours else "-"
            )
        cells += [
            f"{row['memory_bytes'] / 2**20:.3g}",
            f"{row['ns_per_action_hand']:.2g}",
            f"{row['bandwidth_share']:.0%}",
        ]
        out.add_row(*cells)
    checked, shell = (
        "; ".join(
            f"{row['spot']} on {row['threads']}: {', '.join(map(_spent, row[kind].values()))}"
            for row in measured["rows"]
            if row.get(kind)
        )
        for kind in ("seconds_with_checks", "seconds_from_the_shell")
    )
    out.caption = (
        "on: threads; ns: per action and hand; band: share of the bandwidth\n"
        f"peer: {measured['peer']}; whole solves with their checks: {checked}"
    )
    if shell:
        out.caption += f"\nfrom the shell: {shell}"
    return out


def _whole_table(measured: dict[str, Any]) -> Table:
    from rich.table import Table

    title = (
        f"{measured['game']} by CFR+, {measured['threads']} threads: "
        f"{measured['seconds_per_iteration']:.3g} s an iteration, "
        f"{measured['small blind, mbb/h']:+.4g} mbb/h for the small blind"
    )
    out = Table(title=title, box=None, header_style="bold")
    for column in ("iterations", "seconds", "mbb/h", "prototype"):
        out.add_column(column, justify="right")
    for row in measured["iterations, s, mbb/h, the prototype's"]:
        out.add_row(f"{row[0]:,}", *(f"{number:.4g}" for number in row[1:]))
    return out


def _spent(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _times(ratio: float | None) -> str:
    return f"({ratio:.1f}x)" if ratio else ""
