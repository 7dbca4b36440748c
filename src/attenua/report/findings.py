"""What the page says, computed from a fitted estimator and the rows it was fitted to."""

import ast
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import subspace_angles
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.utils.validation import check_is_fitted

from attenua import AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua._correct.registry import CORRECTIONS
from attenua._estimate.words import CLEAR, clear_over_splits, counted, is_clear, strengths_in_words
from attenua.monitoring import ControlLimits, refitted

Array = NDArray[np.float64]
# A turn that the page shows as 0.0 degrees.
_NO_TURN = 0.05
# One column with more of the squared loading of component 1 than this is said to be component 1.
_ALMOST_ALL = 0.9
# Of the variance of the components, a mean Q below this is rounding.
_ROUNDING = 1e-12
_MOST_LISTED = 30


class Answer(NamedTuple):
    """Whether to use a fit: its kind ("yes", "perhaps", "no", "given"), a word or two, and what to do."""

    kind: str
    word: str
    advice: str


class HeldOut(NamedTuple):
    """Held-out rows and their reconstructions by fits that did not see them."""

    rows: NDArray[np.intp]
    original: Array  # NaN where a cell is missing
    pca: Array
    fit: Array
    # Squared errors of the seen cells, of columns as the fit scales them.
    pca_errors: Array
    fit_errors: Array


@dataclass(frozen=True)
class Findings:
    """What the page says and draws."""

    answer: Answer
    turn: float  # largest principal angle between the fit and PCA, in degrees
    pca_variance: float  # part of the variance that PCA's components explain
    corrections: list[str]  # those in the fit
    dominating: str  # a warning if component 1 is nearly one column
    missing: str
    limits: ControlLimits | None
    why_no_limits: str
    unusual: list[tuple[str, ...]]
    held_out: HeldOut | None
    why_not_held_out: str


def find(model: Any, X: Array, columns: Sequence[str], rows: Sequence[str], groups: Any) -> Findings:
    """Compute what the page shows about a fitted estimator and the rows it was fitted to."""
    with warnings.catch_warnings():
        # The fit has given them.
        warnings.simplefilter("ignore")
        pca = _pca_like(model).fit(X)
        limits, why_no_limits = _limits(model, X, groups)
        held_out, why_not_held_out = _held_out(model, X, groups)
    strengths = strengths_of(model)
    turn = float(np.degrees(subspace_angles(model.components_.T, pca.components_.T)).max())
    return Findings(
        answer=answer(model, turn),
        turn=turn,
        pca_variance=float(pca.explained_variance_ratio_.sum()),
        corrections=[name for name in strengths[0] if any(choice[name] for choice in strengths)],
        dominating=_dominating(model, columns),
        missing=_missing(X, rows),
        limits=limits,
        why_no_limits=why_no_limits,
        unusual=[] if limits is None else _unusual(limits, rows),
        held_out=held_out,
        why_not_held_out=why_not_held_out,
    )


def checked_rows(model: Any, X: ArrayLike) -> Array:
    """Return the rows as numbers, or an error unless they can be those that the estimator was fitted to."""
    if not isinstance(model, CorrectedPCACV | AttenuatedPCACV | CorrectedPCA):
        raise ValueError(
            f"model must be a CorrectedPCACV, AttenuatedPCACV or CorrectedPCA; got {type(model).__name__}."
        )
    check_is_fitted(model)
    rows: Array = np.asarray(X, dtype=float)
    n, p = model.n_samples_, model.n_features_in_
    if rows.shape != (n, p):
        raise ValueError(f"X must be the rows the model was fitted to, {n} x {p}; got shape {rows.shape}.")
    return rows


def strengths_of(model: Any) -> list[dict[str, float]]:
    """Return the strengths of each choice that a fit averages, or its only ones."""
    if isinstance(model, CorrectedPCACV):
        return model.choices_
    if isinstance(model, AttenuatedPCACV):
        return [{"attenuation": model.alpha_}]
    given = model.get_params(deep=False)
    return [{name: given[name] for name in CORRECTIONS if name in given}]


def answer(model: Any, turn: float) -> Answer:
    """Return whether to use a fit that turns PCA's subspace by so many degrees."""
    strengths = strengths_of(model)
    is_pca = not any(strength for choice in strengths for strength in choice.values())
    if isinstance(model, CorrectedPCA):
        given = f"The strengths were given: {strengths_in_words(strengths[0])}"
        fit = "This is ordinary PCA" if is_pca else given
        other = "CorrectedPCACV, the default of the shell, compares strengths on held-out rows"
        return Answer("given", "Nothing was compared", f"{fit}. {other} and says what they gain.")
    if is_pca:
        normal = "That is normal: with enough rows there is little noise to weaken."
        return Answer("no", "No: use ordinary PCA", f"{normal} The components of this page are PCA's.")
    if turn < _NO_TURN:
        little = f"The fit turns PCA's subspace by less than {_NO_TURN:g} degrees"
        return Answer("no", "It makes no difference", f"{little}, so ordinary PCA does as well.")
    gain, error = model.left_out_gain_, model.left_out_gain_error_
    if not isfinite(error):
        measure = "Compare it with PCA on new rows"
        if not getattr(model, "nested", True):
            measure = "Have that measured (in the shell, leave out --quick)"
        return Answer("perhaps", "Perhaps", f"{measure} before you decide.")
    times = clear_over_splits(len(model.cv_risk_folds_)) if isinstance(model, AttenuatedPCACV) else CLEAR
    if is_clear(gain, error, times):
        return Answer("yes", "Yes", "Use this fit in place of PCA.")
    if gain > 0:
        return Answer("perhaps", "Perhaps", "Ordinary PCA may do as well here.")
    return Answer("no", "No", "Use ordinary PCA on these data.")


