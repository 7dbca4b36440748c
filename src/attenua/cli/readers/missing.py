"""Missing cells: refused, filled with means, or left out with their rows."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from attenua._estimate.words import counted
from attenua.cli.readers.source import Source, TableError

WAYS = ("fail", "drop-rows", "mean")
# Cells looked at in one go.
_BLOCK_CELLS = 2**22


def without_missing(
    source: Source, X: Any, positions: list[int], way: str, means: ArrayLike | None = None
) -> tuple[Any, NDArray[Any] | slice, str | None]:
    """Return the numbers without missing cells, which rows they are, and what was done, in a sentence.

    Parameters
    ----------
    source : Source
        The file, for messages.
    X : ndarray or csr matrix of shape (n_rows, n_columns)
        The numbers; NaN is a missing cell.
    positions : list of int
        Where the columns of X are in the file.
    way : {"fail", "drop-rows", "mean"}
        What to do with missing cells.
    means : array-like of shape (n_columns,), optional
        What to fill them with; by default the means of the columns of X.
    """
    rows, columns, values = _not_finite(X)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        first = infinite[0]
        raise TableError(
            f"{source.source}: {source.place(rows[first])}, {source.called(positions[columns[first]])} is "
            f"{values[first]}, which is not a finite number."
        )
    if not rows.size:
        return X, slice(None), None
    n_rows = np.unique(rows).size
    of_rows = f"{n_rows:,} of {counted(X.shape[0], 'row')}"
    whose = "of their columns in these rows" if means is None else "of the model"
    if way == "fail":
        raise TableError(
            f"{source.source}: {_are(rows.size)} missing, in {of_rows} and {np.unique(columns).size:,} of "
            f"{counted(X.shape[1], 'column')}; the first is {source.place(rows[0])}, "
            f"{source.called(positions[columns[0]])}. --missing drop-rows leaves these rows out, --missing "
            f"mean fills the cells with the means {whose}."
        )
    if way == "drop-rows":
        kept = np.setdiff1d(np.arange(X.shape[0]), rows)
        return X[kept], kept, f"{of_rows} left out, because {_are(rows.size)} missing in them."
    note = f"missing cells ({rows.size:,}, in {of_rows}) filled with the means {whose}."
    return _filled(source, X, positions, rows, columns, means), slice(None), note


def _filled(
    source: Source, X: Any, positions: list[int], rows: Any, columns: Any, means: ArrayLike | None
) -> Any:
    """Return a copy with missing cells filled."""
    X = X.copy() if sp.issparse(X) else np.array(X, dtype=float)
    if means is None:
        X[rows, columns] = 0.0
        n_there = X.shape[0] - np.bincount(columns, minlength=X.shape[1])
        if not n_there.all():
            empty = source.called(positions[int(np.argmin(n_there))])
            raise TableError(f"{source.source}: {empty} holds no number at all; leave it out with --drop.")
        with np.errstate(over="ignore"):
            means = np.asarray(X.sum(axis=0)).ravel() / n_there
        if not np.isfinite(means).all():
            large = source.called(positions[int(np.argmin(np.isfinite(means)))])
            raise TableError(f"{source.source}: {large} holds numbers too large for a mean.")
    X[rows, columns] = np.asarray(means)[columns]
    return X


def _not_finite(X: Any) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]:
    """Return the rows, columns and values of cells that are not finite, sorted by row."""
    if sp.issparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        return np.searchsorted(X.indptr, bad, side="right") - 1, X.indices[bad], X.data[bad]
    step = max(1, _BLOCK_CELLS // max(1, X.shape[1]))
    found = [np.empty((0, 2), np.intp)]
    for start in range(0, X.shape[0], step):
        found.append(np.argwhere(~np.isfinite(X[start : start + step])) + np.array([start, 0]))
    rows, columns = np.concatenate(found).T
    return rows, columns, np.asarray(X[rows, columns])


def _are(n_cells: int) -> str:
    return f"{counted(n_cells, 'cell')} {'is' if n_cells == 1 else 'are'}"
