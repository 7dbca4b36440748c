"""Covariances of few rows: the corrected one, and the ones it is compared with."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import OAS, GraphicalLassoCV, LedoitWolf
from sklearn.decomposition import FactorAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold, cross_val_score

from attenua import CorrectedCovariance
from attenua_evidence.methods import Rows

Array = NDArray[np.float64]

BASE, OURS, PLAIN = "LedoitWolf", "CorrectedCovariance", "CorrectedCovariance, no order given"
# With more columns a fit of the graphical lasso takes ten seconds, and few converge.
MOST_COLUMNS_OF_LASSO = 40
_NUMBERS_OF_FACTORS = (1, 2, 5, 10)


def corrected(rows: Rows, **options: Any) -> Array:
    """Return the corrected covariance, with the order of the columns where they have one."""
    model = CorrectedCovariance(neighbours=rows.order, **options)
    return model.fit(rows.X, groups=rows.groups).covariance_


def corrected_plain(rows: Rows, **options: Any) -> Array:
    """Return the corrected covariance without the order of the columns, which no rival is given."""
    return corrected(rows._replace(order=None), **options)


def ledoit_wolf(rows: Rows, **options: Any) -> Array:
    """Return the covariance that all are compared with."""
    return LedoitWolf(**options).fit(rows.X).covariance_


def oracle_approximating(rows: Rows) -> Array:
    """Return the linear shrinkage of Chen, Wiesel, Eldar and Hero (2010)."""
    return OAS().fit(rows.X).covariance_


def nonlinear(rows: Rows) -> Array:
    r"""Return analytical nonlinear shrinkage.

    The eigenvectors are the sample's. Its eigenvalues :math:`\lambda_i` become

    .. math:: \frac{\lambda_i}{[\pi c \lambda_i f_i]^2 + [1 - c - \pi c \lambda_i g_i]^2},\qquad c = p / n,

    with the density f of the eigenvalues and its Hilbert transform g. Both come from Epanechnikov kernels of
    bandwidth :math:`\lambda_j n^{-1/3}`. With more columns than rows, f and g are those of the n eigenvalues
    above 0, and other formulas take the place of this one. They need 12 rows and more.

    References
    ----------
    Ledoit and Wolf (2020), Analytical nonlinear shrinkage of large-dimensional covariance matrices. Annals of
    Statistics 48, equations 4.3, 4.7, 4.8, and C.4, C.5, C.8 for more columns than rows.
    """
    centred = rows.X - rows.X.mean(axis=0)
    n, p = len(centred) - 1, centred.shape[1]
    values, vectors = np.linalg.eigh(centred.T @ centred / n)
    values = values[max(0, p - n) :]
    width = n ** (-1 / 3)
    distances = (values[:, None] - values) / (width * values)
    density, hilbert = (np.mean(kernel / (width * values), axis=1) for kernel in _epanechnikov(distances))
    if p <= n:
        c = p / n
        found = values / ((np.pi * c * values * density) ** 2 + (1 - c - np.pi * c * values * hilbert) ** 2)
    else:
        hilbert_at_0 = _epanechnikov(np.array(-1 / width))[1] / width * np.mean(1 / values)
        of_null = 1 / (np.pi * (p - n) / n * hilbert_at_0)
        found = 1 / (np.pi**2 * values * (density**2 + hilbert**2))
        found = np.concatenate([np.full(p - n, of_null), found])
    return (vectors * found) @ vectors.T


def _epanechnikov(x: Array) -> tuple[Array, Array]:
    """Return Epanechnikov's kernel of variance 1, and its Hilbert transform."""
    root = np.sqrt(5)
    bump = 3 / (4 * root) * (1 - x**2 / 5)
    at_edge, far = np.abs(np.abs(x) - root) < 1e-12, np.abs(x) > 1e3
    ratio = np.abs((root - x) / np.where(at_edge, 1, root + x))
    near = bump * np.log(np.where(at_edge, 1, ratio)) - 3 * x / 10  # 0 log 0 = 0 at the edges
    # Far away the two terms cancel; this is the series of their difference.
    inverse = 1 / np.where(far, x, 1)
    return np.maximum(bump, 0), np.where(far, -inverse - inverse**3, near) / np.pi


def graphical_lasso(rows: Rows) -> Array:
    """Return the graphical lasso of scaled columns, with a penalty by folds."""
    if rows.X.shape[1] > MOST_COLUMNS_OF_LASSO:
        raise ValueError("too many columns")
    scale = rows.X.std(axis=0)
    model = GraphicalLassoCV(cv=_folds(rows)).fit(rows.X / scale)
    if abs(model.costs_[-1][1]) > model.tol:
        raise ValueError("the dual gap is not closed")
    return model.covariance_ * np.outer(scale, scale)


def factor_analysis(rows: Rows) -> Array:
    """Return the covariance of factor analysis, with a number of factors by folds."""
    most = min(rows.X.shape[1], len(rows.X) - len(rows.X) // rows.n_folds) - 1
    models = [FactorAnalysis(k, svd_method="lapack") for k in _NUMBERS_OF_FACTORS if k <= most]
    scores = [cross_val_score(model, rows.X, cv=_folds(rows)).mean() for model in models]
    return models[int(np.argmax(scores))].fit(rows.X).get_covariance()


def _folds(rows: Rows) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return folds that keep groups whole; the rows are in random order."""
    folds = KFold(rows.n_folds) if rows.groups is None else GroupKFold(rows.n_folds)
    return list(folds.split(rows.X, groups=rows.groups))


METHODS: dict[str, Callable[..., Array]] = {
    BASE: ledoit_wolf,
    OURS: corrected,
    PLAIN: corrected_plain,
    "OAS": oracle_approximating,
    "analytical nonlinear shrinkage": nonlinear,
    "GraphicalLassoCV": graphical_lasso,
    "FactorAnalysis": factor_analysis,
}


def covariance_by(name: str, rows: Rows) -> Array | None:
    """Return the covariance of a method; None where a rival fails or is not positive definite."""
    if name in (OURS, PLAIN):
        return METHODS[name](rows)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # The graphical lasso warns of every penalty that it tries; its answer is checked above.
            warnings.simplefilter("ignore", (ConvergenceWarning, RuntimeWarning))
            covariance = METHODS[name](rows)
        values = np.linalg.eigvalsh(covariance)
    except (ValueError, FloatingPointError, np.linalg.LinAlgError):
        return None
    return covariance if values[0] > len(values) * np.finfo(float).eps * values[-1] else None
