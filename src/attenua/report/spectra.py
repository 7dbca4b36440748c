"""The spectrum before and after attenuation."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.columns import column_labels
from attenua._data.moments import Moments, in_data_units
from attenua.path import attenuation_path

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Spectra:
    """Leading eigenvalues of S and of the attenuated matrix, some beyond the cut."""

    alpha: float
    before: Array
    after: Array


def find_spectra(estimator: Any, X: Any, moments: Moments, alpha: float) -> Spectra:
    """Compute both spectra of the rows of a fit, for one strength."""
    rank, groups = int(estimator.n_components_), estimator.feature_groups
    before, after = (_spectrum(X, moments, rank, strength, groups) for strength in (0.0, alpha))
    return Spectra(alpha, before, after)


def _spectrum(X: Any, moments: Moments, rank: int, alpha: float, groups: Any) -> Array:
    """Return the leading eigenvalues of the attenuated matrix, divided by n - 1, some beyond the cut."""
    n, p = X.shape
    count = min(max(2 * rank, rank + 10), max(rank, 60), p, max(n - 1, rank))
    U = attenuation_path(X, count, alphas=[alpha], feature_groups=groups).components[-1].T.astype(float)
    # U spans the leading eigenvectors of T, so that U'TU has the leading eigenvalues.
    T = moments.compress(U) - alpha * U.T @ moments.part(column_labels(groups, p))(U)
    return in_data_units(np.linalg.eigvalsh(T)[::-1] * n / (n - 1), moments.unit)
