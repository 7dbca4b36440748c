"""Moments of rows, the only form in which the later rooms see data; and two classes that hold them as sums.

:class:`Moments` is the interface: weight, mean and covariance of some rows.
:class:`ScatterMoments` holds the p-by-p scatter matrix; :class:`~attenua._data.row_moments.RowMoments` keeps
the rows and multiplies by the covariance through them. Arrays are of numpy, or of the library and on the
device that the rows came from.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from attenua._data.namespace import array_namespace, asarray_like, clipped, to_host
from attenua._data.sums import row_blocks

Array = NDArray[np.float64]

# Sums of squares below this may have lost digits, or everything, to underflow.
UNDERFLOW = 1e-290
# Single precision pays for matrices of more columns than this, and serves variances in this range.
_SINGLE_COLUMNS, _SINGLE_RANGE = 700, 1e-20
# A column does not vary if its sum of squares about the mean is below this part of that about the origin.
CONSTANT = 1e-12


class Moments(ABC):
    """Weight, mean and covariance :math:`S` (divided by the weight) of some rows.

    Attributes
    ----------
    weight : float
        Number of rows, or the sum of their weights.
    unit : float
        A value in these moments times `unit` is a value in the data's own units.
    scale : array of shape (n_features,) or None
        What the columns were divided by, in the data's own units, if they were; `unit` is 1 then.
    mean, variances : array of shape (n_features,)
        Mean and diagonal of the covariance.
    forms_covariance : bool
        Whether S is held as a p-by-p matrix; if not, it is only multiplied by.
    has_few_rows : bool
        Whether the rows are few enough to find the eigenvectors of S by their inner products: then
        ``row_space`` and ``spectrum`` work.
    has_products : bool
        Whether these inner products are computed already.
    """

    weight: float
    unit: float
    scale: Any = None
    forms_covariance: bool

    @property
    def divisor(self) -> Any:
        """What values in the data's own units are divided by here: a number, or one for each column."""
        return self.unit if self.scale is None else self.scale

    @property
    def deviations(self) -> Any:
        """Standard deviations in the data's own units; 1 for a column that does not vary."""
        xp = self.xp
        return xp.where(self.varies, xp.sqrt(self.variances) * self.unit, xp.ones_like(self.variances))

    @property
    def log_divisor(self) -> float:
        """Sum of the logarithms of what the columns are divided by."""
        return float(np.sum(np.log(np.broadcast_to(to_host(self.divisor), self.n_features))))

    def divided(self, scale: Any) -> Self:
        """Return the moments of the columns divided by a scale, in the data's own units."""
        raise NotImplementedError

    def in_unit(self, unit: float) -> Self:
        """Return the same moments in another unit, which is a power of two."""
        raise NotImplementedError

    def as_in(self, other: "Moments") -> Self:
        """Return the same moments in the unit of others, and divided by the same scale."""
        return self.in_unit(other.unit) if other.scale is None else self.divided(other.scale)

    @property
    def has_few_rows(self) -> bool:
        """Whether the rows are few enough to find the eigenvectors of S by their inner products."""
        return False

    @property
    def has_products(self) -> bool:
        """Whether these inner products are computed already."""
        return False

    @property
    def compared(self) -> "Moments":
        """The same moments to compare candidates by, where a large matrix may be in single precision."""
        return self

    @property
    def suits_single_precision(self) -> bool:
        """Whether products in single precision cost less, and lose no column to underflow."""
        if self.xp is not np or self.n_features <= _SINGLE_COLUMNS:
            return False
        variances = self.variances
        return bool(variances.min(where=variances > 0, initial=np.inf) > _SINGLE_RANGE * variances.max())

    @property
    def floor(self) -> float:
        """A lower bound of the eigenvalues of S: below 0 if a correction made S no covariance any more."""
        return 0.0

    @property
    def vanishing(self) -> NDArray[np.intp]:
        """Columns that vary, but by so little that their variances are lost to underflow."""
        raise NotImplementedError

    def about(self, centre: Any, unit: float) -> "Moments":
        """Return the second moments about a centre in a unit."""
        raise NotImplementedError

    def gram(self, factors: Any = None) -> tuple[Array, Array]:
        """Return eigenvalues (decreasing) and eigenvectors of the inner products of few rows, on the host.

        With factors, of the rows whose columns are multiplied by them.
        """
        raise NotImplementedError

    def combined(self, vectors: Array) -> Any:
        """Return combinations of the few rows, as columns."""
        raise NotImplementedError

    @cached_property
    def _gram(self) -> tuple[Array, Array]:
        return self.gram()

    @property
    @abstractmethod
    def mean(self) -> Any:
        """Mean of the rows."""

    @property
    @abstractmethod
    def variances(self) -> Any:
        """Diagonal of S."""

    @property
    def rough_variances(self) -> Any:
        """Numbers of the size of the variances, which tolerances are relative to."""
        return self.variances

    @property
    @abstractmethod
    def varies(self) -> Any:
        """Whether each column varies by more than rounding."""

    @property
    @abstractmethod
    def covariance(self) -> Any:
        """S as a p-by-p matrix."""

    @property
    def xp(self) -> Any:
        """Namespace of the arrays."""
        return array_namespace(self.mean)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.mean.shape[0]

    @property
    def product_work(self) -> int:
        """Number of multiplications of a product of S and a vector."""
        return self.n_features**2

    @property
    def total_variance(self) -> float:
        """Trace of the covariance."""
        return float(self.xp.sum(self.variances))

    def image(self, V: Any) -> Any:
        """Return the image of V, from which ``lift`` and ``inner`` compute: by default ``S @ V`` itself."""
        return product(self.covariance, V)

    def lift(self, image: Any) -> Any:
        """Return ``S @ V`` from the image of V."""
        return image

    def inner(self, V: Any, V_image: Any, W_image: Any) -> Any:
        """Return ``V.T @ S @ W`` from V and the images of V and W."""
        return V.T @ W_image

    def apply(self, V: Any) -> Any:
        """Return ``S @ V``."""
        return self.lift(self.image(V))

    def within(self, labels: NDArray[np.intp]) -> Callable[[Any], Any]:
        """Return a function that multiplies by D, which keeps the blocks of S within groups of columns."""
        blocks = within_groups(self.covariance, labels)
        return lambda V: blocks @ V

    def part(self, labels: NDArray[np.intp] | None) -> Callable[[Any], Any]:
        """Return a function that multiplies by D: the diagonal of S (no labels), or its blocks in groups."""
        if labels is not None:
            return self.within(labels)
        column = self.variances[:, None]
        return lambda V: column * V

    def part_matrix(self, labels: NDArray[np.intp] | None) -> Any:
        """Return D as a p-by-p matrix."""
        return within_groups(self.covariance, labels)

    def part_bound(self, labels: NDArray[np.intp] | None) -> float:
        """Return a bound of the eigenvalues of D: of a block, its trace, or its row sums if they are less."""
        variances = to_host(self.variances)
        if labels is None:
            return float(variances.max())
        bound = float(np.bincount(labels, variances).max())
        if not self.forms_covariance:
            return bound
        return min(bound, float(self.xp.max(self.xp.sum(self.xp.abs(self.part_matrix(labels)), axis=1))))

    def part_is_constant(self, labels: NDArray[np.intp] | None, tolerance: float) -> bool:
        """Whether D is a multiple of the identity, to a tolerance."""
        return labels is None and bool(np.ptp(to_host(self.variances)) <= tolerance)

    def spectrum(self) -> NDArray[np.float64]:
        """Return all eigenvalues of S that can differ from zero, decreasing; where rows are few."""
        return np.maximum(self._gram[0], 0.0)

    def row_space(self, start: int, stop: int) -> Any:
        """Return leading eigenvectors of S, not normalised, as columns; there is at most one for each row."""
        return self.combined(self._gram[1][:, start:stop])

    def compress(self, U: Any) -> Any:
        """Return ``U.T @ S @ U``."""
        image = self.image(U)
        return self.inner(U, image, image)

    def compress_about(self, U: Any, centre: Any) -> Any:
        """Return ``U.T @ M @ U`` with the second moment M of the rows about a centre."""
        along = (self.mean - centre) @ U
        return self.compress(U) + along[:, None] * along[None, :]

    def total_about(self, centre: Any) -> float:
        """Return the trace of the second moment about a centre."""
        offset = self.mean - centre
        return self.total_variance + float(offset @ offset)

    @property
    def squared_norm(self) -> float:
        """Sum of the squared entries of S."""
        return float(self.xp.sum(self.covariance**2))

    def scaled(self, factors: Any) -> "ScaledMoments":
        """Return the moments of the columns, each multiplied by a factor. The rows are not copied."""
        return ScaledMoments(self, factors)


