"""What the page about a search says: the answer, each correction, each step and what it did."""

from typing import Any, NamedTuple

import numpy as np

from attenua._select.steps import Step
from attenua.report.answer import Answer, Evidence, answer_from
from attenua.report.charts import short
from attenua.report.corrected import Move, SearchFindings, in_words

# Columns that the table of moves names.
_NAMED = 4


class Words(NamedTuple):
    """A correction in words: what it weakens, how, and what that costs where it is wrong."""

    weakens: str
    how: str
    price: str


WORDS = {
    "row_tempering": Words(
        "long rows",
        "A few long rows can make most of a covariance. At strength k a row, or the difference of two "
        "rows where they are few, counts with its length to the power 1 − k; at 1 all are equally long.",
        "It trusts that rows have heavy tails or outliers. Where they have not, it wastes a little of them.",
    ),
    "tempering": Words(
        "the sample variances inside covariances",
        "At strength g a column counts with its standard deviation to the power 1 − g; at 1 that is PCA of "
        "the correlations.",
        "It trusts that columns are comparable. It costs where their variances differ for a reason.",
    ),
    "attenuation": Words(
        "the sample variances on the diagonal",
        "At strength a, that part of each variance is taken off the diagonal; at 1 only covariances stay.",
        "It trusts that errors of variances turn the subspace. It costs where variances differ for a reason.",
    ),
    "damping": Words(
        "small correlations",
        "At strength b a correlation r becomes r times |r| to the power b: small ones lose the largest part.",
        "It trusts that most small correlations are noise. It costs where many small effects add up.",
    ),
    "smoothing": Words(
        "differences between neighbouring columns",
        "At strength h the matrix is averaged over neighbours, up to about h columns away.",
        "It trusts that neighbours vary together, as in spectra, series and images. It blurs what is sharp.",
    ),
}


def search_context(found: SearchFindings) -> dict[str, Any]:
    """Return what the template needs beside the findings and the charts."""
    return {
        "title": "Corrected PCA",
        "search": found.search,
        "answer": search_answer(found),
        "strengths": in_words(found.strengths),
        "chosen": in_words(found.search.corrections_),
        "steps": [_step(step) for step in found.search.steps_],
        "moves": [_move(move, found.names) for move in found.moves],
    }


def search_answer(found: SearchFindings) -> Answer:
    """Return the answer to the first question."""
    search = found.search
    return answer_from(
        Evidence(
            said=search.verdict_,
            is_pca=found.is_pca,
            turn=found.angles[0],
            gain=search.gain_,
            expected=found.expected,
            is_clear=search.left_out_gain_ > 2 * found.left_out_error,
            chosen_otherwise=not found.chosen_by_cv and search.corrections_ != found.strengths,
        )
    )


def _name(correction: str) -> str:
    return correction.replace("_", " ").capitalize()


def _percent(part: float) -> str:
    return f"{100 * part:.2f}%".replace("-", "−") if np.isfinite(part) else "–"


def _step(step: Step) -> dict[str, Any]:
    """Return a step as texts."""
    tried = bool(step.strengths)
    better = tried and step.best > 0
    return {
        "correction": step.correction,
        "key": f"step-{step.correction}",
        "name": _name(step.correction),
        "words": WORDS[step.correction],
        "taken": step.taken,
        "state": f"taken at {step.best:g}" if step.taken else "not taken" if tried else "not tried",
        "best": f"{step.best:g}" if tried else "–",
        "gain": _percent(step.gain) if better else "–",
        "error": _percent(step.standard_error) if better else "–",
        "needed": _percent(step.needed) if better else "–",
        "outcome": _outcome(step),
    }


def _outcome(step: Step) -> str:
    """Return what came of a step, and why, in a sentence."""
    if not step.strengths:
        return f"{step.why[0].upper()}{step.why[1:]}."
    if step.best == 0:
        return f"Not taken: {step.why}."
    error = f" ± {short(100 * step.standard_error, 2)}" if np.isfinite(step.standard_error) else ""
    gain = f"Strength {step.best:g} removes {100 * step.gain:.2f}%{error} of PCA's held-out risk"
    needed = f"and had to remove more than {100 * step.needed:.2f}%"
    return f"{gain}, {needed}. {'Taken' if step.taken else 'Not taken'}: {step.why}."


def _move(move: Move, names: list[str]) -> dict[str, str]:
    largest = np.argsort(-move.changes, kind="stable")[:_NAMED]
    return {
        "name": f"{_name(move.correction)} {move.strength:g}",
        "angle": f"{move.angle:.1f}°",
        "gain": _percent(move.gain),
        "columns": ", ".join(names[i] for i in largest),
    }
