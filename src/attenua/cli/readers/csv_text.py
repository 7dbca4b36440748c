"""CSV text, compressed or not, and Excel sheets, which become CSV first.

pyarrow reads the numbers; if it fails, a slow scan names the line and the column.
"""

import bz2
import csv
import gzip
import io
import lzma
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._estimate.words import counted
from attenua.cli.readers.form import MISSING, CsvOptions, find_form, is_missing, is_number
from attenua.cli.readers.source import (
    NOT_NUMBERS,
    Source,
    TableError,
    first_line,
    needing,
    refuse_too_large,
    refusing,
    shortened,
    unzipped_size,
)

# Bytes of a text to read at once.
_BLOCK = 2**20
_MOST_EXCEL_ROWS = 2**20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ONE_COLUMN = "Cells must be separated by commas, semicolons or tabs; here each row is one cell."


class CsvSource(Source):
    """A CSV text in UTF-8, with what the user has said about it."""

    def __init__(self, content: bytes, source: str, options: CsvOptions):
        self.source, self._content = source, content
        try:
            content.decode()
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise TableError(f"{source}: line {line} is not UTF-8 text; save the file as UTF-8.") from None
        with needing(source, "CSV files", "pyarrow", "cli"):
            import pyarrow  # noqa: F401
        try:
            form = find_form(self._lines, options)
        except csv.Error as error:
            raise TableError(f"{source}: the first row is not valid CSV: {first_line(error)}.") from None
        if form is None:
            raise TableError(f"{source} is empty.")
        self._form, self.names, self.n_columns, self.notes = form, form.names, form.width, form.notes

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

    def filled(self, positions: list[int], X: Any, values: NDArray[Any]) -> Any:
        """Return all columns as an Arrow table; pyarrow finds the types of those at no position."""
        import pyarrow as pa

        columns = {position: pa.array(values[:, place]) for place, position in enumerate(positions)}
        rest = [position for position in range(self.n_columns) if position not in columns]
        if rest:
            columns |= zip(rest, self._parse(rest, None).columns, strict=True)
        return pa.table([columns[position] for position in range(self.n_columns)], names=self.headings)

    def text_with(self, rows: Any, positions: Any, values: Any) -> bytes | None:
        """Return the text with numbers in some cells; all else stays, byte for byte."""
        new: dict[int, dict[int, str]] = {}
        for row, position, value in zip(rows, positions, values, strict=True):
            new.setdefault(row, {})[position] = str(value).replace(".", self._form.decimal)
        lines, start = list(self._lines()), 0
        for number, (end, _) in enumerate(self._rows(), start=0 if self.names is None else -1):
            if number in new:
                while not lines[start].strip("\r\n"):  # empty lines before the row
                    start += 1
                text = _with_cells("".join(lines[start:end]), new[number], self._form.delimiter)
                lines[start:end] = [text, *[""] * (end - start - 1)]
            start = end
        mark = _BYTE_ORDER_MARK if self._content.startswith(_BYTE_ORDER_MARK) else b""
        return mark + "".join(lines).encode()

    def place(self, row: int) -> str:
        """Return where a row is: counted from 1, with its line."""
        line = next(line for number, (line, _) in enumerate(self._data_rows()) if number == row)
        return f"row {row + 1} (line {line})"

    def _parse(self, positions: list[int], kind: Any, missing: Sequence[str] = MISSING) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        # Positions serve as names, because the header may repeat a name.
        names = [str(position) for position in range(self.n_columns)]
        wanted = [names[position] for position in positions]
        # pyarrow counts empty lines at the start as rows to skip, and fails on a header alone.
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
                    column_types={} if kind is None else dict.fromkeys(wanted, kind),
                    null_values=list(missing),
                    decimal_point=self._form.decimal,
                ),
            )
        except pa.ArrowInvalid as error:
            # pyarrow does not strip cells, so a padded "NA" is added to the words for a missing cell.
            padded = self._check_cells(positions if kind == pa.float64() else [])
            if padded.difference(missing):
                return self._parse(positions, kind, [*MISSING, *padded])
            raise TableError(f"{self.source} cannot be read as CSV: {first_line(error)}.") from None

    def _data_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each row of data, after the number of its last line."""
        return islice(self._rows(), int(self.names is not None), None)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the same of all rows, the header too."""
        reader = csv.reader(self._lines(), delimiter=self._form.delimiter, strict=True)
        try:
            yield from ((reader.line_num, cells) for cells in reader if cells)
        except csv.Error as error:
            raise TableError(
                f"{self.source}: line {reader.line_num} is not valid CSV: {first_line(error)}."
            ) from None

    def _check_cells(self, positions: list[int]) -> set[str]:
        """Return the missing cells as they are written; refuse texts and rows of another length."""
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


