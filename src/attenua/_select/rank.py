"""How many components: an int, a fraction of variance, or as many as the data allow."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.moments import Moments
from attenua._data.namespace import to_host
from attenua._data.splits import Splits
from attenua._select.rule import pca_subspace

# Up to this size the whole spectrum of PCA is computed at once.
_WHOLE_SPECTRUM = 4_000


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


def _count(values: NDArray[np.float64], fraction: float, moments: Moments, limit: int) -> int:
    ratios = np.cumsum(np.maximum(values, 0)) / max(moments.total_variance, np.finfo(float).tiny)
    return min(int(np.searchsorted(ratios, fraction, side="right")) + 1, limit)
