import numpy as np
import pytest
from sklearn.decomposition import PCA

from attenua_paper.studies.gain import best_affine_risk, excess_risk_removed, mean_and_error


def test_reference_is_the_error_of_pca_on_the_test_rows():
    X = np.random.default_rng(0).standard_normal((50, 6)) @ np.diag([3, 2, 1, 1, 1, 1])
    pca = PCA(2).fit(X)
    error = np.mean(np.sum((X - pca.inverse_transform(pca.transform(X))) ** 2, axis=1))
    assert best_affine_risk(X, 2) == pytest.approx(error)


def test_gain():
    assert excess_risk_removed(10.0, 9.0, 8.0) == 50
    assert mean_and_error(np.array([1.0, 3.0])) == pytest.approx((2.0, 1.0))
