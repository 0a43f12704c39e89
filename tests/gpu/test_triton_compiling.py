"""Kernels that other processes compile: they are in Triton's cache afterwards, for this process."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
triton = pytest.importorskip("triton", reason="Triton is not installed")

from subgame.engines.torch import compiling  # noqa: E402

TEXT = """
def double(x, N, BLOCK: tl.constexpr, DT: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x + at, mask=at < N, other=0.0).to(DT)
    tl.store(x + at, y * FACTOR, mask=at < N)
"""


def job(factor: float) -> compiling.Job:
    """A small kernel, for a device that need not be there."""
    kernel = compiling.build(TEXT.replace("FACTOR", repr(factor)), "double", triton)
    options: dict[str, Any] = {"BLOCK": 128, "DT": triton.language.float32, "num_warps": 4}
    return compiling.Job(kernel, [torch.float32, 1000], (8,), options)


def test_another_process_compiles_what_this_one_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache has a kernel for each job, and loading them adds none: the keys are the same."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
    monkeypatch.setattr(type(triton.runtime.driver), "active", compiling.NoDevice(target))
    jobs = [job(2.0), job(3.0)]
    with monkeypatch.context() as context:
        loaded: list[compiling.Job] = []
        context.setattr(compiling.Job, "compile", lambda job: loaded.append(job))
        compiling._have_compiled(deque(jobs))
        assert loaded == jobs
    files = set(tmp_path.rglob("*"))
    assert len([file for file in files if file.suffix == ".cubin"]) == len(jobs)
    compiling.compile_all(jobs)
    assert set(tmp_path.rglob("*")) == files
