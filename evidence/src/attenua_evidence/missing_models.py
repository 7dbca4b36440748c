"""Models of rows with missing cells, written as they were published: missMDA, softImpute, Ledoit-Wolf by EM.

Each gives a mean and a subspace, and fills new rows.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.exceptions import ConvergenceWarning

from attenua_evidence.methods import Rows
from attenua_evidence.rivals import leading

Array = NDArray[np.float64]
Fill = Callable[[Array], Array]

SEED = 0
_PENALTIES = np.geomspace(1, 1e-4, 25)  # of softImpute, in parts of the least one whose fit is 0
_HIDDEN = 0.2  # part of the observed cells that chooses the penalty


class Fitted(NamedTuple):
    """What a method found; None where it has no answer.

    Attributes
    ----------
    mean : ndarray of shape (n_features,) or None
        The centre of the subspace.
    components : ndarray of shape (n_components, n_features) or None
        Orthonormal rows. The subspace of a smaller rank is that of the first of them.
    fill : callable or None
        Returns new rows with their nan filled.
    """

    mean: Array | None = None
    components: Array | None = None
    fill: Fill | None = None


def pca_of(filled: Array, fill: Fill) -> Fitted:
    """Return all components of rows without holes."""
    mean = filled.mean(axis=0)
    return Fitted(mean, np.linalg.svd(filled - mean, full_matrices=False)[2], fill)


# --- filling by factors -----------------------------------------------------------------------------------


def filled_by_factors(X: Array, mean: Array, loadings: Array, noise: float) -> Array:
    r"""Return rows whose missing cells are predicted from their observed ones by factors.

    A row x with observed cells o has the scores that minimise
    :math:`\|x_o - \mu_o - W_o t\|^2 + \sigma^2 \|t\|^2`, and the missing cells :math:`\mu_m + W_m t`. With
    the noise :math:`\sigma^2` this is the conditional mean under the covariance :math:`WW' + \sigma^2 I`.
    Without noise it is least squares; the shortest t is taken where the observed cells leave it open.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    mean, loadings : ndarray of shape (n_features,) and (n_features, n_factors)
        The model.
    noise : float
        Variance of the noise, 0 for least squares.
    """
    gram, products = factor_moments(X - mean, loadings)
    if noise > 0:
        scores = np.linalg.solve(gram + noise * np.eye(gram.shape[1]), products[:, :, None])
    else:
        scores = np.linalg.pinv(gram, rcond=1e-10, hermitian=True) @ products[:, :, None]
    return np.where(np.isnan(X), mean + scores[:, :, 0] @ loadings.T, X)


def factor_moments(Z: Array, loadings: Array) -> tuple[Array, Array]:
    """Return W'W and W'z over the observed cells of each row."""
    p, k = loadings.shape
    squares = (loadings[:, :, None] * loadings[:, None, :]).reshape(p, k * k)
    return (np.isfinite(Z) @ squares).reshape(len(Z), k, k), np.nan_to_num(Z) @ loadings


def filled_by_nipals(X: Array, mean: Array, loadings: Array) -> Array:
    """Return filled rows: one component after another is regressed on what the ones before it leave."""
    seen = np.isfinite(X)
    left, fitted = np.nan_to_num(X - mean), np.zeros(X.shape)
    for loading in loadings.T:
        lengths = seen @ loading**2
        scores = np.divide(left @ loading, lengths, out=np.zeros(len(X)), where=lengths > 0)
        part = np.outer(scores, loading)
        fitted += part
        left -= seen * part
    return np.where(seen, X, mean + fitted)


# --- missMDA ----------------------------------------------------------------------------------------------


def miss_mda(rows: Rows, rank: int, *, threshold: float = 1e-6, most: int = 1000, least: int = 5) -> Fitted:
    r"""Return regularised iterative PCA, the default of missMDA's ``imputePCA`` but for the scaling.

    PCA of the filled rows has eigenvalues :math:`\lambda_s`. The fit multiplies scores by
    :math:`1 - \sigma^2 / \lambda_s`, and missing cells get the fit, until the squared error of the observed
    cells changes by less than the threshold. The noise :math:`\sigma^2` is the sum of the other eigenvalues
    over their degrees of freedom, at most the next eigenvalue. For a new row the same repetition ends at the
    conditional mean under :math:`V(\Lambda - \sigma^2)V' + \sigma^2 I`, which is computed at once.

    References
    ----------
    Josse and Husson (2012), Handling missing values in exploratory multivariate data analysis methods.
    Journal de la Société Française de Statistique 153. Josse and Husson (2016), missMDA: a package for
    handling missing values in multivariate data analysis. Journal of Statistical Software 70.
    """
    n, p = rows.X.shape
    seen = np.isfinite(rows.X)
    freedom = (n - 1) * p - (n - 1) * rank - p * rank + rank**2
    filled, old = np.where(seen, rows.X, np.nanmean(rows.X, axis=0)), np.inf
    for number in range(most):
        mean = filled.mean(axis=0)
        centred = filled - mean
        values, vectors = _leading_of_rows(centred, rank + 1)
        rest = np.sum(centred**2) / n - values[:rank].sum()
        noise = min(n * p / min(p, n - 1) * max(rest, 0.0) / freedom, values[rank])
        components = vectors[:rank]
        fit = centred @ (components.T * (1 - noise / values[:rank])) @ components
        error = np.sum((centred - fit)[seen] ** 2) / n
        filled = np.where(seen, rows.X, mean + fit)
        if number >= least - 1 and abs(1 - error / old) < threshold:
            break
        old = error
    else:
        warnings.warn(f"stopped after {most} rounds", ConvergenceWarning, stacklevel=2)
    loadings = components.T * np.sqrt(values[:rank] - noise)
    return Fitted(
        mean, components, partial(filled_by_factors, mean=mean, loadings=loadings, noise=float(noise))
    )


def _leading_of_rows(centred: Array, k: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of the covariance, which divides by n, and their vectors as rows."""
    n, p = centred.shape
    wide = p > n
    matrix = (centred @ centred.T if wide else centred.T @ centred) / n
    values, vectors = eigh(matrix, subset_by_index=[len(matrix) - k, len(matrix) - 1], check_finite=False)
    values, vectors = np.maximum(values[::-1], np.finfo(float).tiny), vectors[:, ::-1]
    if wide:
        vectors = centred.T @ (vectors / np.sqrt(n * values))
    return values, vectors.T


