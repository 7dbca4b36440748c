"""Which rows are held out together."""

import itertools

import numpy as np
import pytest
from sklearn.model_selection import KFold, LeaveOneGroupOut

from attenua._data.folds import interleaved_folds, make_splits
from tests.helpers import interleaved_splits

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


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_repetitions_are_reshuffled_partitions(groups):
    splits = make_splits(3, N, groups=groups, n_repeats=4, random_state=0)
    assert len(splits) == 12
    for repetition in range(4):
        held = np.concatenate([h for _, h in splits[3 * repetition : 3 * repetition + 3]])
        np.testing.assert_array_equal(np.sort(held), np.arange(12))
    patterns = {tuple(np.sort(held)) for _, held in splits}
    assert len(patterns) > 6


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


REFUSED = [
    ({"cv": 7, "groups": GROUPS}, "cv=7 folds need at least as many groups; got 6 groups"),
    ({"cv": 3, "groups": GROUPS[:5]}, r"one label for each of the 12 rows; got shape \(5,\)"),
    ({"cv": 3, "groups": [1, None] * 6}, "groups holds a missing label"),
    ({"cv": 3, "groups": np.array([1, "a"] * 6, dtype=object)}, "groups mixes labels that cannot be"),
    ({"cv": 3, "groups": np.array([{1}] * 12)}, "groups must hold numbers or text; got .* type set"),
    ({"cv": 3, "groups": np.full(12, np.datetime64("NaT"))}, "groups holds a missing label"),
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
    ({"cv": KFold(3), "n_repeats": 2}, "n_repeats above 1 needs cv to be a number of folds"),
    ({"cv": 3, "n_repeats": 1.5}, "n_repeats must be an integer"),
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
