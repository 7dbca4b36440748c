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
from attenua.moments_base import Moments
from attenua.sums import SINGLE_PRECISION_ROWS, FoldSums, frame_of, product_blocks

Array = NDArray[np.float64]

# Up to this many columns a p-by-p matrix is small beside anything else; above it, only tall data form one.
_ALWAYS_SCATTER = 512
_NEVER_SCATTER = 10_000

# A column whose squares are all but this part of what they were added up or subtracted from does not vary.
_CONSTANT = 1e-12
# Groups of more columns than this are multiplied by through their rows.
_LARGE_GROUP = 256
# The Gram matrix of more rows than this is too large to decompose.
_GRAM_LIMIT = 3_000


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
        return cls(weight, total, scatter, parts[0]._origin, parts[0].unit)

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
        return self.weight * self.variances > _CONSTANT * squares

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
    products : ndarray of shape (n_samples, n_samples), optional
        Inner products of all rows, where several moments of the same few rows share them.
    """

    forms_covariance = False

    def __init__(
        self, rows: Any, weights: Array, origin: Array, unit: float = 1.0, products: Array | None = None
    ):
        self._all_rows = rows
        self._products = products
        self._weights = weights
        self._origin = origin
        self.unit = unit
        self.weight = float(weights.sum())

    def in_unit(self, unit: float) -> "RowMoments":
        """Return these moments: kept rows have one unit from the start."""
        return self

    def __sub__(self, other: "RowMoments") -> "RowMoments":
        weights = self._weights - other._weights
        return RowMoments(self._all_rows, weights, self._origin, self.unit, self._products)

    @cached_property
    def _used(self) -> tuple[Any, Array]:
        """Rows and weights that count. Rows are copied out only where most are left out."""
        used = self._positions
        if isinstance(used, slice):
            return self._all_rows, self._weights  # a slice of sparse rows would be a copy
        return self._all_rows[used], self._weights[used]

    @cached_property
    def _positions(self) -> slice | NDArray[np.intp]:
        counted = np.flatnonzero(self._weights)
        return slice(None) if 2 * len(counted) > len(self._weights) else counted

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
            np.add(sums, np.bincount(rows.indices, entry_weights * centred**2, len(sums)), out=sums)
            stored = np.bincount(rows.indices, entry_weights, len(sums)).astype(float)
            sums += (self.weight - stored) * self._offset**2
        else:
            for block in row_blocks(*rows.shape):
                sums += weights[block] @ (rows[block] - self._offset) ** 2
        return np.maximum(sums / self.weight, 0.0)

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether each column varies by more than rounding."""
        # The rows are centred before they are squared, so rounding errors are those of their mean.
        return self.variances > (_CONSTANT * self._offset) ** 2

    def _scores(self, V: Array) -> Array:
        """Centred rows times V, without centring the rows."""
        rows, _ = self._used
        return rows @ V - self._offset @ V

    def apply(self, V: Array) -> Array:
        """Return ``S @ V``."""
        rows, weights = self._used
        scores = self._scores(V) * (weights / self.weight)[:, None]
        return rows.T @ scores - np.outer(self._offset, scores.sum(axis=0))

    def within(self, labels: NDArray[np.intp]) -> Callable[[Array], Array]:
        """Return a function that multiplies by D, the within-group blocks of S.

        Blocks of small groups are formed once, as one sparse matrix; a large group is multiplied by through
        its rows.
        """
        rows, weights = self._used
        by_columns = rows.tocsc() if sp.issparse(rows) else rows
        order = np.argsort(labels, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        large = [
            (columns, RowMoments(by_columns[:, columns], weights, self._origin[columns]))
            for columns in groups
            if len(columns) > _LARGE_GROUP
        ]
        small = [columns for columns in groups if len(columns) <= _LARGE_GROUP]
        blocks = [
            RowMoments(by_columns[:, columns], weights, self._origin[columns]).covariance for columns in small
        ]
        place = [np.meshgrid(columns, columns, indexing="ij") for columns in small]
        entries = [
            np.concatenate([part.ravel() for part in parts]) if parts else np.empty(0)
            for parts in (blocks, [i for i, _ in place], [j for _, j in place])
        ]
        D = sp.csr_matrix((entries[0], (entries[1], entries[2])), shape=(self.n_features,) * 2)

        def multiply(V: Array) -> Array:
            result = D @ V
            for columns, part in large:
                result[columns] = part.apply(V[columns])
            return result

        return multiply

    @cached_property
    def covariance(self) -> Array:
        """S as a p-by-p matrix."""
        return self.apply(np.eye(self.n_features))

    @property
    def has_few_rows(self) -> bool:
        """Whether the Gram matrix of the rows is small enough to find the leading eigenvectors of S by."""
        return has_few_rows(self._all_rows)

    def gram(self, factors: Array | None = None) -> tuple[Array, Array]:
        """Return eigenvalues (decreasing) and eigenvectors of inner products of the centred weighted rows.

        With factors, of the rows whose columns are multiplied by them.
        """
        root = np.sqrt(self._used[1] / self.weight)
        G = self._products_about(self._offset, factors) * root[:, None] * root
        values, vectors = np.linalg.eigh(G)
        return values[::-1], vectors[:, ::-1]

    def _products_about(self, centre: Array, factors: Array | None = None) -> Array:
        """Return the inner products of the rows in use, less a centre and times factors."""
        rows, _ = self._used
        if factors is not None:
            rows = rows.multiply(factors).tocsr() if sp.issparse(rows) else rows * factors
            centre = centre * factors
        if factors is not None or self._products is None:
            G = inner_products(rows)
        else:
            G = self._products[self._positions][:, self._positions]
        cross = np.asarray(rows @ centre)
        return G - cross[:, None] - cross + centre @ centre

    @cached_property
    def _gram(self) -> tuple[Array, Array]:
        return self.gram()

    def spectrum(self) -> Array:
        """Return all eigenvalues of S that can differ from zero, decreasing."""
        return np.maximum(self._gram[0], 0.0)

    def count_above(self, alpha: float, value: float, factors: Array | None = None) -> int:
        r"""Return how many eigenvalues of :math:`S - \alpha D` exceed a positive value.

        With the centred weighted rows :math:`A` (so that :math:`S = A^\top A`) and
        :math:`K = \mathrm{value} + \alpha D`, they are as many as the eigenvalues of
        :math:`A K^{-1} A^\top` above 1: both are the inertia of the same bordered matrix. With factors, S and
        D are those of the columns multiplied by them.
        """
        factors = np.ones(self.n_features) if factors is None else factors
        values, _ = self.gram(factors / np.sqrt(value + alpha * factors**2 * self.variances))
        return int(np.sum(values > 1))

    def leading(self, count: int) -> Array:
        """Return the leading eigenvectors of S, not normalised, as columns; at most one for each row."""
        return self.combined(self._gram[1][:, :count])

    def combined(self, vectors: Array) -> Array:
        """Return combinations of the centred weighted rows, as columns."""
        rows, weights = self._used
        V = vectors * np.sqrt(weights)[:, None]
        return rows.T @ V - np.outer(self._offset, V.sum(axis=0))

    @property
    def squared_norm(self) -> float:
        """Sum of the squared entries of S, by columns of S or by inner products of rows: the fewer."""
        rows, weights = self._used
        n, p = rows.shape
        total = 0.0
        if p <= n:
            for block in row_blocks(p, n):
                total += float(np.sum(self.apply(np.eye(p)[:, block]) ** 2))
            return total
        for block in row_blocks(n, p):
            some = rows[block].toarray() if sp.issparse(rows) else rows[block]
            products = self._scores((some - self._offset).T)
            total += float(weights @ products**2 @ weights[block])
        return total / self.weight**2

    def _second_moments(
        self, U: Array, ends: NDArray[np.intp], offset: Array
    ) -> Iterator[tuple[Array, float]]:
        if not self.has_few_rows:
            yield from super()._second_moments(U, ends, offset)
            return
        # Through inner products, M @ U is never formed: its squares sum to those of weighted scores.
        scores = self._scores(U) + offset @ U
        weighted = scores * (self._used[1] / self.weight)[:, None]
        products = self._products_about(self._offset - offset) @ weighted
        for some in zip(*(np.split(x, ends, axis=1) for x in (scores, weighted, products)), strict=True):
            yield some[1].T @ some[0], float(np.sum(some[1] * some[2]))

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


def has_few_rows(rows: Any) -> bool:
    """Whether inner products of the rows are few beside the rows themselves."""
    return rows.shape[0] <= min(rows.shape[1] // 4, _GRAM_LIMIT)


def inner_products(rows: Any) -> Array:
    """Return the Gram matrix of rows."""
    products = rows @ rows.T
    return products.toarray() if sp.issparse(products) else products
