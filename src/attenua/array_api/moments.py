"""From rows on a device to sufficient statistics there: what :mod:`attenua.moments` is for numpy arrays.

The rows are read in place, in steps of a few hundred megabytes. Sums are kept in double precision. Products
of float32 rows are taken in single precision, 8,192 rows at a time, where they are many; if the device rounds
such products further (TF32), they are taken in double precision instead.
"""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from attenua.array_api.namespace import check_float64, device_of, on_device, spans
from attenua.blocks import as_slice, unit_for
from attenua.sums import SINGLE_PRECISION_ROWS

# A step should be long enough that launching its few kernels costs nothing, and small beside the data.
_STEP_BYTES = 256 * 2**20
# Rows of one product in single precision; the products of a step are one batch, added in double precision.
_PRODUCT_ROWS = 8_192
# Single precision multiplies numbers of these sizes without overflow, and without underflow that matters.
_SINGLE_RANGE = (2.0**-20, 2.0**50)
_SINGLE_SQUARE = 1e-30
# Products in single precision are off by about 1e-6 of the largest, in TF32 by 1e-4.
_SINGLE_ERROR = 1e-5
# The rows that a frame is chosen by.
_FRAME_ROWS = 64
# Where a p-by-p matrix is formed: always up to the first size, with as many rows or groups up to the second.
_ALWAYS_SCATTER = 512
_NEVER_SCATTER = 10_000


