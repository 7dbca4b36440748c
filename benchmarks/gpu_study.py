"""The paper's fixed-budget study on a GPU: attenuation chosen by cross-validation, many subsamples at once.

Subsamples of 64 rows with the columns and ranks of the three data sets (the data themselves are not needed
for a timing: rows are Gaussian with as many spikes as components and unequal variances). On the device all
folds of all subsamples and all strengths are one batch; on the host every subsample is one
``AttenuatedPCACV``, one thread each on all cores, as ``attenua.studies`` runs them. The chosen strengths are
compared.

    python benchmarks/gpu_study.py [--subsamples 1000] [--host-subsamples 100] [--repeats 3]
"""

import argparse
import os
import time

os.environ["SCIPY_ARRAY_API"] = "1"  # before scipy is imported

import joblib
import numpy as np
import torch

from attenua import AttenuatedPCACV
from attenua.array_api.many import cross_validate_many

# Data set, columns, rank.
SIZES = [("optdigits", 9, 2), ("phoneme", 256, 8), ("har", 561, 16)]


def subsamples(count, n, p, rank, seed=0):
    random = np.random.default_rng(seed)
    loadings = random.standard_normal((rank, p)) * np.geomspace(2, 0.7, rank)[:, None]
    noise = random.uniform(0.5, 2.0, p)
    factors = random.standard_normal((count, n, rank))
    return factors @ loadings + random.standard_normal((count, n, p)) * noise


def chosen_on_host(X, rank):
    """Return the chosen strengths and the seconds, on all cores."""
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        parallel = joblib.Parallel(n_jobs=-1)
        parallel(joblib.delayed(fit)(x, rank) for x in X[:32])  # starts the processes
        start = time.perf_counter()
        found = parallel(joblib.delayed(fit)(x, rank) for x in X)
        return np.array(found), time.perf_counter() - start


def fit(x, rank):
    return AttenuatedPCACV(rank).fit(x).alpha_


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subsamples", type=int, default=1_000)
    parser.add_argument("--host-subsamples", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    print(f"{name} against {joblib.cpu_count()} cores; subsamples a second")
    for title, p, rank in SIZES:
        X = subsamples(options.subsamples, 64, p, rank)
        rows = torch.asarray(X, device=device)
        best = float("inf")
        for _ in range(options.repeats + 1):
            start = time.perf_counter()
            found = cross_validate_many(rows, rank).alpha.cpu().numpy()  # the copy waits for the device
            best = min(best, time.perf_counter() - start)
        few = min(options.host_subsamples, options.subsamples)
        expected, seconds = chosen_on_host(X[:few], rank)
        speeds = options.subsamples / best, few / seconds
        same = int((found[:few] == expected).sum())
        print(
            f"{title:>10} {p:4} columns, rank {rank:2}: device {speeds[0]:9.1f}, host {speeds[1]:8.1f}, "
            f"ratio {speeds[0] / speeds[1]:6.1f}; same strength in {same} of {few}",
            flush=True,
        )


if __name__ == "__main__":
    main()
