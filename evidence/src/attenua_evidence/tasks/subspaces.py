"""The subspaces that are compared, ours and others, and how they are fitted to rows with missing cells."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from attenua_evidence.covariance_rivals import OURS as COVARIANCE
from attenua_evidence.covariance_rivals import corrected
from attenua_evidence.methods import METHODS, Rows, fit_method, same_by_definition
from attenua_evidence.outcome import Fit, Outcome, attempt
from attenua_evidence.rivals import RIVALS, fit_rival, leading
from attenua_evidence.tasks.problem import HOLES_FILLED, MOST_COLUMNS, filled_by_means
from attenua_evidence.tuned_curves import tuned_curves

PCA, OURS = "PCA", "recommended"
COMPLETED, OF_COVARIANCE, TUNED = "PCA, cells completed", f"PCA of {COVARIANCE}", "functional PCA, tuned"
OWN = (PCA, COMPLETED, "paper's strength", "default", OURS, OF_COVARIANCE)
# Linear shrinkage keeps the eigenvectors, so these two are PCA.
_AS_PCA = ("Ledoit-Wolf", "OAS")
WHAT = {
    **{name: METHODS[name].what for name in OWN if name in METHODS},
    PCA: "CorrectedPCA, all strengths 0; missing cells are column means",
    COMPLETED: "CorrectedPCA, all strengths 0, of rows with missing cells as they are",
    OF_COVARIANCE: "leading eigenvectors of CorrectedCovariance, neighbours where columns have an order",
    TUNED: "PCA of smoothed rows, the roughness penalty chosen by the folds of the corrections",
}


def methods(versions: Mapping[str, str]) -> dict[str, str]:
    """Return the methods whose packages are there, and what they are."""
    rivals = [
        name
        for name, rival in RIVALS.items()
        if name not in _AS_PCA and (not rival.package or versions[rival.package])
    ]
    return (
        {name: WHAT[name] for name in OWN}
        | {name: RIVALS[name].what for name in rivals}
        | {TUNED: WHAT[TUNED]}
    )


def fit_subspaces(names: list[str], rows: Rows, rank: int) -> dict[str, Outcome]:
    """Fit all methods, those that are the same by definition once."""
    outcomes: dict[str, Outcome] = {}
    for name in names:
        same = same_by_definition(name, rows.order)
        outcomes[name] = outcomes[same] if same in outcomes else fit_subspace(name, rows, rank)
    return outcomes


def fit_subspace(name: str, rows: Rows, rank: int) -> Outcome:
    """Fit one method and say how it went; column means take the place of cells that it cannot miss."""
    holes = np.isnan(rows.X)
    if name == COMPLETED:
        if not holes.any():
            return Outcome("unsuited", "no cell is missing")
        return fit_method(PCA, rows, rank)
    if name in OWN and name != PCA:
        return (
            attempt(partial(covariance_pca, rows, rank), rank)
            if name == OF_COVARIANCE
            else fit_method(name, rows, rank)
        )
    whole = rows._replace(X=filled_by_means(rows.X, np.nanmean(rows.X, axis=0)))
    outcome = _fit_whole(name, whole, rank)
    if not holes.any() or outcome.status == "unsuited":
        return outcome
    note = "; ".join(filter(None, (HOLES_FILLED, outcome.note)))
    return Outcome(outcome.status, note, outcome.fit, outcome.seconds)


def covariance_pca(rows: Rows, rank: int) -> Fit:
    """Return the leading eigenvectors of the corrected covariance."""
    return Fit(np.nanmean(rows.X, axis=0), leading(corrected(rows), rank))


def _fit_whole(name: str, rows: Rows, rank: int) -> Outcome:
    if name == PCA:
        return fit_method(PCA, rows, rank)
    if rows.X.shape[1] > MOST_COLUMNS:
        return Outcome("unsuited", f"more than {MOST_COLUMNS} columns")
    if name == TUNED:
        if rows.order is None:
            return Outcome("unsuited", "needs columns in an order")
        return attempt(lambda: tuned_curves(rows, rank), rank)
    # Rivals read an order that they have a name for, and no graph.
    order = rows.order if isinstance(rows.order, str | tuple) else None
    return fit_rival(name, rows.X, rank, order)
