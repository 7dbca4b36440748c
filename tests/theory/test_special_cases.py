"""Closed forms of the guide's page on all corrections, each against the general coefficient."""

import numpy as np
import pytest

from attenua._correct.columns import column_smoother
from attenua.theory import Population, StudentT, default_strengths, flat_spike_ratio
from tests.theory.designs import balanced, moving


def positive(seed):
    """A moving target without a covariance that is 0, or near it."""
    rng = np.random.default_rng(seed)
    loadings = rng.uniform(0.5, 1.5, (6, 2)) * np.array([[1, 1]] * 3 + [[1, -0.3]] * 3)
    return loadings @ loadings.T * [[1.0]] + np.diag(rng.uniform(0.3, 1.0, 6)) + 0.2


def slope(population, **step):
    """The derivative of K at PCA in the direction of small strengths, from one side."""
    (name, h), at_zero = *step.items(), population.sampling_coefficient()
    near, far = (population.sampling_coefficient(**{name: size}) - at_zero for size in (h, 2 * h))
    return (4 * near - far) / (2 * h)


def couplings(S, d):
    values, U = np.linalg.eigh(S)
    values, U = values[::-1], U[:, ::-1]
    return values[:d, None], values[None, d:], U[:, :d], U[:, d:]


def test_slopes_near_pca():
    S, d = positive(0), 2
    population = Population(S, d, neighbours="line")
    j, k, U, V = couplings(S, d)
    gaps, products, variances = j - k, j * k, np.diag(S)

    def change(M):
        """M_jj - M_kk over the gap."""
        inside, outside = (np.einsum("ia,il,la->a", W, M, W) for W in (U, V))
        return (inside[:, None] - outside[None, :]) / gaps

    shared = (U**2 / variances[:, None]).T @ V**2
    logs = np.diag(np.log(variances))
    tempering = -np.sum(products * (j + k) / gaps * (2 * shared - change(logs)))
    assert slope(population, tempering=1e-4) == pytest.approx(tempering, rel=1e-5)

    correlations = np.abs(S) / np.sqrt(np.outer(variances, variances))
    small = np.log(correlations)
    overlaps = np.einsum("il,ik,lj->jk", small, V**2, U**2)
    overlaps += np.einsum("il,ik,ij,lk,lj->jk", small, V, U, V, U, optimize=True)
    damping = 2 * np.sum(products / gaps * (1 + overlaps - (j + k) * shared - change(S * small)))
    assert slope(population, damping=1e-4) == pytest.approx(damping, rel=1e-5)

    # The Laplacian of a line, and the strength whose square is twice the small parameter.
    L = 2.0 * np.eye(6) - np.eye(6, k=1) - np.eye(6, k=-1)
    L[0, 0] = L[-1, -1] = 1.0
    smoothing = 2 * np.sum(products * (j + k) / gaps * change(L))
    h = 1e-4
    at_zero = population.sampling_coefficient()
    near, far = (
        population.sampling_coefficient(smoothing=np.sqrt(2 * size)) - at_zero for size in (h, 2 * h)
    )
    assert (4 * near - far) / (2 * h) == pytest.approx(smoothing, rel=1e-5)


def test_slope_of_row_tempering():
    """Nothing for Gaussian rows, -4/(nu - 4) times the coefficient for t rows."""
    population = Population(moving(8), 2)
    pca = population.sampling_coefficient()
    assert abs(population.sampling_coefficient(row_tempering=1e-3) / pca - 1) < 1e-5
    law = StudentT(9.0)
    step = population.sampling_coefficient(law=law, row_tempering=1e-4)
    heavy = population.sampling_coefficient(law=law)
    assert (step / heavy - 1) / 1e-4 == pytest.approx(-4 / 5, rel=2e-3)


def test_bias_of_a_little_damping_and_smoothing():
    S, d, h = positive(0), 2, 1e-4
    population = Population(S, d, neighbours="line")
    j, k, U, V = couplings(S, d)
    s = np.sqrt(np.diag(S))
    damped = S * np.log(np.abs(S) / np.outer(s, s))
    assert population.bias(damping=h) == pytest.approx(
        h**2 * np.sum((U.T @ damped @ V) ** 2 / (j - k)), rel=1e-2
    )
    kernel = column_smoother("line", 6).smooth(np.eye(6), 1e-3)
    L = (np.eye(6) - kernel) / (1e-3**2 / 2)
    expected = h**2 * np.sum((U.T @ (L @ S + S @ L) @ V) ** 2 / (j - k))
    assert population.bias(smoothing=np.sqrt(2 * h)) == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize(("p", "noise", "spike"), [(5, 1.0, 3.0), (16, 2.0, 0.5)])
def test_flat_spike_with_three_strengths(p, noise, spike):
    population = Population(noise * np.eye(p) + spike / p, 1)
    c, v = population.constants, noise + spike / p
    r = spike / p / v
    for alpha, gamma, beta in ((0.3, 0.4, 0.5), (0.0, 0.0, 0.7), (1.0, 0.2, 1.0)):
        w = 1 + (gamma + beta) / (1 + beta) * ((2 * noise + spike) / (2 * v) - 1)
        w -= (1 - alpha) * (1 - gamma) / ((1 + beta) * r**beta)
        expected = (1 + beta) ** 2 * (c.G0 - 2 * w * c.C + w**2 * c.V)
        found = population.sampling_coefficient(attenuation=alpha, tempering=gamma, damping=beta)
        assert found == pytest.approx(expected, rel=1e-9)


def test_an_error_of_scale_does_not_matter():
    """K of an elliptical law is its tail factor times the Gaussian one, drift included."""
    population, strengths = Population(moving(3), 2), {"tempering": 0.4, "damping": 0.3, "attenuation": 0.2}
    gaussian = population.sampling_coefficient(**strengths)
    heavy = population.sampling_coefficient(law=StudentT(7.0), **strengths)
    assert heavy == pytest.approx(gaussian * 5 / 3, rel=1e-9)


def test_balanced_marginals_give_pairwise_strengths():
    """K = sum of var(a - w b) / gap with w = alpha (1 - gamma) + gamma (l_j + l_k) / (2v), and no bias."""
    S, d = balanced(0), 2
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


@pytest.mark.parametrize(("p", "noise", "spike"), [(2, 1.0, 3.0), (7, 0.1, 9.0)])
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


def test_two_coordinates_without_sampling_error():
    """The eigenvectors of [[x, t], [t, x]] are fixed: deletion, or the correlation matrix, cannot rotate."""
    population = Population(np.array([[5.0, 1.5], [1.5, 2.0]]), 1)
    for alpha, tempering in ((0.4, 0.3), (0.4, 1.0), (1.0, 0.3)):
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
