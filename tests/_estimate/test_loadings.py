"""Loadings, against covariances computed from rows."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from tests.helpers import spiked_rows

X = spiked_rows(50, 6)
MODELS = [
    AttenuatedPCA(3, alpha=0.8),
    AttenuatedPCACV(3),
    CorrectedPCA(3, tempering=0.5, damping=0.3),
    CorrectedPCACV(3),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def cross_covariance(columns, scores):
    return np.cov(columns.T, scores.T)[: columns.shape[1], columns.shape[1] :]


@every_model
def test_loadings_are_covariances_of_reconstructed_columns_with_scores_of_unit_variance(model):
    scores = model.fit(X).transform(X)
    expected = cross_covariance(model.inverse_transform(scores), scores / scores.std(axis=0, ddof=1))
    assert model.loadings_.shape == (6, 3)
    np.testing.assert_allclose(model.loadings_, expected, atol=1e-10)


def test_loadings_of_pca_are_covariances_of_the_columns_themselves():
    scores = PCA(3).fit_transform(X)
    expected = cross_covariance(X, scores / scores.std(axis=0, ddof=1))
    found = AttenuatedPCA(3, alpha=0).fit(X).loadings_
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-10)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-10)


def test_all_loadings_give_back_the_covariance():
    found = AttenuatedPCA(alpha=0.5).fit(X).loadings_
    np.testing.assert_allclose(found @ found.T, np.cov(X.T), atol=1e-10)


def test_loadings_are_not_there_before_a_fit():
    assert not hasattr(AttenuatedPCACV(2), "loadings_")
