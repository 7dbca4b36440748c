"""Is a first row of numbers a header? Wavelengths, times and the 0, 1, 2, ... of pandas are.

A row of data must almost never be taken for a header, so two things are asked. The row must be an axis:
numbers that run up or down, smooth to their last printed digit. And it must be unlike the rows below it.
"""

from collections.abc import Sequence
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from attenua.cli.readers.cells import number

# Fewer numbers than this may run evenly by chance.
_LEAST_EVEN, _LEAST_CURVED = 5, 10
# What holds for nearly all columns.
_MOST_COLUMNS = 0.9


class Finding(Enum):
    """What the first row of numbers is taken for."""

    DATA = "data"
    SUSPECT = "suspect"
    HEADER = "header"


def judge(first: Sequence[str], below: NDArray[np.float64], decimal: str = ".") -> Finding:
    """Judge a first row of numbers by the rows below it.

    Parameters
    ----------
    first : sequence of str
        Cells of the first row, all numbers.
    below : ndarray of shape (n_rows, n_columns)
        Some rows below it; NaN where a cell is missing or a text.
    decimal : str
        The decimal point or comma.
    """
    row = np.array([number(cell, decimal) for cell in first])
    below = np.where(np.isfinite(below), below, np.nan)
    seen = ~np.isnan(below).all(axis=0)
    below = below[:, seen]
    if below.shape[1] < _LEAST_EVEN or len(below) < 2 or not np.isfinite(row).all() or not _runs(row):
        return Finding.DATA
    alone, long = not any(_nearly_runs(other) for other in below), row.size >= _LEAST_CURVED
    another_kind = alone and _of_another_kind(row[seen], below)
    if _counts_columns(row) and (another_kind or (alone and _outside_all(row[seen], below))):
        return Finding.HEADER
    if _is_axis(first, row, decimal) and ((long and another_kind) or _far_from(row[seen], below)):
        return Finding.HEADER
    return Finding.SUSPECT if long and alone else Finding.DATA


def _runs(row: NDArray[np.float64]) -> bool:
    steps = np.diff(row)
    return bool((steps > 0).all() or (steps < 0).all())


def _nearly_runs(row: NDArray[np.float64]) -> bool:
    """Return whether a row goes up, or down, almost all the way, as curves that add up do."""
    steps = np.diff(row[~np.isnan(row)])
    return steps.any() and max(np.mean(steps >= 0), np.mean(steps <= 0)) >= _MOST_COLUMNS


def _counts_columns(row: NDArray[np.float64]) -> bool:
    """Return whether the row is 0, 1, 2, ... or 1, 2, 3, ..., which stand where there are no names."""
    return row[0] in (0, 1) and bool((np.diff(row) == 1).all())


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
        smooth = np.polynomial.Polynomial.fit(place, form, degree)(place)
        if (np.abs(form - smooth) <= last_digit * slope).all():
            return True
    return False


def _places(cell: str, decimal: str) -> int:
    """Return how many digits stand after the decimal point."""
    mantissa, _, exponent = cell.strip().lower().partition("e")
    return len(mantissa.partition(decimal)[2]) - int(exponent or 0)


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
