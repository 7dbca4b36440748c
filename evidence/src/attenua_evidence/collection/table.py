"""The table that every reader returns, and how it is cleaned."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

MISSING = 0.1  # a column that misses a larger part of its values is left out


@dataclass(frozen=True)
class Table:
    """Rows of one data set.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Nothing is centred or scaled by what the other rows are.
    groups : ndarray of shape (n_rows,) or None
        Group of each row, 0, 1, ... Rows of one group belong on one side of a split.
    labels : ndarray of shape (n_rows,) or None
        Class of each row, 0, 1, ...; -1 where it is not known.
    duplicates : int
        Rows left out because an earlier row is exactly equal.
    """

    X: np.ndarray
    groups: np.ndarray | None = None
    labels: np.ndarray | None = None
    duplicates: int = 0

    def rows(self, keep: np.ndarray) -> "Table":
        """Return the table with only these rows (a mask or positions)."""
        groups = None if self.groups is None else self.groups[keep]
        labels = None if self.labels is None else self.labels[keep]
        return Table(self.X[keep], groups, labels, self.duplicates)


def codes(values: Any) -> np.ndarray:
    """Return 0, 1, ... for the distinct values, sorted as text; -1 where a value is missing."""
    values = np.asarray(values, object)
    known = ~pd.isna(values)
    out = np.full(len(values), -1)
    out[known] = np.unique(values[known].astype(str), return_inverse=True)[1]
    return out


def clean(table: Table, ordered: bool) -> Table:
    """Leave out missing values, columns that never vary and repeated rows.

    Columns that miss more than `MISSING` of their values go first, then rows that still miss one. Constant
    columns stay where columns have an order, because there each column is a place in a line or a grid.
    Groups and labels are numbered again at the end, without gaps.

    Parameters
    ----------
    table : Table
        As read.
    ordered : bool
        Whether the columns have an order.

    Returns
    -------
    Table
    """
    x = np.asarray(table.X, float)
    known = np.isfinite(x)
    columns = (~known).mean(axis=0) <= MISSING
    rows = np.flatnonzero(known[:, columns].all(axis=1))
    x = x[rows][:, columns]
    if not ordered:
        x = x[:, np.ptp(x, axis=0) > 0]
    first = np.sort(np.unique(x, axis=0, return_index=True)[1])
    left = table.rows(rows[first])
    return Table(
        np.ascontiguousarray(x[first]),
        _without_gaps(left.groups),
        _without_gaps(left.labels),
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
