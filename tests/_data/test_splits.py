"""Moments of both sides of splits: right whatever the splits, and read as few times as possible."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit

from attenua import AttenuatedPCACV, CorrectedPCACV
from attenua._correct.row_tempering import row_tempered
from attenua._data import splits as splits_module
from attenua._data.opening import open_for_cv
from attenua._data.rows import HostRows
from attenua._data.splits import FoldMoments, SplitMoments
from tests.helpers import covariance, in_turn, interleaved_splits, pooled, risk_folds_by_hand, spiked_rows


class CountingRows(HostRows):
    """Rows that note how many of them were read."""

    read = 0

    def _scatter_moments(self, rows):
        self.read += len(np.arange(self.n_samples)[slice(None) if rows is None else rows])
        return super()._scatter_moments(rows)


def consecutive(n, k):
    return [(np.setdiff1d(np.arange(n), held), held) for held in np.array_split(np.arange(n), k)]


def pairs_in_order(moments):
    return sorted(moments.pairs(), key=lambda pair: pair.number)


SPLITS = {
    "consecutive": consecutive(60, 5),
    "interleaved": interleaved_splits(60, 5),
    "many parts": consecutive(60, 30),
    "leave one out": consecutive(60, 60),
    "uneven parts": [
        (np.setdiff1d(np.arange(60), held), held)
        for held in np.split(np.random.default_rng(0).permutation(60), [3, 20, 21])
    ],
    "no partition": [(np.arange(10, 50), np.arange(10)), (np.arange(30), np.arange(40, 60))],
    "rows held out twice": [(np.arange(40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))] * 2,
    "rows counted twice": [(np.arange(40).repeat(2), np.arange(40, 60)), (np.arange(30), np.arange(30, 60))],
}


@pytest.mark.parametrize(
    ("splits", "X"),
    in_turn(SPLITS, [spiked_rows(60, 6), spiked_rows(60, 700), sp.csr_array(spiked_rows(60, 6))]),
)
def test_both_sides_of_every_split(X, splits):
    splits, dense = SPLITS[splits], X.toarray() if sp.issparse(X) else X
    moments = SplitMoments(HostRows(X), splits)
    assert moments.n_splits == len(splits)
    V = np.random.default_rng(0).standard_normal((X.shape[1], 2))
    for pair, (training, held) in zip(pairs_in_order(moments), splits, strict=True):
        for found, rows in ((pair.training, training), (pair.held_out, held)):
            expected = covariance(dense[rows]) @ V
            assert found.weight == len(rows)
            np.testing.assert_allclose(found.mean, dense[rows].mean(axis=0), rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(found.apply(V), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moments.total.apply(V), covariance(dense) @ V, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("splits", [consecutive(100, 5), interleaved_splits(100, 5)])
def test_cross_validation_and_refit_read_every_row_once(splits):
    rows = CountingRows(spiked_rows(100, 6))
    moments = SplitMoments(rows, splits)
    assert len(list(moments.pairs())) == 5
    assert moments.total.weight == 100
    assert rows.read == 100


def test_repetitions_are_partitions_of_their_own():
    rows = CountingRows(spiked_rows(60, 6))
    rng = np.random.default_rng(0)
    held = [part for _ in range(3) for part in np.array_split(rng.permutation(60), 4)]
    moments = SplitMoments(rows, [(np.setdiff1d(np.arange(60), part), part) for part in held])
    assert moments.total.weight == 60
    assert len(list(moments.pairs())) == 12
    assert rows.read == 180


def test_many_parts_are_read_about_as_often_as_halving_takes():
    rows = CountingRows(spiked_rows(128, 6))
    assert len(list(SplitMoments(rows, consecutive(128, 64)).pairs())) == 64
    assert rows.read <= 128 * (np.log2(64) + 1)


@pytest.mark.parametrize("n_folds", [5, 40, 120])
def test_an_outlier_that_is_held_out_does_not_reach_the_training_rows(n_folds):
    X = spiked_rows(120, 6)
    X[0] += 1e6
    splits = consecutive(120, n_folds)
    for number, training, held in SplitMoments(HostRows(X), splits).pairs():
        expected = covariance(X[splits[number][0]])
        np.testing.assert_allclose(training.covariance, expected, rtol=1e-9)
        assert held.weight == len(splits[number][1])


def test_folds_of_different_sizes_are_judged_in_one_unit():
    X = spiked_rows(60, 6)
    expected = AttenuatedPCACV(2, alphas=[0, 0.5], cv=3).fit(X)
    tiny = AttenuatedPCACV(2, alphas=[0, 0.5], cv=3).fit(X * 1e-150)
    np.testing.assert_allclose(tiny.cv_risk_, expected.cv_risk_ * 1e-300, rtol=1e-9)
    X[::3] = 0  # a fold without a size of its own
    expected = AttenuatedPCACV(2, alphas=[0, 0.5], cv=3).fit(X)
    tiny = AttenuatedPCACV(2, alphas=[0, 0.5], cv=3).fit(X * 2.0**-500)
    np.testing.assert_allclose(np.abs(tiny.components_), np.abs(expected.components_), rtol=1e-9)
    X[46] *= 1e100  # one that no other fold is like
    moments = SplitMoments(HostRows(X), interleaved_splits(60, 3))
    for _, training, held in moments.pairs():
        assert training.unit == held.unit == moments.total.unit


def test_a_single_fold_holds_nothing_out():
    moments = FoldMoments([HostRows(spiked_rows(30, 6)).moments()])
    np.testing.assert_allclose(
        moments.total.covariance, covariance(spiked_rows(30, 6)), rtol=1e-9, atol=1e-10
    )


def test_moments_of_splits_are_kept_only_where_they_are_small(monkeypatch):
    """Few rows of many columns mix by a matrix of every split, as large as the square of the rows."""
    data = open_for_cv(CorrectedPCACV(cv=5), spiked_rows(30, 600))
    for most, is_kept in ((8 * 5 * 30**2, True), (8 * 5 * 30**2 - 1, False)):
        monkeypatch.setattr(splits_module, "_KEPT_BYTES", most)
        (splits,) = row_tempered(data.reweighter, [1.0])
        assert next(splits.pairs()) is not next(splits.pairs())
        splits.keep_pairs()
        assert (next(splits.pairs()) is next(splits.pairs())) == is_kept


ALPHAS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
# Subspaces of folds are iterated above 128 columns, and only as accurate as comparing them needs.
ITERATED = 1e-4


@pytest.mark.parametrize(("n", "p"), [(48, 6), (120, 300), (32, 600)])
def test_bootstrap_training_sets_are_not_taken_for_complements(n, p):
    """As many training rows as the others are, but some of them twice."""
    X, random = spiked_rows(n, p), np.random.default_rng(1)
    splits = [(random.choice(train, size=len(train)), held) for train, held in KFold(4).split(X)]
    model = AttenuatedPCACV(2, alphas=ALPHAS, cv=splits).fit(X)
    risks = risk_folds_by_hand(X, splits, ALPHAS, 2)
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
@pytest.mark.parametrize(("kind", "p"), in_turn(SPLITS_WITH_AN_OUTLIER, [6, 140, 600]))
def test_a_held_out_outlier_leaves_nothing_behind(kind, p):
    """Sums of all rows less those of an outlier would keep the rounding errors of its squares."""
    X = spiked_rows(48, p)
    X[3] *= 1e9
    splits = SPLITS_WITH_AN_OUTLIER[kind](X)
    holds_it = np.array([3 in held for _, held in splits])
    assert holds_it.any()
    model = AttenuatedPCACV(2, alphas=ALPHAS, cv=splits).fit(X)
    risks = risk_folds_by_hand(X, splits, ALPHAS, 2)
    close = 1e-6 if p <= 128 else ITERATED
    np.testing.assert_allclose(model.cv_risk_folds_[holds_it], risks[holds_it], rtol=close)
    assert model.alpha_ == ALPHAS[np.argmin(pooled(risks, splits))]
