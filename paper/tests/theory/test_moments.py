"""Moments of the couplings and the balanced risk curve: cubature, closed forms, rows; the laws of rows."""

import numpy as np
import pytest
from scipy.linalg import hadamard, sqrtm
from tests.helpers import each

from attenua_paper.theory import (
    LAWS,
    Population,
    draw_batches,
    draw_rows,
    flat_spike_ratio,
    moment_constants,
    student_t,
)
from paper.tests.theory.designs import balanced, gaussian_cubature, moving, risk

ALPHAS = np.array([0.0, 0.4, 1.0])


def hadamard_design():
    """The paper's balanced design: p = 16, d = 3, spikes 8, 4 and 2 along columns of a Hadamard matrix."""
    U = hadamard(16)[:, 1:4] / 4
    return np.eye(16) + (U * [8, 4, 2]) @ U.T


def exact_constants(S, d, kurtosis):
    """Sums over the pairs of cov(z'Az, z'Bz) = 2 tr(AB) + kurtosis * sum A_ii B_ii, x = S^(1/2) z."""
    root = np.real(sqrtm(S))
    values, U = np.linalg.eigh(S)
    values, U = values[::-1], U[:, ::-1]
    totals = np.zeros(3)
    for j in range(d):
        for k in range(d, len(S)):
            a = (np.outer(U[:, j], U[:, k]) + np.outer(U[:, k], U[:, j])) / 2
            A, B = root @ a @ root, root @ np.diag(U[:, j] * U[:, k]) @ root
            pairs = ((A, A), (A, B), (B, B))
            moments = [2 * np.sum(M * N) + kurtosis * np.diag(M) @ np.diag(N) for M, N in pairs]
            totals += np.array(moments) / (values[j] - values[k])
    return totals


def three(curve):
    return np.array([curve.G0, curve.C, curve.V])


def test_pair_moments_and_constants():
    S, d = moving(0), 2
    population = Population(S, d)
    x, w = gaussian_cubature(S)
    U, values, pairs = population.eigenvectors, population.eigenvalues, population.pairs
    scores, deviations, totals = x @ U, x**2 - np.diag(S), np.zeros(3)
    for j in range(d):
        for k in range(d, 5):
            a, b = scores[:, j] * scores[:, k], deviations @ (U[:, j] * U[:, k])
            moments = w @ (a * a), w @ (a * b), w @ (b * b)
            at = j, k - d
            np.testing.assert_allclose(
                (pairs.var_a[at], pairs.cov_ab[at], pairs.var_b[at]), moments, rtol=1e-9
            )
            # The closed forms of eq. single-observation-moments.
            closed = values[j] * values[k], 2 * values[j] * values[k] * pairs.s[at], pairs.h[at]
            np.testing.assert_allclose(closed, moments, rtol=1e-9)
            totals += np.array(moments) / (values[j] - values[k])
    np.testing.assert_allclose(three(population.constants), totals, rtol=1e-9)


@each(
    "law, S, d",
    [("gaussian", balanced(0), 2), ("t10", hadamard_design(), 3), ("exponential", balanced(0), 2)],
)
def test_constants_of_the_latent_laws(law, S, d):
    population = Population(S, d, law=law)
    expected = exact_constants(S, d, LAWS[law].kurtosis)
    np.testing.assert_allclose(three(population.constants), expected, rtol=1e-9)
    curve = expected @ [np.ones(3), -2 * ALPHAS, ALPHAS**2]
    np.testing.assert_allclose(population.balanced_coefficient(ALPHAS), curve, rtol=1e-9)
    # The general coefficient is the same where the marginals are balanced.
    np.testing.assert_allclose(population.sampling_coefficient(ALPHAS), curve, rtol=1e-9)
    found = moment_constants(population, draw_batches(S, 120_000, batch_size=9_000, law=law, random_state=1))
    assert (np.abs(three(found) - expected) < 4 * found.standard_errors).all()
    assert (found.standard_errors < 0.05 * expected).all()
    assert (np.abs(found.coefficient(ALPHAS) - curve) < 4 * found.coefficient_error(ALPHAS)).all()


