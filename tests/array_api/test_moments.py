"""Sums on a device: against numpy in double precision, and single precision where it is safe."""

import numpy as np
import pytest

from attenua.array_api import moments
from attenua.array_api.moments import ArrayRows
from attenua.array_api.namespace import namespace_of
from tests.helpers import covariance, spiked_rows


def rows_of(lib, X, weights=None):
    array = lib.array(X)
    return ArrayRows(namespace_of(array), array, None if weights is None else lib.array(weights))


@pytest.fixture
def few_are_many(monkeypatch):
    monkeypatch.setattr(moments, "SINGLE_PRECISION_ROWS", 1_000)
    monkeypatch.setattr(moments, "_PRODUCT_ROWS", 256)


@pytest.mark.parametrize("part", [None, slice(10, 90), slice(3, 120, 4), np.array([5, 2, 77, 3, 60])])
@pytest.mark.parametrize("shape", [(120, 10), (120, 600)])
def test_mean_and_covariance_of_some_rows(lib, part, shape):
    X = spiked_rows(*shape)
    chosen = X if part is None else X[part]
    found = rows_of(lib, X).moments(part)
    assert found.weight == len(chosen)
    np.testing.assert_allclose(lib.numpy(found.mean), chosen.mean(axis=0), atol=1e-12)
    assert found.total_variance == pytest.approx(np.trace(covariance(chosen)), rel=1e-12)
    spectrum = np.linalg.eigvalsh(covariance(chosen))[::-1]
    np.testing.assert_allclose(lib.numpy(found.spectrum())[:4], spectrum[:4], rtol=1e-9, atol=1e-9)
    if shape == (120, 10):
        np.testing.assert_allclose(lib.numpy(found.covariance), covariance(chosen), atol=1e-11)


def test_disjoint_parts_add_and_subtract(lib):
    X = spiked_rows(100, 8) + 1e4
    rows = rows_of(lib, X)
    one, two, whole = rows.moments(slice(0, 40)), rows.moments(slice(40, 100)), rows.moments()
    np.testing.assert_allclose(lib.numpy((one + two).covariance), covariance(X), rtol=1e-9, atol=1e-9)
    rest = lib.numpy((whole - one).covariance)
    np.testing.assert_allclose(rest, covariance(X[40:]), rtol=1e-9, atol=1e-9)


def test_a_row_that_counts_nothing_does_not_choose_the_frame(lib):
    X = spiked_rows(100, 8)
    X[3] = 1e200
    weights = np.ones(100)
    weights[3] = 0
    found = rows_of(lib, X, weights).moments()
    np.testing.assert_allclose(lib.numpy(found.covariance), covariance(np.delete(X, 3, axis=0)), atol=1e-10)


def test_single_precision_keeps_the_digits_that_float32_has(lib, few_are_many):
    X = (spiked_rows(3_000, 20) + 300).astype(np.float32)
    rows = rows_of(lib, X)
    assert rows._single
    exact = covariance(X.astype(float))
    assert np.abs(lib.numpy(rows.moments().covariance) - exact).max() <= 3e-7 * np.abs(exact).max()


@pytest.mark.parametrize("size", [1e-8, 1e20])
def test_single_precision_is_left_where_squares_are_not_safe(lib, few_are_many, size):
    X = (spiked_rows(2_000, 6) * size).astype(np.float32)
    rows = rows_of(lib, X)
    assert not rows._single
    found = rows.moments()
    np.testing.assert_allclose(
        lib.numpy(found.covariance) * found.unit**2, covariance(X.astype(float)), rtol=1e-6
    )


def test_single_precision_is_left_where_a_column_would_vanish(lib, few_are_many):
    X = spiked_rows(2_000, 6).astype(np.float32)
    X[:, 2] *= 1e-25
    X[:, 3] = 7
    rows = rows_of(lib, X)
    assert rows._single
    found = lib.numpy(rows.moments().covariance)
    assert not rows._single
    np.testing.assert_allclose(np.diag(found), np.diag(covariance(X.astype(float))), rtol=1e-6)
    constant = spiked_rows(2_000, 6).astype(np.float32)
    constant[:, 3] = 7
    rows = rows_of(lib, constant)
    rows.moments()
    assert rows._single  # a column that does not vary is no reason


def test_products_that_are_rounded_further_are_taken_in_double_precision(lib, few_are_many):
    """TF32, as a device may use it for float32: ten bits after the first."""
    X = spiked_rows(2_000, 6).astype(np.float32)
    xp = namespace_of(lib.array(X))
    assert moments._multiplies_in_single(xp, lib.array(X))
    rounded = RoundedProducts(lib, xp)
    assert not moments._multiplies_in_single(rounded, lib.array(X))


class RoundedProducts:
    """A namespace whose float32 arrays hold TF32, so that their products are those of such a device."""

    def __init__(self, lib, xp):
        self._lib, self._xp = lib, xp

    def __getattr__(self, name):
        return getattr(self._xp, name)

    def matmul(self, a, b):
        if a.dtype != self._xp.float32:
            return self._xp.matmul(a, b)
        bits = (self._lib.numpy(x).view(np.uint32) & np.uint32(0xFFFFE000) for x in (a, b))
        return self._xp.matmul(*(self._lib.array(x.view(np.float32)) for x in bits))
