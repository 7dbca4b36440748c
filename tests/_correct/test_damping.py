"""Damping: the matrix by its entries, moments of all kinds, and the bound of their eigenvalues."""

import numpy as np
import pytest

from attenua._correct.correlations import lower_bound
from attenua._correct.damping import DampedMoments, damped
from attenua._data.moments import ScatterMoments
from attenua._data.rows import HostRows
from tests._correct.bases import BASES, TALL, check_moments
from tests.helpers import covariance, in_turn, spiked_rows, uneven_rows

T = covariance(TALL)
STRENGTHS = [0.1, 0.25, 0.5, 1.0, 1.5, 2.0]


def damped_matrix(T, strength):
    """The covariance of the damped moments of any matrix."""
    mean = np.zeros(len(T))
    return damped(ScatterMoments(1.0, mean, T, mean, 1.0), strength).covariance


def entries(T, strength):
    """The damped matrix, one entry after another."""
    F = T.copy()
    for i in range(len(T)):
        for j in range(len(T)):
            s = np.sqrt(T[i, i] * T[j, j])
            if i != j:
                F[i, j] = T[i, j] * abs(T[i, j] / s) ** strength if s > 0 else 0.0
    return F


def cosines(n):
    """Correlations of points on a circle."""
    angles = 2 * np.pi * np.arange(n) / n
    return np.cos(angles[:, None] - angles)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_entries(strength):
    np.testing.assert_allclose(damped_matrix(T, strength), entries(T, strength), rtol=1e-12)


@pytest.mark.parametrize("strength", [0.25, 0.3])
def test_tiles_make_one_symmetric_matrix(strength):
    S = covariance(uneven_rows(20, 700))
    F = damped_matrix(S, strength)
    R = np.abs(S) / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    np.fill_diagonal(R, 1.0)
    np.testing.assert_allclose(F, S * R**strength, rtol=1e-12)
    np.testing.assert_array_equal(np.diag(F), np.diag(S))
    np.testing.assert_allclose(F, F.T, rtol=1e-13)


def test_strength_1_squares_correlations_and_keeps_their_signs():
    R = np.corrcoef(TALL.T)
    np.testing.assert_allclose(damped_matrix(R, 1.0), R * np.abs(R), rtol=1e-9)


def test_squares_with_signs_may_have_negative_eigenvalues_and_cubes_do_not():
    R = cosines(11)
    assert np.linalg.eigvalsh(damped_matrix(R, 1.0))[0] < -0.05
    assert np.linalg.eigvalsh(damped_matrix(R, 2.0))[0] > -1e-12


@pytest.mark.parametrize(("kind", "strength"), in_turn(BASES, [0.25, 0.7]))
def test_moments_of_any_kind(kind, strength):
    base = BASES[kind]()
    moments = damped(base, strength)
    F = entries(base.covariance, strength)
    check_moments(moments, F, base.mean)
    np.testing.assert_array_equal(moments.varies, base.varies)
    assert moments.forms_covariance
    assert (moments.weight, moments.unit) == (base.weight, base.unit)
    assert moments.floor <= min(np.linalg.eigvalsh(F)[0], 0) + 1e-12 * np.trace(F)


def test_no_damping_leaves_the_moments_as_they_are():
    base = HostRows(TALL).moments()
    assert damped(base, 0.0) is base


def test_a_column_that_varies_by_rounding_has_no_correlations():
    X = TALL.copy()
    X[:, 2] = 0.1  # not a binary fraction: its variance is rounding
    F = DampedMoments(HostRows(X).moments(), 0.25).covariance
    np.testing.assert_array_equal(np.delete(F[2], 2), 0)
    assert np.isfinite(F).all()


def smooth_rows(n, p, seed):
    return np.cumsum(np.random.default_rng(seed).standard_normal((n, p)), axis=1)


@pytest.mark.parametrize(
    ("strength", "rows", "shape"),
    in_turn(
        [0.1, 0.25, 0.5, 1.0],
        [spiked_rows, uneven_rows, smooth_rows],
        [(15, 300), (600, 300), (3, 40)],
        times=2,
    ),
)
def test_the_floor_is_below_all_eigenvalues_and_not_far(rows, shape, strength):
    for seed in range(3):
        moments = DampedMoments(HostRows(rows(*shape, seed=seed)).moments(), strength)
        values = np.linalg.eigvalsh(moments.covariance)
        assert moments.floor <= values[0]
        assert moments.floor >= values[0] - 0.02 * values[-1]


def test_floors_without_products():
    assert DampedMoments(HostRows(TALL).moments(), 2.0).floor == 0.0
    assert DampedMoments(HostRows(np.ones((5, 3))).moments(), 0.5).floor == 0.0
    assert DampedMoments(HostRows(TALL[:, :1]).moments(), 0.5).floor == 0.0


def test_the_margin_of_the_floor():
    """A tenth of the smallest eigenvalue and 3e-4 of the largest are subtracted; here Lanczos is exact."""
    moments = ScatterMoments(1.0, np.zeros(2), np.diag([1.0, 1000.0]), np.zeros(2))
    assert lower_bound(moments) == pytest.approx(1 - 0.1 - 0.3)
