"""Data that hold more than numbers: the error names the columns, or says what to give instead."""

import datetime
from decimal import Decimal

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
import scipy.sparse as sp

from attenua import (
    AttenuatedPCA,
    AttenuatedPCACV,
    CorrectedPCA,
    CorrectedPCACV,
    attenuation_path,
    choose_rank,
    expected_gain,
    select_on_validation,
)
from attenua.rivals import CorrelationPCA, DiagonalShrinkagePCA, MaskedTargetPCACV, shrinkage_intensity
from tests.helpers import spiked_rows

N = 40
ROWS = spiked_rows(N, 4)
ESTIMATORS = [AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV]
RIVALS = [DiagonalShrinkagePCA, CorrelationPCA, MaskedTargetPCACV]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)
CITIES = ["Rome", "Oslo"] * 20
NUMBERS = np.arange(N) % 7
DAY = datetime.datetime(2020, 1, 1)


def pandas_frame(**extra):
    return pd.DataFrame(ROWS, columns=list("abcd")).assign(**extra)


def polars_frame(**extra):
    return pl.DataFrame({name: ROWS[:, i] for i, name in enumerate("abcd")} | extra)


def arrow_table(**extra):
    return pa.table({name: ROWS[:, i] for i, name in enumerate("abcd")} | extra)


def arrow_dataset(**extra):
    return pa.dataset.dataset(arrow_table(**extra))


def dask_frame(**extra):
    return dd.from_pandas(pandas_frame(**extra), npartitions=2)


FRAMES = [pandas_frame, polars_frame, arrow_table, dask_frame]