class ScatterMoments(Moments):
    """Moments that hold sums about a fixed origin, so that those of disjoint subsets add up.

    Parameters
    ----------
    weight : float
        Sum of the weights.
    total : array of shape (n_features,)
        Weighted sum of ``x - origin``.
    scatter : array of shape (n_features, n_features)
        Weighted sum of ``(x - origin)(x - origin).T``.
    origin : array of shape (n_features,)
        Common to all moments that are added.
    unit : float
        Size of one unit in the data's own units.
    owned : bool
        Whether nothing else uses the scatter, so that the covariance may take its memory.
    varies : array of bool of shape (n_features,), optional
        Which columns vary, if the sums of squares do not show it any more.
    scale : array of shape (n_features,), optional
        What the columns were divided by.
    """

    forms_covariance = True

    def __init__(
        self,
        weight: float,
        total: Any,
        scatter: Any,
        origin: Any,
        unit: float = 1.0,
        *,
        owned: bool = False,
        varies: Any = None,
        scale: Any = None,
    ):
        self.weight = weight
        self.unit = unit
        self.scale = scale
        self._total = total
        self._scatter = scatter
        self._origin = origin
        self._owned = owned
        self._varies = varies
        self._squares = array_namespace(scatter).linalg.diagonal(scatter)
        if owned:
            self._squares = self._squares + 0.0  # a copy: the scatter will be overwritten

    def shared(self) -> "ScatterMoments":
        """Return the same moments, whose scatter others may read too."""
        return ScatterMoments(self.weight, self._total, self._scatter, self._origin, self.unit)

    def in_unit(self, unit: float) -> "ScatterMoments":
        """Return the same moments in another unit; exact, since units are powers of two."""
        ratio = self.unit / unit
        if ratio == 1.0:
            return self
        total, scatter, origin = self._total * ratio, self._scatter * ratio * ratio, self._origin * ratio
        return ScatterMoments(self.weight, total, scatter, origin, unit, owned=True)

    def divided(self, scale: Any) -> "ScatterMoments":
        """Return the moments of the columns divided by a scale, in the data's own units."""
        factors = self.unit / scale
        return ScatterMoments(
            self.weight,
            self._total * factors,
            self._sums_of_products * factors[:, None] * factors[None, :],
            self._origin * factors,
            owned=True,
            varies=self._varies,
            scale=scale,
        )

    def about(self, centre: Any, unit: float) -> "ScatterMoments":
        """Return the second moments about a centre in a unit."""
        moved = self.in_unit(unit)
        step = centre - moved._origin
        half = moved._total - self.weight / 2 * step
        scatter = moved._sums_of_products + 0.0
        for rows in row_blocks(*scatter.shape):  # in its own memory: new memory costs more than the sums
            scatter[rows, :] -= half[rows, None] * step[None, :]
            scatter[rows, :] -= step[rows, None] * half[None, :]
        zeros = self.xp.zeros_like(step)
        return ScatterMoments(self.weight, zeros, scatter, centre, unit, owned=True, scale=self.scale)

    @staticmethod
    def sum(parts: "Sequence[ScatterMoments]") -> "ScatterMoments":
        """Add up the moments of disjoint subsets."""
        if len(parts) == 1:
            return parts[0]
        unit = common_unit(parts)
        first, *others = (part.in_unit(unit) for part in parts)
        scatter, total, weight = first._scatter + others[0]._scatter, first._total, first.weight
        for part in others:
            if part is not others[0]:
                scatter += part._scatter
            total, weight = total + part._total, weight + part.weight
        return ScatterMoments(weight, total, scatter, first._origin, first.unit, owned=True)

    @property
    def _sums_of_products(self) -> Any:
        """The scatter, or the same from the covariance that has taken its memory."""
        if self._scatter is not None:
            return self._scatter
        return self.weight * (self.covariance + self._offset[:, None] * self._offset[None, :])

    @property
    def is_zero(self) -> bool:
        """Whether all rows lie at the origin."""
        return not bool(self.xp.any(self._squares != 0))

    @cached_property
    def _offset(self) -> Any:
        return self._total / self.weight

    @cached_property
    def mean(self) -> Any:
        """Mean of the rows."""
        return self._origin + self._offset

    @cached_property
    def variances(self) -> Any:
        """Diagonal of S."""
        return clipped(self._squares / self.weight - self._offset**2)

    @property
    def varies(self) -> Any:
        """Whether each column varies by more than rounding."""
        if self._varies is not None:
            return self._varies
        # Sums about an origin lose digits to the distance of the mean from it.
        is_clear = self.weight * self.variances > CONSTANT * self._squares
        return is_clear & vary(self.variances, self.mean, self.weight)

    @property
    def vanishing(self) -> NDArray[np.intp]:
        """Columns that vary, but by so little that their variances are lost to underflow."""
        xp, small = self.xp, self._squares < UNDERFLOW
        if not bool(xp.any(small)):
            return np.empty(0, dtype=np.intp)
        # A constant column lies at the origin. Of one that does not, products with larger ones are left.
        is_left = (self._total != 0) | xp.any(self.covariance != 0, axis=1)
        return np.flatnonzero(to_host(small & is_left))

    @cached_property
    def covariance(self) -> Any:
        """S as a p-by-p matrix."""
        offset, variances = self._offset, self.variances
        S, self._scatter = self._scatter, self._scatter if not self._owned else None
        if self._owned:
            S /= self.weight
        else:
            S = S / self.weight
        for rows in row_blocks(*S.shape):  # so that the outer product is never held whole
            S[rows, :] -= offset[rows, None] * offset[None, :]
        return with_diagonal(S, variances)

    def image(self, V: Any) -> Any:
        """Return ``S @ V``, by the scatter if the covariance is not formed."""
        if self._scatter is None or "covariance" in vars(self):
            return product(self.covariance, V)
        image = self._scatter @ V
        image /= self.weight
        image -= self._offset[:, None] * (self._offset @ V)[None, :]
        return image

    @cached_property
    def compared(self) -> Self:
        """The same moments with the covariance in single precision, where that pays."""
        if not self.suits_single_precision:
            return self
        same = copy(self)
        vars(same)["covariance"] = self.covariance.astype(np.float32)
        return same


