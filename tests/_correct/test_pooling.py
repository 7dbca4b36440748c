"""Pooling: the graph and the matrix by their definitions, moments of all kinds, and what must not matter."""

import numpy as np
import pytest
import scipy.sparse as sp

from attenua import CorrectedPCACV
from attenua._correct.columns import GraphSmoother
from attenua._correct.damping import damped
from attenua._correct.pooling import PooledMoments, neighbour_graph, pooled
from attenua._data.moments import ScatterMoments
from attenua._data.rows import HostRows
from attenua._solve import tuning
from attenua._solve.family import MatrixFamily
from attenua._solve.leading import leading_subspaces
from tests import literal
from tests._correct.bases import BASES, TALL, WIDE, check_moments, kept
from tests.helpers import covariance, in_turn, leading, sine, uneven_rows, within
from tests.literal import NEIGHBOURS

T = covariance(TALL)
STRENGTHS = [0.5, 1.0, 2.0, 7.0]


def pooled_matrix(S, strength):
    """The covariance of the pooled moments of any matrix."""
    mean = np.zeros(len(S))
    return pooled(ScatterMoments(1.0, mean, S, mean, 1.0), strength).covariance


def graph(C):
    return neighbour_graph(C, np.diag(C) ** -0.5).toarray()


@pytest.mark.parametrize(("X", "strength"), in_turn([TALL, WIDE, TALL[:, :3], TALL[:, :2]], STRENGTHS))
def test_entries(X, strength):
    S = covariance(X)
    np.testing.assert_allclose(
        pooled_matrix(S, strength), literal.pooled(S, strength), rtol=1e-10, atol=1e-12 * S.max()
    )


def test_columns_are_joined_to_those_they_correlate_most_with():
    """More columns than a block of rows holds."""
    C = np.corrcoef(np.random.default_rng(0).standard_normal((12, 800)).T)
    A, sizes = graph(C), np.abs(C - np.eye(800))
    least = np.sort(sizes, axis=1)[:, -NEIGHBOURS]
    np.testing.assert_array_equal(A != 0, sizes >= np.minimum.outer(least, least) - 1e-12)
    np.testing.assert_allclose(A[A != 0], C[A != 0], rtol=1e-12)


def test_of_tied_columns_the_first_are_joined():
    found = np.argwhere(np.triu(graph(np.full((8, 8), 0.5) + np.eye(8) / 2)))
    assert found.tolist() == [[i, j] for i in range(NEIGHBOURS) for j in range(i + 1, 8)]


def test_rounding_errors_choose_no_neighbours():
    C = np.full((6, 6), -0.5) + 1.5 * np.eye(6)
    C[5, :5] = C[:5, 5] = 0.0
    noise = 1e-11 * np.random.default_rng(0).uniform(-1, 1, C.shape)
    np.testing.assert_array_equal(graph(C + noise + noise.T) != 0, graph(C) != 0)
    assert not graph(C)[5].any()


def test_a_neighbour_graph_has_the_kernel_of_its_laplacian():
    """Its eigenvalues are at most the bound that the expansion is for."""
    for seed in range(20):
        A = graph(np.corrcoef(np.random.default_rng(seed).standard_normal((5, 9)).T))
        L = np.diag(np.abs(A).sum(axis=1)) - A
        values, vectors = np.linalg.eigh(L)
        K = vectors * np.exp(-2.0 * values) @ vectors.T
        assert values[0] > -1e-12
        np.testing.assert_allclose(GraphSmoother(sp.coo_array(A)).smooth(np.eye(9), 2.0), K, atol=1e-12)


def test_signs_order_and_units_of_the_columns_do_not_matter():
    rng = np.random.default_rng(0)
    p = len(T)
    order, signs, units = rng.permutation(p), rng.choice([-1.0, 1.0], p), rng.uniform(1e-3, 1e3, p)
    changed = T[np.ix_(order, order)] * np.outer(signs * units, signs * units)
    expected = pooled_matrix(T, 1.0)[np.ix_(order, order)] * np.outer(signs * units, signs * units)
    np.testing.assert_allclose(
        pooled_matrix(changed, 1.0), expected, rtol=1e-9, atol=1e-12 * np.outer(units, units).max()
    )


