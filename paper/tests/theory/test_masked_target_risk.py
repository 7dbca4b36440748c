"""Masked-target theory: the loss by enumerating masks, slopes and curvatures by finite differences."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from tests.helpers import each

from attenua.theory import Population, draw_rows
from attenua_paper.theory import (
    MaskedTarget,
    normalised_target_gradient,
    normalised_target_loss,
    two_coordinate_solution,
)
from paper.tests.theory.populations import balanced, gaussian_cubature, leading_projector, moving


def exchangeable(leading, trailing):
    u, v = np.array([1, 1]) / np.sqrt(2), np.array([1, -1]) / np.sqrt(2)
    return leading * np.outer(u, u) + trailing * np.outer(v, v)


def rotated(population, j, k, s):
    """P_jk(s) of eq. one-direction-path."""
    U, d = population.eigenvectors, population.n_components
    frame = U[:, :d].copy()
    frame[:, j] = (U[:, j] + s * U[:, d + k]) / np.sqrt(1 + s * s)
    return frame @ frame.T


@each("mask_rate", [0.2, 0.75])
def test_loss_by_enumerating_every_mask(mask_rate):
    S, q = moving(0), 1 - mask_rate
    P = leading_projector(moving(1), 2)
    total, root = 0.0, np.linalg.cholesky(S)
    for kept in itertools.product([0, 1], repeat=5):
        W = np.diag(kept).astype(float)
        residual = (np.eye(5) - W) @ (np.eye(5) - P @ W) @ root
        total += q ** sum(kept) * mask_rate ** (5 - sum(kept)) * np.sum(residual**2)
    expected = (total - mask_rate * np.trace(S)) / (mask_rate * q)
    assert normalised_target_loss(P, S, mask_rate) == pytest.approx(expected, rel=1e-12)


def test_gradient_by_finite_differences():
    S, P, m, h = moving(0), leading_projector(moving(1), 2), 0.3, 1e-6
    gradient = normalised_target_gradient(P, S, m)
    for seed in range(4):
        G = np.random.default_rng(seed).standard_normal((5, 5))
        H = G + G.T
        # The correction of the loss uses P^2 = P, but its formula is defined, and differentiated, for any P.
        slope = (normalised_target_loss(P + h * H, S, m) - normalised_target_loss(P - h * H, S, m)) / (2 * h)
        assert np.sum(gradient * H) == pytest.approx(slope, rel=1e-7)


@each("S", [moving(0), balanced(1)])
@each("mask_rate", [0.2, 0.6])
def test_slopes_and_curvatures_by_finite_differences(S, mask_rate):
    population = Population(S, 2)
    theory, h = MaskedTarget(population, mask_rate), 1e-3
    assert not theory.is_stationary()
    for j, k in np.ndindex(2, 3):
        below, here, above = (
            normalised_target_loss(rotated(population, j, k, s), S, mask_rate) for s in (-h, 0, h)
        )
        assert theory.slopes[j, k] == pytest.approx((above - below) / (2 * h), abs=1e-4)
        assert theory.curvatures[j, k] == pytest.approx((above - 2 * here + below) / h**2, abs=1e-4)


def test_observation_slopes_and_their_variances():
    S, mask_rate = moving(0), 0.4
    population = Population(S, 2)
    theory = MaskedTarget(population, mask_rate)
    x, weights = gaussian_cubature(S)
    psi = theory.observation_slopes(x)
    assert psi.shape == (243, 2, 3)
    np.testing.assert_allclose(np.einsum("r,rjk->jk", weights, psi), 0, atol=1e-10)
    np.testing.assert_allclose(np.einsum("r,rjk->jk", weights, psi**2), theory.slope_variances, rtol=1e-9)
    h, rank_one = 1e-4, np.outer(x[7], x[7])
    slope = (
        normalised_target_loss(rotated(population, 1, 2, h), rank_one, mask_rate)
        - normalised_target_loss(rotated(population, 1, 2, -h), rank_one, mask_rate)
    ) / (2 * h)
    assert psi[7, 1, 2] + theory.slopes[1, 2] == pytest.approx(slope, rel=1e-6)


def stationary_design():
    """Four exchangeable-looking coordinates along Hadamard columns: symmetry makes every slope vanish."""
    U = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / 2
    return (U.T * [12.0, 1.2, 1.0, 0.8]) @ U


@pytest.mark.slow
def test_limit_law_of_the_empirical_minimiser():
    S, mask_rate, n, repeats = stationary_design(), 0.5, 2_000, 400
    population = Population(S, 1)
    theory = MaskedTarget(population, mask_rate)
    assert theory.is_stationary()
    assert (theory.curvatures > 0).all()
    variance = theory.limit_variances
    assert not variance.mask.any()
    rng, found = np.random.RandomState(0), []
    for _ in range(repeats):
        X = draw_rows(S, n, random_state=rng)
        Sn = X.T @ X / n
        profile = minimize_scalar(
            lambda s, Sn=Sn: normalised_target_loss(rotated(population, 0, 1, s), Sn, mask_rate),
            bounds=(-0.5, 0.5),
            method="bounded",
            options={"xatol": 1e-9},
        )
        found.append(n * profile.x**2)
    error = np.std(found) / np.sqrt(repeats)
    assert abs(np.mean(found) - variance[0, 1]) < 4 * error
    np.testing.assert_allclose(theory.limit_risks, population.pairs.gaps * variance)


def test_pairs_outside_the_proposition_are_masked():
    theory = MaskedTarget(Population(moving(0), 2), 0.3)
    assert theory.limit_variances.mask.all()
    assert MaskedTarget(Population(exchangeable(2.0, 1.0), 1), 0.3).limit_risks.mask.all()


@each("ratio, mask_rate", [(1.5, 0.1), (2.9, 0.8), (3.0, 0.1), (3.1, 0.8)])
def test_two_coordinates(ratio, mask_rate):
    S = exchangeable(ratio * 0.7, 0.7)
    population, solution = Population(S, 1), two_coordinate_solution(ratio * 0.7, 0.7)
    theory = MaskedTarget(population, mask_rate)
    assert theory.curvatures[0, 0] == pytest.approx(solution.curvature, abs=1e-12)
    assert solution.curvature == pytest.approx(2 * (ratio - 3) * 0.7, abs=1e-12)
    assert theory.is_stationary()
    x = draw_rows(S, 20, random_state=0)
    np.testing.assert_allclose(theory.observation_slopes(x), 0, atol=1e-12)
    angles = np.linspace(0, np.pi, 20_001)
    frames = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    losses = [normalised_target_loss(np.outer(f, f), S, mask_rate) for f in frames[::20]]
    best = frames[::20][np.argmin(losses)]
    assert best[0] * best[1] == pytest.approx(solution.off_diagonal, abs=2e-3)
    assert solution.is_pca == (ratio >= 3)


def test_scale_and_refusals():
    S = moving(0)
    one, other = (MaskedTarget(Population(S * c, 2), 0.3) for c in (1, 1e100))
    np.testing.assert_allclose(other.curvatures / 1e100, one.curvatures, rtol=1e-9)
    np.testing.assert_allclose(other.slope_variances / 1e200, one.slope_variances, rtol=1e-9)
    for rate in (0, 1, -0.2, "half", np.nan):
        with pytest.raises(ValueError, match="mask_rate must be a number strictly between 0 and 1"):
            MaskedTarget(Population(S, 2), rate)
    with pytest.raises(ValueError, match="leading must exceed trailing"):
        two_coordinate_solution(1.0, 2.0)
