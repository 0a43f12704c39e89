"""Runs the tests as another machine would: ``make test-elsewhere``.

    python tools/other_machine.py                           both rounds below, one after the other
    python tools/other_machine.py generic programs          one round with these settings
    python tools/other_machine.py busy -- tests/play -x     what follows -- goes to pytest
    python tools/other_machine.py hash --seed 7             repeats a run that printed seed 7
    python tools/other_machine.py avx2 --python python3.12  with the pytest of another Python

Settings can be combined:

    generic   kernels for any processor of this architecture: 128 bits, on x86_64 SSE2 only
    avx       kernels for x86_64 with 256 bits, without fused multiplication and addition
    avx2      kernels for x86_64 with 256 bits (x86-64-v3)
    threads1  Python reports one core, and libraries start one thread
    threads4  four of each
    hash      strings hash by the seed, so sets have another order
    programs  linear programs have their variables and constraints in an order by the seed
    busy      half of the cores compute something else

The package is taken from ``src``; it need not be installed. Kernels are kept in
``build/elsewhere``, by settings, beside nothing else. The tests run in as many processes as there
are cores if pytest-xdist is installed.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROCESSORS = {"generic": "generic", "avx": "sandybridge", "avx2": "haswell"}
THREADS = {"threads1": 1, "threads4": 4}
OTHERS = ("hash", "programs", "busy")
SETTINGS = (*PROCESSORS, *THREADS, *OTHERS)
BURN = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): pass"


def rounds() -> list[list[str]]:
    """What is run where no settings are named: everything once, in two rounds."""
    wide = ["avx2"] if platform.machine() in ("x86_64", "AMD64") else []
    return [
        ["generic", "threads4", "hash", "programs"],
        [*wide, "threads1", "hash", "programs", "busy"],
    ]


def environment(settings: Sequence[str], seed: int) -> dict[str, str]:
    """The variables under which the tests run."""
    paths = [str(ROOT / "tools" / "elsewhere"), str(ROOT / "src")]
    kernels = [name for name in (*PROCESSORS, *THREADS) if name in settings]
    out = dict(os.environ)
    out["PYTHONPATH"] = os.pathsep.join([*paths, *filter(None, [out.get("PYTHONPATH")])])
    out["NUMBA_CACHE_DIR"] = str(ROOT / "build" / "elsewhere" / "-".join(kernels or ["host"]))
    out.setdefault("OMP_NUM_THREADS", "1")  # the tests have a process per core
    for name in kernels:
        if name in PROCESSORS:
            out |= {"NUMBA_CPU_NAME": PROCESSORS[name], "NUMBA_CPU_FEATURES": ""}
        else:
            count = str(THREADS[name])
            out |= {"SUBGAME_ELSEWHERE_CORES": count, "NUMBA_NUM_THREADS": count}
            out |= {"OMP_NUM_THREADS": count, "OMP_WAIT_POLICY": "passive"}
    if "hash" in settings:
        out["PYTHONHASHSEED"] = str(seed)
    if "programs" in settings:
        out["SUBGAME_ELSEWHERE_PROGRAMS"] = str(seed)
    return out


@contextmanager
def computing(count: int) -> Iterator[None]:
    """Meanwhile some processes compute, and end with this one."""
    command = [sys.executable, "-S", "-c", BURN, str(os.getpid())]
    busy = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def run(settings: Sequence[str], seed: int, python: str, words: Sequence[str]) -> int:
    """Run the tests under some settings; returns pytest's exit status."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    command = [python, "-m", "pytest", *words]
    parallel = [python, "-c", "import xdist"]
    if not subprocess.run(parallel, stderr=subprocess.DEVNULL, check=False).returncode:
        split = ["-n", str(cores), "--dist", "loadfile", "--no-loadscope-reorder"]
        command[3:3] = split
    print("Settings:", *settings, f"· seed {seed} ·", *command[1:], flush=True)
    with computing(max(1, cores // 2) if "busy" in settings else 0):
        done = subprocess.run(command, cwd=ROOT, env=environment(settings, seed), check=False)
    print("Passed" if not done.returncode else "Failed", "under:", *settings, f"--seed {seed}")
    return done.returncode


def main() -> int:
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("settings", nargs="*", metavar="SETTING", help=", ".join(SETTINGS))
    parser.add_argument("--seed", type=int, help="of hash and programs; by default random")
    parser.add_argument("--python", default=sys.executable, help="by default this one")
    options = parser.parse_args(words[:cut])
    for kinds in (SETTINGS, PROCESSORS, THREADS):
        chosen = [name for name in options.settings if name in kinds]
        if kinds is SETTINGS and len(chosen) < len(options.settings):
            parser.error(f"the settings are {', '.join(SETTINGS)}")
        if kinds is not SETTINGS and len(chosen) > 1:
            parser.error(f"{' and '.join(chosen)} cannot be combined")
    seed = random.SystemRandom().randrange(1, 1 << 32) if options.seed is None else options.seed
    several = [options.settings] if options.settings else rounds()
    return max(run(names, seed, options.python, words[cut + 1 :]) for names in several)


if __name__ == "__main__":
    sys.exit(main())
