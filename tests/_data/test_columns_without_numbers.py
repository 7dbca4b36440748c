"""Frames that hold more than numbers: the error names the columns, with a value of each."""

import datetime

import dask
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from attenua import (
    AttenuatedPCA,
    AttenuatedPCACV,
    CorrectedPCA,
    CorrectedPCACV,
    attenuation_path,
    choose_rank,
)
from tests._data.frames import (
    CITIES,
    DAY,
    FRAMES,
    NUMBERS,
    N,
    arrow_dataset,
    arrow_table,
    dask_frame,
    pandas_frame,
    polars_frame,
)
from tests.helpers import in_turn

ESTIMATORS = [AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV]

# Columns that are not numbers, of every kind of frame.
DIGITS = [str(number) for number in NUMBERS]
OF_PANDAS = {
    "text that reads as numbers": pd.Series(DIGITS),
    "such text, Python objects": pd.Series(DIGITS, dtype=object),
    "categories of such text": pd.Series(DIGITS, dtype="category"),
    "text": pd.Series(CITIES),
    "text, Python objects": pd.Series(CITIES, dtype=object),
    "categories of text": pd.Series(CITIES, dtype="category"),
    "times": pd.Series(pd.date_range("2020", periods=N)),
    "times of a zone": pd.Series(pd.date_range("2020", periods=N, tz="UTC")),
    "spans of time": pd.Series(pd.to_timedelta(range(N), unit="s")),
    "periods": pd.Series(pd.period_range("2020", periods=N, freq="D")),
    "intervals": pd.Series(pd.interval_range(0, N)),
    "dates": pd.Series([DAY.date()] * N),
    "Arrow times": pd.Series([DAY] * N, dtype=pd.ArrowDtype(pa.timestamp("us"))),
    "lists": pd.Series([[1, 2]] * N),
    "dicts": pd.Series([{"a": 1}] * N),
    "mixed": pd.Series([*range(N - 1), "x"], dtype=object),
    "complex": pd.Series(NUMBERS + 1j),
}
OF_POLARS = {
    "text that reads as numbers": lambda: pl.Series(DIGITS),
    "categories of such text": lambda: pl.Series(DIGITS, dtype=pl.Categorical),
    "text": lambda: pl.Series(CITIES),
    "categories of text": lambda: pl.Series(CITIES, dtype=pl.Categorical),
    "times": lambda: pl.Series([DAY] * N),
    "dates": lambda: pl.Series([DAY.date()] * N),
    "times of day": lambda: pl.Series([DAY.time()] * N),
    "spans of time": lambda: pl.Series([datetime.timedelta(1)] * N),
    "lists": lambda: pl.Series([[1, 2]] * N),
    "arrays": lambda: pl.Series([[1, 2]] * N, dtype=pl.Array(pl.Int64, 2)),
    "structs": lambda: pl.Series([{"a": 1}] * N),
    "bytes": lambda: pl.Series([b"x"] * N),
    "Python objects": lambda: pl.Series([object()] * N, dtype=pl.Object),
}
OF_ARROW = {
    "text that reads as numbers": pa.array(DIGITS),
    "text": pa.array(CITIES),
    "dictionary of text": pa.array(CITIES).dictionary_encode(),
    "times": pa.array([DAY] * N),
    "dates": pa.array([DAY.date()] * N),
    "spans of time": pa.array([datetime.timedelta(1)] * N),
    "lists": pa.array([[1, 2]] * N),
    "structs": pa.array([{"a": 1}] * N),
    "nothing": pa.nulls(N),
}
BAD = {pandas_frame: OF_PANDAS, polars_frame: OF_POLARS, arrow_table: OF_ARROW, dask_frame: OF_PANDAS}


def says(call):
    """What an error says, in one line that names the column."""
    with pytest.raises(ValueError, match="a column with values that are not numbers: 'bad' ") as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (frame, kind)
        for frame, bad in BAD.items()
        for kind in bad
        if frame is not dask_frame or kind in ("text", "times", "mixed")
    ],
)
def test_a_column_that_is_not_numbers_is_named(frame, kind):
    bad, good = frame(bad=BAD[frame][kind]), frame(bad=NUMBERS)
    model = AttenuatedPCA(2).fit(good)
    sentence = says(lambda: AttenuatedPCA(2).fit(bad))
    assert sentence.endswith("Leave out such columns, or encode them as numbers.")
    says(lambda: AttenuatedPCACV(2).fit(bad))
    says(lambda: np.asarray(model.transform(bad)))
    says(lambda: model.score(bad))
    says(lambda: attenuation_path(bad, 2))
    if frame is not dask_frame:
        says(lambda: AttenuatedPCA(2).fit([bad, bad]))
        says(lambda: choose_rank(bad))


@pytest.mark.parametrize("kind", OF_ARROW)
def test_a_column_of_a_dataset_that_is_not_numbers_is_named(kind):
    says(lambda: AttenuatedPCACV(2).fit(arrow_dataset(bad=OF_ARROW[kind])))


@pytest.mark.parametrize(
    ("frame", "estimator"),
    [*in_turn(FRAMES[:3], ESTIMATORS), (dask_frame, AttenuatedPCACV)],
)
def test_every_estimator_names_the_column(estimator, frame):
    bad = frame(bad=BAD[frame]["times"])
    says(lambda: estimator(2).fit(bad))
    model = estimator(2).fit(frame(bad=NUMBERS))
    says(lambda: np.asarray(model.transform(bad)))
    says(
        lambda: model.inverse_transform(
            bad[["a", "bad"]] if frame is not arrow_table else bad.select(["a", "bad"])
        )
    )


@pytest.mark.parametrize(
    ("frame", "kind"), in_turn([pandas_frame, polars_frame, arrow_table], ["text", "times"])
)
def test_functions_that_take_rows_name_the_column(frame, kind):
    bad = frame(bad=BAD[frame][kind])
    for call in (lambda: choose_rank(bad),):
        says(call)


@pytest.mark.parametrize("frame", [pandas_frame, polars_frame])
def test_all_text_columns_are_named_with_a_value_of_each(frame):
    text = frame(city=CITIES, land=["IT", "NO"] * 20)
    with pytest.raises(ValueError, match=r"2 columns with values .* 'city' \('Rome', ...\), 'land'"):
        AttenuatedPCA(2).fit(text)
    with pytest.raises(ValueError, match="'city'"):
        attenuation_path(text, 2)
    with pytest.raises(ValueError, match="'city'"):
        AttenuatedPCA(2).fit([text, text])


def test_objects_that_are_numbers_are_numbers():
    frame = pandas_frame()
    found = AttenuatedPCA(2).fit(frame.astype(object)).components_
    np.testing.assert_array_equal(found, AttenuatedPCA(2).fit(frame).components_)


def test_the_value_shown_is_the_one_that_is_no_number():
    mixed = np.array([*range(39), "many"], dtype=object)
    with pytest.raises(ValueError, match=r"'count' \('many', ...\)"):
        AttenuatedPCA(2).fit(pandas_frame(count=mixed))


def test_python_objects_in_dask_are_named_by_the_worker():
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dask_frame(city=np.array([*CITIES[:-1], 3], dtype=object))
        with pytest.raises(ValueError, match=r"a column with values that are not numbers: 'city' \('Rome'"):
            AttenuatedPCA(2).fit(frame)
