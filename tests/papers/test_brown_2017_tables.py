"""Tables 1 and 3 to 5 of Brown & Sandholm 2017, small: cells, resuming and the report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

from brown2017_hours import hours, measured  # noqa: E402
from subgame.abstraction import Recipe  # noqa: E402
from subgame.errors import SubgameError  # noqa: E402
from subgame.papers import KEYS, Report  # noqa: E402
from subgame.papers import brown2017_table2 as table2  # noqa: E402
from subgame.papers import brown2017_tables as tables  # noqa: E402
from subgame.papers.cells import Cells  # noqa: E402
from subgame.papers.last_street import LastStreet  # noqa: E402

HOW = tables.Settings(first=30, iterations=30, quick=True)
FEW = {name: tables.ROWS[name] for name in ("Unsafe", "Resolve", "Maxmargin")}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables") / "cells.json"


def short(monkeypatch: pytest.MonkeyPatch) -> None:
    bets = "preflop: none; flop: 1x / cap 1"
    monkeypatch.setattr(tables, "QUICK", {**tables.QUICK, "bets": bets})
    monkeypatch.setattr(tables, "QUICK_COUNTS", (8,))
    monkeypatch.setattr(tables, "ROWS", FEW)


def test_cells_are_kept_one_by_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short(monkeypatch)
    evaluate = LastStreet.evaluate

    def interrupted(self: Any, gadget: Any, *args: Any) -> Any:
        if gadget.name == "maxmargin":
            raise KeyboardInterrupt
        return evaluate(self, gadget, *args)

    key = "brown2017-table3"
    monkeypatch.setattr(LastStreet, "evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tables.compute(key, HOW, Cells(file), "torch")
    assert len(Cells(file).results) == 3  # the blueprint, Unsafe and Resolve
    done = []

    def counted(self: Any, gadget: Any, *args: Any) -> Any:
        done.append(gadget.name)
        return evaluate(self, gadget, *args)

    monkeypatch.setattr(LastStreet, "evaluate", counted)
    tables.compute(key, HOW, Cells(file), "torch")
    assert done == ["maxmargin"] * 2
    result = tables.compared(key, HOW, Cells(file))
    ours = {line["quantity"].split(": ")[1]: line["ours"] for line in result.rows[:4]}
    assert ours["Resolve"] < ours["Blueprint"]
    assert ours["Maxmargin"] < ours["Blueprint"]
    assert result.rows[4]["quantity"] == "nlfh-small, exact: Blueprint"
    assert result.rows[4]["ours"] < ours["Resolve"] / 5
    assert "of the blueprint" in result.rows[1]["note"]
    made = Report(key, "", "", result.rows, result.data, "", 0, result.settings)
    assert made.text()


def test_every_key_has_its_columns() -> None:
    assert set(tables.KEYS) <= set(KEYS)
    full = tables.Settings()
    for key in tables.KEYS:
        for column in tables.columns(key, full):
            paper = tables.FIGURES[column.game]
            assert column.count in (*paper, 0)
    assert len(tables.columns("brown2017-table1", full)) == 6
    assert all(len(row) == 10 for game in tables.FIGURES.values() for row in game.values())
    assert tables.FIGURES[tables.LARGE][30000][1] == 396.8


def test_cells_of_other_settings_stay() -> None:
    column = tables.columns("brown2017-table3", HOW)[0]
    others = (
        tables.Settings(first=30, iterations=31, quick=True),
        tables.Settings(Recipe("emd"), first=30, iterations=30, quick=True),
        tables.Settings(Recipe(seed=1), first=30, iterations=30, quick=True),
    )
    keys = {column.key(how, "Resolve") for how in (HOW, *others)}
    assert len(keys) == 4


def test_a_cell_is_kept_by_seat(tmp_path: Path) -> None:
    """A seat that was computed is not computed again; both make the cell."""
    cells = Cells(tmp_path / "cells.json")
    assert cells.lacks("a | b") == [0, 1]
    cells.put("a | b", {"1": {"won": 2.0, "margin": -1.0, "seconds": 3.0}})
    cells = Cells(tmp_path / "cells.json")
    assert cells.lacks("a | b") == [0]
    cells.put("a | b", {"0": {"won": 4.0, "margin": 0.5, "seconds": 1.0}})
    assert cells.lacks("a | b") == []
    assert cells.results["a | b"] == {
        "mbb/h": 30.0,
        "per seat, mbb/h": [40.0, 20.0],
        "seconds": 4.0,
        "smallest margins, chips": [0.5, -1.0],
    }


def test_table_2_is_less_the_value_of_the_bet() -> None:
    """Seats won 3 and -1 chips where the game is worth 2 and -2: 1 chip each, 10 mbb/h."""
    cells, steps = Cells(None, "here"), table2.FULL
    seats = dict.fromkeys(table2.PRINTED, (4.0, 0.0))
    seats |= {"Blueprint": (0.1, 0.1), "Value of the bet": (2.0, -2.0), "Resolve": (3.0, -1.0)}
    for name, won in seats.items():
        for p in (0, 1):
            cells.put(steps.key(name), {str(p): {"won": won[p], "gap": 0.01, "seconds": 1.0}})
    result = table2.compared(steps, cells)
    assert result.data["mbb/h"] == {
        name: pytest.approx(10 if name == "Resolve" else 20) for name in table2.PRINTED
    }
    quantities = {line["quantity"]: line for line in result.rows}
    assert quantities["Resolve"]["paper"] == pytest.approx(1.502)
    assert quantities["translation against the best nested row"]["ours"] == pytest.approx(2)
    assert result.settings["cells made by"] == ["here"]


def test_table_2_of_one_row_by_another_schedule() -> None:
    """The value of the bet is the game's: it is not computed again for another schedule."""
    cells, name = Cells(None, "here"), "Unsafe (expensive)"
    steps = replace(table2.FULL, schedule="cfr+", expensive=2400)
    assert steps.key(table2.VALUE) == table2.FULL.key(table2.VALUE)
    assert steps.key(name) != table2.FULL.key(name)
    won = {"Blueprint": (0.1, 0.1), "Value of the bet": (2.0, -2.0), name: (3.0, -1.0)}
    for key, seats in won.items():
        for p in (0, 1):
            cells.put(steps.key(key), {str(p): {"won": seats[p], "gap": 0.01, "seconds": 1.0}})
    table2.compute(steps, cells, lambda what, share: None, table2.named(name))
    result = table2.compared(steps, cells, table2.named(name))
    assert result.data["mbb/h"] == {name: pytest.approx(10)}
    assert result.settings["schedule"] == "cfr+"
    with pytest.raises(SubgameError, match="row of Table 2"):
        table2.named("Unsafe (expansive)")


