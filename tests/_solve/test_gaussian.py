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


def test_mean_squares_along_vectors_given_the_seen_cells():
    """The mean square of a Gaussian row along u is that of its mean, and its variance, given the rest."""
    rng = np.random.default_rng(0)
    A, U, seen = rng.standard_normal((9, 6)), rng.standard_normal((6, 3)), rng.random((7, 6)) < 0.6
    seen[0], S, Z = True, A.T @ A, np.where(seen, rng.standard_normal((7, 6)), 0.0)
    for z, o, found in zip(Z, seen, Formed(S).squares_along(U, Z, seen), strict=True):
        mean, variance, m = z.copy(), np.zeros((6, 6)), ~o
        regression = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
        mean[m] = regression @ z[o]
        variance[np.ix_(m, m)] = S[np.ix_(m, m)] - regression @ S[np.ix_(o, m)]
        np.testing.assert_allclose(found, (mean @ U) ** 2 + np.diag(U.T @ variance @ U), rtol=1e-9)
