"""Every container of the same rows gives the same fit, with the same number of folds."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from attenua import AttenuatedPCACV
from attenua._data.opening import open_for_cv, open_for_fit
from tests._data.test_streams import batches
from tests.helpers import assert_risks_close_enough, in_turn, spiked_rows

SHAPES = {"decomposed": (203, 6), "iterated": (203, 150), "wide": (60, 600)}


def names_of(X):
    return [f"x{i}" for i in range(X.shape[1])]


def arrow_table(X):
    return pa.table({name: X[:, i] for i, name in enumerate(names_of(X))})


def memory_map(X, folder):
    mapped = np.memmap(folder / "rows", dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X
    return mapped


CONTAINERS = {
    "Fortran order": lambda X, _: np.asfortranarray(X),
    "memory map": memory_map,
    "sparse": lambda X, _: sp.csr_array(X),
    "pandas": lambda X, _: pd.DataFrame(X, columns=names_of(X)),
    "polars": lambda X, _: pl.DataFrame(X, schema=names_of(X)),
    "batches": lambda X, _: iter(batches(X)),
    "sparse batches": lambda X, _: map(sp.csr_array, batches(X)),
    "Arrow table": lambda X, _: arrow_table(X),
    "Arrow reader": lambda X, _: arrow_table(X).to_reader(max_chunksize=50),
    "Dask array": lambda X, _: da.from_array(X, chunks=(37, -1)),
    "Dask data frame": lambda X, _: dd.from_pandas(pd.DataFrame(X, columns=names_of(X)), npartitions=4),
}


@pytest.mark.parametrize(("shape", "container"), in_turn(SHAPES, CONTAINERS))
def test_the_same_rows_and_number_of_folds_give_the_same_choice(container, shape, tmp_path):
    X = spiked_rows(*SHAPES[shape])
    alphas = [0, 0.3, 0.6, 1]
    expected = AttenuatedPCACV(3, alphas=alphas, cv=5).fit(X)
    model = AttenuatedPCACV(3, alphas=alphas, cv=5).fit(CONTAINERS[container](X, tmp_path))
    assert model.alpha_ == expected.alpha_
    if shape == "wide":
        # Streams sum up what rows in memory keep, so that iterations differ.
        assert_risks_close_enough(model.cv_risk_folds_, expected.cv_risk_folds_)
    else:
        np.testing.assert_allclose(model.cv_risk_folds_, expected.cv_risk_folds_, rtol=1e-9)
        np.testing.assert_allclose(model.cv_risk_, expected.cv_risk_, rtol=1e-9)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-7)
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
def test_what_is_known_of_the_rows(container, tmp_path):
    X = spiked_rows(*SHAPES["decomposed"])
    for data in (
        open_for_cv(AttenuatedPCACV(2, cv=5), CONTAINERS[container](X, tmp_path)),
        open_for_fit(AttenuatedPCACV(2, cv=5), CONTAINERS[container](X, tmp_path)),
    ):
        splits = data.moments.n_splits
        assert (data.n_samples, data.moments.weight, data.dtype) == (203, 203, np.float64)
        assert data.fewest_training_rows == (203 - 41 if splits == 5 else 203)
        np.testing.assert_allclose(data.moments.total.mean, X.mean(axis=0), rtol=1e-10, atol=1e-12)
    assert splits == 0


def test_a_single_training_row_is_refused_in_every_container():
    for rows in (spiked_rows(3, 4)[:2], [spiked_rows(3, 4)[:2]], spiked_rows(2, 600)):
        with pytest.raises(ValueError, match="one"):
            AttenuatedPCACV(1, cv=2).fit(rows)
