"""Constants of balanced marginals: pairs against cubature, the moment version against closed forms."""

import tracemalloc

import numpy as np
import pytest
from scipy.linalg import hadamard, sqrtm

from attenua.theory import (
    LATENT_LAWS,
    Population,
    default_strengths,
    draw_batches,
    draw_rows,
    flat_spike_ratio,
    moment_constants,
)
from tests.theory.designs import balanced, gaussian_cubature, leading_projector, moving

EXCESS_KURTOSIS = {"gaussian": 0.0, "t10": 6 / (10 - 4), "exponential": 6.0}


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


def three(c):
    return np.array([c.G0, c.C, c.V])


@pytest.mark.parametrize(
    ("law", "S", "d"),
    [("gaussian", balanced(0), 2), ("t10", hadamard_design(), 3), ("exponential", balanced(0), 2)],
    ids=list(LATENT_LAWS),
)
def test_constants_of_the_latent_laws(law, S, d):
    population = Population(S, d)
    rows = draw_batches(S, 120_000, batch_size=9_000, law=law, random_state=1)
    found = moment_constants(population, rows)
    expected = exact_constants(S, d, EXCESS_KURTOSIS[law])
    errors = three(found) - expected
    assert (np.abs(errors) < 4 * found.standard_errors).all()
    assert (found.standard_errors < 0.05 * expected).all()
    assert found.n_rows == 120_000
    alphas = np.array([0.0, 0.4, 1.0])
    curve = expected[0] - 2 * alphas * expected[1] + alphas**2 * expected[2]
    assert (np.abs(found.coefficient(alphas) - curve) < 4 * found.coefficient_error(alphas)).all()
    # The general coefficient has these laws in closed form.
    np.testing.assert_allclose(population.sampling_coefficient(law=law, attenuation=alphas), curve, rtol=1e-9)
    if law == "gaussian":
        np.testing.assert_allclose(curve, population.sampling_coefficient(attenuation=alphas), rtol=1e-9)
        np.testing.assert_allclose(three(population.constants), expected, rtol=1e-9)


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
    """The moment curve follows a law that is not Gaussian; G is far off."""
    S, d, n, repeats, alpha, law, tempering = hadamard_design(), 3, 1024, 1_000, 0.5, "exponential", 0.3
    population = Population(S, d)
    rng, best, risks = np.random.RandomState(2), population.eigenvalues[:d].sum(), []
    for _ in range(repeats):
        X = draw_rows(S, n, law=law, random_state=rng)
        Sn = X.T @ X / n
        scale = np.diag(Sn) ** (-tempering / 2)
        P = leading_projector((Sn - alpha * np.diag(np.diag(Sn))) * np.outer(scale, scale), d)
        risks.append(n * (best - np.sum(S * P)))
    mean, error = np.mean(risks), np.std(risks) / np.sqrt(repeats)
    predicted = population.sampling_coefficient(law=law, attenuation=alpha, tempering=tempering)
    assert abs(mean - predicted) < 4 * error
    gaussian = population.sampling_coefficient(attenuation=alpha, tempering=tempering)
    assert abs(mean - gaussian) > 10 * error


def test_array_batches_and_function_agree():
    S = balanced(1)
    population = Population(S, 2)
    X = draw_rows(S, 1_000, random_state=0)
    whole = moment_constants(population, X)
    for rows in (
        [X[:1], X[1:700], X[700:]],
        iter([X[:500], X[500:]]),
        lambda: (X[i : i + 300] for i in range(0, 1_000, 300)),
        X.tolist(),
    ):
        other = moment_constants(population, rows)
        np.testing.assert_allclose([other.G0, other.C, other.V], [whole.G0, whole.C, whole.V], rtol=1e-12)
        np.testing.assert_allclose(other.error_covariance, whole.error_covariance, rtol=1e-10)


def test_memory_does_not_grow_with_the_number_of_batches():
    S = balanced(1)
    population = Population(S, 2)
    peaks = []
    for n in (10_000, 60_000):
        tracemalloc.start()
        moment_constants(population, draw_batches(S, n, batch_size=2_000, random_state=0))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_scale_and_oracle():
    S = balanced(1)
    X = draw_rows(S, 500, random_state=0)
    one = moment_constants(Population(S, 2), X)
    other = moment_constants(Population(S * 1e-100, 2), X * 1e-50)
    assert pytest.approx(one.V, rel=1e-9) == other.V * 1e100
    np.testing.assert_allclose(other.standard_errors * 1e100, one.standard_errors, rtol=1e-9)
    assert one.asymptotic_oracle() == pytest.approx(min(one.C / one.V, 1))
    assert one.asymptotic_oracle("mask") == pytest.approx(min(one.C / one.V, 0.5))


