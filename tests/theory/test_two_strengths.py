"""Risk theory of both strengths: against its definition, finite differences, closed forms and Monte Carlo."""

from dataclasses import replace

import numpy as np
import pytest
from designs import (
    UNEQUAL,
    balanced,
    coefficient_by_differences,
    corrected,
    gaussian_cubature,
    leading_projector,
    moving,
    preserving,
    risk_of_estimate,
    simulated_coefficient,
)

from attenua.theory import Population, default_strengths, flat_spike_ratio, sampling_coefficient, two_strengths
from attenua.theory.cutoff import cut

DESIGNS = {"balanced": (balanced(0), 2), "preserving": (preserving(1), 2), "moving": (moving(8), 2)}
PAIRS = [(0.0, 0.5), (0.4, 0.3), (0.8, 1.0), (1.0, 0.7)]


def linear_part(correction, tempering, covariance, E):
    scale = np.diag(covariance) ** (-tempering / 2)
    E = E * np.outer(scale, scale)
    variances = np.diag(np.diag(E))
    return E + variances @ correction.response + correction.response.T @ variances


@pytest.mark.parametrize(("alpha", "tempering"), [(0.3, 0.0), *PAIRS])
def test_value_and_linear_part_by_differences(alpha, tempering):
    S = moving(3)
    correction = two_strengths(S, alpha, tempering)
    np.testing.assert_allclose(correction.target, corrected(S, alpha, tempering), atol=1e-13)
    G = np.random.default_rng(0).standard_normal((5, 5))
    E, h = G + G.T, 1e-4
    slope = (corrected(S + h * E, alpha, tempering) - corrected(S - h * E, alpha, tempering)) / (2 * h)
    np.testing.assert_allclose(linear_part(correction, tempering, S, E), slope, atol=1e-6)


@pytest.mark.parametrize(("alpha", "tempering"), PAIRS)
def test_drift_is_the_mean_second_derivative(alpha, tempering):
    S = moving(3)
    points, weights = gaussian_cubature(S)
    E = points[:, :, None] * points[:, None, :] - S
    h = 1e-3 / np.linalg.norm(E, axis=(1, 2))[:, None, None]
    at = [corrected(S + step * h * E, alpha, tempering) for step in (-1, 0, 1)]
    halves = (at[0] - 2 * at[1] + at[2]) / h**2 / 2
    expected = np.tensordot(weights, halves, 1)
    drift = two_strengths(S, alpha, tempering).drift
    np.testing.assert_allclose(drift, expected, atol=1e-5)
    assert np.abs(drift - np.diag(np.diag(drift))).max() > 0.05


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("alpha", "tempering"), PAIRS)
def test_coefficient_is_half_the_mean_second_derivative_of_the_risk(design, alpha, tempering):
    S, d = DESIGNS[design]
    expected = coefficient_by_differences(S, d, alpha, tempering)
    assert Population(S, d).sampling_coefficient(alpha, tempering=tempering) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("alpha", "tempering"), [(0.0, 0.5), (0.6, 0.4), (0.0, 1.0)])
def test_coefficient_against_monte_carlo(design, alpha, tempering):
    S, d = DESIGNS[design]
    mean, error = simulated_coefficient(S, d, alpha, tempering, n=20_000, repeats=20_000, seed=1)
    coefficient = Population(S, d).sampling_coefficient(alpha, tempering=tempering)
    assert abs(mean - coefficient) < 4 * error
    assert error < 0.05 * coefficient
