"""What CorrectedCovariance costs, beside scikit-learn's covariances on the same rows.

All take turns in one process, and the best time of each counts. The graphical lasso is timed up to 60
columns. A search costs more the more it finds, so rows with blocks of columns are timed besides noise: there
damping, and up to 500 columns pooling, are taken.

    python benchmarks/covariance_cost.py [--shapes 60x30 100x2000] [--repeats 3]
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.covariance import GraphicalLassoCV, LedoitWolf

from attenua import CorrectedCovariance
from rows import noise

SHAPES = ["60x30", "128x64", "100x200", "128x512", "2000x256", "100x1000", "100x2000"]
_MOST_LASSO = 60


def blocks(rng, n, p, rank):
    """Return rows whose columns come in blocks of ten that vary together."""
    return 0.8 * np.repeat(rng.standard_normal((n, -(-p // 10))), 10, axis=1)[:, :p] + noise(rng, n, p, rank)


KINDS = {"noise": noise, "blocks": blocks}


def measure(X, repeats):
    """Return the best seconds of every fit, and the last corrected model."""
    calls = {"LedoitWolf": LedoitWolf, "CorrectedCovariance": CorrectedCovariance}
    if X.shape[1] <= _MOST_LASSO:
        calls["GraphicalLassoCV"] = GraphicalLassoCV
    seconds, models = dict.fromkeys(calls, np.inf), {}
    for _ in range(repeats):
        for name, estimator in calls.items():
            start = time.perf_counter()
            models[name] = estimator().fit(X)
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds, models["CorrectedCovariance"]


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # of the graphical lasso
    for kind, make in KINDS.items():
        for shape in options.shapes:
            n, p = (int(part) for part in shape.split("x"))
            seconds, model = measure(make(np.random.default_rng(0), n, p, 5), options.repeats)
            times = "  ".join(f"{name} {value:8.4f} s" for name, value in seconds.items())
            print(f"{kind:7} {shape:>9}  {times}  {len(model.candidates_)} candidates", flush=True)


if __name__ == "__main__":
    main()
