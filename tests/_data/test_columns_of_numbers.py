"""Numbers in other clothes, such as categories and decimals, are numbers; missing ones are missing values."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from attenua import AttenuatedPCA, AttenuatedPCACV
from tests._data.frames import (
    CITIES,
    NUMBERS,
    ROWS,
    arrow_dataset,
    arrow_table,
    dask_frame,
    pandas_frame,
    polars_frame,
)

AS_NUMBERS = [
    (pandas_frame, pd.Series(NUMBERS, dtype="category")),
    (pandas_frame, pd.Series(NUMBERS, dtype="Int64")),
    (pandas_frame, pd.Series([Decimal(int(i)) for i in NUMBERS])),
    (pandas_frame, pd.Series(NUMBERS, dtype=object)),
    (polars_frame, pl.Series([Decimal(int(i)) for i in NUMBERS])),
    (arrow_table, pa.array([Decimal(int(i)) for i in NUMBERS])),
    (arrow_table, pa.array(NUMBERS).dictionary_encode()),
    (arrow_table, pa.array(NUMBERS.astype(float)).dictionary_encode()),
    (arrow_table, pa.array([Decimal(int(i)) for i in NUMBERS]).dictionary_encode()),
    (arrow_dataset, pa.array(NUMBERS).dictionary_encode()),
    (dask_frame, pd.Series(NUMBERS, dtype="category")),
    (dask_frame, pd.Series(NUMBERS, dtype="Int64")),
    (
        dask_frame,
        pd.Series(NUMBERS, dtype=pd.ArrowDtype(pa.int64())).astype(pd.ArrowDtype(pa.decimal128(25, 2))),
    ),
]


@pytest.mark.parametrize(("frame", "column"), AS_NUMBERS)
def test_numbers_of_any_kind_are_numbers(frame, column):
    expected = AttenuatedPCA(2).fit(np.column_stack([ROWS, NUMBERS]))
    data = frame(e=column)
    model = AttenuatedPCA(2).fit(data)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-12)
    if frame is not arrow_dataset:
        scores = np.asarray(model.transform(data))
        np.testing.assert_allclose(scores, expected.transform(np.column_stack([ROWS, NUMBERS])), atol=1e-12)
        assert model.score(data) == pytest.approx(expected.score(np.column_stack([ROWS, NUMBERS])), rel=1e-12)


def test_dask_categories_that_are_known_on_the_workers_only():
    numbers, text = (
        dask_frame(e=pd.Series(values, dtype="category")).assign(e=lambda X: X["e"].cat.as_unknown())
        for values in (NUMBERS, CITIES)
    )
    found = AttenuatedPCA(2).fit(numbers).components_
    np.testing.assert_allclose(
        found, AttenuatedPCA(2).fit(np.column_stack([ROWS, NUMBERS])).components_, atol=1e-12
    )
    with pytest.raises(ValueError, match=r"not numbers: 'e' \('Rome', ...\)"):
        AttenuatedPCA(2).fit(text)


MISSING = [
    (pandas_frame, pd.Series([pd.NA, *NUMBERS[1:]], dtype="Int64")),
    (pandas_frame, pd.Series([None, *NUMBERS[1:]], dtype="category")),
    (polars_frame, pl.Series([None, *NUMBERS[1:].tolist()])),
    (arrow_table, pa.array([None, *NUMBERS[1:]])),
    (arrow_table, pa.array([None, *NUMBERS[1:]]).dictionary_encode()),
    (arrow_table, pa.array([None, *(Decimal(int(i)) for i in NUMBERS[1:])])),
    (dask_frame, pd.Series([pd.NA, *NUMBERS[1:]], dtype="Int64")),
    (dask_frame, pd.Series([pd.NA, *NUMBERS[1:]], dtype="Float64")),
    (dask_frame, pd.Series([pd.NA, *NUMBERS[1:]], dtype=pd.ArrowDtype(pa.int64()))),
    (dask_frame, pd.Series([None, *NUMBERS[1:]], dtype="category")),
]


@pytest.mark.parametrize(("frame", "column"), MISSING)
def test_missing_numbers_are_missing_cells_everywhere(frame, column):
    array = np.column_stack([ROWS, NUMBERS]).astype(float)
    holes = array.copy()
    holes[0, 4] = np.nan
    model = AttenuatedPCA(2).fit(frame(e=NUMBERS))
    expected = AttenuatedPCA(2).fit(array)
    np.testing.assert_allclose(
        np.asarray(model.transform(frame(e=column))), expected.transform(holes), atol=1e-10
    )
    assert model.score(frame(e=column)) == pytest.approx(expected.score(holes))
    if frame is dask_frame:  # whose sums cannot be completed
        with pytest.raises(ValueError, match=r"NaN in column 4 \('e'\)"):
            AttenuatedPCA(2).fit(frame(e=column))
    else:
        found = AttenuatedPCA(2).fit(frame(e=column)).components_
        np.testing.assert_allclose(found, AttenuatedPCA(2).fit(holes).components_, atol=1e-10)


@pytest.mark.parametrize("estimator", [AttenuatedPCA, AttenuatedPCACV])
def test_missing_cells_of_batches_are_named_with_what_to_do(estimator):
    frame = pandas_frame()
    frame.loc[7, "c"] = np.nan
    with pytest.raises(ValueError, match=r"NaN in column 2 \('c'\).*CorrectedCovariance"):
        estimator(2).fit([frame, frame])
    with pytest.raises(ValueError, match=r"NaN in column 2; .*in memory"):
        estimator(2).fit([frame.to_numpy()])
