"""What must hold of a fitted estimator: it agrees with the definitions, as far as rounding lets it."""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).parents[1]))  # the definitions are with the tests

from tests.helpers import sine
from tests.literal import GRIDS, ORDER, PCA, Search, line

import attenua
from attenua._data.namespace import to_host
from containers import CONTAINERS, filled, labelled
from rounding import EPS, Estimate, covariance, doubt_of_covariance, estimate

NAMED = {"direct": np.unique([*np.arange(21) / 20, 0.49]), "mask": np.unique([*np.arange(10) / 20, 0.49])}


class Failure(AssertionError):
    """Something that must hold does not."""


def at_most(found, allowed, what):
    """Raise unless numbers are within what is allowed; NaN never is."""
    found, allowed = np.broadcast_arrays(np.abs(np.asarray(found, float)), np.asarray(allowed, float))
    if not (found <= allowed).all():
        worst = np.argmax(np.where(found <= allowed, 0.0, np.nan_to_num(found - allowed, nan=np.inf)))
        raise Failure(f"{what} is off by {found.flat[worst]:.3g}, and {allowed.flat[worst]:.3g} is allowed")


def same(found, expected, what):
    """Raise unless two things are equal."""
    if found != expected:
        raise Failure(f"{what} is {found!r}, and should be {expected!r}")


def fit(problem, folder):
    """Return the fitted estimator of a problem."""
    model = getattr(attenua, problem.estimator)(**problem.options)
    given = {"groups": problem.groups} if problem.chooses else {"sample_weight": problem.weights}
    given = {name: value for name, value in given.items() if value is not None}
    X = filled(problem.container, problem.rows * problem.scale, problem.seed, folder)
    if problem.container == "dask frame" and given:
        ((name, values),) = given.items()
        X, column = labelled(X, values)
        given = {name: column}
    if problem.container != "partial_fit":
        return model.fit(X, **given)
    start = 0
    for batch in X:
        stop = start + len(batch)
        model.partial_fit(batch, **{name: value[start:stop] for name, value in given.items()})
        start = stop
    return model


class Expected:
    """What the definitions say about a problem."""

    def __init__(self, problem):
        self.problem, self.rows, self.weights = problem, problem.rows, problem.weights
        self.adjacency = adjacency_of(problem.options.get("neighbours"), self.rows.shape[1])
        self.labels = labels_of(problem.options.get("feature_groups"), self.rows.shape[1])
        self.count = float(len(self.rows) if self.weights is None else self.weights.sum())
        self.covariance = cache(self._covariance)
        self.pca = self.at(PCA, self.rows.shape[1])

    def ranks(self):
        """Return all ranks that n_components may stand for, up to rounding."""
        wanted, (n, p) = self.problem.options["n_components"], self.rows.shape
        rows_that_count = n if self.weights is None else np.count_nonzero(self.weights)
        limit = min(max(rows_that_count, int(self.count)), p)
        if wanted is None:
            fewest = min((len(training) for training, _ in self.problem.splits), default=np.inf)
            return {limit} if fewest == np.inf else {max(min(limit, fewest - 1), 1)}
        if isinstance(wanted, int):
            return {wanted}
        values = np.linalg.eigvalsh(self.pca.matrix)[::-1]
        total = max(values.sum(), np.finfo(float).tiny)
        ratios, off = np.cumsum(np.maximum(values, 0)) / total, p * self.pca.doubt / total
        return {
            min(int(np.searchsorted(ratios, wanted + shift, side="right")) + 1, limit)
            for shift in (-off, 0, off)
        }

    def at(self, strengths, rank, training=None):
        """Return the estimate at some strengths: of all rows, or of some training rows."""
        S, D = self.covariance(strengths[0], None if training is None else tuple(training.tolist()))
        return estimate(S, D, strengths, rank, adjacency=self.adjacency, labels=self.labels)

    def _covariance(self, row_tempering, training):
        """Return the covariance of all rows, or of some, and a bound of its rounding error."""
        rows, of_all, weights = self.rows, self.rows, self.weights
        if training is not None:
            rows = rows[list(training)]
        elif weights is not None:
            rows, weights = rows[weights > 0], weights[weights > 0]
            of_all = rows
        S = covariance(rows, row_tempering, weights, of_all)
        return S, doubt_of_covariance(rows, row_tempering, weights)


