"""Four uses of a covariance of few rows: one draw of a data set, fitted by all methods and judged.

Columns that do not vary in the fitted rows are left out for all methods.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, helmert
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score

from attenua import CorrectedCovariance
from attenua_evidence.covariance_rivals import (
    BASE,
    METHODS,
    OURS,
    PLAIN,
    covariance_by,
)
from attenua_evidence.draws import draw, rows_allowed, scaled_by_first
from attenua_evidence.methods import Order, Rows

Array = NDArray[np.float64]

LEAST_OF_A_CLASS = 6  # rows of a class that a covariance of its own is fitted to
LIKELIHOOD, VARIANCE, ACCURACY, AUC = "likelihood", "minimum variance", "accuracy", "AUC"
# Discriminant analysis: scikit-learn's own, with a covariance of each class, and with one of all.
AUTO, BY_CLASS, POOLED = 'shrinkage="auto"', f"{PLAIN}; each class", "; pooled contrasts"
# A smaller part of the variance is rounding: in some data sets the sum of a row is constant.
_ROUNDING = 1e-10


class Result(NamedTuple):
    """What a method came to in one use."""

    use: str
    method: str
    value: float


def varying(X: Array, varies: NDArray[np.bool_], order: Order) -> tuple[Array, Any]:
    """Return the columns that vary, and which of them are neighbours."""
    if order is None or varies.all():
        return X[:, varies], order
    shape = (X.shape[1],) if order == "line" else order
    places = np.indices(shape).reshape(len(shape), -1).T[varies]
    adjacent = np.abs(places[:, None] - places).sum(axis=2) == 1
    return X[:, varies], adjacent.astype(float)


def likelihood(covariance: Array, mean: Array, test: Array) -> float:
    """Return the Gaussian log-likelihood of rows, in nats per row and column."""
    factor = cho_factor(covariance, lower=True)
    centred = (test - mean).T
    quadratic = np.mean(np.sum(centred * cho_solve(factor, centred), axis=0))
    log_determinant = 2 * np.sum(np.log(np.diag(factor[0])))
    return float(-(quadratic + log_determinant) / len(mean) - np.log(2 * np.pi)) / 2


def combined_variance(covariance: Array, test: Array) -> float:
    """Return the variance of the combination with weights P1 / 1'P1, which should be least."""
    weights = cho_solve(cho_factor(covariance), np.ones(len(covariance)))
    return float(np.var(test @ weights / weights.sum()))


def of_new_rows(entry: Any, table: Any, n: int, number: int) -> Iterator[Result]:
    """Yield the log-likelihood of new rows, and the variance of their minimum-variance combination."""
    drawn = draw(table, entry.name, entry.unit, n, number)
    if drawn is None:
        return
    varies = np.ptp(drawn.X, axis=0) > 0
    X, order = varying(drawn.X, varies, entry.order)
    rows, test = Rows(X, drawn.groups, order), drawn.X_test[:, varies]
    for name in METHODS:
        covariance = covariance_by(name, rows)
        if covariance is None:
            continue
        yield Result(LIKELIHOOD, name, likelihood(covariance, X.mean(axis=0), test))
        variance = combined_variance(covariance, test)
        if entry.unit == "one" and variance > _ROUNDING * np.mean(X.var(axis=0)):
            yield Result(VARIANCE, name, variance)


def of_classes(entry: Any, table: Any, n: int, number: int) -> Iterator[Result]:
    """Yield the accuracy of linear discriminant analysis, with one covariance of each class or of all."""
    drawn = None if table.labels is None else draw(table, entry.name, entry.unit, n, number)
    if drawn is None:
        return
    classes, counts = np.unique(drawn.labels, return_counts=True)
    classes = classes[(counts >= LEAST_OF_A_CLASS) & (classes >= 0)]
    used, tested = np.isin(drawn.labels, classes), np.isin(drawn.labels_test, classes)
    if len(classes) < 2 or not tested.any():
        return
    labels, truth = drawn.labels[used], drawn.labels_test[tested]
    varies = np.any([np.ptp(drawn.X[drawn.labels == label], axis=0) > 0 for label in classes], axis=0)
    X, order = varying(drawn.X[used], varies, entry.order)
    test = drawn.X_test[tested][:, varies]
    means = np.array([X[labels == label].mean(axis=0) for label in classes])
    codes = np.searchsorted(classes, labels)
    # Residuals of a class sum to 0, so those in a training set would give the held-out ones away.
    within = np.vstack([helmert(np.sum(codes == k)) @ X[codes == k] for k in range(len(classes))])
    contrasts = Rows(within, None, order)
    for name in (BASE, OURS, PLAIN):
        coefficients = means @ np.linalg.inv(METHODS[name](contrasts, assume_centered=True))
        offsets = np.log(np.bincount(codes) / len(codes)) - np.sum(coefficients * means, axis=1) / 2
        called = classes[np.argmax(test @ coefficients.T + offsets, axis=1)]
        yield Result(ACCURACY, name + POOLED, np.mean(called == truth))
    for name, options in (
        (AUTO, {"shrinkage": "auto"}),
        (BY_CLASS, {"covariance_estimator": CorrectedCovariance()}),
    ):
        model = LinearDiscriminantAnalysis(solver="eigen", **options).fit(X, labels)
        yield Result(ACCURACY, name, model.score(test, truth))


def of_outliers(entry: Any, table: Any, n: int, number: int) -> Iterator[Result]:
    """Yield how well Mahalanobis distances tell new rows of the largest class from rows of the others."""
    if table.labels is None:
        return
    inlying = table.labels == np.argmax(np.bincount(table.labels[table.labels >= 0]))
    others = table.X[~inlying & (table.labels >= 0)]
    if n not in rows_allowed(inlying.sum()):
        return
    # Without units: the rows of other classes are scaled like the new ones.
    drawn = draw(table.rows(inlying), entry.name, "one", n, number)
    if drawn is None:
        return
    X, judged = drawn.X, np.vstack([drawn.X_test, others])
    if entry.unit == "mixed":
        X, judged = scaled_by_first(X, judged)
    varies = np.ptp(X, axis=0) > 0
    X, order = varying(X, varies, entry.order)
    centred = judged[:, varies] - X.mean(axis=0)
    for name in (BASE, OURS, PLAIN):
        covariance = covariance_by(name, Rows(X, drawn.groups, order))
        distances = np.sum(centred * np.linalg.solve(covariance, centred.T).T, axis=1)
        yield Result(AUC, name, roc_auc_score(np.arange(len(judged)) >= len(drawn.X_test), distances))
