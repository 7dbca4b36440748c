"""Is the first row a header? One with a text in it is; one of numbers is if it is an axis.

Wavelengths, years and the 0, 1, 2, ... of pandas are. A row of data must almost never be taken for a header,
so two things are asked. The row must be an axis: numbers that run up or down, smooth to their last printed
digit, or that count the columns. And it must be unlike the rows below it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attenua.cli.readers.cells import counts_rows, is_missing, is_number, number

# Fewer numbers than this may run evenly by chance, or smoothly.
_LEAST_EVEN, _LEAST_CURVED = 5, 10
# What holds for nearly all columns.
_MOST_COLUMNS = 0.9


def find_header(rows: list[list[str]], decimal: str) -> tuple[bool, str | None]:
    """Return whether the first of some rows is a header, and what to say about it."""
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    numeric = [is_number(cell, decimal) for cell in first]
    if any(not is_number(cell, decimal) and not is_missing(cell) for cell in first):
        return True, _doubt(first, numeric, decimal)
    if not all(numeric[1:]) or not below:
        return False, None
    # A blank first cell is the name that pandas and R give to the labels of rows.
    start = 0 if numeric[0] else 1
    if start and first[0].strip() == "" and counts_rows(row[0] for row in below):
        return True, None
    return _judge(first[start:], _numbers([row[start:] for row in below], decimal), decimal)


def _doubt(first: list[str], numeric: list[bool], decimal: str) -> str | None:
    """Return what to say of a header that holds numbers in no order, as a row of data would."""
    values = [number(cell, decimal) for cell, is_numeric in zip(first, numeric, strict=True) if is_numeric]
    if len(values) < 2 or _runs(np.array(values)):
        return None
    return f"the first row is read as the header: {_start_of(first)}; --no-header reads it as data."


def _start_of(cells: Sequence[str]) -> str:
    return ", ".join(cell.strip() for cell in cells[:3]) + ", ..."


def _numbers(rows: list[list[str]], decimal: str) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where a cell is none."""
    values = [[number(cell, decimal) if is_number(cell, decimal) else np.nan for cell in row] for row in rows]
    return np.array(values, dtype=float)


# Numbers near the largest or the least double are no axis, whatever their differences come to.
@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _judge(first: Sequence[str], below: NDArray[np.float64], decimal: str) -> tuple[bool, str | None]:
    """Judge a first row of numbers by the rows below it, where NaN is a cell that is missing or a text."""
    row = np.array([number(cell, decimal) for cell in first])
    below = np.where(np.isfinite(below), below, np.nan)
    if len(below) < 2 or not np.isfinite(row).all() or not _runs(row):
        return False, None
    seen = ~np.isnan(below).all(axis=0)
    alone, long, counts = not any(map(_nearly_runs, below)), row.size >= _LEAST_CURVED, _counts_columns(row)
    unlike = _is_unlike(row[seen], below[:, seen], surely_alone=alone and (long or counts))
    shown = _start_of(first)
    if unlike and (counts or _is_axis(first, row, decimal)):
        return True, f"the first row looks like a header of numbers: {shown}; --no-header reads it as data."
    if counts or (long and alone):
        return False, f"the first row, {shown}, is read as data; if it is a header of numbers, give --header."
    return False, None


def _is_unlike(row: NDArray[np.float64], below: NDArray[np.float64], *, surely_alone: bool) -> bool:
    """Return whether the row cannot be one of those below; where it alone runs, less is asked."""
    if row.size < _LEAST_EVEN:
        return False
    if surely_alone and (_of_another_kind(row, below) or _outside_all(row, below)):
        return True
    return _far_from(row, below)


def _runs(row: NDArray[np.float64]) -> bool:
    steps = np.diff(row)
    return bool((steps > 0).all() or (steps < 0).all())


def _nearly_runs(row: NDArray[np.float64]) -> bool:
    """Return whether a row goes up, or down, almost all the way, as curves that add up do."""
    steps = np.diff(row[~np.isnan(row)])
    return steps.any() and max(np.mean(steps >= 0), np.mean(steps <= 0)) >= _MOST_COLUMNS


def _counts_columns(row: NDArray[np.float64]) -> bool:
    """Return whether the row is 0, 1, 2, ... or 1, 2, 3, ..., which stand where there are no names."""
    return row.size > 2 and row[0] in (0, 1) and bool((np.diff(row) == 1).all())


def _is_axis(cells: Sequence[str], row: NDArray[np.float64], decimal: str) -> bool:
    """Return whether the row, its logarithm or its inverse is smooth to the last digit that is printed.

    Axes are even in wavelength, wavenumber (the inverse) or the logarithm of frequency; instruments calibrate
    them by a polynomial of third degree at most.
    """
    last_digit = max(10.0 ** -max(_places(cell, decimal) for cell in cells), 1e-6 * np.ptp(row))
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


def _places(cell: str, decimal: str) -> float:
    """Return how many digits stand after the decimal point."""
    mantissa, _, exponent = cell.strip().lower().partition("e")
    return len(mantissa.partition(decimal)[2]) - float(exponent or 0)


def _far_from(row: NDArray[np.float64], below: NDArray[np.float64]) -> bool:
    """Return whether nearly every column stays further from the row's number than it is wide."""
    low, high = np.nanmin(below, axis=0), np.nanmax(below, axis=0)
    width = np.maximum(high - low, np.median(high - low))
    if not (width > 0).any():
        return False
    distance = np.maximum(low - row, row - high)
    return bool(np.mean(distance > width) >= _MOST_COLUMNS)


def _outside_all(row: NDArray[np.float64], below: NDArray[np.float64]) -> bool:
    """Return whether the row leaves what all the columns hold together."""
    return bool(row.max() > np.nanmax(below) or row.min() < np.nanmin(below))


def _of_another_kind(row: NDArray[np.float64], below: NDArray[np.float64]) -> bool:
    """Return whether whole numbers stand above fractions in every row, or the other way round."""
    whole = below == np.round(below)
    if (row == np.round(row)).all():
        return bool((~whole & ~np.isnan(below)).any(axis=1).all())
    return bool((whole | np.isnan(below)).all())
