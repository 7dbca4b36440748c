"""Strengths that minimise a risk: on a grid, or on a whole range."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from attenua.theory._checks import as_strengths
from attenua.theory.cutoff import Array

# The closure of the strengths that random masks reach, and of the direct path.
RANGES = {"direct": 1.0, "mask": 0.5}


def upper_end(path: str) -> float:
    """Return the largest strength of a path, "direct" or (in the limit) "mask"."""
    if path not in RANGES:
        raise ValueError(f'path must be "direct" or "mask"; got {path!r}.')
    return RANGES[path]


def default_strengths(path: str = "direct") -> Array:
    """Return the paper's grid, {0, .05, ..., 1} with .49, up to the end of the path.

    Examples
    --------
    >>> from attenua.theory import default_strengths
    >>> len(default_strengths()), float(default_strengths("mask").max())
    (22, 0.49)
    """
    grid = np.sort(np.append(np.arange(21) / 20, 0.49))
    return grid[grid < 0.5] if upper_end(path) == 0.5 else grid


def default_temperings() -> Array:
    """Return the temperings of a risk surface, {0, .1, ..., 1}."""
    return np.arange(11) / 10


def on_grid(curve: Callable[[Array], Array], strengths: ArrayLike, upper: float) -> float:
    """Return the strength of the grid, up to `upper`, with the smallest value; ties go to the smallest."""
    grid = np.unique(as_strengths(strengths, "strengths").ravel())
    grid = grid[grid <= upper]
    if grid.size == 0:
        raise ValueError(f"strengths must hold at least one strength of the path, at most {upper:g}.")
    return float(grid[np.argmin(curve(grid))])


def on_range(curve: Callable[[Array], Array], upper: float) -> float:
    """Return the minimiser on [0, upper]: the best of a grid, polished between its neighbours."""
    grid = np.linspace(0, upper, 21)
    values = curve(grid)
    best = int(np.argmin(values))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, 20)]
    polished = minimize_scalar(
        lambda strength: float(curve(np.array([strength]))[0]),
        bounds=bounds,
        method="bounded",
        options={"xatol": 1e-7 * upper},
    )
    # The bounded search never evaluates its end points, where a monotone curve has its minimum.
    return float(polished.x) if polished.fun < values[best] else float(grid[best])
