"""Kernels of hold'em run from object code, without Numba; anything odd falls back to Numba."""

from __future__ import annotations

import ast
import platform
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import subgame as sg
from subgame.engines.numba import linux, native, range_loop, ranges
from subgame.engines.numba.native import Blank, Call, Kernel, Packed
from subgame.engines.numba.ranges import NumbaRangeEngine
from subgame.games.holdem.cards import Deck
from subgame.solve.schedule import parse
from subgame.solve.solver import Run
from subgame.tree.ranges.tree import RangeTree

ON_LINUX = sys.platform == "linux" and platform.machine() in linux.MACHINES
"""Where objects are loaded without LLVM."""
KERNELS = (
    (range_loop, "RUN_ITERATIONS"),
    *((ranges, f"RUN_{name}") for name in ("SWEEP", "MATCH", "REACH", "OPPOSING")),
)


@pytest.fixture(scope="module")
def tree() -> RangeTree:
    """A tiny turn."""
    game = sg.holdem.endgame("QsJhThKs", 4, 6, bets="postflop: a", deck=Deck("TJQKA", "hs"))
    tree = sg.compile(game)
    assert isinstance(tree, RangeTree)
    return tree


def solved(tree: RangeTree) -> list[Any]:
    """Numbers of a short solve, by the kernels that solve and evaluate."""
    tree.engines.clear()
    run = Run(tree, parse("dcfr"), threads=1)
    run.advance(3)
    engine = run.engine
    assert isinstance(engine, NumbaRangeEngine)
    average = run.cfr.pair[0].average
    assert isinstance(average, np.ndarray)
    uniform = sg.Strategy.uniform(tree)
    return [
        *(np.asarray(regrets.regret) for regrets in run.cfr.pair),
        engine.behaviour(0, average),
        np.array(sg.exploitability(tree, uniform).per_seat),
    ]


def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that have loaded nothing yet."""
    for module, name in KERNELS:
        old: Kernel = getattr(module, name)
        monkeypatch.setattr(module, name, Kernel(old.module.rpartition(".")[2], old.name))


def same(one: list[Any], two: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


# With Numba and without it -------------------------------------------------------------------
class Recorded:
    """A dispatcher that writes down what it is called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any) -> None:
        self.calls.append(args)


def test_where_there_is_no_entry_numba_gets_plain_tuples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where an entry reports an exception: Numba runs the kernel again, and raises it."""
    recorded, array = Recorded(), np.zeros(3)
    monkeypatch.setattr(Kernel, "dispatcher", recorded)
    for entry in (None, lambda address: 1):
        kernel = Kernel("range_kernels", "run_sweep")
        monkeypatch.setattr(kernel, "_entry", lambda kind, entry=entry: entry)
        kernel(7, Packed((array, (array, 2))))
    assert [call[0] for call in recorded.calls] == [7, 7]
    assert all(call[1][0] is array and call[1][1][0] is array for call in recorded.calls)


@pytest.mark.slow
def test_numba_and_object_code_agree_to_the_last_bit(
    tree: RangeTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = solved(tree)
    monkeypatch.setattr(Kernel, "_entry", lambda self, kind: None)
    fresh(monkeypatch)
    assert same(solved(tree), expected)


SCRIPT = """
import sys
from subgame.cli import main

code = main("endgame --board QsJh2h8d3c --pot 100 --stack 100 --json".split())
unwanted = {"numba", "scipy", *sys.argv[1:]}
assert not [name for name in sys.modules if name.partition(".")[0] in unwanted]
sys.exit(code)
"""


def test_a_river_from_the_shell_imports_neither_numba_nor_scipy(tree: RangeTree) -> None:
    solved(tree)  # what it needs is then compiled
    command = [sys.executable, "-c", SCRIPT, *(["llvmlite", "hashlib"] if ON_LINUX else [])]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# Files ---------------------------------------------------------------------------------------
@pytest.fixture
def kept(tree: RangeTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with copies of the files that `solved` needs, which is the only one in use."""
    read: dict[str, bytes] = {}
    usual = native._read

    def noting(name: str) -> bytes | None:
        code = usual(name)
        if code is not None:
            read[name] = code
        return code

    solved(tree)
    monkeypatch.setattr(native, "_read", noting)
    fresh(monkeypatch)
    solved(tree)
    monkeypatch.setattr(native, "_read", usual)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(native, "private_folder", lambda **options: None)
    assert len(read) == 3
    for name, code in read.items():
        assert native._written(tmp_path / "kept", name, code)
    return tmp_path / "kept"


