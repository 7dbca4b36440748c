"""Fitted attributes: a table of what each is and how it is stored, and those that a subspace gives.

All code that sets, deletes, saves or loads fitted attributes reads this table. A new attribute is one new
entry.
"""

import numbers
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.checks import caller_level
from attenua._data.moments import Moments, in_data_units
from attenua._data.namespace import array_namespace, asarray_like, to_host
from attenua._select.steps import Steps
from attenua._solve.subspace import Subspace, rounding, small_eigh

Array = NDArray[np.float64]


class Kind(Enum):
    """How a fitted attribute is held; one that is None stays None."""

    DATA = "array of the type, library and device of the data"
    SCALAR = "one number of the type of the data"
    GRID = "array of doubles, of the library and device of the data"
    NUMBER = "float"
    NUMBERS = "list of floats"
    MEASURED = "float, NaN where it was not measured"
    COUNT = "int"
    TEXT = "str"
    CHOICES = "list of dicts of the strength of each correction"
    STEPS = "table of the steps of a search"


SUBSPACE = {
    "components_": Kind.DATA,
    "mean_": Kind.DATA,
    "scale_": Kind.DATA,
    "explained_variance_": Kind.DATA,
    "explained_variance_ratio_": Kind.DATA,
    "singular_values_": Kind.DATA,
    "noise_variance_": Kind.SCALAR,
    "n_components_": Kind.COUNT,
    "n_samples_": Kind.COUNT,
    "shortfall_": Kind.NUMBER,
}


def store(estimator: Any, values: Mapping[str, Any], like: Any, dtype: type) -> None:
    """Set fitted attributes, each as its kind requires; arrays get the library and device of `like`."""
    table = type(estimator)._fitted
    for name, value in values.items():
        held = None if value is None else _as_kind(table[name], value, like, dtype)
        setattr(estimator, name, held)


def check_switches(estimator: Any) -> None:
    """Raise unless parameters that switch something on are True or False; text such as "no" is neither."""
    for name in ("scale", "whiten", "nested", "assume_centered"):
        value = vars(estimator).get(name, False)
        if not isinstance(value, (bool, np.bool_, numbers.Integral)) or value not in (0, 1):
            raise ValueError(f"{name} must be True or False; got {value!r}.")


@contextmanager
def fit_from_nothing(estimator: Any) -> Iterator[None]:
    """Forget what was fitted; a fit that fails or is interrupted leaves the estimator as it was before."""
    check_switches(estimator)
    before = dict(vars(estimator))
    try:
        # All that scikit-learn's convention calls fitted, columns included, and what `impute` keeps of rows.
        for name in before:
            if name == "_filling" or (name.endswith("_") and not name.startswith("_")):
                del vars(estimator)[name]
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _as_kind(kind: Kind, value: Any, like: Any, dtype: type) -> Any:
    if kind in (Kind.DATA, Kind.GRID):
        xp = array_namespace(like)
        wanted = xp.float32 if kind is Kind.DATA and dtype is np.float32 else xp.float64
        value = asarray_like(like, value)
        if isinstance(value, np.ndarray):
            value = np.asarray(value, order="C")  # as in a model file: products may depend on the order
        return value if value.dtype == wanted else xp.astype(value, wanted)
    convert: dict[Kind, Callable[[Any], Any]] = {
        Kind.SCALAR: dtype,
        Kind.NUMBER: float,
        Kind.MEASURED: float,
        Kind.NUMBERS: lambda values: [float(value) for value in values],
        Kind.COUNT: int,
        Kind.TEXT: str,
        Kind.CHOICES: lambda choices: [dict(choice) for choice in choices],
        Kind.STEPS: Steps,
    }
    return convert[kind](value)


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
    ratio = explained / _unbiased_total(moments) if moments.total_variance > 0 else 0 * explained
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


def subspace_values(moments: Moments, subspace: Subspace) -> dict[str, Any]:
    """Return the fitted attributes of a subspace, but for the number of rows."""
    axes = principal_axes(moments, subspace)
    rank, total = len(axes.explained_variance), _unbiased_total(moments)
    # As many further eigenvalues as PCA's spectrum has, zeros included: scikit-learn's convention.
    left_over = min(moments.n_features, max(int(moments.weight), 1)) - rank
    unexplained = max(1 - axes.explained_variance_ratio.sum(), 0) * total
    squares = total * (moments.weight - 1)  # of all rows, in the moments' unit
    return {
        "components_": axes.components,
        "mean_": moments.mean * moments.divisor,
        "scale_": moments.scale,
        "explained_variance_": axes.explained_variance,
        "explained_variance_ratio_": axes.explained_variance_ratio,
        "singular_values_": moments.unit * np.sqrt(axes.explained_variance_ratio * squares),
        "noise_variance_": in_data_units(unexplained / left_over, moments.unit) if left_over > 0 else 0,
        "n_components_": rank,
        "shortfall_": subspace.shortfall,
    }


def _unbiased_total(moments: Moments) -> float:
    """Return the total variance divided by n - 1, in the moments' unit."""
    return moments.total_variance * moments.weight / (moments.weight - 1)
