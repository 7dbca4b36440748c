"""Covariances of few rows: the log-likelihood of new rows, and the variance of a portfolio."""

from collections.abc import Iterator

import numpy as np
from sklearn.decomposition import PCA as ProbabilisticPCA

from attenua_evidence.covariance_rivals import METHODS, OURS, PLAIN, covariance_by
from attenua_evidence.covariance_uses import combined_variance, likelihood
from attenua_evidence.methods import Rows
from attenua_evidence.outcome import call
from attenua_evidence.tasks.problem import HOLES_FILLED, MOST_COLUMNS, Array, Problem, Result, filled_by_means
from attenua_evidence.tasks.subspaces import PCA

DENSITY, PORTFOLIO = "likelihood of new rows", "minimum variance"
# The graphical lasso takes as long as all others together.
LEFT_OUT = "GraphicalLassoCV"
MOST_PARTIAL = 200  # new rows with missing cells, each with a likelihood of its own
NAMES = (PCA, *(name for name in METHODS if name != LEFT_OUT))
WHAT = {PCA: "scikit-learn PCA.get_covariance(), probabilistic PCA"} | {
    name: f"{name}, as in the study of covariances" for name in NAMES[1:]
}


def of_densities(problem: Problem, kind: str) -> Iterator[Result]:
    """Yield log-likelihoods in nats per row and column, and for returns the variance of a portfolio."""
    problem = problem.with_varying_columns()
    rows, centre = problem.rows, problem.centre
    whole = rows._replace(X=filled_by_means(rows.X, centre))
    new = filled_by_means(problem.test, centre)
    rank = problem.ranks[0]
    tasks = [DENSITY] + [PORTFOLIO] * (kind == "returns")
    for name in NAMES:
        if name == PLAIN and rows.order is None:
            why = "columns have no order"
        elif rows.X.shape[1] > MOST_COLUMNS:
            why = f"more than {MOST_COLUMNS} columns"
        else:
            why = ""
        if why:
            yield from (Result(task, name, rank, status="unsuited", note=why) for task in tasks)
            continue
        fitted = rows if name in (OURS, PLAIN) else whole
        called = call(
            lambda name=name, fitted=fitted: _covariance(name, fitted, rank),
            lambda covariance: covariance is not None and bool(np.isfinite(covariance).all()),
        )
        for task in tasks:
            result = Result(task, name, rank, seconds=called.seconds)
            if called.failure:
                yield result._replace(status="failed", note=called.failure)
                continue
            if task == DENSITY:
                value = likelihood_of_seen(called.found, centre, problem.test)
            else:
                value = combined_variance(called.found, new)
            note = HOLES_FILLED if fitted is whole and problem.has_holes else ""
            yield result._replace(value=value, note=note)


def likelihood_of_seen(covariance: Array, mean: Array, X: Array) -> float:
    """Return the Gaussian log-likelihood of seen cells, in nats per cell, the mean over the rows."""
    if not np.isnan(X).any():
        return likelihood(covariance, mean, X)
    found = []
    for row in X[:MOST_PARTIAL]:
        seen = np.isfinite(row)
        found.append(likelihood(covariance[np.ix_(seen, seen)], mean[seen], row[None, seen]))
    return float(np.mean(found))


def _covariance(name: str, rows: Rows, rank: int) -> Array | None:
    """Return a covariance that is positive definite, or None."""
    if name == PCA:
        return ProbabilisticPCA(rank).fit(rows.X).get_covariance()
    return covariance_by(name, rows)