@pytest.mark.parametrize("law", LATENT_LAWS)
def test_latent_laws_are_standardised(law):
    z = LATENT_LAWS[law].draw_latent(np.random.RandomState(0), 400_000)
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert abs(z.var() - 1) < 4 * np.sqrt((EXCESS_KURTOSIS[law] + 2) / len(z))
    # A fourth moment whose own standard error comes from the eighth.
    assert abs(np.mean(z**4) - 3 - EXCESS_KURTOSIS[law]) < 4 * np.std(z**4) / np.sqrt(len(z))


def test_draws_are_repeatable_and_batches_cover_the_rows():
    S = balanced(0)
    np.testing.assert_array_equal(draw_rows(S, 5, random_state=3), draw_rows(S, 5, random_state=3))
    assert [len(b) for b in draw_batches(S, 25, batch_size=10)] == [10, 10, 5]


def test_moment_version_refuses_what_it_does_not_cover():
    with pytest.raises(ValueError, match="moment version needs balanced marginals"):
        moment_constants(Population(moving(0), 2), np.ones((4, 5)))
    population = Population(balanced(0), 2)
    with pytest.raises(ValueError, match="rows must hold rows of 5 features"):
        moment_constants(population, np.ones((4, 3)))
    with pytest.raises(ValueError, match="rows must be finite"):
        moment_constants(population, np.full((4, 5), np.nan))
    with pytest.raises(ValueError, match="at least 2 rows"):
        moment_constants(population, iter([]))
    with pytest.raises(ValueError, match="law must be one of"):
        draw_rows(np.eye(3), 5, law="cauchy")
    with pytest.raises(ValueError, match="n must be at least 1"):
        draw_rows(np.eye(3), 0)
    with pytest.raises(ValueError, match="no negative eigenvalue"):
        draw_rows(np.diag([1.0, -1.0]), 5)


def test_balanced_marginals_give_the_quadratic():
    population = Population(balanced(0), 2)
    alphas = default_strengths()
    np.testing.assert_allclose(
        population.sampling_coefficient(attenuation=alphas),
        population.balanced_coefficient(alphas),
        rtol=1e-10,
    )


def test_pair_moments_and_constants():
    S, d = moving(0), 2
    population = Population(S, d)
    x, w = gaussian_cubature(S)
    U, values = population.eigenvectors, population.eigenvalues
    scores, deviations = x @ U, x**2 - np.diag(S)
    totals = np.zeros(3)
    for j in range(d):
        for k in range(d, 5):
            a, b = scores[:, j] * scores[:, k], deviations @ (U[:, j] * U[:, k])
            moments = w @ (a * a), w @ (a * b), w @ (b * b)
            pairs = population.pairs
            found = pairs.var_a[j, k - d], pairs.cov_ab[j, k - d], pairs.var_b[j, k - d]
            np.testing.assert_allclose(found, moments, rtol=1e-9)
            totals += np.array(moments) / (values[j] - values[k])
    c = population.constants
    np.testing.assert_allclose([c.G0, c.C, c.V], totals, rtol=1e-9)
    np.testing.assert_allclose([2 * c.A, c.B], totals[1:], rtol=1e-9)


def test_two_oracles_minimise_the_quadratic():
    fine = np.linspace(0, 1, 20_001)
    ratios = []
    for seed in range(6):
        population = Population(balanced(seed, spectrum=(7, 5, 3, 1, 0.5)), 1 if seed % 2 else 3)
        curve = population.balanced_coefficient(fine)
        assert population.asymptotic_oracle() == pytest.approx(fine[np.argmin(curve)], abs=1e-4)
        mask = fine <= 0.5
        assert population.asymptotic_oracle("mask") == pytest.approx(
            fine[mask][np.argmin(curve[mask])], abs=1e-4
        )
        ratios.append(population.constants.C / population.constants.V)
    # The cases differ: some minima lie inside the direct path, some beyond it.
    assert min(ratios) < 0.5 < 1 < max(ratios)


@pytest.mark.parametrize(("p", "noise", "spike"), [(2, 1.0, 3.0), (16, 2.0, 0.5)])
def test_flat_spike(p, noise, spike):
    population = Population(noise * np.eye(p) + spike / p, 1)
    ratio = population.constants.C / population.constants.V
    assert ratio == pytest.approx(flat_spike_ratio(p, noise, spike), rel=1e-12)
    assert ratio >= 1
    assert population.asymptotic_oracle() == 1
    np.testing.assert_allclose(population.pairs.s, 1 / p)
    np.testing.assert_allclose(population.pairs.h, 2 / p * (noise**2 + 2 * noise * spike / p))
