"""Functional PCA tuned by folds: its smoothing, its coordinates and its choice."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from attenua_evidence import tuned_curves as module
from attenua_evidence.methods import Rows
from attenua_evidence.tuned_curves import roughness, tuned_curves

from .sets import spiked


def test_roughness_is_zero_for_what_is_smooth():
    x = np.arange(7.0)
    np.testing.assert_allclose(roughness(7, "line") @ (3 + 2 * x), 0, atol=1e-12)
    assert x**2 @ roughness(7, "line") @ x**2 == pytest.approx(5 * 2**2)
    # In a grid of 2 x 3 only constants are; a corner differs from its two neighbours.
    grid = roughness(6, (2, 3))
    np.testing.assert_allclose(grid @ np.ones(6), 0, atol=1e-12)
    corner = np.eye(6)[0]
    assert corner @ grid @ corner == 2**2 + 1 + 1
    line = np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1)
    np.testing.assert_allclose(roughness(6, line), roughness(6, (6,)))


def test_without_a_penalty_it_is_pca_and_with_one_pca_of_smoothed_rows(monkeypatch):
    rows = Rows(spiked(30, 9), None, "line")
    for penalty in (0.0, 5.0):
        monkeypatch.setattr(module, "PENALTIES", (penalty,))
        found = tuned_curves(rows, 2)
        smoothed = np.linalg.solve(np.eye(9) + penalty * roughness(9, "line"), rows.X.T).T
        expected = PCA(2).fit(smoothed)
        np.testing.assert_allclose(
            found.components.T @ found.components, expected.components_.T @ expected.components_, atol=1e-10
        )
        np.testing.assert_allclose(found.mean, rows.X.mean(axis=0))


def test_it_chooses_by_held_out_rows():
    smooth = Rows(spiked(40, 60), None, "line")
    pca = PCA(3).fit(smooth.X)
    new = spiked(400, 60, seed=7)

    def error(mean, components):
        Z = new - mean
        return np.sum((Z - Z @ components.T @ components) ** 2)

    found = tuned_curves(smooth, 3)
    assert error(found.mean, found.components) < error(pca.mean_, pca.components_)
    # Columns in another order are not smooth, and nearly nothing is smoothed.
    mixed = smooth._replace(X=smooth.X[:, np.random.default_rng(0).permutation(60)])
    own = PCA(3).fit(mixed.X).components_
    overlap = np.sum((tuned_curves(mixed, 3).components @ own.T) ** 2) / 3
    assert overlap > 0.99
