"""Which rows are held out together."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold, LeaveOneGroupOut

from attenua import AttenuatedPCACV, CorrectedPCACV
from attenua._data.folds import interleaved_folds, make_splits
from tests.helpers import dealt_out_splits, interleaved_splits, spiked_rows
from tests.literal import smooth_rows

N = 12
X = np.empty((N, 0))
GROUPS = np.repeat(list("abcdef"), 2)


@pytest.mark.parametrize(("n", "k"), [(12, 3), (10, 5), (203, 5), (7, 7), (11, 4)])
def test_a_number_deals_rows_out_in_turn(n, k):
    for (train, held), (expected_train, expected_held), fold in zip(
        make_splits(k, n), interleaved_splits(n, k), interleaved_folds(k, n), strict=True
    ):
        np.testing.assert_array_equal(train, expected_train)
        np.testing.assert_array_equal(held, expected_held)
        np.testing.assert_array_equal(np.arange(n)[fold], expected_held)


def test_a_splitter_gives_consecutive_folds():
    for (train, held), (expected_train, expected_held) in zip(
        make_splits(KFold(3), N), KFold(3).split(X), strict=True
    ):
        np.testing.assert_array_equal(train, expected_train)
        np.testing.assert_array_equal(held, expected_held)


NAMES = {
    "numbers": lambda g: g,
    "in another order": lambda g: 100 - g,
    "texts": lambda g: f"s{g}",
    "texts of one length": lambda g: f"s{g:03}",
    "fractions": lambda g: g / 7,
}


@pytest.mark.parametrize("named", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_folds_of_groups_do_not_depend_on_their_names(k, named):
    sizes = [1, 3, 3, 2, 5, 3, 1, 1, 4, 2, 2]
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    found = make_splits(k, len(groups), groups=[named(int(g)) for g in groups])
    for split, expected in zip(found, dealt_out_splits(groups, k), strict=True):
        np.testing.assert_array_equal(split[0], expected[0])
        np.testing.assert_array_equal(split[1], expected[1])


def test_groups_are_dealt_out_by_hand():
    """The largest group first, and of equal ones the first; each to the fold with the fewest rows."""
    groups = ["b", "a", "c", "c", "b", "d", "a", "c"]  # sizes: c 3, b 2, a 2, d 1
    held = [held.tolist() for _, held in make_splits(3, 8, groups=groups)]
    assert held == [[2, 3, 7], [0, 4, 5], [1, 6]]


def test_folds_of_groups_are_even():
    groups = np.random.default_rng(1).integers(0, 40, 1000)
    sizes = [len(held) for _, held in make_splits(5, 1000, groups=groups)]
    assert max(sizes) - min(sizes) <= 12  # what GroupKFold of scikit-learn reaches


def test_held_out_rows_that_are_training_rows_are_warned_of():
    rows = np.arange(12)
    splits = [(rows[:8], rows[8:]), (rows[4:], rows[:5]), (rows, rows[6:])]
    with pytest.warns(
        UserWarning,
        match=r"also training rows in 2 of the 3 splits of cv \(the first is split 1, with row 4\)",
    ) as found:
        make_splits(splits, 12)
    assert len(found) == 1
    with pytest.warns(
        UserWarning, match="held-out rows are also training rows in 1 of the 1 splits"
    ) as found:
        CorrectedPCACV(1, cv=[(rows, rows)]).fit(smooth_rows(12, 3))
    assert found[0].filename == __file__


def test_none_means_five_folds_as_in_scikit_learn():
    for groups in (None, GROUPS):
        for found, expected in zip(
            make_splits(None, N, groups=groups), make_splits(5, N, groups=groups), strict=True
        ):
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(found[1], expected[1])


def test_masks_and_splitters_are_splits():
    mask = np.arange(12) < 4
    ((train, held),) = make_splits([(~mask, mask)], N)
    np.testing.assert_array_equal(held, np.arange(4))
    np.testing.assert_array_equal(train, np.arange(4, 12))
    assert len(make_splits(LeaveOneGroupOut(), N, groups=GROUPS)) == 6
    assert len(make_splits((pair for pair in KFold(2).split(X)), N)) == 2


def test_fewer_groups_than_folds_are_each_held_out_once():
    labels = np.array(["north", "south", "west"])[np.arange(N) % 3]
    splits = make_splits(5, N, groups=labels)
    held_out = sorted(set(labels[held]).pop() for _, held in splits)
    assert held_out == ["north", "south", "west"]
    assert all(len(set(labels[held])) == 1 for _, held in splits)


REFUSED = [
    ({"cv": 5, "groups": ["one"] * 12}, "groups must have at least 2 different labels"),
    ({"cv": 3, "groups": GROUPS[:5]}, r"one label for each of the 12 rows; got shape \(5,\)"),
    ({"cv": 3, "groups": [1, None] * 6}, "groups holds a missing label"),
    ({"cv": 3, "groups": np.array([1, "a"] * 6, dtype=object)}, "groups mixes labels that cannot be"),
    ({"cv": 3, "groups": np.array([{1}] * 12)}, "groups must hold numbers or text; got .* type set"),
    ({"cv": 3, "groups": np.full(12, np.datetime64("NaT", "s"))}, "groups holds a missing label"),
    ({"cv": 3, "groups": np.ma.masked_equal(range(12), 3)}, "groups holds a missing label"),
    ({"cv": 3, "groups": "subject"}, "groups must hold one entry per row, not the name of a column"),
    ({"cv": KFold}, "cv must be a number of folds, a splitter or an iterable of splits; got .*KFold"),
    ({"cv": b"5"}, "cv must be a number of folds, a splitter"),
    ({"cv": iter([])}, "cv gave no splits: an iterator gives them once"),
    ({"cv": itertools.cycle([([0, 1], [2])])}, "cv gave more than 10,000 splits and may have no end"),
    ({"cv": 3, "groups": [1.0, np.nan] * 6}, "groups holds a label that is NaN"),
    ({"cv": [(range(12), [])]}, "split 0 of cv has no held-out rows"),
    ({"cv": [([], range(12))]}, "split 0 of cv has no training rows"),
    ({"cv": [([0], range(1, 12))]}, "split 0 of cv has one training row"),
    ({"cv": [(range(6), [12])]}, "indices below 12"),
    ({"cv": [(range(6), [-1])]}, "indices below 12"),
    ({"cv": [(range(6), [0.5])]}, "indices below 12"),
    ({"cv": [(range(6), [True, False])]}, "indices below 12"),
    ({"cv": [range(6)]}, "must be a pair"),
    ({"cv": []}, "cv gave no splits"),
    ({"cv": "five"}, "cv must be a number of folds, a splitter or an iterable"),
    ({"cv": 2.5}, "cv must be a number of folds, a splitter or an iterable"),
]


def test_what_is_refused():
    for options, message in REFUSED:
        with pytest.raises(ValueError, match=message):
            make_splits(n_samples=N, **options)


def test_a_long_list_of_splits_is_taken_whole_and_a_long_iterator_is_not():
    splits = [(range(1, N), [0])] * 10_001
    assert len(make_splits(splits, N)) == 10_001
    with pytest.raises(ValueError, match="if it has one, give a list"):
        make_splits(iter(splits), N)


def test_a_splitter_that_gives_no_splits_to_go_through():
    class Splitter:
        def split(self, X, y, groups):
            return 5

    with pytest.raises(ValueError, match=r"^cv\.split must return an iterable of splits; got 5\.$"):
        make_splits(Splitter(), N)


def test_a_splitter_sees_data_targets_and_groups_as_given():
    seen = {}

    class Splitter:
        def split(self, X, y, groups):
            seen.update(X=X, y=y, groups=groups)
            return KFold(2).split(X)

    make_splits(Splitter(), N, X=X, y=list(range(N)), groups=None)
    assert seen["X"] is X
    assert seen["y"] == list(range(N))


def test_two_training_rows_are_enough_and_one_is_not():
    ((train, held),) = make_splits([([0, 1], [2])], 3)
    assert (train.tolist(), held.tolist()) == ([0, 1], [2])
    with pytest.raises(ValueError, match="split 0 of cv has one training row"):
        make_splits([([0], [1, 2])], 3)


FORMS = {
    "array": lambda X: X,
    "frame": pd.DataFrame,
    "sparse": sp.csr_array,
    "Arrow table": lambda X: pa.table({f"x{i}": column for i, column in enumerate(X.T)}),
    "missing cells": lambda X: np.where(np.arange(X.size).reshape(X.shape) == 7, np.nan, X),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("estimator", [AttenuatedPCACV, CorrectedPCACV])
def test_renaming_groups_changes_nothing(estimator, form):
    X = FORMS[form](spiked_rows(46, 6))
    numbers = np.random.default_rng(0).integers(0, 15, 46)
    one, two, three = (
        estimator(2).fit(X, groups=groups)
        for groups in (numbers, [f"s{g}" for g in numbers], [f"subject {97 - 3 * g}" for g in numbers])
    )
    for other in (two, three):
        np.testing.assert_array_equal(other.cv_risk_folds_, one.cv_risk_folds_)
        np.testing.assert_array_equal(other.components_, one.components_)


@pytest.mark.parametrize("estimator", [AttenuatedPCACV, CorrectedPCACV])
def test_training_sets_of_too_few_different_rows_are_warned_of(estimator):
    """Four different rows span three directions; without the copies of one, two are left."""
    X = np.repeat(np.random.default_rng(0).standard_normal((4, 6)), 3, axis=0)
    by_copies = [(np.flatnonzero(np.arange(12) // 3 != k), np.arange(3 * k, 3 * k + 3)) for k in range(4)]
    words = (
        r"The cut at n_components=3 falls on a tie in 4 of the 4 training sets: component 4 would be as good"
    )
    with pytest.warns(UserWarning, match=words) as found:
        estimator(3, cv=by_copies).fit(X)
    assert len(found) == 1
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator(2, cv=by_copies).fit(X)
        estimator(None, cv=by_copies).fit(X)
        estimator(3, cv=3).fit(X)  # copies of every row are in every training set
