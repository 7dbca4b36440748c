"""Filled cells, put back into the container that they came in."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]


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
