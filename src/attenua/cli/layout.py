"""Where the table lies in a text: its delimiter, and its rows without titles, comments, units and sums."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np

from attenua.cli.cells import is_blank, is_missing, is_text, quoted, to_number

Cells = Sequence[Any]

BLANK = " "
_DELIMITERS = {"tab": "\t", "\\t": "\t", "space": BLANK, "blank": BLANK}
_JUDGED_LINES = 200
_NO_ROW = re.compile(r'#|"?sep=', re.IGNORECASE)  # a comment, or what Excel writes above a table
_SUMMARY = re.compile(
    r"(arithm\w*\s)?mean|average|avg|mittel(wert)?|durchschnitt|moyenne|promedio|median|sums?|summe|somme|totals?|"
    r"gesamt|std\.? ?dev\.?|stdev|std|stabw|standard ?deviation|standardabweichung|"
    r"(?P<perhaps>media|sd|min(imum)?|max(imum)?|n|count|anzahl)",
    re.IGNORECASE,
)


class TableError(ValueError):
    """A sentence that says what is wrong with a file, where in it, and what settles it."""


class Record(NamedTuple):
    """One row of a text: the numbers of its first and last line, and its cells."""

    first: int
    last: int
    cells: list[Any]
    is_comment: bool = False
    after_gap: bool = False  # whether an empty line stands before it

    @property
    def n_filled(self) -> int:
        """How many cells hold anything."""
        return sum(not is_blank(cell) for cell in self.cells)

    @property
    def n_numbers(self) -> int:
        """How many cells hold a number with either decimal sign."""
        return sum(any(to_number(cell, sign) is not None for sign in ".,") for cell in self.cells)

    @property
    def is_text(self) -> bool:
        """Whether it holds one text and nothing else."""
        return self.n_filled == 1 and self.n_numbers == 0


def records_of(lines: Sequence[str], delimiter: str) -> list[Record]:
    """Return the rows of a text. Comments are lines between rows, since a cell may span lines."""
    begins = True

    def feed() -> Iterator[str]:
        for line in lines:
            if begins and _NO_ROW.match(line):
                yield "\n"
            else:
                yield f"{line.strip()}\n".replace("\t", BLANK) if delimiter == BLANK else line

    reader = csv.reader(feed(), delimiter=delimiter, skipinitialspace=True, strict=True)
    found: list[Record] = []
    first, gap = 0, False
    try:
        for cells in reader:
            last, begins = reader.line_num - 1, True
            comment = first == last and lines[first].startswith("#")
            if comment:
                text = lines[first].lstrip("# ")
                cells = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])
            record = Record(first, last, cells, comment, gap)
            if record.n_filled or len(cells) > 1:
                found.append(record)
            gap, first = not record.n_filled and not comment, last + 1
    except csv.Error as error:
        raise TableError(f"line {reader.line_num} is not valid CSV: {error}.") from None
    return found


def delimiter_of(lines: Sequence[str], given: str | None) -> str:
    """Return the delimiter given, or the one between whose signs most cells of even rows are numbers."""
    if given is not None:
        return _DELIMITERS.get(given, given)
    judged = list(islice((line for line in lines if line.strip()), _JUDGED_LINES))

    def merit(delimiter: str) -> tuple[float, bool, int]:
        try:
            rows = [record for record in records_of(judged, delimiter) if not record.is_comment]
        except TableError:
            return 0.0, False, 0
        width = usual_width(rows)
        of_width = [record for record in rows if len(record.cells) == width]
        even = float(np.mean([len(record.cells) == width for record in rows[1:] or rows] or [0]))
        if width < 2 or (delimiter == BLANK and even < 0.8):
            return 0.0, False, 0
        cells = [cell for record in of_width[1:] or of_width for cell in record.cells if not is_missing(cell)]
        # A blank may stand between thousands, and between the cells of another delimiter.
        whole = Record(0, 0, [cell for cell in cells if BLANK not in cell.strip()])
        return (whole.n_numbers + 0.1) / (len(cells) + 0.1) * even, delimiter != BLANK, width

    return max(",;\t|" + BLANK, key=merit)


def usual_width(records: Sequence[Record]) -> int:
    """Return how many cells most rows have; of equally many the larger number."""
    counts = Counter(len(record.cells) for record in records)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def table_of(records: Sequence[Record], notes: list[str]) -> tuple[list[Record], Cells | None]:
    """Return the rows of the table, the header first, and the last comment above them if it fits.

    Texts above and below the table are left out with a note; rows of another length are refused.
    """
    rows = [each for each in records if not each.is_comment] or [*records]
    width, top = usual_width(rows), rows[0].first
    above = [each.cells for each in records if each.is_comment and each.first < top]
    comment = above[-1] if above and len(above[-1]) == width > 1 else None
    # Below the first row, one that begins with # and has as many cells as the others is no comment.
    rows = [each for each in records if each in rows or (each.first > top and len(each.cells) == width)]
    usual = float(np.median([each.n_filled for each in rows if each.n_filled] or [0]))
    start, stop = 0, len(rows)
    while start < stop - 1 and _is_above(rows[start], rows[start + 1], width, usual):
        if rows[start].n_numbers > max(1, len(rows[start].cells) / 2):
            _refuse_width(rows[start], width)
        start += 1
    while stop > start + 2 and _is_below(rows[stop - 1], width, usual):
        stop -= 1
    for where, texts in (("above", rows[:start]), ("below", rows[stop:])):
        found = [" ".join(str(cell) for cell in each.cells if not is_blank(cell)) for each in texts]
        if any(found):
            notes.append(f"text {where} the table is left out: {quoted(found)}.")
    table: list[Record] = []
    for before, record in pairwise([rows[start], *rows[start:stop]]):
        if record.after_gap and record.n_filled > 1 and before.n_numbers > 0 == record.n_numbers:
            line = f"line {record.first + 1} ({quoted(record.cells)})"
            raise TableError(f"{line} begins a second table; it belongs in a file of its own.")
        # A header may be one cell short.
        if not all(map(is_blank, record.cells[width:])) or (table and len(record.cells) < width):
            _refuse_width(record, width)
        table.append(record._replace(cells=record.cells[:width]))
    return table, comment


def _is_above(record: Record, below: Record, width: int, usual: float) -> bool:
    """Return whether a row is a title: one text, or of another length and no header one cell short."""
    if len(record.cells) == width:
        return record.n_filled == 0 or (usual > 2 and record.is_text)
    is_short_header = len(record.cells) == record.n_filled == width - 1 == len(below.cells) - 1
    return not (is_short_header and below.n_numbers > 0)


def _is_below(record: Record, width: int, usual: float) -> bool:
    """Return whether a row at the end is empty, or one text that stands apart."""
    apart = len(record.cells) != width or (record.after_gap and usual > 2)
    return record.n_filled == 0 or (apart and record.is_text)


def _refuse_width(record: Record, width: int) -> None:
    raise TableError(
        f"line {record.first + 1} has {len(record.cells)} cells ({quoted(record.cells)}), but most rows have "
        f"{width}. If the rows are cut wrongly, --sep names the sign between cells."
    )


def columns_of_numbers(rows: Sequence[Cells], decimal: str) -> list[int]:
    """Return the columns in which most cells that are not missing are numbers."""
    found = []
    for column, cells in enumerate(zip(*rows, strict=True)):
        seen = [cell for cell in cells if not is_missing(cell)]
        if 2 * sum(to_number(cell, decimal) is not None for cell in seen) > len(seen):
            found.append(column)
    return found


def is_units_row(rows: Sequence[Cells], decimal: str) -> bool:
    """Return whether the first row holds texts, and no number, above columns of numbers."""
    cells = [rows[0][column] for column in columns_of_numbers(rows[1:], decimal)] if len(rows) > 2 else []
    texts = [cell for cell in cells if is_text(cell, decimal)]
    return bool(texts) and all(is_missing(cell) or is_text(cell, decimal) for cell in cells)


def n_summaries(rows: Sequence[Cells]) -> int:
    """Return how many rows at the end are called mean, sum or the like, and no other row is.

    Max alone may be the name of a row, and SD a state.
    """
    names = [next((str(cell) for cell in row if not is_missing(cell)), "").strip(" :.") for row in rows]
    found = []
    for name in reversed(names[3:]):
        match = _SUMMARY.fullmatch(name)
        if match is None or names.count(name) > 1:
            break
        found.append(match["perhaps"])
    return len(found) if len(found) > 1 or None in found else 0