def test_much_pooling_leaves_one_direction_of_each_family():
    """Each column becomes the mean of its family, in which some are turned around."""
    rng = np.random.default_rng(0)
    size = NEIGHBOURS + 1
    factors = rng.standard_normal((200, 2)).repeat(size, axis=1)
    signs = rng.choice([-1.0, 1.0], 2 * size)
    S = covariance((factors + 0.3 * rng.standard_normal(factors.shape)) * signs)
    t = np.sqrt(np.diag(S))
    means = within(np.outer(signs, signs), np.arange(2 * size) // size) / size
    expected = means @ (S / np.outer(t, t)) @ means * np.outer(t, t)
    np.testing.assert_allclose(pooled_matrix(S, 50.0), expected, rtol=1e-9, atol=1e-12)


def test_nothing_becomes_negative():
    for seed in range(5):
        S = covariance(uneven_rows(10, 30, seed=seed))
        values = np.linalg.eigvalsh(pooled_matrix(S, 1.0))
        assert values[0] > -1e-13 * values[-1]


@pytest.mark.parametrize(("kind", "strength"), in_turn(BASES, [0.5, 2.0]))
def test_moments_of_any_kind(kind, strength):
    base = BASES[kind]()
    moments = pooled(base, strength)
    S = base.covariance
    F = literal.pooled(S, strength)
    check_moments(moments, F, base.mean)
    assert moments.floor == 0.0
    assert (moments.weight, moments.unit) == (base.weight, base.unit)
    np.testing.assert_array_equal(moments.varies, base.varies)


def test_no_pooling_leaves_everything_as_it_is():
    base = HostRows(TALL).moments()
    assert pooled(base, 0.0) is base


def test_a_column_that_does_not_vary_stays_out():
    X = TALL.copy()
    X[:, 2] = 0.1  # not a binary fraction: its variance is rounding
    others = np.delete(np.arange(X.shape[1]), 2)
    alone = pooled(HostRows(X[:, others]).moments(), 1.0).covariance
    for base in (HostRows(X).moments(), kept(X)):
        F = pooled(base, 1.0).covariance
        np.testing.assert_array_equal(F[2], 0)
        np.testing.assert_array_equal(F[:, 2], 0)
        np.testing.assert_allclose(F[np.ix_(others, others)], alone, rtol=1e-9, atol=1e-12 * alone.max())
    np.testing.assert_array_equal(pooled(HostRows(np.ones((5, 3))).moments(), 1.0).covariance, 0)


@pytest.mark.parametrize(("shape", "strength"), in_turn([(15, 300), (600, 300), (3, 40)], [0.5, 2.0]))
def test_the_floor_after_damping_is_below_all_eigenvalues_and_not_far(shape, strength):
    for seed in range(3):
        moments = PooledMoments(damped(HostRows(uneven_rows(*shape, seed=seed)).moments(), 0.5), strength)
        values = np.linalg.eigvalsh(moments.covariance)
        assert moments.floor <= values[0]
        assert moments.floor >= values[0] - 0.02 * values[-1]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "damping", "alpha"), in_turn([40, 700], [0.0, 0.25], [0.0, 0.5], times=2))
def test_leading_subspaces_that_are_iterated(n, damping, alpha, monkeypatch):
    monkeypatch.setattr(tuning, "EXACT_SIZE", 500)
    X = uneven_rows(n, 530)
    moments = pooled(damped(kept(X) if n == 40 else HostRows(X).moments(), damping), 1.0)
    F = damped(HostRows(X).moments(), damping).covariance
    T = literal.pooled(F, 1.0)
    T = T - alpha * np.diag(np.diag(T))
    (subspace,) = leading_subspaces(MatrixFamily(moments, np.array([alpha])), 3)
    assert sine(subspace.basis.T, leading(T, 3)) < 1e-6


def test_the_same_choice_in_every_container():
    """Columns that are tied, as copies are, have the same neighbours in all of them."""
    rng = np.random.default_rng(0)
    X = np.round(3 * rng.standard_normal((40, 3)).repeat(6, axis=1) + 2 * rng.standard_normal((40, 18)))
    X = np.hstack([X, X[:, ::6] * [1, -1, 2]])
    model = CorrectedPCACV(3, corrections=["pooling"])
    first = model.fit(X)
    risks, choices = first.cv_risk_folds_, first.choices_
    assert any(choice["pooling"] for choice in choices)
    model.fit(sp.csr_array(X))
    assert model.choices_ == choices
    np.testing.assert_allclose(model.cv_risk_folds_, risks, rtol=1e-9)
