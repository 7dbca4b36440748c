"""Components of a subspace: rotated, ordered, signed and measured as a user of PCA expects."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.checks import caller_level
from attenua._data.moments import Moments, in_data_units
from attenua._data.namespace import array_namespace, asarray_like, to_host
from attenua._solve.subspace import Subspace, rounding, small_eigh

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PrincipalAxes:
    """A basis of a subspace in which scores are uncorrelated and ordered by variance."""

    components: Any  # orthonormal rows; the loading of largest magnitude in each is positive
    explained_variance: Array  # variances of the scores in the data's own units, divided by n - 1
    explained_variance_ratio: Array  # the same as parts of the total variance


def principal_axes(moments: Moments, subspace: Subspace) -> PrincipalAxes:
    r"""Rotate a basis so that :math:`U^\top S U` is diagonal and decreasing, with fixed signs."""
    basis = subspace.basis
    variances, rotation = small_eigh(to_host(moments.compress(basis)))
    rotation = _with_ties_ordered(variances, rotation, subspace.values)
    components = _signed((basis @ asarray_like(basis, rotation)).T)
    explained = np.maximum(variances, 0.0) * (moments.weight / (moments.weight - 1))
    ratio = explained / unbiased_total(moments) if moments.total_variance > 0 else 0 * explained
    return PrincipalAxes(components, in_data_units(explained, moments.unit), ratio)


def _signed(components: Any) -> Any:
    """Return the components, each with its loading of largest magnitude positive."""
    xp = array_namespace(components)
    magnitudes = xp.abs(components)
    # Loadings within rounding of the largest count as equal, so that the sign is the same on every machine.
    is_largest = magnitudes >= (1 - 1e-6) * xp.max(magnitudes, axis=1, keepdims=True)
    first = xp.argmax(xp.astype(is_largest, xp.int8), axis=1)
    # One index into all loadings: scikit-learn 1.6 tests without take_along_axis.
    count, length = components.shape
    starts = length * xp.arange(count, device=components.device)
    largest = xp.take(xp.reshape(components, (-1,)), starts + first, axis=0)
    return xp.where(largest[:, None] < 0, -components, components)


def unbiased_total(moments: Moments) -> float:
    """Return the total variance divided by n - 1, in the moments' unit."""
    return moments.total_variance * moments.weight / (moments.weight - 1)


def _with_ties_ordered(variances: Array, rotation: Array, values: Array) -> Array:
    """Where components explain the same variance (often none), order them by the corrected eigenvalue."""
    rotation = rotation.copy()
    distinct = -np.diff(variances) > rounding(len(variances), np.abs(variances).max())
    for tied in np.split(np.arange(len(variances)), np.flatnonzero(distinct) + 1):
        if len(tied) > 1:
            R = rotation[:, tied]
            rotation[:, tied] = R @ small_eigh((R.T * values) @ R)[1]
    return rotation


def warn_of_tie(rank: int, where: str = "") -> None:
    """Warn that a cut falls on equal eigenvalues."""
    warnings.warn(
        f"The cut at n_components={rank} falls on a tie{where}: component {rank + 1} would be as good as "
        f"component {rank}, so the data do not determine the subspace. One of the equally good ones was "
        "taken, always the same for the same data. Choose another n_components to avoid it.",
        stacklevel=caller_level(),
    )
