"""Numbers such as -999 that may stand for a missing cell: suspected and named, never changed."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np
import scipy.sparse as sp

from attenua._estimate.words import counted
from attenua.cli.readers.source import Source

CODES = (-1.0, -9.0, -99.0, 99.0, -999.0, 999.0, -9999.0, 9999.0, -99999.0, 99999.0, -999999.0, 999999.0)
# Columns of fewer other values are labels, such as -1 and 1.
_LEAST_VALUES = 3
# Smaller numbers may occur once by chance.
_LEAST_ONCE = 999


def suspected_codes(source: Source, X: Any, positions: list[int]) -> list[str]:
    """Return a note for each number that may stand for a missing cell; sparse matrices are not examined.

    A number of `CODES` is suspected in a column if it lies outside the range of the other values, those that
    are not in `CODES`, by more than the width of that range; -1 also if no other value is below 0. Numbers of
    one or two digits must occur at least twice, and a column needs at least three other values that differ.
    """
    if sp.issparse(X) or not X.size:
        return []
    # A code that lies outside of all else is the least or the largest value of its column.
    ends = np.isin(np.fmin.reduce(X, axis=0), CODES) | np.isin(np.fmax.reduce(X, axis=0), CODES)
    found = sorted(
        (code, place, number)
        for place in np.flatnonzero(ends)
        for code, number in _codes_in(np.asarray(X[:, place], dtype=float))
    )
    return [_note(source, code, list(cells), positions) for code, cells in groupby(found, key=lambda f: f[0])]


# Numbers in damaged files can overflow even when they are subtracted.
@np.errstate(over="ignore", invalid="ignore")
def _codes_in(column: Any) -> Iterator[tuple[float, int]]:
    values, counts = np.unique(column[np.isfinite(column)], return_counts=True)
    is_code = np.isin(values, CODES)
    others = values[~is_code]
    if others.size < _LEAST_VALUES:
        return
    low, high = others[0], others[-1]
    for code, number in zip(values[is_code], counts[is_code], strict=True):
        is_far = max(low - code, code - high) > high - low or (code == -1 and low >= 0)
        if is_far and (number > 1 or abs(code) >= _LEAST_ONCE):
            yield float(code), int(number)


def _note(source: Source, code: float, cells: list[tuple[float, Any, int]], positions: list[int]) -> str:
    text, number = code_as_text(code), sum(number for _, _, number in cells)
    called = [source.called(positions[place]) for _, place, _ in cells]
    if len(called) == 1:
        where = f"{called[0]} has {text} in {counted(number, 'row')}"
    else:
        more = f" and {counted(len(called) - 1, 'more column')}"
        where = f"{called[0]}{more} have {text} in {counted(number, 'cell')}"
    return f"{where}, outside the range of the other values: if it stands for missing, give --na {text}."


def code_as_text(code: float) -> str:
    """Return a number as an option takes it, whole numbers without a point."""
    return str(code).removesuffix(".0")
