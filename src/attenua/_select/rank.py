"""How many components: what users write, and what stands out of the noise.

Bi-cross-validation measures errors of entries whose row and column were held out (Owen and Perry, 2009). What
a component must explain to be more than noise comes from shuffled columns, or from Gavish and Donoho (2014).
"""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from attenua._data.moments import Moments
from attenua._data.namespace import to_host
from attenua._data.splits import Splits
from attenua._select.rule import pca_subspace

Array = NDArray[np.float64]

# Up to this size the whole spectrum of PCA is computed at once.
_WHOLE_SPECTRUM = 4_000
# Errors closer than this part of the error of rank 0 differ by rounding only.
_ROUNDING = 1e-12
# An eigenvalue must exceed this quantile of those of shuffled copies.
_QUANTILE = 0.95


def resolve_rank(n_components: Any, moments: Splits, n_samples: int) -> int:
    """Return the rank for `n_components`: a number, a fraction of PCA's variance, or None for all."""
    # A row of weight 2 stands for two rows, so weights can allow more components than rows, as in PCA.
    limit = min(max(n_samples, int(moments.weight)), moments.n_features)
    if n_components is None:
        return limit
    if isinstance(n_components, numbers.Integral) and not isinstance(n_components, bool):
        if not 1 <= int(n_components) <= limit:
            raise ValueError(
                f"n_components={n_components} must be between 1 and {limit}, the smaller of the number of "
                f"rows ({n_samples}) and columns ({moments.n_features})."
            )
        return int(n_components)
    if isinstance(n_components, numbers.Real) and 0 < float(n_components) < 1:
        return _rank_for_fraction(float(n_components), moments.total, limit)
    # scikit-learn's PCA takes "mle".
    advice = " attenua.choose_rank chooses a number." if isinstance(n_components, str) else ""
    raise ValueError(
        f"n_components must be None, an integer from 1 to {limit}, or a fraction of variance strictly "
        f"between 0 and 1; got {n_components!r}.{advice}"
    )


def _rank_for_fraction(fraction: float, moments: Moments, limit: int) -> int:
    """Return the least rank at which ordinary PCA explains more than a fraction of the variance."""
    if not moments.forms_covariance and moments.has_few_rows:
        return _count(moments.spectrum(), fraction, moments, limit)
    if moments.n_features <= _WHOLE_SPECTRUM:
        return _count(to_host(moments.xp.linalg.eigvalsh(moments.covariance))[::-1], fraction, moments, limit)
    rank = 16
    while True:
        rank = min(rank, limit)
        values = pca_subspace(moments, rank).values
        if rank == limit or values.sum() > fraction * moments.total_variance:
            return _count(values, fraction, moments, limit)
        rank *= 2


def _count(values: Array, fraction: float, moments: Moments, limit: int) -> int:
    ratios = np.cumsum(np.maximum(values, 0)) / max(moments.total_variance, np.finfo(float).tiny)
    return min(int(np.searchsorted(ratios, fraction, side="right")) + 1, limit)


def partition_errors(
    X: Array, row_sets: Sequence[NDArray[np.intp]], column_sets: Sequence[NDArray[np.intp]], max_rank: int
) -> Array:
    """Return the squared error of ranks 0 to `max_rank`, summed over all blocks that are held out in turn.

    Columns are centred on the rows that are held in.
    """
    total = np.zeros(max_rank + 1)
    for rows in row_sets:
        other_rows = np.setdiff1d(np.arange(len(X)), rows)
        centred = X - X[other_rows].mean(axis=0)
        for columns in column_sets:
            other_columns = np.setdiff1d(np.arange(X.shape[1]), columns)
            total += block_errors(
                centred[np.ix_(rows, columns)],
                centred[np.ix_(rows, other_columns)],
                centred[np.ix_(other_rows, columns)],
                centred[np.ix_(other_rows, other_columns)],
                max_rank,
            )
    return total


def block_errors(A: Array, B: Array, C: Array, D: Array, max_rank: int) -> Array:
    r"""Return the squared Frobenius norm of :math:`A - B \hat D_k^+ C` for every rank k from 0 to `max_rank`.

    A is the held-out block, B the rest of its rows, C the rest of its columns, and D the block held in.
    """
    if len(D) > D.shape[1]:  # the transpose has the same residual and the smaller Gram matrix
        return block_errors(A.T, C.T, B.T, D.T, max_rank)
    values, vectors = np.linalg.eigh(D @ D.T)  # D = U d V', so B V / d = B D' U / d^2
    rank = min(max_rank, int(np.sum(values > values[-1] * max(D.shape) * np.finfo(float).eps)))
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    left = B @ D.T @ vectors / values
    # |A - LR|^2 = |A|^2 - 2 tr(L'AR') + tr(L'L RR') with R = U'C. The leading k terms give the error of rank
    # k, so no residual is formed.
    crossed = np.sum(left * (A @ C.T @ vectors), axis=0)
    squared = (left.T @ left) * (vectors.T @ (C @ C.T) @ vectors)
    added = 2 * np.tril(squared, -1).sum(axis=1) + np.diag(squared) - 2 * crossed
    errors = np.sum(A**2) + np.concatenate([[0.0], np.cumsum(added)])
    return np.pad(np.maximum(errors, 0), (0, max_rank - rank), mode="edge")


def least_error(errors: Array) -> int:
    """Return the rank of the least mean error (a row for each partition); of equal ones the smallest."""
    mean = errors.mean(axis=0)
    return int(np.argmax(mean <= mean.min() + _ROUNDING * mean[0]))


def guarded_least_error(errors: Array) -> int:
    """Return the smallest rank that is not clearly worse than that of the least mean error.

    It is clearly worse if its error is larger by more than one standard deviation of the difference over
    partitions. Partitions share their rows, so the deviation is not divided by the root of their number.
    """
    worse = errors - errors[:, [least_error(errors)]]
    return int(np.argmax(worse.mean(axis=0) <= worse.std(axis=0) + _ROUNDING * errors[:, 0].mean()))


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
    return np.quantile(copies, _QUANTILE, axis=0)


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