def adjacency_of(neighbours, p):
    """Return neighbours as a matrix of weights between columns."""
    if neighbours is None:
        return None
    if isinstance(neighbours, str):
        return line(p)
    if isinstance(neighbours, tuple):
        first, second = neighbours
        return np.kron(line(first), np.eye(second)) + np.kron(np.eye(first), line(second))
    return neighbours.toarray() if sp.issparse(neighbours) else neighbours


def labels_of(feature_groups, p):
    """Return groups of columns as one label for each."""
    if feature_groups is None or not isinstance(feature_groups[0], list):
        return None if feature_groups is None else np.array(feature_groups)
    return np.array([next(g for g, group in enumerate(feature_groups) if j in group) for j in range(p)])


def check(problem, folder=None):
    """Fit a problem and check everything; return whether rounding left its choice open."""
    model, expected = fit(problem, folder), Expected(problem)
    found = Found(model, problem)
    same(found.rank in expected.ranks(), True, f"n_components_ = {found.rank} among {expected.ranks()}")
    is_open = False
    if problem.estimator == "AttenuatedPCACV":
        is_open = check_attenuated(found, expected)
    elif problem.estimator == "CorrectedPCACV":
        is_open = check_corrected(found, expected)
    else:
        names = {"attenuation": "alpha"} if problem.estimator == "AttenuatedPCA" else {}
        strengths = tuple(problem.options.get(names.get(name, name), 0.0) for name in ORDER)
        check_subspace(found, expected.at(strengths, found.rank))
    check_axes(found, expected)
    check_methods(found, problem, folder)
    return is_open


class Found:
    """What an estimator found, in the unit of the problem's rows, as doubles on the host."""

    def __init__(self, model, problem):
        self.model, self.rank, unit = model, model.n_components_, problem.scale
        self.eps = float(np.finfo(to_host(model.components_).dtype).eps)
        self.components, mean, variances = (
            np.asarray(to_host(values), dtype=float)
            for values in (model.components_, model.mean_, model.explained_variance_)
        )
        self.mean, self.variances = mean / unit, variances / unit**2
        self.noise_variance = float(model.noise_variance_) / unit**2
        if problem.chooses:
            self.risks = np.asarray(to_host(model.cv_risk_folds_)) / unit**2
            self.risk = np.asarray(to_host(model.cv_risk_)) / unit**2


def turned_by(model, answer):
    """Return the largest sine that a shortfall of the solver leaves room for."""
    lacks = model.shortfall_ * np.abs(np.diag(answer.matrix)).sum()
    return np.sqrt(lacks / answer.gap) if 0 < answer.gap < np.inf else float(lacks > 0)


def check_subspace(found, answer):
    """Check that the subspace is the leading one, or explains as much of T where there is no gap."""
    # Entries are rounded as they are stored, and both frames are orthonormal to some p roundings.
    p = found.components.shape[1]
    stored = 4 * found.eps * np.sqrt(p) + 8 * EPS * p
    apart = sine(found.components, answer.components)
    at_most(apart, min(answer.sine + turned_by(found.model, answer), 1.0) + stored, "the sine of components_")
    best = np.trace(answer.components @ answer.matrix @ answer.components.T)
    has = np.trace(found.components @ answer.matrix @ found.components.T)
    size = np.abs(answer.matrix).sum()
    at_most(max(best - has, 0), 2 * found.rank * answer.doubt + (stored + found.model.shortfall_) * size, "T")


def check_axes(found, expected):
    """Check that components are orthonormal axes of the scores, with the right variances."""
    W, n = found.components, expected.count
    S = expected.pca.matrix * n / (n - 1)
    stored = 8 * found.eps * np.sqrt(W.shape[1])
    at_most(W @ W.T - np.eye(found.rank), stored + 64 * EPS * W.shape[1], "components_ @ components_.T")
    allowed = 2 * expected.pca.doubt + stored * max(np.trace(S), np.finfo(float).tiny)
    scores = W @ S @ W.T
    at_most(scores - np.diag(found.variances), allowed, "explained_variance_")
    at_most(np.minimum(-np.diff(found.variances), 0), 0, "the order of explained_variance_")
    sizes = np.abs(expected.rows).max(axis=0)
    average = np.average(expected.rows, axis=0, weights=expected.weights)
    at_most(found.mean - average, (found.eps + len(expected.rows) * EPS) * sizes, "mean_")
    counted = len(expected.rows) if expected.weights is None else int(n)
    left_over = min(W.shape[1], counted) - found.rank
    if left_over > 0:
        rest = (np.trace(S) - found.variances.sum()) / left_over
        at_most(found.noise_variance - max(rest, 0), found.rank * allowed, "noise_variance_")


