"""What a person would use instead, from scikit-learn, robustcov, scikit-fda and R, each as a subspace.

Each rival is a function ``(X, rank, order) -> Fit``, with its author's defaults; those that draw at random
start from seed 0. The mean is the method's own centre, which for a robust method is not the mean of the rows.
There are fewer components than `rank` where it found fewer: sparse PCA sets whole components to zero, ROBPCA
drops rows and with them directions. Only functional PCA looks at the order of the columns.

Left out because they take too long on hundreds of cells: scikit-learn's SparsePCA (its mini-batch version
stands in for it), and of robustcov MRCD, DPDRobustPCA and CellwiseRobustPCA.

:mod:`attenua_evidence.needs` says how to install the packages.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.covariance import OAS, LedoitWolf, MinCovDet
from sklearn.decomposition import FactorAnalysis, MiniBatchSparsePCA, TruncatedSVD

from attenua_evidence.methods import Order
from attenua_evidence.outcome import Array, Fit, Outcome, attempt
from attenua_evidence.rrcov import shared_process
from attenua_paper.rivals import CorrelationPCA, HeteroPCA

SEED = 0
# The bandwidths of scikit-fda's example "Kernel Smoothing", counted in columns.
_BANDWIDTHS = np.linspace(1, 11, 22)


def orthonormal(frame: ArrayLike) -> Array:
    """Return orthonormal rows that span the rows of a frame; dependent and zero rows do not count."""
    _, sizes, rows = np.linalg.svd(np.asarray(frame, dtype=float), full_matrices=False)
    return rows[sizes > 1e-10 * sizes.max(initial=0.0)]


def leading(matrix: Array, rank: int) -> Array:
    """Return the eigenvectors of the largest eigenvalues of a symmetric matrix, as rows."""
    return np.linalg.eigh(matrix)[1][:, : -rank - 1 : -1].T


# --- scikit-learn -----------------------------------------------------------------------------------------


def factor_analysis(X: Array, rank: int, order: Order) -> Fit:
    """Return the span of the loadings of maximum-likelihood factor analysis."""
    model = FactorAnalysis(rank, random_state=SEED).fit(X)
    return Fit(model.mean_, orthonormal(model.components_))


def covariance_pca(X: Array, rank: int, order: Order, *, estimator: Callable[[], Any]) -> Fit:
    """Return the leading eigenvectors of a covariance that a scikit-learn estimator fits."""
    model = estimator().fit(X)
    return Fit(model.location_, leading(model.covariance_, rank))


def sparse_pca(X: Array, rank: int, order: Order) -> Fit:
    """Return the span of sparse components; those that are all zeros do not count."""
    model = MiniBatchSparsePCA(rank, random_state=SEED).fit(X)
    return Fit(model.mean_, orthonormal(model.components_))


def truncated_svd(X: Array, rank: int, order: Order) -> Fit:
    """Return the leading right singular vectors of the rows as they are, around zero."""
    model = TruncatedSVD(rank, random_state=SEED).fit(X)
    return Fit(np.zeros(X.shape[1]), orthonormal(model.components_))


# --- attenua ----------------------------------------------------------------------------------------------


def attenua_rival(X: Array, rank: int, order: Order, *, estimator: Callable[[int], Any]) -> Fit:
    """Return the subspace of an estimator of attenua_paper.rivals."""
    model = estimator(rank).fit(X)
    return Fit(model.mean_, model.components_)


# --- robustcov --------------------------------------------------------------------------------------------


def robust_scatter(X: Array, rank: int, order: Order) -> Fit:
    """Return robustcov's PCA of the scatter that it estimates by default."""
    from robustcov import RobustPCA

    model = RobustPCA(rank, store_scores=False).fit(X)
    return Fit(model.mean_, orthonormal(model.components_))


def spatial_kendall(X: Array, rank: int, order: Order) -> Fit:
    """Return the leading directions of differences between rows, each difference of length one."""
    from robustcov import RobustFactorModel

    model = RobustFactorModel(rank, max_factors=rank).fit(X)
    return Fit(model.location_, orthonormal(model.loadings_.T))


# --- scikit-fda -------------------------------------------------------------------------------------------


def functional_pca(
    X: Array, rank: int, order: Order, *, penalised: bool = False, smoothed: bool = False
) -> Fit:
    """Return functional PCA of rows that are curves on a regular grid of [0, 1], scikit-fda's default.

    Parameters
    ----------
    X, rank, order
        As in every rival.
    penalised : bool, default=False
        Penalise the second derivative of components, with scikit-fda's default factor 1.
    smoothed : bool, default=False
        Smooth the rows first, with scikit-fda's default kernel and the bandwidth that its generalised
        cross-validation chooses.
    """
    from skfda import FDataGrid
    from skfda.misc.operators import LinearDifferentialOperator
    from skfda.misc.regularization import L2Regularization
    from skfda.preprocessing.dim_reduction import FPCA

    curves = FDataGrid(X)
    if smoothed:
        curves = _smoothed(curves)
    penalty = L2Regularization(LinearDifferentialOperator(2)) if penalised else None
    model = FPCA(rank, regularization=penalty).fit(curves)
    return Fit(model.mean_.data_matrix[0, :, 0], orthonormal(model.components_.data_matrix[..., 0]))


