"""Components of a subspace: turned, ordered, signed and measured as a user of PCA expects."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua.affine import Subspace, rounding
from attenua.moments import Moments
from attenua.validation import caller_level

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PrincipalAxes:
    """A subspace turned so that scores are uncorrelated and ordered by variance.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        Orthonormal rows; the loading of largest magnitude in each is positive.
    explained_variance : ndarray of shape (n_components,)
        Variance of the scores in the data's own units, divided by n - 1.
    explained_variance_ratio : ndarray of shape (n_components,)
        The same as a part of the total variance.
    """

    components: Array
    explained_variance: Array
    explained_variance_ratio: Array


def principal_axes(moments: Moments, subspace: Subspace) -> PrincipalAxes:
    r"""Rotate a basis so that :math:`U^\top S U` is diagonal and decreasing, with fixed signs."""
    variances, rotation = np.linalg.eigh(moments.compress(subspace.basis))
    variances, rotation = variances[::-1], rotation[:, ::-1]
    components = (subspace.basis @ _settle_ties(variances, rotation, subspace.values)).T
    rows = np.arange(len(components))
    # Loadings within rounding of the largest count as equal, so that the sign is the same on every machine.
    magnitudes = np.abs(components)
    largest = np.argmax(magnitudes >= (1 - 1e-6) * magnitudes.max(axis=1, keepdims=True), axis=1)
    components *= np.where(components[rows, largest] < 0, -1.0, 1.0)[:, None]
    explained = np.maximum(variances, 0.0) * (moments.weight / (moments.weight - 1))
    ratio = explained / unbiased_total(moments) if moments.total_variance > 0 else 0 * explained
    return PrincipalAxes(components, in_data_units(explained, moments), ratio)


def unbiased_total(moments: Moments) -> float:
    """Return the total variance divided by n - 1, in the moments' unit."""
    return moments.total_variance * moments.weight / (moments.weight - 1)


def in_data_units(squares: Any, moments: Moments, power: float = 1.0) -> Any:
    """Return variances or risks, or a power of them, in the data's own units; beyond 1e308, infinity."""
    unit = np.float64(moments.unit) ** power
    with np.errstate(over="ignore", under="ignore"):
        return squares * unit * unit


def _settle_ties(variances: Array, rotation: Array, values: Array) -> Array:
    """Where components explain the same variance (often none), order them by the attenuated eigenvalue."""
    rotation = rotation.copy()
    distinct = -np.diff(variances) > rounding(len(variances), np.abs(variances).max())
    for tied in np.split(np.arange(len(variances)), np.flatnonzero(distinct) + 1):
        if len(tied) > 1:
            R = rotation[:, tied]
            rotation[:, tied] = R @ np.linalg.eigh((R.T * values) @ R)[1][:, ::-1]
    return rotation


def warn_of_tie(rank: int, where: str = "") -> None:
    """Warn that a cut falls on equal eigenvalues."""
    warnings.warn(
        f"The cut at n_components={rank} falls on a tie{where}: component {rank + 1} would be as good as "
        f"component {rank}, so the data do not determine the subspace. One of the equally good ones was "
        "taken, always the same for the same data. Choose another n_components to avoid it.",
        stacklevel=caller_level(),
    )
