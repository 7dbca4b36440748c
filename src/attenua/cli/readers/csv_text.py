"""CSV: read with the standard library, so that a bad cell can be named."""

import csv
import io
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua.cli.readers.source import Source, TableError

_CHUNK_ROWS = 4_096


class CsvSource(Source):
    """A CSV text. Its first row is a header unless every cell of it is a number."""

    def __init__(self, content: bytes, source: str):
        self.source = source
        try:
            self._text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise TableError(f"{source}: line {line} is not UTF-8 text; save the file as UTF-8.") from None
        if "\0" in self._text:
            raise TableError(f"{source} is not a CSV text: it holds zero bytes.")
        self._delimiter = max(",;\t", key=self._text.partition("\n")[0].count)
        first = next(self._rows(), None)
        if first is None:
            raise TableError(f"{source} is empty.")
        self._width = self.n_columns = len(first[1])
        self.names = None
        if not all(_is_number(cell) for cell in first[1]):
            self.names = [cell.strip() for cell in first[1]]
            self.check_names()

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the line that each row ends on, and its cells."""
        reader = csv.reader(io.StringIO(self._text, newline=""), delimiter=self._delimiter, strict=True)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
        except csv.Error as error:
            raise TableError(f"{self.source}: line {reader.line_num} is not valid CSV: {error}.") from None

    def _data_rows(self) -> Iterator[tuple[int, list[str]]]:
        rows = islice(self._rows(), self.names is not None, None)
        for number, (line, cells) in enumerate(rows, start=1):
            if len(cells) != self._width:
                raise TableError(
                    f"{self.source}: row {number} (line {line}) has {len(cells)} cells, but the first row "
                    f"has {self._width}."
                )
            yield line, cells

    def numbers(self, positions: list[int]) -> NDArray[np.float64]:
        """Return columns as numbers."""
        rows, chunks, n_done = self._data_rows(), [], 0
        while chunk := list(islice(rows, _CHUNK_ROWS)):
            cells = [[row[position] for position in positions] for _, row in chunk]
            try:
                numbers = np.array(cells, dtype=float)
            except ValueError:
                numbers = None
            if numbers is None or not np.isfinite(numbers).all():
                self._refuse(chunk, positions, n_done)
            chunks.append(numbers)
            n_done += len(chunk)
        return np.concatenate(chunks) if chunks else np.empty((0, len(positions)))

    def _refuse(self, chunk: list[tuple[int, list[str]]], positions: list[int], n_before: int) -> None:
        """Raise an error that names the first cell that is not a finite number."""
        for number, (line, row) in enumerate(chunk, start=n_before + 1):
            for position in positions:
                cell = row[position]
                if _is_number(cell) and np.isfinite(float(cell)):
                    continue
                problem = f"holds {cell!r}, which is not a finite number" if cell.strip() else "is empty"
                raise TableError(
                    f"{self.source}: row {number} (line {line}), {self.called(position)} {problem}. Fill or "
                    "remove it, or choose the columns to use with --columns."
                )
        raise AssertionError("called without a bad cell")  # pragma: no cover

    def labels(self, position: int) -> NDArray[Any]:
        """Return a column as texts."""
        labels = np.array([row[position].strip() for _, row in self._data_rows()], dtype=str)
        empty = np.flatnonzero(labels == "")
        if empty.size:
            raise TableError(
                f"{self.source}: row {empty[0] + 1}, {self.called(position)} has no label of a group."
            )
        return labels


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    # Python reads 1_000 as a number; no other program does.
    return "_" not in cell
