"""From rows to sufficient statistics: the weight, mean and covariance of any subset of the rows.

Everything downstream knows data only through :class:`~attenua.moments_base.Moments`. There are two kinds:

* :class:`ScatterMoments` holds the p-by-p scatter matrix. It is read off the rows in one blocked pass, and
  the moments of disjoint subsets add and subtract, so that a training fold is "all minus held out".
* :class:`RowMoments` never forms a p-by-p matrix: it keeps the rows (wide or sparse) and weights, and
  multiplies by the covariance through them.

Rows are put in a common frame before anything is squared: an origin near their mean, so that a large shift
costs no digits, and a power of two as the unit, so that data of size 1e-150 or 1e150 neither vanish nor
overflow. Both are removed again by whoever reports a number (``unit``).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua.blocks import as_slice, magnitude, row_blocks
from attenua.masks import within_groups
from attenua.moments_base import CONSTANT, Moments
from attenua.row_moments import RowMoments, has_few_rows, inner_products
from attenua.sums import SINGLE_PRECISION_ROWS, FoldSums, frame_of, product_blocks

Array = NDArray[np.float64]

# Up to this many columns a p-by-p matrix is small beside anything else; above it, only tall data form one.
_ALWAYS_SCATTER = 512
_NEVER_SCATTER = 10_000


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
    squares : ndarray of shape (n_features,), optional
        The largest diagonal that the scatter was added up or subtracted from: what its rounding errors are
        relative to. If not given, its own.
    """

    forms_covariance = True

    def __init__(
        self,
        weight: float,
        total: Array,
        scatter: Array,
        origin: Array,
        unit: float = 1.0,
        squares: Array | None = None,
    ):
        self.weight = weight
        self.unit = unit
        self._total = total
        self._scatter = scatter
        self._origin = origin
        self._squares = np.diag(scatter) if squares is None else squares

    def in_unit(self, unit: float) -> "ScatterMoments":
        """Return the same moments in another unit; exact, since units are powers of two."""
        ratio = self.unit / unit
        if ratio == 1.0:
            return self
        return ScatterMoments(
            self.weight,
            self._total * ratio,
            self._scatter * ratio * ratio,
            self._origin * ratio,
            unit,
            self._squares * ratio * ratio,
        )

    def __add__(self, other: "ScatterMoments") -> "ScatterMoments":
        return self._combined(other, 1)

    def __sub__(self, other: "ScatterMoments") -> "ScatterMoments":
        return self._combined(other, -1)

    @classmethod
    def sum(cls, parts: "Sequence[ScatterMoments]") -> "ScatterMoments":
        """Add up the moments of disjoint subsets."""
        if len({part.unit for part in parts}) > 1:
            return reduce(add, parts)
        scatter = parts[0]._scatter.copy()
        for part in parts[1:]:
            scatter += part._scatter
        weight, total = sum(part.weight for part in parts), sum(part._total for part in parts)
        squares = np.max([part._squares for part in parts], axis=0)
        return cls(weight, total, scatter, parts[0]._origin, parts[0].unit, squares)

    def _combined(self, other: "ScatterMoments", sign: int) -> "ScatterMoments":
        unit = self._common_unit(other)
        one, two = self.in_unit(unit), other.in_unit(unit)
        combine = np.add if sign > 0 else np.subtract
        return ScatterMoments(
            one.weight + sign * two.weight,
            combine(one._total, two._total),
            combine(one._scatter, two._scatter),
            one._origin,
            unit,
            np.maximum(one._squares, two._squares),
        )

    def _common_unit(self, other: "ScatterMoments") -> float:
        if self.unit == other.unit:
            return self.unit
        # The larger, but sums that are all zero have no unit of their own.
        return max((m.unit for m in (self, other) if m._scatter.any()), default=self.unit)

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

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether each column varies by more than rounding."""
        squares = np.maximum(self._squares, np.diag(self._scatter))
        return self.weight * self.variances > CONSTANT * squares

    @cached_property
    def covariance(self) -> Array:
        """S as a p-by-p matrix."""
        S = self._scatter / self.weight
        # S.T is in the order of BLAS, and S is symmetric: the outer product is subtracted in place.
        scipy.linalg.blas.dger(-1.0, self._offset, self._offset, a=S.T, overwrite_a=1)
        np.fill_diagonal(S, self.variances)
        return S

    @property
    def squared_norm(self) -> float:
        """Sum of the squared entries of S."""
        return float(np.sum(self.covariance**2))

    def apply(self, V: Array) -> Array:
        """Return ``S @ V``."""
        return self.covariance @ V

    def within(self, labels: NDArray[np.intp]) -> Callable[[Array], Array]:
        """Return a function that multiplies by D, the within-group blocks of S."""
        return within_groups(self.covariance, labels).__matmul__

    def compress(self, U: Array) -> Array:
        """Return ``U.T @ S @ U``."""
        return U.T @ self._product(U)

    def _product(self, V: Array) -> Array:
        product = self._scatter @ V
        product /= self.weight
        product -= np.outer(self._offset, self._offset @ V)
        return product


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
        if sample_weight is not None and not sample_weight.all():
            # A row that counts nothing must not choose the frame either.
            X, sample_weight = X[sample_weight > 0], sample_weight[sample_weight > 0]
        self.n_samples, self.n_features = X.shape
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # the caller's matrix stays as it is
            X.sum_duplicates()
        self._X = X
        self._weights = sample_weight
        self.forms_scatter = self.n_features <= _ALWAYS_SCATTER or (
            not sp.issparse(X) and self.n_features <= min(self.n_samples, _NEVER_SCATTER)
        )
        self._feature_names = feature_names
        # Rows that are summed up are checked as they are read; a few of them give the frame to begin with.
        self._frame = frame_of(X, feature_names, None if self.forms_scatter else magnitude(X, feature_names))

    @cached_property
    def _kept_rows(self) -> Any:
        """The rows that :class:`RowMoments` share, in the frame; made once."""
        if sp.issparse(self._X):
            # A view that shares the indices, so that only the values are new.
            values = self._X.data.astype(float) / self._frame.unit
            return sp.csr_matrix((values, self._X.indices, self._X.indptr), shape=self._X.shape, copy=False)
        return self._in_frame(self._X)

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

    def moments(self, rows: NDArray[np.intp] | slice | None = None) -> ScatterMoments | RowMoments:
        """Return the moments of the given rows (an array of numbers, or a slice), or of all."""
        if self.forms_scatter:
            return self._scatter_moments(rows)
        weights = np.ones(self.n_samples) if self._weights is None else self._weights
        if rows is not None:
            chosen = np.arange(self.n_samples)[rows] if isinstance(rows, slice) else rows
            weights = weights * np.bincount(chosen, minlength=self.n_samples)
        return RowMoments(self._kept_rows, weights, self._frame.origin, self._frame.unit, self._products)

    def centred_blocks(self, moments: Moments) -> Iterator[tuple[Array, Array]]:
        """Yield blocks of all rows less a mean, dense and in the unit of the moments, with their weights."""
        for block in row_blocks(self.n_samples, self.n_features):
            B = self._X[block]
            values = np.array(B.toarray() if sp.issparse(B) else B, dtype=float)
            weights = np.ones(len(values)) if self._weights is None else self._weights[block]
            yield values / moments.unit - moments.mean, weights

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
