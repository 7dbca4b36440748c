"""Fits and batches that fail or are broken off: all of them happened, or nothing did.

A batch that is refused leaves the estimator as it was. A fit that fails leaves it unfitted, never fitted by
halves: an answer that stayed would belong to other rows than those last given.
"""

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
from sklearn.exceptions import NotFittedError

import attenua
from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua._data import blas, sums
from tests.helpers import in_turn, spiked_rows

NAMES = list("abcd")
ROWS = spiked_rows(60, 4)
FIRST, SECOND = (pd.DataFrame(part, columns=NAMES) for part in (ROWS[:35], ROWS[35:]))
OF_BATCHES = [AttenuatedPCA(2, alpha=0.5), AttenuatedPCACV(2, alphas=[0, 0.5])]
OF_ROWS_IN_MEMORY = [
    CorrectedPCA(2, tempering=0.5),
    CorrectedPCACV(2, corrections={"attenuation": [0.5], "tempering": [0.5]}),
]
every_model = pytest.mark.parametrize("model", OF_BATCHES, ids=lambda model: type(model).__name__)


def state(model):
    """A hash of all attributes, bit by bit, sums of batches included."""
    return joblib.hash(vars(model))


def is_unfitted(model):
    """Whether nothing is left of a fit, as in a clone."""
    return state(model) == state(clone(model))


# --- Batches that are refused -----------------------------------------------------------------------------


def with_value(value):
    frame = SECOND.copy()
    frame.iloc[7, 2] = value
    return frame


BAD_BATCHES = {
    "NaN": with_value(np.nan),
    "infinity": with_value(np.inf),
    "too few columns": SECOND[NAMES[:3]],
    "other names": SECOND.rename(columns={"a": "z"}),
    "another order": SECOND[NAMES[::-1]],
    "text": SECOND.assign(c="x"),
    "times": SECOND.assign(c=pd.Timestamp("2020")),
    "complex": SECOND.to_numpy() + 1j,
    "no rows": SECOND[:0],
    "one dimension": ROWS[0],
    "Arrow text": pa.table({name: ["x"] * 3 for name in NAMES}),
    "Arrow, other names": pa.table({name: [1.0, 2.0] for name in "zbcd"}),
    "batches": iter([SECOND]),
    "nothing": None,
}


@pytest.mark.parametrize(("bad", "model", "settled"), in_turn(BAD_BATCHES, OF_BATCHES, [False, True, False]))
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_batch_that_is_refused_changes_nothing(model, settled, bad):
    model = clone(model)
    batch = BAD_BATCHES[bad]
    if bad not in ("too few columns", "other names", "another order", "Arrow, other names"):
        with pytest.raises((TypeError, ValueError)):
            model.partial_fit(batch)
        assert is_unfitted(model)
    model.partial_fit(FIRST)
    if settled:
        model.mean_  # noqa: B018
    before = state(model)
    with pytest.raises((TypeError, ValueError)):
        model.partial_fit(batch)
    assert state(model) == before
    undisturbed = clone(model).partial_fit(FIRST)
    if settled:
        undisturbed.mean_  # noqa: B018
    for one in (model, undisturbed):
        one.partial_fit(SECOND).mean_  # noqa: B018
    assert state(model) == state(undisturbed)


BAD_PARAMETERS = [
    (AttenuatedPCA(2), {"alpha": 2}),
    (AttenuatedPCACV(2), {"alphas": "x"}),
]


def test_parameters_are_checked_with_every_batch_and_before_an_answer():
    for model, bad in BAD_PARAMETERS:
        one = clone(model).partial_fit(FIRST)
        before = state(one.set_params(**bad))
        with pytest.raises(ValueError, match=next(iter(bad))):
            one.partial_fit(SECOND)
        assert state(one) == before
        with pytest.raises(NotFittedError, match=next(iter(bad))):
            one.components_  # noqa: B018


