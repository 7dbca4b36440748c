"""A symmetric matrix split at a rank: retained directions, omitted directions, gaps between them."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.blas import blas_limit

Array = NDArray[np.float64]

# From about here on a second thread makes one eigendecomposition faster (by a quarter at 512 columns). Below,
# it gains nothing, and on a busy machine it waits for its turn thousands of times.
_WORTH_THREADS = 512


def threads_for(n_features: int) -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread, if matrices have too few columns to share."""
    return blas_limit(1) if n_features < _WORTH_THREADS else nullcontext()


@dataclass(frozen=True)
class Cutoff:
    r"""Eigendecomposition :math:`A v_r = \mu_r v_r` split after the `d` algebraically largest eigenvalues.

    Attributes
    ----------
    retained_values, omitted_values : ndarray of shape (d,), (p - d,)
        Eigenvalues, in decreasing order.
    retained, omitted : ndarray of shape (p, d), (p, p - d)
        Orthonormal eigenvectors in columns.
    """

    retained_values: Array
    omitted_values: Array
    retained: Array
    omitted: Array

    @property
    def projector(self) -> Array:
        """Projector onto the retained directions."""
        return self.retained @ self.retained.T

    @property
    def gap(self) -> float:
        r"""Cutoff gap :math:`\mu_d - \mu_{d+1}`."""
        return float(self.retained_values[-1] - self.omitted_values[0])

    @cached_property
    def gaps(self) -> Array:
        r"""Gaps :math:`\mu_j - \mu_k`, one row per omitted direction and one column per retained."""
        return self.retained_values[None, :] - self.omitted_values[:, None]

    @property
    def is_closed(self) -> bool:
        """Whether the cutoff gap is zero to the accuracy of an eigenvalue solver."""
        return self.gap <= resolution(np.concatenate([self.retained_values, self.omitted_values]))

    def cross_block(self, matrix: Array) -> Array:
        r"""Return the couplings :math:`v_k^\top M v_j`, omitted directions in rows."""
        return self.omitted.T @ matrix @ self.retained

    def embed(self, coordinates: Array) -> Array:
        """Return the p x p matrix with these couplings: the inverse of `cross_block`."""
        return self.omitted @ coordinates @ self.retained.T


def cut(matrix: Array, n_components: int) -> Cutoff:
    """Split a symmetric matrix after its `n_components` algebraically largest eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    d = n_components
    return Cutoff(values[:d], values[d:], vectors[:, :d], vectors[:, d:])


def resolution(eigenvalues: NDArray[np.floating[Any]]) -> float:
    """Difference below which two computed eigenvalues cannot be told apart: a few rounding errors."""
    return 4 * max(len(eigenvalues), 16) * np.finfo(float).eps * float(np.abs(eigenvalues).max())


def excess_risk(target: Cutoff, frame: Array) -> float:
    r"""Return :math:`\operatorname{tr}\{\Sigma (P_* - V V^\top)\}` for an orthonormal frame `V`.

    With :math:`c` between :math:`\lambda_{d+1}` and :math:`\lambda_d` this equals

    .. math::

        \sum_{j \le d} (\lambda_j - c) \|u_j - V V^\top u_j\|^2 + \sum_{k > d} (c - \lambda_k) \|V^\top
        u_k\|^2,

    because both sums of squares are :math:`d - \operatorname{tr}(P_* V V^\top)`. No term is negative, so a
    tiny excess risk keeps its digits, which the difference of two traces would lose.
    """
    middle = (target.retained_values[-1] + target.omitted_values[0]) / 2
    missed = target.retained - frame @ (frame.T @ target.retained)
    strayed = frame.T @ target.omitted
    return float(
        (target.retained_values - middle) @ np.einsum("ij,ij->j", missed, missed)
        + (middle - target.omitted_values) @ np.einsum("ij,ij->j", strayed, strayed)
    )
