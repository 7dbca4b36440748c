"""What is said about a fit: in a few lines, or as data."""

import json
import math
from typing import Any

from attenua import AttenuatedPCACV, CorrectedPCACV, paired_gain
from attenua._correct.registry import CORRECTIONS
from attenua._data.words import counted
from attenua.cli.readers import Table


def describe(table: Table, model: Any) -> str:
    """Say in a few lines what was fitted, what it gains and how sure that is."""
    n, p = table.X.shape
    size = (
        f"{table.source}: {counted(n, 'row')}, {counted(p, 'column')}, "
        f"{counted(model.n_components_, 'component')}."
    )
    if isinstance(model, CorrectedPCACV):
        return f"{size}\n{_search_in_words(model)}"
    if isinstance(model, AttenuatedPCACV):
        return f"{size}\n{_strength_in_words(model)}"
    return f"{size}\n{_given_in_words(model)}"


def as_record(table: Table, model: Any) -> dict[str, Any]:
    """Return what `describe` says, and more, for ``--json``."""
    n, p = table.X.shape
    record = {
        "data": table.source,
        "estimator": type(model).__name__,
        "n_rows": n,
        "n_columns": p,
        "n_components": model.n_components_,
        "explained_variance_ratio": model.explained_variance_ratio_.tolist(),
        "notes": list(table.notes),
    }
    if not isinstance(model, CorrectedPCACV | AttenuatedPCACV):
        return record
    settings = {"cv": model.cv, "repeats": model.n_repeats, "seed": model.random_state}
    found = _search_record(model) if isinstance(model, CorrectedPCACV) else _strength_record(model)
    return record | found | {"settings": settings | {"grouped": table.groups is not None}}


def dump(record: dict[str, Any]) -> str:
    """Return a record as JSON text."""
    return json.dumps(record, indent=2, allow_nan=False)


def _percent(part: float) -> str:
    """Return a part of one as percent, with three figures where it is small."""
    return f"{100 * part:.3g}%"


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _search_in_words(model: CorrectedPCACV) -> str:
    lines = [model.verdict_, "", repr(model.steps_), ""]
    if any(strength for choice in model.choices_ for strength in choice.values()):
        gain = f"Gain: {_percent(model.gain_)} of PCA's held-out risk."
        # A single choice was made by all parts, so that none tells what to expect.
        if len(model.choices_) > 1:
            gain += (
                " To expect of new rows, with each held-out part judged by the choice made without it: "
                f"{_percent(model.left_out_gain_)}."
            )
        lines.append(gain)
    return "\n".join(lines).rstrip()


def _search_record(model: CorrectedPCACV) -> dict[str, Any]:
    steps = [
        record | {"standard_error": _number(record["standard_error"])} for record in model.steps_.to_records()
    ]
    return {
        "corrections": model.corrections_,
        "choices": model.choices_,
        "steps": steps,
        "gain": model.gain_,
        "left_out_gain": model.left_out_gain_,
        "verdict": model.verdict_,
        "folds": model.folds_,
    }


def _given_in_words(model: Any) -> str:
    strengths = model.get_params(deep=False)
    given = [f"{name} {strengths[name]:g}" for name in (*CORRECTIONS, "alpha") if strengths.get(name)]
    share = f"The components explain {_percent(model.explained_variance_ratio_.sum())} of the variance."
    if given:
        return f"Given, not chosen: {', '.join(given)}.\n{share}"
    return f"Ordinary PCA; no correction was tried.\n{share}"


def _strength_in_words(model: AttenuatedPCACV) -> str:
    paired, compared = paired_gain(model), f"of {len(model.alphas_)} compared"
    if paired.verdict == "pca":
        return f"Chosen: strength 0, ordinary PCA, {compared}.\n{model.verdict_}"
    chosen, (low, high) = f"Chosen: strength {model.alpha_:g} {compared}.", paired.interval
    if paired.n_splits == 1:
        return (
            f"{chosen}\nHeld-out risk: {_percent(paired.gain)} less than PCA's. One held-out part cannot say "
            "how sure that is."
        )
    return (
        f"{chosen}\n"
        f"Held-out risk: {_percent(paired.gain)} less than PCA's, standard error "
        f"{_percent(paired.standard_error)}, 95% interval {_percent(low)} to {_percent(high)}; better in "
        f"{paired.n_better} of {paired.n_splits} held-out parts.\n"
        f"With the strength of each part chosen on the others: {_percent(paired.crossed_gain)}, standard "
        f"error {_percent(paired.crossed_error)}.\n"
        f"{paired.advice}"
    )


def _strength_record(model: AttenuatedPCACV) -> dict[str, Any]:
    paired = paired_gain(model)
    return {
        "alpha": model.alpha_,
        "gain": paired.gain,
        "gain_standard_error": _number(paired.standard_error),
        "gain_interval_95": [_number(end) for end in paired.interval],
        "gain_strength_chosen_elsewhere": paired.crossed_gain,
        "gain_strength_chosen_elsewhere_standard_error": _number(paired.crossed_error),
        "verdict": paired.verdict,
        "n_splits": paired.n_splits,
        "n_splits_better": paired.n_better,
        "n_splits_worse": paired.n_worse,
        "alphas": model.alphas_.tolist(),
        "cv_risk": model.cv_risk_.tolist(),
    }
