"""What a fitted estimator shows in a notebook without a click: what it chose, and what that gains."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from types import SimpleNamespace
from typing import Any

from attenua._data.words import counted
from attenua._estimate.html import facts_html


@dataclass(frozen=True)
class Answer:
    """What came out of a fit.

    Attributes
    ----------
    caption : str
        In a few words, for a box of a pipeline's diagram.
    title : str
        In a sentence.
    facts : tuple of (str, str)
        Names and values.
    """

    caption: str
    title: str
    facts: tuple[tuple[str, str], ...]


class AnswerFirst:
    """Mixin: the answer above scikit-learn's diagram, and under the name in the diagram of a pipeline.

    To look is to use: after batches, what is not computed yet is computed now.
    """

    def _answer(self) -> Answer | None:
        """Return the answer of the fitted estimator; a subclass that has none returns None."""
        return None

    def _answer_if_fitted(self) -> Answer | None:
        return self._answer() if hasattr(self, "components_") else None

    def _answer_html(self) -> str:
        answer = self._answer_if_fitted()
        return "" if answer is None else facts_html(answer.title, answer.facts)

    # scikit-learn's hooks: notebooks ask for the bundle, other pages for the text.
    def _repr_html_inner(self) -> str:
        return f"{self._answer_html()}{super()._repr_html_inner()}"  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._answer_html() + bundle["text/html"]
        return bundle

    def _sk_visual_block_(self) -> SimpleNamespace:
        answer = self._answer_if_fitted()
        return SimpleNamespace(
            kind="single",
            estimators=self,
            names=type(self).__name__,
            name_details=str(self),
            name_caption=None if answer is None else answer.caption,
            doc_link_label=None,
            dash_wrapped=True,
        )


def strengths_in_words(strengths: Mapping[str, float]) -> str:
    """Return the strengths above 0 as a text; without any, PCA."""
    used = [f"{name.replace('_', ' ')} {strength:g}" for name, strength in strengths.items() if strength]
    return ", ".join(used) or "ordinary PCA"


def percent_of(gain: float) -> str:
    """Return a gain in percent with one decimal, or more where that would read as nothing."""
    return f"{gain:.1%}" if abs(gain) >= 0.0005 or gain == 0 else f"{100 * gain:.1g}%"


def gain_in_words(gain: float, error: float) -> str:
    """Return a part of PCA's held-out risk in percent, with its standard error where there is one."""
    sure = f"standard error {error:.2%}" if isfinite(error) else "one split has no standard error"
    return f"{gain:.2%} of PCA's held-out risk, {sure}"


def choices_in_words(choices: Sequence[Mapping[str, float]]) -> str:
    """Return the choices that are averaged, the most frequent first."""
    counts = Counter(strengths_in_words(choice) for choice in choices)
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join(f"{words} ({count} of {len(choices)})" for words, count in counts.most_common())


def size_of_fit(estimator: Any) -> tuple[str, str]:
    """Return the fact that says what was fitted to what."""
    share = float(estimator.explained_variance_ratio_.sum())
    return "fitted", (
        f"{counted(estimator.n_components_, 'component')}, {share:.1%} of the variance of "
        f"{counted(estimator.n_samples_, 'row')}, {counted(estimator.n_features_in_, 'column')}"
    )


def given_answer(estimator: Any, strengths: Mapping[str, float]) -> Answer:
    """Return the answer of an estimator whose strengths were given."""
    words = strengths_in_words(strengths)
    name = type(estimator).__name__
    return Answer(
        words,
        f"{words[0].upper()}{words[1:]}, as given",
        (("gain", f"not measured; {name}CV holds rows out and measures it"), size_of_fit(estimator)),
    )
