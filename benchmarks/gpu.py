"""Whole cross-validated fits on a GPU against one X.T @ X and one eigh.

Rows of float32 with ten spikes and unequal variances, made on the device. The best of several interleaved
runs counts, each ended by a synchronisation. The ratio is to one X.T @ X plus one eigendecomposition of its
result, in float32 and in float64. Then fewer rows are fitted on the device and by numpy: the chosen strength,
the held-out risks and the subspace are compared.

    python benchmarks/gpu.py [--library cupy] [--rows 1000000] [--columns 2048] [--repeats 5]

Without --library, torch is measured, and CuPy as well where it is installed. On a CPU, torch alone:

    python benchmarks/gpu.py --rows 20000 --columns 200
"""

import argparse
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

os.environ["SCIPY_ARRAY_API"] = "1"  # before scipy is imported

import numpy as np
import sklearn

from attenua import AttenuatedPCACV

# The most that a fit may take, in units of one product and one decomposition in float32.
TARGET = 1.35


class Library(NamedTuple):
    """An array library: its module and device, and how it does what libraries do differently.

    `normal` draws float32 numbers of a shape on the device; `peak_bytes` is the most memory that was in use.
    """

    module: Any
    device: str
    normal: Callable[..., Any]
    double: Callable[[Any], Any]
    to_host: Callable[[Any], np.ndarray]
    synchronise: Callable[[], None]
    peak_bytes: Callable[[], int]


def torch_library():
    """Return torch, on the GPU if there is one."""
    import torch

    torch.manual_seed(0)
    cuda, is_gpu = torch.cuda, torch.cuda.is_available()
    return Library(
        torch,
        cuda.get_device_name() if is_gpu else "CPU",
        normal=lambda *shape: torch.randn(shape, device="cuda" if is_gpu else "cpu"),
        double=lambda X: X.double(),
        to_host=lambda X: X.cpu().numpy(),
        synchronise=cuda.synchronize if is_gpu else lambda: None,
        peak_bytes=cuda.max_memory_allocated if is_gpu else lambda: 0,
    )


def cupy_library():
    """Return CuPy, which has no CPU to fall back on."""
    import cupy

    cupy.random.seed(0)
    return Library(
        cupy,
        cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        normal=lambda *shape: cupy.random.standard_normal(shape, dtype=np.float32),
        double=lambda X: X.astype(np.float64),
        to_host=lambda X: X.get(),
        synchronise=lambda: cupy.cuda.get_current_stream().synchronize(),
        peak_bytes=lambda: cupy.get_default_memory_pool().total_bytes(),
    )


LIBRARIES = {"torch": torch_library, "cupy": cupy_library}


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


def measure(library, X, rank, repeats):
    """Print the times, and the ratios to one product and one decomposition."""
    linalg = library.module.linalg
    S = X.T @ X / X.shape[0]
    double = library.double(S)
    tasks = {
        "X.T @ X": lambda: X.T @ X,
        "eigh float32": lambda: linalg.eigh(S),
        "eigh float64": lambda: linalg.eigh(double),
        "AttenuatedPCACV": lambda: AttenuatedPCACV(rank).fit(X),
    }
    best = best_times(library, repeats, tasks)
    for name, seconds in best.items():
        print(f"  {name:15} {1e3 * seconds:9.2f} ms")
    for name in ("float32", "float64"):
        ratio = best["AttenuatedPCACV"] / (best["X.T @ X"] + best[f"eigh {name}"])
        print(f"  AttenuatedPCACV / (X.T @ X + eigh {name}) = {ratio:.2f}   target on a GPU: {TARGET}")
    if library.peak_bytes():
        size = 4 * X.shape[0] * X.shape[1]
        print(f"  memory at most {library.peak_bytes() / 2**30:.1f} GiB, X being {size / 2**30:.1f}")


def check_against_numpy(library, X, rank):
    """Fit the same rows on the device and on the host, and print how far apart the answers are."""
    there, here = AttenuatedPCACV(rank).fit(X), AttenuatedPCACV(rank).fit(library.to_host(X))
    risk = library.to_host(there.cv_risk_)
    U, V = library.to_host(there.components_).astype(float), here.components_.astype(float)
    sine = np.linalg.norm(U - (U @ V.T) @ V, 2)
    equal = "equal" if there.alpha_ == here.alpha_ else "DIFFERENT"
    print(f"  {X.shape[0]:,} rows: strength {there.alpha_}, by numpy {here.alpha_}: {equal}")
    print(f"  largest difference of a risk {np.abs(risk / here.cv_risk_ - 1).max():.1e} of it", end="")
    print(f", sine of the largest angle {sine:.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", choices=LIBRARIES, action="append", help="may be given twice")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=2_048)
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--check-rows", type=int, help="rows compared with numpy; twice the columns")
    options = parser.parse_args()
    sklearn.set_config(array_api_dispatch=True)
    names = options.library or ["torch", *(["cupy"] if find_spec("cupy") else [])]
    for name in names:
        library = LIBRARIES[name]()
        X = spiked_rows(library, options.rows, options.columns, options.rank)
        print(f"{name} on {library.device}: {options.rows:,} x {options.columns:,} float32", flush=True)
        measure(library, X, options.rank, options.repeats)
        few = min(options.check_rows or 2 * options.columns, options.rows)
        check_against_numpy(library, X[:few], options.rank)
        del X


if __name__ == "__main__":
    main()
