"""CSV text, compressed or not, and Excel sheets, which become CSV first.

pyarrow reads the numbers; if it fails, a slow scan names the line and the column, or reads the numbers that
are written in other ways.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._estimate.words import counted
from attenua.cli.readers.cells import MISSING, is_missing
from attenua.cli.readers.decoding import Text
from attenua.cli.readers.form import BLANK, COMMENT, CsvOptions, Form, find_form, rows_of
from attenua.cli.readers.not_numbers import NotNumbers, TextColumn
from attenua.cli.readers.preamble import without_preamble
from attenua.cli.readers.source import (
    Source,
    TableError,
    first_line,
    needing,
    refusing,
    shortened,
)


class CsvSource(Source):
    """A CSV text, with what the user has said about it."""

    def __init__(self, text: Text, source: str, options: CsvOptions):
        self.source, self._text = source, text
        # Lines of blanks are empty ones.
        self._content, titles = without_preamble(re.sub(rb"\n +(?=\r?\n|$)", b"\n", text.content))
        with needing(source, "CSV files", "pyarrow", "cli"):
            import pyarrow  # noqa: F401
        try:
            form = find_form(self._lines, options)
        except csv.Error as error:
            raise TableError(f"{source}: the first row is not valid CSV: {first_line(error)}.") from None
        if form is None:
            raise TableError(f"{source} is empty.")
        self._form, self.names, self.n_columns = form, form.names, form.width
        self.notes = (*text.notes, *titles, *form.notes)
        if form.may_have_comments and COMMENT.encode() in text.content:
            self._content = _without_comments(self._lines(), form).encode()
        self._delimiter = form.delimiter
        if form.header_lacks and form.delimiter != BLANK:
            self._content = _with_whole_header(self._content, form)
        if form.delimiter == BLANK:
            with refusing(source, "CSV"):
                self._content, self._delimiter = _between_tabs(self._lines(), form.width), "\t"

    def _lines(self) -> Iterator[str]:
        return _lines_of(self._content)

    def numbers(self, positions: list[int]) -> NDArray[np.float64]:
        """Return columns as numbers, NaN where a cell is missing."""
        import pyarrow as pa

        try:
            columns = self._parse(positions, pa.float64())
        except pa.ArrowInvalid:
            missing = self._check_cells(positions)
            try:
                # pyarrow does not strip cells, so a padded "NA" is added to the words for a missing cell.
                columns = self._parse(positions, pa.float64(), [*MISSING, *missing])
            except pa.ArrowInvalid:
                return self._slow_numbers(positions)
        X = np.empty((len(columns[0]) if columns else 0, len(positions)))
        for place, column in enumerate(columns):
            X[:, place] = column.to_numpy()
        return X

    def _slow_numbers(self, positions: list[int]) -> NDArray[np.float64]:
        """Return columns as numbers, which may have thousands separated, or be True and False."""

        def number(cell: str) -> float:
            return np.nan if is_missing(cell) else float(self._form.number(cell) or "nan")

        rows = [[number(cells[position]) for position in positions] for _, cells in self._data_rows()]
        return np.array(rows)

    def labels(self, position: int) -> NDArray[Any]:
        """Return a column as texts."""
        import pyarrow as pa

        (column,) = self._parsed([position], pa.string())
        return np.array([text.strip() for text in column.to_pylist()], dtype=str)

    def filled(self, positions: list[int], X: Any, values: NDArray[Any]) -> Any:
        """Return all columns as an Arrow table; pyarrow finds the types of those at no position."""
        import pyarrow as pa

        columns = {position: pa.array(values[:, place]) for place, position in enumerate(positions)}
        rest = [position for position in range(self.n_columns) if position not in columns]
        if rest:
            columns |= zip(rest, self._parsed(rest, None), strict=True)
        return pa.table([columns[position] for position in range(self.n_columns)], names=self.headings)

    def text_with(self, rows: Any, positions: Any, values: Any) -> bytes | None:
        """Return the text with numbers in some cells; all else stays, byte for byte."""
        new: dict[int, dict[int, str]] = {}
        for row, position, value in zip(rows, positions, values, strict=True):
            new.setdefault(row, {})[position] = str(value).replace(".", self._form.decimal)
        lines, start = list(self._lines()), 0
        as_written = list(_lines_of(self._text.content))
        for number, (end, _) in enumerate(self._rows(), start=0 if self.names is None else -1):
            if number in new:
                while not lines[start].strip("\r\n"):  # empty lines, or comments, before the row
                    start += 1
                text = _with_cells("".join(as_written[start:end]), new[number], self._form.delimiter)
                as_written[start:end] = [text, *[""] * (end - start - 1)]
            start = end
        return self._text.as_in_file("".join(as_written))

    def place(self, row: int) -> str:
        """Return where a row is: counted from 1, with its line."""
        line = next(line for number, (line, _) in enumerate(self._data_rows()) if number == row)
        return f"row {row + 1} (line {line})"

    def _parsed(self, positions: list[int], kind: Any) -> list[Any]:
        """Return columns as pyarrow has them, or refuse the text."""
        import pyarrow as pa

        try:
            return self._parse(positions, kind)
        except pa.ArrowInvalid as error:
            self._check_cells([])
            raise TableError(f"{self.source} cannot be read as CSV: {first_line(error)}.") from None

    def _parse(self, positions: list[int], kind: Any, missing: Sequence[str] = MISSING) -> list[Any]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        # Positions serve as names, because the header may repeat a name.
        names = [str(position) for position in range(self.n_columns)]
        wanted = [names[position] for position in positions]
        # pyarrow counts empty lines at the start as rows to skip, and fails on a header alone.
        content = self._content.lstrip(b"\r\n")
        if self.names is not None and next(self._data_rows(), None) is None:
            return [pa.array([], kind)] * len(wanted)
        table = arrow_csv.read_csv(
            pa.BufferReader(content),
            arrow_csv.ReadOptions(
                use_threads=False,
                block_size=_block_size(content),
                column_names=names,
                skip_rows_after_names=int(self.names is not None),
            ),
            arrow_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=b'"' in content),
            arrow_csv.ConvertOptions(
                include_columns=wanted,
                column_types={} if kind is None else dict.fromkeys(wanted, kind),
                null_values=list(missing),
                decimal_point=self._form.decimal,
            ),
        )
        return list(table.columns)

    def _data_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each row of data, after the number of its last line."""
        return islice(self._rows(), int(self.names is not None), None)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the same of all rows, the header too."""
        reader = csv.reader(self._lines(), delimiter=self._delimiter, strict=True)
        try:
            yield from ((reader.line_num, cells) for cells in reader if cells)
        except csv.Error as error:
            raise TableError(
                f"{self.source}: line {reader.line_num} is not valid CSV: {first_line(error)}."
            ) from None

    def _check_cells(self, positions: list[int]) -> set[str]:
        """Return the missing cells as they are written; refuse rows of another length, and texts."""
        missing: set[str] = set()
        texts: dict[int, tuple[str, str]] = {}  # the first of each column, and its place
        n_numbers, n_texts = Counter[int](), Counter[int]()
        for number, (line, cells) in enumerate(self._data_rows(), start=1):
            place = f"row {number} (line {line})"
            if len(cells) != self.n_columns:
                raise TableError(
                    f"{self.source}: {place} has {counted(len(cells), 'cell')}, but the first row has "
                    f"{self.n_columns}."
                )
            for position in positions:
                cell = cells[position]
                if is_missing(cell):
                    missing.add(cell)
                elif self._form.number(cell) is not None:
                    n_numbers[position] += 1
                else:
                    n_texts[position] += 1
                    texts.setdefault(position, (shortened(cell), place))
        if texts:
            columns = [
                TextColumn(position, *texts[position], n_texts[position] <= n_numbers[position])
                for position in sorted(texts)
            ]
            raise NotNumbers(self, positions, columns)
        return missing


def _lines_of(content: bytes) -> Iterator[str]:
    return iter(io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline=""))


def _without_comments(lines: Iterator[str], form: Form) -> str:
    """Return a text with empty lines for comments, so that other lines keep their numbers.

    A comment begins with # and stands above all rows, or has not as many cells as they have.
    """
    found: list[str] = []
    header, above, inside = (0, ""), True, False  # above all rows, and inside a cell in quotes
    for line in lines:
        is_comment = line.startswith(COMMENT) and not inside
        if is_comment and above:
            header = len(found), line.lstrip(COMMENT + BLANK)
        elif is_comment:
            is_comment = len(next(rows_of([line], form.delimiter))) != form.width
        if not is_comment and line.strip():
            above = False
            inside ^= line.count('"') % 2 == 1
        found.append(line[len(line.rstrip("\r\n")) :] if is_comment else line)
    if form.header_is_comment:
        place, found[place] = header
    return "".join(found)


def _with_whole_header(content: bytes, form: Form) -> bytes:
    """Return a text whose header has the cell that it lacks."""
    reader = csv.reader(_lines_of(content), delimiter=form.delimiter)
    next(filter(None, reader))
    head = "".join(islice(_lines_of(content), reader.line_num))
    empty, header = re.fullmatch(r"([\r\n]*)(.*?)[\r\n]*", head, re.DOTALL).groups()
    whole = form.delimiter + header if form.header_lacks == "first" else header + form.delimiter
    return (empty + whole + head[len(empty + header) :]).encode() + content[len(head.encode()) :]


def _between_tabs(lines: Iterator[str], width: int) -> bytes:
    """Return cells between blanks as cells between tabs, line by line; a header may lack its first cell."""
    text, above = io.StringIO(newline=""), True
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    for row in rows_of(lines, BLANK):
        writer.writerow(["", *row] if above and len(row) == width - 1 else row)
        above &= not row
    return text.getvalue().encode()


def _with_cells(text: str, cells: dict[int, str], delimiter: str) -> str:
    """Return the text of one row with other texts in some cells."""
    row = text.rstrip("\r\n")
    if delimiter == BLANK:
        places = count()
        return re.sub(r'"(?:[^"]|"")*"|\S+', lambda cell: cells.get(next(places), cell[0]), text)
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