# Columns that are not numbers, of every kind of frame.
OF_PANDAS = {
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
    "missing among objects": pd.Series([pd.NA, *range(N - 1)], dtype=object),
    "complex": pd.Series(NUMBERS + 1j),
}
OF_POLARS = {
    "text": pl.Series(CITIES),
    "categories of text": pl.Series(CITIES, dtype=pl.Categorical),
    "times": pl.Series([DAY] * N),
    "dates": pl.Series([DAY.date()] * N),
    "times of day": pl.Series([DAY.time()] * N),
    "spans of time": pl.Series([datetime.timedelta(1)] * N),
    "lists": pl.Series([[1, 2]] * N),
    "arrays": pl.Series([[1, 2]] * N, dtype=pl.Array(pl.Int64, 2)),
    "structs": pl.Series([{"a": 1}] * N),
    "bytes": pl.Series([b"x"] * N),
    "Python objects": pl.Series([object()] * N, dtype=pl.Object),
}
OF_ARROW = {
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
TABLE = [
    pytest.param(frame, bad[kind], id=f"{frame.__name__}-{kind}")
    for frame, bad in BAD.items()
    for kind in bad
]
every_bad_column = pytest.mark.parametrize(("frame", "column"), TABLE)


def says(call):
    """What an error says, in one line that names the column."""
    with pytest.raises(ValueError, match="a column with values that are not numbers: 'bad' ") as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@every_bad_column
def test_a_column_that_is_not_numbers_is_named(frame, column):
    bad, good = frame(bad=column), frame(bad=NUMBERS)
    model = CorrectedPCA(2).fit(good)
    sentence = says(lambda: CorrectedPCA(2).fit(bad))
    assert sentence.endswith("Leave out such columns, or encode them as numbers.")
    says(lambda: CorrectedPCACV(2).fit(bad))
    says(lambda: model.transform(bad))
    says(lambda: model.score(bad))
    says(lambda: attenuation_path(bad, 2))
    if frame is not dask_frame:
        says(lambda: CorrectedPCA(2).partial_fit(bad))
        says(lambda: CorrectedPCA(2).fit([bad, bad]))
        says(lambda: choose_rank(bad))


@pytest.mark.parametrize("kind", OF_ARROW)
def test_a_column_of_a_dataset_that_is_not_numbers_is_named(kind):
    says(lambda: CorrectedPCACV(2).fit(arrow_dataset(bad=OF_ARROW[kind])))


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("estimator", [*ESTIMATORS, *RIVALS])
def test_every_estimator_names_the_column(estimator, frame):
    bad = frame(bad=BAD[frame]["times"])
    says(lambda: estimator(2).fit(bad))
    model = estimator(2).fit(frame(bad=NUMBERS))
    says(lambda: model.transform(bad))
    says(
        lambda: model.inverse_transform(
            bad[["a", "bad"]] if frame is not arrow_table else bad.select(["a", "bad"])
        )
    )


@pytest.mark.parametrize("frame", [pandas_frame, polars_frame, arrow_table])
@pytest.mark.parametrize("kind", ["text", "times"])
def test_functions_that_take_rows_name_the_column(frame, kind):
    bad, path = frame(bad=BAD[frame][kind]), attenuation_path(frame(bad=NUMBERS), 2)
    for call in (
        lambda: choose_rank(bad),
        lambda: expected_gain(bad, 2),
        lambda: select_on_validation(path, bad),
        lambda: shrinkage_intensity(bad),
    ):
        says(call)


# --- Numbers in other clothes -----------------------------------------------------------------------------

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
    expected = CorrectedPCA(2).fit(np.column_stack([ROWS, NUMBERS]))
    data = frame(e=column)
    model = CorrectedPCA(2).fit(data)
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
    found = CorrectedPCA(2).fit(numbers).components_
    np.testing.assert_allclose(
        found, CorrectedPCA(2).fit(np.column_stack([ROWS, NUMBERS])).components_, atol=1e-12
    )
    with pytest.raises(ValueError, match=r"not numbers: 'e' \('Rome', ...\)"):
        CorrectedPCA(2).fit(text)


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
def test_missing_numbers_are_missing_values_everywhere(frame, column):
    with pytest.raises(ValueError, match=r"NaN in column 4 \('e'\)"):
        CorrectedPCA(2).fit(frame(e=column))
    model = CorrectedPCA(2).fit(frame(e=NUMBERS))
    with pytest.raises(ValueError, match="NaN in column 4"):
        np.asarray(model.transform(frame(e=column)))
    with pytest.raises(ValueError, match="NaN in column 4"):
        model.score(frame(e=column))


# --- Arrays -----------------------------------------------------------------------------------------------

ARRAYS = {
    "times": (ROWS.astype("M8[s]"), "X holds values of the type datetime64.s., not numbers"),
    "spans of time": (ROWS.astype("m8[s]"), "X holds values of the type timedelta64.s., not numbers"),
    "complex": (ROWS + 1j, "Complex data not supported: X has the type complex128"),
    "sparse complex": (sp.csr_matrix(ROWS + 1j), "Complex data not supported: X has the type complex128"),
    "masked": (np.ma.masked_greater(ROWS, 10), "X is a masked array with a masked value in column 0"),
    "text among objects": (
        np.array([[1, 2, "x", 3]] * 9, dtype=object),
        r"a column with values that are not numbers: 2 \('x', ...\)",
    ),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_that_are_not_numbers(kind):
    bad, message = ARRAYS[kind]
    model = AttenuatedPCA(2).fit(ROWS)
    for call in (AttenuatedPCACV(2).fit, AttenuatedPCA(2).partial_fit, model.transform, model.score):
        with pytest.raises(ValueError, match=message) as caught:
            call(bad)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["times", "spans of time", "complex", "masked"])
def test_dask_arrays_that_are_not_numbers(kind):
    bad, message = ARRAYS[kind]
    bad = da.from_array(bad, chunks=(20, 4))
    with pytest.raises(ValueError, match=message):
        AttenuatedPCACV(2).fit(bad)
    if kind != "masked":  # which only the blocks tell
        with pytest.raises(ValueError, match=message):
            AttenuatedPCA(2).fit(ROWS).transform(bad)
        with pytest.raises(ValueError, match=message):
            AttenuatedPCA(2).fit(ROWS).inverse_transform(bad[:, :2])


def test_other_things_that_are_no_rows():
    model = AttenuatedPCA(2).fit(ROWS)
    for call in (AttenuatedPCA(2).fit, AttenuatedPCA(2).partial_fit, model.transform):
        with pytest.raises(TypeError, match=r"X is a polars LazyFrame, .* give X\.collect\(\)"):
            call(polars_frame().lazy())
    with pytest.raises(TypeError, match="X holds batches of rows"):
        model.inverse_transform(iter([ROWS[:, :2]]))
    with pytest.raises(ValueError, match="X must have two dimensions"):
        model.inverse_transform(da.from_array(ROWS[:, 0]))


# --- Names ------------------------------------------------------------------------------------------------


def with_names(frame, names):
    if frame is pandas_frame:
        return pd.DataFrame(ROWS, columns=names)
    if frame is dask_frame:
        return dd.from_pandas(pd.DataFrame(ROWS, columns=names), npartitions=2)
    table = pa.table([pa.array(column) for column in ROWS.T], names=names)
    return table if frame is arrow_table else pa.dataset.dataset(table)


@pytest.mark.parametrize("frame", [pandas_frame, dask_frame, arrow_table, arrow_dataset])
def test_names_that_occur_twice_are_refused(frame):
    data = with_names(frame, list("abca"))
    sentence = "X has 2 columns named 'a'; every column must have a name of its own"
    with pytest.raises(ValueError, match=sentence):
        AttenuatedPCACV(2).fit(data)
    if frame is not pandas_frame:
        with pytest.raises(ValueError, match=sentence):
            AttenuatedPCACV(2).fit(data, groups="a")
    if frame is not arrow_dataset:
        model = AttenuatedPCA(2).fit(ROWS)
        for call in (model.transform, model.score):
            with pytest.raises(ValueError, match=sentence):
                call(data)


@pytest.mark.parametrize("frame", [pandas_frame, dask_frame])
def test_names_that_are_not_text(frame):
    for names in (range(4), pd.MultiIndex.from_product([["a", "b"], ["x", "y"]]), [1.0, 2, 3, 4]):
        model = AttenuatedPCA(2).fit(with_names(frame, names))
        assert not hasattr(model, "feature_names_in_")
        assert np.asarray(model.transform(with_names(frame, names))).shape == (N, 2)
    with pytest.raises(TypeError, match=r"name"):
        AttenuatedPCA(2).fit(with_names(frame, ["a", 1, "b", 2]))


# --- Labels and weights -----------------------------------------------------------------------------------

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


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("groups", MISSING_LABELS, ids=str)
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
    "not a number": np.nan,
    "polars dates": pl.Series([DAY.date()] * N),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kind", NO_WEIGHTS)
def test_weights_that_are_no_numbers(container, kind):
    with pytest.raises(ValueError, match="sample_weight must "):
        AttenuatedPCA(2).fit(CONTAINERS[container], sample_weight=NO_WEIGHTS[kind])


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    "weights", [2, True, pa.array(np.full(N, 2.0)), pa.chunked_array([np.full(N, 2)])], ids=str
)
def test_one_weight_for_all_rows_and_weights_of_arrow(container, weights):
    found = AttenuatedPCA(2).fit(CONTAINERS[container], sample_weight=weights)
    expected = AttenuatedPCA(2).fit(ROWS, sample_weight=np.full(N, 1.0 if weights is True else 2.0))
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-12)


