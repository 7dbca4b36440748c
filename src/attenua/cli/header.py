"""Whether the first row of a table is its header.

Texts above columns of numbers are. Numbers are where they run like an axis (wavelengths, years) and cannot be
one of the rows below. Where the rows below do not tell, the user must.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua.cli.cells import is_blank, is_missing, is_text, to_number
from attenua.cli.layout import TableError, columns_of_numbers, quoted

Array = NDArray[np.float64]

_SETTLES = "--header or --no-header says which"
# Fewer numbers than this may run evenly, or smoothly, by chance.
_LEAST_EVEN, _LEAST_CURVED = 5, 10
_NEARLY_ALL = 0.9


def is_header(first: Sequence[Any], below: Sequence[Sequence[Any]], decimal: str, notes: list[str]) -> bool:
    """Judge the first row by the rows below it, with a note where that may be wrong, or refuse."""
    if not below:
        return any(is_text(cell, decimal) for cell in first)
    shown = quoted(first)
    as_header = f"the first row, {shown}, is read as the header; --no-header reads it as data."
    as_data = f"the first row, {shown}, is read as data; --header reads it as the header."
    labels = [cells[0] for cells in below]
    if is_blank(first[0]) and _name_rows(labels, decimal):
        # pandas and R leave the name of row names empty.
        notes += [] if any(is_text(cell, decimal) for cell in first) or counts_rows(labels) else [as_header]
        return True
    numeric = columns_of_numbers(below, decimal)
    texts = [cell for cell in first if is_text(cell, decimal)]
    odd = [column for column in numeric if is_text(first[column], decimal)]
    places = [column for column in numeric if to_number(first[column], decimal) is not None]
    if not places:
        return bool(texts)
    row = np.array([to_number(first[column], decimal) for column in places], dtype=float)
    rest = np.array([[_number(cells[column], decimal) for column in places] for cells in below])
    shown = quoted(first)
    as_header = f"the first row, {shown}, is read as the header; --no-header reads it as data."
    as_data = f"the first row, {shown}, is read as data; --header reads it as the header."
    outlier, beyond = _is_outlier(row, rest), _is_beyond(row, rest)
    if odd:
        if (_is_monotone(row) and (outlier or beyond)) or len(odd) > max(len(row), 1):
            notes.append(as_header)
            return True
        raise TableError(f"the first row, {shown}, may be a header or data with a text in it: {_SETTLES}.")
    alone = _is_monotone(row) and not any(map(_is_nearly_monotone, rest))
    long = len(row) >= _LEAST_EVEN
    counts = len(row) > 2 and row[0] in (0, 1) and bool((np.diff(row) == 1).all())
    axis = long and _is_monotone(row) and _is_axis([str(first[column]) for column in places], row, decimal)
    if (axis or counts) and (outlier or (alone and (beyond or _is_of_another_kind(row, rest)))):
        notes.append(as_header)
        return True
    if outlier and len(row) > 1:
        raise TableError(
            f"the first row, {shown}, is unlike all others; it may be a header or data: {_SETTLES}."
        )
    # Two to four numbers may increase by chance, and still be years.
    increases = len(row) > 1 and bool((np.diff(row) > 0).all())
    if texts or counts or axis or outlier or (alone if long else increases):
        notes.append(as_data)
    return False


def counts_rows(labels: Sequence[Any]) -> bool:
    """Return whether labels are 0, 1, 2, ... or 1, 2, 3, ..."""
    texts = [str(label).strip() for label in labels]
    return any(texts == [str(row + start) for row in range(len(texts))] for start in (0, 1))


def _name_rows(labels: Sequence[Any], decimal: str) -> bool:
    """Return whether labels are texts or whole numbers that all differ."""
    numbers = [to_number(label, decimal) for label in labels]
    whole = all(number is None or number == round(number) for number in numbers)
    return whole and not any(map(is_missing, labels)) and len(set(labels)) == len(labels) > 1


def _number(cell: Any, decimal: str) -> float:
    number = to_number(cell, decimal)
    return np.nan if number is None or not np.isfinite(number) else number


def _is_monotone(row: Array) -> bool:
    steps = np.diff(row)
    return bool(len(steps)) and bool((steps > 0).all() or (steps < 0).all())


def _is_nearly_monotone(row: Array) -> bool:
    """Return whether a row goes up, or down, almost all the way, as cumulative curves do."""
    steps = np.diff(row[~np.isnan(row)])
    return bool(steps.any() and max(np.mean(steps >= 0), np.mean(steps <= 0)) >= _NEARLY_ALL)


def _is_axis(cells: Sequence[str], row: Array, decimal: str) -> bool:
    """Return whether the row, its logarithm or its inverse is smooth to the last printed digit.

    Axes are even in wavelength, wavenumber (the inverse) or the logarithm of frequency; instruments calibrate
    them by a polynomial of at most third degree.
    """
    digits = max(len(cell.strip().partition(decimal)[2]) for cell in cells)
    last_digit = max(10.0**-digits, 1e-6 * np.ptp(row))
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


def _is_outlier(row: Array, below: Array) -> bool:
    """Return whether nearly every column stays further from the row's number than it is wide."""
    low, high = _range(below)
    width = np.maximum(high - low, np.nanmedian(high - low))
    distance = np.maximum(low - row, row - high)
    enough = len(below) > 1 and bool((width > 0).any())
    return enough and bool(np.mean(distance > width) >= _NEARLY_ALL)


def _is_beyond(row: Array, below: Array) -> bool:
    low, high = _range(below)
    return bool(row.max() > high.max() or row.min() < low.min())


def _range(below: Array) -> tuple[Array, Array]:
    """Return the least and the largest number of every column."""
    return np.fmin.reduce(below, axis=0), np.fmax.reduce(below, axis=0)


def _is_of_another_kind(row: Array, below: Array) -> bool:
    """Return whether whole numbers stand above fractions in every row, or the other way round."""
    whole = below == np.round(below)
    if (row == np.round(row)).all():
        return bool((~whole & ~np.isnan(below)).any(axis=1).all())
    return bool((whole | np.isnan(below)).all())
