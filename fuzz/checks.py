"""What must hold of a fitted estimator: it agrees with the definitions, as far as rounding lets it."""

from functools import cache
from unittest import mock

import numpy as np
import scipy.sparse as sp
from tests.helpers import sine
from tests.literal import PCA, line

import attenua
from attenua._data import rows as rows_in_memory
from attenua._data.namespace import to_host
from containers import CONTAINERS, filled, labelled
from rounding import EPS, covariance, doubt_of_covariance, estimate


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
    if not problem.keeps_rows:
        return _fitted(problem, folder)
    with mock.patch.object(rows_in_memory, "_ALWAYS_SCATTER", 0):  # the definitions are slow where it matters
        return _fitted(problem, folder)


def _fitted(problem, folder):
    model = getattr(attenua, problem.estimator)(**problem.options)
    given = {"groups": problem.groups} if problem.chooses else {"sample_weight": problem.weights}
    given = {name: value for name, value in given.items() if value is not None}
    X = filled(problem.container, problem.rows * problem.scale, problem.seed, folder)
    if problem.container == "dask frame" and given:
        ((name, values),) = given.items()
        X, column = labelled(X, values)
        given = {name: column}
    return model.fit(X, **given)


class Expected:
    """What the definitions say about a problem."""

    def __init__(self, problem):
        self.problem, self.rows, self.weights = problem, problem.rows, problem.weights
        self.adjacency = adjacency_of(problem.options.get("neighbours"), self.rows.shape[1])
        reference = problem.options.get("reference")
        self.reference = reference.toarray() if sp.issparse(reference) else reference
        if reference is not None:  # its size does not matter, and squares of huge numbers overflow here
            self.reference = self.reference / np.abs(self.reference).max()
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
        S, D = self.covariance(
            strengths["row_tempering"], None if training is None else tuple(training.tolist())
        )
        given = {"adjacency": self.adjacency, "labels": self.labels, "reference": self.reference}
        return estimate(S, D, strengths, rank, **given)

    def _covariance(self, row_tempering, training):
        """Return the covariance of all rows, or of some, and a bound of its rounding error."""
        some, weights = self.rows, self.weights
        if training is not None:
            some = some[list(training)]
        elif weights is not None:
            some, weights = some[weights > 0], weights[weights > 0]
        return covariance(some, row_tempering, weights), doubt_of_covariance(some, row_tempering, weights)


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
        self.ratios, singular = (
            np.asarray(to_host(values), dtype=float)
            for values in (model.explained_variance_ratio_, model.singular_values_)
        )
        self.singular_values = singular / unit
        if problem.chooses:
            self.risks = np.asarray(to_host(model.cv_risk_folds_)) / unit**2
            self.risk = np.asarray(to_host(model.cv_risk_)) / unit**2


def turned_by(model, answer):
    """Return the largest sine that a shortfall of the solver leaves room for."""
    missed = model.shortfall_ * np.abs(np.diag(answer.matrix)).sum()
    return np.sqrt(missed / answer.gap) if 0 < answer.gap < np.inf else float(missed > 0)


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
    at_most(found.ratios * np.trace(S) - found.variances, allowed, "explained_variance_ratio_")
    at_most(found.singular_values**2 - (n - 1) * found.variances, (n - 1) * allowed, "singular_values_")
    sizes = np.abs(expected.rows).max(axis=0)
    average = np.average(expected.rows, axis=0, weights=expected.weights)
    at_most(found.mean - average, (found.eps + len(expected.rows) * EPS) * sizes, "mean_")
    counted = len(expected.rows) if expected.weights is None else int(n)
    left_over = min(W.shape[1], counted) - found.rank
    if left_over > 0:
        rest = (np.trace(S) - found.variances.sum()) / left_over
        at_most(found.noise_variance - max(rest, 0), found.rank * allowed, "noise_variance_")


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
    errors = np.asarray(to_host(model.reconstruction_error(X))) / problem.scale**2
    centred = rows - mean
    expected = np.sum((centred - exact @ W) ** 2, axis=1)
    # Of sparse rows it is a difference of squared lengths.
    lengths = np.linalg.norm(sizes) if kind.is_sparse else np.linalg.norm(centred, axis=1)
    allowed = 16 * len(mean) * EPS * np.linalg.norm(sizes) * (lengths + EPS * np.linalg.norm(sizes))
    at_most(errors - expected, allowed, "reconstruction_error")


def scale_of(found, problem):
    """Return what scores are multiplied by to have those of the rows as they are."""
    if not problem.options["whiten"]:
        return 1 / problem.scale
    spreads = np.sqrt(found.variances)
    return np.where(spreads > found.eps * spreads.max(), spreads, 1 / problem.scale)
