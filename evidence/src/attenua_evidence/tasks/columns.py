"""Predict a column of new rows from the others, by regression on their scores."""

from collections.abc import Iterator

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import RidgeCV

from attenua_evidence.draws import varying_columns
from attenua_evidence.outcome import call
from attenua_evidence.tasks.new_rows import error_of_regression, how_it_went
from attenua_evidence.tasks.problem import HOLES_FILLED, Array, Problem, Result, filled_by_means, scores
from attenua_evidence.tasks.subspaces import fit_subspaces

COLUMN = "predict a column"
N_TARGETS = 2  # the middle column, and others at random
LEAST_COLUMNS = 4  # others would leave too few to predict from
RIDGE, PLS = "ridge on all columns", "PLS"
DIRECT = {RIDGE: "scikit-learn RidgeCV, 25 penalties", PLS: "scikit-learn PLSRegression, not scaled"}
_PENALTIES = np.geomspace(1e-4, 1e4, 25)


def of_columns(problem: Problem, names: list[str]) -> Iterator[Result]:
    """Yield the mean error over the targets, each in parts of the variance of its new cells."""
    targets = chosen_columns(problem)
    if not targets:
        return
    for rank in problem.ranks:
        parts: dict[str, list[Result]] = {}
        for column in targets:
            for result in of_column(problem, column, names, rank):
                parts.setdefault(result.method, []).append(result)
        for results in parts.values():
            worst = next((result for result in results if result.status != "fitted"), results[0])
            value = float(np.mean([result.value for result in results]))
            yield worst._replace(value=value, seconds=float(np.mean([result.seconds for result in results])))


def chosen_columns(problem: Problem) -> list[int]:
    """Return the middle one of the columns that vary on both sides, and others at random."""
    columns = np.flatnonzero(varying_columns(problem.rows.X) & varying_columns(problem.test))
    if len(columns) < LEAST_COLUMNS:
        return []
    middle = columns[len(columns) // 2]
    others = np.random.default_rng([*problem.seed, 2]).permutation(columns[columns != middle])
    return [int(column) for column in (middle, *others[: N_TARGETS - 1])]


def of_column(problem: Problem, column: int, names: list[str], rank: int) -> Iterator[Result]:
    """Yield the errors of one target."""
    target, truth = problem.rows.X[:, column], problem.test[:, column]
    others = problem.with_columns(np.arange(problem.test.shape[1]) != column)
    X, test, centre = others.rows.X, others.test, others.centre

    def error(components: Array) -> float:
        train, new = (scores(rows, centre, components) for rows in (X, test))
        return error_of_regression(train, target, new, truth)

    for name, outcome in fit_subspaces(names, others.rows, rank).items():
        value = np.nan if outcome.fit is None else error(outcome.fit.components)
        yield Result(COLUMN, name, rank, value, nothing=1.0, **how_it_went(outcome))
    known, asked = np.isfinite(target), np.isfinite(truth)
    X, test = filled_by_means(X, centre), filled_by_means(test, centre)
    size = np.sqrt(np.mean((X - centre) ** 2))
    X, test = (X[known] - centre) / size, (test[asked] - centre) / size
    for name, model in ((RIDGE, RidgeCV(_PENALTIES)), (PLS, PLSRegression(rank, scale=False))):
        called = call(
            lambda model=model: model.fit(X, target[known]).predict(test).ravel(),
            lambda found: bool(np.isfinite(found).all()),
        )
        result = Result(COLUMN, name, rank, nothing=1.0, seconds=called.seconds, note=called.failure)
        if called.failure:
            yield result._replace(status="failed")
        else:
            error_of = np.mean((called.found - truth[asked]) ** 2) / np.var(truth[asked])
            note = HOLES_FILLED if problem.has_holes else ""
            yield result._replace(value=float(error_of), note=note)
