"""The form of a CSV text, guessed from its first rows: delimiter, decimal sign and header.

A first row with a text in it is a header. A first row of numbers is a header only if it is an axis, such as
wavelengths, years or the 0, 1, 2, ... of pandas, and differs from the rows below it. Data must almost never
be mistaken for a header.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile

import numpy as np
from numpy.typing import NDArray

from attenua.cli.readers.cells import (
    has_decimal_comma,
    has_thousands,
    is_missing,
    is_number,
    is_surely_decimal,
    is_surely_grouped_by_commas,
    plain_number,
)

COMMENT, BLANK = "#", " "
# Rows and cells to judge by.
_ROWS, _CELLS = 200, 200_000
# Fewer numbers than this may run evenly, or smoothly, by chance.
_LEAST_EVEN, _LEAST_CURVED = 5, 10
_NEARLY_ALL = 0.9


@dataclass(frozen=True)
class CsvOptions:
    """What the user said about a text; None is guessed."""

    header: bool | None = None  # whether the first row is a header
    decimal: str | None = None  # "." or ","
    encoding: str | None = None
    names: Sequence[str] | None = None  # column names to expect in a header


@dataclass(frozen=True)
class Form:
    """How to read a text; `notes` are the assumptions that may be wrong."""

    delimiter: str
    decimal: str
    names: list[str] | None
    width: int
    notes: tuple[str, ...]
    may_have_comments: bool = True  # False if all lines begin with #
    header_is_comment: bool = False
    by_commas: bool = False  # whether commas stand between thousands
    header_lacks: str = ""  # the first or the last cell of the header, if it has one less than the rows

    def number(self, cell: str) -> str | None:
        """Return a cell as Python writes a number, or None."""
        return plain_number(cell, self.decimal, by_commas=self.by_commas)


def counts_rows(cells: Iterable[object]) -> bool:
    """Return whether the cells are 0, 1, 2, ... or 1, 2, 3, ..."""
    texts = [str(cell).strip() for cell in cells]
    return bool(texts) and any(texts == [str(row + start) for row in range(len(texts))] for start in (0, 1))


def find_form(lines: Callable[[], Iterator[str]], options: CsvOptions) -> Form | None:
    """Return the form of a text, or None if it has no rows; `lines()` returns its lines from the start."""
    uncommented = partial(_without_comments, lines)
    has_rows = any(line.strip() for line in uncommented())
    if not has_rows:
        uncommented = lines
    header, decimal = options.header, options.decimal
    delimiter = _delimiter(uncommented, decimal)
    rows = _first_rows(uncommented(), delimiter)
    if not rows:
        return None
    rows, lacks = _with_whole_header(rows, delimiter)
    notes, by_commas = [], _thousands_by_commas(rows, delimiter, decimal)
    if by_commas:
        decimal = "."
        notes.append(
            f"commas stand between thousands ({by_commas} is {plain_number(by_commas, by_commas=True)})."
        )
    if decimal is None:
        decimal = _decimal(rows)
        if decimal == ",":
            notes.append(_note_of_commas(rows))
    judged = rows
    if by_commas:
        judged = [[plain_number(cell, by_commas=True) or cell for cell in row] for row in rows]
    above = None if header is False or not has_rows else _comment_above(lines(), delimiter, rows)
    if above is not None and not _find_header(judged, decimal)[0]:
        notes.append(f"the header is the comment above the rows: {_start_of(above)}.")
        return Form(delimiter, decimal, above, len(above), tuple(notes), True, True, bool(by_commas))
    if header is None and options.names is not None:
        header = set(options.names) <= {cell.strip() for cell in rows[0]} or None
    if header is None:
        header, note = _find_header(judged, decimal)
        notes += [note] if note else []
    names = [cell.strip() for cell in rows[0]] if header else None
    width = len(rows[0])
    if lacks and not header:  # a row of data that lacks a cell is refused when the numbers are read
        width, lacks = width - 1, ""
    return Form(delimiter, decimal, names, width, tuple(notes), has_rows, False, bool(by_commas), lacks)


def _with_whole_header(rows: list[list[str]], delimiter: str) -> tuple[list[list[str]], str]:
    """Return rows whose header has a cell for each column, and which cell it lacked.

    R leaves out the name of row names; others end all rows but the header with a delimiter.
    """
    first, *below = rows
    of_numbers = any(map(is_number, first)) and any(is_number(row[0]) for row in below)
    if {len(row) for row in below} != {len(first) + 1} or (of_numbers and delimiter != BLANK):
        return rows, ""
    if any(row[-1].strip() for row in below):
        return [["", *first], *below], "first"
    return [[*first, ""], *below], "last"


def _without_comments(lines: Callable[[], Iterator[str]]) -> Iterator[str]:
    return (line for line in lines() if not line.startswith(COMMENT))


def _comment_above(lines: Iterator[str], delimiter: str, rows: list[list[str]]) -> list[str] | None:
    """Return the cells of the last comment above the rows, if there is one for each column."""
    above = list(takewhile(lambda line: not line.strip() or line.startswith(COMMENT), lines))
    last = next((line for line in reversed(above) if line.strip()), "").lstrip(COMMENT + BLANK)
    cells = next(rows_of([last], delimiter), [])
    width = len(rows[0])
    return [cell.strip() for cell in cells] if len(cells) == width > 1 else None


def _delimiter(lines: Callable[[], Iterator[str]], decimal: str | None) -> str:
    """Return the delimiter that gives the largest share of numbers; ties go to the most frequent one."""
    first = next((line for line in lines() if line.strip()), "")
    possible = [sign for sign in ",;\t|" if sign in first and sign != decimal]
    # Names and texts hold blanks, too.
    possible += [BLANK] if BLANK in first.strip() and _has_even_rows(_first_rows(lines(), BLANK)) else []

    def share_of_numbers(delimiter: str) -> tuple[float, bool, int]:
        rows = _first_rows(lines(), delimiter)
        cells = [cell for row in rows[1:] or rows for cell in row]
        numeric = [any(is_number(cell, sign) for sign in ".,") or is_missing(cell) for cell in cells]
        return sum(numeric) / max(1, len(cells)), delimiter != BLANK, first.count(delimiter)

    if len(possible) > 1:
        return max(possible, key=share_of_numbers)
    return possible[0] if possible else ";" if decimal == "," else ","


def _has_even_rows(rows: list[list[str]]) -> bool:
    """Return whether rows between blanks have equally many cells; R leaves out the name of row names."""
    widths = {len(row) for row in rows[1:]} or {len(rows[0])}
    (width, *others) = widths
    return not others and width > 1 and len(rows[0]) in (width, width - 1)


def rows_of(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Return the rows of a text, also empty ones; several blanks between cells are one."""
    if delimiter == BLANK:
        lines = (line.strip().replace("\t", BLANK) + "\n" for line in lines)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == BLANK)


