"""Tempering of moments, against T by its entries."""

import numpy as np
import pytest
import scipy.sparse as sp

from attenua import CorrectedPCACV
from attenua._correct.tempering import tempered
from attenua._data.opening import open_for_cv
from attenua._data.rows import HostRows
from attenua._data.splits import SplitMoments
from attenua._solve.family import MatrixFamily
from tests.helpers import covariance, entries_of_t, in_turn, interleaved_splits, spiked_rows, uneven_rows

TALL, WIDE = uneven_rows(120, 14), uneven_rows(20, 530)


def test_entries_of_t_are_the_scaled_matrix():
    S = covariance(TALL)
    G = np.diag(np.diag(S) ** -0.35)
    np.testing.assert_allclose(entries_of_t(S, 0.3, 0.7), G @ (S - 0.3 * np.diag(np.diag(S))) @ G, atol=1e-12)


@pytest.mark.parametrize(
    ("X", "grouped", "tempering"),
    in_turn([TALL, sp.csr_array(TALL), WIDE, sp.csr_array(WIDE)], [False, True], [0, 0.3, 0.5, 1], times=2),
)
def test_a_family_of_tempered_matrices(X, grouped, tempering):
    labels = np.arange(X.shape[1]) // 3 if grouped else None
    S = covariance(X.toarray() if sp.issparse(X) else X)
    alphas = np.array([0, 0.4, 0.49, 1])
    family = MatrixFamily(tempered(HostRows(X).moments(), tempering), alphas, labels)
    V = np.eye(X.shape[1], 3)
    for k, alpha in enumerate(alphas):
        found, T = family.member(k), entries_of_t(S, alpha, tempering, labels)
        np.testing.assert_allclose(found, T, rtol=1e-9, atol=1e-11 * np.abs(T).max())
        product = family.moments.apply(V) - alpha * family.part(V)
        np.testing.assert_allclose(product, found[:, :3], atol=1e-11 * np.abs(S).max())
        assert family.lowest[k] <= np.linalg.eigvalsh(found)[0] + 1e-12 * family.scale


def test_no_tempering_leaves_the_moments_as_they_are():
    moments = HostRows(TALL).moments()
    assert tempered(moments, 0.0) is moments


@pytest.mark.parametrize(("as_rows", "p"), in_turn([np.asarray, sp.csr_array], [8, 600]))
def test_a_column_that_does_not_vary_gets_no_variance(as_rows, p):
    X = uneven_rows(20, p)
    X[:, 2] = 0.1  # not a binary fraction: its variance is rounding
    X[:, 5] = 0.0
    for strength in (0.3, 1.0):
        variances = tempered(HostRows(as_rows(X)).moments(), strength).variances
        np.testing.assert_array_equal(variances[[2, 5]], 0)
        others = np.delete(np.arange(p), [2, 5])
        np.testing.assert_allclose(variances[others], X[:, others].var(axis=0) ** (1 - strength), rtol=1e-9)


@pytest.mark.parametrize("cv", [5, 30])
def test_a_column_that_varies_in_some_training_sets_only(cv):
    X = uneven_rows(60, 8)
    X[:, 2] = 1e6 / 3
    X[:, 5] = 0.0
    X[[1, 2], 5] = 3.3, 0.7
    splits = interleaved_splits(60, cv)
    for number, fitted, _ in SplitMoments(HostRows(X), splits).pairs():
        assert fitted.varies.tolist() == (np.ptp(X[splits[number][0]], axis=0) > 0).tolist()
        assert not tempered(fitted, 1.0).variances[~fitted.varies].any()


def test_a_column_that_is_constant_in_a_training_set_has_factor_zero():
    """A large constant has rounding errors, and tempering must not make a variance of them."""
    X = spiked_rows(40, 6)
    X[:, 2] = 1e6 / 3
    X[::4, 4] = 1 / 3  # constant where only fold 0 is held in
    X[1::4, 5] = 0.1
    splits = [(np.arange(fold, 40, 4), np.arange((fold + 1) % 4, 40, 4)) for fold in range(4)]
    for pair in open_for_cv(CorrectedPCACV(cv=splits), X).moments.pairs():
        varies = np.ptp(X[splits[pair.number][0]], axis=0) > 0
        assert ((tempered(pair.training, 0.5).variances > 0) == varies).all()
