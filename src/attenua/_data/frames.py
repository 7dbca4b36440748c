"""The columns of what users pass in: which hold numbers, and what an error says of those that do not.

A column of a data frame holds numbers if its values are truth values, integers, floating-point numbers or
decimals, or categories that are. Times and spans of time are no numbers: what they would count, and in which
unit, differs from library to library.
"""

import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_MOST_NAMES = 5


@contextmanager
def naming_text_columns(X: Any) -> Iterator[None]:
    """Read X as numbers; an error names the columns that are none, that are masked, or that share a name."""
    if hasattr(X, "columns"):
        check_column_names(X.columns)
    _refuse_masked(X)
    # Read before anything fails: a polars frame gives its times as numbers without a word.
    times = [number for number, dtype in enumerate(_dtypes(X)) if _is_time(dtype)]
    if times:
        raise ValueError(refusal_of_text([_described(X, number) for number in times]))
    try:
        yield
    except (TypeError, ValueError) as error:
        columns = _text_columns(X)
        if columns and hasattr(X, "columns"):
            raise ValueError(refusal_of_text(columns)) from error
        if columns:
            # Of an array, scikit-learn's own tests want the kind and the words of Python's error as well.
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{refusal_of_text(columns)} ({error})") from error
        if str(error).startswith("Complex data not supported\n"):  # and then all of the data
            dtype = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
            raise ValueError(_refusal_of_type(dtype)) from None
        raise


def as_numbers(rows: Any) -> Any:
    """Return rows as numbers; scikit-learn lets times and the Python objects of a polars frame pass."""
    if isinstance(rows.dtype, np.dtype):
        check_type(rows.dtype)
    return rows.astype(float) if rows.dtype == object else rows


def check_type(dtype: Any) -> None:
    """Raise if an array of a type holds no real numbers; of Python objects, only their values can tell."""
    if dtype.kind not in "biufO":
        raise ValueError(_refusal_of_type(dtype))


def _refusal_of_type(dtype: Any) -> str:
    if dtype.kind == "c":
        return f"Complex data not supported: X has the type {dtype}."
    return f"X holds values of the type {dtype}, not numbers."


def refusal_of_text(columns: list[str]) -> str:
    """Return what an error says of columns that hold no numbers."""
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


def _dtypes(X: Any) -> Any:
    return getattr(X, "dtypes", ()) if hasattr(X, "columns") else ()


def _is_time(dtype: Any) -> bool:
    """Whether a column of this type, of pandas or polars, holds times or spans of time."""
    return getattr(dtype, "kind", None) in ("m", "M") or (
        hasattr(dtype, "is_temporal") and bool(dtype.is_temporal())
    )


def _refuse_masked(X: Any) -> None:
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X) and X.ndim == 2:
        column = int(np.argmax(np.ma.getmaskarray(X).any(axis=0)))
        raise ValueError(f"X is a masked array with a masked value in column {column}; fill in such values.")


def _text_columns(X: Any) -> list[str]:
    """Return the columns of a frame, or of an array of objects, that cannot be read as numbers."""
    holds_columns = hasattr(X, "columns") or (isinstance(X, np.ndarray) and X.dtype.kind == "O")
    if not holds_columns or len(X.shape) != 2:
        return []
    return [_described(X, number) for number in range(X.shape[1]) if not _is_numbers(_column(X, number))]


def _described(X: Any, number: int) -> str:
    """Return the name of a column, or its number where it has none, with a value of it."""
    name = X.columns[number] if hasattr(X, "columns") else number
    return f"{name!r} ({shown(_first_text(_column(X, number)))}, ...)"


def _column(X: Any, number: int) -> Any:
    return getattr(X, "iloc", X)[:, number]


def _is_numbers(values: Any) -> bool:
    try:
        found = np.asarray(values)
        if found.ndim != 1 or found.dtype.kind not in "biufOU":
            return False
        np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return False
    return True


def _first_text(values: Any) -> Any:
    """Return the first value that is no number, or the first of all where each alone is one."""
    for value in values:
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return next(iter(values), None)
