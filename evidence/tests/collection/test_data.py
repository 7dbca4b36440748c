"""The data sets are what the list says.

Sets of scikit-learn are always read. For the others set ATTENUA_COLLECTION to the folder that
``python -m attenua_evidence collection`` filled. Nothing is fitted here.
"""

import os
from functools import cache

import numpy as np
import pytest
from tests.helpers import each

from attenua_evidence.collection.entries import ENTRIES

FOLDER = os.environ.get("ATTENUA_COLLECTION", "")

both_sources = each("is_fetched", [False, True])


@cache
def table(entry):
    return entry.read(FOLDER)


def entries(is_fetched):
    """Return the data sets of scikit-learn, or those of other packages if they are here."""
    if is_fetched:
        if not FOLDER:
            pytest.skip("ATTENUA_COLLECTION names no folder")
        pytest.importorskip("rdata")
        pytest.importorskip("PIL", reason="could not import 'pillow'")
    return [entry for entry in ENTRIES if bool(entry.source.file) == is_fetched]


@both_sources
def test_tables_are_what_the_list_says(is_fetched):
    for entry in entries(is_fetched):
        found = table(entry)
        assert found.X.dtype == np.float64, entry.name
        assert found.X.shape == entry.shape, entry.name
        assert found.duplicates == entry.duplicates, entry.name
        assert np.isfinite(found.X).all(), entry.name
        assert len(np.unique(found.X, axis=0)) == len(found.X), entry.name
        varies = np.ptp(found.X, axis=0) > 0
        assert varies.mean() > 0.9 if entry.order else varies.all(), entry.name
        check_numbers(entry, found.groups, entry.grouping, 3)
        assert found.groups is None or (found.groups >= 0).all(), entry.name
        check_numbers(entry, found.labels, entry.labelling, 2)


def check_numbers(entry, numbers, described, least):
    """Groups and labels are there if they are described, count from 0, and -1 is not known."""
    assert (numbers is not None) == bool(described), entry.name
    if described:
        assert numbers.shape == entry.shape[:1], entry.name
        assert numbers.min() >= -1, entry.name
        known = np.unique(numbers[numbers >= 0])
        np.testing.assert_array_equal(known, np.arange(len(known)), entry.name)
        assert len(known) >= least, entry.name


@both_sources
def test_neighbours_are_more_alike_than_other_columns(is_fetched):
    """One less the correlation is smaller by 30%, down and across; shuffled columns do not give that."""
    for entry in entries(is_fetched):
        if not entry.order:
            continue
        x = table(entry).X
        varies = np.flatnonzero(np.ptp(x, axis=0) > 0)
        apart = np.full((x.shape[1], x.shape[1]), np.nan)
        apart[np.ix_(varies, varies)] = 1 - np.corrcoef(x[:, varies].T)
        typical = np.nanmean(apart[np.triu_indices(len(apart), 1)])
        grid = np.arange(x.shape[1]).reshape(entry.order if isinstance(entry.order, tuple) else (1, -1))
        for a, b in ((grid[:, 1:], grid[:, :-1]), (grid[1:], grid[:-1])):
            assert a.size == 0 or np.nanmean(apart[a, b]) < 0.7 * typical, entry.name


def test_no_data_set_repeats_rows_or_columns_of_another():
    """A variant of a set under another name would share rows, or columns up to their unit."""
    owner = {}
    for entry in entries(False) + entries(True):
        x = table(entry).X
        for mark in _row_marks(x) | _column_marks(x):
            assert owner.setdefault(mark, entry.name) == entry.name


def _row_marks(x):
    """Return the rows that have several values, as bytes."""
    return {row.tobytes() for row in np.round(x, 6) if len(np.unique(row)) > 5}


def _column_marks(x):
    """Return the sorted values of columns that take many, standardised, as bytes."""
    many = np.array([len(np.unique(column)) >= 20 for column in x.T])
    x = np.sort(x[:, many], axis=0)
    return {column.tobytes() for column in np.round((x - x.mean(axis=0)) / x.std(axis=0), 5).T}
