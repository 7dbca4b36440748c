"""Mistakes that were made once: each test failed before its mistake was mended."""

import tracemalloc
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit

from attenua import AttenuatedPCA, AttenuatedPCACV, attenuation_path, paired_gain, select_on_validation
from attenua._correct.tempering import tempered
from attenua._data.opening import open_for_cv
from tests.helpers import sine, spiked_rows

ALPHAS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])

# Subspaces of folds are iterated above 128 columns, and only as accurate as comparing them needs.
ITERATED = 1e-4


def literal_risks(X, splits, rank, alphas=ALPHAS):
    """Held-out risks by np.cov and eigh, a training set and a strength at a time."""
    risks = np.empty((len(splits), len(alphas)))
    for number, (train, held) in enumerate(splits):
        S = np.cov(X[train], rowvar=False, bias=True)
        centred = X[held] - X[train].mean(axis=0)
        for i, alpha in enumerate(alphas):
            U = np.linalg.eigh(S - alpha * np.diag(np.diag(S)))[1][:, -rank:]
            risks[number, i] = np.mean(np.sum((centred - centred @ U @ U.T) ** 2, axis=1))
    return risks


def pooled(risks, splits):
    return np.average(risks, axis=0, weights=[len(held) for _, held in splits])


# --- which rows train ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "p"), [(48, 6), (120, 300), pytest.param(32, 600, marks=pytest.mark.slow)])
def test_bootstrap_training_sets_are_not_taken_for_complements(n, p):
    """As many training rows as the others are, but some of them twice."""
    X, random = spiked_rows(n, p), np.random.default_rng(1)
    splits = [(random.choice(train, size=len(train)), held) for train, held in KFold(4).split(X)]
    model = AttenuatedPCACV(2, alphas=ALPHAS, cv=splits).fit(X)
    risks = literal_risks(X, splits, 2)
    close = 1e-9 if p <= 128 else ITERATED
    np.testing.assert_allclose(model.cv_risk_folds_, risks, rtol=close)
    np.testing.assert_allclose(model.cv_risk_, pooled(risks, splits), rtol=close)


SPLITS_WITH_AN_OUTLIER = {
    "24 folds": lambda X: list(KFold(24).split(X)),
    "leave one out": lambda X: list(LeaveOneOut().split(X)),
    "shuffled": lambda X: list(ShuffleSplit(8, test_size=0.25, random_state=1).split(X)),
    "some folds of five": lambda X: list(KFold(5).split(X))[:3],
}


@pytest.mark.filterwarnings("ignore:The cut at")  # of all rows, where the outlier leaves nothing else to see
@pytest.mark.parametrize("kind", SPLITS_WITH_AN_OUTLIER)
@pytest.mark.parametrize("p", [6, 100, *(pytest.param(p, marks=pytest.mark.slow) for p in (140, 600))])
def test_a_held_out_outlier_leaves_nothing_behind(kind, p):
    """Sums of all rows less those of an outlier would keep the rounding errors of its squares."""
    X = spiked_rows(48, p)
    X[3] *= 1e9
    splits = SPLITS_WITH_AN_OUTLIER[kind](X)
    holds_it = np.array([3 in held for _, held in splits])
    assert holds_it.any()
    model = AttenuatedPCACV(2, alphas=ALPHAS, cv=splits).fit(X)
    risks = literal_risks(X, splits, 2)
    close = 1e-6 if p <= 128 else ITERATED
    np.testing.assert_allclose(model.cv_risk_folds_[holds_it], risks[holds_it], rtol=close)
    assert model.alpha_ == ALPHAS[np.argmin(pooled(risks, splits))]


def test_moments_of_a_fold_do_not_change_what_other_folds_see():
    """A fold of far larger rows once changed the unit of the rows that came after it."""
    from attenua._data.rows import HostRows

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


# --- weights ------------------------------------------------------------------------------------------------