def _first_rows(lines: Iterator[str], delimiter: str) -> list[list[str]]:
    found: list[list[str]] = []
    try:
        for row in islice(filter(None, rows_of(lines, delimiter)), _ROWS):
            found.append(row)
            if len(found) > 4 and len(found) * len(row) > _CELLS:
                break
    except csv.Error:  # reported with its line when the numbers are read
        if not found:
            raise
    return found


def _decimal(rows: list[list[str]]) -> str:
    """Return the comma if some cells are numbers with one and no cell is a number with a point.

    7.261 is one with points between thousands, if another cell shows that the comma is the decimal sign.
    """
    cells = [cell for row in rows for cell in row]
    commas, below = [cell for cell in cells if has_decimal_comma(cell)], cells[len(rows[0]) :]
    points = [cell for cell in below if "." in cell and is_number(cell)]
    if any(map(is_surely_decimal, commas)):
        points = [cell for cell in points if not has_thousands(cell)]
    return "," if commas and not points else "."


def _thousands_by_commas(rows: list[list[str]], delimiter: str, decimal: str | None) -> str | None:
    """Return a number with commas between thousands if the text has them, as 7,261.22 shows.

    Also 7,261 does where commas separate cells, unless another cell shows that the comma is the decimal sign.
    """
    commas = [cell.strip() for row in rows for cell in row if "," in cell]
    if decimal == "," or any(map(is_surely_decimal, commas)):
        return None
    is_grouped = has_decimal_comma if delimiter == "," and decimal is None else is_surely_grouped_by_commas
    return next((cell for cell in commas if is_surely_grouped_by_commas(cell) or is_grouped(cell)), None)


def _note_of_commas(rows: list[list[str]]) -> str:
    example = next((cell.strip() for row in rows for cell in row if has_thousands(cell)), None)
    thousands = f", {example} is {plain_number(example, ',')}" if example else ""
    return f"numbers have decimal commas (1,5 is one and a half{thousands}); --decimal . reads points."


def _find_header(rows: list[list[str]], decimal: str) -> tuple[bool, str | None]:
    """Return whether the first row is a header, and a note if that is in doubt."""
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    row = _numbers([first], decimal)[0]
    numeric = np.array([is_number(cell, decimal) for cell in first])
    if any(not is_missing(cell) for cell in np.array(first, dtype=object)[~numeric]):
        # Numbers in no order are unusual in a header, but usual in a row of data.
        doubtful = numeric.sum() >= 2 and not _is_monotone(row[numeric])
        note = f"the first row is read as the header: {_start_of(first)}; --no-header reads it as data."
        return True, note if doubtful else None
    if not numeric[1:].all() or not below:
        return False, None
    # pandas and R leave the name of the row labels blank.
    start = 0 if numeric[0] else 1
    if start and first[0].strip() == "" and counts_rows(row[0] for row in below):
        return True, None
    numbers = _numbers([row[start:] for row in below], decimal)
    return _judge_numbers(first[start:], row[start:], numbers, decimal)


