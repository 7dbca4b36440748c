"""What fit and report share: read rows, fit them, and say how sure the gain is."""

import json
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from attenua import AttenuatedPCACV
from attenua.cli.base import fail, warn
from attenua.cli.readers import Table, TableError, read_table
from attenua.paired import PairedGain


@dataclass(frozen=True)
class Request:
    """How a command was asked to fit."""

    file: str | None
    columns: list[str] | None
    group_column: str | None
    k: int | float
    alphas: Any
    cv: int
    repeats: int
    seed: int


def load_rows(request: Request) -> Table:
    """Read the rows of a request, or fail with a sentence."""
    try:
        if request.file is not None:
            return read_table(request.file, columns=request.columns, group_column=request.group_column)
    except TableError as error:
        fail(str(error))
    except MemoryError:
        fail(f"{request.file} does not fit in memory.")
    if request.columns or request.group_column:
        fail("--columns and --group-column need a file; the built-in digits were not given as one.")
    digits = load_digits()
    return Table(digits.data, list(digits.feature_names), None, "the built-in digits")


def fit_rows(table: Table, request: Request) -> AttenuatedPCACV:
    """Fit a request, or fail with a sentence; what the fit warns of is passed on as notes."""
    model = AttenuatedPCACV(
        request.k,
        alphas=request.alphas,
        cv=request.cv,
        n_repeats=request.repeats,
        random_state=request.seed,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(table.X, groups=table.groups)
        except ValueError as error:
            fail(f"{table.source}: {error}")
        except MemoryError:
            fail(f"{table.source}: the fit does not fit in memory.")
    for warning in caught:
        warn(str(warning.message))
    if table.names is not None:
        model.feature_names_in_ = np.array(table.names, dtype=object)
    return model


def scores_of(model: Any, table: Table) -> Any:
    """Return the scores of rows whose columns were matched with the model's."""
    with warnings.catch_warnings():
        # The names were compared when the table was read; its matrix carries none.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return model.transform(table.X)


def describe(table: Table, model: AttenuatedPCACV, paired: PairedGain) -> str:
    """Say in a few lines which strength was chosen, what it gains and how sure that is."""
    n, p = table.X.shape
    size = (
        f"{table.source}: {n:,} rows, {p:,} columns, {model.n_components_} "
        f"{'component' if model.n_components_ == 1 else 'components'}"
    )
    compared = f"of {len(model.alphas_)} compared"
    if paired.verdict == "pca":
        return f"{size}.\nChosen: strength 0, ordinary PCA, {compared}.\n{model.verdict_}"
    low, high = paired.interval
    return (
        f"{size}.\n"
        f"Chosen: strength {model.alpha_:g} {compared}.\n"
        f"Held-out risk: {percent(paired.gain)} less than PCA's, standard error "
        f"{percent(paired.standard_error)}, 95% interval {percent(low)} to {percent(high)}; better in "
        f"{paired.n_better} of {paired.n_splits} held-out parts.\n"
        f"With the strength of each part chosen on the others: {percent(paired.crossed_gain)}, standard "
        f"error {percent(paired.crossed_error)}.\n"
        f"{paired.advice}"
    )


def percent(part: float) -> str:
    """Return a part of one as percent, with three figures where it is small."""
    return f"{100 * part:.3g}%"


def as_record(table: Table, model: AttenuatedPCACV, paired: PairedGain, request: Request) -> dict[str, Any]:
    """Return what `describe` says, and more, for ``--json``."""
    n, p = table.X.shape
    return {
        "data": table.source,
        "n_rows": n,
        "n_columns": p,
        "n_components": model.n_components_,
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
        "explained_variance_ratio": model.explained_variance_ratio_.tolist(),
        "settings": {
            "cv": request.cv,
            "repeats": request.repeats,
            "seed": request.seed,
            "grouped": table.groups is not None,
        },
    }


def dump(record: dict[str, Any]) -> str:
    """Return a record as JSON text."""
    return json.dumps(record, indent=2, allow_nan=False)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
