"""Risk surfaces against the estimators."""

import numpy as np
import pytest

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua._data.folds import repeated_splits
from attenua.studies.gain import best_affine_risk, excess_risk_removed
from attenua.studies.hindsight import ALPHAS, HeldMoments
from research.surfaces import Surface, risk_surfaces
from tests.helpers import correlated_rows


@pytest.mark.slow
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
