"""New rows through a subspace: rebuild them, take noise off, predict a target and call classes by the scores.

One fit of each method and rank serves all four.
"""

from collections.abc import Iterator

import numpy as np

from attenua_evidence.downstream import accuracies
from attenua_evidence.outcome import Outcome
from attenua_evidence.tasks.problem import Array, Problem, Result, rebuilt, scores, squared_errors
from attenua_evidence.tasks.regression import error_by_scores, without_components
from attenua_evidence.tasks.subspaces import fit_subspaces
from attenua_paper.studies.hindsight import HeldMoments

REBUILD, DENOISE, TARGET = "rebuild new rows", "denoise new rows", "predict a target"
CENTROID, LOGISTIC = "classify, nearest centroid", "classify, logistic regression"
NOISE = 0.5  # standard deviation of the noise, in those of the columns
LEAST_KNOWN = 10  # rows with a known target, on both sides


def of_new_rows(problem: Problem, names: list[str]) -> Iterator[Result]:
    """Yield what all methods come to at all ranks."""
    test, centre = problem.test, problem.centre
    deviations = NOISE * np.nanstd(test, axis=0)
    noise = np.random.default_rng([*problem.seed, 1]).standard_normal(test.shape) * deviations
    held = None if np.isnan(test).any() else HeldMoments.of(test)
    nothing = {REBUILD: _mean_error(centre, test), DENOISE: _mean_error(test + noise, test), TARGET: 1.0}
    for rank in problem.ranks:
        references = {}
        if held is not None:
            references = {
                REBUILD: float(held.references[rank]),
                DENOISE: least_denoised(held.covariance, deviations**2, rank),
            }
        for name, outcome in fit_subspaces(names, problem.rows, rank).items():
            for task, value in _values(problem, outcome, noise).items():
                result = Result(task, name, rank, value, references.get(task, np.nan))
                yield result._replace(nothing=nothing.get(task, np.nan), **how_it_went(outcome))
        if has_target(problem):
            drawn = problem.drawn
            yield from without_components(TARGET, problem, drawn.target, drawn.target_test, rank)


def how_it_went(outcome: Outcome) -> dict[str, object]:
    """Return status, note and time of a fit."""
    return {"status": outcome.status, "note": outcome.note, "seconds": outcome.seconds}


def least_denoised(covariance: Array, variances: Array, rank: int) -> float:
    r"""Return the least error that a projection of noisy rows can be expected to have.

    The error of a projection P is :math:`\mathrm{tr}\,(I - P)\Sigma + \mathrm{tr}\,P N` with the covariance N
    of the noise, so the best P has the leading eigenvectors of :math:`\Sigma - N` with positive eigenvalues.
    """
    values = np.linalg.eigvalsh(covariance - np.diag(variances))[-rank:]
    return float(np.trace(covariance) - np.sum(values[values > 0]))


def _values(problem: Problem, outcome: Outcome, noise: Array) -> dict[str, float]:
    """Return the value of each task that the data have; nan where there is no subspace."""
    drawn, test, centre = problem.drawn, problem.test, problem.centre
    tasks = [REBUILD, DENOISE]
    has_classes = drawn.labels is not None and len(np.unique(drawn.labels[drawn.labels >= 0])) > 1
    asks = has_target(problem)
    tasks += [TARGET] * asks + [CENTROID, LOGISTIC] * has_classes
    if outcome.fit is None:
        return dict.fromkeys(tasks, np.nan)
    components = outcome.fit.components
    found = {
        REBUILD: _mean_error(rebuilt(test, centre, components), test),
        DENOISE: _mean_error(rebuilt(test + noise, centre, components), test),
    }
    train, new = (scores(X, centre, components) for X in (problem.rows.X, test))
    if asks:
        found[TARGET] = error_by_scores(train, drawn.target, new, drawn.target_test)
    if has_classes:
        called = accuracies(train, drawn.labels, new, drawn.labels_test)
        found |= {CENTROID: called["centroid"], LOGISTIC: called["logistic"]} if called else {}
    return found


def has_target(problem: Problem) -> bool:
    """Say whether enough targets are known on both sides, and differ there."""
    sides = (problem.drawn.target, problem.drawn.target_test)
    return all(
        values is not None and np.isfinite(values).sum() >= LEAST_KNOWN and np.nanvar(values) > 0
        for values in sides
    )


def _mean_error(found: Array, true: Array) -> float:
    return float(np.mean(squared_errors(found, true)))
