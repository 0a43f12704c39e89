"""What the server keeps: rows in SQLite, and a folder of files for each job.

Every name on the disk is made here from random digits. `Store.folder` and `Store.game_file` accept
such a name only, so that no text of a request becomes a path.
"""

from __future__ import annotations

import json
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from subgame.errors import SubgameError

ID = re.compile(r"[0-9a-f]{12}")
NAME = re.compile(r"[^\x00-\x1f\x7f<>&\"'`]{1,80}")
TABLES = {
    "jobs": "id TEXT PRIMARY KEY, made REAL, state TEXT, data TEXT",
    "tables": "id TEXT PRIMARY KEY, made REAL, state TEXT, data TEXT",
    "games": "id TEXT PRIMARY KEY, made REAL, state TEXT, data TEXT",
    "ranges": "id TEXT PRIMARY KEY, made REAL, state TEXT, data TEXT",
}
"""Each table keeps JSON objects; their state is beside them, to count by it."""
BASE, FOLDERS = "subgame.sqlite", ("jobs", "games", "incoming")
"""What the folder of the data has."""
Row = dict[str, Any]


def check_data(data: Path) -> None:
    """Refuse a folder in which files of others have the names that the server uses."""
    try:
        base = data / BASE
        if base.exists() and base.stat().st_size:
            with closing(
                sqlite3.connect(f"{base.absolute().as_uri()}?mode=ro", uri=True)
            ) as connection:
                names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            taken = [] if "jobs" in names else [base]
        else:
            taken = [data / name for name in FOLDERS]
            taken = [path for path in taken if path.exists() and _used(path)]
    except (OSError, sqlite3.Error) as error:
        raise SubgameError(f"The folder {data} cannot be used: {data / BASE}: {error}.") from None
    if taken:
        raise SubgameError(
            f"The folder {data} is not one of subgame serve: it has {taken[0].name}, which the "
            "server did not make. Give another --data."
        )


def _used(path: Path) -> bool:
    return not path.is_dir() or any(path.iterdir())


class NotFoundError(SubgameError):
    """There is nothing of that name."""


def checked_name(name: str, usual: str = "") -> str:
    """A name that people gave to something, or the `usual` one if they gave none.

    It is an error if it could be taken for markup.

    >>> checked_name(" Turn, 3-bet pot ")
    'Turn, 3-bet pot'
    """
    if usual and not name.strip():
        return usual
    match = NAME.fullmatch(name.strip())
    if match is None:
        raise SubgameError(
            "A name has 1 to 80 characters, without quotes, angle brackets, ampersands and "
            "control characters."
        )
    return match[0]


def new_id() -> str:
    """A new identifier."""
    return secrets.token_hex(6)


class Store:
    """Rows by table and identifier, safe to use from several threads."""

    def __init__(self, data: Path) -> None:
        self.data = data
        for folder in FOLDERS:
            (data / folder).mkdir(parents=True, exist_ok=True)
        self._lock, self._closed = threading.RLock(), False
        self._base = sqlite3.connect(data / BASE, check_same_thread=False)
        self._base.execute("PRAGMA journal_mode=WAL")
        for name, columns in TABLES.items():
            self._base.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
        self._base.commit()

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._closed = True
            self._base.close()

    # Rows ------------------------------------------------------------------------------------
    def add(self, table: str, row: Mapping[str, object], id: str | None = None) -> Row:
        """Keep a new row under a new identifier."""
        made = {**row, "id": id or new_id(), "made": time.time()}
        with self._lock:
            self._base.execute(
                f"INSERT INTO {_known(table)} VALUES (?, ?, ?, ?)",
                (made["id"], made["made"], made.get("state", ""), json.dumps(made)),
            )
            self._base.commit()
        return made

    def get(self, table: str, id: str) -> Row:
        """A row by its identifier."""
        with self._lock:
            stored = self._base.execute(
                f"SELECT data FROM {_known(table)} WHERE id = ?", (id,)
            ).fetchone()
        if stored is None:
            raise NotFoundError(f"There is no such entry among the {table}.")
        row: Row = json.loads(stored[0])
        return row

    def put(self, table: str, row: Row) -> None:
        """Keep the new contents of a row, unless the server has ended.

        A thread that still computes then is not waited for; the next server does its work again.
        """
        with self._lock:
            if self._closed:
                return
            self._base.execute(
                f"UPDATE {_known(table)} SET state = ?, data = ? WHERE id = ?",
                (row.get("state", ""), json.dumps(row), row["id"]),
            )
            self._base.commit()

    def remove(self, table: str, id: str) -> None:
        """Forget a row."""
        with self._lock:
            self._base.execute(f"DELETE FROM {_known(table)} WHERE id = ?", (id,))
            self._base.commit()

    def rows(self, table: str, limit: int = 200) -> list[Row]:
        """The newest rows, newest first."""
        with self._lock:
            newest = self._base.execute(
                f"SELECT data FROM {_known(table)} ORDER BY made DESC, rowid DESC LIMIT ?", (limit,)
            ).fetchall()
        return [json.loads(data) for (data,) in newest]

    def count(self, table: str, *states: str) -> int:
        """How many rows there are; with states, in one of them."""
        marks = ", ".join("?" * len(states))
        where = f" WHERE state IN ({marks})" if states else ""
        with self._lock:
            query = f"SELECT COUNT(*) FROM {_known(table)}{where}"
            return int(self._base.execute(query, states).fetchone()[0])

    # Files -----------------------------------------------------------------------------------
    def folder(self, id: str) -> Path:
        """The folder of a job."""
        return self.data / "jobs" / _checked(id)

    def game_file(self, id: str) -> Path:
        """The file of an uploaded game."""
        return self.data / "games" / f"{_checked(id)}.efg"

    def incoming(self) -> Path:
        """A new file for an upload."""
        return self.data / "incoming" / secrets.token_hex(8)


def _known(table: str) -> str:
    assert table in TABLES
    return table


def _checked(id: str) -> str:
    if ID.fullmatch(id) is None:
        raise NotFoundError("An identifier has twelve digits from 0 to f.")
    return id
