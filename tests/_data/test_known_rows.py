"""Rows that are found again among others."""

import numpy as np
import pytest
import scipy.sparse as sp

from attenua._data.known_rows import known_rows, row_digests

COUNTS = np.random.default_rng(0).poisson(0.3, (400, 30)).astype(float)


@pytest.mark.parametrize("form", [np.asarray, np.float32, np.asfortranarray, sp.csr_array, sp.csc_matrix])
def test_one_number_for_a_row_in_every_form(form):
    np.testing.assert_array_equal(row_digests(form(COUNTS)), row_digests(COUNTS))


def test_cells_that_are_stored_twice_or_as_zero():
    data, indices = np.array([1.0, 2.0, 0.0, -0.0]), np.array([3, 3, 1, 2])
    stored = sp.csr_array((data, indices, np.array([0, 4])), shape=(1, 5))
    np.testing.assert_array_equal(row_digests(stored), row_digests(np.array([[0, 0, 0, 3.0, 0]])))
    assert (stored.nnz, data.tolist(), indices.tolist()) == (4, [1.0, 2.0, 0.0, 0.0], [3, 3, 1, 2])


def test_different_rows_have_different_numbers():
    """Rows that differ in the order of cells, in one small integer, in a last bit, or by a sign."""
    row = np.arange(1.0, 7.0)
    rows = [row, row[::-1], np.roll(row, 1), row + np.eye(6)[0], -row, row * (1 + 2e-16), row * 2, row + 1]
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 6), axis=-1).reshape(-1, 6)
    rows = np.unique(np.vstack([rows, grid]), axis=0)
    assert len(np.unique(row_digests(rows))) == len(rows) > 4**6


def test_known_rows_are_refused():
    known = known_rows(COUNTS[:50], "reference")
    known.refuse(np.random.default_rng(1).standard_normal((100, 30)))
    others = np.random.default_rng(1).standard_normal((100, 30))
    others[[7, 90]] = COUNTS[[11, 3]]
    for form in (np.asarray, sp.csr_array):
        with pytest.raises(ValueError, match=r"^2 rows of X are in reference too, the first is row 7\."):
            known.refuse(form(others))
    with pytest.raises(
        ValueError, match=r"^1 row of X is in reference too, the first is row 0\. .* covariance"
    ):
        known.refuse(COUNTS[:1])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_whose_cells_are_all_equal_may_be_in_both(form):
    rows = np.vstack([np.zeros(30), np.full(30, 2.0), COUNTS[:5]])
    known_rows(form(rows[:2]), "reference").refuse(form(rows))


def test_rows_with_other_columns_are_left_to_another_error():
    known_rows(COUNTS, "reference").refuse(COUNTS[:, :29])
