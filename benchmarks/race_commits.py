"""Two checkouts of subgame on the same work, taking turns, on one thread.

    python benchmarks/race_commits.py OLD NEW [WORK ...] [--rounds N] [--out FILE]

OLD and NEW are folders of checkouts. Every solve is a process of its own, which imports the package
from one of them. Times are CPU times of the process, and minima over the rounds. A time to a target
counts iterations only: exploitability is measured after every fifth one, outside of the clock.
Works are the hold'em spots of `subgame bench holdem` by name; ``NAME:N`` runs N iterations without
targets. It gives the CPU time of all of them and that of the fastest, because later iterations may
be slower, and the exploitability after them. ``game:NAME`` is a small game of `subgame bench`:
compiling, iterations of CFR+, exploitability. ``agent:N`` is N hands of the agent of whole hold'em
against a caller, each solve with the same sizes and the same number of iterations, and no clock:
CPU time by decision.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

SPOTS = ("river-srp", "river-3bet", "river-177", "turn-srp", "turn-3bet", "turn", "flop-srp:6")
SCHEDULE, TARGETS, STEP = "hs-dcfr", (0.5, 0.1), 5
SLICE, ENOUGH = 0.03, 1.5
"""CPU seconds of the slices whose fastest gives the time of an iteration, and of all of them."""
WARM = 100
"""Iterations before these slices, at least."""
AGENT_BETS = "turn: 0.75x / cap 2; river: 0.75x / cap 2; add-all-in 2.5"
AGENT_LIMITED = "flop: 0.75x / raise 1x / cap 2"
AGENT_ITERATIONS = 25
"""Sizes and iterations of the agent's solves, so that all commits do the same work."""


def cpu_seconds(run: Any, count: int) -> float:
    """CPU seconds of some iterations."""
    began = time.process_time()
    run.advance(count)
    return time.process_time() - began


def to_targets(made: Callable[[], Any], spot: Any) -> dict[str, list[Any]]:
    """Iterations to each target, and CPU seconds of so many in a run of their own."""
    run = made()
    reached: dict[str, int] = {}
    while run.iteration < spot.most and len(reached) < len(TARGETS):
        run.advance(STEP)
        gap = float(run.measure()) / spot.pot * 100
        for target in TARGETS:
            if gap <= target:
                reached.setdefault(str(target), run.iteration)
    return {target: [count, fastest(made, count)] for target, count in reached.items()}


def fastest(made: Callable[[], Any], count: int) -> float:
    """CPU seconds of the first `count` iterations, at best of several runs if they are short."""
    best, spent = float("inf"), 0.0
    while spent < ENOUGH:
        took = cpu_seconds(made(), count)
        best, spent = min(best, took), spent + took
    return best