def test_constants_of_elliptical_rows():
    population = Population(moving(0), 2, law=student_t(12))
    rows = draw_rows(moving(0), 400_000, law=student_t(12), random_state=0)
    U, D = population.eigenvectors, np.diag(moving(0))
    for j, k in ((0, 0), (1, 2)):
        a, b = (rows @ U[:, j]) * (rows @ U[:, 2 + k]), (rows**2 - D) @ (U[:, j] * U[:, 2 + k])
        pairs = population.pairs
        for product, moment in ((a * a, pairs.var_a), (a * b, pairs.cov_ab), (b * b, pairs.var_b)):
            assert abs(product.mean() - moment[j, k]) < 4 * product.std() / np.sqrt(len(product))


def test_what_attenuation_saves_and_costs_is_positive():
    """C > 0 and V > 0 under balance for Gaussian rows, whatever the rank (Theorem balanced-risk)."""
    for seed in range(20):
        for d in range(1, 5):
            constants = Population(balanced(seed, spectrum=(7, 5, 3, 1, 0.5)), d).constants
            assert constants.C > 0
            assert constants.V > 0
    # Without balance all overlaps can vanish: the proof needs it.
    assert three(Population(np.diag([3.0, 2.0, 1.0]), 1).constants)[1:].tolist() == [0.0, 0.0]


def test_no_variance_of_the_diagonal_part_means_no_effect():
    """Coordinates of fixed squares have b = 0: V_nu = 0 forces C_nu = 0, and no strength matters."""
    means, rng = np.array([0.9, 0.8, 0.5, 0.3]), np.random.default_rng(0)
    S = np.outer(means, means) + np.diag(1 - means**2)
    signs = np.where(rng.uniform(size=(4_000, 4)) < (1 + means) / 2, 1.0, -1.0)
    rows = signs * rng.choice([-1.0, 1.0], (4_000, 1))
    curve = moment_constants(Population(S, 1), rows)
    assert pytest.approx(0, abs=1e-25) == curve.V
    assert pytest.approx(0, abs=1e-12) == curve.C
    assert curve.G0 > 0.1
    assert curve.coefficient(1.0) == pytest.approx(curve.G0)
    assert type(curve)(1.0, 0.0, 0.0, np.zeros((3, 3))).oracle() == 0
    Sn = rows.T @ rows / len(rows)
    assert risk(S, Sn, 1, 0.9) == pytest.approx(risk(S, Sn, 1), abs=1e-12)


def test_two_oracles_minimise_the_quadratic():
    fine, ratios = np.linspace(0, 1, 20_001), []
    for seed in range(6):
        population = Population(balanced(seed, spectrum=(7, 5, 3, 1, 0.5)), 1 if seed % 2 else 3)
        curve = population.balanced_coefficient(fine)
        for upper in (1.0, 0.5):
            inside = fine <= upper
            best = fine[inside][np.argmin(curve[inside])]
            assert population.asymptotic_oracle(upper) == pytest.approx(best, abs=1e-4)
        ratios.append(population.constants.C / population.constants.V)
    # The cases differ: some minima lie inside the direct path, some beyond it.
    assert min(ratios) < 0.5 < 1 < max(ratios)


@each("p, noise, spike", [(2, 1.0, 3.0), (16, 2.0, 0.5)])
def test_flat_spike(p, noise, spike):
    population = Population(noise * np.eye(p) + spike / p, 1)
    ratio = population.constants.C / population.constants.V
    assert ratio == pytest.approx(flat_spike_ratio(p, noise, spike), rel=1e-12)
    assert ratio >= 1
    assert population.asymptotic_oracle() == 1
    np.testing.assert_allclose(population.pairs.s, 1 / p)
    np.testing.assert_allclose(population.pairs.h, 2 / p * (noise**2 + 2 * noise * spike / p))
    with pytest.raises(ValueError, match="noise and spike positive"):
        flat_spike_ratio(p, 0.0, spike)


