"""Populations estimated from samples, and risks in drawn samples, against the estimators and known truths."""

import numpy as np
import pytest

from attenua import CorrectedPCA
from attenua.theory import Gaussian, Population, Strengths, StudentT, draw_rows
from attenua.theory.samples import (
    _without_noise,
    blended_covariance,
    factor_covariance,
    fitted_risks,
    tail_law,
)
from tests.theory.designs import moving

MOVING = moving(1)


@pytest.mark.parametrize("kappa", [0.3, 1.0])
def test_fits_with_row_tempering_are_those_of_the_estimators(kappa):
    # Rows and their mirror images have mean 0, so that single rows need no centre either.
    rows = draw_rows(MOVING, 30, random_state=0)
    rows = np.vstack([rows, -rows])
    candidate = Strengths(row_tempering=kappa, tempering=0.5)
    model = CorrectedPCA(2, row_tempering=kappa, tempering=0.5).fit(rows)
    P = model.components_.T @ model.components_
    paired = Population(MOVING, 2, row_pairs=True)
    expected = np.sum(MOVING * (paired.projector - P))
    (found,) = fitted_risks(paired, rows / np.sqrt(paired.unit), [candidate])
    assert found == pytest.approx(expected, rel=1e-6)
    weights = np.sum(rows**2, axis=1) ** -kappa
    S = (rows.T * weights) @ rows
    s = np.diag(S) ** -0.25
    U = np.linalg.eigh(S * np.outer(s, s))[1][:, -2:]
    single = Population(MOVING, 2)
    (found,) = fitted_risks(single, rows / np.sqrt(single.unit), [candidate])
    assert found == pytest.approx(np.sum(MOVING * (single.projector - U @ U.T)), rel=1e-9)


def test_factor_covariance_keeps_variances_and_takes_noise_from_eigenvalues():
    p, n, tops, plain = 200, 50, [], []
    u = np.ones((p, 1)) / np.sqrt(p)
    for seed in range(20):
        rows = draw_rows(10 * u @ u.T + np.eye(p), n, random_state=seed)
        S = rows.T @ rows / n
        F = factor_covariance(S, 1, n)
        np.testing.assert_allclose(np.diag(F), np.diag(S))
        assert np.linalg.eigvalsh(F)[0] > 0
        tops.append(np.linalg.eigvalsh(F)[-1])
        plain.append(np.linalg.eigvalsh(S)[-1])
    # The bias of S is 4.4 in theory; the standard error of both means is 0.5.
    assert np.mean(plain) > 11 + 3
    assert abs(np.mean(tops) - 11) < 1.5


def test_noise_is_taken_from_eigenvalues_exactly_as_it_came():
    population = np.array([9.0, 5.0, 3.5])
    sample = population + 0.8 * 1.5 * population / (population - 1.5)
    np.testing.assert_allclose(_without_noise(sample, 1.5, 0.8), population)
    edge = 1.5 * (1 + np.sqrt(0.8)) ** 2
    at_edge, below = _without_noise(np.array([edge * (1 + 1e-12), edge * (1 - 1e-12)]), 1.5, 0.8)
    np.testing.assert_allclose([at_edge, below], 1.5 * (1 + np.sqrt(0.8)), rtol=1e-5)


def test_the_blend_tends_to_s_with_more_rows_and_to_the_factors_without_structure():
    ar = 0.8 ** np.abs(np.subtract.outer(np.arange(15), np.arange(15)))
    rows = draw_rows(ar, 5000, random_state=0)
    S = rows.T @ rows / 5000
    assert np.linalg.norm(blended_covariance(S, 2, 5000) - S) < 0.1 * np.linalg.norm(
        factor_covariance(S, 2, 5000) - S
    )
    noise = draw_rows(np.eye(15) + 2 * np.ones((15, 15)), 40, random_state=0)
    S = noise.T @ noise / 40
    F = factor_covariance(S, 1, 40)
    assert np.linalg.norm(blended_covariance(S, 1, 40) - F) < 0.2 * np.linalg.norm(S - F)


@pytest.mark.parametrize("degrees", [6.0, 12.0])
def test_tails_of_a_student_t_are_found(degrees):
    covariance = np.eye(40) + 0.1
    estimates = [
        tail_law(draw_rows(covariance, 400, law=StudentT(degrees), random_state=seed)).degrees_of_freedom
        for seed in range(10)
    ]
    assert 0.8 * degrees < np.median(estimates) < 1.25 * degrees


def test_light_tails_are_gaussian_and_the_heaviest_have_fourth_moments():
    covariance = np.eye(40)
    assert isinstance(tail_law(np.sign(draw_rows(covariance, 50, random_state=0))), Gaussian)
    assert tail_law(draw_rows(covariance, 200, law=StudentT(1), random_state=0)) == StudentT(5.0)