def measured(work: str) -> dict[str, Any]:
    """One work in this process: what it took."""
    kind, _, rest = work.partition(":")
    one = {"game": small_game, "agent": agent_hands}.get(kind)
    answer = solved(work) if one is None else one(rest)
    return answer | {"peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def quickest(call: Callable[[], object]) -> float:
    """CPU seconds of a call, at best of several."""
    best, spent = float("inf"), 0.0
    while spent < ENOUGH:
        began = time.process_time()
        call()
        took = time.process_time() - began
        best, spent = min(best, took), spent + took
    return best


def small_game(name: str) -> dict[str, Any]:
    """A small game, compiled and solved by CFR+."""
    import subgame as sg
    from subgame.solve.schedule import parse
    from subgame.solve.solver import Run

    game = sg.games.load(name, **({"cards": 5} if name == "goofspiel" else {}))
    tree = sg.compile(game)

    def made() -> Run:
        return Run(tree, parse("cfr+"), threads=1)

    run = made()
    run.advance(10)
    strategy = run.strategy()
    size = max(1, int(SLICE / fastest(made, 10) * 10))
    return {
        "nodes": tree.num_nodes,
        "cpu_seconds_per_iteration": fastest(made, size) / size,
        "targets": {
            "all compiled": [1, quickest(lambda: sg.compile(game))],
            "all evaluated": [1, quickest(lambda: sg.exploitability(tree, strategy))],
        },
    }


def agent_hands(hands: str) -> dict[str, Any]:
    """Hands of the agent of whole hold'em, after one that loads kernels and files."""
    from subgame.games import load
    from subgame.play import Always, match
    from subgame.play.blueprint_agent import BlueprintAgent

    try:
        module = import_module("subgame.play.hunl.agent")
    except ImportError:  # where it was once
        module = import_module("subgame.play.holdem_agent")

    game = load("hunl")
    agent = module.HoldemAgent(
        game,
        BlueprintAgent(game).blueprint,
        bets=AGENT_BETS,
        limited=AGENT_LIMITED,
        iterations=AGENT_ITERATIONS,
        seconds=None,
    )
    decisions = 0

    class Counted(module.HoldemAgent):  # type: ignore[misc, name-defined]
        def act(self, infoset: str, legal: Any) -> str:
            nonlocal decisions
            decisions += 1
            return str(super().act(infoset, legal))

    agent.__class__ = Counted
    match(game, [agent, Always("call")], hands=2, seed=0)
    decisions = 0
    began = time.process_time()
    match(game, [agent, Always("call")], hands=int(hands), seed=1)
    took = time.process_time() - began
    targets = {f"all {hands} hands": [decisions, took]}
    return {"nodes": 0, "cpu_seconds_per_iteration": took / decisions, "targets": targets}


def solved(spot: str) -> dict[str, Any]:
    """A spot of hold'em, solved."""
    from subgame.bench.holdem_spots import SPOTS as KNOWN
    from subgame.solve.schedule import parse
    from subgame.solve.solver import Run

    name, _, count = spot.partition(":")
    known, best = KNOWN[name], float("inf")
    tree = known.tree()

    def made() -> Run:
        return Run(tree, parse(SCHEDULE), threads=1, storage=known.storage)

    run = made()
    run.advance(1)  # kernels are loaded now
    reached: dict[str, list[Any]] = {}
    if count:
        times = [cpu_seconds(run, 1) for _ in range(int(count))]
        best, reached[f"all {count}"] = min(times), [int(count), sum(times)]
        gap = {"exploitability, % of the pot": float(run.measure()) / known.pot * 100}
    else:
        gap = {}
        run.measure()
        reached = to_targets(made, known)
        run.advance(max([WARM, *(count for count, _ in reached.values())]))
        one = cpu_seconds(run, STEP) / STEP
        size = max(1, int(SLICE / one))
        for _ in range(max(3, int(ENOUGH / (size * one)))):
            best = min(best, cpu_seconds(run, size) / size)
    return {
        "nodes": tree.num_nodes,
        "cpu_seconds_per_iteration": best,
        "targets": reached,
    } | gap


def asked(checkout: Path, spot: str) -> dict[str, Any]:
    """The times of a spot in another process, with the package of a checkout."""
    one = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = os.environ | one | {"PYTHONPATH": str(checkout.resolve() / "src")}
    command = [sys.executable, __file__, "--child", spot]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def best_of(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The minima of several runs of one checkout."""
    targets = {
        target: [runs[0]["targets"][target][0], min(run["targets"][target][1] for run in runs)]
        for target in runs[0]["targets"]
    }
    name = "cpu_seconds_per_iteration"
    return runs[0] | {
        name: min(run[name] for run in runs),
        "targets": targets,
        "peak_bytes": min(run["peak_bytes"] for run in runs),
    }


def race(checkouts: list[Path], spot: str, rounds: int) -> dict[str, Any]:
    """A spot on both checkouts, and how many times as fast the second one is."""
    runs: list[list[dict[str, Any]]] = [[], []]
    for k in range(rounds):
        for side in (0, 1) if k % 2 == 0 else (1, 0):
            runs[side].append(asked(checkouts[side], spot))
    old, new = best_of(runs[0]), best_of(runs[1])
    name = "cpu_seconds_per_iteration"
    ratio = {"iteration": old[name] / new[name], "memory": old["peak_bytes"] / new["peak_bytes"]}
    for target, (_, seconds) in old["targets"].items():
        if target in new["targets"]:
            ratio[target] = seconds / new["targets"][target][1]
    return {"spot": spot, "old": old, "new": new, "ratio": ratio}


def line(row: dict[str, Any]) -> str:
    """A row for the terminal."""
    old, new, ratio = row["old"], row["new"], row["ratio"]
    parts = [f"{row['spot']:16} {old['nodes']:>8,} nodes"]
    times = [side["cpu_seconds_per_iteration"] * 1e3 for side in (old, new)]
    parts.append(f"{times[0]:.4g} -> {times[1]:.4g} ms/iteration ({ratio['iteration']:.2f})")
    for target in sorted(set(old["targets"]) & set(new["targets"]), reverse=True):
        (n, s), (m, t) = old["targets"][target], new["targets"][target]
        label = target if target.startswith("all") else f"{target} %"
        parts.append(f"{label}: {s:.4g} s ({n} it) -> {t:.4g} s ({m} it) ({ratio[target]:.2f})")
    peaks = [side["peak_bytes"] / 2**20 for side in (old, new)]
    return "; ".join([*parts, f"{peaks[0]:.0f} -> {peaks[1]:.0f} MiB"])


def commit(checkout: Path) -> str:
    """The commit of a checkout."""
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def processor() -> str:
    """The processor, as Linux names it; on aarch64 by numbers of its maker and its part."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    said = {name.strip(): text.strip() for name, _, text in (row.partition(":") for row in lines)}
    part = f"implementer {said.get('CPU implementer')}, part {said.get('CPU part')}"
    return said.get("model name", part)


def write_result(
    asked: argparse.Namespace, script: str, title: str, result: dict[str, Any]
) -> None:
    """Write the result of a benchmark, and its command, to the file that `--out` names."""
    if asked.out is None:
        return
    path = Path(script)
    words = ["python", f"benchmarks/{path.name}"]
    for name, value in vars(asked).items():
        if name != "out" and value != "":
            words += [f"--{name}", str(value)]
    about = {
        "title": title,
        "command": shlex.join(words),
        "commit": commit(path.resolve().parents[1]),
        "machine": processor(),
        "date": datetime.now(UTC).date().isoformat(),
        "seed": asked.seed,
    }
    asked.out.write_text(json.dumps(about | result, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("spots", nargs="*", default=SPOTS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a file for the results, as JSON")
    options = parser.parse_args()
    about = {
        "command": f"python benchmarks/race_commits.py OLD NEW {' '.join(options.spots)} "
        f"--rounds {options.rounds}",
        "commits": [commit(options.old), commit(options.new)],
        "machine": f"{platform.machine()}, {processor()}, one thread",
        "schedule": SCHEDULE,
    }
    rows = []
    for spot in options.spots:
        rows.append(race([options.old, options.new], spot, options.rounds))
        print(line(rows[-1]), flush=True)
        if options.out:  # after each spot: a long race may be stopped
            options.out.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--child":
        print(json.dumps(measured(sys.argv[2])))
    else:
        main()
