"""Missing cells filled by a law, and put back into the container that they came in."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._data.missing import warn_of_empty_rows

Array = NDArray[np.float64]
Fill = Callable[[Array, NDArray[np.bool_]], tuple[Array, Array]]


def impute_by(fill: Fill, X: Any, rows: Any, mean: Array, scale: Array | float, *, return_std: bool) -> Any:
    """Return X with its missing cells filled, and the standard deviations of these if wanted.

    Parameters
    ----------
    fill : callable
        Centred and scaled rows, and which cells were seen, to filled rows and standard deviations.
    X : array-like, sparse matrix, data frame or Arrow table
        What the user gave.
    rows : ndarray or sparse matrix of shape (n_samples, n_features)
        The same as numbers, NaN where a cell is missing.
    mean, scale : ndarray of shape (n_features,), or a number
        What the law is centred on and scaled by.
    return_std : bool
        Whether standard deviations are wanted.
    """
    dense = rows.toarray() if sp.issparse(rows) else rows
    seen = ~np.isnan(dense)
    warn_of_empty_rows(seen)
    filled, deviations = fill(np.where(seen, dense - mean, 0.0) / scale, seen)
    result = put_back(X, dense, filled * scale + mean)
    return (result, deviations * scale) if return_std else result


def put_back(X: Any, rows: NDArray[Any], filled: Array) -> Any:
    """Return X with its missing cells filled; all other cells, names and types stay.

    A column of a frame that has missing cells and is not of floating-point numbers becomes one.

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
    columns = np.flatnonzero(missing.any(axis=0))
    if hasattr(X, "isetitem"):  # pandas
        frame = X.copy()
        for column in columns:
            dtype = X.dtypes.iloc[column]
            series = type(X.iloc[:, column])(values[:, column], index=X.index)
            frame.isetitem(column, series.astype(dtype if dtype.kind == "f" else float))
        return frame
    if hasattr(X, "with_columns"):  # polars
        series = [X.to_series(int(column)) for column in columns]
        return X.with_columns(
            [
                type(old)(old.name, values[:, column]).cast(old.dtype if old.dtype.is_float() else float)
                for old, column in zip(series, columns, strict=True)
            ]
        )
    if hasattr(X, "set_column"):  # Arrow
        import pyarrow as pa

        for column in columns:
            kind = X.schema.field(int(column)).type
            kind = kind if pa.types.is_floating(kind) else pa.float64()
            X = X.set_column(int(column), X.column_names[column], pa.array(values[:, column]).cast(kind))
        return X
    return values.astype(rows.dtype if rows.dtype.kind == "f" else float)
