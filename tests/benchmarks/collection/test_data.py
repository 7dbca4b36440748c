"""The data sets are what the list says.

Sets of scikit-learn are always read. For the others set ATTENUA_COLLECTION to the folder that
``python -m collection`` filled. Nothing is fitted here.
"""

import os
from functools import cache

import numpy as np
import pytest

from collection.entries import ENTRIES

FOLDER = os.environ.get("ATTENUA_COLLECTION", "")

each = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


@cache
def table(entry):
    """Return the table of a data set, or skip the test."""
    if entry.source.file and not FOLDER:
        pytest.skip("ATTENUA_COLLECTION names no folder")
    if entry.source.registry == "debian":
        pytest.importorskip("rdata")
    if entry.package == "scikit-image":
        pytest.importorskip("PIL", reason="could not import 'pillow'")
    return entry.read(FOLDER)


@each
def test_rows_are_what_the_list_says(entry):
    found = table(entry)
    assert found.X.dtype == np.float64
    assert found.X.shape == entry.shape
    assert found.duplicates == entry.duplicates
    assert np.isfinite(found.X).all()
    assert len(np.unique(found.X, axis=0)) == len(found.X)


@each
def test_columns_vary(entry):
    varies = np.ptp(table(entry).X, axis=0) > 0
    assert varies.mean() > 0.9 if entry.order else varies.all()


@each
@pytest.mark.parametrize("which", ["groups", "labels"])
def test_groups_and_labels_are_what_the_list_says(entry, which):
    told = {"groups": entry.grouping, "labels": entry.labelling}[which]
    numbers = getattr(table(entry), which)
    assert (numbers is not None) == bool(told)
    if told:
        assert numbers.shape == entry.shape[:1]
        known = np.unique(numbers[numbers >= 0])
        np.testing.assert_array_equal(known, np.arange(len(known)))
        assert len(known) >= (3 if which == "groups" else 2)
        assert (numbers >= 0).all() or (which == "labels" and numbers.min() == -1)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.order], ids=lambda entry: entry.name)
def test_neighbours_are_more_alike_than_other_columns(entry):
    """One less the correlation is smaller by 30%, down and across; shuffled columns do not give that."""
    x = table(entry).X
    varies = np.flatnonzero(np.ptp(x, axis=0) > 0)
    apart = np.full((x.shape[1], x.shape[1]), np.nan)
    apart[np.ix_(varies, varies)] = 1 - np.corrcoef(x[:, varies].T)
    typical = np.nanmean(apart[np.triu_indices(len(apart), 1)])
    grid = np.arange(x.shape[1]).reshape(entry.order if isinstance(entry.order, tuple) else (1, -1))
    for a, b in ((grid[:, 1:], grid[:, :-1]), (grid[1:], grid[:-1])):
        if a.size:
            assert np.nanmean(apart[a, b]) < 0.7 * typical


def test_no_data_set_repeats_rows_or_columns_of_another():
    """A variant of a set under another name would share rows, or columns up to their unit."""
    owner = {}
    for entry in ENTRIES:
        x = table(entry).X
        for marks in (_marks(x), _column_marks(x)):
            for mark in marks:
                assert owner.setdefault(mark, entry.name) == entry.name


def _marks(x):
    """Return the rows that have several values, as bytes."""
    return {row.tobytes() for row in np.round(x, 6) if len(np.unique(row)) > 5}


def _column_marks(x):
    """Return the sorted values of columns that take many, standardised, as bytes."""
    many = np.array([len(np.unique(column)) >= 20 for column in x.T])
    x = np.sort(x[:, many], axis=0)
    return {column.tobytes() for column in np.round((x - x.mean(axis=0)) / x.std(axis=0), 5).T}
