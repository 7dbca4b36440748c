"""Smoothing: the matrix, and moments of all kinds, against dense kernels."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import expm

from attenua._correct.columns import column_smoother
from attenua._correct.damping import DampedMoments
from attenua._correct.smoothing import SmoothedMoments, smoothed, smoothed_matrix
from attenua._data.rows import HostRows
from attenua._solve.family import MatrixFamily
from attenua._solve.leading import leading_subspaces
from tests._correct.bases import BASES, TALL, check_moments, kept
from tests.helpers import covariance, in_turn, leading, sine, uneven_rows, within


def line_kernel(p, h):
    L = 2 * np.eye(p) - np.eye(p, k=1) - np.eye(p, k=-1)
    L[0, 0] = L[-1, -1] = 1
    return expm(-(h**2) / 2 * L)


def test_entries():
    T = covariance(TALL)
    K = line_kernel(len(T), 1.7)
    found = smoothed_matrix(T, 1.7, column_smoother("line", len(T)))
    np.testing.assert_allclose(found, K @ T @ K, rtol=1e-10, atol=1e-12)


def test_much_smoothing_leaves_the_means_between_connected_parts():
    T = covariance(TALL)
    p = len(T)
    parts = np.array([0] * 10 + [1] * (p - 10))
    found = smoothed_matrix(T, 200.0, column_smoother(within(np.ones((p, p)), parts), p))
    M = within(np.ones((p, p)), parts) / np.bincount(parts)[parts]
    np.testing.assert_allclose(found, M @ T @ M, rtol=1e-10, atol=1e-12)
    line = smoothed_matrix(T, 200.0, column_smoother("line", p))
    np.testing.assert_allclose(line, T.mean(), rtol=1e-10)


@pytest.mark.parametrize(("kind", "h"), in_turn(BASES, [0.5, 3.0]))
def test_moments_of_any_kind(kind, h):
    base = BASES[kind]()
    p = base.n_features
    K, S = line_kernel(p, h), base.covariance
    moments = smoothed(base, h, column_smoother("line", p))
    check_moments(moments, K @ S @ K, base.mean)
    assert moments.forms_covariance == base.forms_covariance
    assert moments.product_work >= base.product_work
    assert (moments.weight, moments.unit) == (base.weight, base.unit)


def test_no_smoothing_leaves_the_moments_as_they_are():
    base = HostRows(TALL).moments()
    assert smoothed(base, 0.0, column_smoother("line", base.n_features)) is base


@pytest.mark.parametrize(
    ("kind", "scaled"), in_turn(["few rows", "few rows, scaled", "few sparse rows"], [False, True])
)
def test_few_rows_know_the_spectrum(kind, scaled):
    base = BASES[kind]()
    p = base.n_features
    moments = SmoothedMoments(base, column_smoother((5, 8), p), 0.7)
    if scaled:
        moments = moments.scaled(np.linspace(0.5, 2, p))
    assert moments.has_few_rows
    values = np.linalg.eigvalsh(moments.covariance)[::-1]
    np.testing.assert_allclose(moments.spectrum()[:5], values[:5], rtol=1e-8)
    found = moments.row_space(1, 4)
    found /= np.linalg.norm(found, axis=0)
    assert sine(found.T, leading(moments.covariance, 4)) < 1e-7


@pytest.mark.parametrize(("as_rows", "rank"), in_turn([np.asarray, sp.csr_array], [3, 20]))
def test_leading_subspaces_of_kept_rows(as_rows, rank):
    X = uneven_rows(40, 530)
    moments = SmoothedMoments(kept(as_rows(X)), column_smoother((53, 10), 530), 0.6)
    (subspace,) = leading_subspaces(MatrixFamily(moments, np.zeros(1)), rank)
    assert sine(subspace.basis.T, leading(moments.covariance, rank)) < 1e-6


def test_a_constant_column_varies_with_its_neighbours():
    X = TALL.copy()
    X[:, 3] = 0.1
    base = HostRows(X).moments()
    assert not base.varies[3]
    assert SmoothedMoments(base, column_smoother("line", X.shape[1]), 1.0).varies.all()
    alone = np.diag(np.ones(X.shape[1] - 5), k=5)  # column 3 has one neighbour, column 8
    alone[3, 8] = 0
    varies = SmoothedMoments(base, column_smoother(alone + alone.T, X.shape[1]), 1.0).varies
    assert np.flatnonzero(~varies).tolist() == [3]


def test_smoothing_does_not_lower_the_floor():
    base = DampedMoments(HostRows(uneven_rows(10, 80)).moments(), 0.25)
    moments = SmoothedMoments(base, column_smoother("line", 80), 0.4)
    assert moments.floor == base.floor
    assert moments.floor <= np.linalg.eigvalsh(moments.covariance)[0]


def test_few_columns_and_many_rows_are_smoothed_by_columns():
    X = uneven_rows(70, 6)
    moments = SmoothedMoments(kept(X), column_smoother("line", 6), 1.0)
    K = line_kernel(6, 1.0)
    np.testing.assert_allclose(moments.variances, np.diag(K @ covariance(X) @ K), rtol=1e-10)
