"""Attenuation and tempering of moments, against T by its entries."""

import numpy as np
import pytest
import scipy.sparse as sp

from attenua._correct.attenuation import corrected_families, pairs
from attenua._correct.tempering import tempered
from attenua._data.rows import HostRows
from tests.helpers import covariance, entries_of_t, uneven_rows

PAIRS = [(0, 0), (0, 0.3), (0.4, 0.5), (1, 0.25), (0.49, 1), (0, 1), (1, 1)]
TALL, WIDE = uneven_rows(120, 14), uneven_rows(20, 530)


def test_entries_of_t_are_the_scaled_matrix():
    S = covariance(TALL)
    G = np.diag(np.diag(S) ** -0.35)
    np.testing.assert_allclose(entries_of_t(S, 0.3, 0.7), G @ (S - 0.3 * np.diag(np.diag(S))) @ G, atol=1e-12)


@pytest.mark.parametrize("X", [TALL, sp.csr_array(TALL), WIDE, sp.csr_array(WIDE)])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_matrices_of_all_pairs(X, grouped):
    labels = np.arange(X.shape[1]) // 3 if grouped else None
    S = covariance(X.toarray() if sp.issparse(X) else X)
    found = {}
    for places, family in corrected_families(HostRows(X).moments(), np.array(PAIRS, dtype=float), labels):
        assert len({PAIRS[place][1] for place in places}) == 1
        V = np.eye(X.shape[1], 3)
        for k, place in enumerate(places):
            found[place] = family.member(k)
            product = family.moments.apply(V) - family.strengths[k] * family.part(V)
            np.testing.assert_allclose(product, found[place][:, :3], atol=1e-11 * np.abs(S).max())
            lowest = np.linalg.eigvalsh(found[place])[0]
            assert family.lowest[k] <= lowest + 1e-12 * family.scale
    assert sorted(found) == list(range(len(PAIRS)))
    for place, pair in enumerate(PAIRS):
        T = entries_of_t(S, *pair, labels)
        np.testing.assert_allclose(found[place], T, rtol=1e-9, atol=1e-11 * np.abs(T).max())


def test_pairs_are_all_combinations_one_tempering_after_another():
    expected = [[0, 0], [0.5, 0], [1, 0], [0, 0.3], [0.5, 0.3], [1, 0.3]]
    np.testing.assert_array_equal(pairs(np.array([0, 0.5, 1]), np.array([0, 0.3])), expected)


def test_no_tempering_leaves_the_moments_as_they_are():
    moments = HostRows(TALL).moments()
    assert tempered(moments, 0.0) is moments


@pytest.mark.parametrize("as_rows", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("p", [8, 600])
def test_a_column_that_does_not_vary_gets_no_variance(as_rows, p):
    X = uneven_rows(20, p)
    X[:, 2] = 0.1  # not a binary fraction: its variance is rounding
    X[:, 5] = 0.0
    for strength in (0.3, 1.0):
        variances = tempered(HostRows(as_rows(X)).moments(), strength).variances
        np.testing.assert_array_equal(variances[[2, 5]], 0)
        others = np.delete(np.arange(p), [2, 5])
        np.testing.assert_allclose(variances[others], X[:, others].var(axis=0) ** (1 - strength), rtol=1e-9)
