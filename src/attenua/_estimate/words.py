"""Results in words: the sentences that estimators, notebooks, the shell and the page print."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose, isfinite
from typing import Any

import numpy as np
from scipy.stats import t as student

from attenua._correct.registry import ALL_CORRECTIONS
from attenua._data.moments import Moments
from attenua._data.namespace import to_host

# A gain is claimed if it is more than so many standard errors.
CLEAR = 2.0
# So few columns with more of the variance than this, or standard deviations that differ by more than this
# factor, are a sign of different units.
_FEW_COLUMNS, _MOST_VARIANCE, _MOST_RATIO = 3, 0.95, 30


@dataclass(frozen=True)
class Answer:
    """What came out of a fit."""

    caption: str  # a few words, for a box of a pipeline's diagram
    title: str  # a sentence
    facts: tuple[tuple[str, str], ...]  # names and values


def counted(number: int, noun: str) -> str:
    """Return a number of things: 1 row, 1,000 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(words: Sequence[str]) -> str:
    """Return a list in words: a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def spoken(correction: str) -> str:
    """Return what a correction, or all of them together, is called in a sentence."""
    return correction.replace("_", " ")


def capitalised(sentence: str) -> str:
    """Return a sentence with a capital first letter."""
    return sentence[:1].upper() + sentence[1:]


def taken_in_words(strengths: Mapping[str, float]) -> list[str]:
    """Return the corrections that are not at their neutral strength, each with its strength."""
    return [
        f"{spoken(name)} {strength:.3g}"
        for name, strength in strengths.items()
        if strength != ALL_CORRECTIONS[name].neutral
    ]


def strengths_in_words(strengths: Mapping[str, float], base: str = "ordinary PCA") -> str:
    """Return the strengths that are not neutral as a text; without any, the base."""
    return ", ".join(taken_in_words(strengths)) or base


def choices_in_words(
    choices: Sequence[Mapping[str, float]], weights: Sequence[float], base: str = "ordinary PCA"
) -> str:
    """Return the choices that are averaged, in the order given, each with its weight."""
    words = [strengths_in_words(choice, base) for choice in choices]
    if len(words) == 1:
        return words[0]
    return "; ".join(f"{each} ({weight:.0%})" for each, weight in zip(words, weights, strict=True))


def largest_in_words(
    choices: Sequence[Mapping[str, float]], weights: Sequence[float], base: str = "ordinary PCA"
) -> str:
    """Return the first choice, which has the largest weight, and whether others are averaged with it."""
    words = strengths_in_words(choices[0], base)
    return words if len(choices) == 1 else f"{words} ({weights[0]:.0%}) and others"


def percent_of(gain: float) -> str:
    """Return a gain in percent with one decimal, or more where that would read as nothing."""
    return f"{gain:.1%}" if abs(gain) >= 0.0005 or gain == 0 else f"{100 * gain:.1g}%"


def gain_in_words(gain: float, error: float | None = None) -> str:
    """Return how much less held-out risk than PCA's there is, with the standard error if given."""
    sure = "" if error is None else f", standard error {error:.2%}"
    return f"{abs(gain):.2%} {'less' if gain >= 0 else 'more'} held-out risk than PCA's{sure}"


def is_clear(gain: float, error: float, times: float = CLEAR) -> bool:
    """Whether a gain to expect of new rows is more than so many standard errors."""
    return gain > times * error


def clear_over_splits(n_splits: int) -> float:
    """Return how many standard errors a gain over splits must exceed to be claimed.

    That is Student's 97.5% quantile. More splits than five share most of their training rows, so they count
    as five: on pure noise (40 rows) 2 standard errors would claim a gain in up to 14% of the sentences.
    """
    return float(student.ppf(0.975, min(n_splits, 5) - 1))


def verdict(
    choices: Sequence[Mapping[str, float]],
    weights: Sequence[float],
    expected: tuple[float, ...],
    *,
    gives_pca: bool = False,
    nested: bool = True,
    times: float = CLEAR,
) -> str:
    """Return what came out of a search, in two sentences: what to expect of new rows, and what the fit is.

    The subspaces of `choices` are averaged by `weights`. `expected` are the gain to expect of new rows and
    its standard error, NaN where there is none; `nested` says whether they were measured. More than `times`
    standard errors are claimed as a gain.
    """
    if not any(strength for choice in choices for strength in choice.values()):
        return "The fit is ordinary PCA: no correction reconstructs held-out rows clearly better."
    if gives_pca:
        return (
            "The fit is ordinary PCA: some corrections reconstruct held-out rows better, but on all rows "
            "they give PCA's subspace (as attenuation does where all columns have the same variance)."
        )
    if not nested:
        return f"{_fit_in_words(choices, weights, 'PCA')} {_NOT_MEASURED}"
    gain, error, *_ = expected
    fit = _fit_in_words(choices, weights, "PCA", _is_equal(gain, error, times))
    return f"{expected_in_words(gain, error, times)} {fit}"


LEDOIT_WOLF = "Ledoit-Wolf"


def covariance_verdict(
    choices: Sequence[Mapping[str, float]],
    weights: Sequence[float],
    expected: tuple[float, float, float],
    *,
    nested: bool,
    chosen: bool,
) -> str:
    """Return what came of a search for a whole covariance; `chosen` says whether rows were held out."""
    if not chosen:
        return "The fit is Ledoit-Wolf's covariance: the rows or groups are too few to hold any out."
    if not any(map(taken_in_words, choices)):
        return "The fit is Ledoit-Wolf's covariance: no correction makes held-out rows clearly more likely."
    if not nested:
        return f"{_fit_in_words(choices, weights, LEDOIT_WOLF)} {_NOT_MEASURED}"
    gain, error, _ = expected
    fit = _fit_in_words(choices, weights, LEDOIT_WOLF, _is_equal(gain, error))
    return f"{likelihood_in_words(*expected)} {fit}"


