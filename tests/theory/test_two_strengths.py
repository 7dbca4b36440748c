"""Risk theory of both strengths: against its definition, finite differences, closed forms and Monte Carlo."""

from dataclasses import replace

import numpy as np
import pytest
from definitions import corrected, risk
from designs import (
    UNEQUAL,
    balanced,
    coefficient_by_differences,
    leading_projector,
    moving,
    preserving,
    sample_covariances,
    simulated_coefficient,
)

from attenua._correct.registry import Strengths
from attenua.theory import (
    CorrectionMap,
    Gaussian,
    Population,
    default_strengths,
    flat_spike_ratio,
    sampling_coefficient,
)
from attenua.theory.cutoff import cut

DESIGNS = {"balanced": (balanced(0), 2), "preserving": (preserving(1), 2), "moving": (moving(8), 2)}
PAIRS = [(0.0, 0.5), (0.4, 0.3), (0.8, 1.0), (1.0, 0.7)]


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("alpha", "tempering"), PAIRS)
def test_coefficient_is_half_the_mean_second_derivative_of_the_risk(design, alpha, tempering):
    S, d = DESIGNS[design]
    expected = coefficient_by_differences(S, d, alpha, tempering)
    assert Population(S, d).sampling_coefficient(attenuation=alpha, tempering=tempering) == pytest.approx(
        expected, rel=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("alpha", "tempering"), [(0.0, 0.5), (0.6, 0.4), (0.0, 1.0)])
def test_coefficient_against_monte_carlo(design, alpha, tempering):
    S, d = DESIGNS[design]
    mean, error = simulated_coefficient(S, d, alpha, tempering, n=20_000, repeats=20_000, seed=1)
    coefficient = Population(S, d).sampling_coefficient(attenuation=alpha, tempering=tempering)
    assert abs(mean - coefficient) < 4 * error
    assert error < 0.05 * coefficient


def drifting():
    """A moving target whose sample correlations, strong and unequal, shrink unequally."""
    R, s = np.array([[1, 0.9, 0.8], [0.9, 1, 0.6], [0.8, 0.6, 1]]), np.array([2.0, 1, 1])
    return R * np.outer(s, s)


@pytest.mark.parametrize(("alpha", "tempering"), [(0.0, 1.0), (0.3, 0.6)])
def test_monte_carlo_would_notice_a_missing_drift(alpha, tempering):
    S, d = drifting(), 1
    noise = Gaussian().noise(S)
    correction = CorrectionMap(Strengths(attenuation=alpha, tempering=tempering)).at(S, noise)
    at = cut(correction.target, d)
    mean, error = simulated_coefficient(S, d, alpha, tempering, n=20_000, repeats=40_000, seed=2)
    assert abs(mean - sampling_coefficient(correction, noise, at, S)) < 4 * error
    assert abs(mean - sampling_coefficient(replace(correction, drift=None), noise, at, S)) > 8 * error
    # Nor would a response of the diagonal alone, as without tempering, do.
    diagonal = replace(correction, response=np.diag(np.diag(correction.response)))
    assert abs(mean - sampling_coefficient(diagonal, noise, at, S)) > 8 * error


@pytest.mark.slow
def test_risk_at_moderate_sample_sizes():
    """The remainder of the expansion times n is O(n^(-1/2)): four times the rows, at most half of it."""
    S, d, pair = moving(8), 2, (0.3, 0.5)
    coefficient = Population(S, d).sampling_coefficient(attenuation=pair[0], tempering=pair[1])
    found = [simulated_coefficient(S, d, *pair, n, 80_000, seed=n) for n in (50, 200, 800)]
    remainders, errors = np.abs([mean - coefficient for mean, _ in found]), np.array([e for _, e in found])
    assert remainders[0] > 20 * errors[0]
    assert (remainders[1:] < remainders[:-1] / 2 + 4 * errors[1:]).all()