class ArrayRows:
    """All rows of one array in a common frame, from which the moments of any subset are taken.

    Parameters
    ----------
    xp : namespace
        Of X.
    X : array of shape (n_samples, n_features)
        Real numbers.
    sample_weight : array of shape (n_samples,), optional
        Frequencies, float64, beside X.
    grouped : bool
        Whether blocks of the covariance will be needed, and not only products with it.
    """

    def __init__(self, xp: Any, X: Any, sample_weight: Any = None, grouped: bool = False):
        check_float64(xp, X)
        if sample_weight is not None and not bool(xp.all(sample_weight > 0)):
            # A row that counts nothing must not choose the frame either.
            counted = xp.nonzero(sample_weight > 0)[0]
            X, sample_weight = xp.take(X, counted, axis=0), xp.take(sample_weight, counted)
        self.xp = xp
        self.n_samples, p = X.shape
        self.n_features = p
        self.forms_scatter = p <= _ALWAYS_SCATTER or p <= min(self.n_samples, _NEVER_SCATTER)
        if grouped and not self.forms_scatter:
            if p > _NEVER_SCATTER:
                raise ValueError(
                    f"feature_groups with {p} columns and {self.n_samples} rows are not supported on a "
                    f"device; up to {_NEVER_SCATTER} columns are. numpy arrays have no such limit."
                )
            self.forms_scatter = True
        self._X, self._weights = X, sample_weight
        largest = magnitude(xp, X)
        self._unit = unit_for(largest)
        self._origin = self._median_of_some()
        self._single = (
            X.dtype == xp.float32
            and sample_weight is None
            and self.n_samples >= SINGLE_PRECISION_ROWS
            and _SINGLE_RANGE[0] <= largest <= _SINGLE_RANGE[1]
            and _multiplies_in_single(xp, X)
        )
        self._kept: Any = None

    def _median_of_some(self) -> Any:
        """Return the origin: the median of a few rows, as float32 where the rows are."""
        xp = self.xp
        some = self._X[:: -(-self.n_samples // _FRAME_ROWS), ...]
        some = xp.sort(xp.astype(some, xp.float64) / self._unit, axis=0)
        middle = some.shape[0] // 2
        origin = (some[middle, :] + some[-1 - middle, :]) / 2
        if self._X.dtype != xp.float32 or self._unit != 1.0:
            return origin
        # What single precision holds, so that subtracting it rounds once only.
        return xp.astype(xp.astype(origin, xp.float32), xp.float64)

    def moments(self, rows: np.ndarray | slice | None = None) -> "ScatterSums | WeightedRows":
        """Return the moments of the given rows (an array of numbers, or a slice), or of all."""
        rows = slice(0, self.n_samples) if rows is None else rows
        if self.forms_scatter:
            return self._summed(rows if isinstance(rows, slice) else as_slice(rows))
        counts = np.zeros(self.n_samples)
        np.add.at(counts, np.arange(self.n_samples)[rows], 1.0)
        weights = on_device(self.xp, counts, self._X, self.xp.float64)
        if self._weights is not None:
            weights = weights * self._weights
        if self._kept is None:
            kept = self.xp.astype(self._X, self.xp.float64) / self._unit - self._origin
            self._kept = (kept, kept * kept)
        return WeightedRows(self.xp, self._kept, weights, self._origin, self._unit)

    def _summed(self, rows: Any) -> "ScatterSums":
        xp, p = self.xp, self.n_features
        zeros = {"dtype": xp.float64, "device": device_of(self._X)}
        weight, total, scatter = 0.0, xp.zeros(p, **zeros), xp.zeros((p, p), **zeros)
        count = 0
        for step in self._steps(rows):
            step_weight, step_total, step_scatter = self._measured(*step)
            weight += step_weight
            total += step_total
            scatter += step_scatter
            count += step[0].shape[0]
        if self._single and self._lost_squares(scatter, count, rows):
            self._single = False
            return self._summed(rows)
        return ScatterSums(xp, weight, total, scatter, self._origin, self._unit)

    def _steps(self, rows: Any) -> Any:
        """Yield the rows, and their weights or None, in steps."""
        xp, X, w = self.xp, self._X, self._weights
        size = step_rows(X, _PRODUCT_ROWS if self._single else 1)
        if isinstance(rows, slice):
            start, stop, stride = rows.indices(self.n_samples)
            for first in range(start, stop, size * stride):
                part = slice(first, min(first + size * stride, stop), stride)
                yield X[part, ...], None if w is None else w[part]
        else:
            for step in spans(len(rows), size):
                chosen = on_device(xp, rows[step], X)
                yield xp.take(X, chosen, axis=0), None if w is None else xp.take(w, chosen)

    def _measured(self, B: Any, w: Any) -> tuple[float, Any, Any]:
        """Return the weight, total and scatter of the rows of a step."""
        xp = self.xp
        dtype = xp.float32 if self._single else xp.float64
        B = xp.astype(B, dtype, copy=False)
        B = (B if self._unit == 1.0 else B / self._unit) - xp.astype(self._origin, dtype)
        if w is not None:
            total = w @ B
            B = B * xp.sqrt(w)[:, None]
            return float(xp.sum(w)), total, xp.matrix_transpose(B) @ B
        total = xp.sum(B, axis=0, dtype=xp.float64)
        if not self._single:
            return float(B.shape[0]), total, xp.matrix_transpose(B) @ B
        whole = B.shape[0] // _PRODUCT_ROWS * _PRODUCT_ROWS
        scatter = xp.zeros((), dtype=xp.float64, device=device_of(B))
        for part, size in ((B[:whole, :], _PRODUCT_ROWS), (B[whole:, :], B.shape[0] - whole)):
            if part.shape[0]:
                blocks = xp.reshape(part, (-1, size, self.n_features))
                products = xp.matmul(xp.matrix_transpose(blocks), blocks)
                scatter = scatter + xp.sum(products, axis=0, dtype=xp.float64)
        return float(B.shape[0]), total, scatter

    def _lost_squares(self, scatter: Any, count: int, rows: Any) -> bool:
        """Whether a column whose squares sum to next to nothing is not nothing, but lost to underflow."""
        xp = self.xp
        small = xp.nonzero(xp.linalg.diagonal(scatter) < _SINGLE_SQUARE * count)[0]
        if small.shape[0] == 0:
            return False
        nothing = xp.astype(xp.take(self._origin, small), xp.float32)
        return any(bool(xp.any(xp.take(B, small, axis=1) != nothing)) for B, _ in self._steps(rows))


class _Explaining:
    """Mixin: how many components explain a part of the variance, counted on the device."""

    xp: Any
    total_variance: float

    def explaining(self, fraction: float) -> int:
        """Return the least rank at which ordinary PCA explains more than a fraction of the variance."""
        xp = self.xp
        explained = xp.cumulative_sum(clipped(xp, self.spectrum()))
        return int(xp.sum(xp.astype(explained <= fraction * self.total_variance, xp.int64))) + 1


class ScatterSums(_Explaining):
    """Weight, total and scatter about a fixed origin: disjoint sets of rows add and subtract.

    Parameters
    ----------
    xp : namespace
        Of the arrays.
    weight : float
        Sum of the weights.
    total : array of shape (n_features,)
        Weighted sum of ``x / unit - origin``.
    scatter : array of shape (n_features, n_features)
        Weighted sum of ``(x / unit - origin)(x / unit - origin).T``.
    origin : array of shape (n_features,)
        Common to all moments that are added or subtracted.
    unit : float
        Size of one unit in the data's own units; common to all, too.
    """

    def __init__(self, xp: Any, weight: float, total: Any, scatter: Any, origin: Any, unit: float):
        self.xp, self.weight, self.total, self.scatter = xp, weight, total, scatter
        self.origin, self.unit = origin, unit

    def in_unit(self, unit: float) -> "ScatterSums":
        """Return these moments: all of one array have one unit from the start."""
        return self

    def __add__(self, other: "ScatterSums") -> "ScatterSums":
        return self._combined(other, 1)

    def __sub__(self, other: "ScatterSums") -> "ScatterSums":
        return self._combined(other, -1)

    @classmethod
    def sum(cls, parts: "Sequence[ScatterSums]") -> "ScatterSums":
        """Add up the moments of disjoint subsets."""
        return reduce(add, parts)

    def _combined(self, other: "ScatterSums", sign: int) -> "ScatterSums":
        return ScatterSums(
            self.xp,
            self.weight + sign * other.weight,
            self.total + sign * other.total,
            self.scatter + sign * other.scatter,
            self.origin,
            self.unit,
        )

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.total.shape[0]

    @property
    def mean(self) -> Any:
        """Mean of the rows."""
        return self.origin + self.total / self.weight

    @property
    def covariance(self) -> Any:
        """The p-by-p covariance, divided by the weight."""
        offset = self.total / self.weight
        return self.scatter / self.weight - offset[:, None] * offset[None, :]

    @property
    def total_variance(self) -> float:
        """Trace of the covariance."""
        offset = self.total / self.weight
        return max(float(self.xp.linalg.trace(self.scatter)) / self.weight - float(offset @ offset), 0.0)

    def spectrum(self) -> Any:
        """Return all eigenvalues of the covariance, decreasing."""
        return self.xp.flip(self.xp.linalg.eigvalsh(self.covariance))


class WeightedRows(_Explaining):
    """Moments of weighted rows that are kept as rows: no p-by-p matrix is formed.

    Parameters
    ----------
    xp : namespace
        Of the arrays.
    kept : tuple of two arrays of shape (n_samples, n_features)
        Rows in the common frame, and their squares.
    weights : array of shape (n_samples,)
        Weights; zero leaves a row out.
    origin : array of shape (n_features,)
        What was subtracted from the rows.
    unit : float
        Size of one unit in the data's own units.
    """

    def __init__(self, xp: Any, kept: tuple[Any, Any], weights: Any, origin: Any, unit: float):
        self.xp, self._kept, self.weights = xp, kept, weights
        self.origin, self.unit = origin, unit
        self.rows = kept[0]
        self.weight = float(xp.sum(weights))

    def in_unit(self, unit: float) -> "WeightedRows":
        """Return these moments: kept rows have one unit from the start."""
        return self

    def __sub__(self, other: "WeightedRows") -> "WeightedRows":
        return WeightedRows(self.xp, self._kept, self.weights - other.weights, self.origin, self.unit)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.rows.shape[1]

    @property
    def offset(self) -> Any:
        """Mean of the rows in the frame."""
        return self.weights @ self.rows / self.weight

    @property
    def mean(self) -> Any:
        """Mean of the rows."""
        return self.origin + self.offset

    @property
    def variances(self) -> Any:
        """Diagonal of the covariance."""
        return clipped(self.xp, self.weights @ self._kept[1] / self.weight - self.offset**2)

    @property
    def total_variance(self) -> float:
        """Trace of the covariance."""
        return float(self.xp.sum(self.variances))

    def spectrum(self) -> Any:
        """Return all eigenvalues of the covariance that can differ from zero, decreasing."""
        xp = self.xp
        centred = (self.rows - self.offset) * xp.sqrt(self.weights / self.weight)[:, None]
        return xp.flip(xp.linalg.eigvalsh(centred @ xp.matrix_transpose(centred)))


def clipped(xp: Any, x: Any, least: float = 0.0) -> Any:
    """Return x with everything below `least` raised to it."""
    return xp.where(x > least, x, xp.full_like(x, least))


def step_rows(X: Any, multiple: int = 1) -> int:
    """Return how many rows one step takes."""
    size = max(_STEP_BYTES // (8 * max(X.shape[1], 1)), 1_024)
    return max(size // multiple, 1) * multiple


def magnitude(xp: Any, X: Any) -> float:
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
    what = "NaN" if bool(xp.any(xp.isnan(X[:, column]))) else "infinity"
    return f"Input X contains {what} in column {column}; values must be finite."


def _multiplies_in_single(xp: Any, like: Any) -> bool:
    """Whether products of float32 are rounded to float32, and no further (TF32): measured on a small one."""
    values = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    A = on_device(xp, values, like, xp.float32)
    exact = xp.astype(A, xp.float64) @ xp.astype(A, xp.float64)
    off = xp.max(xp.abs(xp.astype(xp.matmul(A, A), xp.float64) - exact))
    return bool(off <= _SINGLE_ERROR * xp.max(xp.abs(exact)))
