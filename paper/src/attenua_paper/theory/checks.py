"""Checks of what the theory is given."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._data.checks import real_numbers

Array = NDArray[np.float64]

# Asymmetry and negative eigenvalues below this part of the largest count as rounding: a covariance that went
# through single precision has both.
INPUT_TOLERANCE = 1e-8
# Squares of larger numbers overflow.
_LARGEST = 1e150


def as_matrix(matrix: ArrayLike, name: str, size: int | None = None) -> Array:
    """Return a finite, symmetric matrix, or raise an error that names it."""
    array = real_numbers(matrix, f"{name} must be a square matrix of real numbers")
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise ValueError(f"{name} must be a square matrix; got shape {array.shape}.")
    if size is not None and len(array) != size:
        raise ValueError(f"{name} must be {size} x {size}; got shape {array.shape}.")
    if not (np.abs(array) <= _LARGEST).all():
        raise ValueError(f"{name} must be finite, with no entry beyond {_LARGEST:g}.")
    if np.abs(array - array.T).max() > INPUT_TOLERANCE * np.abs(array).max():
        raise ValueError(f"{name} must be symmetric.")
    return (array + array.T) / 2


def as_covariance(matrix: ArrayLike, name: str = "covariance") -> Array:
    """Return a symmetric matrix without negative eigenvalues."""
    covariance = as_matrix(matrix, name)
    values = np.linalg.eigvalsh(covariance)
    if values[0] < -INPUT_TOLERANCE * np.abs(values).max():
        raise ValueError(f"{name} must have no negative eigenvalue; its smallest is {values[0]:g}.")
    return covariance


def as_rank(n_components: Any, n_features: int) -> int:
    """Return a rank d with 1 <= d < p, so that some directions are retained and some omitted."""
    if not isinstance(n_components, Integral) or isinstance(n_components, bool):
        raise ValueError(f"n_components must be an integer; got {n_components!r}.")
    if not 1 <= int(n_components) < n_features:
        raise ValueError(
            f"n_components must be at least 1 and below the number of features, {n_features}; "
            f"got {n_components}."
        )
    return int(n_components)


def as_strengths(alpha: ArrayLike, name: str = "alpha") -> Array:
    """Return strengths from 0 to 1 as an array of the same shape."""
    strengths = real_numbers(alpha, f"{name} must be a number or an array of numbers")
    outside = strengths[~((strengths >= 0) & (strengths <= 1))]
    if outside.size:
        raise ValueError(f"{name} must lie between 0 and 1; got {outside.flat[0]:g}.")
    return strengths


def as_sample_size(n: Any) -> float:
    """Return a finite number of at least 1."""
    if not isinstance(n, Real) or isinstance(n, bool) or not 1 <= float(n) < np.inf:
        raise ValueError(f"n must be a sample size, a number of at least 1; got {n!r}.")
    return float(n)


def as_mask_rate(mask_rate: Any) -> float:
    """Return a mask rate m with 0 < m < 1."""
    if not isinstance(mask_rate, Real) or isinstance(mask_rate, bool) or not 0 < float(mask_rate) < 1:
        raise ValueError(f"mask_rate must be a number strictly between 0 and 1; got {mask_rate!r}.")
    return float(mask_rate)


def as_rows(X: ArrayLike, n_features: int, name: str = "X") -> Array:
    """Return a finite matrix of rows with `n_features` columns."""
    rows = real_numbers(X, f"{name} must hold rows of real numbers", booleans=True)
    if rows.ndim != 2 or rows.shape[1] != n_features or not len(rows):
        raise ValueError(f"{name} must hold rows of {n_features} features; got shape {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError(f"{name} must be finite; it holds NaN or infinite values.")
    return rows


def as_answer(values: Any) -> Any:
    """Return a plain number for a question about one number, and otherwise the array."""
    values = np.asarray(values)
    return values.item() if values.ndim == 0 else values
