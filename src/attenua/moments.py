"""From rows to sufficient statistics: the weight, mean and covariance of any subset of the rows.

Everything downstream knows data only through :class:`Moments`. There are two kinds:

* :class:`ScatterMoments` holds the p-by-p scatter matrix. It is read off the rows in one blocked pass, and
  the moments of disjoint subsets add and subtract, so that a training fold is "all minus held out".
* :class:`RowMoments` never forms a p-by-p matrix: it keeps the rows (wide or sparse) and weights, and
  multiplies by the covariance through them.

Rows are put in a common frame before anything is squared: an origin near their mean, so that a large shift
costs no digits, and a power of two as the unit, so that data of size 1e-150 or 1e150 neither vanish nor
overflow. Both are removed again by whoever reports a number (``unit``).
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua.blocks import as_slice, magnitude, row_blocks
from attenua.masks import within_groups
from attenua.sums import SINGLE_PRECISION_ROWS, FoldSums, frame_of, product_blocks

Array = NDArray[np.float64]

# Up to this many columns a p-by-p matrix is small beside anything else; above it, only tall data form one.
_ALWAYS_SCATTER = 512
_NEVER_SCATTER = 10_000


class Moments(ABC):
    """Weight, mean and covariance :math:`S` (divided by the weight) of some rows.

    Attributes
    ----------
    weight : float
        Number of rows, or the sum of their weights.
    unit : float
        A value in these moments times `unit` is a value in the data's own units.
    mean, variances : ndarray of shape (n_features,)
        Mean and diagonal of the covariance.
    forms_covariance : bool
        Whether a p-by-p matrix is at hand; if not, only ``apply`` should be used.
    """

    weight: float
    unit: float
    forms_covariance: bool

    @property
    @abstractmethod
    def mean(self) -> Array:
        """Mean of the rows."""

    @property
    @abstractmethod
    def variances(self) -> Array:
        """Diagonal of S."""

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.mean)

    @property
    def total_variance(self) -> float:
        """Trace of the covariance."""
        return float(self.variances.sum())

    @abstractmethod
    def apply(self, V: Array) -> Array:
        """Return ``S @ V``."""

    @abstractmethod
    def apply_within(self, V: Array, labels: NDArray[np.intp]) -> Array:
        """Return ``D @ V``, where D keeps only the blocks of S within groups of columns."""

    @property
    @abstractmethod
    def covariance(self) -> Array:
        """S as a p-by-p matrix."""

    @abstractmethod
    def compress(self, U: Array) -> Array:
        """Return ``U.T @ S @ U``."""

    def reconstruction_error(self, U: Array, centre: Array) -> float:
        r"""Return the mean over the rows of :math:`\|(I - UU^\top)(x - c)\|^2`."""
        offset = self.mean - centre
        captured = np.trace(self.compress(U)) + np.sum((U.T @ offset) ** 2)
        # The two sums agree to rounding when the subspace holds everything; an error is never negative.
        return max(self.total_variance + float(offset @ offset - captured), 0.0)


class ScatterMoments(Moments):
    """Moments that hold sums about a fixed origin, so that disjoint subsets add and subtract.

    Parameters
    ----------
    weight : float
        Sum of the weights.
    total : ndarray of shape (n_features,)
        Weighted sum of ``x - origin``.
    scatter : ndarray of shape (n_features, n_features)
        Weighted sum of ``(x - origin)(x - origin).T``.
    origin : ndarray of shape (n_features,)
        Common to all moments that are added or subtracted.
    unit : float
        Size of one unit in the data's own units.
    """

    forms_covariance = True

    def __init__(self, weight: float, total: Array, scatter: Array, origin: Array, unit: float = 1.0):
        self.weight = weight
        self.unit = unit
        self._total = total
        self._scatter = scatter
        self._origin = origin

    def in_unit(self, unit: float) -> "ScatterMoments":
        """Return the same moments in another unit; exact, since units are powers of two."""
        ratio = self.unit / unit
        if ratio == 1.0:
            return self
        return ScatterMoments(
            self.weight, self._total * ratio, self._scatter * ratio * ratio, self._origin * ratio, unit
        )

    def __add__(self, other: "ScatterMoments") -> "ScatterMoments":
        return self._combined(other, 1)

    def __sub__(self, other: "ScatterMoments") -> "ScatterMoments":
        return self._combined(other, -1)

    def _combined(self, other: "ScatterMoments", sign: int) -> "ScatterMoments":
        unit = max(self.unit, other.unit)
        one, two = self.in_unit(unit), other.in_unit(unit)
        combine = np.add if sign > 0 else np.subtract
        return ScatterMoments(
            one.weight + sign * two.weight,
            combine(one._total, two._total),
            combine(one._scatter, two._scatter),
            one._origin,
            unit,
        )

    @property
    def _offset(self) -> Array:
        return self._total / self.weight

    @cached_property
    def mean(self) -> Array:
        """Mean of the rows."""
        return self._origin + self._offset

    @cached_property
    def variances(self) -> Array:
        """Diagonal of S."""
        return np.maximum(np.diag(self._scatter) / self.weight - self._offset**2, 0.0)

    @cached_property
    def covariance(self) -> Array:
        """S as a p-by-p matrix."""
        S = self._scatter / self.weight
        S -= np.outer(self._offset, self._offset)
        np.fill_diagonal(S, self.variances)
        return S

    def apply(self, V: Array) -> Array:
        """Return ``S @ V``."""
        return self.covariance @ V

    def apply_within(self, V: Array, labels: NDArray[np.intp]) -> Array:
        """Return ``D @ V``, where D keeps the within-group blocks of S."""
        return within_groups(self.covariance, labels) @ V

    def compress(self, U: Array) -> Array:
        """Return ``U.T @ S @ U``."""
        projected = U.T @ self._offset
        return U.T @ (self._scatter @ U) / self.weight - np.outer(projected, projected)


class RowMoments(Moments):
    """Moments of weighted rows that are kept as rows; the covariance is only ever multiplied by.

    Parameters
    ----------
    rows : ndarray or csr_matrix of shape (n_samples, n_features)
        Rows, in the common frame. Sparse rows stay sparse and are centred implicitly.
    weights : ndarray of shape (n_samples,)
        Weights; zero leaves a row out.
    origin : ndarray of shape (n_features,)
        What was subtracted from the rows.
    unit : float
        Size of one unit in the data's own units.
    """

    forms_covariance = False

    def __init__(self, rows: Any, weights: Array, origin: Array, unit: float = 1.0):
        self._all_rows = rows
        self._weights = weights
        self._origin = origin
        self.unit = unit
        self.weight = float(weights.sum())

    def in_unit(self, unit: float) -> "RowMoments":
        """Return these moments: kept rows have one unit from the start."""
        return self

    def __sub__(self, other: "RowMoments") -> "RowMoments":
        return RowMoments(self._all_rows, self._weights - other._weights, self._origin, self.unit)

    @cached_property
    def _used(self) -> tuple[Any, Array]:
        """Rows and weights that count. Rows are copied out only where most are left out."""
        counted = np.flatnonzero(self._weights)
        if 2 * len(counted) > len(self._weights):
            return self._all_rows, self._weights
        return self._all_rows[counted], self._weights[counted]

    @cached_property
    def _offset(self) -> Array:
        rows, weights = self._used
        return np.asarray(rows.T @ weights) / self.weight

    @cached_property
    def mean(self) -> Array:
        """Mean of the rows."""
        return self._origin + self._offset

    @cached_property
    def variances(self) -> Array:
        """Diagonal of S."""
        rows, weights = self._used
        sums = np.zeros(rows.shape[1])
        if sp.issparse(rows):
            # Sum over the stored entries of (x - m)^2, plus m^2 for the zeros: no cancellation.
            entry_weights = np.repeat(weights, np.diff(rows.indptr))
            centred = rows.data - self._offset[rows.indices]
            sums = np.bincount(rows.indices, weights=entry_weights * centred**2, minlength=len(sums))
            stored = np.bincount(rows.indices, weights=entry_weights, minlength=len(sums))
            sums += (self.weight - stored) * self._offset**2
        else:
            for block in row_blocks(*rows.shape):
                sums += weights[block] @ (rows[block] - self._offset) ** 2
        return np.maximum(sums / self.weight, 0.0)

    def _scores(self, V: Array) -> Array:
        """Centred rows times V, without centring the rows."""
        rows, _ = self._used
        return rows @ V - self._offset @ V

    def apply(self, V: Array) -> Array:
        """Return ``S @ V``."""
        rows, weights = self._used
        scores = self._scores(V) * (weights / self.weight)[:, None]
        return rows.T @ scores - np.outer(self._offset, scores.sum(axis=0))

    def apply_within(self, V: Array, labels: NDArray[np.intp]) -> Array:
        """Return ``D @ V``, where D keeps the within-group blocks of S."""
        rows, weights = self._used
        result = np.empty_like(V)
        for label in range(labels.max() + 1):
            columns = np.flatnonzero(labels == label)
            part = RowMoments(rows[:, columns], weights, self._origin[columns])
            result[columns] = part.apply(V[columns])
        return result

    @property
    def covariance(self) -> Array:
        """S as a p-by-p matrix."""
        return self.apply(np.eye(self.n_features))

    def compress(self, U: Array) -> Array:
        """Return ``U.T @ S @ U``."""
        scores = self._scores(U)
        return (scores * (self._used[1] / self.weight)[:, None]).T @ scores


class Rows:
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
        self.n_samples, self.n_features = X.shape
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # the caller's matrix stays as it is
            X.sum_duplicates()
        self._X = X
        self._weights = sample_weight
        self._by_scatter = self.n_features <= _ALWAYS_SCATTER or (
            not sp.issparse(X) and self.n_features <= min(2 * self.n_samples, _NEVER_SCATTER)
        )
        self.reads_data = self._by_scatter
        self._feature_names = feature_names
        # Rows that are read once are checked as they are read; a few of them give the frame to begin with.
        sample = X if sp.issparse(X) else X[:: max(1, self.n_samples // 256)]
        self._frame = frame_of(
            sample, feature_names, None if self._by_scatter else magnitude(X, feature_names)
        )

    @cached_property
    def _kept_rows(self) -> Any:
        """The rows that :class:`RowMoments` share, in the frame; made once."""
        if sp.issparse(self._X):
            # A view that shares the indices, so that only the values are new.
            values = self._X.data.astype(float) / self._frame.unit
            return sp.csr_matrix((values, self._X.indices, self._X.indptr), shape=self._X.shape, copy=False)
        return self._in_frame(self._X)

    def _in_frame(self, X: Any) -> Array:
        """Return dense rows as a new array of doubles, scaled and shifted."""
        rows = np.array(X, dtype=float, order="C")
        if self._frame.unit != 1.0:
            rows /= self._frame.unit
        rows -= self._frame.origin
        return rows

    def moments(self, rows: NDArray[np.intp] | slice | None = None) -> ScatterMoments | RowMoments:
        """Return the moments of the given rows (an array of numbers, or a slice), or of all."""
        if self._by_scatter:
            return self._scatter_moments(rows)
        weights = np.ones(self.n_samples) if self._weights is None else self._weights
        if rows is not None:
            chosen = np.arange(self.n_samples)[rows] if isinstance(rows, slice) else rows
            weights = weights * np.bincount(chosen, minlength=self.n_samples)
        return RowMoments(self._kept_rows, weights, self._frame.origin, self._frame.unit)

    def _scatter_moments(self, rows: NDArray[np.intp] | slice | None) -> ScatterMoments:
        sums = FoldSums(self._frame, 1, self._feature_names)
        rows = slice(0, self.n_samples) if rows is None else rows
        rows = rows if isinstance(rows, slice) else as_slice(rows)
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.n_samples)
            blocks = product_blocks(start, stop, self.n_features, step)
        else:
            blocks = (rows[block] for block in product_blocks(0, len(rows), self.n_features))
        single = self.n_samples >= SINGLE_PRECISION_ROWS
        sums.add(self._X, ((0, block) for block in blocks), sample_weight=self._weights, single=single)
        self._frame = sums.frame  # a larger unit, where these rows needed one
        return scatter_moments(sums)[0]


def scatter_moments(sums: FoldSums) -> list[ScatterMoments]:
    """Return the moments of every fold. They share memory with the sums."""
    frame = sums.frame
    return [
        ScatterMoments(float(weight), total, scatter, frame.origin, frame.unit)
        for weight, total, scatter in zip(sums.weights, sums.totals, sums.scatters, strict=True)
    ]
