"""Many float32 rows: a gap of a millionth is seen in every container, as it is in double precision."""

from functools import cache

import numpy as np
import pytest

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV, attenuation_path
from attenua._data.opening import open_for_cv
from attenua._data.rows import HostRows
from attenua._data.streams import RowStream
from tests.helpers import covariance, exact_components, in_turn, sine

N_ROWS, N_COLUMNS, RANK = 66_000, 5, 2
GAP = 1e-6
# Components are float32, too: rounding them turns the subspace by about 1e-7.
CLOSE = 1e-6


@cache
def rows_with_a_small_gap(shift):
    """Rows whose second and third variance, of 1, differ by a millionth."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((N_ROWS, N_COLUMNS))
    rows = np.linalg.qr(rows - rows.mean(axis=0))[0] * np.sqrt(N_ROWS)
    axes = np.linalg.qr(rng.standard_normal((N_COLUMNS, N_COLUMNS)))[0]
    return (rows * np.sqrt([3, 1 + GAP, 1, 0.5, 0.2]) @ axes + shift).astype(np.float32)


@cache
def truth(shift):
    return exact_components(covariance(rows_with_a_small_gap(shift).astype(float)), 0, RANK)


def in_batches(X):
    return [X[start : start + 7_000] for start in range(0, len(X), 7_000)]


def in_partitions(X):
    da = pytest.importorskip("dask.array", reason="partitions are Dask's")
    return da.from_array(X, chunks=(9_000, N_COLUMNS))


CONTAINERS = {"array": np.asarray, "columns in order": np.asfortranarray, "batches": in_batches}
CONTAINERS["partitions"] = in_partitions
MODELS = {
    "fit": AttenuatedPCA(RANK, alpha=0),
    "corrected": CorrectedPCA(RANK),
    "cv": AttenuatedPCACV(RANK, alphas=[0]),
    "corrected cv": CorrectedPCACV(RANK, corrections=["attenuation"]),
}


@pytest.mark.parametrize(
    ("shift", "container", "model"), in_turn([0, 40], CONTAINERS, ["fit", "cv"], times=2)
)
def test_a_small_gap_is_seen(model, container, shift):
    fitted = MODELS[model].fit(CONTAINERS[container](rows_with_a_small_gap(shift)))
    assert fitted.components_.dtype == np.float32
    assert sine(fitted.components_, truth(shift)) < CLOSE


@pytest.mark.parametrize("model", ["corrected", "corrected cv"])
def test_a_small_gap_is_seen_by_what_is_recommended(model):
    assert sine(MODELS[model].fit(rows_with_a_small_gap(0)).components_, truth(0)) < CLOSE


def test_a_small_gap_is_seen_on_a_path():
    path = attenuation_path(rows_with_a_small_gap(0), RANK, alphas=[0])
    assert sine(path.components[0], truth(0)) < CLOSE


@pytest.mark.parametrize("shift", [0, 40])
def test_a_small_gap_is_seen_on_a_device(lib, shift):
    fitted = MODELS["fit"].fit(lib.array(rows_with_a_small_gap(shift)))
    assert sine(lib.numpy(fitted.components_), truth(shift)) < CLOSE


@pytest.mark.parametrize("shift", [0, 40])
def test_every_fold_is_summed_in_double_precision(shift):
    X = rows_with_a_small_gap(shift)
    exact = X.astype(float)
    stream = RowStream(5)
    for batch in in_batches(X):
        stream.add(batch)
    whole = HostRows(X).moments()
    np.testing.assert_allclose(whole.covariance, covariance(exact), rtol=0, atol=1e-12)
    in_memory = open_for_cv(AttenuatedPCACV(RANK), X).moments
    for moments in (in_memory, stream.moments()):
        for k, _, held in moments.pairs():
            np.testing.assert_allclose(held.covariance, covariance(exact[k::5]), rtol=0, atol=1e-12)
