"""Correlation PCA and HeteroPCA, each against its definition."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.base import clone
from sklearn.decomposition import PCA
from tests.helpers import covariance, each, sine, spiked_rows

from attenua import AttenuatedPCA
from attenua._data.rows import HostRows
from attenua._data.splits import SplitMoments
from attenua._select.comparison import cross_validate
from attenua_paper.rivals import (
    AsymmetricAutoencoder,
    CorrelationPCA,
    HeteroPCA,
    hetero,
)
from attenua_paper.rivals.autoencoder import AsymmetricRule
from attenua_paper.rivals.correlation import CorrelationRule
from attenua_paper.rivals.hetero import HeteroRule

SHAPES = {"tall": (200, 12), "wide": (30, 80), "very wide": (25, 520)}


def rows_with_covariance(S):
    """Two rows for every eigenvector: mean zero and exactly this covariance."""
    values, vectors = np.linalg.eigh(S)
    root = np.sqrt(len(S) * np.maximum(values, 0))[:, None] * vectors.T
    return np.concatenate([root, -root])


# --- Correlation PCA --------------------------------------------------------------------------------------


@each("shape", SHAPES)
def test_correlation_pca_is_where_pca_of_standardised_rows_reconstructs(shape):
    X = spiked_rows(*SHAPES[shape]) * np.linspace(1, 10, SHAPES[shape][1])
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    pca = PCA(3, svd_solver="full").fit(standard)
    reconstructed = pca.inverse_transform(pca.transform(standard)) * X.std(axis=0)
    span = np.linalg.svd(reconstructed)[2][:3]
    assert sine(CorrelationPCA(3).fit(X).components_, span) < 1e-6


@each("p", [12, 520])
def test_correlation_pca_of_more_components_than_columns_that_vary(p):
    X = np.zeros((20, p))
    X[:, [1, 4]] = spiked_rows(20, 2)
    with pytest.warns(UserWarning, match="falls on a tie"):
        model = CorrelationPCA(3).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-9)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-9)


def test_correlation_pca_does_not_change_with_the_scale_of_a_column():
    X = spiked_rows(60, 8)
    scale = np.geomspace(1e-3, 1e3, 8)
    plain, scaled = CorrelationPCA(2).fit(X), CorrelationPCA(2).fit(X * scale)
    span = np.linalg.qr((plain.components_ * scale).T)[0].T
    assert sine(scaled.components_, span) < 1e-8


# --- HeteroPCA --------------------------------------------------------------------------------------------


def slow_hetero(S, rank, iterations):
    """The algorithm of Zhang, Cai and Wu, with a full singular value decomposition."""
    N = S - np.diag(np.diag(S))
    for _ in range(iterations):
        left, values, right = np.linalg.svd(N)
        truncated = (left[:, :rank] * values[:rank]) @ right[:rank]
        np.fill_diagonal(N, np.diag(truncated))
    return np.linalg.svd(N)[0][:, :rank].T


@each("p, rank", [(12, 2), (90, 3), (150, 3), (150, 60)])
def test_hetero_against_the_slow_algorithm(p, rank):
    S = covariance(spiked_rows(60, p, rank=3, seed=4))
    for iterations in (1, 2, 5):
        ((_, found),) = HeteroRule(max_iter=iterations).subspaces(
            HostRows(rows_with_covariance(S)).moments(), rank
        )
        assert found.convergence.n_iter == iterations
        assert sine(found.basis.T, slow_hetero(S, rank, iterations)) < 1e-6


@pytest.mark.slow
def test_hetero_through_products_with_rows(monkeypatch):
    X = spiked_rows(40, 520, rank=2)
    model = HeteroPCA(2).fit(X)
    assert model.converged_
    assert sine(model.components_, slow_hetero(covariance(X), 2, model.n_iter_)) < 1e-6
    sparse = HeteroPCA(2).fit(sp.csr_array(X))
    assert sine(model.components_, sparse.components_) < 1e-6
    monkeypatch.setattr(hetero, "_WHOLE_SPECTRUM", 1000)
    whole = HeteroPCA(2).fit(X)
    assert whole.n_iter_ == model.n_iter_
    assert sine(model.components_, whole.components_) < 1e-8


@pytest.mark.slow
def test_hetero_with_much_of_the_spectrum_forms_the_covariance():
    X = spiked_rows(520, 515, rank=3)
    ((_, found),) = HeteroRule(max_iter=1).subspaces(HostRows(sp.csr_array(X)).moments(), 200)
    assert sine(found.basis.T, slow_hetero(covariance(X), 200, 1)) < 1e-6
    wide = sp.random(2000, 5001, density=0.001, random_state=0, format="csr")
    with pytest.raises(ValueError, match="formed for up to 5000 columns; X has 5001"):
        HeteroPCA(1500).fit(wide)


def test_hetero_recovers_a_planted_subspace_that_pca_misses():
    rng = np.random.default_rng(0)
    p, rank = 40, 2
    U = np.linalg.qr(rng.standard_normal((p, rank)))[0]
    noise = np.zeros(p)
    noise[:3] = 30.0  # above the signal, so PCA takes these columns instead
    S = (U * [10.0, 8.0]) @ U.T + np.diag(noise)
    model = HeteroPCA(rank).fit(rows_with_covariance(S))
    assert model.converged_
    assert sine(model.components_, U.T) < 1e-4
    assert sine(AttenuatedPCA(rank, alpha=0).fit(rows_with_covariance(S)).components_, U.T) > 0.9


def test_hetero_ranks_by_magnitude():
    # The hollowed matrix has its largest eigenvalue in magnitude below zero.
    S = np.full((6, 6), -0.19)
    np.fill_diagonal(S, 1.0)
    S[0, 1] = S[1, 0] = 0.3
    hollow = S - np.diag(np.diag(S))
    values, vectors = np.linalg.eigh(hollow)
    assert -values[0] > values[-1]
    ((_, found),) = HeteroRule(max_iter=1).subspaces(HostRows(rows_with_covariance(S)).moments(), 1)
    assert sine(found.basis.T, slow_hetero(S, 1, 1)) < 1e-8
    assert sine(slow_hetero(S, 1, 1), vectors[:, -1:].T) > 0.5


def test_hetero_where_arpack_does_not_converge(monkeypatch):
    monkeypatch.setattr(hetero, "_WHOLE_SPECTRUM", 10)
    X = spiked_rows(300, 120)
    expected = HeteroPCA(3).fit(X)

    def gives_up(*args, **kwargs):
        raise ArpackNoConvergence("no convergence", np.empty(0), np.empty((0, 0)))

    monkeypatch.setattr(hetero, "eigsh", gives_up)
    found = HeteroPCA(3).fit(X)
    assert sine(found.components_, expected.components_) < 1e-6


# --- All of them ------------------------------------------------------------------------------------------


@each(
    "rule, model",
    [
        (CorrelationRule(), CorrelationPCA(2)),
        (HeteroRule(), HeteroPCA(2)),
        (AsymmetricRule(np.array([0.4])), AsymmetricAutoencoder(2, mask_rate=0.4)),
    ],
)
def test_a_rival_can_be_cross_validated_like_attenuation(rule, model):
    X = spiked_rows(40, 8)
    splits = [(np.arange(10, 40), np.arange(10)), (np.arange(30), np.arange(30, 40))]
    result = cross_validate(SplitMoments(HostRows(X), splits), rule, 2)
    for risk, (train, held) in zip(result.risk_folds[:, 0], splits, strict=True):
        ((_, subspace),) = rule.subspaces(HostRows(X[train]).moments(), 2)
        centred = X[held] - X[train].mean(axis=0)
        residual = centred - centred @ subspace.basis @ subspace.basis.T
        assert risk == pytest.approx(np.mean(np.sum(residual**2, axis=1)), rel=1e-9)
        if not isinstance(model, AsymmetricAutoencoder):  # its error is that of the map, not of its range
            errors = clone(model).fit(X[train]).reconstruction_error(X[held])
            assert risk == pytest.approx(errors.mean(), rel=1e-6)
