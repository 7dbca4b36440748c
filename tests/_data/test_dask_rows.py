"""Dask collections, on the threads of this process and on a cluster of worker processes."""

import os
import pickle
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua._data.folds import folds_by_group
from tests._data.test_streams import ALPHAS, FOLDS, GROUPS, NAMES, X, assert_same_fit, in_memory, splits_of
from tests.helpers import spiked_rows

UNEVEN = ((40, 3, 100, 1, 59), (6,))


@pytest.fixture(scope="module")
def cluster():
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as cluster,
    ):
        yield cluster


def unknown_chunks(X):
    """A dask array that does not know how many rows each block has."""
    return dd.from_pandas(pd.DataFrame(X), npartitions=4).to_dask_array()


def sparse_blocks(X):
    return da.from_array(X, chunks=UNEVEN).map_blocks(sp.csr_matrix, meta=sp.csr_matrix((0, 0)))


CONTAINERS = {
    "uneven chunks": lambda X: da.from_array(X, chunks=UNEVEN),
    "columns in chunks": lambda X: da.from_array(X, chunks=(50, 4)),
    "one chunk": lambda X: da.from_array(X, chunks=-1),
    "unknown chunks": unknown_chunks,
    "unknown chunks after a filter": lambda X: (lambda a: a[a[:, 0] > -1e9])(da.from_array(X, chunks=UNEVEN)),
    "data frame": lambda X: dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=4),
    "sparse blocks": sparse_blocks,
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_dask_gives_the_fit_in_memory_with_the_same_folds(container):
    data = CONTAINERS[container](X)
    model = AttenuatedPCACV(2, alphas=ALPHAS).fit(data)
    assert_same_fit(model, in_memory())
    assert_same_fit(AttenuatedPCA(2, alpha=0.5).fit(data), AttenuatedPCA(2, alpha=0.5).fit(X))
    assert list(getattr(model, "feature_names_in_", [])) == (NAMES if container == "data frame" else [])
    scores = model.transform(data)
    assert isinstance(scores, da.Array)
    assert scores.shape[1] == 2
    np.testing.assert_allclose(scores.compute(), in_memory().transform(X), atol=1e-8)
    back = model.inverse_transform(scores)
    assert isinstance(back, da.Array)
    np.testing.assert_allclose(back.compute(), model.inverse_transform(scores.compute()), atol=1e-8)
    assert model.score(data) == pytest.approx(in_memory().score(X), rel=1e-9)


def test_partitions_without_rows():
    data = da.from_array(X, chunks=UNEVEN)
    kept = X[:, 0] > np.median(X[:, 0])
    kept[:143] = False  # whole blocks vanish
    filtered = data[da.from_array(kept, chunks=UNEVEN[0])]
    model = AttenuatedPCACV(2, alphas=ALPHAS).fit(filtered)
    assert_same_fit(model, in_memory(X=X[kept]))
    assert model.transform(filtered).compute().shape == (kept.sum(), 2)


def test_columns_without_names():
    frame = pd.DataFrame(X)  # columns 0, 1, ...: no names to scikit-learn
    model = AttenuatedPCA(2, alpha=0.5).fit(dd.from_pandas(frame, npartitions=4))
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_allclose(
        model.transform(frame), AttenuatedPCA(2, alpha=0.5).fit(X).transform(X), atol=1e-8
    )


def test_groups_and_weights():
    expected = in_memory(folds_by_group(GROUPS, 5))
    arrays = da.from_array(X, chunks=UNEVEN)
    for groups in (GROUPS, da.from_array(GROUPS, chunks=50), da.from_array(GROUPS, chunks=UNEVEN[:1])):
        assert_same_fit(AttenuatedPCACV(2, alphas=ALPHAS).fit(arrays, groups=groups), expected)
    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES).assign(subject=GROUPS), npartitions=4)
    assert_same_fit(AttenuatedPCACV(2, alphas=ALPHAS).fit(frame, groups="subject"), expected)
    by_series = AttenuatedPCACV(2, alphas=ALPHAS).fit(frame[NAMES], groups=frame["subject"])
    assert_same_fit(by_series, expected)
    weighted = AttenuatedPCA(2, alpha=0.5).fit(X, sample_weight=GROUPS)
    assert_same_fit(
        AttenuatedPCA(2, alpha=0.5).fit(arrays, sample_weight=da.from_array(GROUPS, chunks=50)), weighted
    )
    assert_same_fit(AttenuatedPCA(2, alpha=0.5).fit(frame, sample_weight="subject"), weighted)


def test_float32_and_sizes_that_differ_between_partitions():
    single = AttenuatedPCA(2, alpha=0.5).fit(da.from_array(X.astype(np.float32), chunks=UNEVEN))
    assert single.components_.dtype == np.float32
    assert single.transform(da.from_array(X.astype(np.float32), chunks=UNEVEN)).dtype == np.float32
    scale = np.repeat([1e-140, 1e100, 1.0, 0.0, 1e120], UNEVEN[0])[:, None]
    model = AttenuatedPCACV(2, alphas=ALPHAS).fit(da.from_array(X * scale, chunks=UNEVEN))
    expected = in_memory(X=X * scale)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)
    np.testing.assert_allclose(model.cv_risk_, expected.cv_risk_, rtol=1e-9)


