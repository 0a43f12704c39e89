"""A disk that is full, and several processes that write one file: nothing computed is lost."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from cli_helpers import Cli, runner
from matplotlib.figure import Figure
from safetensors import SafetensorError

import subgame as sg
from subgame.errors import NotSavedWarning
from subgame.games.holdem.game import Holdem
from subgame.play import match
from subgame.solve import solver
from subgame.spots import report
from subgame.spots.endgame import load
from subgame.spots.flops import Flop
from subgame.tree.files import replacing, rescue

ENOSPC = "No space left on device"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on a full disk; there is space in the folder for temporary files."""
    folder, elsewhere = tmp_path / "full", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))

    def failing(write: Callable[..., Any], at: int, error: Exception) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            if folder in Path(arguments[at]).parents:
                Path(arguments[at]).write_bytes(b"half of it")
                raise error
            return write(*arguments, **options)

        return wrapped

    # The errors of the two libraries, as they raise them.
    inner = SafetensorError(f"Error while serializing: I/O error: {ENOSPC} (os error 28)")
    outer = OSError(errno.ENOSPC, ENOSPC)
    monkeypatch.setattr(
        safetensors.numpy, "save_file", failing(safetensors.numpy.save_file, 1, inner)
    )
    monkeypatch.setattr(Figure, "savefig", failing(Figure.savefig, 1, outer))
    monkeypatch.setattr(Path, "write_text", failing(Path.write_text, 0, outer))
    return folder


def rescued(name: str) -> Path:
    """The file that was written instead."""
    (result,) = Path(tempfile.gettempdir()).glob(f"subgame-*/{name}")
    return result


