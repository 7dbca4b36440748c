"""The results of a fit, printed in sentences or as JSON."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attenua import AttenuatedPCACV, CorrectedPCACV, paired_gain
from attenua._estimate.words import described
from attenua.cli.base import print_plain
from attenua.cli.readers import Table
from attenua.cli.readers.axis import neighbours_by_name
from attenua.cli.request import flags_in_words


def print_result(table: Table, model: Any, files: Sequence[Path], *, as_json: bool) -> None:
    """Print the results of a fit and the files that were written, in sentences or as JSON."""
    if as_json:
        print_plain(dump(_record(table, model) | {"files": [str(path) for path in files]}))
    else:
        print_plain(flags_in_words(described(table.source, model)))
        if hasattr(model, "steps_") and model.neighbours is None:
            _suggest_neighbours(table.names)
        print_plain("Written: " + ", ".join(map(str, files)))


def _suggest_neighbours(names: Sequence[str] | None) -> None:
    """Say how to give neighbours to a search if the columns are called like an axis or pixels."""
    neighbours = neighbours_by_name(names)
    if names is not None and neighbours is not None:
        kind = "points of an axis" if neighbours == "line" else "pixels"
        print_plain(
            f"The columns are called like {kind} ({names[0]} to {names[-1]}). If neighbours vary together, "
            f"give --neighbours {neighbours}."
        )


def dump(record: dict[str, Any]) -> str:
    """Return a record as JSON text."""
    return json.dumps(record, indent=2, allow_nan=False)


def _record(table: Table, model: Any) -> dict[str, Any]:
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


def _search_record(model: CorrectedPCACV) -> dict[str, Any]:
    steps = model.steps_.to_records()
    for step in steps:
        step["standard_error"] = _number(step["standard_error"])
    return {
        "corrections": model.corrections_,
        "choices": model.choices_,
        "choice_weights": model.choice_weights_,
        "steps": steps,
        "gain": model.gain_,
        "left_out_gain": _number(model.left_out_gain_),
        "left_out_gain_error": _number(model.left_out_gain_error_),
        "verdict": model.verdict_,
        "folds": model.folds_,
    }


def _strength_record(model: AttenuatedPCACV) -> dict[str, Any]:
    paired = paired_gain(model)
    return {
        "alpha": model.alpha_,
        "gain": paired.gain,
        "gain_standard_error": _number(paired.standard_error),
        "gain_interval_95": [_number(end) for end in paired.interval],
        "left_out_gain": paired.crossed_gain,
        "left_out_gain_error": _number(paired.crossed_error),
        "verdict": model.verdict_,
        "n_splits": paired.n_splits,
        "n_splits_better": paired.n_better,
        "n_splits_worse": paired.n_worse,
        "alphas": model.alphas_.tolist(),
        "cv_risk": model.cv_risk_.tolist(),
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
