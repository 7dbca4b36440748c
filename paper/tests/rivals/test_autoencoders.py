"""The linear autoencoders: closed forms against masks, random maps and the balanced population."""

import itertools

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.optimize import minimize
from tests.helpers import covariance, each, exact_components, sine, spiked_rows

from attenua._data.rows import HostRows
from attenua_paper.rivals import AsymmetricAutoencoder, TiedAutoencoder
from attenua_paper.rivals.autoencoder import AsymmetricRule
from attenua_paper.rivals.tied_autoencoder import TiedLosses
from attenua_paper.theory import map_risk, masked_map_loss


def rows_with_covariance(S):
    values, vectors = np.linalg.eigh(S)
    root = np.sqrt(len(S) * np.maximum(values, 0))[:, None] * vectors.T
    return np.concatenate([root, -root])


def balanced(p=8, tau=2.0, seed=0):
    """A covariance with equal variances: a circulant."""
    lags = np.minimum(np.arange(p), p - np.arange(p))
    S = tau * 0.7 ** lags[(np.arange(p)[:, None] - np.arange(p)) % p]
    # The circulant has double eigenvalues; a sign pattern that keeps the diagonal splits them.
    signs = np.random.default_rng(seed).standard_normal((p, p))
    split = 0.05 * (signs + signs.T)
    np.fill_diagonal(split, 0)
    return S + split


# --- Asymmetric -------------------------------------------------------------------------------------------


@each("shape, m", [((60, 8), 0.1), ((6, 8), 0.5), ((60, 8), 0.9)])
def test_asymmetric_map_is_the_papers_formula(shape, m):
    X = spiked_rows(*shape)
    S = covariance(X)
    V = (1 - m) * S + m * np.diag(np.diag(S))
    root = np.linalg.inv(sqrtm(V).real)
    left, values, right = np.linalg.svd(S @ root)
    expected = (left[:, :3] * values[:3]) @ right[:3] @ root
    model = AsymmetricAutoencoder(3, mask_rate=m).fit(X)
    np.testing.assert_allclose(model.map_, expected, atol=1e-7)
    np.testing.assert_allclose(model.decoder_.T @ model.encoder_, model.map_)
    leading = np.linalg.eigh(S @ np.linalg.inv(V) @ S)[1][:, -3:].T
    assert sine(model.components_, leading) < 1e-6
    P = model.components_.T @ model.components_
    np.testing.assert_allclose(P @ model.map_, model.map_, atol=1e-10)


@pytest.mark.slow
@each("m", [0.2, 0.8])
def test_asymmetric_map_beats_thousands_of_maps(m):
    X = spiked_rows(30, 6)
    S, rng = covariance(X), np.random.default_rng(0)
    A = AsymmetricAutoencoder(2, mask_rate=m).fit(X).map_
    best = masked_map_loss(A, S, m)
    L, R = np.linalg.svd(A)[0][:, :2], np.linalg.svd(A)[0][:, :2].T @ A
    assert np.linalg.norm(L @ R - A) < 1e-10
    for k in range(2000):
        # Far away, and ever closer to the solution.
        size = 10.0 ** -(k % 6)
        other = (L + size * rng.standard_normal((6, 2))) @ (R + size * rng.standard_normal((2, 6)))
        assert masked_map_loss(other, S, m) > best
        free = rng.standard_normal((6, 2)) @ rng.standard_normal((2, 6))
        # The best multiple of a random map, so that its size is no excuse.
        scale = (masked_map_loss(-free, S, m) - masked_map_loss(free, S, m)) / (
            2 * (masked_map_loss(free, S, m) + masked_map_loss(-free, S, m) - 2 * np.trace(S))
        )
        assert masked_map_loss(scale * free, S, m) > best


@each("m", [0.2, 0.6])
def test_asymmetric_map_of_a_balanced_population(m):
    S, d, q = balanced(), 3, 1 - m
    tau = S[0, 0]
    assert np.ptp(np.diag(S)) == 0
    values, vectors = np.linalg.eigh(S)
    values, vectors = values[::-1][:d], vectors[:, ::-1][:, :d]
    model = AsymmetricAutoencoder(d, mask_rate=m).fit(rows_with_covariance(S))
    expected = (vectors * (values / (q * values + m * tau))) @ vectors.T
    np.testing.assert_allclose(model.map_, expected, atol=1e-8)
    excess = np.sum(values * (m * (tau - values) / (q * values + m * tau)) ** 2)
    P = vectors @ vectors.T
    assert model.map_risk(S) - map_risk(P, S) == pytest.approx(excess, rel=1e-8)
    assert map_risk(P, S) == pytest.approx(np.trace(S) - values.sum())


def test_the_range_is_a_rule_like_any_other():
    X = spiked_rows(40, 8)
    rates = np.array([0.25, 0.75])
    for i, subspace in AsymmetricRule(rates).subspaces(HostRows(X).moments(), 2):
        model = AsymmetricAutoencoder(2, mask_rate=rates[i]).fit(X)
        assert sine(subspace.basis.T, model.components_) < 1e-8


# --- Tied -------------------------------------------------------------------------------------------------


