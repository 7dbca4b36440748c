"""The results: a folder with one CSV file for each cell, and the settings that made them."""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from attenua._files import write_whole
from attenua_evidence.cell import Cell, Line
from attenua_evidence.strengths import CORRECTIONS, with_all_strengths

MEASURED = (
    *("part", "data", "kind", "unit", "order", "rows", "columns", "rank", "draw", "method", "status"),
    *("n_components", "pca_risk", "risk", "own_risk", "reference", "gain", "added", "centroid", "logistic"),
    *("seconds", "note"),
)
# Strengths are held by name. A file may be older than a correction: the strength is 0 there.
COLUMNS = (*MEASURED, *CORRECTIONS)
_TEXTS = ("part", "data", "kind", "unit", "order", "method", "status", "note")
# What a run adds to the settings; it may differ from run to run.
_HISTORY = ("date", "seconds", "processes")


class OtherSettings(ValueError):
    """The store was made with other settings."""


class Store:
    """A folder of results that is added to one finished cell at a time.

    A study with other lines says in a subclass which columns they have, and when a cell is whole.

    Parameters
    ----------
    folder : Path
        Where the files are; made if it is not there.
    settings : mapping
        Everything that decides the results, as plain JSON values.

    Raises
    ------
    OtherSettings
        If the folder holds results made with other settings, or its settings cannot be read.
    """

    columns: ClassVar[tuple[str, ...]] = COLUMNS
    required: ClassVar[tuple[str, ...]] = MEASURED

    def __init__(self, folder: Path, settings: Mapping[str, Any]):
        self.folder = folder
        self.settings = dict(settings)
        file = folder / "settings.json"
        self._seconds = 0.0
        if file.exists():
            found = _read_settings(file)
            self._seconds = found["seconds"]
            _refuse_others(folder, found, self.settings)
        elif any(folder.glob("*.csv")):
            raise OtherSettings(f"{folder} holds CSV files but no settings.json; choose another folder.")
        folder.mkdir(parents=True, exist_ok=True)

    def note_run(self, seconds: float, processes: int) -> None:
        """Write the settings down, with the date and the seconds of all runs so far."""
        history = (datetime.now(UTC).date().isoformat(), round(self._seconds + seconds, 1), processes)
        content = self.settings | dict(zip(_HISTORY, history, strict=True))
        write_whole(self.folder / "settings.json", (json.dumps(content, indent=2) + "\n").encode())

    def has(self, cell: Cell) -> bool:
        """Say whether a cell is stored whole, up to the end of the last line."""
        try:
            text = self._file(cell).read_text(encoding="utf-8")
        except (FileNotFoundError, UnicodeDecodeError):
            return False
        reader = csv.DictReader(io.StringIO(text))
        if not set(self.required) <= set(reader.fieldnames or ()) or not text.endswith("\n"):
            return False
        return self.is_whole(reader)

    def is_whole(self, lines: Iterable[Mapping[str, str]]) -> bool:
        """Say whether the lines of a cell have all methods at every rank."""
        methods: dict[str, list[str]] = {}
        for line in lines:
            methods.setdefault(line["rank"], []).append(line["method"])
        return all(found == list(self.settings["methods"]) for found in methods.values())

    def add(self, cell: Cell, lines: Iterable[Line]) -> None:
        """Store the lines of a cell, all of them or none."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
        write_whole(self._file(cell), text.getvalue().encode())

    def _file(self, cell: Cell) -> Path:
        return self.folder / f"{cell.data}-{cell.rows}-{cell.draw}.csv"


def read_results(folder: Path) -> pd.DataFrame:
    """Return all lines of a store, in an order that does not depend on which cell was finished first.

    Empty texts are "", strengths that are missing are 0, and other numbers that were not computed are NaN.
    """
    files = sorted(Path(folder).glob("*.csv"))
    if not files:
        raise FileNotFoundError(f"there are no results in {folder}.")
    texts = dict.fromkeys(_TEXTS, str)
    frames = [pd.read_csv(file, dtype=texts) for file in files]
    results = pd.concat([frame for frame in frames if len(frame)], ignore_index=True)
    results[list(_TEXTS)] = results[list(_TEXTS)].fillna("")
    return with_all_strengths(results)


def _read_settings(file: Path) -> dict[str, Any]:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise OtherSettings(f"{file} is damaged ({error}); choose another folder.") from None


def _refuse_others(folder: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    before = {name: value for name, value in found.items() if name not in _HISTORY}
    differing = sorted(name for name in before.keys() | wanted.keys() if before.get(name) != wanted.get(name))
    if differing:
        raise OtherSettings(
            f"{folder} holds results made with other settings ({', '.join(differing)}, see its "
            "settings.json); choose another folder."
        )
