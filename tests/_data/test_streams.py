"""Rows in batches: the same answer as one fit in memory with the same folds, whatever the batches."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
import scipy.sparse as sp

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua._data import blas, sums
from attenua._data.folds import folds_by_group
from attenua._data.rows import HostRows
from attenua._data.streams import RowStream
from attenua._data.sums import FoldSums, choose_frame
from tests.helpers import covariance, in_turn, spiked_rows

X = spiked_rows(203, 6)
GROUPS = np.random.default_rng(1).integers(0, 40, len(X))
NAMES = list("abcdef")
ALPHAS = [0, 0.4, 0.8]


def splits_of(folds):
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(folds.max() + 1)]


def batches(X, size=31):
    return [X[i : i + size] for i in range(0, X.shape[0], size)]


FOLDS = np.arange(len(X)) % 5


def in_memory(folds=None, X=X):
    """The fit to rows in memory: with the same number of folds, or with the same folds one by one."""
    cv = 5 if folds is None else splits_of(folds)
    return AttenuatedPCACV(2, alphas=ALPHAS, cv=cv).fit(X)


def assert_same_fit(one, two, rtol=1e-9):
    assert one.n_samples_ == two.n_samples_
    assert one.components_.dtype == two.components_.dtype
    for name in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=rtol, atol=1e-9)
    assert one.noise_variance_ == pytest.approx(two.noise_variance_, rel=rtol)
    if hasattr(one, "cv_risk_"):
        np.testing.assert_allclose(one.cv_risk_folds_, two.cv_risk_folds_, rtol=rtol)
        np.testing.assert_allclose(one.cv_risk_, two.cv_risk_, rtol=rtol)
        assert one.alpha_ == two.alpha_


# --- Against the fit in memory ----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [np.arange(7), np.array([3, 6, 0, 5, 1, 4, 2])])
def test_groups_stay_whole_over_batches_in_any_order(order):
    parts, labels = ([batches(each)[i] for i in order] for each in (X, GROUPS))
    model = AttenuatedPCACV(2, alphas=ALPHAS).fit(parts, groups=labels)
    assert_same_fit(model, in_memory(folds_by_group(GROUPS, 5)))


SOURCES = {
    "generator": lambda: (batch for batch in batches(X)),
    "list": lambda: batches(X),
    "single rows": lambda: iter(batches(X, 1)),
    "uneven, with empty ones": lambda: iter([X[:0], X[:1], X[1:150], X[150:150], X[150:]]),
    "frames": lambda: (pd.DataFrame(batch, columns=NAMES) for batch in batches(X)),
    "polars": lambda: (pl.DataFrame(batch, schema=NAMES) for batch in batches(X)),
    "sparse": lambda: (sp.csr_array(batch) for batch in batches(X)),
    "dense and sparse": lambda: (
        f(b) for f, b in zip([np.asarray, sp.csc_matrix] * 4, batches(X), strict=False)
    ),
    "Fortran order": lambda: map(np.asfortranarray, batches(X)),
    "lists of numbers": lambda: (batch.tolist() for batch in batches(X)),
    "Arrow table": lambda: arrow_table(),
    "Arrow reader": lambda: arrow_table().to_reader(max_chunksize=50),
    "Arrow batches": lambda: iter(arrow_table().to_batches(max_chunksize=50)),
}


def arrow_table(X=X, **columns):
    return pa.table({name: X[:, i] for i, name in enumerate(NAMES)} | columns)


@pytest.mark.parametrize("source", SOURCES)
def test_fit_from_batches_of_any_kind(source):
    assert_same_fit(AttenuatedPCACV(2, alphas=ALPHAS).fit(SOURCES[source]()), in_memory())
    assert_same_fit(AttenuatedPCA(2, alpha=0.5).fit(SOURCES[source]()), AttenuatedPCA(2, alpha=0.5).fit(X))


def test_parquet_dataset(tmp_path):
    table = arrow_table(subject=[f"s{g}" for g in GROUPS], w=GROUPS % 3)
    pa.dataset.write_dataset(table, tmp_path, format="parquet", max_rows_per_file=60, max_rows_per_group=30)
    data = pa.dataset.dataset(tmp_path)
    by_group = AttenuatedPCACV(2, alphas=ALPHAS).fit(
        data.scanner(columns=[*NAMES, "subject"]), groups="subject"
    )
    assert_same_fit(by_group, in_memory(folds_by_group([f"s{g}" for g in GROUPS], 5)))
    assert list(by_group.feature_names_in_) == NAMES
    features = pa.dataset.dataset(data.to_table(columns=[*NAMES, "w"]))
    weighted = AttenuatedPCA(2, alpha=0.5).fit(features, sample_weight="w")
    assert_same_fit(weighted, AttenuatedPCA(2, alpha=0.5).fit(X, sample_weight=GROUPS % 3))
    np.testing.assert_allclose(
        by_group.transform(arrow_table()),
        in_memory(folds_by_group([f"s{g}" for g in GROUPS], 5)).transform(X),
        atol=1e-8,
    )


def test_labels_for_all_rows_or_batch_by_batch():
    expected = in_memory(folds_by_group(GROUPS, 5))
    for groups in (GROUPS, GROUPS.tolist(), pd.Series(GROUPS), batches(GROUPS), iter(batches(GROUPS))):
        assert_same_fit(AttenuatedPCACV(2, alphas=ALPHAS).fit(iter(batches(X)), groups=groups), expected)
    weights = GROUPS % 4
    for sample_weight in (weights, batches(weights)):
        weighted = AttenuatedPCA(2, alpha=0.5).fit(batches(X), sample_weight=sample_weight)
        assert_same_fit(weighted, AttenuatedPCA(2, alpha=0.5).fit(X, sample_weight=weights))


def test_rows_of_no_weight_have_no_influence():
    weights = np.ones(len(X))
    weights[[0, 40, 41]] = 0
    weights[62:93] = 0  # a whole batch
    far = X.copy()
    far[weights == 0] = np.array([[np.nan], [1e12], [-1e300], *([[7.0]] * 31)])
    found = AttenuatedPCA(2, alpha=0.5).fit(batches(far), sample_weight=weights)
    assert_same_fit(found, AttenuatedPCA(2, alpha=0.5).fit(X[weights > 0]))


def test_an_outlier_that_is_held_out_does_not_reach_the_training_rows():
    far = X.copy()
    far[100] += 1e6
    stream = RowStream(5)
    for batch in batches(far):
        stream.add(batch)
    for number, train, _ in stream.moments().pairs():
        if number == 0:  # row 100 is held out here
            np.testing.assert_allclose(train.covariance, covariance(far[FOLDS != 0]), rtol=1e-6)


# --- Folds ------------------------------------------------------------------------------------------------


def test_a_group_has_one_fold_however_it_is_stored():
    folds = folds_by_group(np.arange(-500, 500), 5)
    np.testing.assert_array_equal(folds, folds_by_group(np.arange(-500, 500, dtype=np.int16), 5))
    np.testing.assert_array_equal(folds, folds_by_group(np.arange(-500.0, 500.0), 5))
    np.testing.assert_array_equal(
        folds, folds_by_group(np.array([*range(-500, 500), "x"], dtype=object), 5)[:-1]
    )
    np.testing.assert_array_equal(folds, folds_by_group(np.array([*range(-500, 500), 0.5]), 5)[:-1])
    # A chi-square statistic with 4 degrees of freedom exceeds 18.5 once in a thousand.
    for labels in (np.arange(5000), np.arange(0, 50_000, 10), np.array([f"s{i}" for i in range(5000)])):
        counts = np.bincount(folds_by_group(labels, 5), minlength=5)
        assert np.sum((counts - 1000) ** 2 / 1000) < 18.5


@pytest.mark.slow
def test_a_group_has_one_fold_in_every_process():
    code = (
        "from attenua._data.folds import folds_by_group as f\n"
        "print(f(['ann', 'bob', 'x', 'y'], 7), f(range(9), 7))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {f"{folds_by_group(['ann', 'bob', 'x', 'y'], 7)} {folds_by_group(range(9), 7)}\n"}


REFUSED = [
    (AttenuatedPCACV(2, cv=splits_of(np.arange(203) % 5)), {}, "cv must be a number of folds"),
    (AttenuatedPCACV(2, cv=1), {}, "cv=1 must be at least 2 folds"),
    (
        AttenuatedPCACV(2),
        {"groups": np.zeros(203)},
        "fold 1 of cv=5 has no rows. In a stream a group's fold",
    ),
    (AttenuatedPCACV(2), {"groups": np.zeros(204)}, "groups holds 204 entries, but X has 203 rows"),
    (AttenuatedPCACV(2), {"groups": np.zeros(202)}, "groups holds 202 entries, but X has more rows"),
    (AttenuatedPCACV(2), {"groups": [np.zeros(31)]}, "groups has 1 batches, but X has more"),
    (AttenuatedPCACV(2), {"groups": [np.zeros(31), *[None] * 6]}, "groups must be given with every batch"),
    (AttenuatedPCACV(2), {"groups": [np.zeros(30)] * 7}, "one label for each of the 31 rows; got 30"),
    (AttenuatedPCACV(2), {"groups": np.full(203, np.nan)}, "groups holds a label that is NaN"),
    (AttenuatedPCACV(2), {"groups": [None] * 203}, "groups holds a missing label"),
    (AttenuatedPCACV(2), {"groups": "subject"}, "only Arrow and Dask data frames have"),
    (
        AttenuatedPCA(2, alpha=0.5),
        {"sample_weight": -np.ones(203)},
        "sample_weight must be finite and nonnegative",
    ),
    (
        AttenuatedPCA(2, alpha=0.5),
        {"sample_weight": np.zeros(203)},
        "sample_weight must not be zero for every row",
    ),
    (AttenuatedPCA(2, alpha=2), {}, "alpha must be a number from 0 to 1"),
    (AttenuatedPCA(9, alpha=0.5), {}, "n_components=9 must be between 1 and 6"),
]


def test_streams_that_are_refused():
    for model, options, message in REFUSED:
        with pytest.raises(ValueError, match=message):
            model.fit(iter(batches(X)), **options)
        assert not hasattr(model, "components_")


def test_bad_batches_of_arrow():
    table = arrow_table().set_column(1, "b", pa.array([None, *X[1:, 1]]))
    with pytest.raises(ValueError, match=r"contains NaN in column 1 \('b'\)"):
        AttenuatedPCA(2, alpha=0.5).fit([table, table])
    with pytest.raises(ValueError, match=r"a column with values that are not numbers: 'name' \(string\)"):
        AttenuatedPCA(2, alpha=0.5).fit(arrow_table(name=["x"] * 203))
    with pytest.raises(ValueError, match="groups='subject' is not a column of X"):
        AttenuatedPCACV(2).fit(arrow_table(), groups="subject")
    model = AttenuatedPCA(2, alpha=0.5).fit([arrow_table()])
    with pytest.raises(ValueError, match=r"feature names should match .* got 'b' where 'a' was fitted"):
        model.transform(arrow_table().select(["b", "a", *"cdef"]))
    with pytest.raises(ValueError, match="X has 2 features, but AttenuatedPCA is expecting 6"):
        model.fit([arrow_table(), arrow_table().select(["a", "b"])])


def test_iterators_of_batches_that_cannot_be_used():
    with pytest.raises(TypeError, match="X holds batches of rows; give them one by one"):
        AttenuatedPCA(2, alpha=0.5).fit(X).transform(iter(batches(X)))
    with pytest.raises(ValueError, match=r"Found 0 sample\(s\): X gave no rows"):
        AttenuatedPCA(2, alpha=0.5).fit(iter([]))


# --- Numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scales", "as_batch"),
    in_turn(
        [(1e-200, 1e150), (1e150, 1e-200), (0.0, 1e-140), (1.0, 1e140), (1e-30, 1.0)],
        [np.asarray, sp.csr_matrix],
    ),
)
def test_later_batches_of_another_size_neither_vanish_nor_overflow(scales, as_batch):
    parts = [X[:100] * scales[0], X[100:] * scales[1]]
    model = AttenuatedPCACV(2, alphas=ALPHAS).fit(map(as_batch, parts))
    largest = max(scales)
    expected = in_memory(X=np.vstack(parts) / largest)
    np.testing.assert_allclose(model.mean_ / largest, expected.mean_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)
    np.testing.assert_allclose(model.cv_risk_ / largest / largest, expected.cv_risk_, rtol=1e-9)


def test_an_odd_start_costs_no_digits():
    # One row at zero, then many far away: about a fixed origin at zero the sums lose digits, and do so below.
    rows = np.random.default_rng(0).integers(-1000, 1000, (50_000, 3)) + 1e9  # exact in double precision
    exact = covariance(np.vstack([np.full((1, 3), -1e9), rows - 1e9]))
    stream, fixed = RowStream(), RowStream()
    for batch in (np.zeros((1, 3)), *batches(rows, 5000)):
        stream.add(batch)
        fixed.add(batch)
        fixed._rows_at_origin = np.inf
    error = [np.abs(s.moments().total.covariance / exact - 1).max() for s in (stream, fixed)]
    assert error[0] < 1e-13
    assert error[1] > 1e-12


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 1,024 rows in two threads, so that little data show what much data would."""
    monkeypatch.setattr(sums, "_PRODUCT_ROWS", 1_024)
    monkeypatch.setattr(sums, "_PARALLEL_WORK", 0)
    monkeypatch.setattr(blas, "blas_threads", lambda: 2)


