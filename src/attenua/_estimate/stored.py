"""Whether the numbers of a model file could come from a fit: types, shapes, values that fit each other."""

import math
from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._correct.registry import CORRECTIONS, Strengths, checked_strength
from attenua._estimate.fitted import Kind
from attenua._select.steps import Step

Shape = tuple[int, ...]
Arrays = Mapping[str, NDArray[Any]]

ARRAY_KINDS = (Kind.DATA, Kind.SCALAR, Kind.GRID)
JSON_TYPES = {
    Kind.NUMBER: float,
    Kind.NUMBERS: list,
    Kind.MEASURED: (float, NoneType),
    Kind.COUNT: int,
    Kind.TEXT: str,
    Kind.STRENGTHS: dict,
    Kind.CHOICES: list,
    Kind.STEPS: list,
}
_TYPES = (np.dtype("<f4"), np.dtype("<f8"))
_MOST_ROWS = 2**63 - 1


def require(condition: bool, what: str) -> None:
    """Raise ValueError unless a condition holds."""
    if not condition:
        raise ValueError(what)


def keys_of(table: Mapping[str, Kind], *kinds: Kind) -> list[str]:
    """Return the fitted attributes of a table that are of some kinds."""
    return [key for key, kind in table.items() if kind in kinds]


def check_forms(table: Mapping[str, Kind], forms: Mapping[str, tuple[np.dtype, Shape]], rank: Any) -> None:
    """Check types and shapes of all arrays, which is possible before they are read."""
    dtype, shape = forms["components_"]
    require(dtype in _TYPES, "components_ must hold floats of 32 or 64 bits")
    require(len(shape) == 2 and shape[0] <= shape[1], "components_ must be a matrix no taller than wide")
    require(
        type(rank) is int and rank == shape[0], f"n_components_ must be {shape[0]}, the rows of components_"
    )
    for key in keys_of(table, *ARRAY_KINDS):
        wanted = np.dtype("<f8") if table[key] is Kind.GRID else dtype
        require(forms[key][0] == wanted, f"{key} must be of type {wanted}, not {forms[key][0]}")
    for key, wanted_shape in _shapes(forms, shape[0], shape[1]).items():
        found = forms[key][1]
        require(found == wanted_shape, f"{key} must have shape {wanted_shape}, not {found}")


def _shapes(forms: Mapping[str, tuple[np.dtype, Shape]], rank: int, p: int) -> dict[str, Shape]:
    """Return the shapes that follow from those of the components, the candidates and the splits."""
    per_component = ("explained_variance_", "explained_variance_ratio_", "singular_values_")
    shapes: dict[str, Shape] = {"mean_": (p,), "noise_variance_": ()}
    shapes |= dict.fromkeys(per_component, (rank,))
    if "cv_risk_" in forms:
        count, folds = forms["cv_risk_"][1], forms["cv_risk_folds_"][1]
        require(len(count) == 1, "cv_risk_ must have one number for each candidate")
        require(len(folds) == 2, "cv_risk_folds_ must be a matrix, a row for each split")
        shapes["cv_risk_folds_"] = (folds[0], *count)
        if "alphas_" in forms:
            shapes["alphas_"] = count
    return shapes


def check_arrays(arrays: Arrays) -> None:
    """Check the values of arrays whose forms were checked."""
    for key, array in arrays.items():
        require(bool(np.isfinite(array).all()), f"{key} must hold finite numbers")
        if key not in ("components_", "mean_"):
            require(bool((array >= 0).all()), f"{key} must not be negative")
    W = arrays["components_"]
    tolerance = 1e-3 if W.dtype == np.float32 else 1e-6
    # A product of huge numbers overflows, and is then not orthonormal either.
    with np.errstate(over="ignore", invalid="ignore"):
        orthonormal = np.abs(W @ W.T - np.eye(len(W))).max() <= tolerance
    require(bool(orthonormal), "components_ must be orthonormal")
    if "alphas_" in arrays:
        alphas = arrays["alphas_"]
        increasing = alphas[0] == 0 and bool((np.diff(alphas) > 0).all())
        require(increasing and alphas[-1] <= 1, "alphas_ must increase from 0, up to 1")


