"""Predict a column of new rows from the others, by regression on their scores."""

from collections.abc import Iterator

import numpy as np

from attenua_evidence.draws import varying_columns
from attenua_evidence.tasks.new_rows import how_it_went
from attenua_evidence.tasks.problem import Array, Problem, Result, scores
from attenua_evidence.tasks.regression import error_by_scores, without_components
from attenua_evidence.tasks.subspaces import fit_subspaces

COLUMN = "predict a column"
N_TARGETS = 2  # the middle column, and others at random
LEAST_COLUMNS = 4  # others would leave too few to predict from


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
        return error_by_scores(train, target, new, truth)

    for name, outcome in fit_subspaces(names, others.rows, rank).items():
        value = np.nan if outcome.fit is None else error(outcome.fit.components)
        yield Result(COLUMN, name, rank, value, nothing=1.0, **how_it_went(outcome))
    yield from without_components(COLUMN, others, target, truth, rank)
