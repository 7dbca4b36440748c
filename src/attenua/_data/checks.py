"""Checks of what users pass in; every error names the argument or the columns, and what was expected.

A column of a data frame holds numbers if its values are truth values, integers, floating-point numbers or
decimals, or categories that are. Text is none, even if it reads as one: "1" may be a code. Times and spans of
time are none: their unit differs from library to library.
"""

import numbers
import reprlib
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

Array = NDArray[np.float64]

_MOST_NAMES = 5


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
    """Return an array of doubles, or raise where values are complex, text or objects other than numbers.

    The error starts with `expected`: the argument and what it must be. With `booleans`, True and False count
    as 1 and 0, as they do in data.
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
    """Return labels as 0, 1, ... in the order in which they first appear, whatever they are called."""
    labels = as_labels(labels, name)
    try:
        _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    except TypeError:
        raise ValueError(f"{name} mixes labels that cannot be compared, such as numbers and text.") from None
    return np.argsort(np.argsort(first))[numbers.reshape(-1)]


def as_labels(values: Any, name: str) -> NDArray[Any]:
    """Return labels as an array, or raise if one of them is missing or cannot be compared."""
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
    """Return an integer of at least `least`, and at most `most` if that is given."""
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_whole or int(value) < least or (most is not None and int(value) > most):
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


def caller_level() -> int:
    """Return the ``stacklevel`` with which a warning points at the first line outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "attenua":
        level, frame = level + 1, frame.f_back
    return level


@contextmanager
def naming_text_columns(X: Any) -> Iterator[None]:
    """Read X as numbers inside; an error names the columns that are not numbers, masked, or share a name."""
    if hasattr(X, "columns"):
        check_column_names(X.columns)
    _refuse_masked(X)
    # Before anything is read: scikit-learn takes text such as "1" for a number, and a polars frame gives its
    # times as numbers.
    columns = _text_columns(X)
    if columns and hasattr(X, "columns"):
        raise ValueError(refusal_of_text(columns))
    try:
        yield
    except (TypeError, ValueError) as error:
        if columns:
            # For arrays, scikit-learn's own tests expect the kind and the words of Python's error as well.
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{refusal_of_text(columns)} ({error})") from error
        if str(error).startswith(_OF_ALL_DATA):
            dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
            raise ValueError(_refusal_of_type(dtype)) from None
        raise
    if columns:
        raise ValueError(refusal_of_text(columns))


# How scikit-learn's errors of complex numbers and of text begin; the first goes on with all of the data.
_OF_ALL_DATA = (
    "Complex data not supported\n",
    "dtype='numeric' is not compatible with arrays of bytes/strings",
)


def as_numbers(rows: Any) -> Any:
    """Return rows as numbers; scikit-learn lets times and the Python objects of a polars frame pass."""
    if isinstance(rows.dtype, np.dtype):
        check_type(rows.dtype)
    return rows.astype(float) if rows.dtype == object else rows


def check_type(dtype: Any) -> None:
    """Raise if arrays of a type hold no real numbers; Python objects are checked by their values."""
    if dtype.kind not in "biufO":
        raise ValueError(_refusal_of_type(dtype))


def _refusal_of_type(dtype: Any) -> str:
    if dtype.kind == "c":
        return f"Complex data not supported: X has the type {dtype}."
    held = "text" if dtype.kind in "US" else f"values of the type {dtype}"
    return f"X holds {held}, not numbers."


def refusal_of_text(columns: list[str]) -> str:
    """Return the error message about columns that hold no numbers."""
    names = ", ".join(columns[:_MOST_NAMES]) + (", ..." if len(columns) > _MOST_NAMES else "")
    number = "a column" if len(columns) == 1 else f"{len(columns)} columns"
    return (
        f"X has {number} with values that are not numbers: {names}. Leave out such columns, or encode them "
        "as numbers."
    )


def check_column_names(names: Iterable[Any]) -> None:
    """Raise if there are no columns, or two of one name."""
    counted = Counter(names)
    if not counted:
        raise ValueError("Found 0 feature(s): X has no columns, while at least 1 is required.")
    ((name, number),) = counted.most_common(1)
    if number > 1:
        raise ValueError(f"X has {number} columns named {name!r}; every column must have a name of its own.")


def shown(value: Any) -> str:
    """Return a value in a few characters, on one line."""
    return " ".join(reprlib.repr(value).split())


def _refuse_masked(X: Any) -> None:
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X) and X.ndim == 2:
        column = int(np.argmax(np.ma.getmaskarray(X).any(axis=0)))
        raise ValueError(f"X is a masked array with a masked value in column {column}; fill in such values.")


def _text_columns(X: Any) -> list[str]:
    """Return the columns of a frame, or of an array of objects, that cannot be read as numbers."""
    holds_columns = hasattr(X, "columns") or (isinstance(X, np.ndarray) and X.dtype.kind == "O")
    if not holds_columns or len(X.shape) != 2:
        return []
    kinds = getattr(X, "dtypes", [None] * X.shape[1])
    suspects = [number for number, kind in enumerate(kinds) if not _promises_numbers(kind)]
    return [_described(X, number) for number in suspects if not _is_numbers(_column(X, number))]


def _promises_numbers(dtype: Any) -> bool:
    """Whether the type of a pandas or polars column implies that its values are numbers."""
    is_numeric = getattr(dtype, "is_numeric", None)  # of polars
    return getattr(dtype, "kind", "") in ("b", "i", "u", "f") or (callable(is_numeric) and bool(is_numeric()))


def _described(X: Any, number: int) -> str:
    """Return the name of a column, or its number if it has none, with one of its values."""
    name = X.columns[number] if hasattr(X, "columns") else number
    return f"{name!r} ({shown(_first_text(_column(X, number)))}, ...)"


def _column(X: Any, number: int) -> Any:
    return getattr(X, "iloc", X)[:, number]


def _is_numbers(values: Any) -> bool:
    if getattr(getattr(values, "dtype", None), "kind", "") in ("m", "M"):
        return False  # pandas makes numbers of times that have a zone
    try:
        found = np.asarray(values)
        if found.ndim != 1 or found.dtype.kind not in "biufO":
            return False
        np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return False
    return found.dtype.kind != "O" or not any(isinstance(value, (str, bytes)) for value in found)


def _first_text(values: Any) -> Any:
    """Return the first value that is not a number, or the first of all if each alone is one."""
    for value in values:
        if isinstance(value, (str, bytes)):
            return value
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return next(iter(values), None)