def check_numbers(table: Mapping[str, Kind], fitted: Mapping[str, Any], arrays: Arrays) -> None:
    """Check what is not an array, as JSON holds it."""
    wanted = keys_of(table, *JSON_TYPES)
    require(sorted(fitted) == sorted(wanted), f"the fitted numbers must be {', '.join(wanted)}")
    for key in wanted:
        types = JSON_TYPES[table[key]]
        types = types if isinstance(types, tuple) else (types,)
        names = " or ".join("null" if one is NoneType else one.__name__ for one in types)
        require(type(fitted[key]) in types, f"{key} must be of type {names}")
    require(1 <= fitted["n_samples_"] <= _MOST_ROWS, "n_samples_ must be an integer of at least 1")
    require(0 <= fitted["shortfall_"] <= 1, "shortfall_ must be a part, from 0 to 1")
    if "alphas_" in arrays:
        require(fitted["alpha_"] in arrays["alphas_"], "alpha_ must be one of alphas_")
    for key in ("gain_", "left_out_gain_"):
        require(-math.inf < (fitted.get(key) or 0.0) <= 1, f"{key} must be a number of at most 1")
    error = fitted.get("left_out_gain_error_") or 0.0
    require(0 <= error < math.inf, "left_out_gain_error_ must be a number of at least 0")
    require(0 < fitted.get("held_out_ratio_", 1.0) < math.inf, "held_out_ratio_ must be above 0")
    if "candidates_" in fitted:
        _check_search(fitted, arrays)


def _check_search(fitted: Mapping[str, Any], arrays: Arrays) -> None:
    """Check what a search for strengths chose, and its steps."""
    candidates, choices = fitted["candidates_"], fitted["choices_"]
    require(
        all(map(_are_strengths, candidates)), "candidates_ must hold strengths by the names of corrections"
    )
    count = len(arrays["cv_risk_"])
    require(len(candidates) == count, f"candidates_ must have {count} entries, as cv_risk_ has")
    all_strengths = [all_by_name(candidate) for candidate in candidates]
    require(not any(all_strengths[0].values()), "candidates_ must begin with PCA")

    def is_candidate(choice: Any) -> bool:
        return _are_strengths(choice) and all_by_name(choice) in all_strengths

    require(is_candidate(fitted["corrections_"]), "corrections_ must be one of candidates_, by names")
    weights = fitted["choice_weights_"]
    are_choices = bool(choices) and all(map(is_candidate, choices))
    require(are_choices, "choices_ must be some of candidates_, by names")
    are_weights = len(weights) == len(choices) and all(_is_float(w) and 0 < w <= 1 for w in weights)
    require(
        are_weights and math.isclose(sum(weights), 1, rel_tol=1e-9),
        "choice_weights_ must hold a weight for each of choices_, and sum to 1",
    )
    for number, step in enumerate(fitted["steps_"]):
        require(_is_step(step), f"steps_[{number}] is not a step of a search")


def all_by_name(strengths: Mapping[str, float]) -> dict[str, float]:
    """Return the strengths of all corrections; one that the file does not name is 0."""
    return dict(Strengths(**strengths))


def _are_strengths(strengths: Any) -> bool:
    return isinstance(strengths, dict) and all(
        name in CORRECTIONS and _is_float(value) and _is_strength(name, value)
        for name, value in strengths.items()
    )


def _is_step(step: Any) -> bool:
    """Whether a record is one that a search makes: types, names, and numbers that fit each other."""
    if not isinstance(step, dict) or sorted(step) != sorted(Step._fields):
        return False
    correction, strengths, risks = step["correction"], step["strengths"], step["risks"]
    named = isinstance(correction, str) and correction in CORRECTIONS and isinstance(step["why"], str)
    listed = isinstance(strengths, list) and isinstance(risks, list) and len(strengths) == len(risks)
    if not (named and listed):
        return False
    error, numbers = step["standard_error"], (step["best"], step["gain"], step["weight"])
    if not all(map(_is_float, (*numbers, *strengths))):
        return False
    increases = all(a < b for a, b in zip([-1.0, *strengths], strengths, strict=False))
    return (
        increases
        and strengths[:1] in ([], [0.0])
        and all(_is_strength(correction, strength) for strength in strengths)
        and all(_is_float(risk) and risk >= 0 for risk in risks)
        and step["best"] in (strengths or [0.0])
        and step["gain"] <= 1
        and 0 <= step["weight"] <= 1 + 1e-9
        and (error is None or (_is_float(error) and error >= 0))
    )


def _is_float(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _is_strength(correction: str, value: float) -> bool:
    try:
        checked_strength(correction, value)
    except ValueError:
        return False
    return True
