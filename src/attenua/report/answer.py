"""The answer of the page, from one place that sees all evidence, so that it cannot contradict itself."""

from typing import NamedTuple

# A turn that the page shows as 0.0 degrees.
NO_TURN = 0.05


class Evidence(NamedTuple):
    """What the answer rests on.

    Attributes
    ----------
    said : str
        What came out of the fit, in a sentence.
    is_pca : bool
        Whether no correction is in the fit.
    turn : float
        Largest principal angle between the fit and PCA, in degrees.
    gain : float
        Part of PCA's held-out risk that the fit removes.
    expected : float
        The same, judged by choices that did not see the rows they are judged on; None where there are none.
    is_clear : bool
        Whether the gain stands clear of its noise.
    chosen_otherwise : bool
        Whether the strengths were given, and held-out rows choose others.
    """

    said: str
    is_pca: bool
    turn: float
    gain: float
    expected: float | None
    is_clear: bool
    chosen_otherwise: bool = False


class Answer(NamedTuple):
    """The answer: its kind ("pca", "clear" or "unclear"), a word or two, and sentences."""

    kind: str
    word: str
    sentence: str


def answer_from(seen: Evidence) -> Answer:
    """Return the answer to the first question, whether to use it on these data."""
    if seen.chosen_otherwise:
        return Answer("unclear", "Held-out rows choose otherwise", seen.said)
    if seen.is_pca:
        return Answer("pca", "No: use ordinary PCA", seen.said)
    if seen.turn < NO_TURN:
        sentence = (
            f"{seen.said} On all rows the fit turns PCA's subspace by less than {NO_TURN:g} degrees, which "
            "nobody would notice: ordinary PCA serves as well."
        )
        return Answer("pca", "It makes no difference", sentence)
    if seen.gain < 0:
        return Answer("pca", "No", "Held-out rows are reconstructed worse than by PCA.")
    if seen.expected is not None and not seen.expected > 0:
        doubt = "Judged by choices that did not see them, held-out rows gain nothing."
        return Answer("unclear", "Perhaps not", f"{seen.said} {doubt}")
    if seen.gain == 0:
        # Choices without single parts differ from PCA and are averaged; the choice by all parts is PCA.
        return Answer("unclear", "Perhaps not", seen.said)
    if seen.expected is None:
        doubt = "Too few parts were held out to say what to expect of new rows."
        return Answer("unclear", "Perhaps", f"{seen.said} {doubt}")
    if seen.is_clear:
        return Answer("clear", "Yes", seen.said)
    doubt = "The gain does not stand clear of its noise; ordinary PCA may serve as well."
    return Answer("unclear", "Perhaps", f"{seen.said} {doubt}")
