"""What the theory accepts, and the sentence it answers with when it does not."""

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._correct.corrections import CORRECTIONS, Strengths, checked_strength_of
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
    """Return attenuation strengths in [0, 1] as an array of the shape given."""
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


def as_candidates(strengths: Mapping[str, ArrayLike]) -> tuple[tuple[int, ...], list[Strengths]]:
    """Return the shape that strengths broadcast to, and one `Strengths` for each place in it."""
    unknown = [name for name in strengths if name not in CORRECTIONS]
    if unknown:
        raise TypeError(f"{unknown[0]!r} is not a correction; the corrections are {', '.join(CORRECTIONS)}.")
    arrays = {}
    for name, given in strengths.items():
        arrays[name] = real_numbers(given, f"{name} must be a number or an array of numbers")
        for value in arrays[name].ravel().tolist():
            checked_strength_of(name, value)
    try:
        together = np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(
            f"strengths must have shapes that broadcast, such as (3, 1) and (2,) for a surface; got {shapes}."
        ) from None
    shape = together[0].shape if together else ()
    values = zip(*(array.ravel().tolist() for array in together), strict=True) if together else [()]
    return shape, [Strengths(**dict(zip(arrays, some, strict=True))) for some in values]


def as_sample_size(n: Any, name: str = "n") -> float:
    """Return a sample size: a finite number of at least 1."""
    if not isinstance(n, Real) or isinstance(n, bool) or not 1 <= float(n) < np.inf:
        raise ValueError(f"{name} must be a sample size, a number of at least 1; got {n!r}.")
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


def over_candidates(
    strengths: Mapping[str, ArrayLike], function: Callable[[Strengths], Any], dtype: type = float
) -> Any:
    """Evaluate `function` at every candidate; the answer has the shape that the strengths broadcast to."""
    shape, candidates = as_candidates(strengths)
    answers: NDArray[Any] = np.array([function(candidate) for candidate in candidates], dtype=dtype)
    answers = answers.reshape(shape + answers.shape[1:])
    return answers.item() if answers.ndim == 0 else answers


def in_words(strengths: Strengths) -> str:
    """Return the strengths that are not 0, as a person would write them."""
    used = [f"{name} = {value:.4g}" for name, value in strengths._asdict().items() if value]
    return ", ".join(used) if used else "no correction"
