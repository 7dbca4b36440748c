"""What may be asked of the moments of any rows, however they are held; and moments of scaled columns."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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

    @property
    def start(self) -> Callable[[int], Array] | None:
        """A function that returns a few columns near the leading eigenvectors of S, where they come cheap."""
        return None

    def scaled(self, factors: Array) -> "ScaledMoments":
        """Return the moments of the columns, each multiplied by a factor. The rows are not copied."""
        return ScaledMoments(self, factors)

    def reconstruction_error(self, U: Array, centre: Array) -> float:
        r"""Return the mean over the rows of :math:`\|(I - UU^\top)(x - c)\|^2`."""
        offset = self.mean - centre
        captured = np.trace(self.compress(U)) + np.sum((U.T @ offset) ** 2)
        # The two sums agree to rounding when the subspace holds everything; an error is never negative.
        return max(self.total_variance + float(offset @ offset - captured), 0.0)


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
    def start(self) -> Callable[[int], Array] | None:
        """The leading eigenvectors of S, scaled: near those of the scaled covariance."""
        start = self._base.start
        return None if start is None else lambda count: self._column * start(count)