@pytest.mark.parametrize("damage", ["a bit", "cut", "empty", "foreign", "gone"])
def test_a_file_that_is_not_what_was_written_is_compiled_again(
    tree: RangeTree, kept: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    expected, asked = solved(tree), []
    files = {file.name: file.read_bytes() for file in kept.glob("*.o")}

    def compiled(function: Any, kind: Any, name: str) -> bytes:
        asked.append(function.__name__)
        return next(data for file, data in files.items() if file.startswith(name))[32:]

    monkeypatch.setattr("subgame.engines.numba.objects.object_code", compiled)
    for file in kept.glob("run_match*"):
        data = file.read_bytes()
        broken = bytes([*data[:500], data[500] ^ 1, *data[501:]])
        changed = {"a bit": broken, "cut": data[:-1], "empty": b"", "foreign": b"MZ" + data}
        file.unlink()
        if damage in changed:
            file.write_bytes(changed[damage])
    fresh(monkeypatch)
    assert same(solved(tree), expected)
    assert asked == ["run_match"]
    assert {file.name: file.read_bytes() for file in kept.glob("*.o")} == files  # and kept again


def test_files_of_older_sources_are_removed_when_new_ones_are_written(tmp_path: Path) -> None:
    """And only those: another processor or version has another stem."""
    for name in ("run_match-a-old.o", "run_match-b-old.o"):
        (tmp_path / name).touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
        native._write("run_match-a-new.o", "run_match-a", b"code")
    assert {file.name for file in tmp_path.iterdir()} == {"run_match-a-new.o", "run_match-b-old.o"}


def test_without_a_folder_that_can_be_written_a_private_one_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    native._write("run_match-a-new.o", "run_match-a", b"code")
    assert native._read("run_match-a-new.o") == b"code"
    (folder,) = tmp_path.glob("subgame-*")
    assert str(folder) in caplog.text
    folder.chmod(0o777)  # others could put code there
    assert native._read("run_match-a-new.o") is None


def test_other_versions_and_processors_have_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = native._machine.__wrapped__()
    with monkeypatch.context() as patch:
        patch.setattr(native, "find_spec", lambda name: SimpleNamespace(origin=tmp_path / name))
        (tmp_path / "_version.py").write_text("other")
        assert native._machine.__wrapped__() != here
    with monkeypatch.context() as patch:
        patch.setattr(linux, "processor", lambda: {"flags": "other"})
        assert native._machine.__wrapped__() != here
    monkeypatch.setattr(linux, "processor", dict)  # not Linux
    elsewhere = native._machine.__wrapped__()
    for name in ("get_host_cpu_name", "get_process_triple"):
        with monkeypatch.context() as patch:
            patch.setattr(f"llvmlite.binding.{name}", lambda: "other")
            assert native._machine.__wrapped__() not in (here, elsewhere)


def test_what_linux_says_of_a_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the first core, without what changes while it runs."""
    file = tmp_path / "cpuinfo"
    file.write_text("model\t: 85\ncpu MHz\t: 2499.9\nflags\t\t: fpu abm\n\nmodel\t: 86\n")
    monkeypatch.setattr(linux, "CPUINFO", file)
    assert linux.processor.__wrapped__() == {"model": "85", "flags": "fpu abm"}
    monkeypatch.setattr(linux, "CPUINFO", tmp_path / "none")
    assert linux.processor.__wrapped__() == {}


def test_everything_that_kernels_are_made_of_is_in_the_name_of_their_files() -> None:
    """A change in a module that kernels import must not leave old machine code in use."""
    root = native.HERE.parents[1]
    for name in native.SOURCES:
        if not Path(name).name.startswith(("range_", "simd", "stored")):
            continue
        for node in ast.walk(ast.parse((root / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("subgame."):
                file = str(node.module).removeprefix("subgame.").replace(".", "/") + ".py"
                assert file in native.SOURCES or name.endswith("range_scratch.py"), file


# Object code ---------------------------------------------------------------------------------
def test_a_kernel_that_needs_numbas_runtime_has_no_object_code() -> None:
    """It would end the process when it is loaded without Numba."""
    from subgame.engines.numba.objects import object_code

    def reshapes(array: Any, out: Any) -> None:
        out[0] = array.reshape(1, -1)[0, 0]

    with pytest.raises(AttributeError, match="numba"):
        object_code(reshapes, ("d1", "d1"), "entry")


@pytest.mark.parametrize("loader", [native._load, native._linked], ids=["as it is", "LLVM"])
def test_arguments_arrive_as_they_are_given(loader: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from subgame.engines.numba.objects import object_code

    if loader is native._linked:
        monkeypatch.setattr(linux, "MACHINES", {})

    def sums(number: Any, pair: Any, out: Any) -> None:
        one, (two, more) = pair
        out[0] = number * one[0, 1] + two[1] * more
        out[1] = one.shape[0] * 10 + one.shape[1]
        for row in range(one.shape[0]):
            out[2] += one[row, -1]

    one, two, out = np.arange(6.0).reshape(2, 3), np.array([5, 7], np.int32), np.zeros(3)
    kernel = Kernel("range_kernels", "sums")
    arguments = (3, Packed((one, (two, 2))), out)
    code = object_code(sums, ("", ("d2", ("i1", "")), "d1"), "entry")
    kernel._entries["", native.Kind.of(("d2", ("i1", ""))), "d1"] = native._load(code, "entry")
    kernel(*arguments)
    assert out.tolist() == [3 * 1.0 + 7 * 2, 23.0, 2.0 + 5.0]


@pytest.fixture(scope="module")
def filling() -> bytes:
    """A kernel that calls the C library and has constants of its own."""
    from subgame.engines.numba.objects import object_code

    def fills(out: Any) -> None:
        for k in range(len(out)):
            out[k] = 0.0
        for k in range(min(4, len(out))):
            out[k] += (0.1, 0.3, 0.7, 1.3)[k % 4]

    return object_code(fills, ("d1",), "entry")


@pytest.mark.skipif(not ON_LINUX, reason="elsewhere LLVM loads all objects")
def test_an_object_is_loaded_as_it_is(filling: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_linked", None)
    out = np.full(100, np.nan)
    kernel = Kernel("range_kernels", "fills")
    kernel._entries["d1",] = native._load(filling, "entry")
    kernel(out)
    assert out.tolist() == [0.1, 0.3, 0.7, 1.3] + [0.0] * 96


@pytest.mark.skipif(not ON_LINUX, reason="elsewhere LLVM loads all objects")
def test_objects_of_another_kind_are_left_to_llvm(
    filling: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of other processors or formats, without the function, and cut ones."""
    asked: list[bytes] = []
    usual = native._linked

    def noted(code: bytes, name: str) -> tuple[Any, int]:
        asked.append(code)
        return usual(filling, "entry")

    monkeypatch.setattr(native, "_linked", noted)
    cut = [filling[:length] for length in (0, 4, 64, 200, len(filling) - 1)]
    others = [filling[:18] + b"\x28" + filling[19:], b"\xcf\xfa\xed\xfe" + filling[4:], *cut]
    for code in others:
        native._load(code, "entry")
    native._load(filling, "another")
    assert asked == [*others, filling]
    other = {"ABSOLUTE": dict.fromkeys(linux.MACHINES.values(), 2), "MOVES": {}, "CALLS": ()}
    changes: list[dict[str, Any]] = [other, {"WRITE": 2}, {"sys.platform": "win32"}]
    for change in changes:
        with monkeypatch.context() as patch:
            for name, value in change.items():
                patch.setattr(f"subgame.engines.numba.linux.{name}", value)
            native._load(filling, "entry")
    assert len(asked) == len(others) + 1 + len(changes)


def test_arrays_with_gaps_are_refused() -> None:
    with pytest.raises(ValueError, match="contiguous"):
        Packed(np.zeros((4, 4))[:, 1])


# Calls whose slots are written once ----------------------------------------------------------
def noted(monkeypatch: pytest.MonkeyPatch, call: Call, count: int) -> list[list[int]]:
    """The slots that the entry of a kernel finds, by call."""
    import ctypes

    slots: list[list[int]] = []

    def entry(address: int) -> int:
        slots.append(list((ctypes.c_int64 * count).from_address(address)))
        return 0

    monkeypatch.setattr(call.kernel, "_entry", lambda kind: entry)
    return slots


def test_a_call_has_the_slots_of_its_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a call with all arguments packed; also for arrays that cannot be written."""
    fixed, flat, table = np.arange(3.0), np.arange(4.0), np.zeros((2, 5), np.float32)
    pair = Packed((flat, 2))
    table.flags.writeable = False
    kernel = Kernel("range_kernels", "any")
    form = (Blank(""), (Packed(fixed), Blank("d1")), Blank("f2"), Blank(pair.kind, 3), 8)
    call = Call(kernel, *form)
    slots = noted(monkeypatch, call, 12)
    call(7, flat, table, pair)
    kernel(7, (fixed, flat), table, pair, 8)
    call(9, None, table, pair)
    assert slots[0] == slots[1]
    assert slots[2] == [9, *slots[0][1:3], 0, 0, *slots[0][5:]]
    part = call.bound(7, flat)
    part(table, pair)
    part.bound(table)(pair)
    call(9, None, table, pair)  # it has its own blanks still
    assert slots[3:] == [slots[0], slots[0], slots[2]]


@pytest.mark.parametrize(
    ("item", "error"),
    [
        (np.zeros(4, np.float32), TypeError),
        (np.zeros(4, ">f8"), TypeError),
        (np.zeros((2, 2)), TypeError),
        (np.zeros(8)[::2], ValueError),
    ],
)
def test_a_call_refuses_other_arrays(
    item: Any, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = Call(Kernel("range_kernels", "any"), Blank("d1"))
    slots = noted(monkeypatch, call, 2)
    with pytest.raises(error):
        call(item)
    with pytest.raises(ValueError, match="argument"):
        call()
    with pytest.raises(error):
        call.bound(item)
    with pytest.raises(ValueError, match="argument"):
        call.bound(np.zeros(4), 1)
    assert slots == []


def test_without_an_entry_a_call_gives_numba_its_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded, array = Recorded(), np.zeros(3)
    monkeypatch.setattr(Kernel, "dispatcher", recorded)
    call = Call(Kernel("range_kernels", "any"), (Packed((array, 2)), Blank("d1")), Blank(""))
    monkeypatch.setattr(call.kernel, "_entry", lambda kind: None)
    call(array, 4)
    call(None, 5)
    (one, two), number = recorded.calls[0]
    assert one[0] is array
    assert one[1] == 2
    assert two is array
    assert number == 4
    assert recorded.calls[1][0][1].shape == (0,)
    call.bound(array)(6)
    (_, two), number = recorded.calls[2]
    assert two is array
    assert number == 6


# Object code that the package brings ---------------------------------------------------------
def test_the_number_of_threads_is_not_in_the_name_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    here = native._machine.__wrapped__()
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert native._machine.__wrapped__() == here
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert native._machine.__wrapped__() != here


@pytest.mark.parametrize(
    ("sources", "setting", "features", "expected"),
    [
        ("current", None, native.TARGETS["x86_64-v4"][1], "x86_64-v4"),
        ("current", None, (), "x86_64-v3"),
        ("other", None, (), None),
        ("current", "generic", (), None),
    ],
)
def test_the_best_code_that_the_machine_runs_is_taken(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sources: str,
    setting: str | None,
    features: tuple[str, ...],
    expected: str | None,
) -> None:
    """And none where the sources have changed, or where Numba is told to emit other code."""
    for name in native.TARGETS:
        (tmp_path / name).mkdir()
    (tmp_path / "sources").write_text(native._sources() if sources == "current" else sources)
    monkeypatch.setattr(native, "SHIPPED", tmp_path)
    for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        monkeypatch.delenv(name, raising=False)
    if setting:
        monkeypatch.setenv("NUMBA_CPU_NAME", setting)
    flags = [linux.LINUX.get(name, name) for name in (*native.TARGETS["x86_64-v3"][1], *features)]
    monkeypatch.setattr(linux, "processor", lambda: {"flags": " ".join(flags)})
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(machine="x86_64"))
    assert native._target.__wrapped__() == expected
