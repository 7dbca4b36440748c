"""Fits of a dask array against one PCA fit of dask-ml on the same cluster and data.

    python benchmarks/dask_fit.py [--rows 400000] [--columns 200] [--workers 2] [--repetitions 3]

The rows are made on the workers and kept there (persisted) before anything is timed. Repetitions are
interleaved; the best of each is compared. Needs dask-ml.
"""

import argparse
import time
import warnings

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

from attenua import AttenuatedPCA, AttenuatedPCACV


def spiked(rows: int, columns: int, chunk: int) -> da.Array:
    """Rows with eight strong directions and unequal variances."""
    rng = da.random.default_rng(0)
    fixed = np.random.default_rng(1)
    factors = rng.standard_normal((rows, 8), chunks=(chunk, 8))
    noise = rng.standard_normal((rows, columns), chunks=(chunk, columns)) * fixed.uniform(0.5, 2, columns)
    return factors @ (2 * fixed.standard_normal((8, columns))) + noise + fixed.uniform(-5, 5, columns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--chunk", type=int, default=25_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of dask-ml, about its own imports
        from dask_ml.decomposition import PCA
    models = {
        "dask-ml PCA, tsqr": PCA(10, svd_solver="tsqr"),
        "dask-ml PCA, auto": PCA(10, svd_solver="auto"),
        "AttenuatedPCA": AttenuatedPCA(10, alpha=0.5),
        "AttenuatedPCACV": AttenuatedPCACV(10),
    }
    with (
        LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        X = spiked(options.rows, options.columns, options.chunk).persist()
        wait(X)
        print(
            f"{options.rows} x {options.columns} float64 in {X.npartitions} blocks, {options.workers} workers"
        )
        seconds: dict[str, list[float]] = {name: [] for name in models}
        for _ in range(options.repetitions):
            for name, model in models.items():
                start = time.perf_counter()
                model.fit(X)
                seconds[name].append(time.perf_counter() - start)
    peer = min(min(seconds[name]) for name in models if name.startswith("dask-ml"))
    for name, times in seconds.items():
        print(f"{name:20} {min(times):7.2f} s   {min(times) / peer:5.2f} of the faster dask-ml fit")


if __name__ == "__main__":
    main()