class ScaledMoments(Moments):
    r"""Moments of columns that are each multiplied by a factor: the covariance is :math:`G S G`."""

    def __init__(self, base: Moments, factors: Any):
        self.weight = base.weight
        self.unit = base.unit
        self.forms_covariance = base.forms_covariance
        self._base = base
        self._factors = factors
        self._column = factors[:, None]

    def scaled(self, factors: Any) -> "ScaledMoments":
        """Return the moments of the columns, each multiplied by another factor as well."""
        return self._base.scaled(self._factors * factors)

    @cached_property
    def mean(self) -> Any:
        """Mean of the rows."""
        return self._factors * self._base.mean

    @cached_property
    def variances(self) -> Any:
        """Diagonal of the covariance."""
        return self._factors * self._base.variances * self._factors

    @property
    def varies(self) -> Any:
        """Whether each column varies by more than rounding."""
        return self._base.varies & (self._factors != 0)

    @property
    def product_work(self) -> int:
        """Number of multiplications of a product of the covariance and a vector."""
        return self._base.product_work

    @cached_property
    def covariance(self) -> Any:
        """The covariance as a p-by-p matrix."""
        S = self._base.covariance
        factors = self.xp.astype(self._factors, S.dtype, copy=False)
        scaled = factors[:, None] * S
        scaled *= factors[None, :]
        return scaled

    def image(self, V: Any) -> Any:
        """Return the image of ``G @ V`` under the covariance of the columns as they are."""
        return self._base.image(self._column * V)

    def lift(self, image: Any) -> Any:
        """Return ``G @ S @ G @ V`` from the image of V."""
        return self._column * self._base.lift(image)

    def apply(self, V: Any) -> Any:
        """Return ``G @ S @ G @ V``."""
        return self._column * self._base.apply(self._column * V)

    def inner(self, V: Any, V_image: Any, W_image: Any) -> Any:
        """Return ``V.T @ G @ S @ G @ W`` from V and the images of V and W."""
        return self._base.inner(self._column * V, V_image, W_image)

    @property
    def has_few_rows(self) -> bool:
        """Whether the rows are few enough to find the eigenvectors of S by their inner products."""
        return self._base.has_few_rows

    def gram(self, factors: Any = None) -> tuple[Array, Array]:
        """Return eigenvalues and eigenvectors of the inner products of the rows with scaled columns."""
        return self._base.gram(self._factors if factors is None else self._factors * factors)

    def combined(self, vectors: Array) -> Any:
        """Return combinations of the centred weighted rows, as columns."""
        return self._column * self._base.combined(vectors)