def _smoothed(curves: Any) -> Any:
    """Return kernel averages of curves, at the bandwidth of the best score."""
    from skfda.misc.hat_matrix import NadarayaWatsonHatMatrix
    from skfda.preprocessing.smoothing import KernelSmoother
    from skfda.preprocessing.smoothing.validation import SmoothingParameterSearch

    widths = _BANDWIDTHS / (curves.data_matrix.shape[1] - 1)
    search = SmoothingParameterSearch(
        KernelSmoother(NadarayaWatsonHatMatrix()), widths, param_name="kernel_estimator__bandwidth"
    )
    return search.fit(curves).transform(curves)


# --- R's rrcov --------------------------------------------------------------------------------------------


def rrcov_pca(X: Array, rank: int, order: Order, *, method: str) -> Fit:
    """Return a robust PCA by R; all calls of one Python process share one R process."""
    process = shared_process()
    centre, components = process.fit(method, X, rank)
    if process.notes:
        warnings.warn(f"R: {process.notes}", RuntimeWarning, stacklevel=2)
    return Fit(centre, orthonormal(components))


# --- the registry -----------------------------------------------------------------------------------------


def _anything(n: int, p: int, order: Order) -> str:
    return ""


def _many_rows(n: int, p: int, order: Order) -> str:
    return "" if n > 5 * p else "needs more than five rows for each column"


def _on_a_line(n: int, p: int, order: Order) -> str:
    return "" if order == "line" else "needs columns along a line"


class Rival(NamedTuple):
    """How a rival is fitted, and what has to be said about it.

    Attributes
    ----------
    what : str
        Its function and its defaults, and where they could not be kept.
    fit : callable
        ``(X, rank, order) -> Fit``.
    unsuited : callable
        ``(n_rows, n_columns, order) -> reason`` why it does not apply, empty where it does.
    package : str
        What it needs besides scikit-learn, as :mod:`attenua_evidence.needs` names it.
    """

    what: str
    fit: Callable[[Array, int, Order], Fit]
    unsuited: Callable[[int, int, Order], str] = _anything
    package: str = ""


_AS_PCA = "shrinks to a multiple of the identity, so its eigenvectors are PCA's and its gain is 0"
RIVALS: dict[str, Rival] = {
    "factor analysis": Rival(
        "scikit-learn FactorAnalysis: tol 0.01, max_iter 1000, no rotation", factor_analysis
    ),
    "Ledoit-Wolf": Rival(
        f"scikit-learn LedoitWolf: {_AS_PCA}", partial(covariance_pca, estimator=LedoitWolf)
    ),
    "OAS": Rival(f"scikit-learn OAS: {_AS_PCA}", partial(covariance_pca, estimator=OAS)),
    "mini-batch sparse PCA": Rival(
        "scikit-learn MiniBatchSparsePCA: alpha 1 whatever the units, batches of 3, max_iter 1000", sparse_pca
    ),
    "truncated SVD": Rival("scikit-learn TruncatedSVD: rows are not centred", truncated_svd),
    "MCD": Rival(
        "scikit-learn MinCovDet: half of the rows, reweighted",
        partial(covariance_pca, estimator=partial(MinCovDet, random_state=SEED)),
        _many_rows,
    ),
    "correlation PCA": Rival(
        "attenua CorrelationPCA: nothing to choose", partial(attenua_rival, estimator=CorrelationPCA)
    ),
    "HeteroPCA": Rival(
        "attenua HeteroPCA: tol 1e-7, max_iter 200", partial(attenua_rival, estimator=HeteroPCA)
    ),
    "robustcov": Rival(
        "robustcov RobustPCA of its default, RegularizedCauchy: alpha 0.1",
        robust_scatter,
        package="robustcov",
    ),
    "spatial Kendall": Rival(
        "robustcov RobustFactorModel: at most 20,000 pairs; max_factors is the rank, not 10",
        spatial_kendall,
        package="robustcov",
    ),
    "functional PCA": Rival(
        "scikit-fda FPCA: grid on [0, 1], Simpson weights, no regularisation",
        functional_pca,
        _on_a_line,
        "scikit-fda",
    ),
    "functional PCA, penalised": Rival(
        "scikit-fda FPCA: second derivative, factor 1 (its default is the identity, which smooths nothing)",
        partial(functional_pca, penalised=True),
        _on_a_line,
        "scikit-fda",
    ),
    "functional PCA, smoothed": Rival(
        "scikit-fda FPCA of kernel averages, bandwidth of 1 to 11 columns by its cross-validation",
        partial(functional_pca, smoothed=True),
        _on_a_line,
        "scikit-fda",
    ),
    "ROBPCA": Rival(
        "rrcov PcaHubert: alpha 0.75, 250 directions; kmax is 10, or the rank where that is more",
        partial(rrcov_pca, method="PcaHubert"),
        package="rrcov",
    ),
    "spherical PCA": Rival(
        "rrcov PcaLocantore: components ranked by the MAD of their scores",
        partial(rrcov_pca, method="PcaLocantore"),
        package="rrcov",
    ),
}


def fit_rival(name: str, X: Array, rank: int, order: Order = None) -> Outcome:
    """Fit a rival and say how it went.

    Parameters
    ----------
    name : str
        A key of ``RIVALS``.
    X : ndarray of shape (n_samples, n_features)
        The rows to fit.
    rank : int
        Number of components.
    order : None, "line" or tuple of int, default=None
        Which columns are neighbours.

    Raises
    ------
    ImportError, FileNotFoundError
        If the method's package is not installed, which does not count as a result.
    """
    rival = RIVALS[name]
    if reason := rival.unsuited(*X.shape, order):
        return Outcome("unsuited", reason)
    return attempt(lambda: rival.fit(X, rank, order), rank)
