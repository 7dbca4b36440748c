"""Correlation PCA, HeteroPCA, diagonal shrinkage and factor analysis, each against its definition."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.base import clone
from sklearn.decomposition import PCA, FactorAnalysis
from tests.helpers import covariance, each, leading, sine, spiked_rows

from attenua import AttenuatedPCA
from attenua._data.rows import HostRows
from attenua._data.splits import SplitMoments
from attenua._select.comparison import cross_validate
from attenua_paper.rivals import (
    AsymmetricAutoencoder,
    CorrelationPCA,
    DiagonalShrinkagePCA,
    FactorAnalysisPCA,
    HeteroPCA,
    hetero,
    shrinkage_intensity,
)
from attenua_paper.rivals.autoencoder import AsymmetricRule
from attenua_paper.rivals.correlation import CorrelationRule
from attenua_paper.rivals.diagonal_shrinkage import ShrinkageRule
from attenua_paper.rivals.factor_analysis import FactorAnalysisRule
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


@each(
    "rule, model",
    [
        (CorrelationRule(), CorrelationPCA(2)),
        (HeteroRule(), HeteroPCA(2)),
        (FactorAnalysisRule(), FactorAnalysisPCA(2)),
        (ShrinkageRule(np.array([0.4])), DiagonalShrinkagePCA(2, intensity=0.4)),
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


# --- Shrinkage toward the diagonal ------------------------------------------------------------------------


def slow_intensity(X):
    """Schaefer and Strimmer's formula, pair by pair."""
    n, p = X.shape
    C = X - X.mean(axis=0)
    numerator = denominator = 0.0
    for i in range(p):
        for j in range(p):
            if i != j:
                w = C[:, i] * C[:, j]
                numerator += n / (n - 1) ** 3 * np.sum((w - w.mean()) ** 2)
                denominator += (n / (n - 1) * w.mean()) ** 2
    return min(1.0, numerator / denominator)


@each(
    "shape, container",
    [((200, 6), sp.csr_array), ((15, 30), np.asarray), ((25, 600), sp.csr_array), ((700, 600), np.asarray)],
)
def test_intensity_against_the_formula_pair_by_pair(shape, container):
    n, p = shape
    X = spiked_rows(n, p, rank=1, seed=1)
    X[:, 6:] = 0.0  # keeps the slow version short; columns without variance add nothing
    assert shrinkage_intensity(container(X)) == pytest.approx(slow_intensity(X[:, :6]), rel=1e-8)


def test_intensity_of_frequencies_is_that_of_repeated_rows():
    X = spiked_rows(20, 6)
    w = np.random.default_rng(0).integers(1, 4, 20)
    weighted = shrinkage_intensity(X, w)
    assert weighted == pytest.approx(slow_intensity(np.repeat(X, w, axis=0)), rel=1e-10)


def test_intensity_is_one_where_nothing_is_correlated():
    # A full factorial design: every pair of columns is exactly uncorrelated but for one small nudge.
    design = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    design[0, 0] += 0.01
    assert slow_intensity(design) == 1.0
    assert shrinkage_intensity(design) == 1.0
    assert shrinkage_intensity(np.ones((5, 4))) == 1.0


@each(
    "shape, intensity",
    [
        ("tall", "auto"),
        ("wide", "auto"),
        ("very wide", "auto"),
        ("tall", 0.0),
        ("wide", 0.3),
        ("very wide", 0.9),
    ],
)
def test_shrinkage_against_lapack(shape, intensity):
    X = spiked_rows(*SHAPES[shape])
    S = covariance(X)
    model = DiagonalShrinkagePCA(3, intensity=intensity).fit(X)
    weight = slow_intensity(X) if intensity == "auto" and X.shape[1] <= 80 else model.intensity_
    assert model.intensity_ == pytest.approx(weight, rel=1e-9)
    T = (1 - weight) * S + weight * np.diag(np.diag(S))
    values = np.linalg.eigvalsh(T)[::-1]
    shortfall = values[:3].sum() - np.trace(model.components_ @ T @ model.components_.T)
    assert shortfall <= (model.shortfall_ + 1e-13) * np.trace(S)
    assert model.shortfall_ <= 1e-8
    # The shortfall of a subspace is at least its squared sines times the gap.
    allowed = np.sqrt(model.shortfall_ * np.trace(S) / (values[2] - values[3]))
    assert sine(model.components_, leading(T, 3)) < max(allowed, 1e-6)


# --- Factor analysis --------------------------------------------------------------------------------------


@each("shape, tol", [((200, 12), 1e-5), ((60, 80), 1e-2)])
def test_factor_analysis_is_scikit_learns(shape, tol):
    X = spiked_rows(*shape, rank=2, seed=3)
    theirs = FactorAnalysis(2, svd_method="lapack", tol=tol).fit(X)
    ours = FactorAnalysisPCA(2, tol=tol).fit(X)
    assert ours.n_iter_ == theirs.n_iter_
    assert sine(ours.components_, np.linalg.qr(theirs.components_.T)[0].T) < 1e-6


def test_factor_analysis_fits_the_likelihood_equations():
    # At a maximum, Psi^{-1/2} S Psi^{-1/2} has the whitened loadings as leading eigenvectors (Lawley).
    X = spiked_rows(400, 8, rank=2, seed=3)
    S = covariance(X)
    model = FactorAnalysisPCA(2, tol=1e-10, max_iter=20_000).fit(X)
    psi = FactorAnalysis(2, svd_method="lapack", tol=1e-10, max_iter=20_000).fit(X).noise_variance_
    scaled = S / np.sqrt(np.outer(psi, psi))
    leading = np.linalg.eigh(scaled)[1][:, -2:]
    span = np.linalg.qr(np.sqrt(psi)[:, None] * leading)[0].T
    assert sine(model.components_, span) < 1e-4


def test_hetero_where_arpack_does_not_converge(monkeypatch):
    monkeypatch.setattr(hetero, "_WHOLE_SPECTRUM", 10)
    X = spiked_rows(300, 120)
    expected = HeteroPCA(3).fit(X)

    def gives_up(*args, **kwargs):
        raise ArpackNoConvergence("no convergence", np.empty(0), np.empty((0, 0)))

    monkeypatch.setattr(hetero, "eigsh", gives_up)
    found = HeteroPCA(3).fit(X)
    assert sine(found.components_, expected.components_) < 1e-6
