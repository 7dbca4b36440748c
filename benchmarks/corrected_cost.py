"""What CorrectedPCACV costs in units of AttenuatedPCACV on the same rows: at most three times is wanted.

Both fits take turns in one process, and the best time of each counts. The cost of a search depends on what
it finds, so that several kinds of rows are timed: Gaussian rows with clear directions, where the answer is
PCA or close to it; the same with heavy tails, where row tempering is taken; noise; smooth curves with
`neighbours`.

    python benchmarks/corrected_cost.py [--shapes 128x64 500x20000] [--kinds spiked heavy] [--repeats 3]

``--accuracy`` fits random problems of 130 to 330 columns instead, where subspaces of folds are iterated, and
compares the held-out risk of every candidate with that of whole matrices decomposed by LAPACK.

    python benchmarks/corrected_cost.py --accuracy 100 [--seed 0]
"""

import argparse
import time

import numpy as np
from scipy.linalg import expm

from attenua import AttenuatedPCACV, CorrectedPCACV
from cost import bulk, clustered, noise, power, spiked

SHAPES = ["128x64", "128x512", "2000x256", "20000x1000", "500x20000"]
RANK = 10
TARGET = 3.0


def heavy(rng, n, p, rank):
    """Draw spiked rows of a multivariate t law with three degrees of freedom."""
    return spiked(rng, n, p, rank) * np.sqrt(3 / rng.chisquare(3, (n, 1)))


def smooth(rng, n, p, rank):
    """Draw curves that vary along smooth directions, with noise of about the same size."""
    times = np.linspace(0, 1, p)
    waves = np.cos(np.pi * np.outer(np.arange(1, rank + 1), times)) * np.geomspace(3, 1, rank)[:, None]
    return rng.standard_normal((n, rank)) @ waves + rng.standard_normal((n, p))


KINDS = {"spiked": spiked, "heavy": heavy, "noise": noise, "smooth": smooth}


def measure(kind, n, p, rank, repeats, seed=0):
    """Return the best seconds of both fits and the last corrected model."""
    X = KINDS[kind](np.random.default_rng(seed), n, p, rank)
    neighbours = "line" if kind == "smooth" else None
    calls = {
        "attenuated": lambda: AttenuatedPCACV(rank).fit(X),
        "corrected": lambda: CorrectedPCACV(rank, neighbours=neighbours).fit(X),
    }
    seconds, models = dict.fromkeys(calls, np.inf), {}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            models[name] = call()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds, models["corrected"]


def describe(model):
    """Return how many candidates were compared, and what was taken."""
    taken = [f"{name} {strength:g}" for name, strength in model.corrections_.items() if strength]
    differing = len({tuple(choice.values()) for choice in model.choices_})
    words = ", ".join(taken) or "PCA"
    return f"{len(model.candidates_)} candidates, {differing} choices, {words}"


def pair_covariance(X, strength):
    """Return the covariance of rows in which a pair counts by a power of its distance."""
    if strength == 0:
        return np.cov(X.T, bias=True)
    difference = X[:, None, :] - X[None, :, :]
    squares = np.sum(difference**2, axis=2)
    weights = np.where(squares > 0, np.where(squares > 0, squares, 1.0) ** -strength, 0.0)
    Z = X - X.mean(axis=0)
    return Z.T @ (np.diag(weights.sum(axis=1)) - weights) @ Z


def corrected_matrix(X, strengths, kernel):
    """Return the corrected covariance of rows, entry by entry."""
    tempering, damping, smoothing = (strengths[name] for name in ("tempering", "damping", "smoothing"))
    S = pair_covariance(X, strengths["row_tempering"])
    s = np.sqrt(np.diag(S))
    R, t = S / np.outer(s, s), s ** (1 - tempering)
    T = R * np.abs(R) ** damping * np.outer(t, t)
    np.fill_diagonal(T, (1 - strengths["attenuation"]) * t**2)
    if not smoothing:
        return T
    K = kernel(smoothing)
    return K @ T @ K


def exact_risks(X, candidates, rank, n_folds):
    """Return the held-out risks of candidates on folds of every n-th row, by whole decompositions."""
    p, risks = X.shape[1], np.empty((n_folds, len(candidates)))
    L = 2 * np.eye(p) - np.eye(p, k=1) - np.eye(p, k=-1)
    L[0, 0] = L[-1, -1] = 1.0
    kernels = {}

    def kernel(h):
        if h not in kernels:
            kernels[h] = expm(-(h**2) / 2 * L)
        return kernels[h]

    for fold in range(n_folds):
        held = np.arange(len(X)) % n_folds == fold
        centred = X[held] - X[~held].mean(axis=0)
        for place, strengths in enumerate(candidates):
            U = np.linalg.eigh(corrected_matrix(X[~held], strengths, kernel))[1][:, -rank:]
            risks[fold, place] = np.mean(np.sum((centred - centred @ U @ U.T) ** 2, axis=1))
    return risks


def accuracy(n_problems, seed=0, n_folds=3):
    """Print by how much differences to PCA's risk are off, in standard errors of these differences."""
    rng, off = np.random.default_rng(seed), []
    kinds = {**KINDS, "bulk": bulk, "power": power, "clustered": clustered}
    for _ in range(n_problems):
        kind, p = rng.choice(list(kinds)), int(rng.integers(130, 330))
        n, rank = int(rng.integers(30, 250)), int(rng.integers(1, 9))
        X = kinds[kind](rng, n, p, rank)
        neighbours = "line" if kind == "smooth" or rng.random() < 0.4 else None
        model = CorrectedPCACV(rank, neighbours=neighbours, cv=n_folds).fit(X)
        exact = exact_risks(X, model.candidates_, rank, n_folds)
        true, found = (risks - risks[:, :1] for risks in (exact, model.cv_risk_folds_))
        errors = np.sqrt(1 / n_folds + 1 / (n_folds - 1)) * true.std(axis=0, ddof=1)
        scale = np.maximum(errors, 1e-9 * exact[:, 0].mean())  # below that, differences are rounding errors
        off.append(float(np.max(np.abs((found - true).mean(axis=0)) / scale)))
    print(
        f"{n_problems} problems: differences to PCA's risk are off by at most {max(off):.2g} standard "
        f"errors, half of the problems by at most {np.median(off):.2g}"
    )


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--rank", type=int, default=RANK)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--accuracy", type=int, metavar="PROBLEMS")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.accuracy:
        accuracy(options.accuracy, options.seed)
        return
    met = []
    for kind in options.kinds:
        for shape in options.shapes:
            n, p = (int(part) for part in shape.split("x"))
            seconds, model = measure(kind, n, p, options.rank, options.repeats)
            ratio = seconds["corrected"] / seconds["attenuated"]
            met.append(ratio <= TARGET)
            print(
                f"{kind:8} {shape:>10}  attenuated {seconds['attenuated']:8.3f} s  "
                f"corrected {seconds['corrected']:8.3f} s  ratio {ratio:5.2f}  {describe(model)}",
                flush=True,
            )
    print(f"{sum(met)} of {len(met)} are at most {TARGET:g} times as slow")


if __name__ == "__main__":
    main()