@pytest.mark.parametrize("seed", range(3))
def test_balanced_marginals_give_pairwise_strengths(seed):
    """K = sum of var(a - w b) / gap with w = alpha (1 - gamma) + gamma (l_j + l_k) / (2v), and no bias."""
    S, d = balanced(seed), 2
    population = Population(S, d)
    alphas, temperings = np.array([0.0, 0.3, 1.0])[:, None], np.array([0.0, 0.25, 0.7, 1.0])
    pairs, values = population.pairs, population.eigenvalues
    mean_eigenvalues = (values[:d, None] + values[None, d:]) / (2 * S[0, 0])
    expected = [
        [
            np.sum((pairs.var_a - 2 * w * pairs.cov_ab + w**2 * pairs.var_b) / pairs.gaps)
            for w in (a * (1 - t) + t * mean_eigenvalues for t in temperings)
        ]
        for a in alphas.ravel()
    ]
    found = population.sampling_coefficient(attenuation=alphas, tempering=temperings)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert np.abs(population.bias(attenuation=alphas, tempering=temperings)).max() < 1e-25
    assert np.all(population.preserves_target(attenuation=alphas, tempering=temperings))


@pytest.mark.parametrize(("p", "noise", "spike"), [(2, 1.0, 3.0), (16, 2.0, 0.5), (7, 0.1, 9.0)])
def test_flat_spike_is_best_at_the_correlation_matrix(p, noise, spike):
    """Its parabola in w falls until C/V >= 1; direct attenuation stops at w = 1, tempering goes beyond."""
    population = Population(noise * np.eye(p) + spike / p, 1)
    reached, best = (noise + spike / 2) / (noise + spike / p), flat_spike_ratio(p, noise, spike)
    assert 1 - 1e-12 <= reached <= best
    top, bottom = noise + spike, noise
    h = 2 / p * (noise**2 + 2 * noise * spike / p)
    for alpha, tempering in ((0.0, 0.0), (1.0, 0.0), (0.2, 0.5), (0.7, 1.0)):
        w = alpha * (1 - tempering) + tempering * reached
        expected = (p - 1) / spike * (top * bottom - 4 * w * top * bottom / p + w**2 * h)
        found = population.sampling_coefficient(attenuation=alpha, tempering=tempering)
        assert found == pytest.approx(expected, rel=1e-9)
    risk = population.excess_risk(30, attenuation=default_strengths()[:, None], tempering=np.arange(11) / 10)
    assert risk.min() == pytest.approx(risk[0, -1], rel=1e-9)
    assert risk[-1, 0] - risk[0, -1] > (1e-3 if p > 2 else -1e-12)


@pytest.mark.parametrize("tempering", [0.0, 0.3, 1.0])
def test_two_coordinates_without_sampling_error(tempering):
    """The eigenvectors of [[x, t], [t, x]] are fixed: deletion, or the correlation matrix, cannot rotate."""
    population = Population(np.array([[5.0, 1.5], [1.5, 2.0]]), 1)
    for alpha in (0.4, 1.0):
        fixed = alpha == 1 or tempering == 1
        coefficient = population.sampling_coefficient(attenuation=alpha, tempering=tempering)
        assert (abs(coefficient) < 1e-12) == fixed
        if fixed:
            u = np.full(2, np.sqrt(0.5))
            cost = population.eigenvalues[0] - u @ population.covariance @ u
            assert population.excess_risk(7, attenuation=alpha, tempering=tempering) == pytest.approx(
                cost, rel=1e-12
            )


def test_strength_does_not_matter_to_a_correlation_matrix():
    population = Population(moving(8), 2)
    risks = population.excess_risk(40, attenuation=default_strengths(), tempering=1.0)
    np.testing.assert_allclose(risks, risks[0], rtol=1e-10)
    assert population.oracle(40, {"tempering": [1.0], "attenuation": [0.5]}).attenuation in (0.0, 0.5)