def slow_tied(S, m, d, seed):
    """The best B B' over all matrices B, with a general-purpose solver."""

    def loss(b):
        B = b.reshape(len(S), d)
        return masked_map_loss(B @ B.T, S, m)

    start = np.random.default_rng(seed).standard_normal(len(S) * d)
    return minimize(loss, start, method="BFGS", options={"gtol": 1e-8, "maxiter": 2000}).fun


@pytest.mark.slow
@each("m, d", [(0.2, 2), (0.5, 4), (0.9, 1), (0.9, 2)])
def test_tied_map_against_a_general_solver(m, d):
    X = spiked_rows(25, 5, seed=2)
    S = covariance(X)
    model = TiedAutoencoder(d, mask_rate=m).fit(X)
    slow = min(slow_tied(S, m, d, seed) for seed in range(3))
    assert masked_map_loss(model.map_, S, m) <= slow * (1 + 1e-7)
    np.testing.assert_allclose(model.map_, model.map_.T, atol=1e-12)
    # Never below the bound that a map without the tie attains.
    bound = masked_map_loss(AsymmetricAutoencoder(d, mask_rate=m).fit(X).map_, S, m)
    assert masked_map_loss(model.map_, S, m) >= bound * (1 - 1e-12)


def test_gains_are_the_papers_and_the_best():
    X = spiked_rows(40, 8)
    S, m = covariance(X), 0.4
    V = (1 - m) * S + m * np.diag(np.diag(S))
    model = TiedAutoencoder(3, mask_rate=m).fit(X)
    U = model.components_
    np.testing.assert_allclose(model.gains_, np.diag(U @ S @ U.T) / np.diag(U @ V @ U.T), rtol=1e-10)
    np.testing.assert_allclose(model.map_, (U.T * model.gains_) @ U, atol=1e-12)
    best = masked_map_loss(model.map_, S, m)
    for r, change in itertools.product(range(3), (-0.01, 0.01)):
        gains = model.gains_.copy()
        gains[r] += change
        assert masked_map_loss((U.T * gains) @ U, S, m) > best


@each("m, seed", [(0.1, 0), (0.5, 1), (0.5, 2), (0.9, 3), (0.9, 4)])
def test_tied_directions_are_never_worse_than_those_of_pca(m, seed):
    X = spiked_rows(15, 10, seed=seed)
    S = covariance(X)
    V = (1 - m) * S + m * np.diag(np.diag(S))
    U = exact_components(S, 0, 3)
    gains = np.diag(U @ S @ U.T) / np.diag(U @ V @ U.T)
    model = TiedAutoencoder(3, mask_rate=m).fit(X)
    assert model.converged_
    assert masked_map_loss(model.map_, S, m) <= masked_map_loss((U.T * gains) @ U, S, m) * (1 + 1e-12)


def test_tied_gradient_against_finite_differences():
    S, h = covariance(spiked_rows(20, 6)), 1e-6
    losses, which = TiedLosses(S, 0.3), np.array([0])
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 2)))[0]
    numeric = np.empty_like(U)
    for i, j in itertools.product(range(6), range(2)):
        step = np.zeros_like(U)
        step[i, j] = h
        up, down = (losses.value_and_gradient(W[None], which)[0][0] for W in (U + step, U - step))
        numeric[i, j] = (up - down) / (2 * h)
    gradient = losses.value_and_gradient(U[None], which)[1][0]
    np.testing.assert_allclose(gradient, numeric, atol=1e-7 * np.abs(gradient).max())


@each("m", [0.2, 0.6])
def test_tied_map_of_a_balanced_population_is_the_asymmetric_one(m):
    # With equal variances S and V commute, and the best map of all is symmetric already.
    X = rows_with_covariance(balanced())
    tied, free = TiedAutoencoder(3, mask_rate=m).fit(X), AsymmetricAutoencoder(3, mask_rate=m).fit(X)
    np.testing.assert_allclose(tied.map_, free.map_, atol=1e-5)


# --- Both as estimators -----------------------------------------------------------------------------------


@each("model", [AsymmetricAutoencoder(3, mask_rate=0.3), TiedAutoencoder(3, mask_rate=0.3)])
def test_encode_decode_predict_and_errors(model):
    X, held = spiked_rows(50, 8), spiked_rows(20, 8, seed=1)
    model.fit(X)
    expected = model.mean_ + (held - model.mean_) @ model.map_.T
    np.testing.assert_allclose(model.predict(held), expected, atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(model.transform(held)), expected, atol=1e-10)
    errors = model.reconstruction_error(held)
    np.testing.assert_allclose(errors, np.sum((held - expected) ** 2, axis=1), rtol=1e-9)
    # On the fitting rows the mean error is the clean map risk of their covariance.
    assert model.reconstruction_error(X).mean() == pytest.approx(model.map_risk(covariance(X)), rel=1e-10)
    assert np.linalg.matrix_rank(model.map_) == 3
    # No projector: reconstructing twice is not reconstructing once.
    assert np.linalg.norm(model.map_ @ model.map_ - model.map_) > 1e-3


def test_more_components_than_columns_that_vary():
    X = np.zeros((20, 6))
    X[:, [1, 4]] = spiked_rows(20, 2)
    for model in (AsymmetricAutoencoder(4), TiedAutoencoder(4)):
        model.fit(X)
        np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-9)
        assert np.linalg.matrix_rank(model.map_) == 2
        np.testing.assert_allclose(model.predict(X)[:, [0, 2, 3, 5]], 0, atol=1e-12)
