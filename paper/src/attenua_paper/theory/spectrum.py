"""A symmetric matrix split at a rank: retained directions, omitted directions, gaps between them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attenua_paper.theory.checks import Array


@dataclass(frozen=True)
class Cutoff:
    r"""Eigendecomposition :math:`A v_r = \mu_r v_r` split after the `d` algebraically largest eigenvalues.

    Attributes
    ----------
    retained_values, omitted_values : ndarray of shape (d,), (p - d,)
        Eigenvalues, decreasing.
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
        r"""Cutoff gap :math:`\mu_d - \mu_{d+1}`; 0 where an eigenvalue solver cannot tell it from 0."""
        gap = float(self.retained_values[-1] - self.omitted_values[0])
        largest = max(abs(self.retained_values[0]), abs(self.omitted_values[-1]))
        return gap if gap > 4 * max(len(self.retained), 16) * np.finfo(float).eps * largest else 0.0

    @cached_property
    def gaps(self) -> Array:
        r"""Gaps :math:`\mu_j - \mu_k`, one row per omitted direction and one column per retained."""
        return self.retained_values[None, :] - self.omitted_values[:, None]

    def cross_block(self, matrix: Array) -> Array:
        r"""Return the couplings :math:`v_k^\top M v_j`, omitted directions in rows."""
        return self.omitted.T @ matrix @ self.retained

    def embed(self, couplings: Array) -> Array:
        """Return the p x p matrix with these couplings: the inverse of `cross_block`."""
        return self.omitted @ couplings @ self.retained.T


def cut(matrix: Array, n_components: int) -> Cutoff:
    """Split a symmetric matrix after its `n_components` algebraically largest eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    d = n_components
    return Cutoff(values[:d], values[d:], vectors[:, :d], vectors[:, d:])


def excess_risk(target: Cutoff, frame: Array) -> float:
    r"""Return :math:`\operatorname{tr}\{\Sigma (P_* - V V^\top)\}` of an orthonormal frame (eq. excess-risk).

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
    inside = (target.retained_values - middle) @ np.sum(missed**2, axis=0)
    return float(inside + (middle - target.omitted_values) @ np.sum(strayed**2, axis=0))
