"""What any choice of two strengths could have gained: risks on the test rows themselves, on a grid."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attenua._correct.attenuation import pairs
from attenua._correct.strengths import checked_strengths
from attenua._data.moments import ScatterMoments
from attenua._select.rule import AttenuationRule

Array = NDArray[np.float64]

ALPHAS = checked_strengths("direct")
TEMPERINGS = np.arange(9) / 8


class HeldMoments(NamedTuple):
    """What the risk of a subspace on test rows needs of them.

    Attributes
    ----------
    mean, covariance : ndarray
        Moments of the test rows.
    references : ndarray of shape (n_features + 1,)
        Risk of the best affine subspace of every rank fitted to the test rows themselves.
    """

    mean: Array
    covariance: Array
    references: Array

    @classmethod
    def of(cls, X: Array) -> "HeldMoments":
        """Return the moments of rows, and the risks of their own best subspaces."""
        mean, covariance = moments_of(X)
        left_out = np.cumsum(np.append(0.0, np.linalg.eigvalsh(covariance)))[::-1]
        return cls(mean, covariance, left_out)


def risks_on_test(X: Array, rank: int, test: HeldMoments, temperings: Array = TEMPERINGS) -> Array:
    """Return the test risk of every pair and every rank up to one, fitted to all rows.

    The shape is (n_temperings, n_alphas, rank).
    """
    mean, covariance = moments_of(X)
    bases = subspaces(covariance, rank, temperings)
    offset = test.mean - mean
    captured = np.sum(bases * (test.covariance @ bases), axis=-2) + (offset @ bases) ** 2
    return np.trace(test.covariance) + offset @ offset - np.cumsum(captured, axis=-1)


def moments_of(X: Array) -> tuple[Array, Array]:
    """Return the mean and the covariance of rows, with divisor n."""
    mean = X.mean(axis=0)
    return mean, (X - mean).T @ (X - mean) / len(X)


def subspaces(covariance: Array, rank: int, temperings: Array = TEMPERINGS) -> Array:
    """Return the leading subspaces at every pair, of shape (n_temperings, n_alphas, n_features, rank)."""
    p = len(covariance)
    rule = AttenuationRule(pairs(ALPHAS, temperings))
    bases = np.empty((len(rule.strengths), p, rank))
    for i, subspace in rule.subspaces(ScatterMoments(1.0, np.zeros(p), covariance, np.zeros(p)), rank):
        bases[i] = subspace.basis
    return bases.reshape(len(temperings), len(ALPHAS), p, rank)