def code_of(model: Any, groups: Any) -> str:
    """Return code that repeats a fit; what is no short text of numbers and words is a variable."""
    name, defaults = type(model).__name__, type(model)().get_params(deep=False)
    given = model.get_params(deep=False).items()
    changed = (f"{key}={_literal(key, value)}" for key, value in given if repr(value) != repr(defaults[key]))
    fitted = "X" if groups is None or isinstance(model, CorrectedPCA) else "X, groups=groups"
    return f"from attenua import {name}\n\nmodel = {name}({', '.join(changed)}).fit({fitted})\nprint(model)"


def _literal(name: str, value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return name
    return text if len(text) <= 200 else name


def _pca_like(model: Any) -> CorrectedPCA:
    """Return ordinary PCA with as many components, of columns scaled as the estimator scales them."""
    return CorrectedPCA(model.n_components_, scale=model.scale_ is not None)


def _dominating(model: Any, columns: Sequence[str]) -> str:
    """Return a warning if component 1 is nearly one column, as with counters, codes and other units."""
    shares = np.asarray(model.components_[0], dtype=float) ** 2
    largest = int(np.argmax(shares))
    if shares[largest] <= _ALMOST_ALL or len(shares) == 1:
        return ""
    share = f"over {np.floor(100 * min(shares[largest], 0.999)):.0f}% of its squared loading"
    sentences = [f"Component 1 is nearly the column {columns[largest]} alone ({share})."]
    if model.scale_ is None:
        sentences.append("If only its unit differs from the others, scale columns (in the shell --scale).")
    sentences.append("If it measures nothing, as counters and codes do, leave it out (in the shell --drop).")
    return " ".join(sentences)


def _missing(X: Array, rows: Sequence[str]) -> str:
    """Return how many cells are missing, where, and in which row most."""
    missing = np.isnan(X)
    if not missing.any():
        return ""
    (n, p), count, by_row = X.shape, int(missing.sum()), missing.mean(axis=1)
    n_rows, n_columns = (np.count_nonzero(missing.any(axis=axis)) for axis in (1, 0))
    are, most = "is" if count == 1 else "are", int(np.argmax(by_row))
    return (
        f"{count:,} of {counted(n * p, 'cell')} {are} missing ({100 * missing.mean():.2g}%), in {n_rows:,} "
        f"of {counted(n, 'row')} and {n_columns:,} of {counted(p, 'column')}. "
        f"The row {rows[most]} has most ({by_row[most]:.0%} of its cells)."
    )


def _limits(model: Any, X: Array, groups: Any) -> tuple[ControlLimits | None, str]:
    """Return T2 and Q of the rows with their limits, or None and why there are none."""
    try:
        limits = model.control_limits(X, groups=groups)
    except ValueError as error:
        return None, str(error)
    if not limits.q_mean > _ROUNDING * model.explained_variance_.sum():
        return None, "The components reconstruct every row exactly, so Q is zero."
    return limits, ""


def _unusual(limits: ControlLimits, rows: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the rows beyond a limit of 99%, the furthest first: name, T2, Q, and which is too large."""
    t2, q = limits.t2_rows, limits.q_rows
    t2_times, q_times = t2 / limits.t2(0.99), q / limits.q(0.99)
    beyond = limits.beyond(0.99)
    order = beyond[np.argsort(-np.fmax(t2_times, q_times)[beyond], kind="stable")]
    found: list[tuple[str, ...]] = []
    for i in order[:_MOST_LISTED]:
        too_large = [name for name, times in (("T2", t2_times[i]), ("Q", q_times[i])) if times > 1]
        found.append((rows[i], _short(t2[i]), _short(q[i]), " and ".join(too_large)))
    return found


def _short(number: float) -> str:
    return f"{number:,.0f}" if 1000 <= number < 1e9 else f"{number:.3g}"


def _held_out(model: Any, X: Array, groups: Any) -> tuple[HeldOut | None, str]:
    """Reconstruct a fifth of the rows, or of the groups, by PCA and by the estimator fitted to the others."""
    split = (ShuffleSplit if groups is None else GroupShuffleSplit)(1, test_size=0.2, random_state=0)
    try:
        train, held = next(split.split(X, groups=groups))
        fit = refitted(model, X[train], None if groups is None else groups[train])
        pca = _pca_like(model).fit(X[train])
    except ValueError as error:
        return None, str(error)
    unit = 1.0 if model.scale_ is None else model.scale_
    by_pca, by_fit = (each.inverse_transform(each.transform(X[held])) for each in (pca, fit))
    errors = (np.nansum(((X[held] - rebuilt) / unit) ** 2, axis=1) for rebuilt in (by_pca, by_fit))
    return HeldOut(held, X[held], by_pca, by_fit, *errors), ""
