"""Moments of weighted rows that are kept as rows: nothing p-by-p is formed.

If the rows are few, their inner products give the whole spectrum of the covariance.
"""

from collections.abc import Callable
from copy import copy
from functools import cached_property
from sys import float_info
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._data.moments import CONSTANT, UNDERFLOW, Moments, ScatterMoments, vary
from attenua._data.namespace import array_namespace, asarray_like, clipped, to_host
from attenua._data.sums import row_blocks, squared_lengths

Array = NDArray[np.float64]

# Groups of more columns than this are multiplied by through their rows.
_LARGE_GROUP = 256
# A larger covariance is formed again when it is needed again.
_KEPT_BYTES = 50 * 2**20
# The Gram matrix of more rows than this is too large to decompose.
_GRAM_LIMIT = 3_000
# One of so few rows costs less than an iteration.
_SMALL_GRAM = 512
# Squared distances below this part of the squared lengths are taken from differences of rows, since those of
# inner products have lost their digits.
_CLOSE = 1e-6


class RowMoments(Moments):
    r"""Moments of weighted rows that are kept as rows; the covariance is only ever multiplied by.

    With the centred rows times the roots of their shares as the matrix A, :math:`S = A^\top A`, and the
    image of V is A V. Where pairs of rows have weights, a mixing matrix replaces the roots.

    Parameters
    ----------
    rows : array or csr_matrix of shape (n_samples, n_features)
        Rows, in the common frame. Sparse rows stay sparse and are centred implicitly.
    weights : array of shape (n_samples,)
        Weights; zero leaves a row out.
    origin : array of shape (n_features,)
        What was subtracted from the rows.
    unit : float
        Size of one unit in the data's own units.
    products : ndarray of shape (n_samples, n_samples), optional
        Inner products of all rows, where several moments of the same few rows share them.
    offset : array of shape (n_features,), optional
        What the rows are centred on, less the origin; if not given, their mean.
    mixing : callable, optional
        Returns the matrix M, of shape (n_mixed, n_samples), that makes A = M Z of the centred rows Z. It is
        called when M is first needed, by the thread that needs it.
    mixing_square : callable, optional
        Multiplies by M'M. Products with S need no more, and a root M is expensive.
    rough_variances : array of shape (n_features,), optional
        Numbers of the size of the variances, if those are expensive.
    scale : array of shape (n_features,), optional
        What the columns were divided by.

    Attributes
    ----------
    row_weights : array of shape (n_samples,)
        Weights of all rows, zeros included.
    """

    forms_covariance = False
    _kept_covariance: Any = None
    _covariance_type: Any = None  # if not that of the rows

    def __init__(
        self,
        rows: Any,
        weights: Any,
        origin: Any,
        unit: float = 1.0,
        products: Array | None = None,
        *,
        offset: Any = None,
        mixing: Callable[[], Any] | None = None,
        mixing_square: Callable[[Any], Any] | None = None,
        rough_variances: Any = None,
        scale: Any = None,
    ):
        self._all_rows = rows
        self.row_weights = weights
        self._products = products
        self._origin = origin
        self._centre = offset
        self._make_mixing, self._mixing_square = mixing, mixing_square
        self._rough_variances = rough_variances
        self.unit = unit
        self.scale = scale
        self.weight = float(array_namespace(weights).sum(weights))

    def about(self, centre: Any, unit: float) -> "RowMoments":
        """Return the second moments about a centre in a unit."""
        moved = self.in_unit(unit)
        return RowMoments(
            moved._all_rows,
            self.row_weights,
            moved._origin,
            unit,
            moved._products,
            offset=centre - moved._origin,
            scale=self.scale,
        )

    def mixed(
        self, mixing: Callable[[], Any], trace: float, square: Callable[[Any], Any] | None = None
    ) -> "RowMoments":
        r"""Return the moments with :math:`S = (M Z)^\top M Z`, Z being the centred rows, and its trace.

        The first function returns M; the second, if that is cheaper, multiplies by :math:`M^\top M`.
        """
        return RowMoments(
            self._all_rows,
            self.row_weights,
            self._origin,
            self.unit,
            self._products,
            offset=self._offset,
            mixing=mixing,
            mixing_square=square,
            rough_variances=self.variances * (trace / max(self.total_variance, float_info.min)),
            scale=self.scale,
        )

    @property
    def rough_variances(self) -> Any:
        """Numbers of the size of the variances, which are too expensive if they only set tolerances."""
        return self.variances if self._rough_variances is None else self._rough_variances

    def summed(self, L: Any, varies: Any) -> ScatterMoments:
        r"""Return sums with :math:`S = Z^\top L Z`, Z being the centred rows, of which some columns vary."""
        Z = self._all_rows.toarray() if sp.issparse(self._all_rows) else self._all_rows
        Z = Z - self._offset
        scatter = Z.T @ (L @ Z) * self.weight
        zeros = self.xp.zeros_like(self._offset)
        return ScatterMoments(
            self.weight, zeros, scatter, self.mean, self.unit, owned=True, varies=varies, scale=self.scale
        )

    def squared_distances(self) -> Array:
        """Return the squared distances between all rows, on the host; equal rows are at 0 exactly."""
        rows = self._all_rows
        products = inner_products(rows) if self._products is None else self._products
        lengths = np.diag(products)
        lengths = lengths[:, None] + lengths
        distances = lengths - 2 * products
        first, second = np.nonzero(np.triu(distances <= _CLOSE * lengths, 1))
        for block in row_blocks(len(first), rows.shape[1]):
            i, j = first[block], second[block]
            difference = _taken(rows, i) - _taken(rows, j)
            distances[i, j] = distances[j, i] = _squares(difference)
        np.fill_diagonal(distances, 0.0)
        return distances

    def in_unit(self, unit: float) -> "RowMoments":
        """Return the same moments in another unit."""
        ratio = self.unit / unit
        if ratio == 1.0:
            return self
        products = None if self._products is None else self._products * ratio * ratio
        return RowMoments(
            self._all_rows * ratio,
            self.row_weights,
            self._origin * ratio,
            unit,
            products,
            offset=None if self._centre is None else self._centre * ratio,
            mixing=self._make_mixing,
            mixing_square=self._mixing_square,
            rough_variances=None if self._rough_variances is None else self._rough_variances * ratio * ratio,
        )

    def divided(self, scale: Any) -> "RowMoments":
        """Return the moments of the columns divided by a scale: of a copy of the rows that count."""
        rows, weights = self._used
        factors = self.unit / scale
        rows = rows.multiply(factors).tocsr() if sp.issparse(rows) else rows * factors
        return RowMoments(
            rows,
            weights,
            self._origin * factors,
            products=None if self._products is None else inner_products(rows),
            offset=None if self._centre is None else self._centre * factors,
            mixing=self._make_mixing,
            mixing_square=self._mixing_square,
            scale=scale,
        )

    @cached_property
    def _mixing(self) -> Any:
        assert self._make_mixing is not None
        return self._make_mixing()

    @cached_property
    def _positions(self) -> slice | Any:
        """Rows that count; all rows if few are left out, since a copy costs more than the extra products."""
        xp = array_namespace(self.row_weights)
        counted = xp.nonzero(self.row_weights)[0]
        is_most = 2 * counted.shape[0] > self.row_weights.shape[0]
        return slice(None) if is_most or self._make_mixing is not None else counted

    @cached_property
    def _used(self) -> tuple[Any, Any]:
        """Rows and weights that count."""
        used = self._positions
        if isinstance(used, slice):
            return self._all_rows, self.row_weights  # a slice of sparse rows would be a copy
        weights = array_namespace(self.row_weights).take(self.row_weights, used)
        return _taken(self._all_rows, used), weights

    @cached_property
    def _roots(self) -> Any:
        """Roots of the shares of the rows, as a column."""
        weights = self._used[1]
        return array_namespace(weights).sqrt(weights / self.weight)[:, None]

    def _mix(self, centred: Any) -> Any:
        """Return A V from Z V."""
        return centred * self._roots if self._make_mixing is None else self._mixing @ centred

    def _unmix(self, image: Any) -> Any:
        """Return the matrix that Z.T maps to A.T @ image."""
        return image * self._roots if self._make_mixing is None else self._mixing.T @ image

    @cached_property
    def _offset(self) -> Any:
        return self._weighted_offset if self._centre is None else self._centre

    @property
    def _weighted_offset(self) -> Any:
        rows, weights = self._used
        return rows.T @ weights / self.weight

    @cached_property
    def mean(self) -> Any:
        """Mean of the rows."""
        return self._origin + self._offset

    @cached_property
    def variances(self) -> Any:
        """Diagonal of S."""
        rows, weights = self._used
        if self._make_mixing is not None:
            return self._mixed_variances(rows)
        if sp.issparse(rows):
            return self._sparse_variances(rows, weights)
        sums = array_namespace(rows).zeros_like(self._offset)
        for block in row_blocks(*rows.shape):
            sums += weights[block] @ (rows[block, :] - self._offset) ** 2
        return clipped(sums / self.weight)

    def _sparse_variances(self, rows: Any, weights: Array) -> Array:
        # Sum over the stored entries of (x - m)^2, plus m^2 for the zeros: no cancellation.
        entry_weights = np.repeat(weights, np.diff(rows.indptr))
        centred = rows.data - self._offset[rows.indices]
        sums = np.bincount(rows.indices, entry_weights * centred**2, rows.shape[1])
        stored = np.bincount(rows.indices, entry_weights, rows.shape[1])
        # Not +=: counts of nothing are integers.
        sums = sums + (self.weight - stored) * self._offset**2
        return np.maximum(sums / self.weight, 0.0)

    def _mixed_variances(self, rows: Any) -> Any:
        xp = array_namespace(self._offset)
        by_columns = rows.tocsc() if sp.issparse(rows) else rows
        parts = []
        for block in row_blocks(rows.shape[1], rows.shape[0]):
            some = by_columns[:, block].toarray() if sp.issparse(rows) else by_columns[:, block]
            centred = some - self._offset[block]
            square = self._mixing_square
            squares = self._mix(centred) ** 2 if square is None else centred * square(centred)
            parts.append(xp.sum(squares, axis=0))
        return xp.concat(parts) if len(parts) > 1 else parts[0]

    @property
    def varies(self) -> Any:
        """Whether each column varies by more than rounding."""
        # The rows are centred before they are squared, so rounding errors are those of their mean.
        is_clear = self.variances > (CONSTANT * self._offset) ** 2
        return is_clear & vary(self.variances, self.mean, self.weight)

    @property
    def vanishing(self) -> NDArray[np.intp]:
        """Columns that vary, but by so little that their variances are lost to underflow."""
        rows, _ = self._used
        small = to_host(self.variances) * self.weight < UNDERFLOW
        if not small.any():
            return np.empty(0, dtype=np.intp)
        # A constant column lies at the origin, which was subtracted.
        if sp.issparse(rows):
            moves = np.bincount(rows.indices[rows.data != 0], minlength=rows.shape[1]) > 0
        else:
            moves = to_host(array_namespace(rows).any(rows != 0, axis=0))
        return np.flatnonzero(small & moves)

    @property
    def product_work(self) -> int:
        """Number of multiplications of a product of S and a vector."""
        rows, _ = self._used
        if sp.issparse(rows):
            return 16 * rows.nnz  # each takes as long as eight of a dense product
        return 2 * rows.shape[0] * rows.shape[1]

    def _along(self, V: Any) -> Any:
        """Return Z @ V, without centring the rows."""
        rows, _ = self._used
        product = rows @ V
        product -= self._offset @ V
        return product

    def image(self, V: Any) -> Any:
        """Return A @ V: centred and weighted rows times V."""
        return self._mix(self._along(V))

    def apply(self, V: Any) -> Any:
        """Return ``S @ V``."""
        if self._mixing_square is None:
            return self.lift(self.image(V))
        return self._back(self._mixing_square(self._along(V)))

    def lift(self, image: Any) -> Any:
        """Return A.T @ image."""
        return self._back(self._unmix(image))

    def _back(self, weighted: Any) -> Any:
        """Return Z.T @ weighted."""
        rows, _ = self._used
        product = rows.T @ weighted
        product -= self._offset[:, None] * array_namespace(weighted).sum(weighted, axis=0)[None, :]
        return product

    def inner(self, V: Any, V_image: Any, W_image: Any) -> Any:
        """Return ``V.T @ S @ W`` from the images."""
        return V_image.T @ W_image

    def row_squares(self, centre: Any) -> Array:
        """Return the squared distance from a centre of every row that counts, on the host."""
        rows, _ = self._used
        return squared_lengths(rows, centre - self._origin, 1.0)[self._counted]

    def fourth_powers(self, centre: Any) -> float:
        """Return the weighted sum over rows of the fourth power of their distance from a centre."""
        return float(to_host(self._used[1])[self._counted] @ self.row_squares(centre) ** 2)

    def row_scores(self, V: Any, centre: Any) -> Array:
        """Return the products with V of every row that counts, less a centre, on the host."""
        rows, _ = self._used
        return to_host(rows @ V - (centre - self._origin) @ V)[self._counted]

    def centred(self, centre: Any) -> Array:
        """Return every row that counts, less a centre, as a dense array on the host."""
        rows, _ = self._used
        dense = rows.toarray() if sp.issparse(rows) else rows
        return to_host(dense - (centre - self._origin))[self._counted]

    @property
    def weights_of_rows(self) -> Array:
        """Weight of every row that counts, on the host."""
        return to_host(self._used[1])[self._counted]

    @cached_property
    def _counted(self) -> NDArray[np.bool_]:
        """Which of the used rows have a weight above 0."""
        return to_host(self._used[1]) > 0

    def within(self, labels: NDArray[np.intp]) -> Callable[[Any], Any]:
        """Return a function that multiplies by D, the within-group blocks of S.

        On the host, blocks of small groups are formed once, as one sparse matrix; a large group, and any
        group on a device, is multiplied by through its rows.
        """
        order = np.argsort(labels, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        on_host = array_namespace(self._origin) is np
        small = [columns for columns in groups if on_host and len(columns) <= _LARGE_GROUP]
        large = [columns for columns in groups if not on_host or len(columns) > _LARGE_GROUP]
        parts = [(columns, self._of_columns(columns).apply) for columns in large]
        if small:
            parts.append((np.concatenate(small), self._block_diagonal(small).__matmul__))
        back = asarray_like(self._origin, np.argsort(np.concatenate([columns for columns, _ in parts])))
        parts = [(asarray_like(self._origin, columns), multiply) for columns, multiply in parts]

        def multiply(V: Any) -> Any:
            xp = array_namespace(V)
            pieces = [block(xp.take(V, columns, axis=0)) for columns, block in parts]
            return xp.take(xp.concat(pieces, axis=0), back, axis=0)

        return multiply

    def _of_columns(self, columns: NDArray[np.intp]) -> "RowMoments":
        rows, weights = self._used
        if sp.issparse(rows):
            some, origin, offset = rows[:, columns], self._origin[columns], self._offset[columns]
        else:
            xp, columns = array_namespace(rows), asarray_like(rows, columns)
            some = xp.take(rows, columns, axis=1)
            origin, offset = xp.take(self._origin, columns), xp.take(self._offset, columns)
        return RowMoments(some, weights, origin, offset=offset, mixing=self._make_mixing)

    def _block_diagonal(self, groups: list[NDArray[np.intp]]) -> Any:
        """Return the blocks of S of some groups of columns, one after another, as a sparse matrix."""
        rows, weights = self._used
        by_columns = RowMoments(
            rows.tocsc() if sp.issparse(rows) else rows,
            weights,
            self._origin,
            offset=self._offset,
            mixing=self._make_mixing,
        )
        blocks = [sp.csr_array(by_columns._of_columns(columns).covariance) for columns in groups]
        return sp.block_diag(blocks, "csr")

    @property
    def covariance(self) -> Any:
        """S as a p-by-p matrix; kept only where it is small, since it may be much larger than the rows."""
        if self._kept_covariance is None:
            S = self._formed_covariance()
            entry = 8 if self._covariance_type is None else 4
            if entry * self.n_features**2 > _KEPT_BYTES:
                return S
            self._kept_covariance = S
        return self._kept_covariance

    def _formed_covariance(self) -> Any:
        rows, weights = self._used
        if sp.issparse(rows) and self._make_mixing is None:
            mean, centre = self._weighted_offset, self._offset
            S = (rows.multiply(weights[:, None]).T @ rows).toarray() / self.weight
            S -= np.outer(mean, mean)
            return S if self._centre is None else S + np.outer(mean - centre, mean - centre)
        Z = (rows.toarray() if sp.issparse(rows) else rows) - self._offset
        if self._mixing_square is not None:
            return self._in_type(Z).T @ self._in_type(self._mixing_square(Z))
        A = self._in_type(self._mix(Z))
        return A.T @ A

    def _in_type(self, matrix: Any) -> Any:
        """Return a matrix in the precision of the covariance."""
        return matrix if self._covariance_type is None else matrix.astype(self._covariance_type)

    @cached_property
    def compared(self) -> Self:
        """The same moments whose covariance, if it is formed, is in single precision, where that pays."""
        if sp.issparse(self._all_rows) or not self.suits_single_precision:
            return self
        same = copy(self)
        same._covariance_type, same._kept_covariance = np.float32, None
        return same

    @property
    def has_products(self) -> bool:
        """Whether the inner products of few rows are computed already."""
        return self._products is not None

    @property
    def has_few_rows(self) -> bool:
        """Whether the Gram matrix of the rows is small enough to find the leading eigenvectors of S by."""
        return has_few_rows(self._all_rows)

    def gram(self, factors: Any = None) -> tuple[Array, Array]:
        """Return eigenvalues (decreasing) and eigenvectors of the inner products A @ A.T, on the host.

        With factors, of the rows whose columns are multiplied by them.
        """
        rows, _ = self._used
        centre = self._offset
        if factors is not None:
            rows = rows.multiply(factors).tocsr() if sp.issparse(rows) else rows * factors
            centre = centre * factors
        if factors is not None or self._products is None:
            products = inner_products(rows)
        else:
            used = self._positions if isinstance(self._positions, slice) else to_host(self._positions)
            products = self._products[used][:, used]
        cross = to_host(rows @ centre)
        products = products - cross[:, None] - cross + float(centre @ centre)
        if self._make_mixing is not None:
            mixing = to_host(self._mixing)
            return _decreasing(mixing @ products @ mixing.T)
        counted = np.flatnonzero(self._counted)  # a row without weight only makes the matrix larger
        roots = to_host(self._roots)[counted]
        values, some = _decreasing(products[np.ix_(counted, counted)] * roots * roots.T)
        vectors = np.zeros((len(products), len(counted)))
        vectors[counted] = some
        return values, vectors

    def combined(self, vectors: Array) -> Any:
        """Return combinations of the centred weighted rows, as columns."""
        return self.lift(asarray_like(self._origin, vectors))

    @property
    def squared_norm(self) -> float:
        """Sum of the squared entries of S, by columns of S or by inner products of rows: the fewer."""
        if self._make_mixing is not None:
            return float(np.sum(self.gram()[0] ** 2))
        rows, weights = self._used
        n, p = rows.shape
        total = 0.0
        if p <= n:
            for block in row_blocks(p, n):
                columns = np.zeros((p, block.stop - block.start))
                columns[np.arange(block.start, block.stop), np.arange(columns.shape[1])] = 1.0
                total += float(np.sum(self.apply(columns) ** 2))
            return total
        for block in row_blocks(n, p):
            some = rows[block].toarray() if sp.issparse(rows) else rows[block]
            images = self.image((some - self._offset).T)
            total += float(np.sum(images**2 @ weights[block]))
        return total / self.weight


def _decreasing(products: Array) -> tuple[Array, Array]:
    """Return eigenvalues, decreasing, and eigenvectors."""
    values, vectors = np.linalg.eigh(products)
    return values[::-1], vectors[:, ::-1]


def _taken(rows: Any, positions: NDArray[np.intp]) -> Any:
    if sp.issparse(rows):
        return rows[positions]
    return array_namespace(rows).take(rows, asarray_like(rows, positions), axis=0)


def _squares(rows: Any) -> Array:
    """Return the squared lengths of rows, on the host."""
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.asarray(np.sum(rows**2, axis=1))


def has_few_rows(rows: Any) -> bool:
    """Whether the inner products of the rows are fewer than their entries, or cost little anyhow."""
    n, p = rows.shape
    return n <= min(p // 4, _GRAM_LIMIT) or n <= min(p, _SMALL_GRAM)


def inner_products(rows: Any) -> Array:
    """Return the Gram matrix of rows, on the host."""
    products = rows @ rows.T
    return products.toarray() if sp.issparse(products) else to_host(products)
