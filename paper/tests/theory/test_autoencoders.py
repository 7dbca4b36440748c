"""Linear autoencoder theory, against enumerated masks and general optimisers."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.helpers import each

from attenua_paper.theory import (
    Population,
    asymmetric_map,
    balanced_gains,
    balanced_map_excess_risk,
    map_risk,
    masked_map_loss,
    tied_gains,
    tied_objective,
)
from paper.tests.theory.designs import balanced, leading_projector, moving, random_orthogonal


def loss_over_all_masks(S, A, mask_rate):
    root, total = np.linalg.cholesky(S), 0.0
    for kept in itertools.product([0, 1], repeat=len(S)):
        probability = (1 - mask_rate) ** sum(kept) * mask_rate ** (len(S) - sum(kept))
        total += probability * np.sum(((np.eye(len(S)) - A @ np.diag(kept)) @ root) ** 2)
    return total


def test_loss_by_enumerating_every_mask():
    S, A = moving(0), np.random.default_rng(0).standard_normal((5, 5))
    for m in (0.2, 0.7):
        assert masked_map_loss(A, S, m) == pytest.approx(loss_over_all_masks(S, A, m), rel=1e-12)


def test_asymmetric_map_is_the_best_of_its_rank():
    S, m = moving(0), 0.4
    decoder, encoder = asymmetric_map(S, 2, m)
    best = decoder @ encoder.T
    # Eq. untied-ae-projector-form, with explicit inverses.
    right = S @ np.linalg.inv((1 - m) * S + m * np.diag(np.diag(S)))
    np.testing.assert_allclose(best, leading_projector(right @ S, 2) @ right, atol=1e-12)

    def loss(flat):
        L, R = flat.reshape(2, 5, 2)
        return masked_map_loss(L @ R.T, S, m)

    searched = [
        minimize(loss, np.random.default_rng(seed).standard_normal(20) / 2, method="BFGS").fun
        for seed in range(4)
    ]
    assert masked_map_loss(best, S, m) == pytest.approx(min(searched), abs=1e-6)
    assert masked_map_loss(best, S, m) <= min(searched) + 1e-9


def test_a_column_without_variance_is_left_out():
    S = np.insert(np.insert(moving(0), 2, 0, axis=0), 2, 0, axis=1)
    decoder, encoder = asymmetric_map(S, 2, 0.4)
    found = decoder @ encoder.T
    np.testing.assert_allclose([found[2], found[:, 2]], 0, atol=1e-15)
    decoder, encoder = asymmetric_map(moving(0), 2, 0.4)
    kept = np.delete(np.delete(found, 2, axis=0), 2, axis=1)
    np.testing.assert_allclose(kept, decoder @ encoder.T, atol=1e-12)


def test_tied_gains_and_objective():
    S, m = moving(0), 0.4
    U = random_orthogonal(np.random.default_rng(1), 5)[:, :2]
    gains = tied_gains(U, S, m)

    def loss(gains):
        return masked_map_loss((U * gains) @ U.T, S, m)

    searched = minimize(loss, [1.0, 1.0])
    np.testing.assert_allclose(gains, searched.x, atol=1e-5)
    assert loss(gains) == pytest.approx(np.trace(S) - (1 - m) * tied_objective(U, S, m), rel=1e-12)


@each("mask_rate", [0.1, 0.6])
def test_balanced_specialisation(mask_rate):
    S = balanced(0)
    population = Population(S, 2)
    decoder, encoder = asymmetric_map(S, 2, mask_rate)
    A, U = decoder @ encoder.T, population.eigenvectors[:, :2]
    np.testing.assert_allclose(A, (U * balanced_gains(population, mask_rate)) @ U.T, atol=1e-12)
    residual, best = np.eye(5) - A, population.eigenvalues[2:].sum()
    excess = np.trace(residual @ S @ residual.T) - best
    assert balanced_map_excess_risk(population, mask_rate) == pytest.approx(excess, rel=1e-9)
    assert map_risk(A, S) - best == pytest.approx(excess, rel=1e-9)
    assert excess > 0
    assert map_risk(population.projector, S) == pytest.approx(best, rel=1e-12)


def test_what_is_refused():
    with pytest.raises(ValueError, match="balanced marginals"):
        balanced_gains(Population(moving(0), 2), 0.3)
    with pytest.raises(ValueError, match=r"A must have the shape of covariance, \(5, 5\); got \(4, 4\)"):
        map_risk(np.eye(4), moving(0))
    with pytest.raises(ValueError, match="covariance must be a square matrix"):
        map_risk(np.eye(3), np.ones((3, 2)))
    with pytest.raises(ValueError, match="A must be a matrix of real numbers"):
        masked_map_loss(np.eye(5) + 0.5j, moving(0), 0.5)
    with pytest.raises(ValueError, match="mask_rate must be a number strictly between 0 and 1"):
        asymmetric_map(moving(0), 2, 0.0)
