"""Weights of rows and pairs, and the matrices that they make."""

from itertools import product

import numpy as np
import pytest

from attenua import CorrectedPCA, CorrectedPCACV
from attenua._correct.row_tempering import pair_weights, row_tempered, row_weights
from attenua._data import reweighting
from attenua._data.opening import open_for_fit
from tests.helpers import leading, sine
from tests.literal import covariance_of_pairs, covariance_of_rows, robust_centre, smooth_rows

X = smooth_rows(40, 7, seed=1)


def matrix(rows, strength):
    """The covariance at a strength, in the units of the rows and up to a factor."""
    (splits,) = row_tempered(open_for_fit(CorrectedPCA(), rows).reweighter, [strength])
    S = splits.total.covariance
    return S / np.trace(S)


def test_weights_are_powers_of_squared_lengths():
    squares = np.array([[0.0, 4.0], [4.0, 0.25]])
    np.testing.assert_allclose(row_weights(squares[1], 0.5), [0.5, 2.0])
    np.testing.assert_allclose(pair_weights(squares, 1.0), [[0.0, 0.25], [0.25, 4.0]])


def test_what_nearly_coincides_has_no_endless_weight():
    nearly = np.array([0.0, 1e-300, 1e-13, 1e-12])
    np.testing.assert_allclose(row_weights(nearly, 1.0), 1e12)
    np.testing.assert_allclose(pair_weights(nearly, 1.0), [0.0, 1e12, 1e12, 1e12])


def test_a_row_on_the_mean_does_not_outweigh_the_others(monkeypatch):
    """The centre of a design is that of all rows, but not of training rows."""
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", 10)
    design = np.array(list(product([-1.0, 0.0, 1.0], repeat=4))) * [3, 2, 1, 1]
    centre = np.flatnonzero((design == 0).all(axis=1))
    with_centre, without = (
        CorrectedPCACV(2, corrections={"row_tempering": [1.0]}).fit(rows).cv_risk_[1]
        for rows in (design, np.delete(design, centre, axis=0))
    )
    assert with_centre < 1.01 * without


@pytest.mark.parametrize("strength", [1e-9, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("few_rows", [True, False])
def test_matrices(few_rows, strength, monkeypatch):
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", 40 if few_rows else 39)
    by_hand = (
        covariance_of_pairs(X, strength) if few_rows else covariance_of_rows(X, strength, robust_centre(X)[0])
    )
    np.testing.assert_allclose(matrix(X, strength), by_hand / np.trace(by_hand), atol=1e-12)


def test_signs_of_many_rows_are_the_spatial_sign_covariance(monkeypatch):
    """Of rows that lie evenly about a centre, so that there is no doubt about it."""
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", 39)
    signs = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(matrix(np.vstack([X, -X]) + 5, 1.0), signs.T @ signs / 40, atol=1e-12)


@pytest.mark.parametrize("strength", [0.25, 1.0])
def test_elliptical_rows_keep_their_directions(strength, monkeypatch):
    """By pairs and by rows the eigenvectors are those of the covariance of the law."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((900, 4)) * [4, 2, 1, 0.5] * rng.standard_t(4, 900)[:, None]
    for few_rows in (900, 10):
        monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", few_rows)
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


@pytest.mark.parametrize("tails", ["an outlier of 1e5", "Cauchy"])
def test_one_row_more_than_are_paired_changes_little(tails):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((1_001, 5)) * [3, 1, 1, 1, 1]
    if tails == "Cauchy":
        rows /= np.abs(rng.standard_normal((1_001, 1)))
    else:
        rows[5] = 1e5 * np.eye(5)[3]
    for some in (rows[:-1], rows):
        assert sine(CorrectedPCA(1, row_tempering=1.0).fit(some).components_, np.eye(5)[:1]) < 0.1


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
