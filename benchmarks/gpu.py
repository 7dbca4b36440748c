"""The whole cross-validated fit on a GPU (22 strengths, 5 folds, refit) beside one X.T @ X and one eigh.

Rows of float32 with ten spikes and unequal variances, made on the device. Best of several interleaved
repetitions, each ended by a synchronisation. The ratio is to one X.T @ X plus one eigendecomposition of its
result, in float32 and in float64. Then the accuracy, for all rows and for a few: at every strength the sine
of the largest angle to eigh in float64 of the same covariance, and whether the chosen strength is eigh's.

    python benchmarks/gpu.py [--library cupy] [--rows 1000000] [--columns 2048] [--repeats 5] [--profile]

Runs on the CPU where torch finds no GPU: give --rows and --columns then.
"""

import argparse
import os
import time

os.environ["SCIPY_ARRAY_API"] = "1"  # before scipy is imported

import array_api_compat
import numpy as np
import sklearn

from attenua import AttenuatedPCACV
from attenua.array_api.fitting import reconstruction_errors
from attenua.array_api.moments import ArrayRows
from attenua.array_api.stacks import stack_of
from attenua.array_api.subspaces import leading_subspaces
from attenua.comparison import FoldMoments
from attenua.folds import consecutive_folds
from attenua.validation import checked_strengths


class Torch:
    """torch, on the GPU if there is one."""

    def __init__(self):
        import torch

        self.module = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.name = torch.cuda.get_device_name() if self.device == "cuda" else "CPU"
        torch.manual_seed(0)

    def normal(self, *shape):
        """Return float32 standard normal numbers on the device."""
        return self.module.randn(shape, device=self.device)

    def synchronise(self):
        """Wait for the device."""
        if self.device == "cuda":
            self.module.cuda.synchronize()

    def peak_bytes(self):
        """Return the most memory that was in use."""
        return self.module.cuda.max_memory_allocated() if self.device == "cuda" else 0


class CuPy:
    """CuPy, which has no CPU to fall back on."""

    def __init__(self):
        import cupy

        self.module = cupy
        self.name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        cupy.random.seed(0)

    def normal(self, *shape):
        """Return float32 standard normal numbers on the device."""
        return self.module.random.standard_normal(shape, dtype=np.float32)

    def synchronise(self):
        """Wait for the device."""
        self.module.cuda.get_current_stream().synchronize()

    def peak_bytes(self):
        """Return the most memory that was in use."""
        return self.module.get_default_memory_pool().total_bytes()


def spiked_rows(library, n, p, rank):
    """Return rows with a few strong directions and unequal noise, filled block by block."""
    deviations = 0.5 + library.normal(p) ** 2 % 1.0
    loadings = library.normal(rank, p) / p**0.5
    variances = np.geomspace(20, 3, rank) * (1 + (p / n) ** 0.5) ** 2 * 2.25
    X = library.normal(n, p)
    X *= deviations
    for start in range(0, n, 65_536):
        block = X[start : start + 65_536]
        factors = library.normal(block.shape[0], rank)
        for k in range(rank):
            factors[:, k] *= float(variances[k]) ** 0.5
        block += factors @ loadings
    return X


def best_times(library, repeats, tasks):
    """Return the best time of each task over interleaved repetitions, after one that is not counted."""
    best = dict.fromkeys(tasks, float("inf"))
    for repetition in range(repeats + 1):
        for name, task in tasks.items():
            library.synchronise()
            start = time.perf_counter()
            task()
            library.synchronise()
            if repetition:
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def sines(xp, A, B):
    """Return the sine of the largest angle between the column spaces of stacks of orthonormal frames."""
    outside = A - xp.matmul(B, xp.matmul(xp.matrix_transpose(B), A))
    return xp.sqrt(xp.max(xp.linalg.eigvalsh(xp.matmul(xp.matrix_transpose(outside), outside)), axis=-1))


