"""Memory that really runs out: the answer is a sentence, and what was done is kept.

A limit on the address space (`RLIMIT_AS`) stands for a machine with little memory.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subgame as sg
from recipes import FLOP
from subgame.blueprints.training import Trainer
from subgame.memory import available
from subgame.solve.solver import Run

resource: Any = pytest.importorskip("resource", reason="there are no limits on this system")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
CODE = """
import resource, sys
{before}
from subgame.memory import PROCESS
used = int(PROCESS.read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {more}, used + {more}))
from subgame.cli import main
sys.exit(main({words!r}))
"""
NUMBA = "import numba, rich.progress, subgame.solve.solver, subgame.blueprints.training"
"""What takes address space of its own when it is imported."""


def limited(more: int, *words: str, before: str = NUMBA) -> subprocess.CompletedProcess[str]:
    """A command that may map `more` bytes beside the libraries."""
    code = CODE.format(before=before, more=more, words=list(words))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def sentence(answer: subprocess.CompletedProcess[str]) -> str:
    """The one sentence of a command that failed."""
    assert answer.returncode == 2, answer.stderr
    assert "Traceback" not in answer.stderr
    said = answer.stderr.splitlines()[-1]
    assert said.endswith(".")
    return said


def test_the_address_space_counts_as_memory() -> None:
    code = "import resource; from subgame.memory import available; "
    code += "resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)); print(available())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < float(out.stdout) < 2**30
    assert available() > 0


def test_a_game_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    answer = limited(24 * 2**20, "solve", "liars-dice(faces=6)")
    assert "of memory that are available" in sentence(answer)


def test_libraries_that_do_not_fit_are_a_sentence() -> None:
    loaded = "import numpy, rich.progress, subgame.cli, subgame.tree.compile"
    answer = limited(8 * 2**20, "solve", "kuhn", "--schedule", "lp", before=loaded)
    assert "There is not enough memory" in sentence(answer)


@pytest.mark.parametrize("most", [100, 140, 180, 250])
def test_less_than_the_libraries_need_is_a_sentence(most: int) -> None:
    """OpenBLAS would end the process, or send it SIGINT."""
    words = [sys.executable, "-m", "subgame", "solve", "kuhn"]
    limit = (most * 2**20, most * 2**20)
    answer = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
    )
    assert "There is not enough memory" in sentence(answer)


def test_a_blueprint_that_does_not_fit_is_refused_and_its_checkpoint_is_kept(
    tmp_path: Path,
) -> None:
    recipe, saved = tmp_path / "a.toml", tmp_path / "a.training.safetensors"
    recipe.write_text(
        'name = "a"\n[game]\nstack = 600\n[bets]\nall = "0.5x 1x a / cap 3"\n[buckets]\n'
        "flop = 2000\nturn = 2000\nriver = 2000\n[training]\niterations = 3\n"
    )
    saved.write_text("a checkpoint of before")
    out = str(tmp_path / "b.safetensors")
    answer = limited(64 * 2**20, "blueprint", str(recipe), "--iterations", "3", "--out", out)
    assert "of memory that are available" in sentence(answer)
    assert saved.read_text() == "a checkpoint of before"
    assert not [path for path in tmp_path.iterdir() if ".part" in path.name]


# Memory that runs out in the middle --------------------------------------------------------------
def failing(after: int, call: Callable[..., Any]) -> Callable[..., Any]:
    """The function until it has been called so often; then there is no memory."""
    left = [after]

    def replaced(*arguments: Any, **more: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise MemoryError
        return call(*arguments, **more)

    return replaced


def test_a_solve_keeps_its_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, path = sg.compile(sg.games.load("kuhn")), tmp_path / "run.ckpt"
    monkeypatch.setattr("subgame.solve.solver.SAVE_EVERY", -1.0)  # after every slice
    with monkeypatch.context() as short:
        short.setattr(Run, "advance", failing(6, Run.advance))
        with pytest.raises(MemoryError):
            sg.solve(tree, iterations=10_000, checkpoint=path)
    further = sg.solve(tree, iterations=10_000, resume=path)
    whole = sg.solve(tree, iterations=10_000)
    assert further.iterations == whole.iterations
    assert all(map(np.array_equal, further.strategy.probs, whole.strategy.probs))


def test_a_checkpoint_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, trainer = tmp_path / "run.safetensors", Trainer(FLOP)
    trainer.save(path)
    before = path.read_bytes()
    monkeypatch.setattr("safetensors.numpy.save_file", failing(0, lambda: None))
    with pytest.raises(MemoryError):
        trainer.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.safetensors"]
