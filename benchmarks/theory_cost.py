"""What the risk theory costs: time and peak memory of a whole risk curve, one fresh process per size.

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


def measure(p: int, d: int) -> tuple[float, float, float]:
    S, before = covariance(p, d), peak_mb()
    start = time.perf_counter()
    risk = Population(S, d).excess_risk(default_strengths(), n=2 * p)
    seconds = time.perf_counter() - start
    assert np.isfinite(risk).all()
    return seconds, before, peak_mb()


def main() -> None:
    strengths = len(default_strengths())
    print(f"risk curve (bias and sampling coefficient) over {strengths} strengths")
    print(f"{'p':>5} {'d':>4} {'seconds':>9} {'peak MB':>9} {'of it imports MB':>17}")
    for p, d in SIZES:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, before, peak = pool.apply(measure, (p, d))
        print(f"{p:5d} {d:4d} {seconds:9.3f} {peak:9.0f} {before:17.0f}")


if __name__ == "__main__":
    main()
