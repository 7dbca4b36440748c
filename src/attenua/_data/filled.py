"""Missing cells filled by a law or drawn from it, and put back into the container that they came in."""

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._data.checks import checked_count, checked_random
from attenua._data.missing import warn_of_empty_rows

Array = NDArray[np.float64]

# Doubles hold whole numbers below this one; the largest double that 64 bits hold as a whole number.
_LARGEST_EXACT, _LARGEST_WHOLE = 2.0**53, 2.0**63 - 1024


class Law(Protocol):
    """The law of Gaussian rows with mean 0."""

    def fill(self, Z: Array, seen: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return rows with missing cells at their mean given the seen ones, and standard deviations."""

    def sample(self, n: int, random: np.random.RandomState) -> Array:
        """Return rows of this law."""


def impute_by(
    law: Law,
    X: Any,
    rows: Any,
    mean: Array,
    scale: Array | float,
    *,
    return_std: bool = False,
    n_draws: int | None = None,
    random_state: Any = None,
) -> Any:
    """Return X with its missing cells filled or drawn, and the standard deviations of these if wanted.

    Parameters
    ----------
    law : Law
        The law of centred and scaled rows.
    X : array-like, sparse matrix, data frame or Arrow table
        What the user gave.
    rows : ndarray or sparse matrix of shape (n_samples, n_features)
        The same as numbers, NaN where a cell is missing.
    mean, scale : ndarray of shape (n_features,), or a number
        What the law is centred on and scaled by.
    return_std : bool
        Whether standard deviations are wanted.
    n_draws : int, optional
        How many tables to draw, where draws are wanted instead of means.
    random_state : int, RandomState or None
        Draws them.
    """
    dense = rows.toarray() if sp.issparse(rows) else rows
    seen = ~np.isnan(dense)
    warn_of_empty_rows(seen)
    Z = np.where(seen, dense - mean, 0.0) / scale
    filled, deviations = law.fill(Z, seen)
    if n_draws is None:
        result = put_back(X, dense, filled * scale + mean)
    else:
        tables = _draws(law, Z, seen, checked_count(n_draws, "n_draws"), checked_random(random_state))
        result = [put_back(X, dense, table * scale + mean) for table in tables]
        result = np.stack(result) if isinstance(result[0], np.ndarray) else result
    return (result, deviations * scale) if return_std else result


def _draws(
    law: Law, Z: Array, seen: NDArray[np.bool_], n_draws: int, random: np.random.RandomState
) -> NDArray[np.float64]:
    r"""Return rows with missing cells drawn from their law given the seen ones, `n_draws` times.

    A whole row w of the law becomes one of :math:`z_m` given :math:`z_o` if its missing cells move by the
    mean of what its seen cells are wrong by: :math:`w_m + \Sigma_{mo} \Sigma_{oo}^{-1} (z_o - w_o)`.
    """
    holed = np.flatnonzero(~seen.all(axis=1))
    free = law.sample(n_draws * len(holed), random)
    again = np.tile(seen[holed], (n_draws, 1))  # together, so that each pattern is factored once
    moved, _ = law.fill(np.where(again, np.tile(Z[holed], (n_draws, 1)) - free, 0.0), again)
    tables = np.tile(Z, (n_draws, 1, 1))
    tables[:, holed] = np.where(again, 0.0, free + moved).reshape(n_draws, len(holed), Z.shape[1])
    return tables


def put_back(X: Any, rows: NDArray[Any], filled: Array) -> Any:
    """Return X with its missing cells filled; all other cells, names and types stay.

    A column of a frame that has missing cells and is not of floating-point numbers becomes one. If it is of
    whole numbers that doubles do not hold, it stays, and filled cells are rounded.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or Arrow table
        What the user gave.
    rows : ndarray of shape (n_samples, n_features)
        The same as numbers, NaN where a cell is missing.
    filled : ndarray of shape (n_samples, n_features)
        The values to take there.
    """
    missing = np.isnan(rows)
    if sp.issparse(X):
        stored = X.tocoo(copy=True)
        holes = np.isnan(stored.data)
        stored.data[holes] = filled[stored.row[holes], stored.col[holes]]
        return stored.asformat(X.format)
    values = np.where(missing, filled, rows)
    columns = [int(column) for column in np.flatnonzero(missing.any(axis=0))]
    is_large = np.any(np.abs(rows) >= _LARGEST_EXACT, axis=0)
    if hasattr(X, "isetitem"):  # pandas
        frame = X.copy()
        for column in columns:
            old = X.iloc[:, column]
            if old.dtype.kind in "iu" and is_large[column]:
                new = old.mask(missing[:, column], _whole(values[:, column], old.dtype.kind == "i"))
            else:
                new = type(old)(values[:, column], index=X.index)
                new = new.astype(old.dtype if old.dtype.kind == "f" else float)
            frame.isetitem(column, new)
        return frame
    if hasattr(X, "with_columns"):  # polars
        filled_columns = []
        for column in columns:
            old = X.to_series(column)
            if old.dtype.is_integer() and is_large[column]:
                whole = _whole(values[:, column], old.dtype.is_signed_integer())
                new = old.fill_null(type(old)(old.name, whole).cast(old.dtype))
            else:
                new = type(old)(old.name, values[:, column])
                new = new.cast(old.dtype if old.dtype.is_float() else float)
            filled_columns.append(new)
        return X.with_columns(filled_columns)
    if hasattr(X, "set_column"):  # Arrow
        import pyarrow as pa

        for column in columns:
            old, kind = X.column(column), X.schema.field(column).type
            if pa.types.is_integer(kind) and is_large[column]:
                whole = _whole(values[:, column], pa.types.is_signed_integer(kind))
                new = old.combine_chunks().fill_null(pa.array(whole).cast(kind))
            else:
                new = pa.array(values[:, column]).cast(kind if pa.types.is_floating(kind) else pa.float64())
            X = X.set_column(column, X.column_names[column], new)
        return X
    return values.astype(rows.dtype if rows.dtype.kind == "f" else float)


def _whole(values: Array, is_signed: bool) -> NDArray[np.int64]:
    """Return values as whole numbers of 64 bits."""
    least = -_LARGEST_WHOLE if is_signed else 0.0
    whole: NDArray[np.int64] = np.clip(np.rint(values), least, _LARGEST_WHOLE).astype(np.int64)
    return whole