def test_cost_of_a_little_of_both_strengths():
    """B_pop = sum of (alpha D_kj + gamma (l_j + l_k) L_kj / 2)^2 / gap, L the logarithms of the variances."""
    S, d = moving(4), 2
    population = Population(S, d)
    U, values, variances = population.eigenvectors, population.eigenvalues, np.diag(S)
    D, L = (U[:, d:].T @ np.diag(v) @ U[:, :d] for v in (variances, np.log(variances)))
    j, k = values[None, :d], values[d:, None]
    for alpha, tempering in ((1e-5, 0.0), (0.0, 1e-5), (1e-5, 2e-5)):
        expected = np.sum((alpha * D + tempering * (j + k) / 2 * L) ** 2 / (j - k))
        assert population.bias(attenuation=alpha, tempering=tempering) == pytest.approx(expected, rel=1e-3)


def test_geometry_of_a_pair():
    S, d = moving(1), 2
    population = Population(S, d)
    P = population.projector
    N, U = np.eye(5) - P, population.eigenvectors
    for alpha, tempering in ((0.0, 0.0), (0.4, 0.0), (0.3, 0.6)):
        T = corrected(S, attenuation=alpha, tempering=tempering)
        values = np.linalg.eigvalsh(T)
        inside, outside = (np.linalg.eigvalsh(V.T @ T @ V) for V in (U[:, :d], U[:, d:]))
        leak = population.population_leakage(attenuation=alpha, tempering=tempering)
        np.testing.assert_allclose(leak, N @ T @ P, atol=1e-12)
        assert population.block_gap(attenuation=alpha, tempering=tempering) == pytest.approx(
            inside[0] - outside[-1]
        )
        assert population.cutoff_gap(attenuation=alpha, tempering=tempering) == pytest.approx(
            values[-d] - values[-d - 1]
        )
        moved = population.moved_projector(attenuation=alpha, tempering=tempering)
        np.testing.assert_allclose(moved, leading_projector(T, d), atol=1e-12)
        cost = np.sum(S * (P - leading_projector(T, d)))
        assert population.bias(attenuation=alpha, tempering=tempering) == pytest.approx(cost, abs=1e-12)


def test_preservation_with_tempering():
    alphas, temperings = np.array([[0.0], [0.5], [1.0]]), np.array([0.0, 0.5, 1.0])
    kept = Population(UNEQUAL, 2)
    assert not kept.is_balanced
    assert np.all(kept.preserves_target(attenuation=alphas, tempering=temperings))
    coefficients = kept.preserved_coefficient(attenuation=alphas, tempering=temperings)
    np.testing.assert_array_equal(
        coefficients, kept.sampling_coefficient(attenuation=alphas, tempering=temperings)
    )
    moved = Population(moving(8), 2)
    assert moved.preserves_target(attenuation=alphas, tempering=temperings).sum() == 1
    with pytest.raises(ValueError, match=r"it moves at tempering = 0\.5"):
        moved.preserved_coefficient(attenuation=0.0, tempering=[0.0, 0.5])


def test_strengths_and_temperings_broadcast():
    population = Population(moving(8), 2)
    alphas, temperings = np.array([0.0, 0.4, 0.9]), np.array([0.0, 0.5])
    for answer in (
        lambda alpha, tempering: population.block_gap(attenuation=alpha, tempering=tempering),
        lambda alpha, tempering: population.cutoff_gap(attenuation=alpha, tempering=tempering),
        lambda alpha, tempering: population.bias(attenuation=alpha, tempering=tempering),
        lambda alpha, tempering: population.sampling_coefficient(attenuation=alpha, tempering=tempering),
        lambda alpha, tempering: population.excess_risk(30, attenuation=alpha, tempering=tempering),
        lambda alpha, tempering: population.benefit(30, attenuation=alpha, tempering=tempering),
    ):
        surface = answer(alphas[:, None], tempering=temperings)
        assert surface.shape == (3, 2)
        assert isinstance(answer(0.4, tempering=0.5), float)
        assert surface[1, 1] == pytest.approx(answer(0.4, tempering=0.5), rel=1e-12)
        np.testing.assert_array_equal(answer(0.4, tempering=temperings), surface[1])
        np.testing.assert_array_equal(surface[:, 0], answer(alphas, tempering=0.0))
    assert population.moved_projector(attenuation=alphas[:, None], tempering=temperings).shape == (3, 2, 5, 5)
    assert population.is_beneficial(30, attenuation=0.1, tempering=temperings).dtype == bool
    with pytest.raises(ValueError, match=r"broadcast, such as .* got attenuation \(3,\), tempering \(2,\)"):
        population.bias(attenuation=alphas, tempering=temperings)
    with pytest.raises(ValueError, match="tempering must be a number from 0 to 1"):
        population.bias(attenuation=0.1, tempering=1.5)