def _with_cells(text: str, cells: dict[int, str], delimiter: str) -> str:
    """Return the text of one row with other texts in some cells."""
    row = text.rstrip("\r\n")
    # A quote is a sign like any other unless the cell begins with it.
    pattern = r'D("(?:[^"]|"")*"|[^D]*)'.replace("D", re.escape(delimiter))
    old = re.findall(pattern, delimiter + row)
    return delimiter.join(cells.get(place, cell) for place, cell in enumerate(old)) + text[len(row) :]


def _block_size(content: bytes) -> int:
    """Return how much pyarrow reads at once: more than any row, which may span lines if there are quotes."""
    least = 2**24 if b'"' in content else 2**20
    ends = np.flatnonzero(np.frombuffer(content, dtype=np.uint8) == ord("\n"))
    longest = int(np.diff(ends, prepend=-1, append=len(content)).max())
    return min(max(least, 2 * longest), 2**31 - 1)


def read_text(stream: Any, source: str) -> bytes:
    """Return the content of a stream; binary or endless content is refused on the way."""
    content = io.BytesIO()
    while block := stream.read(_BLOCK):
        if b"\0" in block:
            raise TableError(f"{source} is not CSV text: it contains zero bytes.")
        content.write(block)
        refuse_too_large(source, content.tell())
    return content.getvalue()


def unpack_text(path: Path, source: str) -> bytes:
    """Return the content of a compressed text."""
    try:
        with UNPACKERS[path.suffix.lower()](path) as stream:
            return read_text(stream, source)
    except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error) as error:
        if isinstance(error, PermissionError | TableError):
            raise
        raise TableError(
            f"{source} cannot be unpacked; it may be damaged or cut short: {first_line(error)}."
        ) from None


def _open_zst(path: Path) -> Any:
    with needing(str(path), ".zst files", "pyarrow", "cli"):
        import pyarrow as pa
    return pa.input_stream(path, compression="zstd")


UNPACKERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zst,
}


def sheet_as_csv(path: Path, source: str, sheet: str | None) -> bytes:
    """Return a sheet of an Excel file as CSV, line by line; by default the first sheet."""
    with needing(source, "Excel files", "openpyxl", "cli"):
        import openpyxl
    with refusing(source, "an Excel file"), warnings.catch_warnings():
        # openpyxl warns about everything it ignores: styles, pictures, menus.
        warnings.simplefilter("ignore")
        refuse_too_large(source, unzipped_size(path))
        # Opened here, because openpyxl does not close files that it cannot read.
        with path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            rows = [_texts(row) for row in _sheet_rows(book, source, sheet)]
    width = max(map(len, rows), default=0)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([*row, *[""] * (width - len(row))] if row else [])
    return text.getvalue().encode()


def _sheet_rows(book: Any, source: str, sheet: str | None) -> Iterator[tuple[Any, ...]]:
    sheets = {found.title: found for found in book.worksheets}
    if sheet is not None and sheet not in sheets:
        raise TableError(f"{source} has no sheet {sheet!r}; its sheets are {', '.join(map(repr, sheets))}.")
    if not sheets:
        raise TableError(f"{source} has no sheet of cells.")
    chosen = sheets[sheet] if sheet is not None else next(iter(sheets.values()))
    # Ignore the size that the sheet claims, so that rows end with their last cell.
    chosen.reset_dimensions()
    for number, row in enumerate(chosen.iter_rows(values_only=True), start=1):
        if number > _MOST_EXCEL_ROWS:
            raise TableError(f"{source} has a row beyond {_MOST_EXCEL_ROWS:,}, the last row in Excel.")
        yield row


def _texts(row: tuple[Any, ...]) -> list[str]:
    """Return cells as texts of one line, up to the last that is not empty; true is 1 and false is 0."""
    cells = (int(cell) if isinstance(cell, bool) else cell for cell in row)
    texts = ["" if cell is None else " ".join(str(cell).split()) for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    return texts
