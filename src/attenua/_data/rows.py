"""From rows in the host's memory, or on a device, to the moments of any subset of them.

Rows are put in a common frame before anything is squared: an origin near their mean, so that a large shift
costs no digits, and a power of two as the unit, so that data of size 1e-150 or 1e150 neither vanish nor
overflow. Reported numbers are multiplied by the unit again. Rows on a device are read in place, in steps of a
few hundred megabytes, and multiplied and added in double precision.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._data.moments import Moments, ScatterMoments
from attenua._data.namespace import asarray_like, check_float64, device_of, spans, to_host
from attenua._data.row_moments import RowMoments, has_few_rows, inner_products
from attenua._data.sums import (
    FRAME_ROWS,
    NEAR_ZERO,
    FoldSums,
    choose_frame,
    counted_rows,
    less_origin,
    magnitude,
    not_finite,
    product_blocks,
    unit_for,
)

Array = NDArray[np.float64]
Rows = NDArray[np.intp] | slice | None

# Up to this many columns a p-by-p matrix is always small enough. Above it, only rows that are not much
# fewer than the columns form one: products with it are then cheaper than with the rows.
_ALWAYS_SCATTER = 512
_NEVER_SCATTER = 10_000
_COLUMNS_PER_ROW = 1.0
# A step should be long enough that launching its few kernels costs nothing, and small next to the data.
_STEP_BYTES = 256 * 2**20


def forms_scatter(n_samples: int, n_features: int, *, sparse: bool = False) -> bool:
    """Whether moments of rows of this shape hold a p-by-p matrix."""
    if n_features <= _ALWAYS_SCATTER:
        return True
    return not sparse and n_features <= min(_COLUMNS_PER_ROW * n_samples, _NEVER_SCATTER)


def _as_slice(rows: Rows, n_samples: int) -> NDArray[np.intp] | slice:
    """Return all rows, or evenly spaced and increasing ones, as a slice, which reads without copying."""
    if rows is None:
        return slice(0, n_samples)
    if isinstance(rows, slice) or len(rows) < 2 or rows[1] <= rows[0]:
        return rows
    step = int(rows[1] - rows[0])
    # The ends first: they rule out most other rows without a pass over all of them.
    if rows[-1] - rows[0] != step * (len(rows) - 1) or (np.diff(rows) != step).any():
        return rows
    return slice(int(rows[0]), int(rows[-1]) + 1, step)


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
        self._frame = choose_frame(
            X, feature_names, None if self.forms_scatter else magnitude(X, feature_names)
        )

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
        """Inner products of the kept rows, made once, if they are few."""
        return inner_products(self._kept_rows) if has_few_rows(self._kept_rows) else None

    def _in_frame(self, X: Any) -> Array:
        """Return dense rows as a new array of doubles, scaled and shifted."""
        rows = np.array(X, dtype=float, order="C")
        if self._frame.unit != 1.0:
            rows /= self._frame.unit
        rows -= self._frame.origin
        return rows

    def moments(self, rows: Rows = None) -> ScatterMoments | RowMoments:
        """Return the moments of the given rows (an array of numbers, or a slice), or of all."""
        return self._scatter_moments(rows) if self.forms_scatter else self.in_rows(rows)

    def in_rows(self, rows: Rows = None) -> RowMoments:
        """Return the moments of the given rows, kept as rows; the rows are shared."""
        weights = self.weights
        if rows is not None:
            chosen = np.arange(self.n_samples)[rows] if isinstance(rows, slice) else rows
            weights = weights * np.bincount(chosen, minlength=self.n_samples)
        return RowMoments(self._kept_rows, weights, self._frame.origin, self._frame.unit, self._products)

    @property
    def weights(self) -> Array:
        """Weights of the rows."""
        return np.ones(self.n_samples) if self._weights is None else self._weights

    def some(self, rows: NDArray[np.intp]) -> "HostRows":
        """Return some of the rows, in a frame of their own."""
        return HostRows(self._X[rows], None if self._weights is None else self._weights[rows])

    def kept(self, rows: NDArray[np.intp]) -> RowMoments:
        """Return the moments of a few rows, kept as rows whatever the others do."""
        X = self._X[rows]
        some = self._in_frame(X.toarray() if sp.issparse(X) else X)
        weights = np.ones(len(rows)) if self._weights is None else self._weights[rows]
        return RowMoments(some, weights, self._frame.origin, self._frame.unit)

    def _scatter_moments(self, rows: Rows) -> ScatterMoments:
        sums = FoldSums(self._frame, 1, self._feature_names)
        chosen = _as_slice(rows, self.n_samples)
        blocks: Iterable[NDArray[np.intp] | slice]
        if isinstance(chosen, slice):
            start, stop, step = chosen.indices(self.n_samples)
            blocks = product_blocks(start, stop, self.n_features, step)
        else:
            blocks = (chosen[block] for block in product_blocks(0, len(chosen), self.n_features))
        sums.add(self._X, ((0, block) for block in blocks), sample_weight=self._weights)
        return scatter_moments(sums, owned=True)[0]


def scatter_moments(sums: FoldSums, *, owned: bool = False) -> list[ScatterMoments]:
    """Return the moments of every fold. They share memory with the sums."""
    frame = sums.frame
    return [
        ScatterMoments(float(weight), total, scatter, frame.origin, frame.unit, owned=owned)
        for weight, total, scatter in zip(sums.weights, sums.totals, sums.scatters, strict=True)
    ]


class DeviceRows:
    """The same for an array of the namespace `xp`, with weights as float64 on the device of X."""

    def __init__(self, xp: Any, X: Any, sample_weight: Any = None):
        check_float64(xp, X)
        if sample_weight is not None and not bool(xp.all(sample_weight > 0)):
            # A row that counts nothing must not choose the frame either.
            counted = xp.nonzero(sample_weight > 0)[0]
            X, sample_weight = xp.take(X, counted, axis=0), xp.take(sample_weight, counted)
        self.xp = xp
        self.n_samples, p = X.shape
        self.n_features = p
        self.forms_scatter = forms_scatter(self.n_samples, p)
        self._X, self._weights = X, sample_weight
        self.weight = float(self.n_samples if sample_weight is None else xp.sum(sample_weight))
        self._unit = unit_for(device_magnitude(xp, X))
        self._origin = self._median_of_some()
        self._is_shifted = bool(xp.any(self._origin != 0))
        self._kept: Any = None
        self.dtype = np.float32 if X.dtype == xp.float32 else np.float64

    def _median_of_some(self) -> Any:
        """Return the origin: the median of a few rows."""
        xp = self.xp
        some = self._X[:: -(-self.n_samples // FRAME_ROWS), ...]
        some = xp.sort(xp.astype(some, xp.float64) / self._unit, axis=0)
        origin = _middle(some)
        spread = _middle(xp.sort(xp.abs(some - origin), axis=0))
        if bool(xp.all(xp.abs(origin) <= NEAR_ZERO * spread)):
            return xp.zeros_like(origin)  # rows that are centred well enough are multiplied as they are
        return origin

    def moments(self, rows: Rows = None) -> Moments:
        """Return the moments of the given rows (an array of numbers, or a slice), or of all."""
        if not self.forms_scatter:
            return self.in_rows(rows)
        return self._summed(_as_slice(rows, self.n_samples), self._weights)

    @property
    def weights(self) -> np.ndarray:
        """Weights of the rows, on the host."""
        return np.ones(self.n_samples) if self._weights is None else to_host(self._weights)

    def in_rows(self, rows: Rows = None) -> RowMoments:
        """Return the moments of the given rows, kept as rows; the rows are shared."""
        rows = slice(0, self.n_samples) if rows is None else rows
        counts = np.zeros(self.n_samples)
        np.add.at(counts, np.arange(self.n_samples)[rows], 1.0)
        weights = asarray_like(self._X, counts, self.xp.float64)
        weights = weights if self._weights is None else weights * self._weights
        if self._kept is None:
            kept = self.xp.astype(self._X, self.xp.float64) / self._unit - self._origin
            self._kept = (kept, inner_products(kept) if has_few_rows(kept) else None)
        return RowMoments(self._kept[0], weights, self._origin, self._unit, self._kept[1])

    def kept(self, rows: np.ndarray) -> RowMoments:
        """Return the moments of a few rows, kept as rows whatever the others do."""
        xp, place = self.xp, asarray_like(self._X, rows)
        some = xp.astype(xp.take(self._X, place, axis=0), xp.float64) / self._unit - self._origin
        weights = xp.ones_like(some[:, 0]) if self._weights is None else xp.take(self._weights, place)
        return RowMoments(some, weights, self._origin, self._unit)

    def _summed(self, rows: Any, weights: Any) -> ScatterMoments:
        xp, p = self.xp, self.n_features
        zeros = {"dtype": xp.float64, "device": device_of(self._X)}
        weight, total, scatter = 0.0, xp.zeros(p, **zeros), xp.zeros((p, p), **zeros)
        for step in self._steps(rows, weights):
            step_weight, step_total, step_scatter = self._measured(*step)
            weight += step_weight
            total += step_total
            scatter += step_scatter
        return ScatterMoments(weight, total, scatter, self._origin, self._unit, owned=True)

    def _steps(self, rows: Any, w: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the rows, and their weights or None, in steps."""
        xp, X = self.xp, self._X
        size = step_rows(X)
        if isinstance(rows, slice):
            start, stop, stride = rows.indices(self.n_samples)
            for first in range(start, stop, size * stride):
                part = slice(first, min(first + size * stride, stop), stride)
                yield X[part, ...], None if w is None else w[part]
        else:
            for step in spans(len(rows), size):
                chosen = asarray_like(X, rows[step])
                yield xp.take(X, chosen, axis=0), None if w is None else xp.take(w, chosen)

    def _measured(self, B: Any, w: Any) -> tuple[float, Any, Any]:
        """Return the weight, total and scatter of the rows of a step."""
        xp = self.xp
        B = xp.astype(B, xp.float64, copy=False)
        B = B if self._unit == 1.0 else B / self._unit
        B = B - self._origin if self._is_shifted else B
        if w is not None:
            total = w @ B
            B = B * xp.sqrt(w)[:, None]
            return float(xp.sum(w)), total, xp.matrix_transpose(B) @ B
        return float(B.shape[0]), xp.sum(B, axis=0), xp.matrix_transpose(B) @ B


def _middle(columns: Any) -> Any:
    """Return the medians of sorted columns."""
    middle = columns.shape[0] // 2
    return (columns[middle, :] + columns[-1 - middle, :]) / 2


def step_rows(X: Any) -> int:
    """Return how many rows one step takes."""
    return max(_STEP_BYTES // (8 * max(X.shape[1], 1)), 1_024)


def device_magnitude(xp: Any, X: Any) -> float:
    """Return the largest magnitude in X, or raise if a value is not finite, naming the first such column."""
    if X.shape[0] == 0:
        return 0.0
    ends = (float(xp.max(X)), -float(xp.min(X)))  # not abs, which would copy X
    if not np.isfinite(ends).all():
        raise ValueError(_first_bad_column(xp, X))
    return max(*ends, 0.0)


def _first_bad_column(xp: Any, X: Any) -> str:
    steps = spans(X.shape[0], step_rows(X))
    finite = xp.stack([xp.all(xp.isfinite(X[step, :]), axis=0) for step in steps])
    column = int(xp.argmax(xp.astype(~xp.all(finite, axis=0), xp.int64)))
    return not_finite(f"column {column}", bool(xp.any(xp.isnan(X[:, column]))))