def test_weights_allow_as_many_components_as_repeated_rows():
    X = np.random.default_rng(0).standard_normal((30, 600))
    twice, weights = np.repeat(X, 2, axis=0), np.full(30, 2.0)
    weighted = AttenuatedPCA(40, alpha=0.5).fit(X, sample_weight=weights)
    W = weighted.components_
    np.testing.assert_allclose(W @ W.T, np.eye(40), atol=1e-9)
    repeated = AttenuatedPCA(40, alpha=0.5).fit(twice)
    np.testing.assert_allclose(weighted.explained_variance_, repeated.explained_variance_, atol=1e-5)

    with pytest.warns(UserWarning, match="falls on a tie"):
        plain = AttenuatedPCA(40, alpha=0).fit(X, sample_weight=weights).components_
    np.testing.assert_allclose(plain @ plain.T, np.eye(40), atol=1e-9)
    assert sine(PCA(29).fit(twice).components_, plain[:29]) <= 1e-9

    everything = AttenuatedPCA().fit(X, sample_weight=weights)
    assert everything.components_.shape == AttenuatedPCA().fit(twice).components_.shape == (60, 600)


def test_a_tiny_weight_before_a_large_one_still_counts():
    """Whether a fold is empty was read off its weight, and 1e-17 + 5 is 5."""
    from attenua._data.sums import FoldSums, choose_frame

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
    model = AttenuatedPCA(3, alpha=0.5)
    for rows, weight in zip(batches, weights, strict=True):
        model.partial_fit(rows, sample_weight=weight)
    X, w = np.concatenate(batches), np.concatenate(weights)
    np.testing.assert_allclose(model.mean_, np.average(X, axis=0, weights=w), atol=1e-9)
    expected = np.linalg.eigvalsh(np.cov(X, rowvar=False, aweights=w, ddof=0))[::-1] * (
        w.sum() / (w.sum() - 1)
    )
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=1e-8)


# --- batches ------------------------------------------------------------------------------------------------


def failing(function, at, error):
    """The function, which raises an error once it has been called some number of times."""
    calls = []

    def call(*args, **kwargs):
        calls.append(args)
        if len(calls) >= at:
            raise error
        return function(*args, **kwargs)

    return call


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("estimator", [AttenuatedPCA, AttenuatedPCACV])
@pytest.mark.parametrize(
    "place",
    ["a block", "the third block", "taking a block", "taking the third block", "adding up", "counting"],
)
def test_a_batch_that_breaks_off_leaves_no_trace(monkeypatch, error, estimator, place):
    from attenua._data import sums

    X = spiked_rows(90, 6)
    X[40:60] *= 1e30  # this batch changes the unit, too
    model, known = (estimator(2).partial_fit(X[:40]) for _ in range(2))
    owner, name, at = {
        "a block": (sums.FoldSums, "_measure", 1),
        "the third block": (sums.FoldSums, "_measure", 3),
        "taking a block": (sums.FoldSums, "_take", 1),
        "taking the third block": (sums.FoldSums, "_take", 3),
        "adding up": (np, "outer", 1),
        "counting": (np, "bincount", 1),
    }[place]
    monkeypatch.setattr(sums, "_PRODUCT_BYTES", 1)
    monkeypatch.setattr(sums, "_MIN_PRODUCT_ROWS", 4)
    for batch in (X[40:60],) if place == "adding up" else (X[40:60], X[60:]):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, failing(getattr(owner, name), at, error))
            with pytest.raises(error):
                model.partial_fit(batch)
        same_sums(model, known)
    later, expected = model.partial_fit(X[60:]), known.partial_fit(X[60:])
    same_sums(later, expected)
    np.testing.assert_array_equal(later.mean_, expected.mean_)
    np.testing.assert_array_equal(later.components_, expected.components_)
    np.testing.assert_array_equal(later.explained_variance_, expected.explained_variance_)
    assert later.n_samples_ == 70


def same_sums(model, known):
    ours, theirs = model._stream, known._stream
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    assert (ours.n_rows, ours.n_left_out, ours.is_float32) == (
        theirs.n_rows,
        theirs.n_left_out,
        theirs.is_float32,
    )
    assert ours._sums.frame.unit == theirs._sums.frame.unit
    for name in ("weights", "totals", "scatters"):
        np.testing.assert_array_equal(getattr(ours._sums, name), getattr(theirs._sums, name), err_msg=name)


