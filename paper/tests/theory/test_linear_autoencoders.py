"""Linear autoencoder theory, against enumerated masks and general optimisers."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.helpers import each

from attenua.theory import Population
from attenua_paper.theory import (
    asymmetric_map,
    balanced_gains,
    balanced_map_excess_risk,
    map_excess_risk,
    masked_map_loss,
    tied_gains,
    tied_objective,
)
from paper.tests.theory.populations import balanced, moving, random_orthogonal


def loss_over_all_masks(S, A, mask_rate):
    root, total = np.linalg.cholesky(S), 0.0
    for kept in itertools.product([0, 1], repeat=len(S)):
        probability = (1 - mask_rate) ** sum(kept) * mask_rate ** (len(S) - sum(kept))
        total += probability * np.sum(((np.eye(len(S)) - A @ np.diag(kept)) @ root) ** 2)
    return total


def test_loss_by_enumerating_every_mask():
    S = moving(0)
    A = np.random.default_rng(0).standard_normal((5, 5))
    for m in (0.2, 0.7):
        assert masked_map_loss(Population(S, 2), A, m) == pytest.approx(
            loss_over_all_masks(S, A, m), rel=1e-12
        )


def test_asymmetric_map_is_the_best_of_its_rank():
    S, m = moving(0), 0.4
    population = Population(S, 2)
    best = asymmetric_map(population, m)
    assert np.linalg.matrix_rank(best, tol=1e-9) == 2

    def loss(flat):
        L, R = flat.reshape(2, 5, 2)
        return masked_map_loss(population, L @ R.T, m)

    searched = [
        minimize(loss, np.random.default_rng(seed).standard_normal(20) / 2, method="BFGS").fun
        for seed in range(4)
    ]
    assert masked_map_loss(population, best, m) == pytest.approx(min(searched), abs=1e-6)
    assert masked_map_loss(population, best, m) <= min(searched) + 1e-9


def test_tied_gains_and_objective():
    S, m = moving(0), 0.4
    population = Population(S, 2)
    U = random_orthogonal(np.random.default_rng(1), 5)[:, :2]
    gains = tied_gains(population, U, m)

    def loss(gains):
        return masked_map_loss(population, (U * gains) @ U.T, m)

    searched = minimize(loss, [1.0, 1.0])
    np.testing.assert_allclose(gains, searched.x, atol=1e-5)
    assert loss(gains) == pytest.approx(np.trace(S) - (1 - m) * tied_objective(population, U, m), rel=1e-12)


@each("mask_rate", [0.1, 0.6])
def test_balanced_specialisation(mask_rate):
    S = balanced(0)
    population = Population(S, 2)
    A = asymmetric_map(population, mask_rate)
    U = population.eigenvectors[:, :2]
    np.testing.assert_allclose(A, (U * balanced_gains(population, mask_rate)) @ U.T, atol=1e-12)
    residual = np.eye(5) - A
    excess = np.trace(residual @ S @ residual.T) - population.eigenvalues[2:].sum()
    assert balanced_map_excess_risk(population, mask_rate) == pytest.approx(excess, rel=1e-9)
    assert map_excess_risk(population, A) == pytest.approx(excess, rel=1e-9)
    assert excess > 0
    assert map_excess_risk(population, population.projector) == pytest.approx(0, abs=1e-12)


def test_scale_and_refusals():
    S = balanced(0)
    one, other = Population(S, 2), Population(S * 1e100, 2)
    np.testing.assert_allclose(asymmetric_map(other, 0.3), asymmetric_map(one, 0.3), atol=1e-12)
    assert balanced_map_excess_risk(other, 0.3) / 1e100 == pytest.approx(balanced_map_excess_risk(one, 0.3))
    with pytest.raises(ValueError, match="balanced marginals"):
        balanced_gains(Population(moving(0), 2), 0.3)
    with pytest.raises(ValueError, match="A must be a finite 5 x 5 matrix"):
        map_excess_risk(one, np.eye(4))
    with pytest.raises(ValueError, match="orthonormal columns of length 5"):
        tied_gains(one, np.ones((5, 2)), 0.3)
    with pytest.raises(ValueError, match="variance 0"):
        asymmetric_map(Population(np.diag([2.0, 1.0, 0.0]), 1), 0.3)


def test_a_map_of_complex_numbers_is_refused():
    with pytest.raises(ValueError, match="A must"):
        masked_map_loss(Population(balanced(0), 1), np.eye(5) + 0.5j, 0.5)
