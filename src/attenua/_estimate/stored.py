"""Whether the numbers of a model file could come from a fit: types, shapes, values that fit each other.

A file holds a subspace or a covariance; most checks are shared.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.correction import Correction
from attenua._correct.registry import CORRECTIONS, COVARIANCE_CORRECTIONS, checked_strength
from attenua._estimate.fitted import Kind
from attenua._select.steps import Step

Shape = tuple[int, ...]
Arrays = dict[str, NDArray[Any]]

ARRAY_KINDS = (Kind.DATA, Kind.SCALAR, Kind.GRID)
JSON_TYPES = {
    Kind.NUMBER: float,
    Kind.NUMBERS: list,
    Kind.MEASURED: (float, NoneType),
    Kind.COUNT: int,
    Kind.TEXT: str,
    Kind.CHOICES: list,
    Kind.STEPS: list,
}
_TYPES = (np.dtype("<f4"), np.dtype("<f8"))
_MOST_ROWS = 2**63 - 1


@dataclass(frozen=True)
class StoredFit:
    """The fitted attributes that a file holds, before they are checked."""

    table: Mapping[str, Kind]
    forms: Mapping[str, tuple[np.dtype, Shape]]  # of the arrays
    read: Callable[[], Arrays]  # called after their forms were checked
    numbers: Mapping[str, Any]  # what is not an array, as JSON holds it


@dataclass(frozen=True)
class ModelKind:
    """A kind of model that files hold."""

    main: str  # the array that gives the type of the others, with a column for each of the data
    corrections: Mapping[str, Correction]
    base: str  # what a search begins with
    unit: str  # of gains, or "" for parts
    checked: Callable[[StoredFit], Arrays]  # returns the arrays, or raises ValueError if no fit gives them

    def all_by_name(self, strengths: Mapping[str, float]) -> dict[str, float]:
        """Return the strengths of all corrections; one that the file does not name changes nothing."""
        return {name: strengths.get(name, each.neutral) for name, each in self.corrections.items()}


def require(condition: bool, what: str) -> None:
    """Raise ValueError unless a condition holds."""
    if not condition:
        raise ValueError(what)


def keys_of(table: Mapping[str, Kind], *kinds: Kind) -> list[str]:
    """Return the fitted attributes of a table that are of some kinds."""
    return [key for key, kind in table.items() if kind in kinds]


def _checked_subspace(stored: StoredFit) -> Arrays:
    numbers, shape = stored.numbers, stored.forms["components_"][1]
    require(len(shape) == 2 and shape[0] <= shape[1], "components_ must be a matrix no taller than wide")
    rank, p = shape
    is_rank = type(numbers.get("n_components_")) is int and numbers["n_components_"] == rank
    require(is_rank, f"n_components_ must be {rank}, the rows of components_")
    per_component = ("explained_variance_", "explained_variance_ratio_", "singular_values_")
    shapes = {"mean_": (p,), "noise_variance_": (), **dict.fromkeys(per_component, (rank,))}
    shapes |= {"scale_": (p,)} if "scale_" in stored.forms else {}
    arrays = _checked_arrays(stored, SUBSPACE, shapes)
    require(bool((arrays.get("scale_", np.ones(1)) > 0).all()), "scale_ must be positive")
    for key, array in arrays.items():
        if key not in ("components_", "mean_"):
            require(bool((array >= 0).all()), f"{key} must not be negative")
    _check_orthonormal(arrays["components_"])
    _check_numbers(stored)
    _check_variances(arrays, p)
    require(0 <= numbers["shortfall_"] <= 1, "shortfall_ must be a part, from 0 to 1")
    for key in ("gain_", "left_out_gain_"):
        require((numbers.get(key) or 0.0) <= 1, f"{key} must be a number of at most 1")
    if "alphas_" in arrays:
        alphas = arrays["alphas_"]
        increasing = alphas[0] == 0 and bool((np.diff(alphas) > 0).all())
        require(increasing and alphas[-1] <= 1, "alphas_ must increase from 0, up to 1")
        require(numbers["alpha_"] in alphas, "alpha_ must be one of alphas_")
    if "candidates_" in numbers:
        _check_search(numbers, arrays, SUBSPACE)
    return arrays


def _checked_covariance(stored: StoredFit) -> Arrays:
    shape = stored.forms["covariance_"][1]
    require(len(shape) == 2 and shape[0] == shape[1], "covariance_ must be a square matrix")
    arrays = _checked_arrays(stored, COVARIANCE, {"precision_": shape, "location_": shape[:1]})
    _check_inverse(arrays["covariance_"], arrays["precision_"])
    _check_numbers(stored)
    _check_search(stored.numbers, arrays, COVARIANCE)
    return arrays


SUBSPACE = ModelKind("components_", CORRECTIONS, "PCA", "", _checked_subspace)
COVARIANCE = ModelKind("covariance_", COVARIANCE_CORRECTIONS, "Ledoit-Wolf", "nats", _checked_covariance)


# --- arrays -----------------------------------------------------------------------------------------------


def _checked_arrays(stored: StoredFit, kind: ModelKind, shapes: Mapping[str, Shape]) -> Arrays:
    """Return the arrays: of the type of the main one or doubles, of these shapes, and finite."""
    forms, dtype = stored.forms, stored.forms[kind.main][0]
    require(dtype in _TYPES, f"{kind.main} must hold floats of 32 or 64 bits")
    for key, (found, _) in forms.items():
        wanted = np.dtype("<f8") if stored.table[key] is Kind.GRID else dtype
        require(found == wanted, f"{key} must be of type {wanted}, not {found}")
    for key, wanted_shape in {**shapes, **_shapes_of_risks(stored)}.items():
        found_shape = forms[key][1]
        require(found_shape == wanted_shape, f"{key} must have shape {wanted_shape}, not {found_shape}")
    arrays = stored.read()
    # A covariance of too few rows to hold any out has no risks.
    nothing_compared = kind.unit and not stored.numbers.get("steps_")
    for key, array in arrays.items():
        unknown = nothing_compared and key in ("cv_risk_", "cv_risk_folds_") and np.isnan(array).all()
        require(bool(unknown or np.isfinite(array).all()), f"{key} must hold finite numbers")
    return arrays


def _shapes_of_risks(stored: StoredFit) -> dict[str, Shape]:
    """Return the shapes that follow from the numbers of candidates and of splits."""
    if "cv_risk_" not in stored.forms:
        return {}
    count, folds = stored.forms["cv_risk_"][1], stored.forms["cv_risk_folds_"][1]
    require(len(count) == 1, "cv_risk_ must have one number for each candidate")
    require(len(folds) == 2, "cv_risk_folds_ must be a matrix, a row for each split")
    return {"cv_risk_folds_": (folds[0], *count)} | ({"alphas_": count} if "alphas_" in stored.forms else {})


def _check_orthonormal(W: NDArray[Any]) -> None:
    tolerance = 1e-3 if W.dtype == np.float32 else 1e-6
    # A product of huge numbers overflows, and is then not orthonormal either.
    with np.errstate(over="ignore", invalid="ignore"):
        orthonormal = np.abs(W @ W.T - np.eye(len(W))).max() <= tolerance
    require(bool(orthonormal), "components_ must be orthonormal")


@np.errstate(over="ignore")  # of numbers that no fit gives
def _check_variances(arrays: Arrays, p: int) -> None:
    r"""Check that what a model says of variances fits together, as `subspace_values` computes it.

    With the variances :math:`\lambda` and their ratios :math:`\lambda/T`, the singular values are
    :math:`\sqrt{(n - 1)\lambda}`, and the noise is the mean of what is left of :math:`T`.
    """
    variances, ratios, values, noise = (
        arrays[key].astype(float)
        for key in ("explained_variance_", "explained_variance_ratio_", "singular_values_", "noise_variance_")
    )
    dtype = arrays["components_"].dtype
    close, least = (1e-4, 2e-45) if dtype == np.float32 else (1e-9, 1e-323)
    agree = "explained_variance_, explained_variance_ratio_ and singular_values_ must agree"
    largest, part = variances[0], ratios[0]
    if not (largest and part and values[0]):
        return require(not (variances.any() or ratios.any() or values.any()), agree)
    require(bool((np.diff(variances) <= close * largest).all()), "explained_variance_ must not increase")
    # As parts of the largest. Numbers so small that they have few digits count as equal.
    parts, rounding = variances / largest, least / largest + least / part
    for found in (ratios / part, (values / values[0]) ** 2):
        require(np.allclose(found, parts, rtol=close, atol=rounding), agree)
    n = 1 + (values[0] / math.sqrt(largest)) ** 2  # the sum of the weights, which n_samples_ may not be
    unexplained = 1 - ratios.sum()
    require(-close <= unexplained and (len(variances) < p or unexplained <= close), agree)

    def is_noise(n: float) -> bool:
        left_over = int(min(p, n)) - len(variances)
        if left_over <= 0:
            return float(noise) == 0
        return abs(left_over * noise / largest * part - unexplained) <= close

    fits = is_noise(n * (1 - close)) or is_noise(n * (1 + close))
    require(fits, "noise_variance_ must be the mean of the variances that are left over")


def _check_inverse(covariance: NDArray[Any], precision: NDArray[Any]) -> None:
    """Check a covariance and its inverse, up to rounding, in units in which all variances are 1."""
    rounding = 10 * len(covariance) * float(np.finfo(covariance.dtype).eps)
    variances, one = np.diagonal(covariance).astype(float), np.eye(len(covariance))
    wanted = "covariance_ must be symmetric and positive definite"
    require(bool((variances > 0).all()), wanted)
    units = np.sqrt(variances)
    with np.errstate(over="ignore", invalid="ignore"):
        R, Q = covariance / units / units[:, None], precision * units * units[:, None]
        require(bool(np.abs(R - R.T).max() <= rounding), wanted)
        is_inverse = np.abs(R @ Q - one).max() <= rounding * np.abs(Q).max() < math.inf
    try:
        np.linalg.cholesky(R + rounding * one)
    except np.linalg.LinAlgError:
        raise ValueError(wanted) from None
    require(bool(is_inverse), "precision_ must be the inverse of covariance_")


# --- numbers, as JSON holds them --------------------------------------------------------------------------


def _check_numbers(stored: StoredFit) -> None:
    """Check types, and the numbers that all kinds of fit have."""
    numbers, wanted = stored.numbers, keys_of(stored.table, *JSON_TYPES)
    require(sorted(numbers) == sorted(wanted), f"the fitted numbers must be {', '.join(wanted)}")
    for key in wanted:
        types = JSON_TYPES[stored.table[key]]
        types = types if isinstance(types, tuple) else (types,)
        names = " or ".join("null" if one is NoneType else one.__name__ for one in types)
        require(type(numbers[key]) in types, f"{key} must be of type {names}")
    require(1 <= numbers["n_samples_"] <= _MOST_ROWS, "n_samples_ must be an integer of at least 1")
    error = numbers.get("left_out_gain_error_")
    require(error is None or error >= 0, "left_out_gain_error_ must be a number of at least 0")


def _check_search(numbers: Mapping[str, Any], arrays: Arrays, kind: ModelKind) -> None:
    """Check what a search for strengths chose, and its steps."""
    candidates, choices, weights = (numbers[key] for key in ("candidates_", "choices_", "choice_weights_"))

    def are_strengths(value: Any) -> bool:
        return isinstance(value, dict) and all(
            name in kind.corrections and _is_strength(name, strength) for name, strength in value.items()
        )

    named = all(map(are_strengths, candidates))
    require(named, "candidates_ must hold strengths by the names of corrections")
    count = len(arrays["cv_risk_"])
    require(len(candidates) == count, f"candidates_ must have {count} entries, as cv_risk_ has")
    compared = [kind.all_by_name(candidate) for candidate in candidates]
    require(compared[0] == kind.all_by_name({}), f"candidates_ must begin with {kind.base}")

    def is_candidate(choice: Any) -> bool:
        return are_strengths(choice) and kind.all_by_name(choice) in compared

    are_choices = bool(choices) and all(map(is_candidate, choices))
    require(are_choices, "choices_ must be some of candidates_, by names")
    are_weights = len(weights) == len(choices) and all(_is_float(w) and 0 < w <= 1 for w in weights)
    require(
        are_weights and math.isclose(sum(weights), 1, rel_tol=1e-9),
        "choice_weights_ must hold a weight for each of choices_, and sum to 1",
    )
    for number, step in enumerate(numbers["steps_"]):
        require(_is_step(step, kind), f"steps_[{number}] is not a step of a search")


def _is_step(step: Any, kind: ModelKind) -> bool:
    """Whether a record is one that a search makes: types, names, and numbers that fit each other."""
    # Older files have no unit.
    if not isinstance(step, dict) or sorted({"unit": "", **step}) != sorted(Step._fields):
        return False
    correction, strengths, risks = step["correction"], step["strengths"], step["risks"]
    named = isinstance(correction, str) and correction in kind.corrections and isinstance(step["why"], str)
    listed = isinstance(strengths, list) and isinstance(risks, list) and len(strengths) == len(risks)
    if not (named and listed):
        return False
    error, numbers = step["standard_error"], (step["best"], step["gain"], step["weight"])
    if not all(map(_is_float, (*numbers, *strengths, *risks))):
        return False
    increases = all(a < b for a, b in zip([-1.0, *strengths], strengths, strict=False))
    # Shrinkage, whose neutral strength is 1, is compared twice, the second time around the best strength.
    has_base = strengths[:1] in ([], [0.0]) or kind.corrections[correction].neutral != 0
    return (
        increases
        and has_base
        and all(_is_strength(correction, strength) for strength in strengths)
        and (bool(kind.unit) or (min(risks, default=0.0) >= 0 and step["gain"] <= 1))
        and step.get("unit", "") == (kind.unit if strengths else "")
        and step["best"] in (strengths or [0.0])
        and 0 <= step["weight"] <= 1 + 1e-9
        and (error is None or (_is_float(error) and error >= 0))
    )


def _is_float(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _is_strength(correction: str, value: Any) -> bool:
    try:
        checked_strength(correction, value)
    except ValueError:
        return False
    return _is_float(value)
