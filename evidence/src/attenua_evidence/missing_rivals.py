"""PCA and filling of rows with missing cells: ours, and what people use.

A method fits rows in which missing cells are nan. It gives a mean and a subspace, and fills new rows. Where
columns are comparable all methods see them as they are; mixed units are scaled before. So options that scale
columns are off. missMDA and softImpute are not in Debian; :mod:`attenua_evidence.missing_models` has them.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from attenua import CorrectedCovariance, CorrectedPCACV
from attenua_evidence.methods import Rows
from attenua_evidence.missing_models import (
    SEED,
    Array,
    Fill,
    Fitted,
    factor_moments,
    filled_by_factors,
    filled_by_nipals,
    ledoit_wolf_em,
    miss_mda,
    pca_of,
    soft_impute,
)
from attenua_evidence.pcamethods import RFit, shared_process
from attenua_evidence.rivals import orthonormal

MEANS, ITERATIVE, LEDOIT_WOLF = "column means + PCA", "IterativeImputer + PCA", "Ledoit-Wolf EM"
PLAIN = ", no order given"
OUR_SUBSPACE, OUR_FILLING = "CorrectedPCACV", "CorrectedCovariance"
OURS = (OUR_SUBSPACE, OUR_SUBSPACE + PLAIN, OUR_FILLING, OUR_FILLING + PLAIN)
_MOST_OF_BPCA = 40


# --- ours -------------------------------------------------------------------------------------------------


def corrected_pca(rows: Rows, rank: int, *, ordered: bool = True) -> Fitted:
    """Return the corrections that held-out rows choose, with the order of the columns or without."""
    model = CorrectedPCACV(rank, neighbours=rows.order if ordered else None, cv=rows.n_folds)
    model.fit(rows.X, groups=rows.groups)
    return Fitted(model.mean_, model.components_)


def corrected_covariance(rows: Rows, rank: int, *, ordered: bool = True) -> Fitted:
    """Return the conditional mean under the corrected covariance."""
    model = CorrectedCovariance(neighbours=rows.order if ordered else None)
    return Fitted(fill=model.fit(rows.X, groups=rows.groups).impute)


# --- filling, then PCA ------------------------------------------------------------------------------------


def imputed(rows: Rows, rank: int, *, imputer: Callable[[], Any]) -> Fitted:
    """Return PCA of rows that an imputer of scikit-learn fills; it fills new rows too."""
    model = imputer()
    return pca_of(model.fit_transform(rows.X), model.transform)


# --- statsmodels and R's pcaMethods -----------------------------------------------------------------------


def statsmodels_em(rows: Rows, rank: int) -> Fitted:
    """Return statsmodels' PCA with ``missing="fill-em"``; new rows are filled by least squares, as it does.

    It needs as many observed cells as components in each row and column. Its limit of 100 rounds is silent.
    """
    from statsmodels.multivariate.pca import PCA

    model = PCA(rows.X, ncomp=rank, standardize=False, missing="fill-em")
    loadings, mean = np.asarray(model.loadings), np.asarray(model._mu)
    return Fitted(
        mean, orthonormal(loadings.T), partial(filled_by_factors, mean=mean, loadings=loadings, noise=0)
    )


def pca_methods(rows: Rows, rank: int, *, method: str) -> Fitted:
    """Return a PCA of pcaMethods by R.

    bpca switches components off by itself, and its authors advise as many as there can be: with few it
    starts at so much noise that it often switches all off. It gets 40 for all ranks, or one less than rows
    and columns allow; more take several seconds with 128 rows. The subspace is that of the rows it completes,
    since directions that are off are arbitrary.

    New rows are not filled by its own ``predict``, which puts 0 for missing cells before it projects. ppca
    and bpca are Gaussian models, so they get their conditional mean; nipals computes the scores of a row as
    it does those of the fitted ones.
    """
    if method == "bpca":
        rank = min(_MOST_OF_BPCA, min(rows.X.shape) - 1)
    found = shared_process().fit(method, rows.X, rank)
    if "max iterations" in found.notes:
        warnings.warn(found.notes, ConvergenceWarning, stacklevel=2)
    if method == "nipals":
        fill: Fill = partial(filled_by_nipals, mean=found.centre, loadings=found.loadings)
    else:
        loadings, noise = gaussian_factors(rows.X, found, is_scaled=method == "bpca")
        fill = partial(filled_by_factors, mean=found.centre, loadings=loadings, noise=noise)
    if method == "bpca":
        return pca_of(fill(rows.X), fill)
    return Fitted(found.centre, orthonormal(found.loadings.T), fill)


def gaussian_factors(X: Array, found: RFit, *, is_scaled: bool) -> tuple[Array, float]:
    r"""Return the loadings W of the Gaussian model of a fit, and its noise, which R does not return.

    The noise is the one of the greatest likelihood of the observed cells, with these loadings: those of bpca
    are W itself, those C of ppca are orthonormal and :math:`W = C (\Lambda - \sigma^2)^{1/2}` with the
    variances :math:`\Lambda` of the scores (Tipping and Bishop 1999).
    """
    Z = X - found.centre
    variances, total = found.scores.var(axis=0), np.nanmean(Z**2)
    counts = np.isfinite(Z).sum(axis=1)

    def loadings(noise: float) -> Array:
        return found.loadings if is_scaled else found.loadings * np.sqrt(np.maximum(variances - noise, 0))

    def minus_log_likelihood(log_noise: float) -> float:
        noise = np.exp(log_noise)
        gram, products = factor_moments(Z, loadings(noise))
        k = gram.shape[1]
        inner = gram + noise * np.eye(k)
        explained = np.sum(products * np.linalg.solve(inner, products[:, :, None])[:, :, 0])
        log_determinants = np.sum((counts - k) * log_noise) + np.sum(np.linalg.slogdet(inner)[1])
        return float(log_determinants + (np.nansum(Z**2) - explained) / noise)

    bounds = np.log(total) + np.log([1e-6, 1.0])
    noise = float(np.exp(minimize_scalar(minus_log_likelihood, bounds=bounds, method="bounded").x))
    return loadings(noise), noise


# --- the registry -----------------------------------------------------------------------------------------


class Method(NamedTuple):
    """How a method is fitted.

    Attributes
    ----------
    fit : callable
        ``(rows, rank) -> Fitted``.
    by_rank : bool
        Whether the fit depends on the rank; others are fitted once for all ranks.
    package : str
        What it needs besides scikit-learn, as :mod:`attenua_evidence.needs` names it.
    """

    fit: Callable[[Rows, int], Fitted]
    by_rank: bool = True
    package: str = ""


METHODS: dict[str, Method] = {
    MEANS: Method(partial(imputed, imputer=SimpleImputer), by_rank=False),
    "statsmodels fill-em": Method(statsmodels_em, package="statsmodels"),
    ITERATIVE: Method(partial(imputed, imputer=lambda: IterativeImputer(random_state=SEED)), by_rank=False),
    "KNNImputer + PCA": Method(partial(imputed, imputer=KNNImputer), by_rank=False),
    "pcaMethods ppca": Method(partial(pca_methods, method="ppca"), package="pcaMethods"),
    "pcaMethods bpca": Method(partial(pca_methods, method="bpca"), by_rank=False, package="pcaMethods"),
    "pcaMethods nipals": Method(partial(pca_methods, method="nipals"), package="pcaMethods"),
    "missMDA": Method(miss_mda),
    "softImpute + PCA": Method(soft_impute, by_rank=False),
    LEDOIT_WOLF: Method(ledoit_wolf_em, by_rank=False),
    OUR_SUBSPACE: Method(corrected_pca),
    OUR_SUBSPACE + PLAIN: Method(partial(corrected_pca, ordered=False)),
    OUR_FILLING: Method(corrected_covariance, by_rank=False),
    OUR_FILLING + PLAIN: Method(partial(corrected_covariance, ordered=False), by_rank=False),
}
RIVALS = tuple(name for name in METHODS if name not in OURS)
