r"""Block Lanczos for one matrix T, accurate enough to compare candidates by rows that were held out.

A round multiplies the last block of a basis by T once, which gives both the Ritz vectors and their residuals.
Candidates of a search differ by small rotations, so a few rounds from the subspace of another are enough.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.namespace import array_namespace, asarray_like, to_host
from attenua._solve import tuning
from attenua._solve.family import MatrixFamily
from attenua._solve.ritz import bordered, distance_from_unwanted, orthonormal
from attenua._solve.subspace import Subspace, rounding, small_eigh

Array = NDArray[np.float64]


def compared_subspace(family: MatrixFamily, rank: int, near: Any = None) -> Subspace | None:
    """Return the leading subspace of the only member of a family, or None if it is not found soon.

    Parameters
    ----------
    family : MatrixFamily
        The matrix T, of a size above the rank.
    rank : int
        Dimension of the subspace.
    near : array of shape (size, width), optional
        Orthonormal columns to begin from; the first `rank` of them span the subspace of another candidate.
    """
    basis = _Basis(family, rank, near)
    indistinct = rounding(family.moments.n_features, family.scale)
    for number in range(1, tuning.MOST_PRODUCTS + 1):
        basis.multiply()
        if number < tuning.LEAST_PRODUCTS and basis.can_grow:
            basis.grow()
            continue
        values, Y = small_eigh(basis.T)
        if len(values) <= rank or values[rank - 1] <= indistinct:
            return None  # T has too few directions
        if basis.is_enough(values, Y):
            return basis.subspace(values, Y)
        if not basis.can_grow:
            return None
        basis.grow(values, Y)
    return None


class _Basis:
    """An orthonormal basis Q of blocks, and T within it.

    Attributes
    ----------
    T : ndarray of shape (width, width)
        Q'TQ, on the host, for the blocks that were multiplied.
    """

    def __init__(self, family: MatrixFamily, rank: int, near: Any):
        self._family, self._rank = family, rank
        self._size = family.moments.n_features
        self._count = tuning.tracked(rank, self._size)
        self._last = self._Q = self._start(near)
        self._most = tuning.MOST_BLOCKS * self._last.shape[1]
        self.T = np.empty((0, 0))
        # The other candidate, in the basis; it is among the first columns.
        self._other = None if near is None else np.eye(self._Q.shape[1], rank)

    def _start(self, near: Any) -> Any:
        """Return orthonormal columns: nearby ones, and random ones so that no direction is overlooked."""
        width = 0 if near is None else near.shape[1]
        count = min(max(self._count - width, 0) + tuning.RANDOM_COLUMNS, self._size - width)
        columns = np.random.default_rng(0).standard_normal((self._size, count))
        random = asarray_like(self._family.moments.mean, columns)
        if near is None:
            return orthonormal(random)
        random = orthonormal(random - near @ (near.T @ random))
        return array_namespace(near).concat([near, random], axis=1)

    def multiply(self) -> None:
        """Multiply the last block by T, and keep what is orthogonal to the basis as the residual."""
        product = self._family.times(self._last, 0)
        inside = self._Q.T @ product
        product = product - self._Q @ inside
        again = self._Q.T @ product  # twice is enough to be orthogonal to rounding
        self._residual = product - self._Q @ again
        self.T = bordered(self.T, to_host(inside + again), self._Q.shape[1])

    @property
    def can_grow(self) -> bool:
        """Whether the basis is not the whole space yet."""
        return self._Q.shape[1] + self._last.shape[1] <= self._size

    def grow(self, values: Array | None = None, Y: Array | None = None) -> None:
        """Add the residual of the last block; a full basis is shrunk to its leading Ritz vectors first."""
        if values is not None and Y is not None and self._Q.shape[1] + self._last.shape[1] > self._most:
            kept = Y[:, : self._count]
            self._Q = self._Q @ asarray_like(self._Q, kept)
            self.T = np.diag(values[: self._count])
            self._other = None if self._other is None else kept[: len(self._other)].T @ self._other
        self._last = orthonormal(self._residual)
        self._Q = array_namespace(self._Q).concat([self._Q, self._last], axis=1)

    def is_enough(self, values: Array, Y: Array) -> bool:
        """Whether the angles to the exact vectors, or the variance that they miss, are small enough.

        A residual r of a vector at a distance d from the unwanted eigenvalues means an angle of r / d, and
        that the variance r^2 / d is missed.
        """
        rank, family = self._rank, self._family
        theta, strength = values[:rank], float(family.strengths[0])
        # T Q y = Q (Q'TQ) y + residual y_last.
        last = Y[len(Y) - self._last.shape[1] :, :rank]
        squares = np.sum(last * (to_host(self._residual.T @ self._residual) @ last), axis=0)
        distance = distance_from_unwanted(family, theta, strength)
        angle = np.sqrt(np.mean(np.maximum(squares, 0.0) / distance**2))
        rest = family.trace * (1 - strength) - theta.sum()
        missed = float(np.sum(squares / distance))
        return bool(angle <= self._allowed_angle(Y) or missed <= tuning.MISSED_OF_REST * rest)

    def _allowed_angle(self, Y: Array) -> float:
        """Return the largest allowed angle: a part of that to the other candidate."""
        if self._other is None:
            return tuning.ANGLE_ALONE
        inside = self._other.T @ Y[: len(self._other), : self._rank]
        sines = np.clip(1 - np.sum(inside**2, axis=0), 0.0, 1.0)
        return max(tuning.ANGLE_FROM_NEAR * float(np.sqrt(sines.mean())), tuning.ANGLE_ALONE)

    def subspace(self, values: Array, Y: Array) -> Subspace:
        """Return the leading subspace; its frame has some more Ritz vectors, to begin others from."""
        rank, count = self._rank, min(self._count, len(values))
        frame = self._Q @ asarray_like(self._Q, Y[:, :count])
        gap = float(values[rank - 1] - values[rank]) if len(values) > rank else np.inf
        return Subspace(frame, np.eye(count, rank), values[:rank], gap, tied=False)
