"""That kernels are being compiled is said once, by whoever asked for it, and can be turned off."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import subgame as sg
from subgame.engines.numba import compiling

# Compiles a function of somebody else's, and then two that pass for ours.
SCRIPT = """
import logging
import numba
from subgame.engines.numba import compiling

{before}
compiling.watch()
for number, module in enumerate(("mine", "subgame.one", "subgame.two")):
    scope = {{"__name__": module}}
    exec("def f(x):\\n    return x + 1", scope)
    print(number, flush=True)
    numba.njit(scope["f"])(1)
"""


def said(before: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(before=before)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout


def test_it_is_said_once_on_stderr_and_for_our_kernels_only() -> None:
    assert said() == f"0\n1\n{compiling.NOTE}\n2\n"


@pytest.mark.parametrize(
    "before",
    [
        "logging.getLogger('subgame').setLevel('ERROR')",
        "import multiprocessing; multiprocessing.parent_process = object",
    ],
    ids=["turned off", "in a worker process"],
)
def test_it_is_not_said(before: str) -> None:
    assert said(before) == "0\n1\n2\n"


def test_engines_on_the_cpu_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    compiling = import_module("subgame.engines.numba.compiling")
    asked: list[bool] = []
    monkeypatch.setattr(compiling, "watch", lambda: asked.append(True))
    tree = sg.compile(sg.games.load("kuhn"))
    sg.exploitability(tree, sg.Strategy.uniform(tree))
    assert asked == [True]
