"""Missing cells of the rows that the page is about: how many, and where."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._data.missing import has_missing
from attenua._estimate.words import counted

Array = NDArray[np.float64]

# Lines and columns of the picture. More rows and columns than these share a pixel.
_MOST_LINES, _MOST_COLUMNS = 150, 300


@dataclass(frozen=True)
class MissingCells:
    """The places of missing cells in rows of some shape."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    shape: tuple[int, int]

    @property
    def by_row(self) -> Array:
        """Share of missing cells of each row."""
        return np.bincount(self.rows, minlength=self.shape[0]) / self.shape[1]

    @property
    def by_column(self) -> Array:
        """Share of missing cells of each column."""
        return np.bincount(self.columns, minlength=self.shape[1]) / self.shape[0]

    def in_words(self, row_names: list[str] | None = None) -> str:
        """Return how many cells are missing, in how many rows and columns, and in which row most."""
        (n, p), by_row, by_column = self.shape, self.by_row, self.by_column
        are = "is" if len(self.rows) == 1 else "are"
        worst = int(np.argmax(by_row))
        name = f"Row {worst + 1:,}" if row_names is None else row_names[worst]
        return (
            f"{len(self.rows):,} of {counted(n * p, 'cell')} {are} missing, {_percent(by_row.mean())}: in "
            f"{np.count_nonzero(by_row):,} of {counted(n, 'row')} and {np.count_nonzero(by_column):,} of "
            f"{counted(p, 'column')}. {name} misses most, {_percent(by_row.max())} of "
            f"its cells; the median row misses {_percent(np.median(by_row))}."
        )

    @property
    def in_blocks(self) -> Array:
        """Share of missing cells in blocks of neighbouring rows and columns, few enough for a picture."""
        n, p = self.shape
        height, width = min(n, _MOST_LINES), min(p, _MOST_COLUMNS)
        block = self.rows * height // n * width + self.columns * width // p
        lines = np.bincount(np.arange(n) * height // n)
        columns = np.bincount(np.arange(p) * width // p)
        found = np.bincount(block, minlength=height * width).reshape(height, width)
        return found / np.outer(lines, columns)

    @property
    def size_of_block(self) -> str:
        """What a pixel of the picture stands for, in words."""
        (n, p), (height, width) = self.shape, self.in_blocks.shape
        if (n, p) == (height, width):
            return "a cell"
        return f"up to {counted(-(-n // height), 'row')} by {counted(-(-p // width), 'column')}"


def find_missing(X: Any) -> MissingCells | None:
    """Return the missing cells of rows, dense or sparse, or None if there are none."""
    if not has_missing(X):
        return None
    if not sp.issparse(X):
        rows, columns = np.nonzero(np.isnan(X))
        return MissingCells(rows, columns, X.shape)
    stored = X.tocoo()
    missing = np.isnan(stored.data)
    return MissingCells(stored.row[missing], stored.col[missing], X.shape)


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%" if share < 0.995 else "100%"
