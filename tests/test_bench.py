"""The benchmark's lines, table and processes; no figure is compared with its bar here."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from subgame.bench import contenders
from subgame.bench import play as instruments
from subgame.bench import small_games as bench
from subgame.errors import SubgameError
from subgame.papers.report import machine

KEYS = {"work", "ours", "unit", "peers", "best_peer", "ratio", "bar", "bar_met", "notes"}
FACTOR = bench.Work("leduc, CFR+ iteration", "leduc", "iteration", times=30)
BOUND = bench.Work("liar's dice, peak memory", "liar's dice", "memory", "bytes", below=200e6)
BUILD = bench.Work("leduc, build", "leduc", "build")


def fake(work: bench.Work, ours: float | str, **peers: float | str) -> dict[str, Any]:
    return bench._row(work, {bench.OURS: ours, **peers})


def text(rows: list[dict[str, Any]], width: int = 200) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(bench.table(rows))
    return out.getvalue()


def test_the_ratio_is_the_best_peer_over_ours() -> None:
    row = fake(FACTOR, 0.001, OpenSpiel=0.09, LiteEFG=0.05, Other="it is not installed")
    assert set(row) == KEYS
    assert row["peers"] == {"OpenSpiel": 0.09, "LiteEFG": 0.05, "Other": None}
    assert row["best_peer"] == "LiteEFG"
    assert row["ratio"] == pytest.approx(50)
    assert row["bar_met"] is True
    assert row["notes"] == {"Other": "it is not installed"}
    assert fake(FACTOR, 0.001, LiteEFG=0.029)["bar_met"] is False


def test_a_bar_over_peers_cannot_be_told_without_one() -> None:
    row = fake(FACTOR, 0.001, LiteEFG="it is not installed")
    assert (row["best_peer"], row["ratio"], row["bar_met"]) == (None, None, None)
    assert row["bar"] == ">= 30x best peer"


def test_an_upper_bound_needs_no_peer() -> None:
    assert fake(BOUND, 150e6)["bar_met"] is True
    assert fake(BOUND, 200e6, LiteEFG=500e6)["bar_met"] is False
    assert fake(BOUND, 150e6)["bar"] == "< 200 MB"


def test_a_row_for_information_has_no_bar() -> None:
    row = fake(BUILD, 0.2, OpenSpiel=0.1)
    assert (row["bar"], row["bar_met"], row["ratio"]) == ("", None, 0.5)


def test_what_we_fail_at_misses_the_bar() -> None:
    row = fake(BOUND, "MemoryError: ", LiteEFG=1.0)
    assert (row["ours"], row["ratio"], row["bar_met"]) == (None, None, False)
    assert fake(BUILD, "MemoryError: ")["bar_met"] is None
    assert row["notes"] == {bench.OURS: "MemoryError: "}


def test_the_table_shows_every_row_and_why_figures_are_missing() -> None:
    rows = [
        fake(FACTOR, 42e-6, OpenSpiel=0.016, LiteEFG="not done in 25 s"),
        fake(BOUND, 250e6, OpenSpiel=300e6, LiteEFG="not done in 25 s"),
        fake(BUILD, 0.12, OpenSpiel="[odd]", LiteEFG=0.4),
    ]
    shown, narrow = text(rows), text(rows, width=60)
    for part in ("42 µs", "16 ms", "381x", "met", "250 MB", "missed", "120 ms", "OpenSpiel: [odd]"):
        assert part in shown
        assert part in narrow
    note = "LiteEFG: not done in 25 s (leduc, CFR+ iteration; liar's dice, peak memory)"
    assert note in shown
    assert note in " ".join(narrow.split())  # it may be wrapped
    assert max(len(line) for line in narrow.splitlines()) <= 60


def test_a_table_without_rows_has_its_headings() -> None:
    shown = text([])
    for heading in ("work", bench.OURS, "best peer / ours", "bar"):
        assert heading in shown
    assert "│" not in shown


def test_the_machine_names_every_version() -> None:
    result = machine(bench.VERSIONS)
    assert {"platform", "cpus", "python", *bench.VERSIONS} == set(result) - {"processor"}
    assert all(isinstance(value, str) for value in result.values())


def test_every_work_is_named_once_and_its_game_is_known() -> None:
    names = [work.name for work in bench.WORKS]
    assert len(set(names)) == len(names)
    assert {work.game for work in bench.WORKS} == set(contenders.GAMES)
    assert set(contenders.CONTENDERS) == {bench.OURS, *bench.PEERS}


@pytest.mark.parametrize("quick", [False, True])
def test_rows_come_in_order_whatever_the_processes_answer(
    monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    asked: list[tuple[str, str, str]] = []

    def measure(who: str, game: str, tasks: list[str], limit: float) -> dict[str, float | str]:
        asked.extend((who, game, task) for task in tasks)
        return dict.fromkeys(tasks, 2.0 if who != bench.OURS else 1.0)

    monkeypatch.setattr(bench, "measure", measure)
    messages: list[str] = []
    rows = bench.run(quick=quick, progress=messages.append)
    names = [work.name for work in bench.WORKS]
    assert [row["work"] for row in rows] == [n for n in names if not quick or n != names[9]]
    assert all(set(row) == KEYS and row["ours"] == 1.0 for row in rows)
    assert all(set(row["peers"]) == set(bench.PEERS) for row in rows)
    assert len(set(asked)) == len(asked)
    assert all(messages)
    long = [a for a in asked if a[0] != bench.OURS and a[2].startswith("to ")]
    assert bool(long) is not quick
    for row in rows:  # a figure or a note
        assert {who for who, value in row["peers"].items() if value is None} == set(row["notes"])


def test_one_work_alone_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "PEERS", ())
    messages: list[str] = []
    (row,) = bench.run("Leduc, CFR+ iter", quick=True, progress=messages.append)
    assert row["work"] == "leduc, CFR+ iteration"
    assert row["notes"] == {}
    assert row["ours"] > 0
    assert row["peers"] == {}
    assert messages == ["leduc: subgame, iteration"]


def test_an_unknown_work_is_named() -> None:
    with pytest.raises(SubgameError, match="'chess'"):
        bench.run("chess")


def test_a_process_that_fails_is_a_note() -> None:
    answers = bench.measure("nobody", "leduc", ["iteration"], 600)
    assert answers == {"iteration": "KeyError: 'nobody'"}
    answers = bench.measure(bench.OURS, "leduc", ["iteration", "lp"], 0.001)
    assert answers == dict.fromkeys(["iteration", "lp"], "not done in 0 s")
    answers = bench.measure(bench.OURS, "no game", ["lp"], 600)
    assert answers == {"lp": "KeyError: 'no game'"}


def test_a_missing_peer_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "LiteEFG.py").write_text("import a_module_nobody_has\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    answers = bench.measure("LiteEFG", "leduc", ["build"], 60)
    assert answers == {"build": "a_module_nobody_has is not installed"}


def test_instruments_stand_beside_what_they_should_be() -> None:
    rows = [instruments._row("LBR", 750.0, "mbb/h", exact=750)]
    rows += [instruments._row("speed", 1398.2, "hands/s", at_least=1000)]
    rows += [instruments._row("AIVAT", 97.5, "%", p_value=0.9)]
    out = io.StringIO()
    Console(file=out, width=100).print(instruments.table({"seed": 1, "lbr": rows}))
    for text in ("= 750", "≥ 1,000", "1,398", "p = 0.9", instruments.TITLES["lbr"]):
        assert text in out.getvalue()
    with pytest.raises(SubgameError, match="'chess'"):
        instruments.run("chess")
