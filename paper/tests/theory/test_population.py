"""Geometry, population cost, best strengths and refusals of `Population`."""

import numpy as np
import pytest
from tests.helpers import each

from attenua_paper.theory import Population
from paper.tests.theory.designs import (
    UNEQUAL,
    attenuated,
    balanced,
    leading_projector,
    moving,
    moving_family,
    preserving,
)


def crossing(at):
    """Rank one: coordinate three, s - s alpha, leads until the pair's 5 - 3 alpha overtakes it at `at`."""
    return np.array([[3.0, 2.0, 0.0], [2.0, 3.0, 0.0], [0.0, 0.0, (5 - 3 * at) / (1 - at)]])


def test_geometry():
    S, d = moving(0), 2
    population = Population(S, d)
    P, D = leading_projector(S, d), np.diag(np.diag(S))
    np.testing.assert_allclose(population.projector, P, atol=1e-12)
    np.testing.assert_allclose(population.leakage, (np.eye(5) - P) @ D @ P, atol=1e-12)
    # Population leakage, eq. population-cross-block.
    np.testing.assert_allclose(
        -0.7 * population.leakage, (np.eye(5) - P) @ attenuated(S, 0.7) @ P, atol=1e-12
    )
    assert population.gap == pytest.approx(3.5)
    np.testing.assert_allclose(population.eigenvalues, (7, 5, 1.5, 1, 0.5))
    U = population.eigenvectors
    np.testing.assert_allclose(S @ U, U * population.eigenvalues, atol=1e-12)
    values = np.linalg.eigvalsh(attenuated(S, 0.7))
    assert population.cutoff_gap(0.7) == pytest.approx(values[-d] - values[-d - 1])
    moved = population.moved_projector([[0.2], [0.7]])
    assert moved.shape == (2, 1, 5, 5)
    np.testing.assert_allclose(moved[1, 0], leading_projector(attenuated(S, 0.7), d), atol=1e-12)


def test_block_gap_over_many_directions():
    """The block gap bounds every pair of Rayleigh quotients, and some pair comes close to it."""
    S, d, alpha = moving(1), 2, 0.4
    population, rng = Population(S, d), np.random.default_rng(0)
    T, P = attenuated(S, alpha), population.projector
    inside, outside = (rng.standard_normal((2, 20_000, 5))[i] @ M for i, M in enumerate((P, np.eye(5) - P)))
    quotients = [np.einsum("ri,ij,rj->r", v, T, v) / np.sum(v * v, axis=1) for v in (inside, outside)]
    smallest = quotients[0].min() - quotients[1].max()
    assert population.block_gap(alpha) <= smallest + 1e-12
    assert population.block_gap(alpha) == pytest.approx(smallest, abs=0.01)


def test_block_gap_of_the_unequal_design():
    population, alphas = Population(UNEQUAL, 2), np.linspace(0, 1, 201)
    assert population.block_gap(alphas).min() == pytest.approx(7 / 2 - 3 / np.sqrt(2), abs=1e-12)
    assert np.all(population.preserves_target(alphas))
    assert not population.is_balanced


@each("degrees", [0, 5, 22.5])
def test_leakage_of_the_moving_family(degrees):
    phi = np.deg2rad(degrees)
    population = Population(moving_family(phi), 1)
    assert np.linalg.norm(population.leakage) == pytest.approx(np.sin(4 * phi), abs=1e-14)
    assert population.preserves_target(0.5) == (degrees == 0)


def test_preservation_is_what_the_projectors_say():
    for S, preserved in ((balanced(0), True), (preserving(1), True), (moving(2), False)):
        population = Population(S, 2)
        assert population.preserves_target(0.5) == preserved
        assert np.allclose(population.moved_projector(0.5), population.projector) == preserved
        assert population.preserves_target(0.0)
    # Without leakage the order of the blocks decides.
    assert list(Population(crossing(0.5), 1).preserves_target([0.49, 0.51])) == [True, False]


@each("S, d", [(balanced(0), 2), (UNEQUAL, 2)])
def test_deletion_is_pca_with_all_variances_at_their_mean(S, d):
    """P_off(S) = P_off(S) + s I with s = tr S / p, and the same for every other s."""
    off = S - np.diag(np.diag(S))
    deleted = Population(S, d).moved_projector(1.0)
    for s in (np.trace(S) / len(S), 17.0):
        np.testing.assert_allclose(deleted, leading_projector(off + s * np.eye(len(S)), d), atol=1e-12)


