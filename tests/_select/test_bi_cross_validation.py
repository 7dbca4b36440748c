"""Bi-cross-validation does what Owen and Perry define, and what their R package computes."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from attenua._select.rank import (
    block_errors,
    guarded_least_error,
    least_error,
    partition_errors,
)

# From Perry's R package bcv 1.0.1 in R 4.2.2: set.seed(1); cv.svd.gabriel(x, 2, 2, maxrank = 6), with x
# the 30 rows below. The sets that it drew, and its mean squared errors: a line for each held-out block, a
# column for each rank from 0.
R_ROWS = "1 2 1 1 2 1 1 2 2 1 1 2 2 1 2 1 1 2 1 2 1 1 2 2 2 2 1 1 2 2"
R_COLUMNS = "1 2 2 2 1 1 2 2 2 2 2 2 1 1 2 1 2 1 2 1 2 1 1 2 1 2 1 1 1 1"
R_ERRORS = """
3.581348427 0.04362507881 0.0430476319 0.01687548813 0.0139713508 0.01079617347 0.004389602063
3.351942625 0.02850453812 0.0302643175 0.008678750487 0.005439194589 0.005697606596 0.003561910468
8.033560277 0.02809030987 0.01635770939 0.008584573028 0.007005394148 0.007116404213 0.008707047186
7.916101917 0.03125985295 0.01954062314 0.01364244579 0.006414121603 0.0045552895 0.00404721482
"""


def table(text):
    return np.array([[float(word) for word in line.split()] for line in text.strip().splitlines()])


def literal_block_errors(A, B, C, D, max_rank):
    """A - B pinv(D_k) C, rank by rank."""
    u, d, vt = np.linalg.svd(D, full_matrices=False)
    return np.array(
        [
            np.sum((A - B @ np.linalg.pinv((u[:, :k] * d[:k]) @ vt[:k], rcond=1e-12) @ C) ** 2)
            for k in range(max_rank + 1)
        ]
    )


def blocks(X, rows, columns):
    """A, B, C and D for rows and columns that are held out."""
    return X[rows][:, columns], X[rows][:, ~columns], X[~rows][:, columns], X[~rows][:, ~columns]


def test_errors_are_those_of_the_authors_package():
    X = np.log1p(load_breast_cancer().data[::19])
    row_sets, column_sets = (np.array(text.split(), dtype=int) for text in (R_ROWS, R_COLUMNS))
    found = [
        block_errors(*blocks(X, row_sets == i, column_sets == j), 6)
        / (np.sum(row_sets == i) * np.sum(column_sets == j))
        for i in (1, 2)
        for j in (1, 2)
    ]
    expected = table(R_ERRORS)
    # The package counts its blocks in some order of its own.
    order = [int(np.argmin(np.abs(expected[:, 0] - errors[0]))) for errors in found]
    assert sorted(order) == [0, 1, 2, 3]
    np.testing.assert_allclose(found, expected[order], rtol=1e-7)


@pytest.mark.parametrize("shape", [(12, 30), (30, 12), (16, 16), (7, 9)])
def test_errors_are_those_of_the_definition_at_all_ranks(shape):
    random = np.random.default_rng(0)
    X = random.standard_normal(shape) + 3 * np.outer(random.standard_normal(shape[0]), np.arange(shape[1]))
    rows, columns = (np.arange(size) < size // 2 for size in shape)
    parts = blocks(X, rows, columns)
    max_rank = min(parts[3].shape)
    np.testing.assert_allclose(
        block_errors(*parts, max_rank), literal_block_errors(*parts, max_rank), rtol=1e-6
    )


def test_ranks_beyond_that_of_the_block_add_nothing():
    random = np.random.default_rng(0)
    X = random.standard_normal((20, 2)) @ random.standard_normal((2, 18))
    half = np.arange(20) < 10
    errors = block_errors(*blocks(X, half, half[:18]), 8)
    assert errors[1] > 1e-3 * errors[0]
    np.testing.assert_allclose(errors[2:] / errors[0], 0, atol=1e-13)


@pytest.mark.parametrize("shape", [(13, 10), (10, 21)])
def test_each_block_is_held_out_once_and_centred_on_rows_held_in(shape):
    random = np.random.default_rng(1)
    X = random.standard_normal(shape) + 100 * random.standard_normal(shape[1])
    sets = [np.array_split(random.permutation(size), n) for size, n in zip(shape, (2, 3), strict=True)]
    expected = 0
    for held_rows in sets[0]:
        rows = np.isin(np.arange(shape[0]), held_rows)
        centred = X - X[~rows].mean(axis=0)
        for held_columns in sets[1]:
            columns = np.isin(np.arange(shape[1]), held_columns)
            expected = expected + literal_block_errors(*blocks(centred, rows, columns), 3)
    np.testing.assert_allclose(partition_errors(X, *sets, 3), expected, rtol=1e-8)


def test_the_least_error_and_the_smallest_rank_not_clearly_worse():
    errors = np.array([[1.0, 0.50, 0.40, 0.39], [1.0, 0.52, 0.40, 0.42], [1.0, 0.51, 0.41, 0.38]])
    assert least_error(errors) == 3
    assert guarded_least_error(errors) == 2  # 0.007 worse, with a deviation of 0.02
    assert guarded_least_error(errors[:1]) == 3  # one partition says nothing about its noise


def test_of_equal_errors_the_smallest_rank_is_taken():
    errors = np.array([[1.0, 0.2, 0.2 - 1e-15, 0.2]])
    assert least_error(errors) == guarded_least_error(errors) == 1
