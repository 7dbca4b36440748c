"""Names of columns: none twice, and either all of them text or none."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

from attenua import AttenuatedPCA, AttenuatedPCACV
from tests._data.frames import ROWS, N, arrow_dataset, arrow_table, dask_frame, pandas_frame


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
