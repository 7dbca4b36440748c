"""What corrections share that need every correlation: a limit of columns, and a bound of eigenvalues."""

from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from attenua._correct.correction import Limit
from attenua._data.moments import Moments
from attenua._data.opening import FitData

# For more columns than this, corrections that need every correlation are not offered.
MOST_COLUMNS = 4_000
# A bound of the eigenvalues takes this many products. They may miss the smallest eigenvalue, so the bound is
# lowered by parts of the smallest and of the largest value that they found.
_STEPS, _OF_SMALLEST, _OF_LARGEST = 24, 0.1, 3e-4


def column_limit(strength: float, data: FitData, names: Any) -> Limit | None:
    """Return that X has too many columns for all correlations to be formed, or None."""
    if data.moments.n_features <= MOST_COLUMNS:
        return None
    return Limit(
        f"it needs every correlation, which is formed for up to {MOST_COLUMNS:,} columns; X has "
        f"{data.moments.n_features:,}"
    )


def lower_bound(moments: Moments) -> float:
    """Return a lower bound of the eigenvalues of a covariance, by Lanczos from a random start.

    The smallest Ritz value is never below the smallest eigenvalue, so the norm of its residual and a
    margin are subtracted.
    """
    p = moments.n_features
    steps = min(_STEPS, p)
    start = np.random.default_rng(0).standard_normal(p)
    Q = np.zeros((steps, p))
    following = start / np.linalg.norm(start)
    diagonal, beyond = [], []
    for k in range(steps):
        Q[k, :] = following
        product = moments.apply(following[:, None])[:, 0]
        diagonal.append(float(following @ product))
        for _ in range(2):  # twice is enough to be orthogonal to rounding
            product = product - Q[: k + 1, :].T @ (Q[: k + 1, :] @ product)
        beyond.append(float(np.linalg.norm(product)))
        if beyond[-1] <= 1e-12 * max(map(abs, diagonal)):
            break
        following = product / beyond[-1]
    values, vectors = eigh_tridiagonal(np.array(diagonal), np.array(beyond[:-1]))
    residual = beyond[-1] * abs(vectors[-1, 0])
    return float(values[0] - residual - _OF_SMALLEST * abs(values[0]) - _OF_LARGEST * abs(values[-1]))
