"""Tell rows of a class that was left out of the fit from new rows of the others, by several distances.

A better subspace rebuilds foreign rows better, too, so its residual need not tell them better. Nor need a
covariance that weakens differences between columns, since outliers differ in ways that fitted rows do not.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.covariance import LedoitWolf
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor

from attenua import CorrectedCovariance
from attenua_evidence.cell import Cell
from attenua_evidence.draws import MOST_TESTED, SEED, draw, scaled_by_first
from attenua_evidence.methods import Rows
from attenua_evidence.outcome import Outcome, call
from attenua_evidence.tasks.problem import (
    HOLES_FILLED,
    MOST_COLUMNS,
    Array,
    Problem,
    Result,
    filled_by_means,
    problem_of_draw,
    sizes_allowed,
)
from attenua_evidence.tasks.subspaces import OURS, PCA, fit_subspace

OUTLIERS = "tell outliers"
LEAST_OUTLIERS = 5
RESIDUAL, BOTH, LIKELIHOOD = "Q", "T2 + Q", "likelihood"
BASE = f"{PCA}, {RESIDUAL}"
LEDOIT_WOLF, CORRECTED = "Ledoit-Wolf, Mahalanobis", "CorrectedCovariance, Mahalanobis"
SHRUNK = "CorrectedCovariance, only shrinkage, Mahalanobis"
FOREST, FACTOR = "isolation forest", "local outlier factor"
DISTANCES = {
    RESIDUAL: "squared distance from the subspace",
    BOTH: "T2 and Q, each in parts of its mean over the fitted rows",
    LIKELIHOOD: "T2 + Q / noise variance, the Gaussian log-likelihood of probabilistic PCA",
}
OF_SUBSPACES = {f"{name}, {distance}": what for name in (PCA, OURS) for distance, what in DISTANCES.items()}
WHAT = {
    **OF_SUBSPACES,
    LEDOIT_WOLF: "scikit-learn LedoitWolf",
    CORRECTED: "CorrectedCovariance, neighbours where columns have an order",
    SHRUNK: 'CorrectedCovariance(corrections=["shrinkage"]): its amount by held-out likelihood',
    FOREST: "scikit-learn IsolationForest, its defaults",
    FACTOR: "scikit-learn LocalOutlierFactor, its defaults",
}


def of_outliers(cell: Cell, table: Any) -> Iterator[Result]:
    """Yield the area under the ROC curve of every distance."""
    found = without_a_class(cell, table)
    if found is None:
        return
    problem, outliers = found
    centre, rows = problem.centre, problem.rows
    whole = filled_by_means(rows.X, centre)
    judged = filled_by_means(np.vstack([problem.test, outliers]), centre)
    truth = np.arange(len(judged)) >= len(problem.test)
    note = HOLES_FILLED if np.isnan(rows.X).any() or problem.has_holes else ""
    for rank in problem.ranks:
        for name in (PCA, OURS):
            outcome = fit_subspace(name, rows, rank)
            for distance, values in _distances(outcome, centre, whole, judged).items():
                area = float(roc_auc_score(truth, values)) if outcome.fit else np.nan
                said = "; ".join(filter(None, dict.fromkeys((note, outcome.note))))
                yield Result(
                    OUTLIERS,
                    f"{name}, {distance}",
                    rank,
                    area,
                    nothing=0.5,
                    seconds=outcome.seconds,
                    status=outcome.status,
                    note=said,
                )
    for name in (LEDOIT_WOLF, CORRECTED, SHRUNK, FOREST, FACTOR):
        result = Result(OUTLIERS, name, problem.ranks[0], nothing=0.5, note=note)
        if rows.X.shape[1] > MOST_COLUMNS:
            result = result._replace(status="unsuited", note=f"more than {MOST_COLUMNS} columns")
        else:
            called = call(
                lambda name=name: _foreignness(name, rows, whole, judged),
                lambda values: bool(np.isfinite(values).all()),
            )
            result = result._replace(seconds=called.seconds)
            if called.failure:
                result = result._replace(status="failed", note=called.failure)
            else:
                result = result._replace(value=float(roc_auc_score(truth, called.found)))
        yield from (result._replace(rank=rank) for rank in problem.ranks)


def without_a_class(cell: Cell, table: Any) -> tuple[Problem, Array] | None:
    """Return a draw of all classes but one, which the number of the draw decides, and rows of that class.

    No outlier is of a group that has a fitted row.
    """
    if table.labels is None:
        return None
    classes = np.unique(table.labels[table.labels >= 0])
    if len(classes) < 2:
        return None
    order = np.random.default_rng([SEED, *cell.data.encode()]).permutation(classes)
    left_out = table.labels == order[cell.draw % len(order)]
    kept = np.flatnonzero(~left_out & (table.labels >= 0))
    if cell.rows not in sizes_allowed(len(kept)):
        return None
    # Without units: the outliers are scaled like the new rows.
    drawn = draw(table.rows(kept), cell.data, "one", cell.rows, cell.draw)
    if drawn is None:
        return None
    foreign = left_out if table.groups is None else left_out & ~np.isin(table.groups, drawn.groups)
    outliers = table.X[foreign][:MOST_TESTED]
    if len(outliers) < LEAST_OUTLIERS:
        return None
    n_new = len(drawn.X_test)
    X, judged = drawn.X, np.vstack([drawn.X_test, outliers])
    if cell.unit == "mixed":
        X, judged = scaled_by_first(X, judged)
    # Outliers go through the same choice of columns as new rows.
    drawn = drawn._replace(X=X, X_test=judged, labels=None, target=None, target_test=None)
    drawn = drawn._replace(labels_test=np.arange(len(judged)) >= n_new)
    problem = problem_of_draw(cell, drawn).with_varying_columns()
    is_outlier = problem.drawn.labels_test
    return problem._replace(test=problem.test[~is_outlier]), problem.test[is_outlier]


def _distances(outcome: Outcome, centre: Array, fitted: Array, judged: Array) -> dict[str, Array]:
    """Return how far rows are from those that were fitted; all 0 where there is no subspace."""
    if outcome.fit is None:
        return dict.fromkeys(DISTANCES, np.zeros(len(judged)))
    components = outcome.fit.components
    k, p = components.shape
    Z, Z_fitted = judged - centre, fitted - centre
    inside, inside_fitted = Z @ components.T, Z_fitted @ components.T
    variances = np.maximum(inside_fitted.var(axis=0), np.finfo(float).tiny)
    residual, residual_fitted = (
        np.sum(rows**2, axis=1) - np.sum(along**2, axis=1)
        for rows, along in ((Z, inside), (Z_fitted, inside_fitted))
    )
    mean_residual = max(float(np.mean(residual_fitted)), np.finfo(float).tiny)
    squares = np.sum(inside**2 / variances, axis=1)
    return {
        RESIDUAL: residual,
        BOTH: squares / k + residual / mean_residual,
        LIKELIHOOD: squares + residual * (p - k) / mean_residual,
    }


def _foreignness(name: str, rows: Rows, whole: Array, judged: Array) -> Array:
    """Return the distance of rows by a method without components."""
    if name in (CORRECTED, SHRUNK):
        tried = {"neighbours": rows.order} if name == CORRECTED else {"corrections": ["shrinkage"]}
        model = CorrectedCovariance(cv=rows.n_folds, **tried)
        return model.fit(rows.X, groups=rows.groups).mahalanobis(judged)
    if name == LEDOIT_WOLF:
        return LedoitWolf().fit(whole).mahalanobis(judged)
    if name == FOREST:
        return -IsolationForest(random_state=0).fit(whole).score_samples(judged)
    return -LocalOutlierFactor(novelty=True).fit(whole).score_samples(judged)
