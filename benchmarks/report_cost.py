"""What the report costs once a model is fitted, and what limiting the threads of BLAS saves of it.

Each size and method has a process of its own. Seconds are of the clock, the least of some repetitions; the
ratio is against the same page with all threads of BLAS, made in turn with it, so that a busy machine counts
for both.

python benchmarks/report_cost.py [--sizes 1797x64 500x128] [--repeats 1]
"""

import argparse
import multiprocessing
import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from typing import Any
from unittest.mock import patch

SIZES = ["1797x64", "500x128"]
METHODS = ["CorrectedPCACV", "AttenuatedPCACV"]
# Modules that limit the threads by a name of their own.
LIMITED = ["report.page", "theory.geometry", "theory.plugin", "theory.population"]


def rows_of(n: int, p: int) -> Any:
    """Return the digits where they have this size, else random rows."""
    import numpy as np
    from sklearn.datasets import load_digits

    digits = load_digits().data
    return digits if digits.shape == (n, p) else np.random.default_rng(0).standard_normal((n, p))


def seconds_of_page(model: Any, X: Any, limited: bool) -> float:
    """Return the seconds of one page, with threads limited or as many as BLAS likes."""
    from attenua.report import report

    with ExitStack() as stack:
        if not limited:
            for module in LIMITED:
                stack.enter_context(patch(f"attenua.{module}.threads_for", lambda p: nullcontext()))
        start = time.perf_counter()
        report(model, X)
        return time.perf_counter() - start


def measure(method: str, n: int, p: int, repeats: int) -> tuple[int, float, float, float]:
    """Return the threads of BLAS, and the seconds of the fit and of the page, with limits and without."""
    import attenua
    from attenua._data.blas import blas_threads

    X, rank = rows_of(n, p), min(5, p - 1)
    start = time.perf_counter()
    model = getattr(attenua, method)(rank).fit(X)
    fit = time.perf_counter() - start
    pages = [[seconds_of_page(model, X, limited) for limited in (True, False)] for _ in range(repeats)]
    limited, free = (min(column) for column in zip(*pages, strict=True))
    return blas_threads(), fit, limited, free


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="*", default=SIZES, metavar="NxP", help="rows and columns")
    parser.add_argument("--repeats", type=int, default=1, help="pages of each kind; the fastest counts")
    options = parser.parse_args(arguments)
    print("| method | rows | columns | threads | fit, s | page, s | all threads / limited |")
    print("|---|---|---|---|---|---|---|")
    for size in options.sizes:
        n, p = (int(part) for part in size.split("x"))
        for method in METHODS:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                threads, fit, page, free = pool.apply(measure, (method, n, p, options.repeats))
            print(
                f"| {method} | {n} | {p} | {threads} | {fit:.2f} | {page:.2f} | {free / page:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
