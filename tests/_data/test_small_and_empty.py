"""Rows that are few, none, without columns or without an end: every one ends in an answer or a sentence."""

import itertools

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
import scipy.sparse as sp

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedCovariance, CorrectedPCA, CorrectedPCACV
from tests.helpers import in_turn, spiked_rows

ROWS = spiked_rows(40, 4)
OF_ANY_ROWS = [AttenuatedPCA, AttenuatedPCACV]
OF_ROWS_IN_MEMORY = [CorrectedPCA, CorrectedPCACV]
every_estimator = pytest.mark.parametrize("estimator", OF_ANY_ROWS)
FRAME = pd.DataFrame(ROWS, columns=list("abcd"))
TABLE = pa.Table.from_pandas(FRAME)
DASK_FRAME = dd.from_pandas(FRAME, npartitions=3)

NO_ROWS = {
    "array": lambda: ROWS[:0],
    "frame": lambda: FRAME[:0],
    "polars": lambda: pl.DataFrame(FRAME[:0].to_dict("list"), schema=dict.fromkeys("abcd", pl.Float64)),
    "sparse": lambda: sp.csr_matrix((0, 4)),
    "Arrow": lambda: TABLE[:0],
    "dataset": lambda: pa.dataset.dataset(TABLE[:0]),
    "dask array": lambda: da.from_array(ROWS[:0]),
    "dask array, unknown": lambda: (lambda X: X[X[:, 0] > 1e9])(da.from_array(ROWS, chunks=(7, 4))),
    "dask frame": lambda: DASK_FRAME[DASK_FRAME["a"] > 1e9],
    "batches": lambda: [ROWS[:0], ROWS[:0]],
    "iterator": lambda: iter([]),
}


IN_MEMORY = ("array", "frame", "polars", "sparse", "Arrow", "only labels")


def cases(containers):
    """Each container for one estimator, and each of those in memory for one that takes no others."""
    in_memory = [name for name in containers if name in IN_MEMORY]
    return in_turn(OF_ANY_ROWS, containers) + in_turn(OF_ROWS_IN_MEMORY, in_memory)


@pytest.mark.parametrize(("estimator", "container"), cases(NO_ROWS))
def test_no_rows(estimator, container):
    with pytest.raises(ValueError, match=r"Found .*0 sample\(s\)"):
        estimator(2).fit(NO_ROWS[container]())


NO_COLUMNS = {
    "array": lambda: ROWS[:, :0],
    "frame": lambda: FRAME[[]],
    "sparse": lambda: sp.csr_matrix((9, 0)),
    "Arrow": lambda: TABLE.select([]),
    "dataset": lambda: pa.dataset.dataset(TABLE.select([])),
    "dask array": lambda: da.from_array(ROWS[:, :0], chunks=(20, 0)),
    "dask frame": lambda: DASK_FRAME[[]],
    "batches": lambda: [ROWS[:, :0], ROWS[:, :0]],
    "only labels": lambda: TABLE.select(["a"]),
}


@pytest.mark.parametrize(("estimator", "container"), cases(NO_COLUMNS))
def test_no_columns(estimator, container):
    labels = {}
    if container == "only labels":
        labels = {"groups" if hasattr(estimator(), "cv") else "sample_weight": "a"}
    with pytest.raises(ValueError, match=r"Found .*0 feature\(s\)"):
        estimator(2).fit(NO_COLUMNS[container](), **labels)


ONE_ROW = {
    "array": lambda: ROWS[:1],
    "Arrow": lambda: TABLE[:1],
    "dask array": lambda: da.from_array(ROWS[:1]),
    "batches": lambda: [ROWS[:0], ROWS[:1]],
}


@pytest.mark.parametrize(("estimator", "container"), cases(ONE_ROW))
def test_one_row(estimator, container):
    with pytest.raises(ValueError, match=r"1 sample\(s\).* 2"):
        estimator(1).fit(ONE_ROW[container]())
    model = estimator(1).fit(ROWS)
    if container not in ("batches",):
        assert np.asarray(model.transform(ONE_ROW[container]())).shape == (1, 1)


@every_estimator
def test_one_column(estimator):
    expected = estimator(1).fit(ROWS[:, :1])
    np.testing.assert_array_equal(expected.components_, [[1.0]])
    for rows in (
        da.from_array(ROWS[:, :1], chunks=(7, 1)),
        [ROWS[:9, :1], ROWS[9:, :1]],
        TABLE.select(["a"]),
    ):
        np.testing.assert_allclose(estimator(1).fit(rows).mean_, expected.mean_, rtol=1e-12)


@every_estimator
def test_blocks_without_rows_are_as_if_they_were_not_there(estimator):
    blocks = [ROWS[:0], ROWS[:13], ROWS[13:13], ROWS[13:], ROWS[:0]]
    expected = estimator(2).fit([block for block in blocks if len(block)])
    for rows in (
        blocks,
        da.concatenate([da.from_array(block, chunks=(max(len(block), 1), 4)) for block in blocks]),
        pa.Table.from_batches(
            [pa.RecordBatch.from_arrays(list(block.T), names=list("abcd")) for block in blocks]
        ),
    ):
        np.testing.assert_allclose(estimator(2).fit(rows).components_, expected.components_, atol=1e-12)


@every_estimator
def test_what_can_be_read_once_says_so_the_second_time(estimator):
    for make in (lambda: iter([ROWS[:20], ROWS[20:]]), lambda: TABLE.to_reader(max_chunksize=9)):
        rows = make()
        estimator(2).fit(rows)
        with pytest.raises(ValueError, match=r"X gave no rows, .* An iterator or reader gives its rows once"):
            estimator(2).fit(rows)


def test_rows_without_an_end_are_taken_one_batch_at_a_time():
    def endless():
        for number in itertools.count():
            if number == 50:
                raise KeyboardInterrupt  # nothing else can end it
            taken.append(number)
            yield ROWS

    taken = []
    model = AttenuatedPCA(2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(endless())
    assert taken == list(range(50))
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("estimator", [*OF_ANY_ROWS, *OF_ROWS_IN_MEMORY, CorrectedCovariance])
@pytest.mark.parametrize("column", [FRAME["a"], FRAME["a"].convert_dtypes(), FRAME["a"].astype(object)])
def test_a_column_alone_has_no_rows_of_cells(estimator, column):
    model = estimator().fit(ROWS)
    for method in (estimator().fit, model.transform, model.impute):
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
            method(column)
