"""One draw of a data set as all tasks see it, with missing cells where the data have them."""

from collections.abc import Iterator
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attenua_evidence.cell import Cell
from attenua_evidence.covariance_uses import varying
from attenua_evidence.draws import SEED, Draw, draw, ranks_allowed, rows_allowed, varying_columns
from attenua_evidence.methods import Rows
from attenua_evidence.missing_models import factor_moments

Array = NDArray[np.float64]

# The first of these that a data set allows: 32 and 128 rows, and fewer of a small set.
SIZES = ((32, 128), (32, 64), (16, 32), (16,))
RANKS, LEAST_RANK = (5, 20), 2
LEAST_SEEN = 3  # cells of a column, where there are holes
# With more columns a rival may take minutes, and a whole covariance of few rows is of little use.
MOST_COLUMNS = 500
HOLES_FILLED = "missing cells: column means"


class Result(NamedTuple):
    """What a method came to in one task.

    Attributes
    ----------
    task, method : str
        Names.
    rank : int
        Number of components, 0 where there are none.
    value : float
        An error, an area under the curve, a log-likelihood; nan where the method has no answer.
    reference : float
        The least error that a subspace of this rank could have, where that is known.
    nothing : float
        The error without any component, where there is one.
    seconds : float
        Time of the fit.
    status : {"fitted", "unsuited", "failed"}
        Whether there is an answer.
    note : str
        Why there is none, or what has to be said about it.
    """

    task: str
    method: str
    rank: int
    value: float = nan
    reference: float = nan
    nothing: float = nan
    seconds: float = 0.0
    status: str = "fitted"
    note: str = ""


class Problem(NamedTuple):
    """Rows to fit and new rows, in the units that methods see.

    Attributes
    ----------
    rows : Rows
        The rows to fit, their groups, and the order of the columns.
    test : ndarray
        New rows.
    drawn : Draw
        The same with labels and targets.
    seed : list of int
        What random numbers of this draw start from.
    """

    rows: Rows
    test: Array
    drawn: Draw
    seed: list[int]

    @property
    def has_holes(self) -> bool:
        """Whether a cell is missing."""
        return bool(np.isnan(self.rows.X).any() or np.isnan(self.test).any())

    @property
    def centre(self) -> Array:
        """Means of the seen cells of the fitted rows, around which all methods are judged."""
        return np.nanmean(self.rows.X, axis=0)

    @property
    def ranks(self) -> list[int]:
        """The ranks that are judged."""
        allowed = ranks_allowed(*self.rows.X.shape)
        return [rank for rank in allowed if rank in RANKS] or [rank for rank in allowed if rank == LEAST_RANK]

    def with_columns(self, keep: NDArray[np.bool_]) -> "Problem":
        """Return the problem with some of its columns."""
        X, order = varying(self.rows.X, keep, self.rows.order)
        return self._replace(rows=Rows(X, self.rows.groups, order), test=self.test[:, keep])

    def with_varying_columns(self) -> "Problem":
        """Return the problem without columns that do not vary in the fitted rows."""
        return self.with_columns(varying_columns(self.rows.X))


def sizes_allowed(n_rows: int) -> tuple[int, ...]:
    """Return the numbers of rows that are fitted of a data set."""
    allowed = rows_allowed(n_rows)
    return next((sizes for sizes in SIZES if set(sizes) <= set(allowed)), ())


def problem_of(cell: Cell, table: Any) -> Problem | None:
    """Return one draw of a data set, or None where its groups do not allow it."""
    drawn = draw(table, cell.data, cell.unit, cell.rows, cell.draw)
    return None if drawn is None else problem_of_draw(cell, drawn)


def problem_of_draw(cell: Cell, drawn: Draw) -> Problem:
    """Return a draw without rows that are all missing, and without columns that are nearly so."""
    order = cell.order
    if np.isnan(drawn.X).any() or np.isnan(drawn.X_test).any():
        columns = (np.sum(np.isfinite(drawn.X), axis=0) >= LEAST_SEEN) & varying_columns(drawn.X)
        X, order = varying(drawn.X, columns, order)
        drawn = drawn._replace(X=X, X_test=drawn.X_test[:, columns])
        for side in ("", "_test"):
            seen = np.isfinite(getattr(drawn, f"X{side}")).any(axis=1)
            names = [f"X{side}", f"labels{side}", f"target{side}", *(["groups"] if not side else [])]
            found = {name: getattr(drawn, name) for name in names}
            drawn = drawn._replace(
                **{name: None if values is None else values[seen] for name, values in found.items()}
            )
    seed = [SEED, *cell.data.encode(), cell.rows, cell.draw]
    return Problem(Rows(drawn.X, drawn.groups, order), drawn.X_test, drawn, seed)


# --- rows with missing cells -------------------------------------------------------------------------------


def filled_by_means(X: Array, means: Array) -> Array:
    """Return rows whose missing cells are the column means."""
    return np.where(np.isnan(X), means, X)


def scores(X: Array, centre: Array, components: Array) -> Array:
    """Return coordinates in a subspace; of a row with missing cells, those that fit its seen cells best."""
    Z = X - centre
    if not np.isnan(Z).any():
        return Z @ components.T
    gram, products = factor_moments(Z, components.T)
    return (np.linalg.pinv(gram, rcond=1e-10, hermitian=True) @ products[:, :, None])[:, :, 0]


def rebuilt(X: Array, centre: Array, components: Array) -> Array:
    """Return rows as a subspace reconstructs them, missing cells too."""
    return centre + scores(X, centre, components) @ components


def squared_errors(found: Array, true: Array) -> Array:
    """Return the squared error of each row over its seen cells."""
    return np.nansum((found - true) ** 2, axis=1)


def unsuited(task: str, names: Iterator[str] | list[str], rank: int, why: str) -> Iterator[Result]:
    """Yield results of methods that do not apply."""
    for name in names:
        yield Result(task, name, rank, status="unsuited", note=why)