# --- softImpute -------------------------------------------------------------------------------------------


def soft_impute(rows: Rows, rank: int) -> Fitted:
    r"""Return PCA of rows that softImpute completes.

    Columns are centred by their observed means. The fit Z minimises
    :math:`\frac12 \sum_{\rm observed} (x_{ij} - z_{ij})^2 + \lambda \|Z\|_*`. One in five observed cells are
    hidden, and the penalty is the one that predicts them best. With :math:`Z = U D V'`, a new row gets the
    scores t on :math:`V D^{1/2}` with the penalty :math:`\lambda \|t\|^2 / 2`, as in the alternating form of
    the problem, so that a fitted row would be filled as the fit does.

    References
    ----------
    Mazumder, Hastie and Tibshirani (2010), Spectral regularization algorithms for learning large incomplete
    matrices. Journal of Machine Learning Research 11.
    """
    mean = np.nanmean(rows.X, axis=0)
    Z = rows.X - mean
    chosen = np.isfinite(Z) & (np.random.default_rng([SEED, *Z.shape]).random(Z.shape) < _HIDDEN)
    with_less = np.where(chosen, np.nan, Z)
    errors = [np.mean((fit - Z)[chosen] ** 2) for _, fit, _ in soft_path(with_less, _PENALTIES)]
    penalty, fit, (sizes, vectors) = soft_path(Z, _PENALTIES[: int(np.argmin(errors)) + 1])[-1]
    loadings = (vectors * np.sqrt(sizes)[:, None]).T
    fill = partial(filled_by_factors, mean=mean, loadings=loadings, noise=penalty)
    return pca_of(np.where(np.isnan(Z), fit, Z) + mean, fill)


