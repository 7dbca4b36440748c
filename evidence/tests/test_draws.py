"""Which rows are fitted and which are the test."""

from itertools import product

import numpy as np
from tests.helpers import each

from attenua_evidence.draws import MOST_TESTED, draw, ranks_allowed, rows_allowed, scaled_by_first

from .sets import Table


def numbered(n, *, group_of=None, columns=3):
    """Return a table whose first column is the number of the row."""
    X = np.random.default_rng(0).standard_normal((n, columns))
    X[:, 0] = np.arange(n)
    groups = None if group_of is None else np.array([group_of(i) for i in range(n)])
    return Table(X, groups, np.arange(n) % 4)


def test_sizes_leave_half_for_the_test_and_half_of_the_rank():
    assert rows_allowed(31) == []
    assert rows_allowed(32) == [16]
    assert rows_allowed(600) == [16, 32, 64, 128, 256]
    assert ranks_allowed(16, 100) == [2, 5]
    assert ranks_allowed(256, 40) == [2, 5, 10, 20]
    assert ranks_allowed(256, 9) == [2]


def test_a_draw_splits_the_rows_by_its_names_alone():
    # Every row is on one side with its own label.
    table = numbered(100)
    drawn = draw(table, "name", "one", 32, 0)
    rows = np.concatenate([drawn.X, drawn.X_test])[:, 0]
    assert len(drawn.X) == 32
    assert sorted(rows) == list(range(100))
    np.testing.assert_array_equal(np.append(drawn.labels, drawn.labels_test), rows % 4)
    assert drawn.groups is None
    # A draw depends on its names alone.
    table = numbered(100, group_of=lambda i: i // 5)
    first = draw(table, "name", "one", 32, 1)
    draw(table, "other", "one", 16, 0)
    for again, expected in zip(draw(table, "name", "one", 32, 1), first, strict=True):
        np.testing.assert_array_equal(again, expected)
    for other in (("name", "one", 32, 2), ("other", "one", 32, 1)):
        assert set(draw(table, *other).X[:, 0]) != set(first.X[:, 0])


def test_groups_are_kept_whole():
    # No group is on both sides.
    table = numbered(130, group_of=lambda i: int(np.sqrt(i)))  # groups of 1, 3, 5, ... rows
    for rows, number in product((16, 32, 64), range(5)):
        drawn = draw(table, "name", "one", rows, number)
        tested = {int(np.sqrt(row)) for row in drawn.X_test[:, 0]}
        assert len(drawn.X) == rows
        assert len(drawn.X_test) >= 130 / 3
        assert not tested & set(drawn.groups)
        assert len(set(drawn.groups)) >= 2
        np.testing.assert_array_equal(drawn.groups, np.sqrt(drawn.X[:, 0]).astype(int))
    # Test groups hold a third of the rows and not a group more.
    table = numbered(90, group_of=lambda i: i // 10)
    assert {len(draw(table, "name", "one", 16, number).X_test) for number in range(10)} == {30}
    # There is no draw where groups are too large.
    # One of the two groups is the test, so that rows of one group are left.
    assert draw(numbered(100, group_of=lambda i: i // 50), "name", "one", 16, 0) is None


@each("group_of", [None, lambda i: i // 7])
def test_a_large_test_set_is_a_random_part(group_of):
    drawn = draw(numbered(9000, group_of=group_of), "name", "one", 16, 0)
    assert len(drawn.X_test) == MOST_TESTED
    assert abs(drawn.X_test[:, 0].mean() - 4500) < 500


def test_scaling_is_that_of_the_fitted_rows():
    # Mixed units are scaled by the fitted rows only.
    table = numbered(100, columns=4)
    table.X[:, 1] *= 1000
    as_they_are, mixed = (draw(table, "name", unit, 32, 0) for unit in ("one", "mixed"))
    np.testing.assert_allclose(mixed.X.std(axis=0), 1)
    np.testing.assert_allclose(mixed.X_test, as_they_are.X_test / as_they_are.X.std(axis=0))
    table.X[as_they_are.X_test[:, 0].astype(int), 1:] *= 7
    np.testing.assert_array_equal(draw(table, "name", "mixed", 32, 0).X, mixed.X)
    # Columns that do not vary in the fitted rows go.
    # The mean of 0.1 is not exactly 0.1: a standard deviation alone would call it varying.
    X, X_test = np.array([[1.0, 0.1, 3], [2, 0.1, 5], [3, 0.1, 3]]), np.array([[1.0, 7, 4]])
    scaled, scaled_test = scaled_by_first(X, X_test)
    assert scaled.shape == (3, 2)
    np.testing.assert_allclose(scaled_test, X_test[:, [0, 2]] / X[:, [0, 2]].std(axis=0))
