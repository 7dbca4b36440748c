"""What the theory accepts, and the error message where it does not."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._data.checks import real_numbers

# Relative size of the asymmetry and of the negative eigenvalues that count as rounding (a covariance that
# went through single precision has both at about 1e-7 of an entry, well below it of the largest one).
INPUT_TOLERANCE = 1e-8

# Relative size of P_perp D P, and of D's departure from a multiple of I, that counts as zero.
PRESERVATION_TOLERANCE = 1e-8


def as_matrix(matrix: ArrayLike, name: str, size: int | None = None) -> NDArray[np.float64]:
    """Return a finite, symmetric matrix of floats (a fresh one), or say what is wrong with `name`."""
    array = real_numbers(matrix, f"{name} must be a square matrix of real numbers")
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise ValueError(f"{name} must be a square matrix; got shape {array.shape}.")
    if size is not None and len(array) != size:
        raise ValueError(f"{name} must be {size} x {size}; got shape {array.shape}.")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"{name} must be finite; entry ({row}, {column}) is {array[row, column]}.")
    skew = np.abs(array - array.T)
    if skew.max() > INPUT_TOLERANCE * np.abs(array).max():
        row, column = np.unravel_index(skew.argmax(), skew.shape)
        raise ValueError(
            f"{name} must be symmetric; entry ({row}, {column}) is {array[row, column]:g} "
            f"and entry ({column}, {row}) is {array[column, row]:g}."
        )
    return array / 2 + array.T / 2


def as_rank(n_components: Any, n_features: int) -> int:
    """Return the rank d of the target, 1 <= d < p: there must be something to retain and to omit."""
    if not isinstance(n_components, Integral) or isinstance(n_components, bool):
        raise ValueError(f"n_components must be an integer; got {n_components!r}.")
    rank = int(n_components)
    if not 1 <= rank < n_features:
        raise ValueError(
            f"n_components must be at least 1 and below the number of features, {n_features}, so that "
            f"directions are both retained and omitted; got {rank}."
        )
    return rank


def as_strengths(alpha: ArrayLike, name: str = "alpha") -> NDArray[np.float64]:
    """Return attenuation strengths in [0, 1] as an array of the same shape."""
    strengths = real_numbers(alpha, f"{name} must be a number or an array of numbers")
    outside = strengths[~((strengths >= 0) & (strengths <= 1))]
    if outside.size:
        raise ValueError(f"{name} must lie between 0 and 1; got {outside.flat[0]:g}.")
    return strengths


def as_strength(alpha: ArrayLike, name: str = "alpha") -> float:
    """Return one strength in [0, 1]."""
    strengths = as_strengths(alpha, name)
    if strengths.ndim:
        raise ValueError(f"{name} must be one number here; got an array of shape {strengths.shape}.")
    return float(strengths)


def as_sample_size(n: Any) -> float:
    """Return a sample size: a finite number of at least 1."""
    if not isinstance(n, Real) or isinstance(n, bool) or not 1 <= float(n) < np.inf:
        raise ValueError(f"n must be a sample size, a number of at least 1; got {n!r}.")
    return float(n)


def as_rows(X: ArrayLike, n_features: int | None = None, name: str = "X") -> NDArray[np.float64]:
    """Return a finite matrix of rows, with `n_features` columns if that is given."""
    rows = real_numbers(X, f"{name} must hold rows of real numbers", booleans=True)
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"{name} must hold rows, as a matrix that is not empty; got shape {rows.shape}.")
    if n_features is not None and rows.shape[1] != n_features:
        raise ValueError(f"{name} must hold rows of {n_features} features; got shape {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError(f"{name} must be finite; it holds NaN or infinite values.")
    return rows


def as_answer(values: NDArray[Any]) -> Any:
    """Return a plain number where the question was about one number, and else the array."""
    return values.item() if values.ndim == 0 else values
