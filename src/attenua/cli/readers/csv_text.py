"""CSV: read by pyarrow; where it fails, a slow scan names the line and the column."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.extras import how_to_install
from attenua._estimate.words import counted
from attenua.cli.readers.cells import MISSING, is_missing, is_number
from attenua.cli.readers.form import CsvOptions, find_form
from attenua.cli.readers.source import NOT_NUMBERS, Source, TableError, first_line, shortened

_ONE_COLUMN = "Cells must be separated by commas, semicolons or tabs; here a row is one cell."


class CsvSource(Source):
    """A CSV text.

    Parameters
    ----------
    content : bytes
        The text, in UTF-8.
    source : str
        What to call it in messages.
    wishes : CsvOptions
        What is known about it.
    """

    def __init__(self, content: bytes, source: str, wishes: CsvOptions):
        self.source, self._content = source, content
        self._check_text()
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:  # also where it is installed but does not go with this numpy
            raise TableError(
                f"{source}: CSV files need pyarrow: {how_to_install('cli')} ({error})."
            ) from None
        try:
            form = find_form(self._lines, wishes)
        except csv.Error as error:
            raise TableError(f"{source}: the first row is not valid CSV: {first_line(error)}.") from None
        if form is None:
            raise TableError(f"{source} is empty.")
        self._form, self.names, self.n_columns = form, form.names, form.width
        self.notes = form.notes

    def _check_text(self) -> None:
        try:
            self._content.decode()
        except UnicodeDecodeError as error:
            line = self._content[: error.start].count(b"\n") + 1
            raise TableError(
                f"{self.source}: line {line} is not UTF-8 text; save the file as UTF-8."
            ) from None

    def _lines(self) -> Iterator[str]:
        return iter(io.TextIOWrapper(io.BytesIO(self._content), encoding="utf-8-sig", newline=""))

    def numbers(self, positions: list[int]) -> NDArray[np.float64]:
        """Return columns as numbers, NaN where a cell is missing."""
        import pyarrow as pa

        table = self._parse(positions, pa.float64())
        X = np.empty((table.num_rows, len(positions)))
        for place, column in enumerate(table.columns):
            X[:, place] = column.to_numpy()
        return X

    def labels(self, position: int) -> NDArray[Any]:
        """Return a column as texts."""
        import pyarrow as pa

        column = self._parse([position], pa.string()).column(0)
        return np.array([text.strip() for text in column.to_pylist()], dtype=str)

    def _parse(self, positions: list[int], kind: Any, missing: Sequence[str] = MISSING) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        # Positions as names: those of the header may be the same twice.
        names = [str(position) for position in range(self.n_columns)]
        wanted = [names[position] for position in positions]
        # To pyarrow empty lines at the start are rows to skip, and a header alone is an error.
        content = self._content.lstrip(b"\r\n")
        if self.names is not None and next(self._data_rows(), None) is None:
            return pa.table([pa.array([], kind)] * len(wanted), names=wanted)
        try:
            return arrow_csv.read_csv(
                pa.BufferReader(content),
                arrow_csv.ReadOptions(
                    use_threads=False,
                    block_size=_block_size(content),
                    column_names=names,
                    skip_rows_after_names=int(self.names is not None),
                ),
                arrow_csv.ParseOptions(delimiter=self._form.delimiter, newlines_in_values=b'"' in content),
                arrow_csv.ConvertOptions(
                    include_columns=wanted,
                    column_types=dict.fromkeys(wanted, kind),
                    null_values=list(missing),
                    decimal_point=self._form.decimal,
                ),
            )
        except pa.ArrowInvalid as error:
            # pyarrow takes cells as they are: a word for nothing with spaces around it is read here.
            padded = self._check_cells(positions if kind == pa.float64() else [])
            if padded.difference(missing):
                return self._parse(positions, kind, [*MISSING, *padded])
            raise TableError(f"{self.source} cannot be read as CSV: {first_line(error)}.") from None

    def _data_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the line that each row of data ends on, and its cells."""
        reader = csv.reader(self._lines(), delimiter=self._form.delimiter, strict=True)
        try:
            rows = ((reader.line_num, cells) for cells in reader if cells)
            if self.names is not None:
                next(rows)
            yield from rows
        except csv.Error as error:
            raise TableError(
                f"{self.source}: line {reader.line_num} is not valid CSV: {first_line(error)}."
            ) from None

    def _check_cells(self, positions: list[int]) -> set[str]:
        """Return the missing cells as they are written; a row of another length or a text is an error."""
        missing = set()
        for number, (line, cells) in enumerate(self._data_rows(), start=1):
            place = f"{self.source}: row {number} (line {line})"
            if len(cells) != self.n_columns:
                raise TableError(
                    f"{place} has {counted(len(cells), 'cell')}, but the first row has {self.n_columns}."
                )
            for position in positions:
                cell = cells[position]
                if is_missing(cell):
                    missing.add(cell)
                elif not is_number(cell, self._form.decimal):
                    raise TableError(
                        f"{place}, {self.called(position)} holds {shortened(cell)}, which is not a number. "
                        f"{NOT_NUMBERS if self.n_columns > 1 else _ONE_COLUMN}"
                    )
        return missing

    def place(self, row: int) -> str:
        """Return where a row is: counted from 1, with its line."""
        line = next(line for number, (line, _) in enumerate(self._data_rows()) if number == row)
        return f"row {row + 1} (line {line})"


def _block_size(content: bytes) -> int:
    """Return how much pyarrow reads in one go: more than any row, which in quotes may have several lines."""
    least = 2**24 if b'"' in content else 2**20
    ends = np.flatnonzero(np.frombuffer(content, dtype=np.uint8) == ord("\n"))
    longest = int(np.diff(ends, prepend=-1, append=len(content)).max())
    return min(max(least, 2 * longest), 2**31 - 1)
