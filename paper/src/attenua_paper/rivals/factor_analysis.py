"""The span of maximum-likelihood factor analysis, fitted by scikit-learn."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import FactorAnalysis
from sklearn.exceptions import ConvergenceWarning

from attenua._data.checks import checked_count, checked_positive
from attenua._data.moments import Moments
from attenua._estimate.fitting import RuleTransformer
from attenua._solve.subspace import Convergence, Subspace
from attenua_paper.rivals.rule_parts import OneCandidate, formed_covariance, subspace_of_frame


@dataclass(frozen=True)
class FactorAnalysisRule(OneCandidate):
    """Moments in, the span of the maximum-likelihood loadings out. Its one strength is 0.

    Parameters
    ----------
    max_iter, tol : int, float
        Those of scikit-learn's FactorAnalysis.
    """

    max_iter: int = 1000
    tol: float = 1e-2

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterator[tuple[int, Subspace]]:
        """Yield the subspace."""
        values, vectors = np.linalg.eigh(formed_covariance(moments, "factor analysis"))
        root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
        # More factors than the rank of S have an infinite likelihood; those beyond it get no loadings.
        n_factors = min(rank, int(np.sum(values > len(values) * np.finfo(float).eps * values[-1])))
        if n_factors == 0:
            yield 0, subspace_of_frame(np.zeros((len(root), rank)), convergence=Convergence(1, True))
            return
        # Rows of mean zero whose covariance is S; the likelihood depends on the data through S alone.
        rows = np.sqrt(len(root)) * np.concatenate([root, -root])
        # scikit-learn stops at a change of the log-likelihood of all rows, and there are others here.
        model = FactorAnalysis(
            n_factors, max_iter=self.max_iter, tol=self.tol * len(rows) / moments.weight, svd_method="lapack"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(rows)
        convergence = Convergence(model.n_iter_, model.n_iter_ < self.max_iter)
        loadings = np.zeros((len(root), rank))
        loadings[:, :n_factors] = model.components_.T
        yield 0, subspace_of_frame(loadings, convergence=convergence)


class FactorAnalysisPCA(RuleTransformer):
    r"""The subspace spanned by the loadings of a factor analysis, for comparison.

    The model :math:`S \approx L L^\top + \Psi` with diagonal :math:`\Psi` is fitted by
    :class:`sklearn.decomposition.FactorAnalysis`; rows are projected orthogonally on the span of :math:`L`.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a fraction in (0, 1) asks for as many as ordinary PCA needs to explain that
        part of the variance; None keeps ``min(n_samples, n_features)``.
    max_iter : int, default=1000
        Cap on iterations.
    tol : float, default=0.01
        Increase of the log-likelihood at which to stop.
    whiten : bool, default=False
        Scale the scores to unit variance.

    Attributes
    ----------
    n_iter_ : int
        Iterations done.
    converged_ : bool
        Whether `tol` was reached before the cap; if not, a ``ConvergenceWarning`` was given.
    components_, mean_, explained_variance_, explained_variance_ratio_, singular_values_, noise_variance_
        As in :class:`attenua.CorrectedPCACV`.
    n_components_, n_samples_, n_features_in_, feature_names_in_
        As in :class:`attenua.CorrectedPCACV`.

    Notes
    -----
    The covariance matrix is formed: wide or sparse data may have up to 5,000 columns.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua_paper.rivals import FactorAnalysisPCA
    >>> FactorAnalysisPCA(3).fit_transform(load_digits().data[:100]).shape
    (100, 3)
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        max_iter: int = 1000,
        tol: float = 1e-2,
        whiten: bool = False,
    ):
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.whiten = whiten

    def _rule(self, n_features: int) -> FactorAnalysisRule:
        return FactorAnalysisRule(checked_count(self.max_iter, "max_iter"), checked_positive(self.tol, "tol"))