def test_bias_three_ways():
    S, d = moving(0), 2
    population, alphas = Population(S, d), np.array([[0.9, 0.0], [0.05, 0.5]])
    P = leading_projector(S, d)
    by_traces = [[np.sum(S * (P - leading_projector(attenuated(S, a), d))) for a in row] for row in alphas]
    np.testing.assert_allclose(population.bias(alphas), by_traces, atol=1e-12)
    np.testing.assert_allclose(population.bias_along_path(alphas), by_traces, atol=1e-9)
    assert (population.bias_bound(alphas) >= population.bias(alphas) - 1e-25).all()
    # For a small strength only the gap separates the bound from alpha^2 C_D.
    assert population.bias_bound(1e-3) <= 1e-6 * np.sum(population.leakage**2) / population.gap * 1.02


def test_bias_bound_is_the_extremes_over_the_path():
    S, d = moving(3), 2
    D, gaps, leaks = np.diag(np.diag(S)), [], []
    for t in np.linspace(0, 0.8, 2001):
        values = np.linalg.eigvalsh(S - t * D)
        P = leading_projector(S - t * D, d)
        gaps.append(values[-d] - values[-d - 1])
        leaks.append(np.sum(((np.eye(5) - P) @ D @ P) ** 2))
    expected = 0.64 / min(gaps) * max(leaks)
    assert Population(S, d).bias_bound(0.8) == pytest.approx(expected, rel=1e-6)


def test_tiny_biases_keep_their_digits():
    """Near PCA the bias is alpha^2 C_D, far below the rounding of the two risks it is the difference of."""
    population = Population(moving(0), 2)
    for alpha in (1e-4, 1e-7, 1e-9):
        expected = alpha**2 * population.local_bias_constant
        assert population.bias(alpha) == pytest.approx(expected, rel=10 * alpha)


def test_a_closing_gap_is_named():
    at = 0.3
    population = Population(crossing(at), 1)
    assert population.closing_strength() == pytest.approx(at, abs=1e-9)
    assert population.closing_strength(at - 0.01) is None
    for call in (lambda: population.bias_along_path(1.0), lambda: population.bias_bound([0.1, 1.0])):
        with pytest.raises(ValueError, match=r"closes at alpha = 0\.3"):
            call()
    for function in (population.bias, population.sampling_coefficient, population.moved_projector):
        with pytest.raises(ValueError, match=r"no gap at rank 1 at alpha = 0\.3"):
            function([0.0, at])
    # On either side everything that needs no path is defined.
    assert np.isfinite(population.excess_risk(50, [at - 0.1, at + 0.1])).all()
    assert population.bias(at + 0.1) > 0


def test_an_avoided_crossing_is_not_a_closing():
    S = crossing(0.5)
    S[0, 2] = S[2, 0] = 1e-4
    population = Population(S, 1)
    assert population.closing_strength() is None
    assert population.bias_along_path(0.9) == pytest.approx(population.bias(0.9), rel=1e-6)


def test_a_negative_predicted_risk_is_not_passed_over_in_silence():
    S = crossing(0.5)
    S[0, 2] = S[2, 0] = 0.05
    population = Population(S, 1)
    assert population.excess_risk(5, np.linspace(0, 1, 201)).min() < 0
    with pytest.warns(UserWarning, match="is negative at alpha = "):
        population.oracle(5)


# --- Best strengths -----------------------------------------------------------------------------------------


def test_oracle_is_the_best_strength_of_a_fine_grid():
    fine = np.linspace(0, 1, 401)
    for S, d, n in ((moving(8), 2, 15), (moving(8), 2, 400), (balanced(0), 2, 30)):
        population = Population(S, d)
        risks = population.excess_risk(n, fine)
        best = population.oracle(n)
        assert best == pytest.approx(fine[np.argmin(risks)], abs=2.5e-3)
        assert population.excess_risk(n, best) <= risks.min() * (1 + 1e-9)
        assert population.oracle(n, fine[::-1]) == fine[np.argmin(risks)]


def test_oracle_of_balanced_marginals_is_the_asymptotic_one():
    population = Population(balanced(0), 2)
    for n in (20, 2000):
        assert population.oracle(n) == pytest.approx(population.asymptotic_oracle(), abs=1e-5)


def test_best_strength_of_the_unequal_design():
    """The paper reports a best simulated strength of 0.90 and a reduction of 63.4% at n = 256."""
    population = Population(UNEQUAL, 2)
    assert population.oracle(256, np.arange(21) / 20) == pytest.approx(0.9)
    pca, best = population.sampling_coefficient([0.0, 0.9])
    assert 1 - best / pca == pytest.approx(0.634, abs=0.01)


def test_benefit_condition():
    population = Population(moving_family(np.deg2rad(5)), 1)
    alpha, sizes = 0.3, np.array([20, 100, 500, 2500])
    saving = population.sampling_coefficient(0.0) - population.sampling_coefficient(alpha)
    benefits = [population.benefit(int(n), alpha) for n in sizes]
    np.testing.assert_allclose(benefits, saving / sizes - population.bias(alpha), rtol=1e-9)
    condition = sizes * population.bias(alpha) < saving
    assert condition.any()
    assert not condition.all()
    assert list(np.array(benefits) > 0) == list(condition)