LARGE = spiked_rows(70_000, 6).astype(np.float32)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("shift", [0, 1000])
def test_large_float32_data_in_blocks(shift, tmp_path):
    rows = LARGE + np.float32(shift)
    mapped = np.memmap(tmp_path / "rows", dtype=np.float32, mode="w+", shape=rows.shape)
    mapped[:] = rows
    exact = rows.astype(float)
    S, norm = covariance(exact), np.linalg.norm(covariance(exact), 2)
    stream = RowStream(5)
    for batch in batches(rows, 20_000):
        stream.add(batch)
    for found in (HostRows(mapped).moments(), stream.moments().total):
        np.testing.assert_allclose(found.mean, exact.mean(axis=0), rtol=1e-12, atol=1e-12)
        assert np.linalg.norm(found.covariance - S, 2) < 1e-13 * norm
    folds = np.arange(len(rows)) % 5
    for k, _, held in stream.moments().pairs():
        assert np.linalg.norm(held.covariance - covariance(exact[folds == k]), 2) < 1e-13 * norm
    assert AttenuatedPCA(2, alpha=0.5).fit(mapped).components_.dtype == np.float32


@pytest.mark.usefixtures("small_blocks")
def test_float32_squares_neither_overflow_nor_vanish():
    rows = LARGE.copy()
    rows[:, 1] *= np.float32(1e-25)  # squares are zero in single precision
    rows[:, 2] = 7  # constant
    exact = rows.astype(float)
    np.testing.assert_allclose(HostRows(rows).moments().variances, exact.var(axis=0), rtol=1e-6, atol=1e-12)
    assert HostRows(rows).moments().variances[1] == pytest.approx(exact[:, 1].var(), rel=1e-9)
    rows[60_000:] *= np.float32(1e25)  # squares are infinite in single precision
    exact = rows.astype(float)
    moments = HostRows(rows).moments()
    np.testing.assert_allclose(moments.variances * moments.unit**2, exact.var(axis=0), rtol=1e-6)


