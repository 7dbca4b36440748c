"""Risk surfaces against the estimators and against the definition of the two-strength family."""

import numpy as np
import pytest

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua.folds import repeated_splits
from attenua.studies.gain import best_affine_risk, excess_risk_removed
from attenua.studies.surfaces import (
    ALPHAS,
    TEMPERINGS,
    HeldMoments,
    Surface,
    risk_surfaces,
    subspaces,
)


def correlated_rows(n, p, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 4)) @ rng.standard_normal((4, p)) + rng.standard_normal(
        (n, p)
    ) * np.arange(1, p + 1)


@pytest.mark.parametrize("p", [9, 70])
def test_subspaces_are_those_of_the_definition(p):
    S = np.cov(correlated_rows(40, p).T)
    bases = subspaces(S, 3)
    s = np.sqrt(np.diag(S))
    for g in (0, 3, 8):
        t = s ** (1 - TEMPERINGS[g])
        R = S / np.outer(s, s)
        for a in (0, 10, 21):
            T = R * np.outer(t, t)
            T[np.diag_indices(p)] = (1 - ALPHAS[a]) * t**2
            U = np.linalg.eigh(T)[1][:, -3:]
            np.testing.assert_allclose(bases[g, a] @ bases[g, a].T, U @ U.T, atol=1e-6)


def test_a_constant_column_stays_out():
    X = correlated_rows(30, 6)
    X[:, 2] = 5.0
    bases = subspaces(np.cov(X.T), 2)
    np.testing.assert_allclose(bases[:, :, 2], 0, atol=1e-12)


@pytest.mark.parametrize("p", [9, 70])
def test_risks_at_no_tempering_are_those_of_the_estimators(p):
    X, X_test = correlated_rows(50, p), correlated_rows(200, p, seed=1)
    splits = repeated_splits(5, 50, None, 2)
    surfaces = risk_surfaces(X, (2, 4), splits, 5, HeldMoments.of(X_test))
    for rank, surface in zip((2, 4), surfaces, strict=True):
        model = AttenuatedPCACV(rank, cv=splits).fit(X)
        np.testing.assert_allclose(surface.held[:, :, 0].reshape(10, -1), model.cv_risk_folds_, rtol=1e-6)
        pca, strong = (-AttenuatedPCA(rank, alpha=alpha).fit(X).score(X_test) for alpha in (0.0, 1.0))
        np.testing.assert_allclose(surface.test[0, [0, -1]], [pca, strong])
        assert surface.reference == pytest.approx(best_affine_risk(X_test, rank))
        removed = excess_risk_removed(pca, strong, surface.reference)
        assert surface.gain[0, -1] == pytest.approx(removed)


def test_a_surface_is_stored_and_read(tmp_path):
    X = correlated_rows(40, 5)
    (surface,) = risk_surfaces(
        X, (2,), repeated_splits(4, 40, None, 1), 4, HeldMoments.of(X), np.array([0.0, 1.0])
    )
    surface.save(tmp_path / "one.npz")
    again = Surface.load(tmp_path / "one.npz")
    assert again.held.shape == (1, 4, 2, len(ALPHAS))
    np.testing.assert_array_equal(again.test, surface.test)
    np.testing.assert_array_equal(again.weights, surface.weights)
    assert again.reference == surface.reference
