"""Where the table lies in a text: its delimiter, and its rows without titles, comments, units and sums."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from attenua._estimate.words import counted
from attenua.cli.cells import (
    is_blank,
    is_missing,
    is_text,
    looks_like_number,
    quoted,
    to_number,
    to_numbers,
)

Cells = Sequence[Any]

BLANK = " "
_DELIMITERS = {"tab": "\t", "\\t": "\t", "space": BLANK, "blank": BLANK}
_JUDGED_LINES, _JUDGED_SIGNS = 200, 200_000
_NO_ROW = re.compile(r'#|"?sep=', re.IGNORECASE)  # a comment, or what Excel writes above a table
_SURELY_SUMS = (
    r"(arithm\w*\s)?mean|avg|mittel(wert)?|durchschnitt|moyenne|promedio|summe|somme|std\.? ?dev\.?|stdev|"
    r"stabw|standard ?deviation|standardabweichung|mean ± ?(sd|se|sem)"
)
# These may be names of rows: the numbers must confirm them.
_PERHAPS_SUMS = (
    r"average|media|median|mw|sums?|(grand )?totals?|gesamt|std|sd|sem?|cv ?%?|rsd ?%?|var(iance)?|lo[dq]|"
    r"min(imum)?|max(imum)?|n|count|anzahl"
)
_SUMMARY = re.compile(rf"((?P<sure>{_SURELY_SUMS})|{_PERHAPS_SUMS})(\s*\(.*\))?", re.IGNORECASE)
_MOST_SUMMARIES = 10


class TableError(ValueError):
    """A sentence that says what is wrong with a file, where in it, and what settles it."""


class Record(NamedTuple):
    """One row of a text: the numbers of its first and last line, and its cells."""

    first: int
    last: int
    cells: list[Any]
    n_filled: int  # cells that hold anything
    is_comment: bool = False
    after_gap: bool = False  # whether an empty line stands before it

    @property
    def n_numbers(self) -> int:
        """How many cells hold a number with either decimal sign."""
        return sum(any(to_number(cell, sign) is not None for sign in ".,") for cell in self.cells)

    @property
    def is_text(self) -> bool:
        """Whether it holds one text and nothing else."""
        return self.n_filled == 1 and self.n_numbers == 0


def count_filled(cells: Cells) -> int:
    """Return how many cells hold anything."""
    return sum(not is_blank(cell) for cell in cells)


def records_of(lines: Sequence[str], delimiter: str) -> list[Record]:
    """Return the rows of a text. Comments are lines between rows, since a cell may span lines."""
    begins = True

    def feed() -> Iterator[str]:
        nonlocal begins
        for line in lines:
            if begins and _NO_ROW.match(line):
                yield "\n"
            else:
                begins = False
                yield f"{line.strip()}\n".replace("\t", BLANK) if delimiter == BLANK else line

    how: Any = {"delimiter": delimiter, "skipinitialspace": True, "strict": True}
    reader = csv.reader(feed(), **how)
    found: list[Record] = []
    first, gap = 0, False
    try:
        for cells in reader:
            last, begins = reader.line_num - 1, True
            comment = first == last and lines[first].startswith("#")
            if comment:  # which may be no CSV
                cells = next(csv.reader([lines[first].strip()], **how | {"strict": False}), [])
            record = Record(first, last, cells, count_filled(cells), comment, gap)
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
    judged = [line for line in lines[:_JUDGED_LINES] if line.strip()]
    judged = judged[: max(5, _JUDGED_SIGNS // max(map(len, judged)))]

    def merit(delimiter: str) -> tuple[float, float, bool, int]:
        try:
            rows = [record for record in records_of(judged, delimiter) if not record.is_comment]
        except TableError:
            rows = []
        width = usual_width(rows)
        if width < 2:
            return 0.0, 0.0, False, 0
        # Numbers with decimal commas look like two cells, but their header does not.
        even = float(np.mean([len(record.cells) == width for record in rows]))
        body = [record for record in rows if len(record.cells) == width][1:] or rows
        cells = [cell for record in body for cell in record.cells if not is_missing(cell)]
        # A blank may stand between thousands, and between the cells of another delimiter.
        whole = Record(0, 0, [cell for cell in cells if BLANK not in cell.strip()], len(cells))
        return even, (whole.n_numbers + 0.1) / (len(cells) + 0.1), delimiter != BLANK, width

    return max(",;\t|" + BLANK, key=merit)


def usual_width(records: Sequence[Record]) -> int:
    """Return how many cells most rows have; of equally many the larger number."""
    counts = Counter(len(record.cells) for record in records)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def table_of(records: Sequence[Record], notes: list[str]) -> tuple[list[Record], Cells | None]:
    """Return the rows of the table, the header first, and the last comment above them if it fits.

    Texts above and below the table are left out with a note; rows of another length are refused.
    """
    are_comments = all(each.is_comment for each in records)  # then they are rows
    rows = [each for each in records if are_comments or not each.is_comment]
    width, top = usual_width(rows), rows[0].first
    above = [_without_sign(each.cells) for each in records if each.is_comment and each.first < top]
    comment = above[-1] if above and len(above[-1]) == width > 1 else None
    # Below the first row, one that begins with # and has as many cells as the others is no comment.
    rows = [
        each._replace(cells=each.cells[:width]) if all(map(is_blank, each.cells[width:])) else each
        for each in records
        if are_comments or not each.is_comment or (each.first > top and len(each.cells) == width)
    ]
    usual = float(np.median([each.n_filled for each in rows if each.n_filled] or [0]))
    start, stop = 0, len(rows)
    while start < stop - 1 and _is_above(rows[start], rows[start + 1], width, usual):
        if rows[start].n_numbers > max(1, len(rows[start].cells) / 2):
            _refuse_width(rows[start], width)
        start += 1
    while stop > start + 2 and _is_below(rows[stop - 1], width, usual):
        stop -= 1
    table: list[Record] = []
    without = []
    for before, record in pairwise([rows[start], *rows[start:stop]]):
        if record.after_gap and record.n_filled > 1 and before.n_numbers > 0 == record.n_numbers:
            line = f"line {record.first + 1} ({quoted(record.cells)})"
            raise TableError(f"{line} begins a second table; it belongs in a file of its own.")
        # A header may be one cell short.
        if len(record.cells) > width or (table and len(record.cells) < width):
            _refuse_width(record, width)
        if table and width > 1 and record.n_filled <= 1 and record.n_numbers == 0:
            without.append(record)
        else:
            table.append(record)
    n_empty = 0
    for where, texts in (("above", rows[:start]), ("below", rows[stop:]), ("between the rows of", without)):
        found = [" ".join(str(cell) for cell in each.cells if not is_blank(cell)) for each in texts]
        n_empty += found.count("")
        if any(found):
            notes.append(f"text {where} the table is left out: {quoted([*filter(None, found)])}.")
    if n_empty:
        notes.append(f"left out: {counted(n_empty, 'empty row')}.")
    return table, comment


def _without_sign(cells: Cells) -> Cells:
    """Return the cells of a comment without its sign."""
    first = cells[0].lstrip("# ") if cells else ""
    return [first, *cells[1:]] if first else cells[1:]


def _is_above(record: Record, below: Record, width: int, usual: float) -> bool:
    """Return whether a row is a title: one text, or of another length and no header one cell short."""
    if len(record.cells) == width:
        # Titles of several columns, or one of all, above the names of all columns.
        is_upper = below.n_filled == width and below.n_numbers == record.n_numbers == 0
        is_upper = is_upper and any(map(is_blank, record.cells[1:]))
        return record.n_filled == 0 or is_upper or (usual > 2 and record.is_text)
    is_short_header = len(record.cells) == record.n_filled == width - 1 == len(below.cells) - 1
    return not (is_short_header and below.n_numbers > 0)


def _is_below(record: Record, width: int, usual: float) -> bool:
    """Return whether a row at the end is empty, or a text that stands apart."""
    apart = len(record.cells) < width or (record.after_gap and usual > 2 and record.is_text)
    return record.n_filled == 0 or (apart and record.n_numbers == 0)


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
    """Return whether the first row holds texts, and no number, above columns of numbers.

    A row of data has a label where the others have one, or cells such as <0.5.
    """
    if len(rows) < 3:
        return False
    numeric = columns_of_numbers(rows[1:], decimal)
    cells = [rows[0][column] for column in numeric]
    labels = [cell for column, cell in enumerate(rows[0]) if column not in numeric and not is_blank(cell)]
    are_units = all(re.search("unit|einheit|unidad", str(label), re.IGNORECASE) for label in labels)
    texts = [cell for cell in cells if is_text(cell, decimal)]
    return (
        are_units
        and bool(texts)
        and not any(to_number(cell, decimal) is not None or looks_like_number(cell) for cell in cells)
    )


def n_summaries(rows: Sequence[Cells], decimal: str, notes: list[str]) -> int:
    """Return how many rows at the end are means, sums or the like of the rows above them."""
    has_labels = len(rows) > 3 and not any(is_blank(row[0]) for row in rows[:-_MOST_SUMMARIES] or rows[:3])
    names = [next((str(cell) for cell in row if not is_missing(cell)), "").strip(" :.") for row in rows]
    found = [_SUMMARY.fullmatch(name) for name in names]
    n_left = 0
    while n_left < min(_MOST_SUMMARIES, len(rows) - 3):
        # One without a name is a sum if all other rows have one.
        if not found[-1 - n_left] and not (has_labels and is_blank(rows[-1 - n_left][0])):
            break
        n_left += 1
    for number in range(n_left, 0, -1):
        match = found[-number]
        if (match and match["sure"]) or _is_statistic(rows[-number], rows[:-n_left], decimal):
            return number
    if n_left:
        notes.append(f"the last row, {quoted(rows[-1])}, is used: it is no mean or sum of the rows above.")
    return 0


def _is_statistic(row: Cells, rows: Sequence[Cells], decimal: str) -> bool:
    """Return whether every number of a row is a statistic of its column, as far as it was rounded."""
    agree = []
    for column in columns_of_numbers(rows, decimal):
        number = to_number(row[column], decimal)
        if number is not None:
            cells = to_numbers([cells[column] for cells in rows], decimal)[0]
            seen = cells[np.isfinite(cells)]
            deviations = [seen.std(ddof=ddof) for ddof in (0, 1) if len(seen) > ddof]
            deviations += [deviations[-1] / len(seen) ** 0.5, 100 * deviations[-1] / (seen.mean() or 1)]
            middle = [seen.mean(), seen.sum(), np.median(seen), seen.min(), seen.max(), len(seen)]
            near = np.abs(np.array(middle + deviations) - number) <= 0.006 * max(abs(number), 1)
            agree.append(bool(near.any()))
    return bool(agree) and all(agree)