class BoundedSearch(Search):
    """The search by its definitions, with what rounding can change of every risk."""

    def bounded(self, expected):
        """Say what the rows are, for the bounds."""
        self.expected, self.known = expected, {}
        return self

    def doubts(self, strengths):
        """Return, for every split, what rounding can change of the risk."""
        if strengths not in self.known:
            self.known[strengths] = np.array(
                [risk_doubt(self.expected, strengths, self.rank, split) for split in self.splits]
            )
        return self.known[strengths]

    def doubt(self, strengths):
        """Return what rounding can change of a pooled risk."""
        return float(self.doubts(strengths).max())


def risk_doubt(expected, strengths, rank, split):
    """Return what rounding can change of the risk of a split: by the subspace, and by the sums themselves."""
    training, held = split
    answer = expected.at(strengths, rank, training)
    rows = expected.rows[held] - expected.rows[training].mean(axis=0)
    total = np.mean(np.sum(rows**2, axis=1))
    both = np.concatenate([training, held])
    sums = doubt_of_covariance(expected.rows[both]) * len(both) / min(len(held), len(training))
    return answer.sine * total + (rank + 1) * np.linalg.norm(sums) + len(rows.T) * EPS * total


def search_of(problem, expected, rank, grids, guard=0.0):
    """Return the search of a problem, not run."""
    return BoundedSearch(
        problem.rows,
        problem.splits,
        rank,
        grids,
        guard=guard,
        adjacency=expected.adjacency,
        labels=expected.labels,
        has_few_rows=len(problem.rows) <= 1_000,
    ).bounded(expected)


def check_risks(found, search, candidates):
    """Check that risks are those of the definitions, and that their means are pooled over rows."""
    for number, candidate in enumerate(candidates):
        off = found.risks[:, number] - search.risk_of(candidate)
        at_most(off, search.doubts(candidate), f"the risk of {candidate}")
    pooled = search.held @ found.risks / search.held.sum()
    at_most(found.risk - pooled, 1e-13 * np.abs(pooled) + np.finfo(float).tiny, "cv_risk_")


def check_attenuated(found, expected):
    """Check that the strength is that of least risk, or 0 where the subspace is PCA's."""
    problem, model = expected.problem, found.model
    alphas = problem.options["alphas"]
    alphas = NAMED[alphas] if isinstance(alphas, str) else np.unique([0.0, *alphas])
    at_most(to_host(model.alphas_) - alphas, 1e-15, "alphas_")
    search = search_of(problem, expected, found.rank, {})
    candidates = [(0.0, 0.0, float(alpha), 0.0, 0.0) for alpha in alphas]
    check_risks(found, search, candidates)
    chosen = (0.0, 0.0, model.alpha_, 0.0, 0.0)
    check_subspace(found, expected.at(chosen, found.rank))
    risks = np.array([search.pooled(candidate, slice(None)) for candidate in candidates])
    doubts = np.array([search.doubt(candidate) for candidate in candidates])
    best = int(np.argmin(risks))
    rivals = risks - risks[best] <= doubts + doubts[best]
    if rivals.sum() > 1:
        return True
    answers = [expected.at(candidates[number], found.rank) for number in (0, best)]
    apart = sine(answers[0].components, answers[1].components)
    if abs(apart - 1e-6) <= answers[0].sine + answers[1].sine:
        return True
    same(model.alpha_, float(alphas[best]) if apart > 1e-6 else 0.0, "alpha_")
    check_gain(model.gain_, 1 - risks[best if apart > 1e-6 else 0] / risks[0], doubts.max() / risks[0])
    return False


def check_gain(found, exact, doubt, what="gain_"):
    """Check a part of PCA's risk."""
    at_most(found - exact, 4 * doubt + 1e-12, what)


def grids_of(problem):
    """Return the strengths that the search compares."""
    corrections = problem.options["corrections"]
    if isinstance(corrections, dict):
        grids = {name: tuple(sorted({0.0, *values})) for name, values in corrections.items()}
    else:
        grids = {name: GRIDS[name] for name in (GRIDS if isinstance(corrections, str) else corrections)}
    if problem.options["neighbours"] is None:
        grids.pop("smoothing", None)
    if not CONTAINERS[problem.container].reads_again:
        grids.pop("row_tempering", None)
    return grids


