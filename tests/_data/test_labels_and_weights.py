"""Groups with a missing label, and weights other than numbers, are refused in every container."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from attenua import AttenuatedPCA, AttenuatedPCACV
from tests._data.frames import CITIES, DAY, NUMBERS, ROWS, N, arrow_table, dask_frame
from tests.helpers import in_turn

CONTAINERS = {
    "rows": ROWS,
    "batches": [ROWS[:25], ROWS[25:]],
    "Arrow": arrow_table(),
    "dask array": da.from_array(ROWS, chunks=(15, 4)),
}
MISSING_LABELS = [
    pd.Series([pd.NA, *CITIES[1:]], dtype=object),
    pd.Series([None, *CITIES[1:]], dtype="category"),
    pd.Series([None, *CITIES[1:]]),
    pd.Series([pd.NaT, *pd.date_range("2020", periods=N - 1)]),
    pl.Series([None, *CITIES[1:]]),
    np.ma.masked_equal(np.arange(N), 3),
]


@pytest.mark.parametrize(("container", "groups"), in_turn(CONTAINERS, MISSING_LABELS))
def test_missing_labels_are_refused(container, groups):
    with pytest.raises(ValueError, match="groups holds a missing label"):
        AttenuatedPCACV(2).fit(CONTAINERS[container], groups=groups)


@pytest.mark.parametrize("groups", [g for g in MISSING_LABELS if isinstance(g, pd.Series)], ids=str)
def test_missing_labels_of_dask_are_refused(groups):
    with pytest.raises(ValueError, match="groups holds a missing label"):
        AttenuatedPCACV(2).fit(dask_frame(), groups=dd.from_pandas(groups, npartitions=2))
    with pytest.raises(ValueError, match="groups holds a missing label"):
        AttenuatedPCACV(2).fit(dask_frame(subject=groups), groups="subject")


@pytest.mark.parametrize("container", CONTAINERS)
def test_labels_that_are_none(container):
    for groups in (3, {"a": 1}, iter([1, 2]), np.array([{1}] * N), np.zeros((N, 2))):
        with pytest.raises(ValueError, match="groups "):
            AttenuatedPCACV(2).fit(CONTAINERS[container], groups=groups)


NO_WEIGHTS = {
    "times": pd.Series(pd.date_range("2020", periods=N)),
    "spans of time": pd.Series(pd.to_timedelta(range(N), unit="s")),
    "complex": np.ones(N) + 1j,
    "text": CITIES,
    "categories of text": pd.Series(CITIES, dtype="category"),
    "missing": pd.Series([pd.NA, *NUMBERS[1:]], dtype="Float64"),
    "masked": np.ma.masked_equal(np.arange(N), 3),
    "dict": {"a": 1},
    "a column of weights": np.ones((N, 1)),
    "not a number": np.nan,
    "polars dates": pl.Series([DAY.date()] * N),
}


@pytest.mark.parametrize(("container", "kind"), in_turn(CONTAINERS, NO_WEIGHTS))
def test_weights_that_are_no_numbers(container, kind):
    with pytest.raises(ValueError, match="sample_weight must "):
        AttenuatedPCA(2).fit(CONTAINERS[container], sample_weight=NO_WEIGHTS[kind])


@pytest.mark.parametrize(
    ("container", "weights"),
    in_turn(CONTAINERS, [2, True, pa.array(np.full(N, 2.0)), pa.chunked_array([np.full(N, 2)])]),
)
def test_one_weight_for_all_rows_and_weights_of_arrow(container, weights):
    found = AttenuatedPCA(2).fit(CONTAINERS[container], sample_weight=weights)
    expected = AttenuatedPCA(2).fit(ROWS, sample_weight=np.full(N, 1.0 if weights is True else 2.0))
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-12)
