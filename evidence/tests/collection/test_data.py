"""The data sets are what the list says.

Sets of scikit-learn are always read. For the others set ATTENUA_COLLECTION to the folder that
``python -m attenua_evidence collection`` filled. Nothing is fitted here.
"""

import os
from functools import cache

import numpy as np
import pandas as pd
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
        known = np.isfinite(found.X)
        assert np.isnan(found.X[~known]).all(), entry.name
        assert known.all() != entry.holes, entry.name
        assert known.any(axis=1).all(), entry.name
        assert (known.mean(axis=0) >= 0.5).all(), entry.name
        assert not pd.DataFrame(found.X).duplicated().any(), entry.name
        varies = np.nanmax(found.X, axis=0) > np.nanmin(found.X, axis=0)
        assert varies.mean() > 0.9 if entry.order else varies.all(), entry.name
        check_numbers(entry, found.groups, entry.grouping, 3)
        assert found.groups is None or (found.groups >= 0).all(), entry.name
        check_numbers(entry, found.labels, entry.labelling, 2)
        assert (found.target is not None) == bool(entry.target), entry.name
        if entry.target:
            assert found.target.shape == entry.shape[:1], entry.name
            assert np.isfinite(found.target).mean() > 0.9, entry.name
            assert len(np.unique(found.target)) > 10, entry.name


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
        apart = 1 - pd.DataFrame(x).corr().to_numpy()  # NaN for a column that never varies
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
    return {column.tobytes() for column in np.round((x - np.nanmean(x, axis=0)) / np.nanstd(x, axis=0), 5).T}
