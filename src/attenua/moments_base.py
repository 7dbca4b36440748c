"""What may be asked of the moments of any rows, however they are held; and moments of scaled columns."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A column whose squares are all but this part of what they were added up or subtracted from does not vary.
CONSTANT = 1e-12


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
    has_few_rows : bool
        Whether the inner products of the rows are few enough to find eigenvectors of S by: then there are
        ``leading``, ``spectrum`` and ``count_above``.
    """

    weight: float
    unit: float
    forms_covariance: bool
    has_few_rows = False

    @property
    @abstractmethod
    def mean(self) -> Array:
        """Mean of the rows."""

    @property
    @abstractmethod
    def variances(self) -> Array:
        """Diagonal of S."""

    @property
    @abstractmethod
    def varies(self) -> NDArray[np.bool_]:
        """Whether each column varies by more than rounding."""

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
    def within(self, labels: NDArray[np.intp]) -> Callable[[Array], Array]:
        """Return a function that multiplies by D, which keeps the blocks of S within groups of columns."""

    @property
    @abstractmethod
    def covariance(self) -> Array:
        """S as a p-by-p matrix."""

    @property
    @abstractmethod
    def squared_norm(self) -> float:
        """Sum of the squared entries of S."""

    @abstractmethod
    def compress(self, U: Array) -> Array:
        """Return ``U.T @ S @ U``."""

    def scaled(self, factors: Array) -> "ScaledMoments":
        """Return the moments of the columns, each multiplied by a factor. The rows are not copied."""
        return ScaledMoments(self, factors)

    def reconstruction_errors(self, bases: Sequence[Array], centre: Array) -> tuple[Array, Array]:
        r"""Return how well subspaces reconstruct the rows, and how fast that changes as they turn.

        Parameters
        ----------
        bases : sequence of ndarray of shape (n_features, rank)
            Orthonormal bases U.
        centre : ndarray of shape (n_features,)
            Centre c of the reconstruction.

        Returns
        -------
        errors : ndarray
            Mean over the rows of :math:`\|(I - UU^\top)(x - c)\|^2`, for every basis.
        couplings : ndarray
            :math:`\|(I - UU^\top) M U\|_F` with the second moment M of the rows about c.
        """
        offset = self.mean - centre
        total = self.total_variance + float(offset @ offset)
        ends = np.cumsum([U.shape[1] for U in bases])[:-1]
        U = np.hstack(bases)
        errors, couplings = np.empty(len(bases)), np.empty(len(bases))
        for i, (inside, squares) in enumerate(self._second_moments(U, ends, offset)):
            # The sums agree to rounding when the subspace holds everything; an error is never negative.
            errors[i] = max(total - np.trace(inside), 0.0)
            couplings[i] = np.sqrt(max(squares - np.sum(inside**2), 0.0))
        return errors, couplings

    def _second_moments(
        self, U: Array, ends: NDArray[np.intp], offset: Array
    ) -> Iterator[tuple[Array, float]]:
        """Yield ``U.T @ M @ U`` and the sum of the squares of ``M @ U`` for blocks of columns of U."""
        MU = self._product(U)
        MU += np.outer(offset, offset @ U)
        for V, MV in zip(np.split(U, ends, axis=1), np.split(MU, ends, axis=1), strict=True):
            yield V.T @ MV, float(np.sum(MV**2))

    def _product(self, V: Array) -> Array:
        """Return ``S @ V`` without forming S for it."""
        return self.apply(V)


class ScaledMoments(Moments):
    r"""Moments of columns that are each multiplied by a factor: the covariance is :math:`G S G`.

    Parameters
    ----------
    base : Moments
        Moments of the columns as they are.
    factors : ndarray of shape (n_features,)
        Diagonal of G.
    """

    def __init__(self, base: Moments, factors: Array):
        self.weight = base.weight
        self.unit = base.unit
        self.forms_covariance = base.forms_covariance
        self._base = base
        self._factors = factors
        self._column = factors[:, None]

    @property
    def mean(self) -> Array:
        """Mean of the rows."""
        return self._factors * self._base.mean

    @cached_property
    def variances(self) -> Array:
        """Diagonal of the covariance."""
        return self._factors * self._base.variances * self._factors

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether each column varies by more than rounding."""
        return self._base.varies & (self._factors != 0)

    def apply(self, V: Array) -> Array:
        """Return ``G @ S @ G @ V``."""
        return self._column * self._base.apply(self._column * V)

    def within(self, labels: NDArray[np.intp]) -> Callable[[Array], Array]:
        """Return a function that multiplies by the within-group blocks of the covariance."""
        multiply = self._base.within(labels)
        return lambda V: self._column * multiply(self._column * V)

    @cached_property
    def covariance(self) -> Array:
        """The covariance as a p-by-p matrix."""
        scaled = self._column * self._base.covariance
        scaled *= self._factors
        return scaled

    @property
    def squared_norm(self) -> float:
        """Sum of the squared entries of the covariance."""
        return float(np.sum(self.covariance**2))

    def compress(self, U: Array) -> Array:
        """Return ``U.T @ G @ S @ G @ U``."""
        return self._base.compress(self._column * U)

    @property
    def has_few_rows(self) -> bool:
        """Whether inner products of the rows are at hand."""
        return self._base.has_few_rows

    @cached_property
    def _gram(self) -> tuple[Array, Array]:
        return self._base.gram(self._factors)

    def spectrum(self) -> Array:
        """Return all eigenvalues that can differ from zero, decreasing."""
        return np.maximum(self._gram[0], 0.0)

    def leading(self, count: int) -> Array:
        """Return the leading eigenvectors, not normalised, as columns; at most one for each row."""
        return self._column * self._base.combined(self._gram[1][:, :count])

    def count_above(self, alpha: float, value: float) -> int:
        """Return how many eigenvalues of the attenuated matrix exceed a positive value."""
        return self._base.count_above(alpha, value, self._factors)
