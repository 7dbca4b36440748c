"""Cleaning, the same for every data set."""

import numpy as np

from attenua_evidence.collection.readers.returns import log_returns, week
from attenua_evidence.collection.table import Table, clean, codes

NAN = np.nan


def rows():
    """Twenty rows: a hole in one, a column of holes, a column of fives, and a repeat of the first."""
    x = np.column_stack([np.arange(20.0), np.full(20, NAN), np.full(20, 5.0), np.arange(20.0) ** 2])
    x[3, 0] = NAN
    x[7] = x[0]
    return Table(x, np.arange(20) // 2, np.where(np.arange(20) < 10, 4, 2))


def test_holes_constant_columns_and_repeats_go():
    done = clean(rows(), ordered=False)
    kept = np.delete(np.arange(20.0), [3, 7])
    np.testing.assert_array_equal(done.X, np.column_stack([kept, kept**2]))
    assert done.duplicates == 1
    # A constant column stays where columns have an order.
    assert clean(rows(), ordered=True).X.shape == (18, 3)
    # A column goes when it misses more than a tenth.
    x = np.random.default_rng(0).standard_normal((20, 3))
    x[:2, 0] = NAN, np.inf  # an infinite value is missing, too
    x[2:5, 1] = NAN
    np.testing.assert_array_equal(clean(Table(x), ordered=False).X, x[2:][:, [0, 2]])


def test_holes_are_kept_where_wanted():
    x = np.random.default_rng(0).standard_normal((20, 4))
    x[:10, 0] = NAN  # half of a column may miss, but no more
    x[:11, 1] = NAN
    x[3:5, [0, 2]] = np.inf
    x[5] = NAN  # a row without any value goes first
    x[:, 3] = 1.0
    x[5, 3] = NAN
    x[1] = x[0]
    table = Table(x, target=np.arange(20.0))
    done = clean(table, ordered=False, holes=True)
    kept = np.delete(np.arange(20), [1, 3, 4, 5])
    np.testing.assert_array_equal(done.X, np.where(np.isinf(x), NAN, x)[np.ix_(kept, [0, 2])])
    np.testing.assert_array_equal(done.target, kept)
    assert done.duplicates == 1
    # Rows are equal only if they have the same holes, too.
    x = np.array([[1, NAN, 2], [1, 3, 2], [1, NAN, 2], [4, 5, 1], [1, 2, 3]])
    assert clean(Table(x), ordered=True, holes=True).duplicates == 1


def test_groups_and_labels_after_cleaning():
    # Groups and labels go with their rows and have no gaps.
    table = rows()
    done = clean(Table(table.X, np.arange(20), table.labels), ordered=False)
    np.testing.assert_array_equal(done.groups, np.arange(18))
    np.testing.assert_array_equal(done.labels, np.repeat([1, 0], [8, 10]))
    # Unknown labels stay unknown.
    labels = np.where(np.arange(20) < 5, -1, 7)
    done = clean(Table(rows().X, labels=labels), ordered=False)
    np.testing.assert_array_equal(done.labels, np.repeat([-1, 0], [4, 14]))


def test_codes_weeks_and_returns():
    # Codes are in sorted order, and -1 is missing; weeks start on Monday; returns are in percent.
    np.testing.assert_array_equal(codes(["b", "a", None, NAN, "b"]), [1, 0, -1, -1, 1])
    np.testing.assert_array_equal(np.diff(week(np.arange(12))) > 0, np.arange(1, 12) % 7 == 4)
    np.testing.assert_allclose(log_returns(np.exp([[0.0], [0.01], [0.03]])), [[1], [2]])
