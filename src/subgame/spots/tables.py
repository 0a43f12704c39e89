"""`Table`: rows of plain data, which become CSV, JSON or a pandas data frame."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subgame.errors import SubgameError
from subgame.show.html import data_frame
from subgame.tree.files import replacing

if TYPE_CHECKING:
    from pandas import DataFrame


class Table(list[dict[str, Any]]):
    """A list of rows, each a dictionary from column to number or text.

    >>> table = Table([{"hand": "AsAh", "ev": 61.5}, {"hand": "KsKh", "ev": float("nan")}])
    >>> print(table.to_csv(), end="")
    hand,ev
    AsAh,61.5
    KsKh,
    >>> table.to_json()
    '[{"hand": "AsAh", "ev": 61.5}, {"hand": "KsKh", "ev": null}]'
    >>> table.column("ev")[0]
    61.5
    """

    @property
    def columns(self) -> list[str]:
        """The columns of all rows, in the order in which they first occur."""
        return list(dict.fromkeys(name for row in self for name in row))

    def column(self, name: str) -> list[Any]:
        """One column; None where a row does not have it."""
        return [row.get(name) for row in self]

    def to_csv(self) -> str:
        """Text with one line per row, the columns first; numbers that are not known are empty."""
        import csv

        out = io.StringIO()
        writer = csv.DictWriter(out, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _known(value) for name, value in row.items()} for row in self)
        return out.getvalue()

    def to_json(self) -> str:
        """A JSON list with one object per row; numbers that are not known are null."""
        rows = [{name: _known(value) for name, value in row.items()} for row in self]
        return json.dumps(rows, allow_nan=False)

    def to_pandas(self) -> DataFrame:
        """A pandas data frame; an error says what to install if there is no pandas."""
        return data_frame(self, self.columns)

    def to_parquet(self, path: str | Path) -> None:
        """Write a Parquet file; an error says what to install if there is no PyArrow."""
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise SubgameError(
                "A Parquet file needs PyArrow, which is not installed: pip install pyarrow. "
                "CSV and JSON need nothing."
            ) from None
        columns = {name: [_known(value) for value in self.column(name)] for name in self.columns}
        with replacing(path) as new:
            pyarrow.parquet.write_table(pyarrow.table(columns), new)

    def save(self, path: str | Path) -> None:
        """Write a file, by its ending: .csv, .json or .parquet."""
        path = Path(path)
        if path.suffix == ".parquet":
            self.to_parquet(path)
            return
        kinds = {".csv": self.to_csv, ".json": self.to_json}
        if path.suffix not in kinds:
            raise SubgameError(
                f"A table is saved as .csv, .json or .parquet, by the ending of its name, not as "
                f"{path.name}."
            )
        with replacing(path) as new:
            new.write_text(kinds[path.suffix](), encoding="utf-8")


def _known(value: object) -> object:
    """None for numbers that are not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def joined(tables: Iterable[Iterable[dict[str, object]]]) -> Table:
    """The rows of several tables in one."""
    return Table(row for table in tables for row in table)
