"""From rows on a device to the moments of any subset of them, on the same device.

The rows are read in place, in steps of a few hundred megabytes, and multiplied and added in double precision.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from attenua._data.blocks import as_slice, not_finite, unit_for
from attenua._data.moments import Moments, ScatterMoments
from attenua._data.namespace import asarray_like, check_float64, device_of, spans, to_host
from attenua._data.row_moments import RowMoments, has_few_rows, inner_products
from attenua._data.rows import forms_scatter
from attenua._data.sums import FRAME_ROWS, NEAR_ZERO

# A step should be long enough that launching its few kernels costs nothing, and small beside the data.
_STEP_BYTES = 256 * 2**20


class DeviceRows:
    """All rows of one array in a common frame, from which the moments of any subset are taken.

    Parameters
    ----------
    xp : namespace
        Of X.
    X : array of shape (n_samples, n_features)
        Real numbers.
    sample_weight : array of shape (n_samples,), optional
        Frequencies, float64, beside X.
    """

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

    def moments(self, rows: np.ndarray | slice | None = None, factors: Any = None) -> Moments:
        """Return the moments of the given rows (an array of numbers, or a slice), or of all.

        Factors, one for each of all rows, on the host, multiply the weights.
        """
        if not self.forms_scatter:
            return self.in_rows(rows, factors)
        rows = slice(0, self.n_samples) if rows is None else rows
        return self._summed(rows if isinstance(rows, slice) else as_slice(rows), self._factored(factors))

    def _factored(self, factors: Any) -> Any:
        if factors is None:
            return self._weights
        factors = asarray_like(self._X, factors, self.xp.float64)
        return factors if self._weights is None else self._weights * factors

    def in_rows(self, rows: np.ndarray | slice | None = None, factors: Any = None) -> RowMoments:
        """Return the moments of the given rows, kept as rows; the rows are shared."""
        rows = slice(0, self.n_samples) if rows is None else rows
        counts = np.zeros(self.n_samples)
        np.add.at(counts, np.arange(self.n_samples)[rows], 1.0)
        weights, factors = asarray_like(self._X, counts, self.xp.float64), self._factored(factors)
        if factors is not None:
            weights = weights * factors
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

    def squared_lengths(self, moments: Moments) -> np.ndarray:
        """Return the squared distance of every row from a mean, in the unit of the moments, on the host."""
        xp, parts = self.xp, []
        for B, _ in self._steps(slice(0, self.n_samples), None):
            centred = xp.astype(B, xp.float64) / moments.unit - moments.mean
            parts.append(to_host(xp.sum(centred**2, axis=1)))
        return np.concatenate(parts)

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
