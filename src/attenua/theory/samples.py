"""Estimates of a population from a sample, and risks in samples that are drawn from a population.

The risks of drawn samples are exact, where the expansion in 1/n is not.
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.spatial.distance import pdist, squareform
from scipy.special import polygamma

from attenua._correct.registry import Strengths
from attenua._correct.row_tempering import pair_weights
from attenua._data.reweighting import laplacian
from attenua.theory.cutoff import Array, excess_risk
from attenua.theory.laws import Gaussian, Law, StudentT
from attenua.theory.population import Population

# Heavier tails than these have fourth moments that no sample shows, and a risk that 1/n does not describe.
_LEAST_DEGREES, _MOST_DEGREES = 5.0, 200.0


def factor_covariance(S: Array, n_components: int, n: float) -> Array:
    r"""Return `n_components` factors and a diagonal, with the variances of S.

    Sample eigenvalues of factors are too large by about :math:`c \sigma^2 \ell / (\ell - \sigma^2)` with
    :math:`c = p/n` and noise of variance :math:`\sigma^2` (Baik and Silverstein, 2006). Solving for
    :math:`\ell` takes that away. The rest of S keeps its diagonal only:

    .. math::

        \hat\Sigma = \sum_{j \le d} (\ell_j - \sigma^2) u_j u_j^\top + \text{a diagonal}, \qquad
        \operatorname{diag}(\hat\Sigma) = \operatorname{diag}(S) .
    """
    p, d = len(S), n_components
    values, vectors = np.linalg.eigh(S)
    leading, directions = values[::-1][:d], vectors[:, ::-1][:, :d]
    noise, ratio = values[:-d].sum() / (p - d), p / n
    # The factors hold some noise too; two rounds are enough to estimate how much.
    for _ in range(2):
        factors = _without_noise(leading, noise, ratio)
        noise = (np.trace(S) - factors.sum()) / (p - d)
    above = (directions * np.clip(factors - noise, 0, None)) @ directions.T
    return above + np.diag(np.diag(S) - np.diag(above))


def _without_noise(values: Array, noise: float, ratio: float) -> Array:
    r"""Return :math:`\ell` of every sample eigenvalue.

    Noise alone reaches :math:`\sigma^2 (1 + \sqrt c)^2`, where :math:`\ell = \sigma^2 (1 + \sqrt c)`. Values
    below that tell nothing of :math:`\ell`; they keep their order.
    """
    half = (values + noise - ratio * noise) / 2
    edge = noise * (1 + np.sqrt(ratio)) ** 2
    below = noise * (1 + np.sqrt(ratio) * values / edge) if edge > 0 else values
    return np.where(values > edge, half + np.sqrt(np.maximum(half**2 - values * noise, 0.0)), below)


def blended_covariance(S: Array, n_components: int, n: float) -> Array:
    r"""Return a mean of S and its `factor_covariance` F, with the weight of F that their distance suggests.

    .. math::

        w = \min\Bigl\{1, \sum_{i \ne j} \frac{s_{ii} s_{jj} + s_{ij}^2}{n} \Big/
        \sum_{i \ne j} (s_{ij} - f_{ij})^2 \Bigr\} :

    1 where S differs from F no more than by the errors of its entries, and small where the columns are
    correlated beyond the factors and rows are many. This is the intensity of Ledoit and Wolf (2003) for
    Gaussian rows, with F taken as given.
    """
    unit = np.abs(S).max()
    S = S / unit  # so that no square overflows or vanishes
    F, variances = factor_covariance(S, n_components, n), np.diag(S)
    errors = np.sum(np.outer(variances, variances) + S**2) - 2 * np.sum(variances**2)
    distance = n * np.sum((S - F) ** 2)
    weight = min(1.0, errors / distance) if distance > 0 else 1.0
    return unit * (weight * F + (1 - weight) * S)


def tail_law(rows: Array) -> Law:
    r"""Return the Student t law, or the Gaussian, that has the tails of rows of mean 0.

    For elliptical rows :math:`x = \sqrt\tau g` the logarithms of the squared lengths have the variance of
    :math:`\log \tau` and that of :math:`\log |g|^2`. The first is :math:`\psi_1(\nu/2)` for a Student t law,
    the second about :math:`\psi_1(r/2)` with the effective dimension :math:`r = (\operatorname{tr}
    \Sigma)^2 / \operatorname{tr} \Sigma^2`. Unlike a fourth moment, this exists for every law, and few rows
    show it. At least two rows must not be 0.
    """
    rows = rows / np.abs(rows).max()
    squared = np.sum(rows**2, axis=1)
    squared = squared[squared > 0]
    gram = rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows
    # Sums over pairs of different rows: long rows do not meet themselves.
    crossed = np.sum(gram**2) - np.sum(squared**2)
    lengths = squared.sum() ** 2 - np.sum(squared**2)
    dimension = min(lengths / crossed, rows.shape[1]) if crossed > 0 else rows.shape[1]
    excess = np.var(np.log(squared), ddof=1) - polygamma(1, dimension / 2)
    if excess <= polygamma(1, _MOST_DEGREES / 2):
        return Gaussian()
    if excess >= polygamma(1, _LEAST_DEGREES / 2):
        return StudentT(_LEAST_DEGREES)
    degrees = brentq(lambda df: polygamma(1, df / 2) - excess, _LEAST_DEGREES, _MOST_DEGREES)
    return StudentT(round(float(degrees), 1))


def fitted_risks(population: Population, rows: Array, candidates: Sequence[Strengths]) -> Array:
    r"""Return the excess risk :math:`\operatorname{tr}\{\Sigma (P_* - \hat P)\}` of every candidate's fit.

    The rows have mean 0, or are centred, in units of the population's `scaled` covariance. Row tempering is
    of pairs of rows, or of single rows, as the population has it.
    """
    covariances, risks = {}, []
    for candidate in candidates:
        kappa = candidate.row_tempering
        if kappa not in covariances:
            tempered = _of_pairs if kappa and population._row_pairs else _of_rows
            covariances[kappa] = tempered(rows, kappa)
        T = population._map(candidate).value(covariances[kappa])
        p, d = len(T), population.n_components
        frame = eigh(T, subset_by_index=[p - d, p - 1], check_finite=False)[1]
        risks.append(excess_risk(population.cutoff, frame) * population.unit)
    return np.array(risks)


def _of_rows(rows: Array, kappa: float) -> Array:
    r"""Return the mean of :math:`|x|^{-2\kappa} x x^\top`."""
    squared = np.sum(rows**2, axis=1)
    return (rows.T * pair_weights(squared, kappa)) @ rows / len(rows)


def _of_pairs(rows: Array, kappa: float) -> Array:
    r"""Return the sum over pairs of :math:`|x - x'|^{-2\kappa} (x - x')(x - x')^\top`, over :math:`n^2`."""
    weights = squareform(pair_weights(pdist(rows, "sqeuclidean"), kappa))
    return rows.T @ laplacian(weights) @ rows / len(rows) ** 2


def simulated_gain(pca: Array, corrected: Array) -> tuple[float, float]:
    r"""Return the share of PCA's mean risk that a correction removes, and its standard error.

    Samples are paired: the error is that of :math:`\bar r / \bar r_0` by the delta method, from the residuals
    :math:`r - (\bar r / \bar r_0)\, r_0`.
    """
    # Shares first: squares of tiny or huge risks would vanish or overflow.
    pca, corrected = pca / pca.mean(), corrected / pca.mean()
    ratio = corrected.mean()
    error = np.std(corrected - ratio * pca, ddof=1) / np.sqrt(len(pca))
    return float(1 - ratio), float(error)
