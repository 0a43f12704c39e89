"""What continues in a file: foreign files stay as they are, and one process writes at a time."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import pytest

from subgame import memory
from subgame.blueprints.run import train
from subgame.errors import SubgameError, UnlockedWarning
from subgame.papers.cells import Cells
from subgame.play import match
from subgame.play.log import read_log
from subgame.tree import one_writer
from subgame.tree.files import check_replaceable, write_tensors
from subgame.tree.one_writer import InUseError, OnlyWriter
from writers import FOREIGN, TINY, WRITERS, holding

OTHERS = {
    "one line without an end": b"thesis",
    "one line": b"thesis\n",
    "a brace": b"{",
    "JSON": b'{"name": "thesis", "version": "1"}\n',
    "JSON without an end": b'{"format": "thesis"',
    "a list": b"[1, 2]\n",
    "text": b"thesis\n\nchapter one\nchapter two",
    "bytes": bytes(range(256)) * 40,
}
LINES = ("match", "report", "fig5", "acpc")


@pytest.mark.parametrize("contents", OTHERS)
@pytest.mark.parametrize("writer", FOREIGN)
def test_a_file_of_the_users_stays_as_it_is(writer: str, contents: str, tmp_path: Path) -> None:
    path = tmp_path / "thesis"
    path.write_bytes(OTHERS[contents])
    with pytest.raises(SubgameError, match="thesis"):
        FOREIGN[writer](path)
    assert path.read_bytes() == OTHERS[contents]
    assert [file.name for file in tmp_path.iterdir()] == ["thesis"]


@pytest.mark.parametrize("writer", ["match", "acpc", "report", "solve", "cells", "fig5"])
def test_an_empty_file_is_begun_and_gone_on_with(writer: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    if writer != "solve":  # which would continue from it
        path.touch()
    WRITERS[writer](path)
    first = path.read_bytes()
    assert first
    WRITERS[writer](path)
    if writer != "solve":  # which counts its seconds
        assert path.read_bytes() == first


@pytest.mark.parametrize("writer", WRITERS)
def test_a_second_process_is_told_who_writes(writer: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    with holding(path) as other:
        says = rf"log is in use by process {other.pid} on \S+ since \d{{4}}-.* UTC: -c "
        with pytest.raises(InUseError, match=says):
            WRITERS[writer](path)
        assert not path.exists()
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
    if writer not in ("fig4", "fig5", "blueprint"):  # which take longer; the lock is the same
        WRITERS[writer](path)
        assert path.exists()
    with OnlyWriter(path):
        pass
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("writer", LINES)
def test_a_first_line_that_was_cut_off_is_written_again(writer: str, tmp_path: Path) -> None:
    path, whole = tmp_path / "log", tmp_path / "whole"
    WRITERS[writer](whole)
    head = whole.read_bytes().splitlines()[0]
    if writer != "fig5":  # which has no head
        path.write_bytes(head[: len(head) * 3 // 4])
        WRITERS[writer](path)
        assert path.read_bytes().startswith(head + b"\n")
    path.write_bytes(head[:8])
    with pytest.raises(SubgameError):
        WRITERS[writer](path)
    assert path.read_bytes() == head[:8]


def test_a_hand_that_is_twice_in_a_log_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    match("kuhn", ["uniform", "call"], hands=6, log=log)
    text = log.read_bytes()
    log.write_bytes(text + text.splitlines(keepends=True)[3])
    says = r"has hand 2 twice, in lines 4 and 8; two processes have written it"
    with pytest.raises(SubgameError, match=says):
        match("kuhn", ["uniform", "call"], hands=9, log=log)
    with pytest.raises(SubgameError, match=says):
        read_log(log)


def test_a_line_that_was_cut_off_does_not_count(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    match("kuhn", ["uniform", "call"], hands=6, log=log)
    whole = log.read_bytes()
    for cut in (1, 20):
        log.write_bytes(whole[:-cut])
        match("kuhn", ["uniform", "call"], hands=6, log=log)
        assert log.read_bytes() == whole


def test_the_lock_is_no_file_of_the_users(tmp_path: Path) -> None:
    path, lock = tmp_path / "log", tmp_path / ".log.lock"
    lock.write_text("mine")
    with pytest.raises(SubgameError, match=r"\.log\.lock is no lock of subgame"):
        OnlyWriter(path)
    assert lock.read_text() == "mine"


def test_names_of_one_file_share_a_lock(tmp_path: Path) -> None:
    real, link = tmp_path / "log", tmp_path / "link"
    link.symlink_to(real)
    with (
        OnlyWriter(real),
        pytest.raises(InUseError, match=f"link is in use by process {os.getpid()}"),
    ):
        OnlyWriter(link)


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(one_writer, "_lock", refuse)
    with pytest.warns(UnlockedWarning, match="cannot be locked here .No locks available."):
        match("kuhn", ["uniform", "call"], hands=4, log=tmp_path / "log")
    assert len(read_log(tmp_path / "log")[1]) == 4


def test_only_our_own_are_replaced_without_being_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    for kind, says in (("subgame-old-1", ""), ("other", "is not replaced")):
        write_tensors(path, {}, {"format": kind})
        if says:
            with pytest.raises(SubgameError, match=says):
                check_replaceable(path, "subgame-old-2", "an old file")
        else:
            check_replaceable(path, "subgame-old-2", "an old file")


def test_cells_of_the_results_are_known() -> None:
    """The files in docs/results are what --keep continues from."""
    files = list((Path(__file__).parents[1] / "docs/results").glob("*.cells.json"))
    assert len(files) > 2
    assert all(Cells(file).results for file in files)


def test_a_training_is_not_begun_anew_over_its_checkpoint(tmp_path: Path) -> None:
    out, checkpoint = tmp_path / "tiny.safetensors", tmp_path / "tiny.ckpt"
    train(TINY, out, checkpoint=checkpoint)
    before = checkpoint.read_bytes()
    with pytest.raises(
        SubgameError, match=r"has a training of 2 iterations. Continue it with --re"
    ):
        train(TINY, out, checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before
    assert train(TINY, out, checkpoint=checkpoint, resume=True).card["iterations"] == 2


def test_processes_are_bounded_by_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 5.5 * 2**30)
    monkeypatch.setattr(memory, "cores", lambda: 64)
    assert [memory.most_processes(many, 2**30) for many in (1, 3, 300, 10**9, None)] == [
        1,
        3,
        5,
        5,
        5,
    ]
    assert memory.most_processes(300, 2**20) == 64
    assert memory.most_processes(300, 2**40) == 1
