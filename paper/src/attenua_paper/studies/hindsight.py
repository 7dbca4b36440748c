"""What a choice could have gained had it known the test rows: risks and a search on those rows."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from attenua._correct.attenuation import checked_alphas
from attenua._correct.registry import CORRECTIONS, SEARCH_ORDER, parameter_is_missing
from attenua.corrected import CorrectedPCA
from attenua.path import attenuation_path

Array = NDArray[np.float64]

ALPHAS = checked_alphas("direct")


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

    def risk(self, basis: Array, centre: Array) -> float:
        """Return the mean squared error of a test row by a subspace around a centre.

        Parameters
        ----------
        basis : ndarray of shape (n_features, rank)
            Orthonormal columns.
        centre : ndarray of shape (n_features,)
            Mean of the fitting rows.
        """
        offset = self.mean - centre
        captured = np.sum(basis * (self.covariance @ basis)) + np.sum((offset @ basis) ** 2)
        return float(np.trace(self.covariance) + offset @ offset - captured)


def risks_on_test(X: Array, rank: int, test: HeldMoments) -> Array:
    """Return the test risk of every strength of attenuation, fitted to all rows."""
    path = attenuation_path(X, rank, alphas=ALPHAS)
    return np.array([test.risk(components.T, path.mean) for components in path.components])


class CorrectedInHindsight(CorrectedPCA):
    """The search of :class:`attenua.CorrectedPCACV`, judged by the test rows instead of held-out rows.

    The same grids and the same steps in the same order, each fitted to all rows and taken if it lowers the
    risk on the test rows at all (no guard). It is not a method: it shows what the search could have gained
    had it known the test rows. It bounds each step, not every combination of strengths: the best step now may
    leave less for the next. An average over choices may do better too.

    Parameters
    ----------
    n_components : int
        Rank.
    test : HeldMoments
        The test rows.
    neighbours : None, "line", tuple of int, or adjacency matrix
        Which columns are neighbours, as in :class:`attenua.CorrectedPCACV`.

    Attributes
    ----------
    choices_ : list of dict
        The strengths that the search took, alone.
    """

    def __init__(self, n_components: int, *, test: HeldMoments, neighbours: Any = None):
        super().__init__(n_components, neighbours=neighbours)
        self.test = test

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose strengths by the test rows, fitted to the rows of X; y and weights are ignored."""

        def fitted(strengths: dict[str, float]) -> CorrectedPCA:
            return CorrectedPCA(self.n_components, neighbours=self.neighbours, **strengths).fit(X)

        def risk(strengths: dict[str, float]) -> float:
            model = fitted(strengths)
            return self.test.risk(model.components_.T, model.mean_)

        best, least = dict.fromkeys(CORRECTIONS, 0.0), risk({})
        for name in (name for name in SEARCH_ORDER if not parameter_is_missing(name, vars(self))):
            present = best
            for strength in CORRECTIONS[name].strengths[1:]:
                candidate = present | {name: strength}
                if (found := risk(candidate)) >= least:
                    break
                best, least = candidate, found
        self.choices_ = [best]
        vars(self).update({name: value for name, value in vars(fitted(best)).items() if name.endswith("_")})
        return self