# --- What the error shows ---------------------------------------------------------------------------------


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


class AnnData:
    """Looks like the class of anndata."""

    __module__ = "anndata._core.anndata"
    shape = (40, 4)
    obsm: dict = {}  # noqa: RUF012
    X = ROWS


def real_anndata():
    anndata = pytest.importorskip("anndata", reason="no anndata")
    return anndata.AnnData(ROWS)


@every_estimator
@pytest.mark.parametrize("make", [AnnData, real_anndata])
def test_an_anndata_object_is_refused_with_what_to_do(estimator, make):
    sentence = (
        r"X is an AnnData object; give its matrix, adata\.X, or use attenua\.anndata\.pca\(adata, n_comps"
    )
    adata = make()
    model = estimator(2)
    with pytest.raises(TypeError, match=sentence):
        model.fit(adata)
    with pytest.raises(TypeError, match=sentence):
        model.partial_fit(adata)
    model.fit(adata.X)
    with pytest.raises(TypeError, match=sentence):
        model.transform(adata)


@every_estimator
def test_missing_values_are_named_with_what_to_do(estimator):
    frame = pandas_frame()
    frame.loc[7, "c"] = np.nan
    with pytest.raises(ValueError, match=r"NaN in column 2 \('c'\).*SimpleImputer"):
        estimator(2).fit(frame)
    with pytest.raises(ValueError, match=r"NaN in column 2; .*SimpleImputer"):
        estimator(2).fit(frame.to_numpy())