def test_bad_dask_input():
    bad = X.copy()
    bad[150, 3] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN in column 3 \('d'\)"):
        AttenuatedPCA(2, alpha=0.5).fit(dd.from_pandas(pd.DataFrame(bad, columns=NAMES), npartitions=4))
    data = da.from_array(X, chunks=UNEVEN)
    with pytest.raises(ValueError, match="cv must be a number of folds"):
        AttenuatedPCACV(2, cv=splits_of(FOLDS)).fit(data)
    with pytest.raises(ValueError, match="groups holds 200 entries, but X has 203 rows"):
        AttenuatedPCACV(2).fit(data, groups=GROUPS[:200])
    with pytest.raises(ValueError, match="groups must be a dask collection with the partitions of X"):
        AttenuatedPCACV(2).fit(unknown_chunks(X), groups=GROUPS)
    with pytest.raises(ValueError, match="groups has 7 partitions, but X has 4"):
        AttenuatedPCACV(2).fit(unknown_chunks(X), groups=dd.from_pandas(pd.Series(GROUPS), npartitions=7))
    with pytest.raises(ValueError, match="groups='subject' is not a column of X"):
        AttenuatedPCACV(2).fit(data, groups="subject")
    with pytest.raises(ValueError, match="X must have two dimensions"):
        AttenuatedPCA(2, alpha=0.5).fit(data[:, 0])
    model = AttenuatedPCA(2, alpha=0.5).fit(data)
    with pytest.raises(ValueError, match="X has 5 features, but AttenuatedPCA is expecting 6"):
        model.transform(data[:, :5])
    bad[150, 3] = np.inf
    with pytest.raises(ValueError, match="contains infinity in column 3"):
        model.transform(da.from_array(bad, chunks=UNEVEN)).compute()


# --- A cluster of processes -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_cluster_gives_the_fit_in_memory(cluster):
    with Client(cluster):
        for container in ("uneven chunks", "unknown chunks", "data frame", "sparse blocks"):
            data = CONTAINERS[container](X)
            model = AttenuatedPCACV(2, alphas=ALPHAS).fit(data)
            assert_same_fit(model, in_memory())
            np.testing.assert_allclose(model.transform(data).compute(), in_memory().transform(X), atol=1e-8)


@pytest.mark.slow
def test_rows_are_not_gathered(cluster):
    # 32 MB of rows on the workers; what comes here is five folds of 20-by-20 sums, 16 kB.
    with Client(cluster) as client:
        data = da.random.default_rng(0).standard_normal((200_000, 20), chunks=(20_000, 20))
        received, gather = [], client.gather

        def noting(*args, **options):
            received.append(gather(*args, **options))
            return received[-1]

        client.gather = noting
        model = AttenuatedPCACV(2, alphas=ALPHAS).fit(data)
    assert model.n_samples_ == 200_000
    assert 16_000 < len(pickle.dumps(received)) < 50_000


N_BLOCKS = 24
# A fit that hangs must fail; one that is only slow need not. Seconds.
LONGEST_WAIT = 300


def wait_until(is_so):
    deadline = time.monotonic() + LONGEST_WAIT
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def slow_rows(number, started):
    """Fifty rows, slowly; leaves a note that the work began. The last block waits until the fit may end."""
    with open(os.path.join(started, str(number)), "w"):
        pass
    time.sleep(0.05)
    if number == N_BLOCKS - 1:
        wait_until(lambda: os.path.exists(f"{started}.may-end"))
    return spiked_rows(50, 6, seed=number)


def slow_array(folder):
    blocks = [dask.delayed(slow_rows)(number, str(folder)) for number in range(N_BLOCKS)]
    return da.concatenate([da.from_delayed(block, shape=(50, 6), dtype=float) for block in blocks])


@pytest.mark.slow
def test_workers_killed_three_times_in_a_fit(cluster, tmp_path):
    (tmp_path / "undisturbed").mkdir()
    (tmp_path / "undisturbed.may-end").touch()
    (tmp_path / "killed").mkdir()
    with Client(cluster) as client:
        expected = AttenuatedPCACV(2, alphas=ALPHAS).fit(slow_array(tmp_path / "undisturbed"))
        model, errors = AttenuatedPCACV(2, alphas=ALPHAS), []

        def fit():
            try:
                model.fit(slow_array(tmp_path / "killed"))
            except Exception as error:
                errors.append(error)

        def begun():
            return len(os.listdir(tmp_path / "killed"))

        thread = threading.Thread(target=fit, daemon=True)
        victims = list(client.run(os.getpid).values())
        thread.start()
        for number, victim in enumerate(victims, start=1):  # every worker that the fit began with
            wait_until(lambda number=number: begun() >= 6 * number)
            assert thread.is_alive()
            os.kill(victim, signal.SIGKILL)
        (tmp_path / "killed.may-end").touch()
        thread.join(timeout=LONGEST_WAIT)
        assert not thread.is_alive()
        assert errors == []
        client.wait_for_workers(3, timeout=LONGEST_WAIT)
        assert not set(victims) & set(client.run(os.getpid).values())
    for name in ("components_", "mean_", "cv_risk_folds_", "explained_variance_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))
    rows = np.vstack([spiked_rows(50, 6, seed=number) for number in range(N_BLOCKS)])
    assert_same_fit(model, in_memory(X=rows))