def soft_path(
    Z: Array, parts: Array, *, threshold: float = 1e-7, most: int = 500
) -> list[tuple[float, Array, tuple[Array, Array]]]:
    """Return the penalty, the fit, and its singular values and right vectors, for falling penalties.

    Each fit starts at the one before it, and repeats until the squared change is less than the threshold in
    parts of the fit. The authors' package stops at 1e-5 and after 100 rounds, which is too early for spectra.
    """
    seen, fit = np.isfinite(Z), np.zeros(Z.shape)
    largest = np.linalg.norm(np.nan_to_num(Z), 2)
    found = []
    for penalty in largest * parts:
        for _ in range(most):
            old = fit
            fit, kept = _soft_svd(np.where(seen, Z, old), penalty)
            if np.sum((fit - old) ** 2) <= threshold * np.sum(old**2):
                break
        found.append((float(penalty), fit, kept))
    return found


def _soft_svd(Z: Array, penalty: float) -> tuple[Array, tuple[Array, Array]]:
    """Return the matrix whose singular values are less by the penalty, with these values and its vectors."""
    wide = Z.shape[1] > Z.shape[0]
    squares, vectors = np.linalg.eigh(Z @ Z.T if wide else Z.T @ Z)
    large = squares > penalty**2
    sizes, vectors = np.sqrt(squares[large])[::-1], vectors[:, large][:, ::-1]
    left = 1 - penalty / sizes
    if wide:
        fit = (vectors * left) @ (vectors.T @ Z)
        vectors = Z.T @ (vectors / sizes)
    else:
        fit = (Z @ vectors * left) @ vectors.T
    return fit, (sizes - penalty, vectors.T)


# --- Ledoit-Wolf ------------------------------------------------------------------------------------------


def ledoit_wolf_em(rows: Rows, rank: int, *, threshold: float = 1e-4, most: int = 500) -> Fitted:
    """Return the leading eigenvectors and the conditional mean of Ledoit and Wolf's covariance, by EM.

    Missing cells start at the column means. Each round fills them by their conditional mean, adds their
    conditional covariance to the covariance of the filled rows, and shrinks it by the closed form of the
    filled rows. It ends when the filled cells change by less than 1e-4 of the columns' deviation, in the mean
    square; ten times as much is too early for spectra.
    """
    missing = np.isnan(rows.X)
    mean = np.nanmean(rows.X, axis=0)
    filled, uncertain = np.where(missing, mean, rows.X), np.zeros((len(mean), len(mean)))
    scale = np.sqrt(np.mean(np.nanvar(rows.X, axis=0)))
    for _ in range(most):
        mean = filled.mean(axis=0)
        centred = filled - mean
        covariance = centred.T @ centred / len(filled) + uncertain
        shrinkage = ledoit_wolf_shrinkage(filled)
        covariance *= 1 - shrinkage
        covariance.flat[:: len(mean) + 1] += shrinkage / (1 - shrinkage) * np.trace(covariance) / len(mean)
        old = filled
        filled, uncertain = conditional(rows.X, mean, covariance)
        if not missing.any() or np.sqrt(np.mean((filled - old)[missing] ** 2)) < threshold * scale:
            break
    else:
        warnings.warn(f"stopped after {most} rounds", ConvergenceWarning, stacklevel=2)
    components = leading(covariance, min(rows.X.shape))
    return Fitted(mean, components, lambda X: conditional(X, mean, covariance)[0])


def conditional(X: Array, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Return rows filled by the conditional mean, and the mean of the conditional covariances.

    Blocks of the inverse give both: with few missing cells they are smaller than those of observed cells.
    """
    inverse = np.linalg.inv(covariance)
    missing, filled, uncertain = np.isnan(X), X.copy(), np.zeros_like(covariance)
    pulls = np.where(missing, 0, X - mean) @ inverse
    for row, holes, pull in zip(filled, missing, pulls, strict=True):
        if holes.any():
            where = np.flatnonzero(holes)
            block = np.linalg.inv(inverse[np.ix_(where, where)])
            row[where] = mean[where] - block @ pull[where]
            uncertain[np.ix_(where, where)] += block
    return filled, uncertain / len(X)
