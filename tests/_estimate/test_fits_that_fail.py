"""Fits that fail or are broken off leave the estimator as it was: all of a fit happened, or nothing did."""

import os
import sys
import warnings
from itertools import cycle

import dask.array as da
import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from sklearn.base import clone

import attenua
from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua._data import blas
from tests.helpers import in_turn, spiked_rows

NAMES = list("abcd")
ROWS = spiked_rows(60, 4)
FIRST, SECOND = (pd.DataFrame(part, columns=NAMES) for part in (ROWS[:35], ROWS[35:]))
OF_BATCHES = [AttenuatedPCA(2, alpha=0.5), AttenuatedPCACV(2, alphas=[0, 0.5])]
OF_ROWS_IN_MEMORY = [
    CorrectedPCA(2, tempering=0.5),
    CorrectedPCACV(2, corrections={"attenuation": [0.5], "tempering": [0.5]}),
]


def state(model):
    """A hash of all attributes, bit by bit."""
    return joblib.hash(vars(model))


def is_unfitted(model):
    """Whether nothing is left of a fit, as in a clone."""
    return state(model) == state(clone(model))


# --- Fits that fail ---------------------------------------------------------------------------------------


def with_value(value):
    frame = SECOND.copy()
    frame.iloc[7, 2] = value
    return frame


def raising(error):
    yield FIRST
    raise error


def full(block, block_info=None):
    if block_info and block_info[0]["chunk-location"] == (6, 0):
        raise MemoryError
    return block


def dataset_with_a_bad_part(folder):
    for number, frame in enumerate([FIRST, with_value(np.nan)]):
        pa.parquet.write_table(pa.Table.from_pandas(frame), folder / f"{number}.parquet")
    return pa.dataset.dataset(folder)


BAD_FITS = {
    "infinity": (lambda _: with_value(np.inf), ValueError),
    "text": (lambda _: SECOND.assign(c="x"), ValueError),
    "too few rows": (lambda _: ROWS[:1], ValueError),
    "a bad batch in the middle": (lambda _: iter([FIRST, with_value(np.nan), SECOND]), ValueError),
    "another width in the middle": (lambda _: [ROWS, ROWS[:, :3]], ValueError),
    "other names in the middle": (lambda _: [FIRST, SECOND.rename(columns={"a": "z"})], ValueError),
    "an error of the generator": (lambda _: raising(OSError("the disk is gone")), OSError),
    "memory runs out in the generator": (lambda _: raising(MemoryError()), MemoryError),
    "an interrupt": (lambda _: raising(KeyboardInterrupt()), KeyboardInterrupt),
    "a bad file of a dataset": (dataset_with_a_bad_part, ValueError),
    "a bad value in Arrow": (lambda _: pa.Table.from_pandas(with_value(np.inf)), ValueError),
    "a bad block of Dask": (
        lambda _: da.from_array(with_value(np.nan).to_numpy(), chunks=(5, 4)),
        ValueError,
    ),
    "memory runs out in Dask": (lambda _: da.from_array(ROWS, chunks=(5, 4)).map_blocks(full), MemoryError),
}


@pytest.mark.parametrize(
    ("bad", "model", "fitted"),
    in_turn(BAD_FITS, OF_BATCHES, ["not", "to rows", "to batches"])
    + in_turn(["text", "too few rows", "a bad value in Arrow"], OF_ROWS_IN_MEMORY, ["not", "to rows"]),
)
def test_a_fit_that_fails_leaves_the_model_as_it_was(model, fitted, bad, tmp_path):
    make, error = BAD_FITS[bad]
    model = clone(model)
    if fitted != "not":
        model.fit(ROWS[:, :3] if fitted == "to rows" else [ROWS[:, :3]])
    before = state(model)
    with pytest.raises(error):
        model.fit(make(tmp_path))
    assert state(model) == before
    assert state(model.fit(FIRST)) == state(clone(model).fit(FIRST))


def test_a_warning_that_is_an_error_leaves_nothing():
    tied = np.vstack([np.eye(4), -np.eye(4)] * 5)  # any two components are as good
    model = AttenuatedPCACV(2, alphas=[0, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="tie"):
            model.fit(tied)
    assert is_unfitted(model)


# --- Breaking off anywhere --------------------------------------------------------------------------------

PACKAGE = os.path.dirname(attenua.__file__)
N_LINES = 25


class Interrupter:
    """Raises an error at one of the lines of this package that a call runs through.

    The limits of BLAS are left out: a tracer can raise where a `with` is about to release its lock, which no
    interrupt can. `tests/test_concurrency.py` interrupts them.
    """

    def __init__(self, error, line):
        self.error, self.left = error, line

    def __call__(self, frame, event, argument):
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE) or file == blas.__file__:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise self.error
        return self


def run_until(line, error, call):
    """Call, breaking off at a line; return how many lines of it were left."""
    interrupter, outer = Interrupter(error, line), sys.gettrace()
    sys.settrace(interrupter)
    try:
        call()
    finally:
        sys.settrace(outer)
    return interrupter.left


def some_lines(call):
    """Lines spread over those of a call, with an error for each, of two kinds in turn."""
    total = 10**9 - run_until(10**9, None, call)
    assert total > N_LINES
    lines = np.linspace(1, total, N_LINES).astype(int).tolist()
    return zip(lines, cycle([MemoryError(), KeyboardInterrupt()]), strict=False)


def broken_off(line, error, call):
    with pytest.raises(type(error)):
        run_until(line, error, call)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "container"),
    in_turn(OF_BATCHES, ["rows", "batches"]) + [(model, "rows") for model in OF_ROWS_IN_MEMORY],
)
def test_a_fit_broken_off_anywhere_changes_all_or_nothing(model, container):
    rows = ROWS if container == "rows" else [ROWS[:35], ROWS[35:]]
    clone(model).fit(rows)  # fills caches, so that the next has as many lines as those after it
    whole = clone(model).fit(FIRST)
    before = state(whole)
    lines = some_lines(lambda: whole.fit(rows))
    after = state(whole)
    for line, error in lines:
        one = clone(model).fit(FIRST)
        broken_off(line, error, lambda one=one: one.fit(rows))
        assert state(one) in (before, after)
        assert state(one.fit(rows)) == after
