"""From rows in the host's memory to the moments of any subset of them.

Rows are put in a common frame before anything is squared: an origin near their mean, so that a large shift
costs no digits, and a power of two as the unit, so that data of size 1e-150 or 1e150 neither vanish nor
overflow. Both are removed again by whoever reports a number (``unit``).
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._data.blocks import as_slice, counted_rows, less_origin, magnitude, row_blocks, squared_lengths
from attenua._data.moments import Moments, ScatterMoments
from attenua._data.row_moments import RowMoments, has_few_rows, inner_products
from attenua._data.sums import FoldSums, frame_of, product_blocks

Array = NDArray[np.float64]

# Up to this many columns a p-by-p matrix is small beside anything else. Above it, only rows that are not much
# fewer than the columns form one: products with it are then cheaper than with the rows.
_ALWAYS_SCATTER = 512
_NEVER_SCATTER = 10_000
_COLUMNS_PER_ROW = 1.5


def forms_scatter(n_samples: int, n_features: int, *, sparse: bool = False) -> bool:
    """Whether moments of rows of this shape hold a p-by-p matrix."""
    if n_features <= _ALWAYS_SCATTER:
        return True
    return not sparse and n_features <= min(_COLUMNS_PER_ROW * n_samples, _NEVER_SCATTER)


class HostRows:
    """All rows of one data set in a common frame, from which the moments of any subset are taken.

    Parameters
    ----------
    X : ndarray, memory map or csr_matrix of shape (n_samples, n_features)
        Finite numbers of any real type. Dense tall data are never copied as a whole.
    sample_weight : ndarray of shape (n_samples,), optional
        Frequencies; a weight of 2 counts a row twice.
    feature_names : sequence of str, optional
        Names that an error about a column uses.
    """

    def __init__(self, X: Any, sample_weight: Array | None = None, feature_names: Any = None):
        X, sample_weight = counted_rows(X, sample_weight)
        self.n_samples, self.n_features = X.shape
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # the caller's matrix stays as it is
            X.sum_duplicates()
        self.xp = np
        self.dtype = np.float32 if X.dtype == np.float32 else np.float64
        self._X = X
        self._weights = sample_weight
        self.weight = float(self.n_samples if sample_weight is None else sample_weight.sum())
        self.forms_scatter = forms_scatter(*X.shape, sparse=sp.issparse(X))
        self._feature_names = feature_names
        # Rows that are summed up are checked as they are read; a few of them give the frame to begin with.
        self._frame = frame_of(X, feature_names, None if self.forms_scatter else magnitude(X, feature_names))

    @cached_property
    def _kept_rows(self) -> Any:
        """The rows that several :class:`RowMoments` share, in the frame; made once."""
        if sp.issparse(self._X):
            # A view that shares the indices, so that only the values are new.
            values = self._X.data.astype(float) / self._frame.unit
            rows = sp.csr_matrix((values, self._X.indices, self._X.indptr), shape=self._X.shape, copy=False)
            return less_origin(rows, self._frame.origin)
        return self._in_frame(self._X[:])

    @cached_property
    def _products(self) -> Array | None:
        """Inner products of the kept rows, made once, where they are few."""
        return inner_products(self._kept_rows) if has_few_rows(self._kept_rows) else None

    def _in_frame(self, X: Any) -> Array:
        """Return dense rows as a new array of doubles, scaled and shifted."""
        rows = np.array(X, dtype=float, order="C")
        if self._frame.unit != 1.0:
            rows /= self._frame.unit
        rows -= self._frame.origin
        return rows

    def moments(
        self, rows: NDArray[np.intp] | slice | None = None, factors: Array | None = None
    ) -> ScatterMoments | RowMoments:
        """Return the moments of the given rows (an array of numbers, or a slice), or of all.

        Factors, one for each of all rows, multiply the weights.
        """
        return self._scatter_moments(rows, factors) if self.forms_scatter else self.in_rows(rows, factors)

    def in_rows(
        self, rows: NDArray[np.intp] | slice | None = None, factors: Array | None = None
    ) -> RowMoments:
        """Return the moments of the given rows, kept as rows; the rows are shared."""
        weights = self._factored(factors)
        weights = np.ones(self.n_samples) if weights is None else weights
        if rows is not None:
            chosen = np.arange(self.n_samples)[rows] if isinstance(rows, slice) else rows
            weights = weights * np.bincount(chosen, minlength=self.n_samples)
        return RowMoments(self._kept_rows, weights, self._frame.origin, self._frame.unit, self._products)

    def _factored(self, factors: Array | None) -> Array | None:
        if factors is None or self._weights is None:
            return self._weights if factors is None else factors
        return self._weights * factors

    def squared_lengths(self, moments: Moments) -> Array:
        """Return the squared distance of every row from a mean, in the unit of the moments."""
        return squared_lengths(self._X, moments.mean, moments.unit)

    def kept(self, rows: NDArray[np.intp]) -> RowMoments:
        """Return the moments of a few rows, kept as rows whatever the others do."""
        X = self._X[rows]
        some = self._in_frame(X.toarray() if sp.issparse(X) else X)
        weights = np.ones(len(rows)) if self._weights is None else self._weights[rows]
        return RowMoments(some, weights, self._frame.origin, self._frame.unit)

    def centred_blocks(self, moments: Moments) -> Iterator[tuple[Array, Array]]:
        """Yield blocks of all rows less a mean, dense and in the unit of the moments, with their weights."""
        for block in row_blocks(self.n_samples, self.n_features):
            B = self._X[block]
            values = np.array(B.toarray() if sp.issparse(B) else B, dtype=float)
            weights = np.ones(len(values)) if self._weights is None else self._weights[block]
            yield values / moments.unit - moments.mean, weights

    def _scatter_moments(
        self, rows: NDArray[np.intp] | slice | None, factors: Array | None
    ) -> ScatterMoments:
        sums = FoldSums(self._frame, 1, self._feature_names)
        rows = slice(0, self.n_samples) if rows is None else rows
        rows = rows if isinstance(rows, slice) else as_slice(rows)
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.n_samples)
            blocks = product_blocks(start, stop, self.n_features, step)
        else:
            blocks = (rows[block] for block in product_blocks(0, len(rows), self.n_features))
        weights = self._factored(factors)
        sums.add(self._X, ((0, block) for block in blocks), sample_weight=weights)
        return scatter_moments(sums, owned=True)[0]


def scatter_moments(sums: FoldSums, *, owned: bool = False) -> list[ScatterMoments]:
    """Return the moments of every fold. They share memory with the sums."""
    frame = sums.frame
    return [
        ScatterMoments(float(weight), total, scatter, frame.origin, frame.unit, owned=owned)
        for weight, total, scatter in zip(sums.weights, sums.totals, sums.scatters, strict=True)
    ]