def check_corrected(found, expected):
    """Check that risks, choices and their average are those of the search by its definitions."""
    problem, model = expected.problem, found.model
    guard = problem.options["guard"]
    search = search_of(problem, expected, found.rank, grids_of(problem), guard).run()
    candidates = [tuple(row) for row in to_host(model.candidates_).tolist()]
    check_risks(found, search, candidates)
    choices = [tuple(choice.values()) for choice in model.choices_]
    check_subspace(found, average(expected, choices, found.rank))
    if not search.is_clear or is_nearly_pca(expected, search, found.rank):
        return True
    same(tuple(model.corrections_.values()), search.chosen, "corrections_")
    same(choices, list(search.choices), "choices_")
    same(set(candidates), search.candidates, "candidates_")
    of_pca = search.pooled(PCA, slice(None))
    doubt = max(search.doubt(candidate) for candidate in search.candidates) / of_pca
    check_gain(model.gain_, search.gain, doubt)
    check_gain(model.left_out_gain_, search.left_out_gain, doubt, "left_out_gain_")
    return False


def average(expected, choices, rank):
    """Return the leading subspace of the mean of the projectors of some choices."""
    answers = [expected.at(choice, rank) for choice in choices]
    if len(set(choices)) == 1:
        return answers[0]
    mean = sum(answer.components.T @ answer.components for answer in answers) / len(answers)
    values, vectors = np.linalg.eigh(mean)
    values, vectors = values[::-1], vectors[:, ::-1]
    gap = np.inf if rank == len(values) else values[rank - 1] - values[rank]
    # An error of each subspace is one of its projector.
    doubt = sum(answer.sine for answer in answers) / len(answers) + len(values) * EPS
    return Estimate(vectors[:, :rank].T, mean, doubt, gap)


def is_nearly_pca(expected, search, rank):
    """Whether rounding decides if the average is PCA's subspace."""
    before = average(expected, search.choices, rank)
    pca = expected.at(PCA, rank)
    unsure = before.sine + pca.sine
    if all(choice == PCA for choice in search.choices):
        return unsure >= 1e-6 and search.components is not None and sine_of_run(search, pca) > 1e-9
    return abs(sine(before.components, pca.components) - 1e-6) <= unsure


def sine_of_run(search, pca):
    """Return the sine between what a search found and PCA."""
    return sine(search.components, pca.components)


def check_methods(found, problem, folder):
    """Check scores, their way back and the errors of rows, from the fitted attributes alone."""
    model, W, mean = found.model, found.components, found.mean
    kind = CONTAINERS[problem.container]
    rows = problem.rows
    X = rows * problem.scale
    if kind.is_sparse or kind.is_device or kind.holds == "single":
        X = filled(problem.container, X, problem.seed, folder)
        X = sp.vstack(X).tocsr() if isinstance(X, list) else X
    elif problem.container in ("pandas", "polars", "Arrow table"):
        X = filled(problem.container, X, problem.seed, folder)
    elif hasattr(model, "feature_names_in_"):
        X = filled("pandas", X, problem.seed, folder)
    scores = np.asarray(to_host(model.transform(X)), dtype=float)
    sizes = np.abs(rows).max(axis=0) + np.abs(mean)
    exact = (rows - mean) @ W.T
    # A product of p numbers, each off by a rounding of the size of its column.
    off = 4 * found.eps * len(mean) * np.linalg.norm(sizes)
    scale = scale_of(found, problem)
    at_most(scores * scale - exact, off, "transform")
    back = np.asarray(to_host(model.inverse_transform(model.transform(X))), dtype=float) / problem.scale
    at_most(back - (exact @ W + mean), 4 * off, "inverse_transform")
    errors = -np.asarray(to_host(model.score_samples(X))) / problem.scale**2
    centred = rows - mean
    expected = np.sum((centred - exact @ W) ** 2, axis=1)
    # Of sparse rows it is a difference of squared lengths.
    lengths = np.linalg.norm(sizes) if kind.is_sparse else np.linalg.norm(centred, axis=1)
    allowed = 16 * len(mean) * EPS * np.linalg.norm(sizes) * (lengths + EPS * np.linalg.norm(sizes))
    at_most(errors - expected, allowed, "score_samples")


def scale_of(found, problem):
    """Return what scores are multiplied by to have those of the rows as they are."""
    if not problem.options["whiten"]:
        return 1 / problem.scale
    spreads = np.sqrt(found.variances)
    return np.where(spreads > found.eps * spreads.max(), spreads, 1 / problem.scale)