def test_local_oracle_is_the_limit_of_the_oracle():
    population = Population(moving_family(np.deg2rad(10)), 1)
    errors = [abs(population.oracle(n) / population.local_oracle(n) - 1) for n in (10**2, 10**3, 10**4)]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 1e-3


@each("S", [balanced(0), moving(8)])
def test_local_saving_is_minus_the_derivative_at_zero(S):
    population, h = Population(S, 2), 1e-3
    near, far = (
        population.sampling_coefficient(step) - population.sampling_coefficient(0) for step in (h, 2 * h)
    )
    assert population.local_saving == pytest.approx(-(4 * near - far) / (2 * h), rel=1e-4)


def test_local_oracle_needs_a_moving_target_and_a_saving():
    with pytest.raises(ValueError, match="C_D = 0"):
        Population(balanced(0), 2).local_oracle(100)
    losing = next(p for p in (Population(moving(s), 2) for s in range(20)) if p.local_saving < 0)
    with pytest.raises(ValueError, match="R_move > 0"):
        losing.local_oracle(100)
    with pytest.raises(ValueError, match="elliptical"):
        Population(moving(0), 2, law="t10").local_oracle(100)


# --- Input --------------------------------------------------------------------------------------------------


@each("scale", [1e-100, 1e100])
def test_scale_changes_units_only(scale):
    S, alphas = moving(0), np.array([0.0, 0.3, 0.9])
    one, other = Population(S, 2), Population(S * scale, 2)
    for name in ("block_gap", "cutoff_gap", "bias_along_path", "bias_bound", "sampling_coefficient"):
        found, expected = (getattr(each, name)(alphas) for each in (other, one))
        np.testing.assert_allclose(found / scale, expected, rtol=1e-9, atol=1e-25, err_msg=name)
    assert other.oracle(50) == pytest.approx(one.oracle(50), abs=1e-6)
    assert other.preserves_target(0.3) == one.preserves_target(0.3)
    for name in ("gap", "local_saving", "local_bias_constant"):
        assert getattr(other, name) / scale == pytest.approx(getattr(one, name), rel=1e-9)


def test_rounding_in_the_input_is_forgiven():
    S = moving(0).astype(np.float32).astype(float)
    S[0, 1] += 1e-9
    assert Population(S, 2).gap == pytest.approx(3.5, rel=1e-5)
    singular = np.outer([1.0, 2, 3], [1, 2, 3])
    assert Population(singular, 1).eigenvalues[0] == pytest.approx(14)


@each(
    "covariance, rank, message",
    [
        ([[1, 2, 3]], 1, r"covariance must be a square matrix; got shape \(1, 3\)"),
        ([["a", "b"], ["c", "d"]], 1, "covariance must be a square matrix of real numbers"),
        ([[1, 0.5], [0.4, 1]], 1, "covariance must be symmetric"),
        ([[1, np.nan], [np.nan, 1]], 1, "covariance must be finite"),
        (np.diag([1e200, 1]), 1, "no entry beyond"),
        ([[1, 2], [2, 1]], 1, "covariance must have no negative eigenvalue; its smallest is -1"),
        (np.diag([3, 2, 2, 1]), 2, "no gap at n_components = 2: eigenvalues 2 and 3 are 2"),
        (np.zeros((3, 3)), 1, "no gap"),
        (np.diag([2, 1]), 2, "n_components must be at least 1 and below the number of features, 2"),
        (np.diag([2, 1]), 1.0, "n_components must be an integer"),
        (np.diag([2, 1]), True, "n_components must be an integer"),
    ],
)
def test_bad_populations_are_refused(covariance, rank, message):
    with pytest.raises(ValueError, match=message):
        Population(covariance, rank)


def test_bad_arguments_are_refused():
    population = Population(np.diag([2.0, 1.0]) + 0.1, 1)
    for alpha in (-0.1, 1.1, np.nan, [0.5, 2]):
        with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
            population.bias(alpha)
    for n in (0, -3, np.nan, np.inf, "ten", None, True):
        with pytest.raises(ValueError, match="n must be a sample size"):
            population.excess_risk(n, 0.1)
    with pytest.raises(ValueError, match="law must be a Law or one of 'gaussian'"):
        Population(np.diag([2.0, 1.0]), 1, law="cauchy")
    for call in (population.asymptotic_oracle, lambda: population.balanced_coefficient(0.1)):
        with pytest.raises(ValueError, match=r"balanced marginals.* run from 1\.1 to 2\.1"):
            call()
