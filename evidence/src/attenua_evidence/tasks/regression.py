"""Predict a number for new rows: by least squares on scores, or from all columns without components."""

from collections.abc import Iterator

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import RidgeCV

from attenua_evidence.outcome import call
from attenua_evidence.tasks.problem import HOLES_FILLED, Array, Problem, Result, filled_by_means

RIDGE, PLS = "ridge on all columns", "PLS"
DIRECT = {RIDGE: "scikit-learn RidgeCV, 25 penalties", PLS: "scikit-learn PLSRegression, not scaled"}
_PENALTIES = np.geomspace(1e-4, 1e4, 25)


def error_by_scores(train: Array, target: Array, new: Array, truth: Array) -> float:
    """Return the squared error of least squares on scores, in parts of the variance of the new targets.

    Where a method found no component, the mean of the targets is what is left.
    """
    known, asked = np.isfinite(target), np.isfinite(truth)
    design, design_new = (np.column_stack([np.ones(len(rows)), rows]) for rows in (train[known], new[asked]))
    return _relative(design_new @ np.linalg.lstsq(design, target[known])[0], truth[asked])


def without_components(
    task: str, problem: Problem, target: Array, truth: Array, rank: int
) -> Iterator[Result]:
    """Yield the errors of regressions on all columns, which are what people would use instead."""
    known, asked = np.isfinite(target), np.isfinite(truth)
    centre = problem.centre
    X, test = (filled_by_means(rows, centre) - centre for rows in (problem.rows.X, problem.test))
    size = np.sqrt(np.mean(X**2))
    X, test = X[known] / size, test[asked] / size
    note = HOLES_FILLED if problem.has_holes else ""
    for name, model in ((RIDGE, RidgeCV(_PENALTIES)), (PLS, PLSRegression(rank, scale=False))):
        called = call(
            lambda model=model: model.fit(X, target[known]).predict(test).ravel(),
            lambda found: bool(np.isfinite(found).all()),
        )
        result = Result(task, name, rank, nothing=1.0, seconds=called.seconds, note=note)
        if called.failure:
            yield result._replace(status="failed", note=called.failure)
        else:
            yield result._replace(value=_relative(called.found, truth[asked]))


def _relative(found: Array, truth: Array) -> float:
    return float(np.mean((found - truth) ** 2) / np.var(truth))