def likelihood_in_words(gain: float, error: float, part: float) -> str:
    """Return what log-likelihood to expect of new rows, in a sentence."""
    if not isfinite(error):
        return "Too little was held out to say what to expect of new rows."
    rows = "four fifths" if isclose(part, 0.8) else f"{part:.0%}"
    noise = f"measured with {rows} of the rows, standard error {error:.2g}"
    side = "above" if gain >= 0 else "below"
    if _is_equal(gain, error):
        difference = f"{abs(gain):.2g} nats per row {side}"
        return f"Expect about Ledoit-Wolf's log-likelihood of new rows ({difference}, {noise})."
    difference = f"{abs(gain):.3g} nats per row {side} Ledoit-Wolf's"
    return f"Expect a log-likelihood of new rows {difference} ({noise})."


_NOT_MEASURED = "What new rows gain was not measured; nested=True measures it."


def expected_in_words(gain: float, error: float, times: float = CLEAR) -> str:
    """Return what to expect of new rows, in a sentence."""
    if not isfinite(error):
        return "Too little was held out to say what to expect of new rows."
    noise = f"standard error {percent_of(error)}"
    difference = f"{percent_of(abs(gain))} {'less' if gain >= 0 else 'more'}"
    if _is_equal(gain, error, times):
        return f"Expect about PCA's error on new rows ({difference}, {noise})."
    return f"Expect {difference} error than PCA's on new rows ({noise})."


def _is_equal(gain: float, error: float, times: float = CLEAR) -> bool | None:
    """Whether a gain or a loss is within so many standard errors; None if that was not measured."""
    return abs(gain) <= times * error if isfinite(error) else None


def _fit_in_words(
    choices: Sequence[Mapping[str, float]],
    weights: Sequence[float],
    base: str,
    is_equal: bool | None = None,
) -> str:
    """Return what the fit averages, in a sentence: the choice of the largest weight, others, and the base.

    It is as safe as the base if new rows do equally well; where that was not measured, if half of it is base.
    """
    names = [taken_in_words(choice) for choice in choices]
    of_base = sum(weight for taken, weight in zip(names, weights, strict=True) if not taken)
    weight, first = max(
        (weight, listed(taken)) for taken, weight in zip(names, weights, strict=True) if taken
    )
    others = sum(weights) - weight - of_base
    parts = [f"{first} ({weight:.0%})"]
    parts += [f"other choices ({others:.0%})"] if others > 0.005 else []
    if of_base:
        parts.insert(0 if of_base > 0.5 else len(parts), f"{base} ({of_base:.0%})")
    fit = f"averages {listed(parts)}" if len(choices) > 1 else f"has {first}"
    is_safe = of_base > 0.5 if is_equal is None else is_equal
    return f"The fit is as safe as {base}: it {fit}." if is_safe else f"The fit {fit}."


def advice_on_scale(estimator: Any, moments: Moments) -> str:
    """Return a sentence, after a space, if columns that are not scaled seem to have different units."""
    columns, given = np.flatnonzero(to_host(moments.varies)), estimator.get_params(deep=False)
    if given.get("scale") or len(columns) < 2:
        return ""
    scaling = "scale=True" if "scale" in given else "CorrectedPCACV with scale=True"
    variances = to_host(moments.variances)[columns]
    order = np.argsort(-variances, kind="stable")[: max(min(_FEW_COLUMNS, len(columns) // 4), 1)]
    shares = np.cumsum(variances[order]) / variances.sum()
    number = int(np.searchsorted(shares, _MOST_VARIANCE, side="right")) + 1
    if number <= len(order):
        names = getattr(estimator, "feature_names_in_", None)
        called = listed([_called(int(column), names) for column in sorted(columns[order[:number]])])
        share = shares[number - 1]
        part = f"{share:.1%}" if share < 0.9995 else "over 99.9%"
        if number == 1:
            advice = f"look for a wrong cell, consider {scaling}, or leave it out if it measures nothing"
            return f" One column, {called}, has {part} of the variance: {advice}."
        few = f"{number} columns, {called}, together have {part} of the variance"
        return f" {few}: if columns have different units, consider {scaling}."
    ratio = float(np.sqrt(variances.max() / variances.min()))
    if ratio > _MOST_RATIO:
        factor = f"{ratio:,.0f}" if ratio < 1e6 else f"{ratio:.0e}"
        return (
            f" The standard deviations of columns differ by a factor of {factor}: if columns have different "
            f"units, consider {scaling}."
        )
    return ""


def _called(column: int, names: Any) -> str:
    """Return the name of a column, or its place if it has none."""
    name = "" if names is None else str(names[column]).strip()
    return name or f"number {column + 1:,}"


def size_of_fit(estimator: Any) -> tuple[str, str]:
    """Return the fact that says what was fitted to what."""
    share = float(estimator.explained_variance_ratio_.sum())
    return "fitted", (
        f"{counted(estimator.n_components_, 'component')}, {share:.1%} of the variance of "
        f"{counted(estimator.n_samples_, 'row')}, {counted(estimator.n_features_in_, 'column')}"
    )


def given_answer(estimator: Any, strengths: Mapping[str, float]) -> Answer:
    """Return the answer of an estimator whose strengths were given."""
    words, name = strengths_in_words(strengths), type(estimator).__name__
    return Answer(
        words,
        f"{capitalised(words)}, as given",
        (("gain", f"not measured; {name}CV holds rows out and measures it"), size_of_fit(estimator)),
    )
