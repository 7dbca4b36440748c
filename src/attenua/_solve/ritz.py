r"""A growing orthonormal basis, and how far its Ritz vectors are from the wanted eigenvectors.

Tall blocks of vectors stay where the moments are, on the host or on a device. Matrices as small as the basis
is wide are on the host.

A Ritz value :math:`\theta` is never above its eigenvalue, and below it by at most the norm :math:`r` of its
residual, or by :math:`r^2 / \delta` where the next eigenvalue is :math:`\delta` away. The sum of these bounds
how much the subspace explains too little, provided that no leading direction was overlooked
(`SharedBasis` looks for one).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.namespace import array_namespace, asarray_like, to_host
from attenua._solve import tuning
from attenua._solve.family import MatrixFamily
from attenua._solve.subspace import rounding, small_eigh

Array = NDArray[np.float64]


class Basis:
    """An orthonormal basis Q with its image and with Q'SQ and Q'DQ.

    Parameters
    ----------
    family : MatrixFamily
        The matrices.
    columns : array of shape (size, n_columns)
        The first columns; they need not be orthonormal.

    Attributes
    ----------
    Q : array of shape (size, width)
        Orthonormal columns.
    S, D : ndarray of shape (width, width)
        Q'SQ and Q'DQ, on the host.
    """

    def __init__(self, family: MatrixFamily, columns: Any):
        self._family = family
        self.Q = columns[:, :0]
        self._image: Any = None
        self.S, self.D = np.empty((0, 0)), np.empty((0, 0))
        self.extend(columns)

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.Q.shape[1]

    def extend(self, columns: Any, dependent: float = tuning.DEPENDENT) -> tuple[Any, Any]:
        """Append columns, made orthonormal; return the new columns and their image."""
        xp, moments = array_namespace(self.Q), self._family.moments
        for tolerance in (dependent, tuning.DEPENDENT):  # twice is enough to be orthogonal to rounding
            if self.width:
                columns = columns - self.Q @ (self.Q.T @ columns)
            columns = orthonormal(columns, tolerance)
        image = moments.image(columns)
        self.Q = xp.concat([self.Q, columns], axis=1)
        self._image = image if self._image is None else xp.concat([self._image, image], axis=1)
        self.S = bordered(self.S, to_host(moments.inner(self.Q, self._image, image)), self.width)
        # Skip D if no member has a strength: it is unused then and may be expensive.
        border = to_host(self.Q.T @ self._family.part(columns)) if self._family.strengths.any() else 0.0
        self.D = bordered(self.D, border, self.width)
        return columns, image

    def vectors(self, coordinates: Array) -> Any:
        """Return combinations of the columns."""
        return self.Q @ asarray_like(self.Q, coordinates)

    def times_S(self, coordinates: Array) -> Any:
        """Return S times combinations of the columns."""
        return self._family.moments.lift(self._image @ asarray_like(self.Q, coordinates))

    def shrink(self, coordinates: Array) -> None:
        """Keep orthonormal combinations of the columns only."""
        combine = asarray_like(self.Q, coordinates)
        self.Q, self._image = self.Q @ combine, self._image @ combine
        self.S, self.D = (coordinates.T @ matrix @ coordinates for matrix in (self.S, self.D))


def bordered(old: Array, border: Array | float, width: int) -> Array:
    """Return a symmetric matrix with the last columns (and rows) given and the rest as before."""
    before = len(old)
    new = np.empty((width, width))
    new[:before, :before] = old
    new[:, before:] = border
    new[before:, :] = np.transpose(border)
    return new


def orthonormal(columns: Any, dependent: float = tuning.DEPENDENT) -> Any:
    """Return a nearly orthonormal basis of columns; those that depend on others are left out.

    It comes from the eigenvectors of their inner products, several times as fast as a QR factorisation.
    """
    products = to_host(columns.T @ columns)
    lengths = np.sqrt(np.diag(products))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    values, vectors = small_eigh(products * scale * scale[:, None])
    kept = values > max(dependent * values[0], 0.0) if len(values) else values > 0
    combine = scale[:, None] * vectors[:, kept] / np.sqrt(values[kept])
    return columns @ asarray_like(columns, combine)


def distance_from_unwanted(family: MatrixFamily, theta: Array, strength: float) -> Array:
    """Return the distances of the leading eigenvalues of a member from the mean of the others."""
    size = family.moments.n_features
    unwanted = (family.trace * (1 - strength) - theta.sum()) / (size - len(theta))
    least = max(tuning.LEAST_DISTANCE * family.median_variance, rounding(size, family.scale))
    return np.maximum(theta - unwanted, least)


@dataclass(frozen=True)
class RitzState:
    """Ritz vectors of one member of a family, and bounds of their errors.

    Attributes
    ----------
    member : int
        Its number.
    values : ndarray of shape (width,)
        All Ritz values, decreasing.
    coordinates : ndarray of shape (width, width)
        All Ritz vectors, within the basis.
    residuals : array of shape (size, rank)
        Residuals of the wanted vectors.
    excess : ndarray of shape (rank,)
        Their norms divided by the largest allowed ones: accurate enough if none is above 1.
    shortfall : float
        Bound of the variance that the subspace misses, as a part of the total variance.
    shortfall_of_rest : float
        The same as a part of the variance that all but the last vector leave: a few directions may hold
        nearly all variance, and the others are to be accurate too.
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
    """Assesses Ritz vectors.

    `fine` is the largest residual relative to the distance from the unwanted eigenvalues, or None if the
    members are only compared.
    """

    def __init__(self, family: MatrixFamily, rank: int, fine: float | None):
        self._family, self._rank, self._fine = family, rank, fine
        self._indistinct = rounding(family.moments.n_features, family.scale)
        self._difference = tuning.DIFFERENCE_ALONE

    def assess(self, basis: Basis, member: int, values: Array, coordinates: Array) -> RitzState:
        """Return the state of the Ritz vectors of a member."""
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
        # The next eigenvalue is only as accurate as its own Ritz value: a gap must stand out to count.
        by_gap = np.divide(sizes**2, gaps, out=sizes.copy(), where=gaps > 4 * sizes.max())
        missing = float(np.minimum(sizes, by_gap).sum())
        rest = max(family.trace - float(theta[:-1].sum()), self._indistinct)
        distance = distance_from_unwanted(family, theta, strength)
        sines = np.divide(sizes, gaps, out=np.ones_like(sizes), where=gaps > sizes)
        return RitzState(
            member,
            values,
            coordinates,
            residuals,
            sizes / self._allowed(theta, empty, distance),
            missing / family.trace,
            missing / min(rest, family.trace),
            float(np.where(empty, 0.0, sines).max()),
        )

    def measure_difference(self, basis: Basis, member: int, values: Array, coordinates: Array) -> None:
        """Measure, to first order, how far the Ritz vectors of one member rotate over the family."""
        V = basis.vectors(coordinates[:, : self._rank])
        part = self._family.part(V)
        change = array_namespace(V).linalg.vector_norm(part - V @ (V.T @ part), axis=0)
        strength = float(self._family.strengths[member])
        distance = distance_from_unwanted(self._family, values[: self._rank], strength)
        angles = float(np.ptp(self._family.strengths)) * to_host(change) / distance
        self._difference = float(np.clip(np.sqrt(np.mean(angles**2)), *tuning.DIFFERENCE))

    def _allowed(self, theta: Array, empty: NDArray[np.bool_], distance: Array) -> Array:
        """Return the largest residuals that are allowed."""
        tolerance = tuning.ROUGH * self._difference if self._fine is None else self._fine
        allowed = np.maximum(tolerance * distance, 4 * self._indistinct)
        if not empty.any():
            return allowed
        # Directions in which S has no variance left: it hardly matters which of them are taken.
        if self._fine is None:
            little = tuning.EMPTY * self._family.median_variance
        else:
            little = tuning.SHORTFALL * self._family.trace / empty.sum()
        return np.where(empty, np.maximum(allowed, little), allowed)
