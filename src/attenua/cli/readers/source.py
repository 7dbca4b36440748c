"""What every kind of file offers, and what comes out: a table of numbers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

# Cells looked at in one go when searching for one that is not finite.
_BLOCK_CELLS = 2**22


class TableError(ValueError):
    """A sentence that says what is wrong with a file, and where in it."""


@dataclass(frozen=True)
class Table:
    """Rows of numbers, with what the file says about them.

    Attributes
    ----------
    X : ndarray or csr matrix of shape (n_rows, n_columns)
        The numbers, all finite.
    names : list of str or None
        Names of the columns, where the file has them.
    groups : ndarray of shape (n_rows,) or None
        Labels of the rows.
    source : str
        Name of the file, for messages.
    """

    X: Any
    names: list[str] | None
    groups: NDArray[Any] | None
    source: str


class Source(ABC):
    """An open file: its columns are known, its numbers are read when asked for."""

    source: str
    names: list[str] | None
    n_columns: int

    @abstractmethod
    def numbers(self, positions: list[int]) -> Any:
        """Return the columns at some positions as a matrix, not yet checked to be finite."""

    @abstractmethod
    def labels(self, position: int) -> NDArray[Any]:
        """Return one column as labels of rows."""

    def outside_labels(self, name: str) -> NDArray[Any] | None:
        """Return labels that the file keeps beside its matrix, or None."""
        return None

    def called(self, position: int) -> str:
        """Return what to call a column in a message."""
        return f"column {position + 1}" if self.names is None else f"column {self.names[position]!r}"

    def check_names(self) -> None:
        """Refuse names that do not tell columns apart."""
        seen: set[str] = set()
        for name in self.names or []:
            if name in seen:
                raise TableError(f"{self.source}: two columns are called {name!r}; give each its own name.")
            seen.add(name)


def check_finite(source: Source, X: Any, positions: list[int]) -> None:
    """Raise an error that names the first cell that is not a finite number."""
    if sp.issparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        if bad.size:
            row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
            column = X.indices[bad[0]]
            _refuse_cell(source, row, positions[column], X.data[bad[0]])
        return
    step = max(1, _BLOCK_CELLS // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        finite = np.isfinite(X[start : start + step])
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            _refuse_cell(source, start + int(row), positions[column], X[start + row, column])


def _refuse_cell(source: Source, row: int, position: int, value: Any) -> None:
    raise TableError(
        f"{source.source}: row {row + 1}, {source.called(position)} is {value}; every cell must be a finite "
        "number. Remove the row or fill the cell first."
    )
