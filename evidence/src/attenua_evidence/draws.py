"""Which rows of a data set are fitted and which are the test: a draw depends on its four names alone."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SEED = 2026
ROWS = (16, 32, 64, 128, 256)
RANKS = (2, 5, 10, 20)
MOST_TESTED = 2000
# A set whose groups are so large that this many permutations leave too few rows to fit has no such draw.
_PERMUTATIONS = 1000


class Draw(NamedTuple):
    """Rows to fit and rows to test, in the units that methods see.

    Attributes
    ----------
    X, X_test : ndarray
        The rows.
    groups : ndarray or None
        Group of each fitted row; none of them has a row in the test.
    labels, labels_test : ndarray or None
        Class of each row; -1 where it is not known.
    target, target_test : ndarray or None
        Number to predict for each row; nan where it is not known.
    """

    X: Array
    X_test: Array
    groups: NDArray[Any] | None
    labels: NDArray[Any] | None
    labels_test: NDArray[Any] | None
    target: Array | None = None
    target_test: Array | None = None


def rows_allowed(n_rows: int) -> list[int]:
    """Return the numbers of rows that are fitted of a data set: at least as many are left for the test."""
    return [rows for rows in ROWS if 2 * rows <= n_rows]


def ranks_allowed(n_rows: int, n_columns: int) -> list[int]:
    """Return the ranks that are judged: at most half of what the rows and the columns allow."""
    return [rank for rank in RANKS if 2 * rank <= min(n_rows, n_columns)]


def draw(table: Any, name: str, unit: str, rows: int, number: int) -> Draw | None:
    """Return one draw of a data set.

    Parameters
    ----------
    table : Table
        The rows with their groups and labels.
    name : str
        The data set, which is part of the seed.
    unit : {"one", "mixed"}
        Whether columns are comparable. Mixed ones are scaled by the fitted rows.
    rows : int
        How many rows are fitted.
    number : int
        Which draw.

    Returns
    -------
    Draw or None
        None where the groups are too large for so many rows on one side.
    """
    random = np.random.default_rng([SEED, *name.encode(), rows, number])
    if table.groups is None:
        shuffled = random.permutation(len(table.X))
        sides = shuffled[:rows], shuffled[rows:]
    else:
        found = _sides_of_groups(np.asarray(table.groups), rows, random)
        if found is None:
            return None
        sides = found
    fitted, tested = sides[0], sides[1][:MOST_TESTED]
    X, X_test = table.X[fitted], table.X[tested]
    if unit == "mixed":
        X, X_test = scaled_by_first(X, X_test)
    groups = None if table.groups is None else table.groups[fitted]
    about = []
    for values in (table.labels, getattr(table, "target", None)):
        about += [None, None] if values is None else [values[fitted], values[tested]]
    return Draw(X, X_test, groups, *about)


def scaled_by_first(X: Array, X_test: Array) -> tuple[Array, Array]:
    """Divide columns by their standard deviations in the first rows; those that do not vary there go.

    Missing cells stay missing, and a column without a seen cell does not vary.
    """
    varies = varying_columns(X)
    scale = np.nanstd(X[:, varies], axis=0)
    return X[:, varies] / scale, X_test[:, varies] / scale


def varying_columns(X: Array) -> NDArray[np.bool_]:
    """Return which columns have two seen cells that differ."""
    return np.fmax.reduce(X) > np.fmin.reduce(X)


def _sides_of_groups(
    groups: NDArray[Any], rows: int, random: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Split the groups, at least a third of the rows to the test; then draw rows of two groups or more."""
    codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
    for _ in range(_PERMUTATIONS):
        order = random.permutation(len(sizes))
        n_tested = 1 + int(np.searchsorted(np.cumsum(sizes[order]), len(groups) / 3))
        in_test = np.isin(codes, order[:n_tested])
        fitted = random.permutation(np.flatnonzero(~in_test))[:rows]
        if len(fitted) == rows and len(np.unique(codes[fitted])) >= 2:
            return fitted, random.permutation(np.flatnonzero(in_test))
    return None
