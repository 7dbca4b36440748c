"""Fill hidden cells of new rows, by models of whole rows or of rows with holes of their own."""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from attenua import CorrectedPCA, CorrectedPCACV
from attenua_evidence.methods import Rows
from attenua_evidence.missing_models import Fill, filled_by_factors
from attenua_evidence.missing_rivals import ITERATIVE, METHODS, RIVALS
from attenua_evidence.outcome import call
from attenua_evidence.tasks.problem import (
    HOLES_FILLED,
    MOST_COLUMNS,
    Array,
    Problem,
    Result,
    filled_by_means,
)
from attenua_evidence.tasks.subspaces import PCA

FILL = "fill hidden cells"
HIDDEN, MOST_FILLED = 0.3, 200
LEAST_SQUARES, OURS = "PCA, least squares", "CorrectedPCACV.impute"
PLAIN = f"{OURS}, no order given"
# Each column is a regression on all others, in every round.
MOST_OF_ITERATIVE = 200
_BY_RANK = (PCA, LEAST_SQUARES)
WHAT = {
    PCA: "conditional mean under probabilistic PCA, the components and variances of PCA",
    LEAST_SQUARES: "components of PCA, scores by least squares on the seen cells",
    OURS: "CorrectedPCACV(neighbours where columns have an order).impute",
    PLAIN: "CorrectedPCACV().impute",
}


def methods(versions: Mapping[str, str]) -> dict[str, str]:
    """Return the methods whose packages are there, and what they are."""
    rivals = [name for name in RIVALS if not (package := METHODS[name].package) or versions[package]]
    return WHAT | {
        name: f"{name.removesuffix(' + PCA')}, as in the study of missing cells" for name in rivals
    }


def of_filling(problem: Problem, names: list[str]) -> Iterator[Result]:
    """Yield the mean squared error of hidden cells; methods without ranks have the same at all ranks."""
    problem = problem.with_varying_columns()
    few = problem.test[:MOST_FILLED]
    hidden = hidden_cells(few, problem.seed)
    asked = np.where(hidden, np.nan, few)
    nothing = float(np.mean((problem.centre - few)[hidden] ** 2))

    def result(name: str, rank: int) -> Result:
        called = call(lambda: _fit(name, problem.rows, rank)(asked), lambda X: bool(np.isfinite(X).all()))
        made = Result(FILL, name, rank, nothing=nothing, seconds=called.seconds)
        if called.failure:
            return made._replace(status="failed", note=called.failure)
        note = HOLES_FILLED if name in _BY_RANK and problem.has_holes else ""
        return made._replace(value=float(np.mean((called.found - few)[hidden] ** 2)), note=note)

    for name in names:
        if why := _unsuited(name, problem):
            results = [Result(FILL, name, 0, nothing=nothing, status="unsuited", note=why)]
        elif name in _BY_RANK or (name in METHODS and METHODS[name].by_rank):
            yield from (result(name, rank) for rank in problem.ranks)
            continue
        else:
            results = [result(name, problem.ranks[0])]
        yield from (results[0]._replace(rank=rank) for rank in problem.ranks)


def hidden_cells(X: Array, seed: list[int]) -> np.ndarray:
    """Return which seen cells are hidden, at random; each row keeps one that is seen."""
    seen = np.isfinite(X)
    random = np.random.default_rng([*seed, 3]).random(X.shape)
    # The seen cell with the largest number stays.
    kept = np.argmax(np.where(seen, random, -1), axis=1)
    hidden = seen & (random < HIDDEN)
    hidden[np.arange(len(X)), kept] = False
    return hidden


def _unsuited(name: str, problem: Problem) -> str:
    """Say why a method does not apply, empty where it does."""
    most = MOST_OF_ITERATIVE if name == ITERATIVE else MOST_COLUMNS
    if problem.rows.X.shape[1] > most:
        return f"more than {most} columns"
    return "columns have no order" if name == PLAIN and problem.rows.order is None else ""


def _fit(name: str, rows: Rows, rank: int) -> Fill:
    """Fit a method, and return what fills new rows."""
    if name in (OURS, PLAIN):
        order = rows.order if name == OURS else None
        model = CorrectedPCACV(rank, neighbours=order, cv=rows.n_folds).fit(rows.X, groups=rows.groups)
        return model.impute
    if name in _BY_RANK:
        return _by_components(name, rows.X, rank)
    fill = METHODS[name].fit(rows, rank).fill
    assert fill is not None
    return fill


def _by_components(name: str, X: Array, rank: int) -> Fill:
    """Return filling by PCA's components, with the noise of probabilistic PCA or by least squares."""
    model = CorrectedPCA(rank).fit(filled_by_means(X, np.nanmean(X, axis=0)))
    if name == LEAST_SQUARES:
        return partial(filled_by_factors, mean=model.mean_, loadings=model.components_.T, noise=0.0)
    noise = float(model.noise_variance_)
    loadings = model.components_.T * np.sqrt(np.maximum(model.explained_variance_ - noise, 0))
    return partial(filled_by_factors, mean=model.mean_, loadings=loadings, noise=noise)
