"""Data that hold more than numbers: the error names the columns, or says what to give instead."""

import numpy as np
import pytest

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV, attenuation_path
from tests.helpers import spiked_rows

ROWS = spiked_rows(40, 4)
ESTIMATORS = [AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)
CITIES = ["Rome", "Oslo"] * 20


def pandas_frame(**extra):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(ROWS, columns=list("abcd")).assign(**extra)


def polars_frame(**extra):
    pl = pytest.importorskip("polars")
    return pl.DataFrame({name: ROWS[:, i] for i, name in enumerate("abcd")} | extra)


def arrow_table(**extra):
    pa = pytest.importorskip("pyarrow")
    return pa.table({name: ROWS[:, i] for i, name in enumerate("abcd")} | extra)


def dask_frame(**extra):
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(pandas_frame(**extra), npartitions=2)


FRAMES = [pandas_frame, polars_frame, arrow_table, dask_frame]


@every_estimator
@pytest.mark.parametrize("frame", FRAMES)
def test_a_text_column_is_named(estimator, frame):
    text = frame(city=CITIES)
    with pytest.raises(ValueError, match="'city'"):
        estimator(2).fit(text)
    with pytest.raises(ValueError, match="'city'"):
        estimator(2).fit(frame(city=np.arange(40.0))).transform(text)
    with pytest.raises(ValueError, match="'city'"):
        estimator(2).fit(frame(city=np.arange(40.0))).score(text)
    if frame is not dask_frame:
        with pytest.raises(ValueError, match="'city'"):
            estimator(2).partial_fit(text)


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
    dask = pytest.importorskip("dask")
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
