"""Masked-target theory: enumerated masks, finite differences, cubature, and the limit laws by simulation."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import chi2, kstest, norm
from tests.helpers import covariance, each, spiked_rows

from attenua_paper.theory import (
    MaskedTarget,
    Population,
    draw_rows,
    masked_target_loss,
    normalised_target_gradient,
    normalised_target_loss,
    one_direction_path,
    one_direction_risk,
    two_coordinate_solution,
)
from paper.tests.theory.designs import balanced, gaussian_cubature, leading_projector, moving

GROUPS = {"coordinates": None, "blocks": [0, 0, 0, 1, 1, 1], "uneven blocks": [1, 0, 1, 2, 1, 0]}


def exchangeable(leading, trailing):
    u, v = np.array([1, 1]) / np.sqrt(2), np.array([1, -1]) / np.sqrt(2)
    return leading * np.outer(u, u) + trailing * np.outer(v, v)


def frame(p, d, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((p, d)))[0].T


def loss_over_all_masks(X, U, mask_rate, groups):
    """Every mask, with its probability, on every row."""
    labels = np.arange(X.shape[1]) if groups is None else np.asarray(groups)
    names, total = np.unique(labels), 0.0
    for kept in itertools.product([0, 1], repeat=len(names)):
        w = np.array(kept)[np.searchsorted(names, labels)]
        probability = np.prod([1 - mask_rate if k else mask_rate for k in kept])
        total += probability * np.mean(np.sum(((1 - w) * (X - (X * w) @ U.T @ U)) ** 2, axis=1))
    return total


@each("groups", GROUPS)
def test_loss_by_enumerating_every_mask(groups):
    X, groups = spiked_rows(15, 6), GROUPS[groups]
    X -= X.mean(axis=0)
    S = covariance(X)
    for m, rank in ((0.25, 1), (0.25, 6), (0.9, 3)):
        U = frame(6, rank)
        expected = loss_over_all_masks(X, U, m, groups)
        found = masked_target_loss(U, S, m, feature_groups=groups)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
        phi = normalised_target_loss(U.T @ U, S, m, feature_groups=groups)
        assert m * np.trace(S) + m * (1 - m) * phi == pytest.approx(expected, rel=1e-12, abs=1e-12)


@each("groups", GROUPS)
def test_gradient_by_finite_differences(groups):
    S, P, m, h = covariance(spiked_rows(15, 6)), leading_projector(moving(1, 6, range(1, 7)), 2), 0.3, 1e-6
    options = {"feature_groups": GROUPS[groups]}
    gradient = normalised_target_gradient(P, S, m, **options)
    np.testing.assert_allclose(gradient, gradient.T, atol=1e-14)
    for seed in range(4):
        G = np.random.default_rng(seed).standard_normal((6, 6))
        H = G + G.T
        # The loss uses P^2 = P, but its formula is defined, and differentiated, for any P.
        up, down = (normalised_target_loss(P + step * H, S, m, **options) for step in (h, -h))
        assert np.sum(gradient * H) == pytest.approx((up - down) / (2 * h), rel=1e-6)


def test_gradient_is_the_papers_matrix():
    S, P, q = moving(0), leading_projector(moving(1), 2), 0.4
    found = normalised_target_gradient(P, S, 1 - q)
    for a, b in itertools.product(range(5), repeat=2):
        expected = (-2 + q * (1 - P[a, a] - P[b, b])) * S[a, b]
        if a == b:
            others = sum(S[a, c] * P[a, c] for c in range(5) if c != a)
            expected = (1 - 2 * P[a, a]) * S[a, a] - 2 * q * others
        assert found[a, b] == pytest.approx(expected, rel=1e-12)


def test_rotating_one_direction_costs_what_the_paper_says():
    """Eqs. one-direction-path and one-direction-clean-risk."""
    S, d = moving(0), 2
    population = Population(S, d)
    best = population.eigenvalues[:d].sum()
    for s in (-2.0, 0.0, 0.3, 5.0):
        costs = one_direction_risk(population, s)
        for j, k in np.ndindex(2, 3):
            P = one_direction_path(population, j, k, s)
            np.testing.assert_allclose(P @ P, P, atol=1e-14)
            assert np.trace(P) == pytest.approx(d)
            assert costs[j, k] == pytest.approx(best - np.sum(S * P), abs=1e-13)
            angle = np.arctan(s)
            assert costs[j, k] == pytest.approx(population.pairs.gaps[j, k] * np.sin(angle) ** 2, abs=1e-13)


@each("S", [moving(0), balanced(1)])
@each("mask_rate", [0.2, 0.6])
def test_slopes_and_curvatures_by_finite_differences(S, mask_rate):
    population = Population(S, 2)
    theory, h = MaskedTarget(population, mask_rate), 1e-3
    assert not theory.is_stationary
    for j, k in np.ndindex(2, 3):
        below, here, above = (
            normalised_target_loss(one_direction_path(population, j, k, s), S, mask_rate) for s in (-h, 0, h)
        )
        assert theory.slopes[j, k] == pytest.approx((above - below) / (2 * h), abs=1e-4)
        assert theory.curvatures[j, k] == pytest.approx((above - 2 * here + below) / h**2, abs=1e-4)


def joint_projector(population, x):
    """The frames u_j + sum_k x_jk u_k, made orthonormal."""
    V = (
        population.cutoff.retained
        + population.cutoff.omitted @ np.reshape(x, (population.n_components, -1)).T
    )
    return V @ np.linalg.solve(V.T @ V, V.T)


@each("mask_rate", [0.2, 0.6])
def test_joint_hessian_by_finite_differences(mask_rate):
    S, h = moving(0), 1e-3
    population = Population(S, 2)
    hessian = MaskedTarget(population, mask_rate).hessian.reshape(6, 6)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)
    steps = h * np.eye(6)

    def loss(x):
        return normalised_target_loss(joint_projector(population, x), S, mask_rate)

    for a, b in itertools.combinations_with_replacement(range(6), 2):
        corners = [i * j * loss(i * steps[a] + j * steps[b]) for i, j in itertools.product((1, -1), repeat=2)]
        assert hessian[a, b] == pytest.approx(sum(corners) / (4 * h**2), abs=2e-4)
    # Terms between directions need not vanish.
    assert np.abs(hessian - np.diag(np.diag(hessian))).max() > 0.1


def test_observation_slopes_and_their_covariances():
    S, mask_rate = moving(0), 0.4
    population = Population(S, 2)
    theory = MaskedTarget(population, mask_rate)
    x, weights = gaussian_cubature(S)
    psi = theory.observation_slopes(x)
    assert psi.shape == (243, 2, 3)
    np.testing.assert_allclose(np.einsum("r,rjk->jk", weights, psi), 0, atol=1e-10)
    np.testing.assert_allclose(np.einsum("r,rjk->jk", weights, psi**2), theory.slope_variances, rtol=1e-9)
    joint = np.einsum("r,rjk,ril->jkil", weights, psi, psi)
    np.testing.assert_allclose(theory.slope_covariance, joint, atol=1e-10 * np.abs(joint).max())
    h, rank_one = 1e-4, np.outer(x[7], x[7])
    up, down = (
        normalised_target_loss(one_direction_path(population, 1, 2, s), rank_one, mask_rate) for s in (h, -h)
    )
    assert psi[7, 1, 2] + theory.slopes[1, 2] == pytest.approx((up - down) / (2 * h), rel=1e-6)


# --- Limit laws ---------------------------------------------------------------------------------------------


def stationary_design(spectrum=(12.0, 1.2, 1.0, 0.8)):
    """Four exchangeable-looking coordinates along Hadamard columns: symmetry makes every slope vanish."""
    U = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / 2
    return (U.T * spectrum) @ U


@pytest.mark.slow
@each(
    "spectrum, mask_rate", [((12.0, 1.2, 1.0, 0.8), 0.5), ((6.0, 0.9, 0.5, 0.2), 0.25), ((20, 4, 2, 1), 0.75)]
)
def test_limit_law_of_the_empirical_minimiser(spectrum, mask_rate):
    """Profiles of every pair: normal displacements, chi-squared risks, each of the stated variance."""
    S, n, repeats = stationary_design(spectrum), 4_000, 400
    population = Population(S, 1)
    theory = MaskedTarget(population, mask_rate)
    assert theory.is_stationary
    variances = theory.limit_variances[0]
    assert not variances.mask.any()
    # The variances differ, so that one cannot stand for another.
    assert np.ptp(variances) > 0.2 * variances.max()
    np.testing.assert_allclose(theory.limit_risks, population.pairs.gaps * variances)
    random, found = np.random.RandomState(0), np.empty((repeats, 3))
    for row in found:
        X = draw_rows(S, n, random_state=random)
        Sn = X.T @ X / n
        for k in range(3):
            row[k] = minimize_scalar(
                lambda s, Sn=Sn, k=k: normalised_target_loss(
                    one_direction_path(population, 0, k, s), Sn, mask_rate
                ),
                bounds=(-0.5, 0.5),
                method="bounded",
                options={"xatol": 1e-7},
            ).x
    for k, variance in enumerate(variances):
        scaled = np.sqrt(n) * found[:, k]
        assert abs(np.mean(scaled**2) / variance - 1) < 4 * np.sqrt(2 / repeats)
        assert kstest(scaled, norm(scale=np.sqrt(variance)).cdf).pvalue > 1e-3
        risks = n * np.array([one_direction_risk(population, s)[0, k] for s in found[:, k]])
        assert kstest(risks, chi2(1, scale=theory.limit_risks[0, k]).cdf).pvalue > 1e-3


@pytest.mark.slow
def test_limit_law_of_the_joint_minimiser():
    """All directions at once: covariances with the full Hessian, and not with the scalar curvatures."""
    S, mask_rate, n, repeats = stationary_design((20.0, 9.0, 2.0, 0.5)), 0.3, 4_000, 400
    population = Population(S, 2)
    theory = MaskedTarget(population, mask_rate)
    assert theory.is_stationary
    expected = theory.joint_limit_covariance.reshape(4, 4)
    scalar = np.outer(theory.curvatures.ravel(), theory.curvatures.ravel())
    alone = theory.slope_covariance.reshape(4, 4) / scalar
    random, found = np.random.RandomState(0), []
    for _ in range(repeats):
        X = draw_rows(S, n, random_state=random)
        Sn = X.T @ X / n

        def loss(x, Sn=Sn):
            return normalised_target_loss(joint_projector(population, x), Sn, mask_rate)

        found.append(np.sqrt(n) * minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-6}).x)
    products = np.array([np.outer(x, x) for x in found])
    errors = products.std(axis=0) / np.sqrt(repeats)
    assert (np.abs(products.mean(axis=0) - expected) < 4 * errors).all()
    assert (np.abs(products.mean(axis=0) - alone) > 6 * errors).any()


def test_pairs_outside_the_proposition_are_masked():
    theory = MaskedTarget(Population(moving(0), 2), 0.3)
    assert theory.limit_variances.mask.all()
    saddle = MaskedTarget(Population(exchangeable(2.0, 1.0), 1), 0.3)
    assert saddle.limit_risks.mask.all()
    for outside in (theory, saddle):
        with pytest.raises(ValueError, match="not a stationary point with a positive definite Hessian"):
            outside.joint_limit_covariance  # noqa: B018


@each("ratio, mask_rate", [(1.5, 0.1), (2.9, 0.8), (3.0, 0.1), (3.1, 0.8)])
def test_two_coordinates(ratio, mask_rate):
    S = exchangeable(ratio * 0.7, 0.7)
    solution = two_coordinate_solution(ratio * 0.7, 0.7)
    theory = MaskedTarget(Population(S, 1), mask_rate)
    assert theory.curvatures[0, 0] == pytest.approx(solution.curvature, abs=1e-12)
    assert solution.curvature == pytest.approx(2 * (ratio - 3) * 0.7, abs=1e-12)
    assert theory.is_stationary
    np.testing.assert_allclose(theory.observation_slopes(draw_rows(S, 20, random_state=0)), 0, atol=1e-12)
    angles = np.linspace(0, np.pi, 1_001)
    frames = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    best = frames[np.argmin([normalised_target_loss(np.outer(f, f), S, mask_rate) for f in frames])]
    assert best[0] * best[1] == pytest.approx(solution.off_diagonal, abs=2e-3)
    assert solution.is_pca == (ratio >= 3)


def test_what_is_refused():
    for rate in (0, 1, -0.2, "half", np.nan):
        with pytest.raises(ValueError, match="mask_rate must be a number strictly between 0 and 1"):
            MaskedTarget(Population(moving(0), 2), rate)
    with pytest.raises(ValueError, match="leading must exceed trailing"):
        two_coordinate_solution(1.0, 2.0)
    with pytest.raises(ValueError, match="components must have 3 columns"):
        masked_target_loss(np.eye(4)[:1], np.eye(3), 0.5)
