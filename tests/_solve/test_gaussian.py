"""The Gaussian law of a covariance against scipy's, in both forms."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from attenua._data.rows import HostRows
from attenua._solve.gaussian import Formed, OfFewRows, gaussian, positive_definite
from tests.helpers import spiked_rows


@pytest.mark.parametrize(("shape", "form"), [((20, 6), Formed), ((8, 600), OfFewRows)])
def test_distances_and_determinant(shape, form):
    X, rng = spiked_rows(*shape), np.random.default_rng(0)
    T, d = HostRows(X).moments(), rng.uniform(0.5, 2.0, shape[1])
    S = np.cov(X.T, bias=True) / T.unit**2
    law = gaussian(T, 0.7, d)
    assert isinstance(law, form)
    Z = rng.standard_normal((5, shape[1]))
    density = multivariate_normal(np.zeros(shape[1]), 0.7 * S + np.diag(d))
    log_likelihood = -0.5 * (law.squares(Z) + law.log_det + shape[1] * np.log(2 * np.pi))
    np.testing.assert_allclose(log_likelihood, density.logpdf(Z), rtol=1e-10)


@pytest.mark.parametrize("least", [-0.3, 0.0, 1e-20])
def test_what_is_not_positive_definite_is_lifted(least):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    matrix = (Q * [least, 1, 2, 3, 4]) @ Q.T
    found, factor = positive_definite(matrix)
    np.testing.assert_allclose(factor @ factor.T, found, atol=1e-12)
    values = np.linalg.eigvalsh(found)
    assert values[0] == pytest.approx(1e-6 * np.trace(matrix) / 5, rel=1e-6)
    np.testing.assert_allclose(np.diff(values), np.diff([least, 1, 2, 3, 4]), atol=1e-8)


def test_what_is_positive_definite_is_left_alone_whatever_the_units():
    matrix = np.diag([1e-20, 1.0, 1e20])
    assert positive_definite(matrix)[0] is matrix
