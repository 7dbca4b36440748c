"""The form of a CSV text, guessed from its first rows: delimiter, decimal sign and header.

A first row with a text in it is a header. A first row of numbers is a header only if it is an axis, such as
wavelengths, years or the 0, 1, 2, ... of pandas, and differs from the rows below it. Data must almost never
be mistaken for a header.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

# Words for a missing cell in pandas, Excel and R.
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>", "#N/A", "#NA")

_NUMBER = re.compile(
    r"[+-]?(?:\d+[.]?\d*|[.]\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|infinity|nan)", re.IGNORECASE | re.ASCII
)
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*", re.ASCII)
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
    names: Sequence[str] | None = None  # column names to expect in a header


@dataclass(frozen=True)
class Form:
    """How to read a text; `notes` are the assumptions that may be wrong."""

    delimiter: str
    decimal: str
    names: list[str] | None
    width: int
    notes: tuple[str, ...]


def is_missing(cell: str) -> bool:
    """Return whether a cell is empty or holds a word for a missing value."""
    return cell.strip(" \t") in MISSING


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return whether a cell is a number; with decimal commas, numbers contain no point."""
    cell = cell.strip(" \t")
    if decimal == ",":
        if "." in cell:
            return False
        cell = cell.replace(",", ".")
    return _NUMBER.fullmatch(cell) is not None


def counts_rows(cells: Iterable[object]) -> bool:
    """Return whether the cells are 0, 1, 2, ... or 1, 2, 3, ..."""
    texts = [str(cell).strip() for cell in cells]
    return bool(texts) and any(texts == [str(row + start) for row in range(len(texts))] for start in (0, 1))


def find_form(lines: Callable[[], Iterator[str]], options: CsvOptions) -> Form | None:
    """Return the form of a text, or None if it has no rows; `lines()` returns its lines from the start."""
    header, decimal = options.header, options.decimal
    delimiter = _delimiter(lines, decimal)
    rows = _first_rows(lines(), delimiter)
    if not rows:
        return None
    notes = []
    if decimal is None:
        decimal = _decimal(rows, delimiter)
        if decimal == ",":
            notes.append("numbers have decimal commas (1,5 is one and a half); --decimal . reads points.")
    if header is None and options.names is not None:
        header = set(options.names) <= {cell.strip() for cell in rows[0]} or None
    if header is None:
        header, note = _find_header(rows, decimal)
        notes += [note] if note else []
    names = [cell.strip() for cell in rows[0]] if header else None
    return Form(delimiter, decimal, names, len(rows[0]), tuple(notes))


def _delimiter(lines: Callable[[], Iterator[str]], decimal: str | None) -> str:
    """Return the delimiter that gives the largest share of numbers; ties go to the most frequent one."""
    first = next((line for line in lines() if line.strip()), "")
    possible = [sign for sign in ",;\t" if sign in first and sign != decimal]

    def share_of_numbers(delimiter: str) -> tuple[float, int]:
        rows = _first_rows(lines(), delimiter)
        cells = [cell for row in rows[1:] or rows for cell in row]
        numeric = [any(is_number(cell, sign) for sign in ".,") or is_missing(cell) for cell in cells]
        return sum(numeric) / max(1, len(cells)), first.count(delimiter)

    if len(possible) > 1:
        return max(possible, key=share_of_numbers)
    return possible[0] if possible else ";" if decimal == "," else ","


def _first_rows(lines: Iterator[str], delimiter: str) -> list[list[str]]:
    rows = (row for row in csv.reader(lines, delimiter=delimiter) if row)
    found: list[list[str]] = []
    try:
        for row in islice(rows, _ROWS):
            found.append(row)
            if len(found) > 4 and len(found) * len(row) > _CELLS:
                break
    except csv.Error:  # reported with its line when the numbers are read
        if not found:
            raise
    return found


def _decimal(rows: list[list[str]], delimiter: str) -> str:
    """Return the comma if some cells are numbers with one and no cell is a number with a point."""
    if delimiter == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    with_comma = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    with_point = any("." in cell and is_number(cell) for cell in cells[len(rows[0]) :])
    return "," if with_comma and not with_point else "."


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
        return float(cell.replace(decimal, ".")) if is_number(cell, decimal) else np.nan

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
