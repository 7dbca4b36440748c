"""HeteroPCA: the diagonal of the covariance imputed from its off-diagonal part."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from attenua._data.checks import checked_count
from attenua._data.moments import Moments
from attenua._estimate.fitting import RuleTransformer
from attenua._solve.subspace import Subspace, rounding
from attenua_paper.rivals.rule_parts import (
    Convergence,
    OneCandidate,
    StoresConvergence,
    checked_positive,
    formed_covariance,
    iterated,
    subspace_of_frame,
)

Array = NDArray[np.float64]
# Values and vectors of the eigenpairs of largest magnitude, given the diagonal and where to start.
Solver = Callable[[Array, Array | None], tuple[Array, Array]]

# Up to this many columns, or where much of the spectrum is wanted, all eigenpairs by LAPACK are quicker.
_WHOLE_SPECTRUM = 100


@dataclass(frozen=True)
class HeteroRule(OneCandidate):
    """Moments in, the subspace at which the imputed diagonal settles out. Its one strength is 0.

    Parameters
    ----------
    max_iter, tol : int, float
        When to stop.
    """

    max_iter: int = 200
    tol: float = 1e-7

    def subspaces(self, moments: Moments, rank: int, *, exact: bool = True) -> Iterator[tuple[int, Subspace]]:
        """Yield the subspace."""
        size = moments.n_features
        # One eigenpair more than the rank says whether the cut is well defined.
        count = min(rank + 1, size)
        if size <= _WHOLE_SPECTRUM or 4 * count > size:
            solve = _by_lapack(moments, count)
        else:
            solve = _by_arpack(moments, count)
        diagonal = np.zeros(size)
        values, vectors = solve(diagonal, None)
        converged, n_iter = False, 0
        while not converged and n_iter < self.max_iter:
            imputed = vectors[:, :rank] ** 2 @ values[:rank]
            change = float(np.linalg.norm(imputed - diagonal))
            diagonal = imputed
            values, vectors = solve(diagonal, vectors)
            noise = rounding(size, abs(values[0]))
            converged = change <= max(self.tol * float(np.linalg.norm(diagonal)), noise)
            n_iter += 1
        gap = float(abs(values[rank - 1]) - abs(values[rank])) if rank < size else np.inf
        tied = gap <= rounding(size, abs(values[0]))
        subspace = subspace_of_frame(vectors[:, :rank], gap=gap, tied=tied)
        yield 0, iterated(subspace, Convergence(n_iter, converged))


def _by_lapack(moments: Moments, count: int) -> Solver:
    S = formed_covariance(
        moments, "HeteroPCA with a quarter of all components or more, or of a flat spectrum,"
    ).copy()

    def solve(diagonal: Array, start: Array | None) -> tuple[Array, Array]:
        np.fill_diagonal(S, diagonal)
        return _largest_magnitude(*np.linalg.eigh(S), count)

    return solve


def _by_arpack(moments: Moments, count: int) -> Solver:
    size, variances = moments.n_features, moments.variances

    def solve(diagonal: Array, start: Array | None) -> tuple[Array, Array]:
        correction = (diagonal - variances)[:, None]

        def multiply(v: Array) -> Array:
            V = v.reshape(size, -1)
            return moments.apply(V) + correction * V

        operator = LinearOperator((size, size), matvec=multiply, matmat=multiply, dtype=float)
        # The last eigenvectors are nearly right already, so it starts near their span; the noise lets in
        # those that were not among them.
        noise = np.random.default_rng(0).standard_normal(size)
        first = noise if start is None else start.sum(axis=1) + noise / size
        if not multiply(first).any():
            # A random vector is mapped to zero by the zero matrix only, which ARPACK cannot start on.
            return np.zeros(count), np.eye(size, count)
        width = min(size - 1, max(2 * count + 10, 20))
        try:
            values, vectors = eigsh(operator, k=count, which="LM", v0=first, ncv=width, maxiter=50 * size)
        except ArpackNoConvergence:  # a flat spectrum
            return _by_lapack(moments, count)(diagonal, start)
        return _largest_magnitude(values, vectors, count)

    return solve


def _largest_magnitude(values: Array, vectors: Array, count: int) -> tuple[Array, Array]:
    order = np.argsort(-np.abs(values), kind="stable")[:count]
    return values[order], vectors[:, order]


class HeteroPCA(StoresConvergence, RuleTransformer):
    r"""PCA for noise of unequal variances, by iterative imputation of the diagonal.

    Starting from :math:`N^{(0)} = S - \mathrm{diag}(S)`, every iteration takes the best approximation of
    rank :math:`d` of :math:`N^{(t)}` (its truncated SVD: eigenvalues of largest magnitude, since the matrix
    is indefinite) and replaces the diagonal of :math:`N^{(t)}` by the diagonal of that. It ends when the norm
    of the change of the diagonal is at most `tol` times the norm of the diagonal. The components span the
    eigenvectors of largest magnitude of the last :math:`N^{(t)}` [1]_.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a fraction in (0, 1) asks for as many as ordinary PCA needs to explain that
        part of the variance; None keeps ``min(n_samples, n_features)``.
    max_iter : int, default=200
        Cap on iterations.
    tol : float, default=1e-7
        Relative change of the diagonal at which to stop.
    whiten : bool, default=False
        Scale the scores to unit variance.

    Attributes
    ----------
    n_iter_ : int
        Iterations done.
    converged_ : bool
        Whether the diagonal settled; if not, a ``ConvergenceWarning`` was given.
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows that span the subspace, ordered by explained variance.
    mean_, explained_variance_, explained_variance_ratio_, singular_values_, noise_variance_
        As in :class:`attenua.CorrectedPCACV`.
    n_components_, n_samples_, n_features_in_, feature_names_in_
        As in :class:`attenua.CorrectedPCACV`.

    Notes
    -----
    With many columns only the leading eigenpairs are computed, each time from the last ones, and wide or
    sparse data are used through products with the rows.

    References
    ----------
    .. [1] A. R. Zhang, T. T. Cai and Y. Wu, "Heteroskedastic PCA: algorithm, optimality, and applications",
       Annals of Statistics 50, 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua_paper.rivals import HeteroPCA
    >>> HeteroPCA(5).fit(load_digits().data[:100]).explained_variance_ratio_.round(3)
    array([0.179, 0.161, 0.114, 0.1  , 0.087])
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        max_iter: int = 200,
        tol: float = 1e-7,
        whiten: bool = False,
    ):
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.whiten = whiten

    def _rule(self, n_features: int) -> Any:
        return HeteroRule(checked_count(self.max_iter, "max_iter"), checked_positive(self.tol, "tol"))
