"""Compilation of Triton kernels: several processes, and without a pass that changes nothing.

Triton reads a kernel in Python, one thread at a time, which is a good part of all that compiling
takes. Kernels that are not in its cache are compiled by processes of their own (this file, run as a
script), which leave them in the cache. They import Triton only, and need no device.

Triton's pass `coalesce` chooses how many neighbouring numbers a thread reads at once. Where a
program has as many numbers as threads there is nothing to choose, and the pass leaves the kernel as
it is (with Triton 3.6 the PTX is the same byte for byte). It walks the whole kernel for every load
and store, so that it was nearly all of the time that long betting took to compile.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import linecache
import os
import pickle
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

WORKERS = 16
"""Processes that compile at the same time, at most."""
CACHED = 0.1
"""Seconds. A kernel that takes longer was not in Triton's cache."""
_HERE = threading.local()


class Job(NamedTuple):
    """A kernel and what it is compiled for. For a tensor stands the kind of its numbers."""

    kernel: Any
    kinds: list[Any]
    grid: tuple[int, ...]
    options: dict[str, Any]

    def compile(self) -> None:
        """Compile it, or load it from Triton's cache, without running it."""
        with one_number_per_thread(self.options):
            self.kernel.warmup(*self.kinds, grid=self.grid, **self.options)

    @property
    def text(self) -> list[str]:
        """The lines of its file."""
        return linecache.getlines(self.kernel.fn.__code__.co_filename)


# A pass that changes nothing -----------------------------------------------------------------
@contextmanager
def one_number_per_thread(options: dict[str, Any]) -> Iterator[None]:
    """Compile without the pass meanwhile, in this thread, if a kernel's options say so."""
    _HERE.skips = options.get("BLOCK") == 32 * options["num_warps"]
    try:
        yield
    finally:
        _HERE.skips = False


def let_skip() -> None:
    """Let Triton ask whether the pass is wanted, in versions that have it where 3.6 does."""
    try:
        passes = importlib.import_module("triton._C.libtriton").passes.ttgpuir
        coalesce = passes.add_coalesce
    except (ImportError, AttributeError):
        return

    def add_coalesce(manager: object) -> None:
        if not getattr(_HERE, "skips", False):
            coalesce(manager)

    passes.add_coalesce = add_coalesce


# Kernels from text ---------------------------------------------------------------------------
def build(source: str, name: str, triton: Any) -> Any:
    """A kernel from its text; Triton reads the text again by way of `linecache`."""
    text = source.lstrip("\n")
    file = f"<subgame {name} {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"tl": triton.language, "triton": triton, "__name__": "subgame.written"}
    exec(compile(text, file, "exec"), scope)
    return triton.jit(scope[name])


# Several processes ---------------------------------------------------------------------------
def compile_all(jobs: list[Job]) -> None:
    """Have kernels ready to run. An error comes again when they are run, with all there is to say.

    They are loaded one by one, short ones first. From the first one on that had to be compiled, the
    others are compiled by processes. The very first also takes what Triton needs to start.
    """
    left = deque(sorted(jobs, key=lambda job: len(job.text)))
    for k in range(len(left)):
        began = time.perf_counter()
        with suppress(Exception):
            left.popleft().compile()
        if k > 0 and time.perf_counter() - began > CACHED:
            break
    if not left:
        return
    from subgame.memory import cores  # the processes import Triton only

    left.reverse()
    workers = min(len(left), WORKERS, cores())
    with ThreadPoolExecutor(workers) as pool:
        for _ in range(workers):
            pool.submit(_have_compiled, left)


def _have_compiled(left: deque[Job]) -> None:
    """Send jobs to a process, and load what it compiled; what it could not is compiled here."""
    command = [sys.executable, "-P", __file__]
    paths = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=paths
    )
    assert process.stdin is not None
    assert process.stdout is not None
    while (job := _next(left)) is not None:
        with suppress(OSError):  # where the process has ended
            pickle.dump(_sent(job), process.stdin)
            process.stdin.flush()
            process.stdout.readline()
        with suppress(Exception):
            job.compile()
    with suppress(OSError):
        process.stdin.close()
    process.wait()


def _next(left: deque[Job]) -> Job | None:
    """The next job; None when other threads have taken all."""
    try:
        return left.popleft()
    except IndexError:
        return None


def _sent(job: Job) -> tuple[Any, ...]:
    """A job as a process reads it, which has no PyTorch."""
    file = job.kernel.fn.__code__.co_filename
    text = "".join(job.text) if file.startswith("<") else ""
    kinds = [(type(kind).__module__ == "torch", str(kind), kind) for kind in job.kinds]
    plain = [(name, None) if tensor else (None, kind) for tensor, name, kind in kinds]
    active = importlib.import_module("triton.runtime").driver.active
    target = active.get_current_target()
    where = target.backend, target.arch, target.warp_size, _own_hash()
    return where, file, job.kernel.fn.__name__, text, plain, job.grid, job.options


def _own_hash() -> str:
    """Triton's hash of its own files, which takes up to a second; "" where it has none."""
    made = getattr(importlib.import_module("triton.runtime.cache"), "triton_key", None)
    return made() if made else ""


class NoDevice:
    """Triton's driver in a process that only compiles, for a device of the process above."""

    def __init__(self, target: Any) -> None:
        self.target = target

    def get_current_target(self) -> Any:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int) -> int:
        return 0


def _received(sent: tuple[Any, ...]) -> Job:
    """A job in the process that compiles it."""
    (*where, own_hash), file, name, text, plain, grid, options = sent
    if own_hash:
        cache = importlib.import_module("triton.runtime.cache")
        setattr(cache, "triton_key", lambda: own_hash)  # noqa: B010
    compilers = importlib.import_module("triton.backends.compiler")
    runtime = importlib.import_module("triton.runtime")
    runtime.driver.set_active(NoDevice(compilers.GPUTarget(*where)))
    mocked = importlib.import_module("triton.runtime.jit").MockTensor
    if text:
        kernel = build(text, name, importlib.import_module("triton"))
    else:
        spec = importlib.util.spec_from_file_location("subgame_kernels", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        kernel = getattr(module, name)
    return Job(kernel, [mocked(kind) if kind else value for kind, value in plain], grid, options)


def main() -> None:
    """Compile what is sent, and answer with a line each time."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what compilers print
    let_skip()
    with suppress(EOFError):
        while True:
            job = _received(pickle.load(sys.stdin.buffer))
            with suppress(Exception):
                job.compile()
            answers.write(b"\n")
            answers.flush()


if __name__ == "__main__":
    main()
