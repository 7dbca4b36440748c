"""Whether the first row of a table is its header.

Texts above columns of numbers are. Numbers are where they run like an axis (wavelengths, years) and cannot be
one of the rows below. Where the rows below do not tell, the user must.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from attenua.cli.cells import Array, is_blank, is_missing, is_text, quoted, to_number
from attenua.cli.layout import TableError, columns_of_numbers

# Fewer numbers than this may run evenly, or smoothly, by chance.
_LEAST_EVEN, _LEAST_CURVED = 5, 10
_NEARLY_ALL = 0.9


def is_header(first: Sequence[Any], below: Sequence[Sequence[Any]], decimal: str, notes: list[str]) -> bool:
    """Judge the first row by the rows below it, with a note where that may be wrong, or refuse."""
    texts = any(is_text(cell, decimal) for cell in first)
    if not below:
        return texts
    shown, settles = quoted(first), "--header or --no-header says which"
    as_header = f"the first row, {shown}, is read as the header; --no-header reads it as data."
    labels = [cells[0] for cells in below]
    if is_blank(first[0]) and _name_rows(labels, decimal):
        # pandas and R leave the name of row names empty.
        notes += [] if texts or counts_rows(labels) else [as_header]
        return True
    columns = columns_of_numbers(below, decimal)
    n_odd = sum(is_text(first[column], decimal) for column in columns)
    columns = [column for column in columns if to_number(first[column], decimal) is not None]
    if not columns:
        return texts
    cells = [[to_number(row[column], decimal) for column in columns] for row in (first, *below)]
    numbers = np.array(cells, dtype=float)
    numbers[np.isinf(numbers)] = np.nan
    row, rest = numbers[0], numbers[1:]
    axis = _is_axis([str(first[column]) for column in columns], row, decimal)
    counts = len(row) > 2 and row[0] in (0, 1) and bool((np.diff(row) == 1).all())
    outlier, beyond, other_kind = _compared(row, rest)
    if n_odd:
        if (_is_monotone(row) and (outlier or beyond)) or n_odd > max(len(row), 1):
            notes.append(as_header)
            return True
        raise TableError(f"the first row, {shown}, may be a header or data with a text in it: {settles}.")
    alone = _is_monotone(row) and not any(map(_is_nearly_monotone, rest))
    if (axis or counts) and (outlier or (alone and (beyond or other_kind))):
        notes.append(as_header)
        return True
    if outlier and len(row) > 1:
        raise TableError(f"the first row, {shown}, is unlike all others and may be a header: {settles}.")
    # Two to four numbers may increase by chance, and still be years.
    increases = len(row) > 1 and bool((np.diff(row) > 0).all())
    if texts and increases and bool((row % 1 == 0).all()) and _name_rows([first[0], *labels], decimal):
        raise TableError(f"the first row, {shown}, may be a header of years or data: {settles}.")
    if texts or counts or axis or outlier or (alone if len(row) >= _LEAST_EVEN else increases):
        notes.append(f"the first row, {shown}, is read as data; --header reads it as the header.")
    return False


def counts_rows(labels: Sequence[Any]) -> bool:
    """Return whether labels are 0, 1, 2, ... or 1, 2, 3, ..."""
    texts = [str(label).strip() for label in labels]
    return any(texts == [str(row + start) for row in range(len(texts))] for start in (0, 1))


def _name_rows(labels: Sequence[Any], decimal: str) -> bool:
    """Return whether labels are texts or whole numbers that all differ."""
    numbers = [to_number(label, decimal) for label in labels]
    whole = all(number is None or number % 1 == 0 for number in numbers)
    return whole and not any(map(is_missing, labels)) and len(set(labels)) == len(labels) > 1


def _is_monotone(row: Array) -> bool:
    return len(row) > 1 and bool(abs(np.sign(np.diff(row)).sum()) == len(row) - 1)


def _is_nearly_monotone(row: Array) -> bool:
    """Return whether a row goes up, or down, almost all the way, as cumulative curves do."""
    steps = np.diff(row[~np.isnan(row)])
    return bool(steps.any() and max(np.mean(steps >= 0), np.mean(steps <= 0)) >= _NEARLY_ALL)


def _is_axis(cells: Sequence[str], row: Array, decimal: str) -> bool:
    """Return whether the row, its logarithm or its inverse is smooth to the last printed digit.

    Axes are even in wavelength, wavenumber (the inverse) or the logarithm of frequency; instruments calibrate
    them by a polynomial of at most third degree.
    """
    if len(row) < _LEAST_EVEN or not _is_monotone(row):
        return False
    digits = max(len(cell.strip().partition(decimal)[2]) for cell in cells)
    last_digit = max(10.0**-digits, 1e-6 * np.ptp(row))
    forms = [(row, np.ones_like(row))]
    if (row > 0).all():
        forms += [(np.log(row), 1 / row), (1 / row, 1 / row**2)]
    place = np.linspace(-1, 1, row.size)
    degree = 3 if row.size >= _LEAST_CURVED else 1
    smooth = [np.polynomial.Polynomial.fit(place, form, degree)(place) for form, _ in forms]
    return any(
        (np.abs(form - curve) <= last_digit * slope).all()
        for (form, slope), curve in zip(forms, smooth, strict=True)
    )


def _compared(row: Array, below: Array) -> tuple[bool, bool, bool]:
    """Return whether a row is far from those below in nearly every column, beyond them all, of another kind.

    Far is further than the column is wide. Whole numbers above fractions in every row are of another kind,
    and so are fractions above whole numbers.
    """
    low, high = np.fmin.reduce(below, axis=0), np.fmax.reduce(below, axis=0)
    width = np.maximum(high - low, np.nanmedian(high - low))
    is_far = np.maximum(low - row, row - high) > width
    outlier = len(below) > 1 and bool((width > 0).any()) and bool(np.mean(is_far) >= _NEARLY_ALL)
    beyond = bool(row.max() > high.max() or row.min() < low.min())
    is_part = below % 1 > 0
    kind = is_part.any(axis=1).all() if (row % 1 == 0).all() else not is_part.any()
    return outlier, beyond, bool(kind)
