"""Moments of rows in memory, against the covariance by its definition."""

import numpy as np
import pytest
import scipy.sparse as sp

from attenua._data.moments import ScatterMoments
from attenua._data.row_moments import RowMoments
from attenua._data.rows import HostRows
from attenua._data.sums import magnitude
from tests.helpers import covariance, exact_components, in_turn, sine, spiked_rows, within

TALL = spiked_rows(600, 12)
WIDE = spiked_rows(20, 700)


def sparse_rows(n, p, seed=0):
    return sp.random(n, p, density=0.2, format="csr", random_state=seed)


def far_rows(n, p):
    """Sparse rows, two columns of which are far from zero and one is large and constant."""
    X = sparse_rows(n, p).tolil()
    X[:, :2] = np.random.default_rng(0).normal([1e8, -1e6], 1.0, (n, 2))
    X[:, 3] = 1e9
    return X.tocsr()


CASES = {
    "tall": (TALL, ScatterMoments),
    "tall float32": (TALL.astype(np.float32), ScatterMoments),
    "tall Fortran": (np.asfortranarray(TALL), ScatterMoments),
    "integers": ((10 * TALL).astype(np.int16), ScatterMoments),
    "few columns, sparse": (sparse_rows(300, 30), ScatterMoments),
    "wide": (WIDE, RowMoments),
    "wide float32": (WIDE.astype(np.float32), RowMoments),
    "many columns, sparse": (sparse_rows(100, 600), RowMoments),
    "few columns, sparse and far": (far_rows(300, 30), ScatterMoments),
    "many columns, sparse and far": (far_rows(100, 600), RowMoments),
}


