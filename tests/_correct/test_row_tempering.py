"""Weights of pairs of rows, and the matrices that they make."""

import numpy as np
import pytest

from attenua import CorrectedPCA
from attenua._correct.row_tempering import pair_weights, row_tempered
from attenua._data.opening import open_for_fit
from tests.helpers import leading, sine
from tests.literal import covariance_of_pairs, smooth_rows

X = smooth_rows(40, 7, seed=1)


def matrix(rows, strength):
    """The covariance at a strength, in the units of the rows and up to a factor."""
    (splits,) = row_tempered(open_for_fit(CorrectedPCA(), rows).reweighter, [strength])
    S = splits.total.covariance
    return S / np.trace(S)


def test_weights_are_powers_of_squared_lengths():
    squares = np.array([[0.0, 4.0], [4.0, 0.25]])
    np.testing.assert_allclose(pair_weights(squares, 1.0), [[0.0, 0.25], [0.25, 4.0]])


def test_what_nearly_coincides_has_no_endless_weight():
    nearly = np.array([0.0, 1e-300, 1e-13, 1e-12])
    np.testing.assert_allclose(pair_weights(nearly, 1.0), [0.0, 1e12, 1e12, 1e12])


@pytest.mark.parametrize("strength", [1e-9, 0.25, 0.5, 1.0])
def test_matrices(strength):
    by_hand = covariance_of_pairs(X, strength)
    np.testing.assert_allclose(matrix(X, strength), by_hand / np.trace(by_hand), atol=1e-12)


@pytest.mark.parametrize("strength", [0.25, 1.0])
def test_elliptical_rows_keep_their_directions(strength):
    """The eigenvectors are those of the covariance of the law."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((900, 4)) * [4, 2, 1, 0.5] * rng.standard_t(4, 900)[:, None]
    assert sine(leading(matrix(rows, strength), 2), np.eye(4)[:2]) < 0.1


def test_an_outlier_counts_less_the_stronger_the_tempering():
    rows = X.copy()
    rows[5] += 1e4 * np.eye(7)[6]
    angles = [
        sine(
            CorrectedPCA(2, row_tempering=k).fit(X).components_,
            CorrectedPCA(2, row_tempering=k).fit(rows).components_,
        )
        for k in (0.0, 0.5, 1.0)
    ]
    assert angles[0] > 0.9
    assert angles[2] < 0.2


def test_the_plain_rows_are_the_first_reading():
    again = open_for_fit(CorrectedPCA(), X).reweighter
    assert row_tempered(again, []) == []


def test_copies_with_noise_in_the_last_digits_are_copies():
    rng = np.random.default_rng(0)
    for size in (1e-13, 1e-10, 1e-7):
        nearly = np.vstack([X, X + size * rng.standard_normal(X.shape)])
        for strength in (0.5, 0.75, 1.0):
            np.testing.assert_allclose(matrix(nearly, strength), matrix(X, strength), atol=1e-5)


def test_equal_rows_have_no_direction():
    np.testing.assert_allclose(matrix(np.vstack([X, X]), 1.0), matrix(X, 1.0), atol=1e-12)
    (splits,) = row_tempered(open_for_fit(CorrectedPCA(), np.ones((5, 3))).reweighter, [1.0])
    np.testing.assert_array_equal(splits.total.covariance, np.zeros((3, 3)))