def test_standard_errors_are_those_of_repeated_samples():
    S = balanced(0)
    population = Population(S, 2)
    repeats = [moment_constants(population, draw_rows(S, 1_000, random_state=seed)) for seed in range(200)]
    found = [[*three(r), r.coefficient(0.8)] for r in repeats]
    claims = [[*r.standard_errors, r.coefficient_error(0.8)] for r in repeats]
    spread, claimed = np.std(found, axis=0, ddof=1), np.mean(claims, axis=0)
    np.testing.assert_allclose(claimed, spread, rtol=0.2)


@pytest.mark.slow
def test_curve_predicts_the_simulated_risk():
    """The moment curve follows a law that is not Gaussian; the Gaussian one is far off."""
    S, d, n, alpha = hadamard_design(), 3, 1024, 0.5
    rows = draw_batches(S, 1_000 * n, batch_size=n, law="exponential", random_state=2)
    risks = n * np.array([risk(S, X.T @ X / n, d, alpha) for X in rows])
    mean, error = risks.mean(), risks.std() / np.sqrt(len(risks))
    predicted, gaussian = (
        Population(S, d, law=law).balanced_coefficient(alpha) for law in ("exponential", "gaussian")
    )
    assert abs(mean - predicted) < 4 * error
    assert abs(mean - gaussian) > 10 * error


def test_batches_and_rows_agree():
    S = balanced(1)
    population, X = Population(S, 2), draw_rows(S, 1_000, random_state=0)
    whole = moment_constants(population, X)
    parts = moment_constants(population, iter([X[:1], X[1:700], X[700:]]))
    np.testing.assert_allclose(three(parts), three(whole), rtol=1e-12)
    np.testing.assert_allclose(parts.error_covariance, whole.error_covariance, rtol=1e-10)


@each("law", [*LAWS, student_t(20)])
def test_laws_are_standardised_and_have_their_fourth_moments(law):
    law = LAWS.get(law, law)
    z = law.draw(np.random.RandomState(0), (200_000, 2))
    assert (np.abs(z.mean(axis=0)) < 4 / np.sqrt(len(z))).all()
    for moments, expected in (
        (z[:, 0] ** 2, 1),
        (z[:, 0] * z[:, 1], 0),
        (z[:, 0] ** 4, law.tail * (3 + law.kurtosis)),
        (z[:, 0] ** 2 * z[:, 1] ** 2, law.tail),
    ):
        assert abs(moments.mean() - expected) < 4 * moments.std() / np.sqrt(len(z))


def test_draws_are_repeatable_and_have_the_covariance():
    S = moving(0)
    np.testing.assert_array_equal(draw_rows(S, 5, random_state=3), draw_rows(S, 5, random_state=3))
    whole = draw_rows(S, 25, random_state=3)
    np.testing.assert_array_equal(whole, np.vstack(list(draw_batches(S, 25, batch_size=10, random_state=3))))
    rows = draw_rows(S, 100_000, law="exponential", random_state=0)
    np.testing.assert_allclose(rows.T @ rows / len(rows), S, atol=0.25)


def test_what_is_refused():
    with pytest.raises(ValueError, match="moment version needs balanced marginals"):
        moment_constants(Population(moving(0), 2), np.ones((4, 5)))
    population = Population(balanced(0), 2)
    for rows, message in (
        (np.ones((4, 3)), "rows must hold rows of 5 features"),
        (np.full((4, 5), np.nan), "rows must be finite"),
        (iter([]), "at least 2 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            moment_constants(population, rows)
    with pytest.raises(ValueError, match="law must be"):
        draw_rows(np.eye(3), 5, law="cauchy")
    with pytest.raises(ValueError, match="n and batch_size must be at least 1"):
        draw_rows(np.eye(3), 0)
    with pytest.raises(ValueError, match="no negative eigenvalue"):
        draw_rows(np.diag([1.0, -1.0]), 5)
    with pytest.raises(ValueError, match="above 4"):
        student_t(4)