def test_labels_and_weights_that_are_refused_change_nothing():
    model = AttenuatedPCACV(2).partial_fit(FIRST, groups=np.arange(35))
    before = state(model)
    for groups in (None, np.arange(24), [None] * 25, np.full(25, np.nan), "subject", 3):
        with pytest.raises(ValueError, match="groups"):
            model.partial_fit(SECOND, groups=groups)
        assert state(model) == before
    model = AttenuatedPCA(2).partial_fit(FIRST, sample_weight=np.ones(35))
    before = state(model)
    for weights in (np.ones(24), [-1] * 25, [np.nan] * 25, ["x"] * 25, "w"):
        with pytest.raises(ValueError, match="sample_weight"):
            model.partial_fit(SECOND, sample_weight=weights)
        assert state(model) == before


def failing(function, at, error):
    """The function, which raises an error once it has been called some number of times."""
    calls = []

    def call(*args, **kwargs):
        calls.append(args)
        if len(calls) >= at:
            raise error
        return function(*args, **kwargs)

    return call


@pytest.mark.parametrize(
    ("error", "estimator", "place"),
    in_turn(
        [MemoryError, KeyboardInterrupt],
        [AttenuatedPCA, AttenuatedPCACV],
        ["a block", "the third block", "taking a block", "taking the third block", "adding up", "counting"],
    ),
)
def test_a_batch_that_breaks_off_leaves_no_trace(monkeypatch, error, estimator, place):
    X = spiked_rows(90, 6)
    X[40:60] *= 1e30  # this batch changes the unit, too
    model, known = (estimator(2).partial_fit(X[:40]) for _ in range(2))
    owner, name, at = {
        "a block": (sums.FoldSums, "_measure", 1),
        "the third block": (sums.FoldSums, "_measure", 3),
        "taking a block": (sums.FoldSums, "_take", 1),
        "taking the third block": (sums.FoldSums, "_take", 3),
        "adding up": (np, "outer", 1),
        "counting": (np, "bincount", 1),
    }[place]
    monkeypatch.setattr(sums, "_PRODUCT_BYTES", 1)
    monkeypatch.setattr(sums, "_MIN_PRODUCT_ROWS", 4)
    for batch in (X[40:60],) if place == "adding up" else (X[40:60], X[60:]):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, failing(getattr(owner, name), at, error))
            with pytest.raises(error):
                model.partial_fit(batch)
        same_sums(model, known)
    later, expected = model.partial_fit(X[60:]), known.partial_fit(X[60:])
    same_sums(later, expected)
    np.testing.assert_array_equal(later.mean_, expected.mean_)
    np.testing.assert_array_equal(later.components_, expected.components_)
    np.testing.assert_array_equal(later.explained_variance_, expected.explained_variance_)
    assert later.n_samples_ == 70


def same_sums(model, known):
    ours, theirs = model._stream, known._stream
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    assert (ours.n_rows, ours.n_left_out, ours.is_float32) == (
        theirs.n_rows,
        theirs.n_left_out,
        theirs.is_float32,
    )
    assert ours._sums.frame.unit == theirs._sums.frame.unit
    for name in ("weights", "totals", "scatters"):
        np.testing.assert_array_equal(getattr(ours._sums, name), getattr(theirs._sums, name), err_msg=name)


# --- Fits that fail ---------------------------------------------------------------------------------------


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
@every_model
def test_a_batch_broken_off_anywhere_changes_all_or_nothing(model):
    whole = clone(model).partial_fit(FIRST)
    before = state(whole)
    lines = some_lines(lambda: whole.partial_fit(SECOND))
    after, seen = state(whole), set()
    for line, error in lines:
        one = clone(model).partial_fit(FIRST)
        broken_off(line, error, lambda one=one: one.partial_fit(SECOND))
        seen.add(state(one))
        if state(one) == before:
            assert state(one.partial_fit(SECOND)) == after
    assert before in seen
    assert seen <= {before, after}


@pytest.mark.slow
@every_model
def test_an_answer_broken_off_anywhere_is_computed_again(model):
    whole = clone(model).partial_fit(ROWS)
    before = state(whole)
    lines = some_lines(lambda: whole.components_)
    after = state(whole)
    for line, error in lines:
        one = clone(model).partial_fit(ROWS)
        broken_off(line, error, lambda one=one: one.components_)
        assert state(one) in (before, after)
        one.components_  # noqa: B018
        assert state(one) == after


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
