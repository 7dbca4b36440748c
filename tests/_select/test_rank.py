"""Errors of ranks and thresholds of noise, against R packages, definitions and published factors."""

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.datasets import load_breast_cancer

from attenua._select.rank import (
    block_errors,
    guarded_least_error,
    hard_threshold,
    least_error,
    marchenko_pastur_median,
    partition_errors,
    shuffled_thresholds,
    spectrum,
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


# From R's psych 2.2.9: set.seed(1); p <- fa.parallel(x, fa = "pc", n.iter = 2000, sim = FALSE, quant = .95),
# with x the rows below: p$pc.values, and apply(p$values, 2, quantile, .95). It draws with replacement.
PSYCH_VALUES = [13.1509393189, 5.9763929811, 2.6732138409, 2.1778273287, 2.0638815078, 0.9354741509]
PSYCH_QUANTILES = [2.127926, 1.933138, 1.801432, 1.702286, 1.613707, 1.532066, 1.458234, 1.388994]


@pytest.fixture(scope="module")
def rows():
    X = np.log1p(load_breast_cancer().data[::4])
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def test_eigenvalues_are_those_of_psych(rows):
    np.testing.assert_allclose(30 * spectrum(rows)[:6], PSYCH_VALUES, rtol=1e-9)


def test_quantiles_are_those_of_psych_up_to_chance(rows):
    found = 30 * shuffled_thresholds(rows, 500, np.random.default_rng(0))[:8]
    # The 95% quantile of 500 draws has a standard error of about 0.4% here.
    np.testing.assert_allclose(found, PSYCH_QUANTILES, rtol=0.015)


@pytest.mark.parametrize("shape", [(9, 30), (30, 9)])
def test_the_smaller_gram_matrix_has_the_same_spectrum(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    X -= X.mean(axis=0)
    values = np.linalg.svd(X, compute_uv=False) ** 2
    np.testing.assert_allclose(spectrum(X), values / values.sum(), atol=1e-14)


def test_shuffling_keeps_the_variance_of_each_column():
    # Equal columns are as correlated as can be; shuffled they are not, and no column changes its variance.
    X = np.outer(np.arange(200) - 99.5, [1.0, 1.0, 1.0, 10.0])
    first = shuffled_thresholds(X, 10, np.random.default_rng(0))[0]
    assert 100 / 103 <= first < 0.98
    assert spectrum(X)[0] == pytest.approx(1)


@pytest.mark.parametrize("ratio", [0.01, 0.3, 1.0])
def test_half_of_the_marchenko_pastur_law_is_below_its_median(ratio):
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    below, _ = quad(
        lambda t: np.sqrt((high - t) * (t - low)) / (2 * np.pi * ratio * t),
        low,
        marchenko_pastur_median(ratio),
    )
    assert below == pytest.approx(0.5, abs=1e-6)


def times_the_median(X):
    """The threshold on singular values over the median of those that centring leaves."""
    values = np.sqrt(spectrum(X))[: min(len(X) - 1, X.shape[1])]
    return np.sqrt(hard_threshold(X)) / np.median(values)


def centred(n, p):
    X = np.random.default_rng(0).standard_normal((n, p))
    return X - X.mean(axis=0)


def test_square_noise_has_the_published_factor():
    assert times_the_median(centred(21, 20)) == pytest.approx(2.858, abs=5e-4)  # Gavish and Donoho's abstract


@pytest.mark.parametrize(("n", "p"), [(41, 4), (41, 20), (11, 20), (11, 40)])
def test_other_shapes_have_the_published_approximation(n, p):
    ratio = min(n - 1, p) / max(n - 1, p)
    published = 0.56 * ratio**3 - 0.95 * ratio**2 + 1.82 * ratio + 1.43  # their Eq. 5, good to 0.02
    assert times_the_median(centred(n, p)) == pytest.approx(published, abs=0.02)
