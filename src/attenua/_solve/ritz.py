r"""How far Ritz vectors are from what is wanted.

A Ritz value :math:`\theta` is never above its eigenvalue, and below it by at most the norm :math:`r` of its
residual, or by :math:`r^2 / \delta` where the next eigenvalue is :math:`\delta` away. The sum of these is the
bound of what the subspace explains too little, provided that no leading direction was overlooked.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.family import MatrixFamily
from attenua._data.namespace import array_namespace, asarray_like, to_host
from attenua._solve.basis import Basis
from attenua._solve.subspace import rounding

Array = NDArray[np.float64]

# What the explained variance of a subspace may lack, as a part of the total variance.
SHORTFALL = 1e-8
# Largest residual relative to the distance from the mean of the unwanted eigenvalues. To compare candidates,
# this part of the distance by which they differ is enough; alone, angles are to be accurate too.
ROUGH = 1e-2
# The same where the other candidate is given: errors of several such comparisons add up.
_ROUGH_BESIDE = 2e-3
FINE = 1e-10
# The distance by which candidates differ counts at least and at most so much.
_DIFFERENCE = (1e-6, 1.0)
# One by itself will be compared with others, from which it differs at least by so much where that matters.
_DIFFERENCE_OF_ONE = (1e-4, 1e-3)
# Largest residual of a direction without variance, relative to the median variance, to compare candidates.
_EMPTY = 0.1
# The distance from the unwanted eigenvalues counts at least this part of the median variance.
_LEAST_DISTANCE = 1e-2


@dataclass(frozen=True)
class RitzState:
    """Ritz vectors of one member of a family, and what they lack.

    Attributes
    ----------
    member : int
        Its number.
    values : ndarray of shape (width,)
        All Ritz values, decreasing.
    coordinates : ndarray of shape (width, width)
        All Ritz vectors, within the basis.
    residuals : array of shape (size, rank)
        Those of the wanted vectors.
    excess : ndarray of shape (rank,)
        Their norms over what is allowed: enough where none is above 1.
    shortfall : float
        Bound of what the subspace explains too little, as a part of the total variance.
    shortfall_of_rest : float
        The same as a part of the variance that all but the last of the vectors leave: a few directions may
        hold nearly all variance, and the others are to be accurate too.
    sine : float
        Estimate of the sine of the angle to the exact subspace, directions without variance left out.
    """

    member: int
    values: Array
    coordinates: Array
    residuals: Any
    excess: Array
    shortfall: float
    shortfall_of_rest: float
    sine: float

    @property
    def worst(self) -> float:
        """The largest excess."""
        return float(self.excess.max())


class Observer:
    """Looks at Ritz vectors.

    Parameters
    ----------
    family : MatrixFamily
        The matrices.
    rank : int
        Number of wanted vectors.
    fine : float or None
        Largest residual relative to the distance from the unwanted eigenvalues; None to ask only for what a
        comparison of the members needs.
    near : array of shape (size, rank), optional
        Orthonormal columns of another candidate that this one is compared with.
    """

    def __init__(self, family: MatrixFamily, rank: int, fine: float | None, near: Any = None):
        self._family, self._rank, self._fine = family, rank, fine
        self._indistinct = rounding(family.size, family.scale)
        self._difference = _DIFFERENCE_OF_ONE[1] if near is None else _DIFFERENCE_OF_ONE[0]
        self._near = near

    def look(self, basis: Basis, member: int, values: Array, coordinates: Array) -> RitzState:
        """Return what the Ritz vectors of a member lack."""
        family, rank, xp = self._family, self._rank, array_namespace(basis.Q)
        strength, theta = float(family.strengths[member]), values[:rank]
        V = basis.vectors(coordinates[:, :rank])
        residuals = basis.times_S(coordinates[:, :rank])
        residuals -= V * asarray_like(V, theta)
        if strength:
            residuals -= strength * family.part(V)
        sizes = to_host(xp.linalg.vector_norm(residuals, axis=0))
        empty = theta <= self._indistinct
        gaps = theta - (values[rank] if len(values) > rank else -np.inf) - sizes.max()
        # The next eigenvalue is known only as well as its own Ritz value: a gap must stand out to count.
        by_gap = np.divide(sizes**2, gaps, out=sizes.copy(), where=gaps > 4 * sizes.max())
        lacking = float(np.minimum(sizes, by_gap).sum())
        rest = max(family.total - float(theta[:-1].sum()), self._indistinct)
        distance = self._distance(theta, strength)
        if self._near is not None:
            self._difference = max(self._difference, self._turn(V))
        sines = np.divide(sizes, gaps, out=np.ones_like(sizes), where=gaps > sizes)
        return RitzState(
            member,
            values,
            coordinates,
            residuals,
            sizes / self._allowed(theta, empty, distance),
            lacking / family.total,
            lacking / min(rest, family.total),
            float(np.where(empty, 0.0, sines).max()),
        )

    def _turn(self, V: Any) -> float:
        """Return how far vectors are turned from those of the other candidate."""
        sines = array_namespace(V).linalg.vector_norm(V - self._near @ (self._near.T @ V), axis=0)
        turn = float(np.sqrt(np.mean(to_host(sines) ** 2)))
        return min(turn, 1.0)

    def measure_difference(self, basis: Basis, member: int, values: Array, coordinates: Array) -> None:
        """Measure, to first order, how far the members of the family turn the Ritz vectors of one of them."""
        V = basis.vectors(coordinates[:, : self._rank])
        part = self._family.part(V)
        turning = array_namespace(V).linalg.vector_norm(part - V @ (V.T @ part), axis=0)
        distance = self._distance(values[: self._rank], float(self._family.strengths[member]))
        turns = float(np.ptp(self._family.strengths)) * to_host(turning) / distance
        self._difference = float(np.clip(np.sqrt(np.mean(turns**2)), *_DIFFERENCE))

    def _distance(self, theta: Array, strength: float) -> Array:
        """Return the distances of eigenvalues from the mean of the unwanted ones."""
        family = self._family
        unwanted = (family.total * (1 - strength) - theta.sum()) / (family.size - self._rank)
        least = max(_LEAST_DISTANCE * family.median_variance, self._indistinct)
        return np.maximum(theta - unwanted, least)

    def _allowed(self, theta: Array, empty: NDArray[np.bool_], distance: Array) -> Array:
        """Return the largest residuals that are small enough."""
        rough = ROUGH if self._near is None else _ROUGH_BESIDE
        tolerance = rough * self._difference if self._fine is None else self._fine
        allowed = np.maximum(tolerance * distance, 4 * self._indistinct)
        if not empty.any():
            return allowed
        # Directions in which S has no variance left: which of them are taken changes next to nothing.
        if self._fine is None:
            little = _EMPTY * self._family.median_variance
        else:
            little = SHORTFALL * self._family.total / empty.sum()
        return np.where(empty, np.maximum(allowed, little), allowed)
