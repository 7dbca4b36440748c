"""Checks of what users pass in; every error names the argument and what was expected."""

import numbers
import sys
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

from attenua._data.batches import from_arrow
from attenua._data.frames import as_numbers, check_column_names, naming_text_columns
from attenua._data.namespace import check_host

Array = NDArray[np.float64]


def checked_matrix(X: Any) -> tuple[Any, list[str] | None]:
    """Return X as a dense array or csr matrix, of any real type, with its column names if it has any."""
    check_host(X, "This function")
    X, arrow_names = from_arrow(X)
    columns = getattr(X, "columns", arrow_names)
    names = None if columns is None else [str(name) for name in columns]
    with naming_text_columns(X):
        rows = check_array(X, **matrix_requirements(), estimator="attenua", input_name="X")
        return as_numbers(rows), names


def matrix_requirements() -> dict[str, Any]:
    """Return what every data matrix must be, as options of scikit-learn's validation.

    Finiteness is checked with the pass over the data that measures its size, which can name the column;
    integers are converted block by block, so that a large memory map is never copied whole.
    """
    return {
        "accept_sparse": "csr",
        "dtype": "numeric",
        "ensure_all_finite": False,
        "ensure_min_samples": 2,
    }


def real_numbers(values: Any, expected: str, *, booleans: bool = False) -> Array:
    """Return an array of doubles, or raise where values are complex, text or objects that are no numbers.

    Parameters
    ----------
    values : array-like
        Numbers.
    expected : str
        The first half of the error: the argument and what it must be.
    booleans : bool
        Whether True and False count as 1 and 0, which they do in data.
    """
    try:
        given = np.asarray(values)
    except (TypeError, ValueError):
        raise ValueError(f"{expected}; got rows of different lengths.") from None
    kind = given.dtype.kind
    if kind == "O" and all(isinstance(value, numbers.Real) for value in given.flat):
        kind = "f"
    if kind not in ("iufb" if booleans else "iuf"):
        raise ValueError(f"{expected}; got {_KINDS.get(kind, f'values of type {given.dtype}')}.")
    return given.astype(float, copy=False)


_KINDS = {"b": "True and False", "c": "complex numbers", "O": "objects", "S": "text", "U": "text"}


def encode_labels(labels: NDArray[Any], name: str) -> NDArray[np.intp]:
    """Return labels as 0, 1, ... in sorted order."""
    labels = as_labels(labels, name)
    try:
        return np.unique(labels, return_inverse=True)[1].reshape(-1)
    except TypeError:
        raise ValueError(f"{name} mixes labels that cannot be compared, such as numbers and text.") from None


def as_labels(values: Any, name: str) -> NDArray[Any]:
    """Return labels as an array, or raise if one of them is missing or cannot be told from others."""
    check_no_column_name(values, name)
    labels = np.asarray(values)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"{name} holds a label that is NaN or infinite.")
    if np.ma.is_masked(values) or (labels.dtype.kind in "mM" and np.isnat(labels).any()):
        raise ValueError(f"{name} holds a missing label.")
    if labels.dtype == object:
        for label in labels.flat:
            _check_label(label, name)
    return labels


def _check_label(label: Any, name: str) -> None:
    if not isinstance(label, Hashable):
        raise ValueError(f"{name} must hold numbers or text; got a label of the type {type(label).__name__}.")
    # The missing value of pandas is not comparable, not even with itself.
    if label is None or type(label).__name__ == "NAType" or label != label:
        raise ValueError(f"{name} holds a missing label.")


def check_no_column_name(values: Any, name: str) -> None:
    """Raise if what should be one entry per row is a word."""
    if isinstance(values, str):
        raise ValueError(f"{name} must hold one entry per row, not the name of a column; got {values!r}.")


def checked_weights(sample_weight: ArrayLike | None, n_samples: int) -> Array | None:
    """Return frequencies of rows as an array, or None."""
    weights = checked_batch_weights(sample_weight, n_samples)
    if weights is not None:
        check_total_weight(float(weights.sum()))
    return weights


def checked_batch_weights(sample_weight: ArrayLike | None, n_samples: int) -> Array | None:
    """Return frequencies of some of the rows as an array, or None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n_samples, float(sample_weight))
    check_no_column_name(sample_weight, "sample_weight")
    if np.ma.is_masked(sample_weight):
        raise ValueError("sample_weight must not be masked.")
    weights = real_numbers(sample_weight, "sample_weight must be an array of numbers", booleans=True)
    if weights.ndim != 1:
        raise ValueError(
            f"sample_weight must be 1D array or scalar, one number per row; got {weights.ndim}D."
        )
    if len(weights) != n_samples:
        raise ValueError(f"sample_weight has {len(weights)} entries, but X has {n_samples} rows.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite and nonnegative.")
    return weights


def check_total_weight(total: float) -> None:
    """Raise unless frequencies sum to more than one row."""
    if total == 0:
        raise ValueError("sample_weight must not be zero for every row.")
    if total <= 1:
        raise ValueError(
            "sample_weight must sum to more than 1: a weight counts how often a row was seen. "
            f"They sum to {total:g}; normalised weights times the number of rows will do."
        )


def check_names(estimator: Any, names: list[str], *, reset: bool) -> None:
    """Note or compare the columns of data whose names scikit-learn's validation cannot read."""
    check_column_names(names)
    if reset:
        estimator.n_features_in_ = len(names)
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
        return
    known = getattr(estimator, "feature_names_in_", None)
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"X has {len(names)} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    if known is not None and list(known) != list(names):
        other = next(pair for pair in zip(names, known, strict=True) if pair[0] != pair[1])
        raise ValueError(
            "The feature names should match those that were passed during fit, in the same order: got "
            f"{other[0]!r} where {other[1]!r} was fitted."
        )


def checked_count(value: Any, name: str, least: int = 1, most: int | None = None) -> int:
    """Return an integer of at least `least`, and at most `most` where that is given."""
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        span = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be an integer {span}; got {value!r}.")
    return int(value)


def checked_random(random_state: Any) -> np.random.RandomState:
    """Return what draws at random, by scikit-learn's conventions."""
    try:
        random: np.random.RandomState = check_random_state(random_state)
    except ValueError:
        raise ValueError(
            f"random_state must be an integer from 0 to 2**32 - 1, a numpy RandomState or None; got "
            f"{random_state!r}."
        ) from None
    return random


def checked_positive(value: Any, name: str) -> float:
    """Return a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a positive number; got {value!r}.")
    return float(value)


def caller_level() -> int:
    """Return the ``stacklevel`` with which a warning points at the first line outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "attenua":
        level, frame = level + 1, frame.f_back
    return level
