"""What the risk theory costs: a risk curve and a surface, one fresh process per size.

Seconds are processor time, all threads together, so that a busy machine does not count.

python benchmarks/theory_cost.py
"""

import multiprocessing
import resource
import sys
import time

import numpy as np

from attenua.theory import Population, default_strengths

SIZES = [(16, 3), (64, 4), (64, 16), (256, 8), (512, 16)]


def covariance(p: int, d: int) -> np.ndarray:
    """Unequal variances and `d` spikes along random directions: a moving target with an open gap."""
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.standard_normal((p, d)))[0]
    return np.diag(rng.uniform(0.5, 1.5, p)) + (directions * np.linspace(30, 10, d)) @ directions.T


def peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def measure(p: int, d: int) -> tuple[float, float, float, float]:
    population, before = Population(covariance(p, d), d), peak_mb()
    start = time.process_time()
    curve = population.excess_risk(default_strengths(), n=2 * p)
    middle = time.process_time()
    surface = population.risk_surface(n=2 * p)
    end = time.process_time()
    assert np.array_equal(surface.risk[:, 0], curve)
    return middle - start, end - middle, before, peak_mb()


def main() -> None:
    strengths = len(default_strengths())
    print(f"bias and sampling coefficient over {strengths} strengths, and over {strengths} x 11 pairs")
    print(f"{'p':>5} {'d':>4} {'curve, s':>9} {'surface, s':>11} {'peak MB':>9} {'of it imports MB':>17}")
    for p, d in SIZES:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            curve, surface, before, peak = pool.apply(measure, (p, d))
        print(f"{p:5d} {d:4d} {curve:9.3f} {surface:11.3f} {peak:9.0f} {before:17.0f}", flush=True)


if __name__ == "__main__":
    main()
