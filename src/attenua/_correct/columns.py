r"""What users say about the columns: which form groups, and which are neighbours.

Neighbours are smoothed over by a heat kernel. With their graph Laplacian L, it is
:math:`K_h = \exp(-\tfrac{h^2}{2} L)`: symmetric, with entries that are not negative and rows that sum to one,
at the ends of a line too. Far from the ends of a line, or along an axis of a grid, its rows have the standard
deviation h, counted in columns.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.fft import dctn, idctn
from scipy.special import ive

from attenua._correct.dense_kernel import heat_kernel
from attenua._data.checks import encode_labels, real_numbers
from attenua._data.namespace import spans

Array = NDArray[np.float64]

# Columns are smoothed in blocks that stay in cache, with their transforms; a few at least.
_BLOCK_BYTES, _LEAST_COLUMNS = 2**20, 8
# More smoothing than this leaves nothing but means, and its square may overflow.
_STRONGEST = 1e150
# Terms of the expansion of a kernel that are left out.
_NEGLIGIBLE = 1e-16
# So many products with a Laplacian are too many for a large graph. The kernel of a small graph is formed if
# it takes more than a few of them; its time is at most this, since squaring takes a step for each bit of it.
_MOST_PRODUCTS, _FEW_PRODUCTS = 5_000, 300
_FEW_NODES, _LONGEST = 512, 1e30
# Weights of an adjacency matrix may differ by this part of the largest from those of its transpose.
_ASYMMETRY = 1e-10
_LARGEST_WEIGHT = 1e300
_EXPECTED = (
    "neighbours must be None, 'line', the shape of a grid such as (28, 28), or an adjacency matrix of the "
    "columns"
)


class Smoother(ABC):
    """Multiplies by the kernel of some neighbours; no p-by-p matrix is formed."""

    def smooth(self, V: Any, strength: float) -> Any:
        """Return :math:`K_h V` for vectors as columns."""
        if strength == 0:
            return V
        columns = V.reshape(len(V), -1)
        smoothed = np.empty_like(columns, dtype=np.float64)
        time = min(strength, _STRONGEST) ** 2 / 2
        for block in spans(columns.shape[1], max(_BLOCK_BYTES // (8 * len(V)), _LEAST_COLUMNS)):
            smoothed[:, block] = self._smoothed(columns[:, block], time)
        return smoothed.reshape(V.shape)

    @abstractmethod
    def _smoothed(self, V: Array, time: float) -> Array:
        r"""Return :math:`\exp(-t L) V`."""


class GridSmoother(Smoother):
    r"""Smooths over a line, or a grid of any number of axes, with the columns in C order.

    The cosine transform (type 2) of an axis of length m diagonalises the Laplacian of its line, with the
    eigenvalues :math:`4 \sin^2(\pi j / 2m)`; those of several axes add up.
    """

    def __init__(self, shape: tuple[int, ...]):
        self._shape = shape
        self._axes = tuple(range(len(shape)))
        of_axes = [4 * np.sin(np.pi * np.arange(m) / (2 * m)) ** 2 for m in shape]
        self._eigenvalues = sum(np.ix_(*of_axes))

    def _smoothed(self, V: Array, time: float) -> Array:
        waves = dctn(V.reshape(*self._shape, -1), axes=self._axes, norm="ortho")
        waves *= np.exp(-time * self._eigenvalues)[..., None]
        return idctn(waves, axes=self._axes, norm="ortho", overwrite_x=True).reshape(V.shape)


class GraphSmoother(Smoother):
    r"""Smooths over the graph of a checked adjacency matrix, by Chebyshev polynomials of its Laplacian.

    With :math:`\rho` a bound of the eigenvalues of L, :math:`z = t \rho / 2` and modified Bessel functions,

    .. math::

        e^{-t L} = e^{-z} \Bigl\{ I_0(z) + 2 \sum_{k \ge 1} I_k(z) T_k(I - 2 L / \rho) \Bigr\}.

    All coefficients are positive and sum to one, so nothing cancels. About :math:`4 h \rho^{1/2}`
    products with L are needed. Where those are many, the kernel of a small graph is formed as a matrix, and
    one of a large graph is refused. Weights may be negative: degrees are sums of their sizes, so that L has
    no negative eigenvalues, and the two ends of such an edge are smoothed towards opposite numbers.
    """

    def __init__(self, adjacency: Any):
        ends, p = adjacency.tocoo(), adjacency.shape[0]
        degrees: Array = np.bincount(ends.row, np.abs(ends.data), minlength=p).astype(float)
        # Anderson and Morley (1985): no eigenvalue is above the largest sum of the degrees of two neighbours,
        # whatever the signs of the weights.
        self._bound = float(np.max(degrees[ends.row] + degrees[ends.col], initial=0.0))
        self._ends, self._degrees = ends, degrees
        self._kernels: dict[float, Array] = {}
        if self._bound:
            every = np.arange(p)
            weights = np.concatenate([4 * (ends.data / self._bound), 2 - 4 * (degrees / self._bound)])
            places = np.concatenate([ends.row, every]), np.concatenate([ends.col, every])
            self._twice = sp.csr_array((weights, places), shape=(p, p))  # 2 (I - 2 L / rho)

    def _smoothed(self, V: Array, time: float) -> Array:
        if not self._bound:
            return V
        z, is_small = time * self._bound / 2, len(self._degrees) <= _FEW_NODES
        if is_small and _most_products(z) > _FEW_PRODUCTS:
            return self._kernel(time) @ V
        if _most_products(z) > _MOST_PRODUCTS:
            raise self._too_strong(time, ((_MOST_PRODUCTS - 40) / 9) ** 2)
        first, *others = _coefficients(z)
        total = first * V
        before, last = V, self._twice @ V / 2
        for coefficient in others:
            total += coefficient * last
            following = self._twice @ last
            following -= before
            before, last = last, following
        return total

    def _kernel(self, time: float) -> Array:
        """Return the kernel as a matrix, made once."""
        if time * self._bound > _LONGEST:
            raise self._too_strong(time, _LONGEST / 2)
        if time not in self._kernels:
            self._kernels[time] = heat_kernel(self._ends, self._degrees, self._bound, time)
        return self._kernels[time]

    def _too_strong(self, time: float, most: float) -> ValueError:
        """Return the error for a time that makes z larger than it may be."""
        # A quarter, since a kernel may be applied twice at once, and the numbers are rounded.
        part = most / (time / 2) / self._bound / 4
        largest = float(np.abs(self._ends.data).max())
        return ValueError(
            f"neighbours has weights up to {largest:.3g}, which take too long to smooth over "
            f"{len(self._degrees):,} columns at this strength. Use weights up to {part * largest:.1g}, or a "
            f"strength up to {np.sqrt(2 * part * time):.1g}."
        )


def _most_products(z: float) -> float:
    """Return a bound of the number of coefficients that count."""
    return 40 + 9 * np.sqrt(z)


def _coefficients(z: float) -> Array:
    """Return the coefficients of the Chebyshev polynomials, up to the last that counts."""
    coefficients = ive(np.arange(int(_most_products(z))), z)
    coefficients[1:] *= 2
    return coefficients[: np.flatnonzero(coefficients > _NEGLIGIBLE)[-1] + 1]


def column_smoother(neighbours: Any, n_features: int) -> Smoother | None:
    """Return what smooths over the neighbours that a user names, or None for None.

    "line" makes each column a neighbour of the next. A shape such as (28, 28) makes the columns the pixels of
    a grid, in C order. A symmetric matrix, sparse or dense, holds the weights of the edges; its diagonal is
    ignored.
    """
    if neighbours is None:
        return None
    if isinstance(neighbours, str):
        if neighbours != "line":
            raise ValueError(f"{_EXPECTED}; got {neighbours!r}.")
        return GridSmoother((n_features,))
    if isinstance(neighbours, (tuple, list)) and all(_is_integer(m) for m in neighbours):
        return GridSmoother(_checked_shape(tuple(neighbours), n_features))
    return GraphSmoother(_checked_adjacency(neighbours, n_features))


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _checked_shape(shape: tuple[Any, ...], n_features: int) -> tuple[int, ...]:
    shape = tuple(int(m) for m in shape)
    if not shape or min(shape) < 1:
        raise ValueError(f"neighbours must be a shape of positive lengths; got {shape}.")
    if prod(shape) != n_features:
        raise ValueError(
            f"neighbours={shape} is a grid of {prod(shape)} columns, but the data have {n_features}."
        )
    return shape


def _checked_adjacency(neighbours: Any, n_features: int) -> Any:
    given = neighbours if sp.issparse(neighbours) else real_numbers(neighbours, _EXPECTED, booleans=True)
    if given.ndim != 2:
        raise ValueError(f"{_EXPECTED}; got an array of {given.ndim} dimensions.")
    weights = sp.csr_array(given, copy=True)
    weights.data = real_numbers(weights.data, _EXPECTED, booleans=True)  # sparse ones may hold objects
    if weights.shape != (n_features, n_features):
        raise ValueError(
            f"neighbours must be an adjacency matrix of the {n_features} columns, of shape "
            f"({n_features}, {n_features}); got shape {weights.shape}."
        )
    weights.sum_duplicates()
    if not np.isfinite(weights.data).all():
        raise ValueError("neighbours must be an adjacency matrix of finite weights; got NaN or infinity.")
    if weights.nnz and weights.data.min() < 0:
        raise ValueError(
            f"neighbours must be an adjacency matrix without negative weights; got {weights.data.min():g}."
        )
    if weights.nnz and weights.data.max() > _LARGEST_WEIGHT:
        raise ValueError(
            f"neighbours has weights up to {weights.data.max():.3g}, whose sums may overflow. "
            f"Use weights up to {_LARGEST_WEIGHT:g}."
        )
    differences = abs(weights - weights.T).tocoo()
    if differences.nnz and differences.data.max() > _ASYMMETRY * weights.data.max():
        worst = int(differences.data.argmax())
        i, j = int(differences.row[worst]), int(differences.col[worst])
        raise ValueError(
            f"neighbours must be a symmetric adjacency matrix; columns {i} and {j} have the weights "
            f"{weights[i, j]:g} and {weights[j, i]:g}."
        )
    weights = (weights + weights.T) / 2
    weights.setdiag(0)
    weights.eliminate_zeros()
    return weights


def column_labels(feature_groups: Any, n_features: int) -> NDArray[np.intp] | None:
    """Return a label 0, 1, ... for every column, or None where every column is its own group.

    Users give one label per column (numbers or strings), or the groups themselves, each a collection of
    column indices; together they must contain every column once.
    """
    if feature_groups is None:
        return None
    if isinstance(feature_groups, str) or not hasattr(feature_groups, "__len__"):
        raise ValueError(
            "feature_groups must be None, one label per column, or a list of lists of column indices; "
            f"got {feature_groups!r}."
        )
    if len(feature_groups) == 0:
        raise ValueError("feature_groups is empty; give None to treat every column alone.")
    if all(_is_collection(group) for group in feature_groups):
        return _labels_from_index_lists(list(feature_groups), n_features)
    labels = np.asarray(feature_groups)
    if labels.ndim != 1 or len(labels) != n_features:
        raise ValueError(
            f"feature_groups must hold one label for each of the {n_features} columns; "
            f"got shape {labels.shape}."
        )
    return encode_labels(labels, "feature_groups")


def _is_collection(group: Any) -> bool:
    return (isinstance(group, (Sequence, range)) and not isinstance(group, str)) or np.ndim(group) == 1


def _labels_from_index_lists(groups: list[Any], n_features: int) -> NDArray[np.intp]:
    labels = np.full(n_features, -1, dtype=np.intp)
    for number, group in enumerate(groups):
        columns = np.asarray(group)
        if columns.size == 0:
            raise ValueError(f"feature_groups[{number}] is empty.")
        if columns.dtype.kind not in "iu":
            raise ValueError(f"feature_groups[{number}] must hold column indices (integers).")
        outside = columns[(columns < 0) | (columns >= n_features)]
        if outside.size:
            raise ValueError(
                f"feature_groups[{number}] names column {outside[0]}, but the data have columns "
                f"0 to {n_features - 1}."
            )
        repeated = labels[columns] >= 0
        if repeated.any() or len(np.unique(columns)) < len(columns):
            where = columns[repeated][0] if repeated.any() else columns[0]
            raise ValueError(f"feature_groups[{number}] names a column twice (column {where}).")
        labels[columns] = number
    missing = np.flatnonzero(labels < 0)
    if missing.size:
        raise ValueError(
            f"feature_groups must cover every column; {missing.size} of {n_features} are in no group, "
            f"the first is column {missing[0]}."
        )
    return encode_labels(labels, "feature_groups")