@pytest.mark.parametrize("container", ["batches", "memory map", "arrow", "dask array", "dask frame"])
@pytest.mark.parametrize("p", [7, 150])
def test_the_same_rows_give_the_same_choice_in_every_container(container, p, tmp_path):
    X = spiked_rows(203, p)
    in_memory = AttenuatedPCACV(3, cv=5).fit(X)
    model = AttenuatedPCACV(3, cv=5).fit(in_container(container, X, tmp_path))
    assert model.alpha_ == in_memory.alpha_
    np.testing.assert_allclose(model.cv_risk_, in_memory.cv_risk_, rtol=1e-6 if p > 128 else 1e-11)
    np.testing.assert_allclose(
        model.cv_risk_folds_, in_memory.cv_risk_folds_, rtol=1e-6 if p > 128 else 1e-11
    )
    assert model.folds_ == in_memory.folds_ == "row i is held out in fold i % cv"
    if p == 7:
        rows = np.arange(203)
        splits = [(rows[rows % 5 != fold], rows[rows % 5 == fold]) for fold in range(5)]
        risks = literal_risks(X, splits, 3, in_memory.alphas_)
        np.testing.assert_allclose(in_memory.cv_risk_folds_, risks, rtol=1e-9)


def in_container(container, X, folder):
    if container == "batches":
        return [X[:61], X[61:62], X[62:]]
    if container == "memory map":
        np.save(folder / "rows.npy", X)
        return np.load(folder / "rows.npy", mmap_mode="r")
    if container == "arrow":
        pa = pytest.importorskip("pyarrow")
        table = pa.table({f"c{i}": X[:, i] for i in range(X.shape[1])})
        return pa.Table.from_batches(table.to_batches(max_chunksize=50))
    da = pytest.importorskip("dask.array")
    rows = da.from_array(X, chunks=((50, 3, 100, 50), X.shape[1]))
    return (
        rows.to_dask_dataframe(columns=[f"c{i}" for i in range(X.shape[1])]) if "frame" in container else rows
    )


# --- threads and processes ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("p", [80, 400])  # matrices that joblib sends as they are, and as read-only maps
def test_processes_give_what_threads_give(p):
    X = spiked_rows(60, p)
    model = AttenuatedPCACV(3, alphas=ALPHAS, n_repeats=2, random_state=0, n_jobs=2)
    threads = model.fit(X).cv_risk_folds_
    with joblib.parallel_config("loky"):
        processes = model.fit(X).cv_risk_folds_
    np.testing.assert_allclose(processes, threads, rtol=1e-12)


# --- the rest -----------------------------------------------------------------------------------------------


def test_a_strength_that_was_not_compared_is_named():
    model = AttenuatedPCACV(2, alphas=ALPHAS).fit(spiked_rows(60, 8))
    with pytest.raises(ValueError, match=r"alpha=0.123 was not compared.*\[0.0, 0.25, 0.5, 0.75, 1.0\]"):
        paired_gain(model, alpha=0.123)


@pytest.mark.slow
def test_the_norm_of_a_sparse_covariance_takes_little_memory():
    from attenua._data.row_moments import RowMoments

    n, p = 4_100, 4_000
    rows = sp.random(n, p, density=5e-4, random_state=0, format="csr")
    moments = RowMoments(rows, np.ones(n), np.zeros(p))
    tracemalloc.start()
    try:
        squared = moments.squared_norm
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * p**2 / 3  # np.eye(p) alone is three times that
    mean = np.asarray(rows.mean(axis=0)).ravel()
    S = (rows.T @ rows).toarray() / n - np.outer(mean, mean)
    assert squared == pytest.approx(np.sum(S**2), rel=1e-9)