@pytest.mark.usefixtures("small_blocks")
def test_the_number_of_threads_does_not_show(monkeypatch):
    two = HostRows(LARGE).moments().covariance
    monkeypatch.setattr(blas, "blas_threads", lambda: 1)
    np.testing.assert_array_equal(HostRows(LARGE).moments().covariance, two)


@pytest.mark.usefixtures("small_blocks")
def test_a_bad_value_deep_in_a_memory_map_is_named(tmp_path):
    mapped = np.memmap(tmp_path / "rows", dtype=np.float32, mode="w+", shape=LARGE.shape)
    mapped[:] = LARGE
    mapped[69_001, 4] = np.inf
    with pytest.raises(ValueError, match="contains infinity in column 4"):
        AttenuatedPCACV(2).fit(mapped)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float32_batches_give_float32_results(dtype):
    mixed = AttenuatedPCA(2, alpha=0.5).fit([X[:100].astype(np.float32), X[100:].astype(dtype)])
    assert mixed.components_.dtype == dtype


MEMORY = """
import resource
import numpy as np
from attenua import AttenuatedPCACV
def rows():
    rng = np.random.default_rng(0)
    scale = np.linspace(1, 3, 50)
    for _ in range(BATCHES):
        yield rng.standard_normal((50_000, 50), dtype=np.float32) * scale
model = AttenuatedPCACV(2, alphas=[0, 1]).fit(rows())
assert model.n_samples_ == BATCHES * 50_000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_stream():
    peaks = []
    for number in (2, 24):  # 20 and 240 MB in all
        code = MEMORY.replace("BATCHES", str(number))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout) * 1024)
    assert peaks[1] - peaks[0] < 60e6


def test_a_tiny_weight_before_a_large_one_still_counts():
    """Whether a fold is empty was read off its weight, and 1e-17 + 5 is 5."""
    far, near = np.full((5, 2), 1e9) * [[1], [-1], [1], [-1], [1]], np.eye(5, 2)
    rows = np.concatenate([far, near])
    weights = np.repeat([2e-18, 1.0], 5)
    sums = FoldSums(choose_frame(near, largest=1e9), 1)
    sums.add(rows, [(0, slice(0, 5)), (0, slice(5, 10))], sample_weight=weights)
    shifted = rows / sums.frame.unit - sums.frame.origin
    np.testing.assert_allclose(sums.scatters[0], (shifted.T * weights) @ shifted, rtol=1e-12)


@pytest.mark.parametrize("first", [0.0, 1e-17])
def test_batches_that_weigh_next_to_nothing(first):
    random = np.random.default_rng(0)
    batches = [random.standard_normal((6, 3)) * 1e9, random.standard_normal((40, 3)), np.eye(4, 3)]
    weights = [np.full(6, first), np.ones(40), np.zeros(4)]
    model = AttenuatedPCA(3, alpha=0.5).fit(batches, sample_weight=weights)
    X, w = np.concatenate(batches), np.concatenate(weights)
    np.testing.assert_allclose(model.mean_, np.average(X, axis=0, weights=w), atol=1e-9)
    expected = np.linalg.eigvalsh(np.cov(X, rowvar=False, aweights=w, ddof=0))[::-1] * (
        w.sum() / (w.sum() - 1)
    )
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=1e-8)


def test_more_batches_of_weights_than_of_rows():
    X = spiked_rows(40, 5)
    weights = [np.ones(20)] * 3
    with pytest.raises(ValueError, match="sample_weight has more batches than X"):
        AttenuatedPCA(2, alpha=0.5).fit(iter([X[:20], X[20:]]), sample_weight=weights)
