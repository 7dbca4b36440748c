"""The script that compares covariances: its rivals, its four uses, and a page of small data sets."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal
from sklearn.covariance import LedoitWolf
from tests.helpers import each

from attenua_evidence import covariance as script
from attenua_evidence.collection.table import Table
from attenua_evidence.covariance import LIKELIHOOD, difference, draws_of, likelihood_words, main
from attenua_evidence.covariance_rivals import (
    BASE,
    METHODS,
    OURS,
    PLAIN,
    _epanechnikov,
    covariance_by,
    nonlinear,
)
from attenua_evidence.covariance_uses import (
    AUC,
    AUTO,
    BY_CLASS,
    POOLED,
    VARIANCE,
    combined_variance,
    likelihood,
    of_classes,
    of_new_rows,
    of_outliers,
    varying,
)
from attenua_evidence.draws import draw
from attenua_evidence.methods import Rows

from .sets import Entry, spiked

NONLINEAR = "analytical nonlinear shrinkage"


def labelled(n=120, p=6, **options):
    """A data set of three classes, one of them half of the rows, some rows of unknown class."""
    labels = np.tile([0, 1, 1, 2], n // 4)
    X = spiked(n, p) + 2 * np.eye(p)[labels]
    labels[::15] = -1
    return Entry("labelled", Table(X, labels=labels), **options)


def test_kernel_and_its_hilbert_transform():
    places = np.array([-1e5, -900.0, -3.0, -0.7, 0.0, 1.4, 2.9, 1100.0])
    kernel, transform = _epanechnikov(places)
    root = np.sqrt(5)

    def bump(x):
        return 3 / (4 * root) * (1 - x**2 / 5)

    np.testing.assert_allclose(kernel, np.where(np.abs(places) < root, bump(places), 0))
    expected = []
    for place in places:
        if abs(place) < root:
            expected.append(quad(bump, -root, root, weight="cauchy", wvar=place)[0] / np.pi)
        else:
            expected.append(quad(lambda x, at=place: bump(x) / (x - at), -root, root)[0] / np.pi)
    np.testing.assert_allclose(transform, expected, rtol=1e-8, atol=1e-12)


@each("n, p", [(900, 180), (300, 300), (150, 300)])
def test_nonlinear_shrinkage_is_near_what_the_eigenvectors_allow(n, p):
    random = np.random.default_rng(0)
    variances = np.repeat([1.0, 10.0], [p - p // 4, p // 4])
    X = random.standard_normal((n, p)) * np.sqrt(variances)
    found = nonlinear(Rows(X))
    np.linalg.cholesky(found)
    turn = np.linalg.qr(random.standard_normal((p, p)))[0]
    np.testing.assert_allclose(nonlinear(Rows(X @ turn)), turn.T @ found @ turn, atol=1e-6)
    vectors = np.linalg.eigh(np.cov(X.T))[1]
    # The least error of a matrix with these eigenvectors.
    oracle = (vectors * np.sum(vectors**2 * variances[:, None], axis=0)) @ vectors.T
    errors = [
        np.sum((matrix - np.diag(variances)) ** 2)
        for matrix in (oracle, found, LedoitWolf().fit(X).covariance_)
    ]
    assert errors[1] < 1.1 * errors[0]
    assert errors[1] < errors[2]


def test_rivals_that_fail_have_no_matrix():
    random = np.random.default_rng(0)
    rows = Rows(random.standard_normal((30, 8)) + random.standard_normal((30, 1)), np.arange(30) % 7)
    found = {name: covariance_by(name, rows) for name in METHODS}
    for matrix in found.values():
        np.linalg.cholesky(matrix)
    assert len(np.unique([matrix[0, 0] for matrix in found.values()])) == 6  # without an order, ours are one
    assert covariance_by("GraphicalLassoCV", Rows(spiked(30, 41))) is None
    constant_sum = rows.X - rows.X.mean(axis=1, keepdims=True)
    assert covariance_by(NONLINEAR, Rows(constant_sum)) is None


def test_measures_of_a_matrix():
    X, test = spiked(40, 5), spiked(60, 5, seed=1)
    matrix, mean = np.cov(X.T), X.mean(axis=0)
    expected = multivariate_normal(mean, matrix).logpdf(test).mean() / 5
    assert likelihood(matrix, mean, test) == pytest.approx(expected)
    # On the rows of the matrix itself no other weights of sum 1 have less variance.
    least = combined_variance(matrix, X)
    for weights in np.random.default_rng(0).standard_normal((20, 5)):
        assert least <= np.var(X @ weights / weights.sum())
    assert least < np.var(X.mean(axis=1))


def test_neighbours_of_the_columns_that_vary():
    X = np.arange(12.0).reshape(2, 6)
    varies = np.array([True, False, True, True, True, True])
    kept, grid = varying(X, varies, (2, 3))
    np.testing.assert_array_equal(kept, X[:, varies])
    pairs = {(0, 2), (1, 4), (2, 3), (3, 4)}  # of 0, 2 above 3, 4, 5
    assert set(zip(*np.nonzero(np.triu(grid)), strict=True)) == pairs
    line = varying(X, varies, "line")[1]
    assert set(zip(*np.nonzero(np.triu(line)), strict=True)) == {(1, 2), (2, 3), (3, 4)}
    assert varying(X, np.ones(6, bool), (2, 3))[1] == (2, 3)


def test_new_rows_are_judged():
    entry = labelled()
    found = {result[:2]: result.value for result in of_new_rows(entry, entry.table, 32, 0)}
    drawn = draw(entry.table, "labelled", "one", 32, 0)
    base = LedoitWolf().fit(drawn.X)
    assert found[LIKELIHOOD, BASE] == pytest.approx(base.score(drawn.X_test) / 6)
    assert found[VARIANCE, BASE] == pytest.approx(combined_variance(base.covariance_, drawn.X_test))
    # Columns of several units have no combination, nor is there one whose variance is rounding.
    centred = Table(entry.table.X - entry.table.X.mean(axis=1, keepdims=True))
    for unit, table in (("mixed", entry.table), ("one", centred)):
        uses = {result.use for result in of_new_rows(labelled(unit=unit), table, 32, 0)}
        assert uses == {LIKELIHOOD}


def test_discriminant_analysis_is_the_most_likely_class():
    entry = labelled()
    found = {result.method: result.value for result in of_classes(entry, entry.table, 32, 0)}
    assert list(found) == [BASE + POOLED, OURS + POOLED, PLAIN + POOLED, AUTO, BY_CLASS]
    drawn = draw(entry.table, "labelled", "one", 32, 0)
    X, labels = drawn.X[drawn.labels >= 0], drawn.labels[drawn.labels >= 0]
    test, truth = drawn.X_test[drawn.labels_test >= 0], drawn.labels_test[drawn.labels_test >= 0]
    means = np.array([X[labels == label].mean(axis=0) for label in range(3)])
    contrasts = [
        (part[:k].sum(axis=0) - k * part[k]) / np.sqrt(k * (k + 1))
        for part in (X[labels == label] for label in range(3))
        for k in range(1, len(part))
    ]
    matrix = LedoitWolf(assume_centered=True).fit(np.array(contrasts)).covariance_
    chances = [
        multivariate_normal(means[label], matrix).logpdf(test) + np.log(np.mean(labels == label))
        for label in range(3)
    ]
    assert found[BASE + POOLED] == np.mean(np.argmax(chances, axis=0) == truth)
    assert not list(of_classes(entry, Table(entry.table.X), 32, 0))
    one_class = Table(entry.table.X, labels=np.zeros(120, int))
    assert not list(of_classes(entry, one_class, 32, 0))


@each("unit", ["one", "mixed"])
def test_outliers_are_the_rows_of_other_classes(unit):
    entry = labelled(unit=unit)
    base, ours, plain = of_outliers(entry, entry.table, 16, 0)
    assert (base.use, base.method, ours.method, plain.method) == (AUC, BASE, OURS, PLAIN)
    labels = entry.table.labels
    others = entry.table.X[(labels == 0) | (labels == 2)]
    drawn = draw(Table(entry.table.X[labels == 1]), "labelled", "one", 16, 0)
    scale = drawn.X.std(axis=0) if unit == "mixed" else 1.0
    model = LedoitWolf().fit(drawn.X / scale)
    inside, outside = (model.mahalanobis(rows / scale) for rows in (drawn.X_test, others))
    assert base.value == pytest.approx(np.mean(outside[:, None] > inside))
    assert not list(of_outliers(entry, entry.table, 64, 0))


def test_means_and_shares_by_hand():
    lines = pd.DataFrame(
        [
            {"data": data, "kind": "table", "columns": 8, "rows": n, "draw": number}
            | {"use": LIKELIHOOD, "method": method, "value": value}
            for data, n, method, values in (
                ("a", 16, BASE, (1.0, 2.0)),
                ("a", 16, OURS, (1.5, 2.5)),
                ("a", 32, BASE, (1.0, 1.0)),
                ("a", 32, OURS, (0.995, 0.995)),
                ("b", 16, BASE, (1.0, 1.0)),
                ("b", 16, OURS, (0.9, 0.9)),
                ("b", 16, NONLINEAR, (1.5,)),  # fails in the other draw
            )
            for number, value in enumerate(values)
        ]
    )
    draws = draws_of(lines, LIKELIHOOD)
    gains = draws.sub(draws[BASE], axis=0)
    assert likelihood_words(gains[NONLINEAR])[:3] == ["1 of 6", "+0.500", "+0.500"]
    words = likelihood_words(gains[OURS])
    assert words == ["6 of 6", "-0.005", "+0.132", "33%", "67%", "33%", "-0.100", "50%", "50%"]
    sets = pd.DataFrame({"x": [0.5, 0.7, 0.3], "y": [0.4, 0.3, 0.4]})
    assert difference(sets, "x", "y") == ("+13.3 ± 14.5", "+10.0", "2 / 1")


def test_the_page_of_small_data_sets(monkeypatch, tmp_path):
    entries = [
        labelled(order="line"),
        Entry("returns", Table(spiked(64, 10, heavy=True), np.arange(64) // 4), kind="returns"),
        Entry("last", None, part="final"),
        Entry("wide", Table(np.zeros((40, 201)))),
    ]
    monkeypatch.setattr(script, "ENTRIES", entries)
    main([str(tmp_path), "--draws", "1", "--write", str(tmp_path / "page.md")])
    lines = (tmp_path / "page.md").read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith("**") for line in lines) == 5
    headings = [i for i, line in enumerate(lines) if line.startswith("| ---")]
    for i in headings:
        assert lines[i - 1].count("|") == lines[i].count("|") == lines[i + 1].count("|")
    assert any(line.startswith(f"| returns | {OURS} | 2 |") for line in lines)
    assert any(line.startswith(f"| {OURS} | 4 of 4 |") for line in lines)
