"""The whole cross-validated fit (22 strengths, 5 folds, refit) in units of one scikit-learn PCA.

Best of several interleaved repetitions, float64, Gaussian rows with ten spikes and unequal variances (or
sparse rows with twelve topics). ``--exact`` also times 111 separate dense fits where those can be run.

    python benchmarks/cv_cost.py [--only 2000x256] [--repeats 3] [--exact]
"""

import argparse
import time

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.decomposition import PCA

from attenua import AttenuatedPCACV

# rows, columns, rank, target in units of one PCA, sparse or not
SHAPES = [
    (1_000_000, 100, 10, 1.5, False),
    (20_000, 1_000, 10, 2.0, False),
    (2_000, 2_000, 10, 3.0, False),
    (500, 20_000, 10, 4.0, False),
    (2_000, 256, 8, 3.0, False),
    (20_000, 20_000, 10, 6.0, True),
]


def spiked_rows(n, p, rank, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X *= rng.uniform(0.5, 1.5, p)
    loadings = np.linalg.qr(rng.standard_normal((p, rank)))[0]
    # Variances of the spikes: from just above the edge of the noise to far above it.
    variances = (1 + np.sqrt(p / n)) ** 2 * np.geomspace(20, 2, rank)
    X += (rng.standard_normal((n, rank)) * np.sqrt(variances)) @ loadings.T
    return X


def sparse_rows(n, p, seed=0):
    rng = np.random.default_rng(seed)
    topic = rng.choice(12, n, p=np.arange(1, 13) / 78)
    stored = p // 100
    own = rng.integers(0, p // 40, (n, stored // 4)) + (p // 20) * topic[:, None]
    columns = np.hstack([own, rng.integers(0, p, (n, stored - stored // 4))])
    values = np.hstack([rng.exponential(4, own.shape), rng.exponential(1, (n, stored - stored // 4))])
    X = sp.csr_matrix((values.ravel(), columns.ravel(), np.arange(0, stored * n + 1, stored)), shape=(n, p))
    X.sum_duplicates()
    return X


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
            start = time.perf_counter()
            task()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def measure(n, p, rank, sparse, repeats, exact):
    X = sparse_rows(n, p) if sparse else spiked_rows(n, p, rank)
    solver = "arpack" if sparse else "auto"
    tasks = {
        "pca": lambda: PCA(rank, svd_solver=solver).fit(X),
        "cv": lambda: AttenuatedPCACV(rank).fit(X),
    }
    if exact and not sparse and n * p <= 4_000_000:
        tasks["exact"] = lambda: exact_fits(X, rank)
    return best_times(repeats, tasks)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="one shape, such as 2000x256")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--exact", action="store_true")
    options = parser.parse_args()
    print(f"{'rows x columns':>22}  {'one PCA':>9}  {'whole CV':>9}  {'ratio':>6}  target")
    for n, p, rank, target, sparse in SHAPES:
        if options.only and options.only != f"{n}x{p}":
            continue
        best = measure(n, p, rank, sparse, options.repeats, options.exact)
        ratio = best["cv"] / best["pca"]
        line = f"{n:>10} x {p:<9}  {best['pca']:>8.3f}s  {best['cv']:>8.3f}s  {ratio:>6.2f}  {target}"
        if "exact" in best:
            line += f"   111 exact fits / CV: {best['exact'] / best['cv']:.0f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
