"""Results that survive a power cut: one SQLite file, one transaction for each finished subsample.

The file holds the settings that made it. A run with other settings is refused, never mixed in. One process
at a time adds to it.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from attenua._correct.registry import CORRECTIONS
from attenua_paper.studies.lock import FileLock, LockHeld

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
    "fallback": "INTEGER NOT NULL",
    "capped": "INTEGER",
    "seconds": "REAL NOT NULL",
}
KEY = ("data", "budget", "version", "subsample")
_TABLES = {
    "settings": {"name": "TEXT PRIMARY KEY", "value": "TEXT"},
    "results": _COLUMNS,
}
_CONSTRAINTS = {"results": f", PRIMARY KEY ({', '.join(KEY)}, method)"}

# What SQLite says about the file or the disk. Anything else that it says is a mistake in this file.
_REASONS = {
    sqlite3.SQLITE_NOTADB: "is not a file of results. Move it away, or choose another folder.",
    sqlite3.SQLITE_CORRUPT: "is damaged. Move it away to start again, or choose another folder.",
    sqlite3.SQLITE_FULL: "cannot be written: the disk is full. What is stored stays.",
    sqlite3.SQLITE_BUSY: "is locked by another program.",
    sqlite3.SQLITE_READONLY: "cannot be written: it is read-only.",
    sqlite3.SQLITE_PERM: "cannot be written: there is no permission.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened or made.",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk reports an error.",
}


class StoreError(RuntimeError):
    """A file of results cannot be used; the sentence names it and says why."""


class SettingsMismatch(StoreError):
    """The file of results was made with other settings."""


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
    StoreError
        If the file cannot be made, read or written, is damaged, or is in use by another process.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]):
        self.path = path
        with ExitStack() as opened:
            opened.callback(_lock_next_to(path).release)
            with _in_words(path):
                self._connection = opened.enter_context(closing(sqlite3.connect(path)))
                with self._connection:
                    self._prepare(
                        {name: json.dumps(value, sort_keys=True) for name, value in settings.items()}
                    )
            self._opened = opened.pop_all()

    def _prepare(self, wanted: dict[str, str]) -> None:
        """Make the tables, or check those that are there, in one transaction."""
        self._connection.execute("BEGIN IMMEDIATE")
        if not self._connection.execute("SELECT name FROM sqlite_master").fetchall():
            for table, columns in _TABLES.items():
                described = ", ".join(f"{name} {kind}" for name, kind in columns.items())
                self._connection.execute(f"CREATE TABLE {table} ({described}{_CONSTRAINTS.get(table, '')})")
        for name in _check_tables(self._connection, self.path):
            self._connection.execute(f"ALTER TABLE results ADD COLUMN {name} REAL")
        found = dict(self._connection.execute("SELECT name, value FROM settings"))
        if found:
            self._refuse_others(found, wanted)
        elif self.stored():
            raise StoreError(f"{self.path} does not hold the settings of its results. Choose another folder.")
        else:
            self._connection.executemany("INSERT INTO settings VALUES (?, ?)", wanted.items())

    def _refuse_others(self, found: dict[str, str], wanted: dict[str, str]) -> None:
        differing = sorted(
            name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)
        )
        if differing:
            details = "; ".join(
                f"{name} was {found.get(name, 'not set')} and is now {wanted.get(name, 'not set')}"
                for name in differing
            )
            raise SettingsMismatch(
                f"{self.path} holds results made with other settings ({details}). Choose another folder, "
                "or go on with the settings that made it."
            )

    def stored(self) -> dict[tuple[Any, ...], set[str]]:
        """Return the methods that are stored of each subsample, by its key (data, budget, ...)."""
        methods: dict[tuple[Any, ...], set[str]] = {}
        with _in_words(self.path):
            for *key, method in self._connection.execute(f"SELECT {', '.join(KEY)}, method FROM results"):
                methods.setdefault(tuple(key), set()).add(method)
        return methods

    def add(self, key: Sequence[Any], records: Iterable[Mapping[str, Any]]) -> None:
        """Store all methods' records of one subsample instead of what there is of it, in one transaction."""
        names = list(_COLUMNS)
        rows = [dict(zip(KEY, key, strict=True)) | dict(record) for record in records]
        values = [tuple(row.get(name) for name in names) for row in rows]
        with _in_words(self.path), self._connection:
            matches = " AND ".join(f"{name} = ?" for name in KEY)
            self._connection.execute(f"DELETE FROM results WHERE {matches}", tuple(key))
            marks = ", ".join("?" * len(names))
            self._connection.executemany(f"INSERT INTO results ({', '.join(names)}) VALUES ({marks})", values)

    def close(self) -> None:
        """Close the file, and let other processes add to it."""
        self._opened.close()


def read_results(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the stored results as a tidy frame, and the settings that made them.

    Rows come in a fixed order, whatever the order in which subsamples finished. A correction that is newer
    than a fit has strength 0 in it.
    """
    with _opened(path) as connection:
        frame = pd.read_sql_query(f"SELECT * FROM results ORDER BY {', '.join(KEY)}, method", connection)
        settings = dict(connection.execute("SELECT name, value FROM settings"))
    frame["fallback"] = frame["fallback"].astype(bool)
    frame = frame.reindex(columns=list(_COLUMNS))
    strengths = frame[list(CORRECTIONS)].astype(float)
    corrected = strengths.notna().any(axis=1)
    strengths[corrected] = strengths[corrected].fillna(0.0)
    frame[list(CORRECTIONS)] = strengths
    return frame, {name: json.loads(value) for name, value in settings.items()}


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise FileNotFoundError(f"there are no results at {path}.")
    with _in_words(path), closing(sqlite3.connect(path)) as connection:
        _check_tables(connection, path)
        yield connection


def _check_tables(connection: sqlite3.Connection, path: Path) -> list[str]:
    """Raise StoreError unless the file is sound and has our tables; return corrections without a column."""
    ((verdict,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
    if verdict != "ok":
        raise StoreError(f"{path} {_REASONS[sqlite3.SQLITE_CORRUPT]}")
    missing: list[str] = []
    for table, columns in _TABLES.items():
        found = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        without = [name for name in columns if name not in found]
        if found - columns.keys() or not set(without) <= CORRECTIONS.keys():
            raise StoreError(
                f"{path} is not a file of results of this version: its table {table} differs. Choose another "
                "folder."
            )
        missing += without
    return missing


def _lock_next_to(path: Path) -> FileLock:
    """Return the lock on a file of results, whose folder is made if it is not there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(path.with_name(f"{path.name}.lock"))
    except LockHeld as holder:
        raise StoreError(f"{path} is in use: {holder} adds to it. Wait for its end.") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be made or written: {error.strerror}.") from error


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Turn what SQLite says about the file or the disk into a sentence with the path."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        # The lower byte is the kind of problem, the others say more about it.
        reason = _REASONS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        if reason is None:
            raise
        raise StoreError(f"{path} {reason}") from error