@pytest.mark.parametrize(
    ("case", "subset"), in_turn(CASES, [None, np.arange(3, 18), np.array([5, 2, 11, 19])])
)
def test_moments_of_any_rows(case, subset):
    X, kind = CASES[case]
    moments = HostRows(X).moments(subset)
    dense = (X.toarray() if sp.issparse(X) else X).astype(float)
    dense = dense if subset is None else dense[subset]
    S = covariance(dense)
    V = np.random.default_rng(0).standard_normal((S.shape[0], 3))
    labels = np.arange(S.shape[0]) // 4
    tolerance = {"rtol": 1e-10, "atol": 1e-12 * np.abs(S).max()}
    assert isinstance(moments, kind)
    assert moments.weight == len(dense)
    np.testing.assert_allclose(moments.mean, dense.mean(axis=0), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(moments.variances, np.diag(S), **tolerance)
    np.testing.assert_allclose(moments.covariance, S, **tolerance)
    np.testing.assert_allclose(moments.apply(V), S @ V, **tolerance)
    np.testing.assert_allclose(moments.within(labels)(V), within(S, labels) @ V, **tolerance)
    np.testing.assert_allclose(moments.compress(V), V.T @ S @ V, **tolerance)


@pytest.mark.parametrize("case", CASES)
def test_scaled_columns(case):
    X, _ = CASES[case]
    dense = (X.toarray() if sp.issparse(X) else X).astype(float)
    factors = np.random.default_rng(1).uniform(0.1, 3, X.shape[1])
    factors[2] = 0
    moments = HostRows(X).moments().scaled(factors)
    S = covariance((dense - dense.mean(axis=0)) * factors)  # products of large numbers would be rounded
    V = np.random.default_rng(0).standard_normal((S.shape[0], 3))
    labels = np.arange(S.shape[0]) // 4
    tolerance = {"rtol": 1e-10, "atol": 1e-12 * np.abs(S).max()}
    assert moments.weight == len(dense)
    np.testing.assert_allclose(moments.mean, (dense * factors).mean(axis=0), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(moments.variances, np.diag(S), **tolerance)
    np.testing.assert_allclose(moments.covariance, S, **tolerance)
    np.testing.assert_allclose(moments.apply(V), S @ V, **tolerance)
    np.testing.assert_allclose(moments.within(labels)(V), within(S, labels) @ V, **tolerance)
    np.testing.assert_allclose(moments.compress(V), V.T @ S @ V, **tolerance)
    assert moments.squared_norm == pytest.approx(np.sum(S**2))
    assert moments.varies.tolist() == (np.diag(S) > 0).tolist()
    if moments.has_few_rows:
        values = np.linalg.eigvalsh(S)[::-1]
        np.testing.assert_allclose(moments.spectrum()[:3], values[:3], rtol=1e-9)
        U = np.linalg.qr(moments.row_space(0, 3))[0]
        assert sine(U.T, exact_components(S, 0, 3)) < 1e-6


@pytest.mark.parametrize("case", [case for case, (_, kind) in CASES.items() if kind is ScatterMoments])
def test_moments_of_disjoint_rows_add_up(case):
    X, _ = CASES[case]
    rows = HostRows(X)
    parts = [rows.moments(slice(k, None, 5)) for k in range(5)]
    added, direct = ScatterMoments.sum(parts), rows.moments()
    assert added.weight == direct.weight
    np.testing.assert_allclose(added.mean, direct.mean, rtol=1e-11, atol=1e-13)
    scale = direct.variances.max()
    np.testing.assert_allclose(added.covariance, direct.covariance, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize("X", [TALL, WIDE, sparse_rows(100, 30), sparse_rows(40, 600)])
def test_weights_count_rows(X):
    counts = np.random.default_rng(0).integers(0, 4, X.shape[0])
    repeated = HostRows(X[np.repeat(np.arange(X.shape[0]), counts)]).moments()
    weighted = HostRows(X, counts.astype(float)).moments()
    assert weighted.weight == repeated.weight
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-9, atol=1e-11)


def test_a_large_shift_costs_no_digits():
    rng = np.random.default_rng(0)
    X = rng.integers(-100, 100, (500, 6)).astype(float)  # exact after any of these shifts
    for shift in (1e6, 1e9, 1e12):
        S = HostRows(X + shift).moments().covariance
        np.testing.assert_allclose(S, covariance(X), rtol=1e-12, atol=1e-10)


def test_float32_keeps_a_gap_that_single_precision_sums_lose():
    # Three directions; the last two variances differ by a part in ten thousand, far from the origin.
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((20_000, 3)))[0] * np.sqrt(20_000)
    X = (Q * np.sqrt([2, 1 + 1e-4, 1]) @ np.linalg.qr(rng.standard_normal((3, 3)))[0] + 300).astype(
        np.float32
    )
    truth = exact_components(covariance(X.astype(float)), 0, 2)
    ours = exact_components(HostRows(X).moments().covariance, 0, 2)
    centred = X - X.mean(axis=0)
    single = exact_components((centred.T @ centred / np.float32(len(X))).astype(float), 0, 2)
    assert sine(ours, truth) < 1e-7
    assert sine(single, truth) > 1e-4


@pytest.mark.parametrize(("scale", "X"), in_turn([1e-150, 1e150], [TALL, WIDE, sparse_rows(30, 600)]))
def test_extreme_sizes_neither_vanish_nor_overflow(X, scale):
    moments, reference = HostRows(X * scale).moments(), HostRows(X).moments()
    np.testing.assert_allclose(moments.mean * moments.unit / scale, reference.mean, rtol=1e-10, atol=1e-12)
    factor = (moments.unit / scale) ** 2
    np.testing.assert_allclose(moments.variances * factor, reference.variances, rtol=1e-9)


def test_memory_map_is_read_in_place(tmp_path):
    X = np.memmap(tmp_path / "rows", dtype=np.float32, mode="w+", shape=TALL.shape)
    X[:] = TALL
    X.flush()
    read_only = np.memmap(tmp_path / "rows", dtype=np.float32, mode="r", shape=TALL.shape)
    np.testing.assert_allclose(HostRows(read_only).moments().mean, TALL.mean(axis=0), rtol=1e-5)


@pytest.mark.parametrize(
    ("container", "bad", "word"),
    [(np.asarray, np.nan, "NaN"), (sp.csr_matrix, np.inf, "infinity"), (np.asarray, -np.inf, "infinity")],
)
def test_first_bad_column_is_named(container, bad, word):
    X = np.ones((6, 4))
    X[3, 2] = bad
    X[1, 3] = bad
    with pytest.raises(ValueError, match=rf"contains {word} in column 2 \('c'\)"):
        magnitude(container(X), ["a", "b", "c", "d"])


def test_magnitude_of_the_most_negative_integer():
    assert magnitude(np.array([[-128, 3]], dtype=np.int8)) == 128


def test_entries_stored_twice_are_their_sum():
    entries = (np.array([1.0, 2.0, 5.0, 3.0]), np.array([0, 0, 700, 2]), np.array([0, 3, 4]))
    for width in (3 + 698, 10):
        X = sp.csr_matrix((entries[0], entries[1] % width, entries[2]), shape=(2, width))
        X.has_canonical_format = False
        np.testing.assert_allclose(HostRows(X).moments().variances, X.toarray().var(axis=0))
        assert X.nnz == 4


def test_a_row_of_no_weight_has_no_influence_at_all():
    X = spiked_rows(60, 6)
    far = X.copy()
    far[0] = 1e12
    weights = np.ones(60)
    weights[0] = 0
    weighted, expected = HostRows(far, weights).moments(), HostRows(X[1:]).moments()
    np.testing.assert_allclose(weighted.covariance, expected.covariance, rtol=1e-10, atol=1e-12)


def test_a_far_row_does_not_spoil_the_moments_of_the_others():
    X = spiked_rows(100, 6)
    X[0] = 1e10
    others = np.arange(20, 100)
    np.testing.assert_allclose(
        HostRows(X).moments(others).covariance, covariance(X[others]), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("X", [sp.csr_matrix((10, 700)), sp.csr_matrix((10, 5))])
def test_sparse_rows_with_nothing_stored(X):
    np.testing.assert_array_equal(HostRows(X).moments().variances, 0.0)


@pytest.mark.parametrize("X", [WIDE, sparse_rows(40, 600)])
def test_leading_eigenvectors_through_the_gram_matrix(X):
    moments = HostRows(X, np.random.default_rng(0).uniform(0.5, 2, X.shape[0])).moments()
    values, vectors = np.linalg.eigh(moments.covariance)
    assert moments.has_few_rows
    np.testing.assert_allclose(moments.spectrum()[:10], values[::-1][:10], rtol=1e-9)
    leading = np.linalg.qr(moments.row_space(0, 5))[0]
    assert sine(leading.T, vectors[:, ::-1][:, :5].T) < 1e-6


def test_moments_of_a_fold_do_not_change_what_other_folds_see():
    """A fold of far larger rows once changed the unit of the rows that came after it."""
    X = spiked_rows(200, 5)
    X[151::4] *= 1e100  # every fourth row chooses the frame, but not these
    rows = HostRows(X)
    small, large = np.arange(1, 120), np.arange(151, 200, 4)
    before = rows.moments(small)
    rows.moments(large)
    after = rows.moments(small)
    assert before.unit == after.unit
    np.testing.assert_array_equal(before.mean, after.mean)
    np.testing.assert_array_equal(before.covariance, after.covariance)
