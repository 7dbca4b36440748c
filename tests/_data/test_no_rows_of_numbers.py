"""Arrays that hold no numbers, and things other than rows: the error says what to give instead."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCACV
from tests._data.frames import ROWS, polars_frame

ARRAYS = {
    "times": (ROWS.astype("M8[s]"), "X holds values of the type datetime64.s., not numbers"),
    "spans of time": (ROWS.astype("m8[s]"), "X holds values of the type timedelta64.s., not numbers"),
    "complex": (ROWS + 1j, "Complex data not supported: X has the type complex128"),
    "sparse complex": (sp.csr_matrix(ROWS + 1j), "Complex data not supported: X has the type complex128"),
    "masked": (np.ma.masked_greater(ROWS, 10), "X is a masked array with a masked value in column 0"),
    "text": (ROWS.astype(str), "^X holds text, not numbers"),
    "text in lists": (ROWS.astype(str).tolist(), "^X holds text, not numbers"),
    "text that reads as a number": (
        np.array([[1, 2, "7", 3]] * 9, dtype=object),
        r"a column with values that are not numbers: 2 \('7', ...\)",
    ),
    "text among objects": (
        np.array([[1, 2, "x", 3]] * 9, dtype=object),
        r"a column with values that are not numbers: 2 \('x', ...\)",
    ),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_that_are_not_numbers(kind):
    bad, message = ARRAYS[kind]
    model = AttenuatedPCA(2).fit(ROWS)
    calls = (lambda rows: AttenuatedPCA(2).fit([rows]), AttenuatedPCACV(2).fit, model.transform, model.score)
    for call in calls[:1] if kind == "masked" else calls:  # masked cells of rows in memory are missing
        with pytest.raises(ValueError, match=message) as caught:
            call(bad)
        assert "\n" not in str(caught.value)


def test_a_stack_of_images():
    with pytest.raises(ValueError, match=r"shape \(20, 3, 4\).*X.reshape\(20, -1\)"):
        CorrectedPCACV(2).fit(np.ones((20, 3, 4)))


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
    for call in (AttenuatedPCA(2).fit, model.transform):
        with pytest.raises(TypeError, match=r"X is a polars LazyFrame, .* give X\.collect\(\)"):
            call(polars_frame().lazy())
    with pytest.raises(TypeError, match="X holds batches of rows"):
        model.inverse_transform(iter([ROWS[:, :2]]))
    with pytest.raises(ValueError, match="X must have two dimensions"):
        model.inverse_transform(da.from_array(ROWS[:, 0]))
