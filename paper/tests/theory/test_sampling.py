"""The sampling coefficient and the expected risk: definitions, second differences, Monte Carlo."""

import numpy as np
import pytest
from tests.helpers import each

from attenua import AttenuatedPCA
from attenua_paper.theory import Population, draw_rows, expected_risk, student_t
from paper.tests.theory.designs import (
    DESIGNS,
    attenuated,
    balanced,
    coefficient_by_differences,
    gaussian_cubature,
    gaussian_fourth,
    leading_projector,
    moving,
    preserving,
    risk,
    sample_covariances,
    sampling_coefficient_by_definition,
    solve_sylvester_on_tangent,
)

GRID = np.arange(11) / 10


def fourth_moments(S, law):
    """E[x_a x_b x_c x_d] of x = S^(1/2) z, by definition."""
    values, V = np.linalg.eigh(S)
    R = (V * np.sqrt(values)) @ V.T
    return law.tail * (gaussian_fourth(S) + law.kurtosis * np.einsum("la,lb,lc,ld->abcd", R, R, R, R))


@each("design", DESIGNS)
def test_coefficient_is_its_definition(design):
    S, d = DESIGNS[design]
    alphas = [0.0, 0.35, 1.0]
    expected = [sampling_coefficient_by_definition(S, d, alpha) for alpha in alphas]
    np.testing.assert_allclose(Population(S, d).sampling_coefficient(alphas), expected, rtol=1e-9)


@each("design", DESIGNS)
@each("law", ["gaussian", "exponential", student_t(7)])
def test_coefficient_is_half_the_mean_second_derivative_of_the_risk(design, law):
    S, d = DESIGNS[design]
    population = Population(S, d, law=law)
    for alpha in (0.0, 0.4, 0.9):
        expected = coefficient_by_differences(S, fourth_moments(S, population.law), d, alpha)
        assert population.sampling_coefficient(alpha) == pytest.approx(expected, rel=2e-6)


def test_preserved_target_gives_the_operator_form():
    S, d, alpha = preserving(3), 2, 0.5
    P, T = leading_projector(S, d), attenuated(S, alpha)
    N, expected = np.eye(4) - P, 0.0
    for x, weight in zip(*gaussian_cubature(S), strict=True):
        X = solve_sylvester_on_tangent(P, T, attenuated(np.outer(x, x) - S, alpha))
        expected += weight * np.sum(X * (X @ P @ S @ P - N @ S @ N @ X))
    population = Population(S, d)
    assert not population.is_balanced
    assert population.sampling_coefficient(alpha) == pytest.approx(expected, rel=1e-9)


def test_the_basis_inside_a_repeated_eigenvalue_does_not_matter():
    exact = Population(moving(6, spectrum=(6, 6, 1, 1, 1)), 2)
    split = Population(moving(6, spectrum=(6 + 1e-7, 6, 1 + 1e-7, 1, 1 - 1e-7)), 2)
    np.testing.assert_allclose(*(p.excess_risk(50, [0.0, 0.6]) for p in (exact, split)), rtol=1e-5)


def test_coefficient_of_pca():
    """K(0) = sum of l_j l_k / (l_j - l_k)."""
    population = Population(moving(8), 2)
    j, k = population.eigenvalues[:2, None], population.eigenvalues[None, 2:]
    assert population.sampling_coefficient(0.0) == pytest.approx(np.sum(j * k / (j - k)), rel=1e-12)


# --- Monte Carlo --------------------------------------------------------------------------------------------


def simulated_excess_risk(S, d, n, repeats, alpha):
    risks = risk(S, sample_covariances(S, n, repeats, np.random.default_rng(n)), d, alpha)
    return risks.mean(), risks.std(ddof=1) / np.sqrt(repeats)


@pytest.mark.slow
@each("design", DESIGNS)
@each("alpha", [0.0, 0.8])
def test_expected_risk_against_monte_carlo(design, alpha):
    """Within 4 standard errors plus c n^(-3/2), with c fixed at the smallest n; the sum shrinks."""
    S, d = DESIGNS[design]
    sizes = np.array([40, 160, 640])
    means, errors = np.transpose([simulated_excess_risk(S, d, n, 20_000, alpha) for n in sizes])
    risks = np.array([Population(S, d).excess_risk(n, alpha) for n in sizes])
    off = np.abs(means - risks)
    allowed = 4 * errors + off[0] * (sizes[0] / sizes) ** 1.5
    assert (off <= allowed).all()
    # The allowance is small against the risk itself where the theory is meant to hold, and shrinks.
    assert (np.diff(allowed / risks) < 0).all()
    assert allowed[-1] < 0.1 * risks[-1]


