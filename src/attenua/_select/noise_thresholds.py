"""What a component must explain to be more than noise: by shuffled columns, by Gavish and Donoho."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Array = NDArray[np.float64]

# An eigenvalue must exceed this quantile of those of shuffled copies.
QUANTILE = 0.95


def spectrum(X: Array) -> Array:
    """Return the eigenvalues of the covariance of centred rows, largest first, as parts of their sum.

    Those of rounding size are 0.
    """
    gram = X @ X.T if len(X) < X.shape[1] else X.T @ X
    values = np.linalg.eigvalsh(gram)[::-1] / float(np.trace(gram))
    # Eigenvalues that are rounding only would stand out of one another.
    return np.where(values > len(gram) * np.finfo(float).eps, values, 0.0)


def shuffled_thresholds(X: Array, n_repeats: int, random: np.random.Generator) -> Array:
    """Return the 95% quantiles of the spectrum of X with each column shuffled on its own."""
    copies = [spectrum(random.permuted(X, axis=0)) for _ in range(n_repeats)]
    return np.quantile(copies, QUANTILE, axis=0)


def hard_threshold(X: Array) -> float:
    r"""Return the part of the variance above which Gavish and Donoho (2014) keep a component.

    Their rule for unknown noise keeps a singular value above :math:`\lambda(\beta) / \sqrt{\mu_\beta}` times
    the median one, with :math:`\mu_\beta` the median of the Marchenko-Pastur law. Here it is squared.
    """
    sizes = (len(X) - 1, X.shape[1])  # centring takes one row's worth
    ratio = min(sizes) / max(sizes)
    squared_factor = 2 * (ratio + 1) + 8 * ratio / (ratio + 1 + np.sqrt(ratio**2 + 14 * ratio + 1))
    median = np.median(np.sqrt(spectrum(X)[: min(sizes)]))
    return float(squared_factor / marchenko_pastur_median(ratio) * median**2)


def marchenko_pastur_median(ratio: float) -> float:
    """Return the median of the Marchenko-Pastur law of unit variance; the ratio is columns over rows."""
    low, width = (1 - np.sqrt(ratio)) ** 2, 4 * np.sqrt(ratio)
    nodes, weights = np.polynomial.legendre.leggauss(200)

    # The values are low + width sin^2(angle): the density in the angle has no square roots at the ends.
    def part_below(angle: float) -> float:
        angles = angle / 2 * (nodes + 1)
        density = np.sin(2 * angles) ** 2 / (low + width * np.sin(angles) ** 2)
        return float(angle / 2 * np.sum(weights * density) * width**2 / (4 * np.pi * ratio))

    median = brentq(lambda angle: part_below(angle) - 0.5, 0.1, np.pi / 2)
    return float(low + width * np.sin(median) ** 2)