def _start_of(cells: Sequence[str]) -> str:
    return ", ".join(cell.strip() for cell in cells[:3]) + ", ..."


def _numbers(rows: list[list[str]], decimal: str) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where a cell is not a number."""

    def number(cell: str) -> float:
        return float(plain_number(cell, decimal) or "nan")

    return np.array([[number(cell) for cell in row] for row in rows])


# Numbers near the limits of float64 are not an axis, even if their differences overflow.
@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _judge_numbers(
    cells: Sequence[str], row: NDArray[np.float64], below: NDArray[np.float64], decimal: str
) -> tuple[bool, str | None]:
    """Judge a first row of numbers by the rows below it, where NaN is a missing cell or a text."""
    below = np.where(np.isfinite(below), below, np.nan)
    if len(below) < 2 or not np.isfinite(row).all() or not _is_monotone(row):
        return False, None
    seen = ~np.isnan(below).all(axis=0)
    alone = not any(map(_is_nearly_monotone, below))
    long = row.size >= _LEAST_CURVED
    # 0, 1, 2, ... or 1, 2, 3, ... stand where columns have no names.
    counts = row.size > 2 and row[0] in (0, 1) and bool((np.diff(row) == 1).all())
    differs = _differs(row[seen], below[:, seen], surely_alone=alone and (long or counts))
    shown = _start_of(cells)
    if differs and (counts or _is_axis(cells, row, decimal)):
        return True, f"the first row looks like a header of numbers: {shown}; --no-header reads it as data."
    if counts or (long and alone):
        return False, f"the first row, {shown}, is read as data; if it is a header of numbers, give --header."
    return False, None


def _differs(row: NDArray[np.float64], below: NDArray[np.float64], *, surely_alone: bool) -> bool:
    """Return whether the row cannot be one of those below; less is needed if only this row is monotone."""
    if row.size < _LEAST_EVEN:
        return False
    beyond_all = row.max() > np.nanmax(below) or row.min() < np.nanmin(below)
    return (surely_alone and (beyond_all or _of_another_kind(row, below))) or _far_from(row, below)


def _is_monotone(row: NDArray[np.float64]) -> bool:
    steps = np.diff(row)
    return bool((steps > 0).all() or (steps < 0).all())


def _is_nearly_monotone(row: NDArray[np.float64]) -> bool:
    """Return whether a row goes up, or down, almost all the way, as cumulative curves do."""
    steps = np.diff(row[~np.isnan(row)])
    return steps.any() and max(np.mean(steps >= 0), np.mean(steps <= 0)) >= _NEARLY_ALL


def _is_axis(cells: Sequence[str], row: NDArray[np.float64], decimal: str) -> bool:
    """Return whether the row, its logarithm or its inverse is smooth to the last printed digit.

    Axes are even in wavelength, wavenumber (the inverse) or the logarithm of frequency; instruments calibrate
    them by a polynomial of at most third degree.
    """
    last_digit = max(10.0 ** -max(_decimals(cell, decimal) for cell in cells), 1e-6 * np.ptp(row))
    forms = [(row, np.ones_like(row))]
    if (row > 0).all():
        forms += [(np.log(row), 1 / row), (1 / row, 1 / row**2)]
    place = np.linspace(-1, 1, row.size)
    degree = 3 if row.size >= _LEAST_CURVED else 1
    for form, slope in forms:
        if not np.isfinite([*form, *(last_digit * slope)]).all():
            continue
        smooth = np.polynomial.Polynomial.fit(place, form, degree)(place)
        if (np.abs(form - smooth) <= last_digit * slope).all():
            return True
    return False


def _decimals(cell: str, decimal: str) -> float:
    """Return how many digits follow the decimal point."""
    mantissa, _, exponent = cell.strip().lower().partition("e")
    return len(mantissa.partition(decimal)[2]) - float(exponent or 0)


def _far_from(row: NDArray[np.float64], below: NDArray[np.float64]) -> bool:
    """Return whether nearly every column stays further from the row's number than it is wide."""
    low, high = np.nanmin(below, axis=0), np.nanmax(below, axis=0)
    width = np.maximum(high - low, np.median(high - low))
    distance = np.maximum(low - row, row - high)
    return bool((width > 0).any() and np.mean(distance > width) >= _NEARLY_ALL)


def _of_another_kind(row: NDArray[np.float64], below: NDArray[np.float64]) -> bool:
    """Return whether whole numbers stand above fractions in every row, or the other way round."""
    whole = below == np.round(below)
    if (row == np.round(row)).all():
        return bool((~whole & ~np.isnan(below)).any(axis=1).all())
    return bool((whole | np.isnan(below)).all())