@pytest.mark.slow
def test_monte_carlo_would_notice_a_missing_displacement_term():
    (S, d), alpha, n = DESIGNS["moving"], 0.8, 320
    mean, error = simulated_excess_risk(S, d, n, 60_000, alpha)
    population = Population(S, d)
    without = population.bias(alpha) + sampling_coefficient_by_definition(S, d, alpha, False) / n
    assert abs(mean - without) > 8 * error
    assert abs(mean - population.excess_risk(n, alpha)) < 4 * error


@pytest.mark.slow
def test_balanced_risk_uniformly_over_the_path():
    """Theorem balanced-risk: sup over alpha of |n E R - K(alpha)| is at most C / sqrt(n).

    C is fixed at the smallest n. Left out of K, either of its terms would be noticed at the largest.
    """
    S, d, sizes = balanced(0), 2, np.array([50, 200, 800, 3200])
    population = Population(S, d)
    assert population.is_balanced
    K, constants = population.balanced_coefficient(GRID), population.constants
    off, errors = [], []
    for n in sizes:
        samples = sample_covariances(S, n, 20_000, np.random.default_rng(n))
        scaled = n * np.array([risk(S, samples, d, alpha) for alpha in GRID])
        off.append(scaled.mean(axis=1) - K)
        errors.append(scaled.std(axis=1, ddof=1).max() / np.sqrt(samples.shape[0]))
    largest = np.max(np.abs(off), axis=1)
    # The remainder is seen at the smallest n, and not drowned by the error of the simulation.
    assert largest[0] > 10 * errors[0]
    assert (largest[1:] <= largest[0] * np.sqrt(sizes[0] / sizes[1:]) + 4 * np.array(errors[1:])).all()
    for term in (2 * GRID * constants.C, -(GRID**2) * constants.V):
        assert np.max(np.abs(off[-1] - term)) > largest[0] * np.sqrt(sizes[0] / sizes[-1]) + 8 * errors[-1]


@pytest.mark.slow
@each("design", DESIGNS)
@each("alpha", [0.0, 0.5, 1.0])
def test_centring_costs_one_row(design, alpha):
    """Centred samples of n rows have the risk of n - 1 rows of known mean, and not that of n."""
    (S, d), n, repeats = DESIGNS[design], 8, 30_000
    rows = 3 + draw_rows(S, n * repeats, random_state=0).reshape(repeats, n, len(S))
    centred = rows - rows.mean(axis=1, keepdims=True)
    risks = risk(S, np.swapaxes(centred, 1, 2) @ centred / n, d, alpha)
    for size, same in ((n - 1, True), (n, False)):
        mean, error = simulated_excess_risk(S, d, size, repeats, alpha)
        off = abs(risks.mean() - mean) / np.hypot(risks.std() / np.sqrt(repeats), error)
        assert off < 3.5 if same else off > 6


# --- Expected risk of an estimator --------------------------------------------------------------------------


def test_expected_risk_is_the_mean_over_fits():
    S, d, n, alpha = moving(8), 2, 30, 0.4
    found = expected_risk(Population(S, d), AttenuatedPCA(d, alpha=alpha), n, 20, random_state=3)
    random, expected = np.random.RandomState(3), []
    for _ in range(20):
        X = draw_rows(S, n, random_state=random)
        expected.append(risk(S, np.cov(X, rowvar=False, bias=True), d, alpha))
    np.testing.assert_allclose(found.risks, expected, rtol=1e-6)
    assert found.mean == pytest.approx(np.mean(expected))
    assert found.standard_error == pytest.approx(np.std(expected, ddof=1) / np.sqrt(20))


def test_expected_risk_follows_the_law_of_the_population():
    model, risks = AttenuatedPCA(2), []
    for law in ("gaussian", student_t(5)):
        risks.append(expected_risk(Population(moving(8), 2, law=law), model, 200, 200, random_state=0))
    assert risks[1].mean - risks[0].mean > 5 * risks[1].standard_error


def test_expected_risk_refuses_other_ranks_and_single_samples():
    population = Population(moving(8), 2)
    with pytest.raises(ValueError, match="estimator has 3 components; the population's rank is 2"):
        expected_risk(population, AttenuatedPCA(3), 20, 2)
    with pytest.raises(ValueError, match="repeats must be at least 2"):
        expected_risk(population, AttenuatedPCA(2), 20, 1)
