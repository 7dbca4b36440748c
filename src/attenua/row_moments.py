"""Moments of weighted rows that are kept as rows: nothing p-by-p is formed.

Where the rows are few, their inner products know the whole spectrum of the covariance.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua.blocks import row_blocks
from attenua.moments_base import CONSTANT, Moments

Array = NDArray[np.float64]

# Groups of more columns than this are multiplied by through their rows.
_LARGE_GROUP = 256
# The Gram matrix of more rows than this is too large to decompose.
_GRAM_LIMIT = 3_000


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
        return self.variances > (CONSTANT * self._offset) ** 2

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


def has_few_rows(rows: Any) -> bool:
    """Whether inner products of the rows are few beside the rows themselves."""
    return rows.shape[0] <= min(rows.shape[1] // 4, _GRAM_LIMIT)


def inner_products(rows: Any) -> Array:
    """Return the Gram matrix of rows."""
    products = rows @ rows.T
    return products.toarray() if sp.issparse(products) else products