SPOT = ("--board", "QsJh2h8d3c", "--pot", "10", "--stack", "5", "--oop", "AA,KK,76s", "--ip", "QQ")
COMMANDS = {
    "solve": ("solve", "kuhn", "--iterations", "20"),
    "refine": ("refine", "kuhn", "uniform", "--at", "depth 2", "--iterations", "20"),
    "limit": ("limit", "kuhn", "uniform", "--at", "depth 2"),
    "endgame": ("endgame", *SPOT, "--iterations", "5"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_strategy_is_shown_and_saved_elsewhere(cli: Cli, full: Path, name: str) -> None:
    out = full / "a.safetensors"
    out.write_bytes(b"what was there before")
    answer = cli(*COMMANDS[name], "--out", str(out))
    assert answer.code == 2
    assert "xploitability" in answer.out
    assert "a.safetensors" not in answer.out  # no next step with a file that is not there
    said = answer.err.splitlines()[-1]
    assert said.startswith(f"{out} cannot be written: ")
    assert ENOSPC in said
    assert said.endswith(f" It was saved as {rescued('a.safetensors')} instead.")
    assert [file.name for file in full.iterdir()] == ["a.safetensors"]
    assert out.read_bytes() == b"what was there before"
    if name == "endgame":
        load(rescued("a.safetensors"))
    else:
        sg.Strategy.load(rescued("a.safetensors"), sg.compile(sg.games.load("kuhn")))
    assert "out" not in cli(*COMMANDS[name], "--out", str(out), "--json").json()


@pytest.mark.parametrize("name", ["solve", "refine"])
def test_a_picture_is_saved_elsewhere(cli: Cli, full: Path, name: str) -> None:
    answer = cli(*COMMANDS[name], "--plot", str(full / "a.png"))
    assert answer.code == 2
    assert "xploitability" in answer.out
    assert ENOSPC in answer.err
    assert rescued("a.png").stat().st_size > 1000
    assert not list(full.iterdir())


def test_a_reproduction_is_saved_elsewhere(cli: Cli, full: Path) -> None:
    answer = cli("reproduce", "coin-toss", "--out", str(full / "results"))
    assert answer.code == 2
    assert "Maxmargin" in answer.out
    assert ENOSPC in answer.err
    assert {file.suffix for file in rescued("results").iterdir()} == {".json", ".png", ".svg"}


def test_a_report_is_saved_elsewhere(cli: Cli, full: Path, tmp_path: Path) -> None:
    turn = str(tmp_path / "turn.safetensors")
    bets = ("--bets", "none", "--iterations", "1")
    assert cli("endgame", "--board", "QsJh2h8d", *SPOT[2:], *bets, "--out", turn).code == 0
    answer = cli("report", turn, "--line", "c c", "--out", str(full / "turn.csv"))
    assert (answer.code, "equity_oop" in answer.out) == (2, True)
    assert ENOSPC in answer.err
    assert "equity_oop" in rescued("turn.csv").read_text()


class FullFile(io.FileIO):
    """A file on a disk that is full after 400 bytes."""

    def write(self, data: Any) -> int:
        room = max(0, 400 - os.fstat(self.fileno()).st_size)
        if not room:
            raise OSError(errno.ENOSPC, ENOSPC)
        return super().write(bytes(data)[:room])


def test_a_match_goes_on_without_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log keeps whole hands, and the match continues from them."""
    path = tmp_path / "match.jsonl"
    whole = match("kuhn", ["uniform", "call"], hands=20, seed=1)
    with monkeypatch.context() as disk:
        disk.setattr(Path, "open", lambda self, mode, **how: FullFile(self, mode.replace("b", "")))
        with pytest.warns(NotSavedWarning, match=f"{ENOSPC}. The match goes on"):
            result = match("kuhn", ["uniform", "call"], hands=20, seed=1, log=path)
    assert result.result == whole.result
    lines = path.read_text().splitlines(keepends=True)
    assert 1 < len(lines) < 20
    assert lines[-1].endswith("}\n")
    again = match("kuhn", ["uniform", "call"], hands=20, seed=1, log=path)
    assert again.result == whole.result


def test_a_report_goes_on_without_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def game(flop: str) -> Holdem:
        return sg.holdem.endgame(flop, 20, 10)

    row = {"flop": "AhKd2c", "long": "x" * 400}
    monkeypatch.setattr(report, "flop_row", lambda task, tree: row)
    with monkeypatch.context() as disk:
        disk.setattr(Path, "open", lambda self, mode, **how: FullFile(self, mode.replace("b", "")))
        with pytest.warns(NotSavedWarning, match=f"{ENOSPC}. The report goes on"):
            result = report.flop_report([Flop("AhKd2c", 1)], game, log=tmp_path / "a")
    assert result == [row | {"weight": 1}]
    assert report.logged(tmp_path / "a") == []  # the head alone


def test_a_run_goes_on_without_checkpoints(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the last one is written elsewhere, from where the run continues."""
    monkeypatch.setattr(solver, "SAVE_EVERY", 0.0)
    tree = sg.compile(sg.games.load("kuhn"))
    checkpoint = full / "run.ckpt"
    with pytest.warns(NotSavedWarning, match=ENOSPC) as said:
        solved = sg.solve(tree, iterations=40, checkpoint=checkpoint)
    assert solved.iterations == 40
    assert any("The run continues." in str(warning.message) for warning in said)
    assert f"It was saved as {rescued('run.ckpt')} instead." in str(said[-1].message)
    assert not list(full.iterdir())
    again = sg.solve(tree, iterations=80, resume=rescued("run.ckpt"))
    whole = sg.solve(tree, iterations=80)
    assert np.array_equal(again.strategy.probs[0], whole.strategy.probs[0])


def test_the_command_goes_on_without_checkpoints(full: Path) -> None:
    """In a process of its own, because pytest shows warnings in its own way."""
    code = (
        "import safetensors, safetensors.numpy, sys\n"
        "def save_file(*given, **options):\n"
        f"    raise safetensors.SafetensorError({ENOSPC!r})\n"
        "safetensors.numpy.save_file = save_file\n"
        "from subgame.cli import main\n"
        f"line = ['solve', 'kuhn', '--iterations', '9', '--checkpoint', {str(full / 'a')!r}]\n"
        "sys.exit(main(line))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "exploitability" in result.stdout
    assert result.stderr.splitlines()[-1] == f"{full / 'a'} cannot be written: {ENOSPC}."
    assert "Warning" not in result.stderr


def test_nowhere_to_write(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = sg.Strategy.uniform(sg.compile(sg.games.load("kuhn")))
    monkeypatch.setattr(tempfile, "tempdir", str(full))
    said = rescue(full / "a.safetensors", strategy.save)
    assert said.startswith(f"{full / 'a.safetensors'} cannot be written")
    assert "instead" not in said


def test_an_error_that_is_not_the_disk_s_is_not_hidden(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "a") as new:
        new.write_text(str(1 / 0))
    assert not list(tmp_path.iterdir())


WRITER = """
import sys, numpy as np
from subgame.tree.files import write_tensors
path, k = sys.argv[1], int(sys.argv[2])
for _ in range(15):
    write_tensors(path, {"a": np.full(20_000, k)}, {"by": str(k)})
"""


def test_three_processes_write_one_file(tmp_path: Path) -> None:
    """Whoever reads it finds one of the files, whole; and nothing else stays in the folder."""
    path, seen = tmp_path / "a.safetensors", set()
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, str(k)]) for k in range(3)]
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            result = safetensors.numpy.load_file(path)["a"]
            assert len(result) == 20_000
            assert (result == result[0]).all()
            seen.add(int(result[0]))
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert len(seen) > 1
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]