def check_accuracy(xp, X, rank, chosen):
    """Compare the subspaces of all folds and of all rows with whole decompositions, one by one."""
    rows = ArrayRows(xp, X)
    moments = FoldMoments([rows.moments(fold) for fold in consecutive_folds(5, X.shape[0])])
    pairs = [moments.pair(number) for number in range(5)]
    train = stack_of([*(pair[0] for pair in pairs), moments.total])
    strengths = checked_strengths("direct")
    alphas = xp.asarray(strengths, device=array_api_compat.device(X))
    fast = leading_subspaces(train, alphas, rank)
    exact = []
    for m in range(6):
        for a in range(len(strengths)):
            T = train.dense(xp.asarray([m], device=alphas.device), alphas[a : a + 1])
            exact.append(xp.flip(xp.linalg.eigh(T)[1], axis=-1)[..., :rank])
    exact = xp.reshape(xp.concat(exact), fast.basis.shape)
    off = sines(xp, fast.basis, exact)
    held = stack_of([pair[1] for pair in pairs])
    weights = np.array([pair[1].weight for pair in pairs])
    risk = reconstruction_errors(held, fast._replace(basis=exact[:5, ...]), train.means[:5, :])
    risk = xp.asarray(weights / weights.sum(), device=alphas.device) @ risk
    best = float(strengths[int(xp.argmin(risk))])
    refit, folds = float(xp.max(off[5, :])), float(xp.max(off[:5, :]))
    print(f"  largest sine to eigh in float64: path of all rows {refit:.1e}, folds {folds:.1e}")
    print(f"  decomposed as a whole: {int(xp.sum(xp.astype(fast.exact, xp.int64)))} of {6 * len(strengths)}")
    print(f"  chosen strength {chosen}, by eigh {best}: {'equal' if chosen == best else 'DIFFERENT'}")


def check_sums(xp, X):
    """Compare the covariance with one whose products are all in double precision."""
    rows, double = ArrayRows(xp, X), ArrayRows(xp, X)
    single, double._single = rows._single, False
    S, exact = rows.moments().covariance, double.moments().covariance
    off = float(xp.linalg.matrix_norm(S - exact)) / float(xp.linalg.matrix_norm(exact))
    print(
        f"products in {'single' if single else 'double'} precision: covariance off by {off:.1e} of its norm"
    )


def profile(library, xp, X, rank):
    """Print where the time goes."""
    parts = {}

    def timed(name, task):
        library.synchronise()
        start = time.perf_counter()
        result = task()
        library.synchronise()
        parts[name] = time.perf_counter() - start
        return result

    rows = timed("frame and finite check", lambda: ArrayRows(xp, X))
    folds = consecutive_folds(5, X.shape[0])
    moments = timed("sums of 5 folds", lambda: FoldMoments([rows.moments(fold) for fold in folds]))
    alphas = xp.asarray(checked_strengths("direct"), device=array_api_compat.device(X))
    pairs = timed("training sums", lambda: [moments.pair(number) for number in range(5)])
    train, held = timed("covariances", lambda: [stack_of(side) for side in zip(*pairs, strict=True)])
    found = timed("110 subspaces", lambda: leading_subspaces(train, alphas, rank))
    timed("110 risks", lambda: reconstruction_errors(held, found, train.means))
    total = stack_of([moments.total])
    timed("one refit", lambda: leading_subspaces(total, alphas[:1], rank))
    double = ArrayRows(xp, X)
    double._single = False
    timed("(sums with products in double precision)", lambda: double.moments())
    for name, seconds in parts.items():
        print(f"  {name:42} {1e3 * seconds:9.2f} ms")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", choices=["torch", "cupy"], default="torch")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=2_048)
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--no-accuracy", action="store_true", help="leave out the 132 whole decompositions")
    options = parser.parse_args()
    sklearn.set_config(array_api_dispatch=True)
    library = Torch() if options.library == "torch" else CuPy()
    X = spiked_rows(library, options.rows, options.columns, options.rank)
    xp = array_api_compat.array_namespace(X)
    print(
        f"{options.library} on {library.name}: {options.rows:,} x {options.columns:,} {X.dtype}", flush=True
    )
    S = xp.matrix_transpose(X) @ X / options.rows
    double = xp.astype(S, xp.float64)
    model = AttenuatedPCACV(options.rank)
    best = best_times(
        library,
        options.repeats,
        {
            "X.T @ X": lambda: xp.matrix_transpose(X) @ X,
            "eigh float32": lambda: xp.linalg.eigh(S),
            "eigh float64": lambda: xp.linalg.eigh(double),
            "whole CV": lambda: model.fit(X),
        },
    )
    for name, seconds in best.items():
        print(f"  {name:14} {1e3 * seconds:9.2f} ms")
    for name in ("float32", "float64"):
        ratio = best["whole CV"] / (best["X.T @ X"] + best[f"eigh {name}"])
        print(f"whole CV / (X.T @ X + eigh {name}) = {ratio:.2f}   target 2")
    size = 4 * options.rows * options.columns
    print(f"memory at most {library.peak_bytes() / 2**30:.1f} GiB, X being {size / 2**30:.1f}", flush=True)
    if options.profile:
        profile(library, xp, X, options.rank)
    check_sums(xp, X)
    if not options.no_accuracy:
        few = X[: 2 * options.columns, :]  # where attenuation matters more
        for rows in (few, X):
            print(f"{rows.shape[0]:,} rows:")
            check_accuracy(xp, rows, options.rank, AttenuatedPCACV(options.rank).fit(rows).alpha_)


if __name__ == "__main__":
    main()
