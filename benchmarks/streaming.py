"""Fits of a float32 memory map against a bare blocked ``X.T @ X`` over the same file.

    python benchmarks/streaming.py [--gigabytes 16] [--columns 1000] [--repetitions 3] [--folder DIR] [--cold]

Every repetition runs the bare product and both fits in turn, each in a process of its own, so that peak
memory is that fit's alone. Time is that of the loop or of the call to ``fit``, without the start of Python.
Memory is the peak of anonymous memory (pages of the file are the system's and are given back on demand), less
the interpreter's before the fit. With ``--cold`` the file is dropped from the page cache before every run;
without it, as much of the file is in memory as fits.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

BARE_BLOCK = 16_384  # the best of 4,096, 16,384 and 65,536 rows here


def make_file(path: Path, gigabytes: float, columns: int) -> int:
    """Write correlated rows with unequal variances and means that are not zero."""
    rng = np.random.default_rng(0)
    rows = int(gigabytes * 1e9 / 4 / columns)
    loadings = rng.standard_normal((8, columns), dtype=np.float32)
    scale = rng.uniform(0.5, 2, columns).astype(np.float32)
    mean = rng.uniform(-5, 5, columns).astype(np.float32)
    # A block is repeated with new factors: random numbers would take longer than everything that is measured.
    noise = rng.standard_normal((32_768, columns), dtype=np.float32) * scale + mean
    with path.open("wb") as file:
        for start in range(0, rows, len(noise)):
            n = min(len(noise), rows - start)
            factors = rng.standard_normal((n, 8), dtype=np.float32)
            (noise[:n] + factors @ loadings).tofile(file)
    return rows


def bare(X: np.ndarray) -> None:
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, len(X), BARE_BLOCK):
        block = X[start : start + BARE_BLOCK]
        total += block.T @ block


def fixed(X: np.ndarray) -> None:
    from attenua import AttenuatedPCA

    AttenuatedPCA(10, alpha=0.5).fit(X)


def cross_validated(X: np.ndarray) -> None:
    from attenua import AttenuatedPCACV

    AttenuatedPCACV(10).fit(X)


TASKS = {"bare X.T @ X": bare, "AttenuatedPCA.fit": fixed, "AttenuatedPCACV.fit": cross_validated}


def anonymous_memory() -> int:
    """Bytes of memory of this process that are not pages of a file (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return 0


def run_task(name: str, path: str, columns: int) -> None:
    """Run one task in this process and print its time and peak memory."""
    import attenua  # noqa: F401  (its import is not part of a fit)

    X = np.memmap(path, dtype=np.float32, mode="r").reshape(-1, columns)
    np.ones((64, 64)) @ np.ones((64, 64))  # the threads of BLAS are started
    before, peak, done = anonymous_memory(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], anonymous_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    TASKS[name](X)
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    print(json.dumps({"seconds": seconds, "bytes": peak[0] - before}))


def drop_from_cache(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(path: Path, options: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    found: dict[str, list[dict[str, float]]] = {name: [] for name in TASKS}
    for _ in range(options.repetitions):
        for name in TASKS:
            if options.cold:
                drop_from_cache(path)
            command = [sys.executable, __file__, "--task", name, "--file", str(path)]
            command += ["--columns", str(options.columns)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[name].append(json.loads(done.stdout))
            print(f"  {name:22} {found[name][-1]['seconds']:8.2f} s", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=16)
    parser.add_argument("--columns", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        run_task(options.task, options.file, options.columns)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "rows.float32"
        rows = make_file(path, options.gigabytes, options.columns)
        print(f"{rows} x {options.columns} float32, {path.stat().st_size / 1e9:.1f} GB, cold={options.cold}")
        found = measure(path, options)
    best = {name: min(run["seconds"] for run in runs) for name, runs in found.items()}
    statistics = 5 * 8 * options.columns**2
    print(f"per-fold statistics: {statistics / 1e6:.0f} MB")
    for name, runs in found.items():
        memory = max(run["bytes"] for run in runs)
        speed = best["bare X.T @ X"] / best[name]
        print(
            f"{name:22} {best[name]:8.2f} s   speed {speed:5.0%} of bare   "
            f"{memory / 1e6:6.0f} MB, {max(memory - statistics, 0) / 1e6:6.0f} MB beyond the statistics"
        )


if __name__ == "__main__":
    main()
