"""What the risk theory costs: a curve of attenuation for growing sizes, and every correction at one size.

Seconds are processor time, all threads together, so that a busy machine does not count; each size has a
process of its own, with one thread.

python benchmarks/theory_cost.py [--sizes 16x3 64x4] [--corrections-at 200x10]
"""

import argparse
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

SIZES = ["16x3", "64x4", "64x16", "256x8", "512x16"]
STRENGTHS = {
    "attenuation": 0.5,
    "tempering": 0.5,
    "damping": 0.5,
    "smoothing": 0.8,
    "row_tempering": 0.5,
}


def covariance(p: int, d: int) -> np.ndarray:
    """Unequal variances and `d` spikes along random directions: a moving target with an open gap."""
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.standard_normal((p, d)))[0]
    return np.diag(rng.uniform(0.5, 1.5, p)) + (directions * np.linspace(30, 10, d)) @ directions.T


def peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def measure_curve(p: int, d: int) -> tuple[float, float, float]:
    """Seconds of a risk curve of attenuation, memory before and at its peak."""
    from attenua.theory import Population, default_strengths

    population, before = Population(covariance(p, d), d), peak_mb()
    start = time.process_time()
    population.excess_risk(2 * p, attenuation=default_strengths())
    return time.process_time() - start, before, peak_mb()


def measure_corrections(p: int, d: int) -> list[tuple[str, float]]:
    """Seconds of one risk with each correction, the least of three."""
    from attenua.theory import Population, StudentT

    S = covariance(p, d)
    plain = Population(S, d, neighbours="line")
    grouped = Population(S, d, neighbours="line", feature_groups=np.arange(p) // 2)
    paired = Population(S, d, row_pairs=True)
    cases = [("none", plain, {}, "gaussian")]
    cases += [(name, plain, {name: value}, "gaussian") for name, value in STRENGTHS.items()]
    cases += [
        ("row tempering of pairs", paired, {"row_tempering": 0.5}, "gaussian"),
        ("row tempering of pairs, t rows", paired, {"row_tempering": 0.5}, StudentT(5)),
        ("attenuation of groups", grouped, {"attenuation": 0.5}, "gaussian"),
        ("all together", plain, STRENGTHS, "gaussian"),
        ("all together, groups", grouped, STRENGTHS, "gaussian"),
        ("all together, t rows", plain, STRENGTHS, StudentT(5)),
    ]
    found = []
    for words, population, strengths, law in cases:
        seconds = []
        for _ in range(3):
            start = time.process_time()
            population.excess_risk(2 * p, law=law, **strengths)
            seconds.append(time.process_time() - start)
        found.append((words, min(seconds)))
    return found


def alone(function: Callable[..., Any], size: str) -> Any:
    """Run in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, tuple(int(part) for part in size.split("x")))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="*", default=SIZES, metavar="PxD", help="columns and rank")
    parser.add_argument("--corrections-at", default="200x10", metavar="PxD", help="columns and rank")
    options = parser.parse_args(arguments)
    # Read by the libraries of the processes below when they start.
    for library in ("OPENBLAS", "OMP", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    print("a risk curve of attenuation, 22 strengths\n")
    print("| columns | rank | seconds | peak MB | of it imports MB |")
    print("|---|---|---|---|---|")
    for size in options.sizes:
        seconds, before, peak = alone(measure_curve, size)
        print(f"| {' | '.join(size.split('x'))} | {seconds:.3f} | {peak:.0f} | {before:.0f} |", flush=True)
    print(f"\none risk at {options.corrections_at} (columns x rank), the least of three\n")
    print("| corrections | seconds |\n|---|---|")
    for words, seconds in alone(measure_corrections, options.corrections_at):
        print(f"| {words.replace('_', ' ')} | {seconds:.3f} |")


if __name__ == "__main__":
    main()
