import numpy as np
import pytest

from attenua._correct.columns import column_labels


def test_forms_of_the_same_partition_agree():
    by_label = column_labels(["b", "a", "b", "a"], 4)
    by_lists = column_labels([[1, 3], [0, 2]], 4)
    by_arrays = column_labels([np.array([1, 3]), range(0, 4, 2)], 4)
    np.testing.assert_array_equal(by_label, by_lists)
    np.testing.assert_array_equal(by_label, by_arrays)
    assert column_labels(None, 4) is None


REFUSED = [
    ([], "feature_groups is empty"),
    ([[0, 1], []], r"feature_groups\[1\] is empty"),
    ([[0, 1], [2]], "must cover every column; 1 of 4 are in no group, the first is column 3"),
    ([[0, 1], [1, 2, 3]], r"names a column twice \(column 1\)"),
    ([[0, 0], [1, 2, 3]], "names a column twice"),
    ([[0, 1], [2, 4]], "names column 4, but the data have columns 0 to 3"),
    ([[0.0, 1.5], [2, 3]], "must hold column indices"),
    ([0, 1, 1], "one label for each of the 4 columns"),
    ([0, 1, np.nan, 1], "NaN or infinite"),
    ("abcd", "must be None, one label per column"),
    (3, "must be None, one label per column"),
]


def test_what_is_not_a_partition_is_refused():
    for groups, message in REFUSED:
        with pytest.raises(ValueError, match=message):
            column_labels(groups, 4)
