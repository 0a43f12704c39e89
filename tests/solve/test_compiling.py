"""That kernels are being compiled is said once, by whoever asked for it, and can be turned off."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

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


HELPED = """
import numba
from pathlib import Path
from subgame.engines.numba import compiling

compiling.watch()
helper = compiling.Helper("from pathlib import Path; Path({file!r}).write_text('done')")
scope = {{"__name__": {module!r}}}
exec("def f(x):\\n    return x + 1", scope)
numba.njit(scope["f"])(1)
helper.wait()
print(Path({file!r}).exists())
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="a helper needs a second core")
@pytest.mark.parametrize(("module", "helps"), [("subgame.one", "True"), ("mine", "False")])
def test_a_helper_starts_with_the_first_of_our_kernels(
    tmp_path: Path, module: str, helps: str
) -> None:
    script = HELPED.format(file=str(tmp_path / "done"), module=module)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == helps, done.stderr


def test_numba_is_loaded_without_linear_algebra_which_others_can_still_import() -> None:
    script = (
        "import sys\nfrom subgame.engines.numba.compiling import load_numba\nload_numba()\n"
        "assert 'numba' in sys.modules and 'scipy.linalg' not in sys.modules\n"
        "import scipy.linalg\nassert scipy.linalg.norm([3.0, 4.0]) == 5.0"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
