"""Rows in pieces: blocks of a few megabytes, their largest magnitude, and a unit that squares are safe in."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

# A block of rows and its copy should stay in cache; below 256 rows the products lose speed.
_BLOCK_BYTES = 4 * 2**20
_MIN_BLOCK_ROWS = 256
# A column of which a tenth is zeros varies by a third of its mean: to subtract that later costs no digits.
_NEARLY_FULL = 0.9


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices that cut the rows into blocks of a few megabytes."""
    size = max(_MIN_BLOCK_ROWS, _BLOCK_BYTES // (8 * max(n_columns, 1)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def as_slice(rows: NDArray[np.intp]) -> NDArray[np.intp] | slice:
    """Return evenly spaced, increasing row numbers as a slice, which reads without copying."""
    if len(rows) < 2 or rows[1] <= rows[0]:
        return rows
    step = int(rows[1] - rows[0])
    # The ends first: most other numbers are told apart without looking at all of them.
    if rows[-1] - rows[0] != step * (len(rows) - 1) or (np.diff(rows) != step).any():
        return rows
    return slice(int(rows[0]), int(rows[-1]) + 1, step)


class ChosenRows:
    """Some rows of a dense matrix, which are copied a block at a time, when they are asked for.

    Parameters
    ----------
    X : ndarray or memory map
        All rows.
    numbers : ndarray of int
        Numbers of the rows that are chosen.
    """

    def __init__(self, X: NDArray[Any], numbers: NDArray[np.intp]):
        self._X, self._numbers = X, numbers
        self.shape, self.dtype = (len(numbers), X.shape[1]), X.dtype

    def __getitem__(self, key: Any) -> NDArray[Any]:
        """Return rows, or with a pair of keys, rows of some columns."""
        rows, *columns = key if isinstance(key, tuple) else (key,)
        return self._X[(self._numbers[rows], *columns)]


def counted_rows(X: Any, sample_weight: NDArray[np.float64] | None) -> tuple[Any, Any]:
    """Leave out rows of weight zero, which must not choose the frame either; without copying dense ones."""
    if sample_weight is None or sample_weight.all():
        return X, sample_weight
    numbers = np.flatnonzero(sample_weight)
    return X[numbers] if sp.issparse(X) else ChosenRows(X, numbers), sample_weight[numbers]


def squared_lengths(X: Any, mean: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
    """Return the squared distances of rows from a mean, which is given in a unit; in that unit."""
    parts = []
    for block in row_blocks(*X.shape):
        rows = X[block].astype(float) / unit
        if sp.issparse(rows):
            parts.append(np.maximum(sparse_squared_lengths(*partly_centred(rows, mean)), 0.0))
        else:
            rows -= mean
            parts.append(np.einsum("ij,ij->i", rows, rows))
    return np.concatenate(parts)


def less_origin(rows: Any, origin: NDArray[np.float64]) -> Any:
    """Return sparse rows less an origin. Columns where it is not zero become full; the others stay sparse."""
    columns = np.flatnonzero(origin)
    if not columns.size:
        return rows
    n = rows.shape[0]
    starts = np.arange(n + 1) * len(columns)
    shift = type(rows)((np.tile(origin[columns], n), np.tile(columns, n), starts), shape=rows.shape)
    return rows - shift  # zeros, such as all of a constant column, are not stored


def partly_centred(rows: Any, mean: NDArray[np.float64]) -> tuple[Any, NDArray[np.float64]]:
    """Return sparse rows less the mean in the columns that are nearly full, and the mean of the others.

    Only a nearly full column can have a mean that is large beside its spread, and lose digits by it.
    """
    n, p = rows.shape
    # Of a nearly full column, at least half of any fifth of the rows is stored: mostly a look at one will do.
    some = rows.indices[: rows.indptr[-(-n // 5)]]
    if 2 * np.bincount(some, minlength=p).max(initial=0) < n // 5:
        return rows, mean
    is_full = np.bincount(rows.indices, minlength=p) >= _NEARLY_FULL * n
    return less_origin(rows, np.where(is_full, mean, 0.0)), np.where(is_full, 0.0, mean)


def sparse_squared_lengths(rows: Any, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distances of sparse rows from a mean that is nowhere large beside the spread."""
    lengths: NDArray[np.float64] = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    lengths += mean @ mean - 2 * (rows @ mean)
    return lengths


def unit_for(largest: float) -> float:
    """Return the power of two in which numbers up to a magnitude can be squared and added safely."""
    # Squares of numbers within 2**±64 are safe as they are, and need no scaling.
    exponent = int(np.frexp(largest)[1])
    return 1.0 if abs(exponent) <= 64 else 2.0 ** min(max(exponent, -1000), 1000)


def magnitude(X: Any, feature_names: Any = None) -> float:
    """Return the largest magnitude in X, in one pass, or raise if a value is not finite.

    Raises
    ------
    ValueError
        Naming the first column that holds NaN or infinity.
    """
    parts = [X.data] if sp.issparse(X) else (X[block] for block in row_blocks(*X.shape))
    largest = 0.0
    for part in parts:
        if part.size:
            # Not abs: the most negative integer has no positive twin. NaN passes through max and min.
            largest = max(largest, float(part.max()), -float(part.min()), key=_nan_is_largest)
    if not np.isfinite(largest):
        raise ValueError(_first_bad_column(X, feature_names))
    return largest


def _nan_is_largest(value: float) -> float:
    return np.inf if np.isnan(value) else value


def _first_bad_column(X: Any, feature_names: Any) -> str:
    if sp.issparse(X):
        bad = ~np.isfinite(X.data)
        column = int(X.indices[bad].min())
        is_nan = np.isnan(X.data[bad & (X.indices == column)]).any()
    else:
        bad_columns = np.zeros(X.shape[1], dtype=bool)
        for block in row_blocks(*X.shape):
            bad_columns |= ~np.isfinite(X[block]).all(axis=0)
        column = int(np.argmax(bad_columns))
        is_nan = np.isnan(X[:, column]).any()
    name = "" if feature_names is None else f" ({feature_names[column]!r})"
    return not_finite(f"column {column}{name}", bool(is_nan))


def not_finite(where: str, is_nan: bool) -> str:
    """Return what an error says of a value that is not finite, and what to do about it."""
    if not is_nan:
        return f"Input X contains infinity in {where}; values must be finite."
    return (
        f"Input X contains NaN in {where}; values must be finite. Fill in missing values first, as "
        "make_pipeline(SimpleImputer(), ...) of scikit-learn does."
    )