def flat(kind):
    """Large sparse rows without a gap in their spectrum."""
    if kind == "random":
        return sp.random(3_000, 6_000, density=0.003, random_state=0, format="csr")
    diagonal = sp.diags(1 + 1e-3 * np.random.default_rng(0).random(5_200))
    return sp.vstack([diagonal, -diagonal]).tocsr()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "diagonal"])
def test_sparse_rows_with_a_flat_spectrum(kind):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = AttenuatedPCA(5, alpha=0.5).fit(flat(kind))
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(5), atol=1e-8)
    if model.shortfall_ > 1e-8:
        assert any(issubclass(w.category, ConvergenceWarning) and "explain" in str(w.message) for w in said)


def test_a_column_that_is_constant_in_a_training_set_has_factor_zero_everywhere(monkeypatch):
    """A large constant has rounding errors, and tempering must not make a variance of them."""
    strict = pytest.importorskip("array_api_strict")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    X = spiked_rows(40, 6)
    X[:, 2] = 1e6 / 3
    X[::4, 4] = 1 / 3  # constant where only fold 0 is held in
    X[1::4, 5] = 0.1
    splits = [(np.arange(fold, 40, 4), np.arange((fold + 1) % 4, 40, 4)) for fold in range(4)]
    A = strict.asarray(X, device=strict.Device("device1"))
    with sklearn.config_context(array_api_dispatch=True):
        device = open_for_cv(AttenuatedPCACV(cv=splits), A).moments
    host = open_for_cv(AttenuatedPCACV(cv=splits), X).moments
    for theirs, ours in zip(device.pairs(), host.pairs(), strict=True):
        variances = tempered(ours.training, 0.5).variances
        varies = np.ptp(X[splits[ours.number][0]], axis=0) > 0
        assert ((variances > 0) == varies).all()
        found = tempered(theirs.training, 0.5).variances.to_device(strict.Device("CPU_DEVICE"))
        np.testing.assert_allclose(np.asarray(found), variances, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:The cut at")  # the axes of constant columns are all as good
@pytest.mark.parametrize(
    ("n", "p", "varying", "rank"), [(400, 200, 40, 30), (60, 560, 20, 30), (300, 200, 99, 60)]
)
@pytest.mark.parametrize("as_rows", [np.asarray, sp.csr_matrix])
def test_constant_columns_are_found_where_other_eigenvalues_are_negative(n, p, varying, rank, as_rows):
    """Nothing maps into the axes of constant columns, so growing the basis never finds them."""
    X = np.zeros((n, p))
    X[:, :varying] = spiked_rows(n, varying)
    S = np.cov(X.T, bias=True)
    T = S - np.diag(np.diag(S))
    W = AttenuatedPCA(rank, alpha=1.0).fit(as_rows(X)).components_
    lacks = np.linalg.eigvalsh(T)[::-1][:rank].sum() - np.trace(W @ T @ W.T)
    assert lacks <= 1e-8 * np.trace(S)


def test_more_batches_of_weights_than_of_rows():
    X = spiked_rows(40, 5)
    weights = [np.ones(20)] * 3
    with pytest.raises(ValueError, match="sample_weight has more batches than X"):
        AttenuatedPCA(2, alpha=0.5).fit(iter([X[:20], X[20:]]), sample_weight=weights)


def test_singular_values_of_large_numbers():
    X = spiked_rows(40, 5)
    expected = AttenuatedPCA(2, alpha=0.5).fit(X).singular_values_
    found = AttenuatedPCA(2, alpha=0.5).fit(X * 2.0**500).singular_values_
    np.testing.assert_allclose(found * 2.0**-500, expected, rtol=1e-12)


def test_validation_rows_with_other_columns_are_refused():
    X = pd.DataFrame(spiked_rows(60, 4), columns=list("abcd"))
    path = attenuation_path(X[:30], 2)
    with pytest.raises(ValueError, match="column 'd' where the path was fitted to 'a'"):
        select_on_validation(path, X[30:][list("dcba")])
    whole = select_on_validation(path, X[30:])
    batches = select_on_validation(path, iter([X[30:45], X[45:]]))
    np.testing.assert_allclose(batches.risk, whole.risk)
