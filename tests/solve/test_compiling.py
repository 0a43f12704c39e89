"""That kernels are being compiled is said once, by whoever asked for it, and can be turned off."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numba
import pytest
from numba.core import caching

import subgame as sg
from subgame.cli.progress import EVALUATION
from subgame.engines.numba import compiling
from subgame.engines.numba.first_use import NO_CACHE, NOTE

Runner = Callable[..., tuple[int, int]]

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
    assert said() == f"0\n1\n{NOTE}\n2\n"


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
    sg.solve(tree, "mccfr", iterations=1)
    assert asked


# The cache -----------------------------------------------------------------------------------
# A kernel with a tuple of a class of ours as its argument, as our kernels have.
KERNEL = """
from typing import NamedTuple
from subgame.engines.numba.compiling import njit

class {name}(NamedTuple):
    one: int

@njit(cache=True)
def kernel(pair):
    return pair.one + 1

@njit(cache=True)
def other(pair):
    return pair.one + 2

def run():
    return kernel({name}(4)), kernel.stats.cache_hits.total()
"""
NEW, OLD = (5, 0), (5, 1)
"""The kernel's answer, compiled and from the cache."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, int]]:
    """Imports the module with the kernel anew, perhaps with another name of its class."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))

    def again(name: str = "Pair") -> tuple[int, int]:
        module = tmp_path / "with_kernel.py"
        module.write_text(KERNEL.format(name=name))
        os.utime(module, (0, 0))  # before 0.68, Numba compares times and sizes instead of texts
        monkeypatch.delitem(sys.modules, "with_kernel", raising=False)
        importlib.invalidate_caches()
        result: tuple[int, int] = import_module("with_kernel").run()
        return result

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return again


def test_a_cache_that_cannot_be_read_is_made_again(run: Runner, tmp_path: Path) -> None:
    assert run() == NEW
    assert run() == OLD
    for ending in ("nbi", "nbc"):
        for kept in (tmp_path / "kept").rglob(f"*.{ending}"):
            kept.write_bytes(kept.read_bytes()[: kept.stat().st_size // 2])
        assert run() == NEW
        assert run() == OLD


def test_a_cache_that_names_a_class_that_is_gone_is_made_again(run: Runner) -> None:
    assert run("Pair") == NEW
    assert run("Renamed") == NEW
    assert run("Renamed") == OLD


def test_without_a_cache_a_temporary_folder_is_used(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compiling, "watch", lambda: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    only = [caching.UserProvidedCacheLocator]  # a read-only installation and no home folder
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", only)
    folder = tmp_path / f"subgame-{os.getuid()}"
    for expected in (NEW, OLD):
        monkeypatch.setattr(numba.config, "CACHE_DIR", "")
        caplog.clear()
        assert run() == expected
        said = [line for line in caplog.messages if line != NOTE]
        assert said == [NO_CACHE % folder]  # once for two kernels
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)  # others could put code there
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    assert run() == NEW
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert run()[0] == 5  # not even that: compiled each time


def test_our_kernels_use_that_cache() -> None:
    from subgame.engines.numba import sampled_kernels, sampling, strengths

    result = 0
    for module in (sampling, sampled_kernels, strengths):
        for var in vars(module).values():
            if hasattr(var, "py_func"):
                assert isinstance(var._cache, compiling.LenientCache | caching.NullCache)
                result += isinstance(var._cache, compiling.LenientCache)
    assert result > 20


HELPED = """
import numba
from pathlib import Path
from subgame.engines.numba import compiling
from subgame.engines.numba.first_use import Helper

compiling.watch()
helper = Helper("from pathlib import Path; Path({file!r}).write_text('done')")
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


def test_what_a_helper_runs_for_hold_em_runs_by_itself() -> None:
    """Its errors are not shown: what it does not compile, the command compiles after it."""
    subprocess.run([sys.executable, "-c", EVALUATION], check=True)
