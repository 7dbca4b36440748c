"""What missing cells cost: fits of rows with a fifth of the cells missing, over the same rows without.

Both take turns in one process, and the best time of each counts.

    python benchmarks/missing_cost.py [--shapes 60x30 2000x500] [--missing 0.2] [--repeats 3]
"""

import argparse
import time
import warnings

import numpy as np

from attenua import AttenuatedPCACV, CorrectedCovariance, CorrectedPCACV
from rows import heavy, noise, spiked

SHAPES = ["60x30", "128x200", "100x1000", "2000x500", "200x5000"]
KINDS = {"spiked": spiked, "heavy": heavy, "noise": noise}
_MOST_COLUMNS = 1_000  # of a whole covariance here: more take long with and without missing cells


def estimators(p):
    """Return the estimators to time."""
    models = {"CorrectedPCACV": CorrectedPCACV(5), "AttenuatedPCACV": AttenuatedPCACV(5)}
    return models | ({"CorrectedCovariance": CorrectedCovariance()} if p <= _MOST_COLUMNS else {})


def measure(model, X, holes, repeats):
    """Return the best seconds without and with missing cells."""
    best = [np.inf, np.inf]
    for _ in range(repeats):
        for place, rows in enumerate((X, holes)):
            start = time.perf_counter()
            model.fit(rows)
            best[place] = min(best[place], time.perf_counter() - start)
    return best


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--missing", type=float, default=0.2, help="part of the cells")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", UserWarning)  # of columns that are never seen together
    for kind, make in KINDS.items():
        for shape in options.shapes:
            n, p = (int(part) for part in shape.split("x"))
            random = np.random.default_rng(0)
            X = make(random, n, p, 5)
            holes = np.where(random.random(X.shape) < options.missing, np.nan, X)
            for name, model in estimators(p).items():
                without, with_holes = measure(model, X, holes, options.repeats)
                print(
                    f"{kind:7} {shape:>9}  {name:19}  {without:8.3f} s  {with_holes:8.3f} s with missing "
                    f"cells: {with_holes / without:6.1f} times",
                    flush=True,
                )


if __name__ == "__main__":
    main()
