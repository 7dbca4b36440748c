"""The same rows in frames of every library, with more columns where a test wants them."""

import datetime

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset

from tests.helpers import spiked_rows

N = 40
ROWS = spiked_rows(N, 4)
CITIES = ["Rome", "Oslo"] * 20
NUMBERS = np.arange(N) % 7
DAY = datetime.datetime(2020, 1, 1)


def pandas_frame(**extra):
    return pd.DataFrame(ROWS, columns=list("abcd")).assign(**extra)


def polars_frame(**extra):
    """Return a frame of polars; a function makes a column late: threads of polars do not survive a fork."""
    made = {name: column() if callable(column) else column for name, column in extra.items()}
    return pl.DataFrame({name: ROWS[:, i] for i, name in enumerate("abcd")} | made)


def arrow_table(**extra):
    return pa.table({name: ROWS[:, i] for i, name in enumerate("abcd")} | extra)


def arrow_dataset(**extra):
    return pa.dataset.dataset(arrow_table(**extra))


def dask_frame(**extra):
    return dd.from_pandas(pandas_frame(**extra), npartitions=2)


FRAMES = [pandas_frame, polars_frame, arrow_table, dask_frame]
