"""Grids of strengths as users give them: numbers, or the name of a grid."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._data.checks import real_numbers

Array = NDArray[np.float64]

_GRID = np.sort(np.append(np.round(np.arange(0, 1.0001, 0.05), 2), 0.49))
NAMED_STRENGTHS = {"direct": _GRID, "mask": _GRID[_GRID <= 0.49]}


def checked_strengths(alphas: str | ArrayLike) -> Array:
    """Return a named or given grid of strengths, sorted, without repeats, and with 0 in it."""
    if isinstance(alphas, str) and alphas in NAMED_STRENGTHS:
        return NAMED_STRENGTHS[alphas].copy()
    grid = real_numbers(alphas, "alphas must be 'direct', 'mask' or an array of numbers")
    if grid.ndim != 1 or grid.size == 0:
        raise ValueError(f"alphas must be one-dimensional, with at least one number; got {alphas!r}.")
    bad = grid[~((grid >= 0) & (grid <= 1))]
    if bad.size:
        raise ValueError(f"alphas must lie from 0 to 1; got {bad[0]:g}.")
    return np.unique(np.append(grid, 0.0))
