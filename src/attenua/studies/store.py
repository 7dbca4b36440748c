"""Results that survive a power cut: one SQLite file, one transaction for each finished subsample.

The file holds the settings that made it. A run with other settings is refused, never mixed in. It also holds
how long each run took, on how many processes.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from attenua._correct.corrections import CORRECTIONS

_COLUMNS = {
    "data": "TEXT NOT NULL",
    "budget": "INTEGER NOT NULL",
    "version": "INTEGER NOT NULL",
    "subsample": "INTEGER NOT NULL",
    "method": "TEXT NOT NULL",
    "test_risk": "REAL NOT NULL",
    "gain": "REAL NOT NULL",
    "strength": "REAL",
    **dict.fromkeys(CORRECTIONS, "REAL"),
    "steps": "INTEGER",
    "fallback": "INTEGER NOT NULL",
    "capped": "INTEGER",
    "seconds": "REAL NOT NULL",
}
_RUN_COLUMNS = "started TEXT, jobs INTEGER, subsamples INTEGER, seconds REAL"
KEY = ("data", "budget", "version", "subsample")


class SettingsMismatch(ValueError):
    """The results folder was made with other settings."""


class ResultStore:
    """A results file that is added to one finished subsample at a time.

    Parameters
    ----------
    path : path
        The SQLite file; made if it is not there.
    settings : mapping
        Everything that decides the results, as plain JSON values.

    Raises
    ------
    SettingsMismatch
        If the file was made with other settings.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path)
        self._run: int | None = None
        self._began = 0.0
        columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
        plain = {name: json.dumps(value, sort_keys=True) for name, value in settings.items()}
        try:
            with self._connection as database:
                database.execute("CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT)")
                database.execute(
                    f"CREATE TABLE IF NOT EXISTS results ({columns}, PRIMARY KEY ({', '.join(KEY)}, method))"
                )
                database.execute(f"CREATE TABLE IF NOT EXISTS runs ({_RUN_COLUMNS})")
                self._check_settings(plain)
        except SettingsMismatch:
            self._connection.close()
            raise

    def _check_settings(self, wanted: dict[str, str]) -> None:
        found = dict(self._connection.execute("SELECT name, value FROM settings"))
        if not found:
            self._connection.executemany("INSERT INTO settings VALUES (?, ?)", wanted.items())
        elif found != wanted:
            differing = sorted(
                name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)
            )
            details = "; ".join(
                f"{name} was {found.get(name, 'not set')} and is now {wanted.get(name, 'not set')}"
                for name in differing
            )
            raise SettingsMismatch(
                f"{self.path} holds results made with other settings ({details}). Choose another folder, "
                "or go on with the settings that made it."
            )

    def finished(self) -> set[tuple[Any, ...]]:
        """Return the keys (data, budget, version, subsample) of the subsamples that are stored."""
        return set(self._connection.execute(f"SELECT DISTINCT {', '.join(KEY)} FROM results"))

    def begin_run(self, n_jobs: int) -> None:
        """Note the start and the processes of a run; its time is counted up to its last subsample."""
        self._began = time.perf_counter()
        started = datetime.now(UTC).isoformat(timespec="seconds")
        with self._connection:
            values = (started, n_jobs, 0, 0.0)
            self._run = self._connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?)", values).lastrowid

    def add(self, key: Sequence[Any], records: Iterable[Mapping[str, Any]]) -> None:
        """Store all methods' records of one subsample, in one transaction."""
        names = list(_COLUMNS)
        rows = [dict(zip(KEY, key, strict=True)) | dict(record) for record in records]
        values = [tuple(row.get(name) for name in names) for row in rows]
        with self._connection:
            marks = ", ".join("?" * len(names))
            self._connection.executemany(f"INSERT INTO results VALUES ({marks})", values)
            self._connection.execute(
                "UPDATE runs SET subsamples = subsamples + 1, seconds = ? WHERE rowid = ?",
                (time.perf_counter() - self._began, self._run),
            )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def read_results(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the stored results as a tidy frame, and the settings that made them.

    Rows come in a fixed order, whatever the order in which subsamples finished.
    """
    with closing(_opened(path)) as connection:
        frame = pd.read_sql_query(f"SELECT * FROM results ORDER BY {', '.join(KEY)}, method", connection)
        settings = dict(connection.execute("SELECT name, value FROM settings"))
    frame["fallback"] = frame["fallback"].astype(bool)
    return frame, {name: json.loads(value) for name, value in settings.items()}


def read_runs(path: Path) -> pd.DataFrame:
    """Return the runs that filled a file: when each began, its processes, subsamples and seconds."""
    with closing(_opened(path)) as connection:
        return pd.read_sql_query("SELECT * FROM runs ORDER BY rowid", connection)


def _opened(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise FileNotFoundError(f"there are no results at {path}.")
    return sqlite3.connect(path)
