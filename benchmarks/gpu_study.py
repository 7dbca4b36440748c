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

import array_api_compat
import joblib
import numpy as np
import torch

from attenua import AttenuatedPCACV
from attenua.array_api.dense import Leading
from attenua.array_api.fitting import reconstruction_errors
from attenua.array_api.namespace import spans
from attenua.array_api.stacks import RowStack
from attenua.array_api.subspaces import leading_subspaces
from attenua.folds import consecutive_folds
from attenua.validation import checked_strengths

# Data set, columns, rank.
SIZES = [("optdigits", 9, 2), ("phoneme", 256, 8), ("har", 561, 16)]
# Rows of all folds of one batch of subsamples take no more than this.
BATCH_BYTES = 2**30


def subsamples(count, n, p, rank, seed=0):
    random = np.random.default_rng(seed)
    loadings = random.standard_normal((rank, p)) * np.geomspace(2, 0.7, rank)[:, None]
    noise = random.uniform(0.5, 2.0, p)
    factors = random.standard_normal((count, n, rank))
    return factors @ loadings + random.standard_normal((count, n, p)) * noise


def row_stack(xp, rows, weights):
    """Return the covariances of every subsample (first dimension) under every set of weights."""
    count, n, p = rows.shape
    rows = xp.reshape(xp.broadcast_to(rows[:, None, :, :], (count, weights.shape[0], n, p)), (-1, n, p))
    weights = xp.tile(weights, (count, 1))
    offsets = xp.matmul(weights[:, None, :], rows)[:, 0, :]
    variances = xp.matmul(weights[:, None, :], (rows - offsets[:, None, :]) ** 2)[:, 0, :]
    return RowStack(xp, rows, weights, offsets, variances, offsets)


def chosen_on_device(xp, X, rank, strengths):
    """Return the chosen strength of every subsample."""
    count, n, p = X.shape
    held = np.zeros((5, n))
    for fold, rows in enumerate(consecutive_folds(5, n)):
        held[fold, rows] = 1
    sides = (1 - held, held)
    train_weights, held_weights = (xp.asarray(w / w.sum(1, keepdims=True), device=X.device) for w in sides)
    parts = xp.asarray(held.sum(axis=1) / n, device=X.device)
    chosen = []
    for some in spans(count, max(BATCH_BYTES // (8 * 5 * n * p), 1)):
        rows = X[some, ...] - xp.mean(X[some, ...], axis=1, keepdims=True)
        train = row_stack(xp, rows, train_weights)
        found: Leading = leading_subspaces(train, strengths, rank)
        folds = reconstruction_errors(row_stack(xp, rows, held_weights), found, train.means)
        risk = xp.sum(xp.reshape(folds, (-1, 5, strengths.shape[0])) * parts[:, None], axis=1)
        chosen.append(xp.take(strengths, xp.argmin(risk, axis=1)))
    return xp.concat(chosen)


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
        xp = array_api_compat.array_namespace(rows)
        strengths = xp.asarray(checked_strengths("direct"), device=device)
        best = float("inf")
        for _ in range(options.repeats + 1):
            start = time.perf_counter()
            found = chosen_on_device(xp, rows, rank, strengths).cpu().numpy()  # the copy waits for the device
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
