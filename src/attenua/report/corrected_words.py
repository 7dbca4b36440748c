"""What the page about a search says: the answer, each correction, each step and what it did."""

from typing import Any

import numpy as np

from attenua._correct.registry import CORRECTIONS
from attenua._select.steps import Step
from attenua.report.answer import Answer, Evidence, answer_from
from attenua.report.charts import short
from attenua.report.corrected import Move, SearchFindings, in_words

# Columns that the table of moves names.
_NAMED = 4


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
        "words": CORRECTIONS[step.correction],
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
