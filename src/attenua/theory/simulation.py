"""Excess risks of samples drawn from a population: exact, where the expansion in 1/n is not."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import pdist, squareform

from attenua._correct.registry import Strengths
from attenua._correct.row_tempering import pair_weights, row_weights
from attenua._data.reweighting import laplacian
from attenua.theory.cutoff import Array, excess_risk
from attenua.theory.maps import CorrectionMap
from attenua.theory.population import Population


def fitted_risks(population: Population, rows: Array, candidates: Sequence[Strengths]) -> Array:
    r"""Return the excess risk :math:`\operatorname{tr}\{\Sigma (P_* - \hat P)\}` of every candidate's fit.

    Parameters
    ----------
    population : Population
        Where the rows come from.
    rows : ndarray of shape (n, p)
        Rows of mean 0, or centred, in units of the population's `scaled` covariance.
    candidates : sequence of Strengths
        Row tempering is of pairs of rows, or of single rows, as the population has it.
    """
    covariances, risks = {}, []
    for candidate in candidates:
        kappa = candidate.row_tempering
        if kappa not in covariances:
            tempered = _of_pairs if kappa and population._row_pairs else _of_rows
            covariances[kappa] = tempered(rows, kappa)
        T = CorrectionMap(candidate, population._labels, population._smoother).value(covariances[kappa])
        p, d = len(T), population.n_components
        frame = eigh(T, subset_by_index=[p - d, p - 1], check_finite=False)[1]
        risks.append(excess_risk(population.cutoff, frame) * population.unit)
    return np.array(risks)


def _of_rows(rows: Array, kappa: float) -> Array:
    r"""Return the mean of :math:`|x|^{-2\kappa} x x^\top`."""
    squared = np.sum(rows**2, axis=1)
    return (rows.T * row_weights(squared, kappa)) @ rows / len(rows)


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
