"""Chebyshev filters: Ritz vectors of several strengths with what is unwanted in them damped.

A polynomial of the matrix that is small on the interval of the unwanted eigenvalues grows fast outside of it.
One product serves the vectors of all strengths in every step.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attenua.affine import AffineFamily

Array = NDArray[np.float64]

# Vectors may be amplified by this much over one another between two steps that part them again.
_PARTED = {np.dtype(np.float32): 1e3, np.dtype(np.float64): 1e10}


class RitzVectors(NamedTuple):
    """Ritz vectors at one strength.

    Attributes
    ----------
    alpha : float
        The strength.
    values : ndarray of shape (count,)
        Ritz values, decreasing; what lies below the last is damped.
    basis : ndarray of shape (size, count)
        Ritz vectors.
    wanted : ndarray of int
        Positions of those to be improved.
    """

    alpha: float
    values: Array
    basis: Array
    wanted: NDArray[np.intp]


class ChebyshevFilter:
    """Filters for the matrices of a family that are at hand."""

    def __init__(self, family: AffineFamily):
        self.family = family
        self._single: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None

    def __call__(self, groups: Sequence[RitzVectors], degree: int, *, single: bool) -> Array:
        """Return the wanted vectors of all groups, improved, side by side.

        The unwanted eigenvalues at a strength lie between ``-alpha * fall`` and the last Ritz value.

        Parameters
        ----------
        groups : sequence of RitzVectors
            One for each strength.
        degree : int
            Degree of the polynomial.
        single : bool
            Whether single precision, more than twice as fast, is enough.
        """
        # In single precision everything is in units of the scale, where nothing overflows.
        S, D = self._in_single_precision() if single else self.family.matrices()
        unit = self.family.scale if single else 1.0
        dtype = S.dtype
        counts = [len(g.wanted) for g in groups]
        alphas = np.repeat([g.alpha for g in groups], counts)
        edges = np.repeat([g.values[-1] for g in groups], counts) / unit
        values = np.concatenate([g.values[g.wanted] for g in groups]) / unit
        low = -alphas * self.family.fall / unit
        centre, half = (edges + low) / 2, np.maximum((edges - low) / 2, 1e-3 * self.family.scale / unit)
        growth = np.maximum((values - centre) / half, 1.0)  # keeps the columns from overflowing
        largest = np.repeat([g.values[0] for g in groups], counts) / unit
        stride = _stride(growth, np.maximum((largest - centre) / half, 1.0), _PARTED[dtype])
        larger = _Larger(groups, dtype)
        first, later = ((k / (half * growth)).astype(dtype) for k in (1, 2))
        damping, alphas, centre = (x.astype(dtype) for x in (growth**-2, alphas, centre))
        current = np.hstack([g.basis[:, g.wanted] for g in groups]).astype(dtype)
        previous = np.zeros_like(current)
        for step in range(degree):
            if step and step % stride == 0:
                larger.remove_from(current)
                larger.remove_from(previous)
            product = S @ current
            product -= alphas * (D @ current if D.ndim == 2 else D[:, None] * current)
            product -= centre * current
            product *= later if step else first
            previous *= damping
            product -= previous
            previous, current = current, product
        return current.astype(float)

    def _in_single_precision(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return S and D in units of the scale; made once."""
        if self._single is None:
            S, D = (np.empty(M.shape, np.float32) for M in self.family.matrices())
            for M, copy in zip(self.family.matrices(), (S, D), strict=True):
                np.divide(M, self.family.scale, out=copy, casting="same_kind")
            self._single = S, D
        return self._single


class _Larger:
    """Ritz vectors of larger value than each that is filtered: what lies along them grows faster."""

    def __init__(self, groups: Sequence[RitzVectors], dtype: np.dtype):
        self._bases = [g.basis.astype(dtype) for g in groups]
        self._masks = [(np.arange(len(g.values))[:, None] < g.wanted).astype(dtype) for g in groups]
        self._ends = np.cumsum([len(g.wanted) for g in groups])

    def remove_from(self, V: NDArray[np.floating]) -> None:
        """Take out of vectors, in place, what lies along them."""
        for basis, mask, end in zip(self._bases, self._masks, self._ends, strict=True):
            own = slice(end - mask.shape[1], end)
            V[:, own] -= basis @ (mask * (basis.T @ V[:, own]))


def _stride(growth: Array, largest: Array, parted: float) -> int:
    """Return how many steps it takes until the largest Ritz vector drowns another that it is mixed into."""
    rate = np.max(np.arccosh(largest) - np.arccosh(growth))
    return max(int(np.log(parted) / max(rate, 1e-9)), 1) if rate > 0 else 10**9
