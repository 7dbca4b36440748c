"""Time and memory of the whole cross-validated fit as the data grow, against one PCA and 111 separate fits.

Draws docs/images/cost.png: time (above) and memory beyond the data (below) against rows, columns and the
number of strengths, on logarithmic axes. Times are the best of two interleaved runs.

    python benchmarks/growth.py [--out docs/images/cost.png]
"""

import argparse
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
from sklearn.decomposition import PCA

from attenua import AttenuatedPCACV
from measuring import seconds_of
from rows import spiked

RANK = 8
# What varies, its values, and the shape and number of strengths at each.
SWEEPS = {
    "rows (200 columns)": [(n, n, 200, 22) for n in (500, 2_000, 8_000, 32_000, 128_000)],
    "columns (1,000 rows)": [(p, 1_000, p, 22) for p in (50, 200, 800, 3_200, 12_800)],
    "strengths (2,000 x 400)": [(k, 2_000, 400, k) for k in (2, 5, 11, 22, 44)],
}
LINES = {
    "cv": ("whole cross-validated path", "o-"),
    "pca": ("one PCA of scikit-learn", "s--"),
    "exact": ("111 separate fits", "^:"),
}
# Separate fits are run where they take seconds, not minutes.
EXACT_WORK = 2e9


def exact_fits(X, rank):
    """Fit 111 times from scratch: a covariance and a dense eigendecomposition each."""
    strengths = np.sort(np.append(np.arange(21) / 20, 0.49))
    for held in np.array_split(np.arange(len(X)), 5):
        train = np.delete(X, held, axis=0)
        for alpha in strengths:
            exact_fit(train, rank, alpha)
    exact_fit(X, rank, strengths[0])


def exact_fit(X, rank, alpha):
    S = np.cov(X.T, bias=True)
    S[np.diag_indices_from(S)] *= 1 - alpha
    scipy.linalg.eigh(S, subset_by_index=[len(S) - rank, len(S) - 1])


def best_times(repeats, tasks):
    """Return the best time of each task over interleaved repetitions."""
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(repeats):
        for name, task in tasks.items():
            best[name] = min(best[name], seconds_of(task))
    return best


def peak_memory(task):
    tracemalloc.start()
    task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def measure(n, p, n_strengths):
    X = spiked(np.random.default_rng(0), n, p, RANK)
    alphas = np.linspace(0, 1, n_strengths)
    tasks = {
        "pca": lambda: PCA(RANK).fit(X),
        "cv": lambda: AttenuatedPCACV(RANK, alphas=alphas).fit(X),
    }
    if n_strengths == 22 and n * p**2 + p**3 <= EXACT_WORK:
        tasks["exact"] = lambda: exact_fits(X, RANK)
    return best_times(2, tasks), {name: peak_memory(task) for name, task in tasks.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/images/cost.png"))
    out = parser.parse_args().out
    figure, axes = plt.subplots(2, 3, figsize=(10.5, 6), layout="constrained", sharex="col", sharey="row")
    for column, (title, points) in zip(axes.T, SWEEPS.items(), strict=True):
        measured = []
        for value, n, p, n_strengths in points:
            times, memory = measure(n, p, n_strengths)
            measured.append((value, times, memory))
            print(
                title,
                value,
                {k: round(v, 3) for k, v in times.items()},
                {k: round(v) for k, v in memory.items()},
            )
        for name, (label, style) in LINES.items():
            for ax, which in zip(column, (1, 2), strict=True):
                known = [(row[0], row[which][name]) for row in measured if name in row[which]]
                if known:
                    ax.loglog(*zip(*known, strict=True), style, label=label)
        column[1].set_xlabel(title)
        values = [point[0] for point in points]
        column[1].set_xticks(values, [f"{value:,}" for value in values])
        column[1].minorticks_off()
    axes[0, 0].set_ylabel("seconds")
    axes[1, 0].set_ylabel("megabytes beyond the data")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    for ax in axes.flat:
        ax.grid(which="major", color="0.9")
    figure.savefig(out, dpi=130)
    print(f"saved to {out}")


if __name__ == "__main__":
    main()