def test_hours_are_iterations_times_cells() -> None:
    """Three blueprints of 400 iterations, and 11 techniques in both seats of each column."""
    assert hours(tables.SMALL, 3600.0) == 3 * (400 + 22 * 400)
    assert hours(tables.LARGE, 3600.0) == 3 * (400 + 22 * 200)
    assert measured(tables.SMALL, 1, **tables.QUICK) > 0


def test_tables_share_columns() -> None:
    """Fig. 7 needs a blueprint of Table 3, and Table 1 has no cells of its own."""
    full = tables.Settings()
    both = tables.merged(
        [*tables.columns("brown2017-table3", full), *tables.columns("brown2017-fig7", full)]
    )
    assert [column.count for column in both] == [200, 2000, 30000, 0]
    assert set(both[2].rows) == {*tables.ROWS, *tables.SCALED}
    every = {
        column.key(full, name)
        for k in (3, 4, 5)
        for column in tables.columns(f"brown2017-table{k}", full)
        for name in column.rows
    }
    for column in tables.columns("brown2017-table1", full):
        assert every >= {column.key(full, name) for name in column.rows}


def test_classes_of_boards_have_enough_buckets() -> None:
    full = tables.Settings()
    result = [full.recipe_for(count).textures for count in (100, 200, 2000, 30000)]
    assert result == [None, 2, 20, 60]


def test_what_is_missing_is_left_out_of_a_report() -> None:
    """The cells that are committed: all of Tables 3 to 5, and what the documents say of them."""
    kept = Cells(Path(__file__).parents[2] / "docs/results/brown2017.cells.json")
    rows = {
        key: tables.compared(f"brown2017-{key}", tables.Settings(), kept).rows
        for key in ("table1", "table3", "table4", "table5", "fig7")
    }
    many = {key: len(lines) for key, lines in rows.items()}
    assert many == {"table1": 43, "table3": 41, "table4": 38, "table5": 38, "fig7": 8}
    tables_3_to_5 = (*rows["table3"], *rows["table4"], *rows["table5"])
    ours = {line["quantity"]: line["ours"] for line in tables_3_to_5}
    best = [name for name in ours if name.endswith("+ Distributional (not split)")]
    assert len(best) == 9
    for name in best:
        column = name.split(": ")[0]
        assert ours[f"{column}: Adaptive (not in the paper)"] < ours[name]
        assert ours[name] <= ours[f"{column}: Reach-Estimate + Distributional"]
        assert ours[f"{column}: Reach-Maxmargin"] <= ours[f"{column}: Maxmargin"]
        assert ours[f"{column}: Maxmargin"] < ours[f"{column}: Resolve"]
        assert ours[f"{column}: Resolve"] < ours[f"{column}: Blueprint"]
