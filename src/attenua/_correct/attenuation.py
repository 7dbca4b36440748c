r"""Attenuation: the diagonal of S, or its blocks within groups of columns, times :math:`1 - \alpha`."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._correct.correction import Correction
from attenua._data.checks import real_numbers

# The paper's grids of strengths of attenuation: all, and those that input masks can reach.
_GRID = np.sort(np.append(np.round(np.arange(0, 1.0001, 0.05), 2), 0.49))
NAMED_ALPHAS = {"direct": _GRID, "mask": _GRID[_GRID <= 0.49]}


def checked_alphas(alphas: str | ArrayLike) -> NDArray[np.float64]:
    """Return a named or given grid of strengths of attenuation, sorted, without repeats, and with 0 in it."""
    if isinstance(alphas, str) and alphas in NAMED_ALPHAS:
        return NAMED_ALPHAS[alphas].copy()
    grid = real_numbers(alphas, "alphas must be 'direct', 'mask' or an array of numbers")
    if grid.ndim != 1 or grid.size == 0:
        raise ValueError(f"alphas must be one-dimensional, with at least one number; got {alphas!r}.")
    bad = grid[~((grid >= 0) & (grid <= 1))]
    if bad.size:
        raise ValueError(f"alphas must lie from 0 to 1; got {bad[0]:g}.")
    return np.unique(np.append(grid, 0.0))


ATTENUATION = Correction(
    name="attenuation",
    kind="family",
    strengths=(0.0, 0.3, 0.6, 0.9, 1.0),
    weakens="the sample variances on the diagonal",
    how="At strength a, that part of each variance is taken off the diagonal; at 1 only covariances stay.",
    price="It trusts that errors of variances rotate the subspace. It costs where variances differ for a "
    "reason.",
    colour="#b5541c",
)