def test_oracle_of_both_strengths():
    population, n = Population(moving(8), 2), 15
    alphas, temperings = default_strengths(), np.arange(11) / 10
    risks = population.excess_risk(n, attenuation=alphas[:, None], tempering=temperings)
    row, column = np.unravel_index(np.argmin(risks), risks.shape)
    on_grid = population.oracle(n, {"tempering": temperings, "attenuation": alphas})
    assert (on_grid.attenuation, on_grid.tempering) == (alphas[row], temperings[column])
    # On the ranges strengths are polished, and the risk no larger than on the grid.
    anywhere = population.oracle(n, ["attenuation", "tempering"])
    assert population.excess_risk(n, **anywhere) <= risks.min() + 1e-12


@pytest.mark.slow
def test_oracle_pair_beats_the_oracle_strength_in_simulation():
    """Where tempering helps by the theory it helps in samples: equal signals, unequal noise."""
    S, n = 1 + np.diag(np.exp(np.linspace(-0.4, 0.4, 8))), 30
    population, temperings = Population(S, 1), np.arange(11) / 10
    both = population.oracle(n, {"tempering": temperings, "attenuation": temperings})
    pair, alone = (both.attenuation, both.tempering), population.oracle(n, ["attenuation"]).attenuation
    assert both.tempering > 0.5
    samples = sample_covariances(S, n, 20_000, np.random.default_rng(0))
    risks = [risk(S, samples, 1, attenuation=a, tempering=t) for a, t in (pair, (alone, 0.0))]
    difference = risks[1] - risks[0]
    assert difference.mean() > 8 * difference.std() / np.sqrt(len(difference))


def test_a_closing_gap_is_named_with_its_tempering():
    """Tempered, coordinate three has sqrt(10) (1 - alpha) and the pair sqrt(3) (1 - alpha) + 2/sqrt(3)."""
    S = np.array([[3.0, 2.0, 0.0], [2.0, 3.0, 0.0], [0.0, 0.0, 10.0]])
    population = Population(S, 1)
    at = 1 - 2 / np.sqrt(3) / (np.sqrt(10) - np.sqrt(3))
    with pytest.raises(ValueError, match=r"tempering = 0\.5, attenuation = .*, has no gap at rank 1"):
        population.bias(attenuation=at, tempering=0.5)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_scale_changes_units_only(scale):
    one, other = Population(moving(8), 2), Population(moving(8) * scale, 2)
    for name in ("bias", "sampling_coefficient"):
        found, expected = (getattr(each, name)(attenuation=0.3, tempering=0.6) for each in (other, one))
        assert found / scale == pytest.approx(expected, rel=1e-9)
    found, expected = (each.block_gap(attenuation=0.3, tempering=0.6) for each in (other, one))
    assert found / scale**0.4 == pytest.approx(expected, rel=1e-9)


def test_a_column_without_variance_stays_out():
    S, wide = moving(8), np.zeros((6, 6))
    wide[:5, :5] = S
    for tempering in (0.0, 0.5, 1.0):
        found = Population(wide, 2).excess_risk(40, attenuation=0.2, tempering=tempering)
        assert found == pytest.approx(
            Population(S, 2).excess_risk(40, attenuation=0.2, tempering=tempering), rel=1e-10
        )
