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

from accuracy import corrected_table
from attenua import AttenuatedPCACV, CorrectedPCACV
from rows import heavy, noise, smooth, spiked

SHAPES = ["128x64", "128x512", "2000x256", "20000x1000", "500x20000"]
KINDS = {"spiked": spiked, "heavy": heavy, "noise": noise, "smooth": smooth}
TARGET = 3.0


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
    """Return how many candidates were compared, and what was chosen."""
    chosen = [f"{name} {strength:g}" for name, strength in model.corrections_.items() if strength]
    words = ", ".join(chosen) or "PCA"
    return f"{len(model.candidates_)} candidates, {len(model.choices_)} choices, {words}"


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--accuracy", type=int, metavar="PROBLEMS")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.accuracy:
        corrected_table(options.accuracy, options.seed)
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
