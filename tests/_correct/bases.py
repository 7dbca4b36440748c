"""Moments of all kinds that corrected moments are built on, and what is checked of them."""

import numpy as np
import scipy.sparse as sp

from attenua._correct.tempering import tempered
from attenua._data.row_moments import RowMoments
from attenua._data.rows import HostRows
from tests.helpers import uneven_rows

TALL, WIDE = uneven_rows(60, 24), uneven_rows(9, 40)


def sparse_rows(n, p):
    return sp.random(n, p, density=0.3, format="csr", random_state=0)


def kept(X, array=lambda values: values):
    """Moments that keep the rows, however few columns they have; as arrays of some library."""
    return RowMoments(array(X), array(np.ones(X.shape[0])), array(np.zeros(X.shape[1])))


BASES = {
    "scatter": lambda: HostRows(TALL).moments(),
    "scatter, scaled": lambda: tempered(HostRows(TALL).moments(), 0.6),
    "few rows": lambda: kept(WIDE),
    "few rows, scaled": lambda: tempered(kept(WIDE), 0.6),
    "few sparse rows": lambda: kept(sparse_rows(9, 40)),
    "rows": lambda: kept(TALL),
    "sparse rows": lambda: kept(sparse_rows(60, 24)),
    "sparse rows, scaled": lambda: tempered(kept(sparse_rows(60, 24)), 1.0),
}


def check_moments(moments, S, mean):
    """Check every product of moments against a dense covariance S."""
    p = len(S)
    V, W = np.random.default_rng(0).standard_normal((2, p, 3))
    tolerance = {"rtol": 1e-9, "atol": 1e-12 * np.abs(S).max()}
    np.testing.assert_allclose(moments.covariance, S, **tolerance)
    np.testing.assert_allclose(moments.variances, np.diag(S), **tolerance)
    np.testing.assert_allclose(moments.apply(V), S @ V, **tolerance)
    inner = moments.inner(V, moments.image(V), moments.image(W))
    np.testing.assert_allclose(inner, V.T @ S @ W, **tolerance)
    np.testing.assert_allclose(moments.compress(V), V.T @ S @ V, **tolerance)
    np.testing.assert_allclose(moments.part(None)(V), np.diag(S)[:, None] * V, **tolerance)
    np.testing.assert_allclose(moments.mean, mean)
    assert np.isclose(moments.total_variance, np.trace(S))
    assert moments.n_features == p
