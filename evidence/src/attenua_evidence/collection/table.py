"""The table that every reader returns, and how it is cleaned."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

# A column that misses a larger part of its values is left out; the second where missing cells are kept.
MISSING, HOLES = 0.1, 0.5


@dataclass(frozen=True)
class Table:
    """Rows of one data set.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Nothing is centred or scaled by what the other rows are. Missing cells are NaN.
    groups : ndarray of shape (n_rows,) or None
        Group of each row, 0, 1, ... Rows of one group belong on one side of a split.
    labels : ndarray of shape (n_rows,) or None
        Class of each row, 0, 1, ...; -1 where it is not known.
    target : ndarray of shape (n_rows,) or None
        Number that belongs to each row and is in no column; NaN where it is not known.
    duplicates : int
        Rows left out because an earlier row is exactly equal.
    """

    X: np.ndarray
    groups: np.ndarray | None = None
    labels: np.ndarray | None = None
    target: np.ndarray | None = None
    duplicates: int = 0

    def rows(self, keep: np.ndarray) -> "Table":
        """Return the table with only these rows (a mask or positions)."""
        groups, labels, target = (
            None if values is None else values[keep] for values in (self.groups, self.labels, self.target)
        )
        return Table(self.X[keep], groups, labels, target, self.duplicates)


def codes(values: Any) -> np.ndarray:
    """Return 0, 1, ... for the distinct values, sorted as text; -1 where a value is missing."""
    values = np.asarray(values, object)
    known = ~pd.isna(values)
    out = np.full(len(values), -1)
    out[known] = np.unique(values[known].astype(str), return_inverse=True)[1]
    return out


def clean(table: Table, ordered: bool, holes: bool = False) -> Table:
    """Leave out missing values, columns that never vary and repeated rows.

    Rows without any value go first, then columns that miss more than `MISSING` of their values, then rows
    that still miss one. With holes a column may miss as many as `HOLES`, and rows stay that have a value.
    Constant columns stay where columns have an order, because there each column is a place in a line or a
    grid. Groups and labels are numbered again at the end, without gaps.

    Parameters
    ----------
    table : Table
        As read.
    ordered : bool
        Whether the columns have an order.
    holes : bool, default=False
        Whether missing cells are kept, as NaN.

    Returns
    -------
    Table
    """
    x = np.asarray(table.X, float)
    x = np.where(np.isfinite(x), x, np.nan)
    known = ~np.isnan(x)
    some = known.any(axis=1)
    columns = (~known[some]).mean(axis=0) <= (HOLES if holes else MISSING)
    rows = np.flatnonzero(some if holes else known[:, columns].all(axis=1))
    x = x[rows][:, columns]
    if not ordered:
        x = x[:, np.nanmax(x, axis=0) > np.nanmin(x, axis=0)]
    some = ~np.isnan(x).all(axis=1)
    rows, x = rows[some], x[some]
    filled = np.where(np.isnan(x), np.inf, x)  # so that rows with the same holes can be equal
    first = np.sort(np.unique(filled, axis=0, return_index=True)[1])
    left = table.rows(rows[first])
    return Table(
        np.ascontiguousarray(x[first]),
        _without_gaps(left.groups),
        _without_gaps(left.labels),
        left.target,
        len(rows) - len(first),
    )


def _without_gaps(numbers: np.ndarray | None) -> np.ndarray | None:
    """Return 0, 1, ... for the distinct values in their order; -1 stays."""
    if numbers is None:
        return None
    known = numbers != -1
    out = np.full(len(numbers), -1)
    out[known] = np.unique(numbers[known], return_inverse=True)[1]
    return out
