"""What any choice of a strength could have gained: risks on the test rows themselves, on a grid."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attenua._correct.strengths import checked_strengths
from attenua._data.moments import ScatterMoments
from attenua._select.rule import AttenuationRule

Array = NDArray[np.float64]

ALPHAS = checked_strengths("direct")


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
        mean = X.mean(axis=0)
        covariance = (X - mean).T @ (X - mean) / len(X)
        left_out = np.cumsum(np.append(0.0, np.linalg.eigvalsh(covariance)))[::-1]
        return cls(mean, covariance, left_out)


def risks_on_test(X: Array, rank: int, test: HeldMoments) -> Array:
    """Return the test risk of every strength, fitted to all rows."""
    mean = X.mean(axis=0)
    covariance = (X - mean).T @ (X - mean) / len(X)
    moments = ScatterMoments(1.0, np.zeros_like(mean), covariance, np.zeros_like(mean))
    offset = test.mean - mean
    risks = np.empty(len(ALPHAS))
    for i, subspace in AttenuationRule(ALPHAS).subspaces(moments, rank):
        U = subspace.basis
        captured = np.sum(U * (test.covariance @ U)) + np.sum((offset @ U) ** 2)
        risks[i] = np.trace(test.covariance) + offset @ offset - captured
    return risks
