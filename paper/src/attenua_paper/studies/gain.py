"""How much of PCA's avoidable error on test rows another subspace removes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def best_affine_risk(X: Array, rank: int) -> float:
    r"""Return the error of the best rank-d affine subspace fitted to the rows themselves.

    It is the sum of the smallest :math:`p - d` eigenvalues of their covariance, the reference
    :math:`R^{(d)}_{\rm test}` of the paper's eq. real-data-gain.
    """
    centred = X - X.mean(axis=0)
    eigenvalues = np.linalg.eigvalsh(centred.T @ centred / len(X))
    return float(eigenvalues[: X.shape[1] - rank].sum())


def excess_risk_removed(pca_risk: float, risk: Any, reference: float) -> Any:
    r"""Return the percentage of PCA's test excess risk that a method removes (eq. real-data-gain).

    .. math:: G = 100\,(R^{\rm PCA} - R) / (R^{\rm PCA} - R^{(d)})

    The risk may be a number or an array.
    """
    return 100 * (pca_risk - risk) / (pca_risk - reference)


def mean_and_error(values: Array) -> tuple[float, float]:
    """Return a mean and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