def vary(variances: Any, mean: Any, weight: float) -> Any:
    r"""Return whether columns vary by more than rounding, as ``StandardScaler`` decides it.

    With n rows and the machine's precision :math:`\epsilon`, they do if

    .. math::

        s^2 > n \epsilon s^2 + (n \epsilon \bar x)^2

    (Chan, Golub and LeVeque, 1983).
    """
    rounding = float(weight * np.finfo(float).eps)
    return (1 - rounding) * variances > (rounding * mean) ** 2


def product(S: Any, V: Any) -> Any:
    """Return ``S @ V`` in the precision of V, multiplied in that of S."""
    if S.dtype == V.dtype:
        return S @ V
    return (S @ V.astype(S.dtype)).astype(V.dtype)


def common_unit(parts: "Sequence[ScatterMoments]") -> float:
    """Return the largest unit; sums that are all zero have none of their own."""
    units = {part.unit for part in parts}
    if len(units) > 1:
        units = {part.unit for part in parts if not part.is_zero} or units
    return max(units)


def with_diagonal(matrix: Any, diagonal: Any) -> Any:
    """Write a diagonal into a square matrix, and return it."""
    if array_namespace(matrix) is np:
        np.fill_diagonal(matrix, diagonal)
        return matrix
    xp = array_namespace(matrix)
    numbers = xp.arange(matrix.shape[0], device=matrix.device)
    for rows in row_blocks(*matrix.shape):
        is_diagonal = numbers[rows, None] == numbers[None, :]
        matrix[rows, :] = xp.where(is_diagonal, diagonal[None, :], matrix[rows, :])
    return matrix


def within_groups(matrix: Any, labels: NDArray[np.intp] | None) -> Any:
    """Keep the diagonal of a matrix (labels None), or its within-group blocks; zero elsewhere."""
    labels = np.arange(matrix.shape[0]) if labels is None else labels
    xp, labels = array_namespace(matrix), asarray_like(matrix, labels)
    return xp.where(labels[:, None] == labels[None, :], matrix, xp.zeros_like(matrix))


def in_data_units(squares: Any, unit: float, power: float = 1.0) -> Any:
    """Return variances or risks, or a power of them, in the data's own units; beyond 1e308, infinity."""
    factor = np.float64(unit) ** power
    with np.errstate(over="ignore", under="ignore"):
        return squares * factor * factor
