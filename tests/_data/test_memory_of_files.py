"""Fits of a file that is mapped into memory, none of which copies the file."""

import tracemalloc

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit

from attenua import AttenuatedPCA, AttenuatedPCACV
from tests.helpers import spiked_rows

SHAPE = (60_000, 100)  # 48 MB; lists of row numbers are small beside it
# Half of the file. Blocks of 7 MB and a copy of each are held, and lists of row numbers.
MEGABYTES = 24
WEIGHTS = np.ones(SHAPE[0])
WEIGHTS[7] = 0
ODD = np.arange(SHAPE[0]) % 2
GROUPS = np.arange(SHAPE[0]) // 1_200


@pytest.fixture(scope="module", params=["C", "F"])
def mapped(request, tmp_path_factory):
    """A file of rows, one after the other or column by column, that may be read only."""
    path = tmp_path_factory.mktemp("files") / "rows"
    rows = np.memmap(path, dtype=float, mode="w+", shape=SHAPE, order=request.param)
    rows[:] = np.tile(spiked_rows(1_000, SHAPE[1]), (SHAPE[0] // 1_000, 1))
    rows.flush()
    return np.memmap(path, dtype=float, mode="r", shape=SHAPE, order=request.param)


FITS = {
    "all rows": lambda X: AttenuatedPCA(2, alpha=0.5).fit(X),
    "one weight of zero": lambda X: AttenuatedPCA(2, alpha=0.5).fit(X, sample_weight=WEIGHTS),
    "every other weight of zero": lambda X: AttenuatedPCA(2, alpha=0.5).fit(X, sample_weight=ODD),
    "weights of a batch": lambda X: AttenuatedPCA(2, alpha=0.5).fit([X], sample_weight=WEIGHTS),
    "folds": lambda X: AttenuatedPCACV(2, alphas=[0, 1]).fit(X),
    "groups": lambda X: AttenuatedPCACV(2, alphas=[0, 1]).fit(X, groups=GROUPS),
    "shuffled folds": lambda X: AttenuatedPCACV(2, alphas=[0, 1], cv=KFold(3, shuffle=True)).fit(X),
    "other splits": lambda X: AttenuatedPCACV(2, alphas=[0, 1], cv=ShuffleSplit(2)).fit(X),
}


@pytest.mark.parametrize("fit", FITS)
def test_a_file_is_not_copied(fit, mapped):
    tracemalloc.start()
    try:
        FITS[fit](mapped)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEGABYTES * 1e6


def test_rows_of_weight_zero_are_left_out(mapped):
    weighted = AttenuatedPCA(2, alpha=0.5).fit(mapped, sample_weight=ODD)
    others = AttenuatedPCA(2, alpha=0.5).fit(np.array(mapped[1::2]))
    np.testing.assert_allclose(weighted.components_, others.components_, rtol=1e-9, atol=1e-12)
    assert weighted.n_samples_ == others.n_samples_


def test_a_row_of_weight_zero_may_hold_anything():
    X, weights = spiked_rows(50, 5), np.ones(50)
    expected = AttenuatedPCA(2, alpha=0.5).fit(X[1:]).components_
    X[0], weights[0] = [np.nan, np.inf, 1e300, 0, 1], 0
    found = AttenuatedPCA(2, alpha=0.5).fit(X, sample_weight=weights).components_
    np.testing.assert_allclose(found, expected, rtol=1e-9)
