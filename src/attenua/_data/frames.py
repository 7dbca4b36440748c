"""The columns of what users pass in: which hold numbers, and what an error says of those that do not.

A column of a data frame holds numbers if its values are truth values, integers, floating-point numbers or
decimals, or categories that are. Text is none, also where it reads as one: "1" may be a code. Times and spans
of time are none: what they would count, and in which unit, differs from library to library.
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
    # Looked for before anything is read: scikit-learn takes text such as "1" for a number, and a polars frame
    # gives its times as numbers.
    columns = _text_columns(X)
    if columns and hasattr(X, "columns"):
        raise ValueError(refusal_of_text(columns))
    try:
        yield
    except (TypeError, ValueError) as error:
        if columns:
            # Of an array, scikit-learn's own tests want the kind and the words of Python's error as well.
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
    """Raise if an array of a type holds no real numbers; of Python objects, only their values can tell."""
    if dtype.kind not in "biufO":
        raise ValueError(_refusal_of_type(dtype))


def _refusal_of_type(dtype: Any) -> str:
    if dtype.kind == "c":
        return f"Complex data not supported: X has the type {dtype}."
    held = "text" if dtype.kind in "US" else f"values of the type {dtype}"
    return f"X holds {held}, not numbers."


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
    """Whether the type of a column, of pandas or polars, tells without its values that they are numbers."""
    is_numeric = getattr(dtype, "is_numeric", None)  # of polars
    return getattr(dtype, "kind", "") in ("b", "i", "u", "f") or (callable(is_numeric) and bool(is_numeric()))


def _described(X: Any, number: int) -> str:
    """Return the name of a column, or its number where it has none, with a value of it."""
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
    """Return the first value that is no number, or the first of all where each alone is one."""
    for value in values:
        if isinstance(value, (str, bytes)):
            return value
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return next(iter(values), None)
