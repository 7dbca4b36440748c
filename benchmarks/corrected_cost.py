"""What CorrectedPCACV and AttenuatedPCACV cost in units of scikit-learn's PCA on the same rows.

The four fits take turns in one process, and the best time of each counts. The cost of a search depends on
what it finds, so several kinds of rows are timed: Gaussian rows with clear directions, where the answer is
PCA or close to it; the same with heavy tails, where row tempering is taken; noise; smooth curves.

    python benchmarks/corrected_cost.py [--shapes 60x60 100x20000] [--kinds spiked heavy] [--memory]

``--sweep`` times random shapes, spectra and ranks, and lists the worst ratios:

    python benchmarks/corrected_cost.py --sweep 200 [--seed 0]

``--accuracy`` compares with LAPACK: the held-out risk of every candidate, the choice, and what the fitted
subspaces explain.

    python benchmarks/corrected_cost.py --accuracy 100 [--seed 0]
"""

import argparse
from contextlib import closing
from functools import partial

import numpy as np
from sklearn.decomposition import PCA

import rows
from accuracy import corrected_table
from attenua import AttenuatedPCACV, CorrectedPCACV
from measuring import Bench, memory_of, seconds_of

# The largest number of times that CorrectedPCACV and AttenuatedPCACV may take as long as PCA.
TARGETS = {
    "60x60": (15, 10),
    "100x50": (15, 10),
    "300x2000": (6, 3),
    "100x20000": (8, 4),
    "400x600": (12, 4),
    "2000x2000": (8, 4),
    "5000x500": (5, 1.5),
    "20000x1000": (3.5, 1.5),
}
# The same for neighbours, in units of the fit without.
NEIGHBOURS_TARGET = 1.5
# The same for the sweep, for more than this many columns.
SWEEP_TARGET, SWEEP_COLUMNS = 40, 100
# Bytes beyond the rows that CorrectedPCACV may take.
MOST_MEMORY = {"5000x3000": 1.5e9, "100x20000": 1e9}
KINDS = ("spiked", "heavy", "noise", "smooth")
SWEEP_KINDS = (*KINDS, "power", "clustered", "bulk")


def calls(kind, n, p, rank, seed=0):
    """Draw rows and return the fits to compare, by name."""
    X = getattr(rows, kind)(np.random.default_rng(seed), n, p, rank)
    fits = {
        "pca": lambda: PCA(rank, random_state=0).fit(X),
        "attenuated": lambda: AttenuatedPCACV(rank).fit(X),
        "corrected": lambda: CorrectedPCACV(rank).fit(X),
        "neighbours": lambda: CorrectedPCACV(rank, neighbours="line").fit(X),
    }
    small = rows.spiked(np.random.default_rng(0), 60, 40, 2)
    CorrectedPCACV(2, neighbours="line").fit(small)  # what is loaded and started at first use is not timed
    return fits


def measure(prepare, names, repeats, limit):
    """Return the best seconds of each call; calls take turns in a process of their own."""
    best = dict.fromkeys(names, np.inf)
    with closing(Bench(prepare, limit, None)) as bench:
        for _ in range(repeats):
            for name in names:
                best[name] = min(best[name], bench.measure(seconds_of, name))
    return best


def ratios(seconds):
    """Return what each fit costs in units of PCA, and neighbours in units of the fit without."""
    over_pca = {name: taken / seconds["pca"] for name, taken in seconds.items() if name != "pca"}
    return over_pca | {"neighbours / corrected": seconds["neighbours"] / seconds["corrected"]}


def table(options):
    """Print a row for every shape and kind, and how many targets are met."""
    print(f"{'':20}{'PCA':>9}{'corrected':>22}{'attenuated':>22}{'with neighbours / without':>28}")
    met = []
    for shape in options.shapes:
        n, p = (int(part) for part in shape.split("x"))
        for kind in options.kinds:
            prepare = partial(calls, kind, n, p, min(options.rank, n // 4, p // 4))
            names = ("pca", "attenuated", "corrected", "neighbours")
            seconds = measure(prepare, names, options.repeats, options.limit)
            found = ratios(seconds)
            corrected, attenuated = TARGETS.get(shape, (np.inf, np.inf))
            cells = [f"{kind:8} {shape:>10} {1e3 * seconds['pca']:8.1f}ms"]
            for name, target in (("corrected", corrected), ("attenuated", attenuated)):
                met.append(found[name] <= target)
                cells.append(_cell(f"{1e3 * seconds[name]:.0f}ms", found[name], target))
            added = found["neighbours / corrected"]
            met.append(added <= NEIGHBOURS_TARGET)
            cells.append(_cell("", added, NEIGHBOURS_TARGET))
            print("  ".join(cells), flush=True)
        if options.memory:
            met += _memory(shape, n, p, options)
    print(f"{sum(met)} of {len(met)} targets are met")


def _cell(time, ratio, target):
    return f"{time:>8} {ratio:5.1f} {'of' if ratio <= target else '> '} {target:<4g}"


def _memory(shape, n, p, options):
    """Print the bytes that a fit takes at most beyond the rows; return whether that meets the target."""
    prepare = partial(calls, "spiked", n, p, options.rank)
    with closing(Bench(prepare, options.limit, None)) as bench:
        peak = bench.measure(memory_of, "corrected")
    target = MOST_MEMORY.get(shape, np.inf)
    print(
        f"spiked   {shape:>10} {peak / 1e6:,.0f} MB beyond the rows, target {target / 1e6:,.0f}", flush=True
    )
    return [peak <= target]


def random_problem(rng):
    """Draw a kind, a shape of at most 2e7 entries and a rank."""
    while True:
        n, p = np.exp(rng.uniform(np.log([20, 5]), np.log([20_000, 20_000]))).round().astype(int).tolist()
        if n * p <= 2e7:
            break
    rank = int(np.exp(rng.uniform(0, np.log(51))))
    return str(rng.choice(SWEEP_KINDS)), n, p, max(min(rank, n - -(-n // 5) - 1, p - 1), 1)


def sweep(options):
    """Time random problems; print each, and at the end the worst ratios."""
    rng, found = np.random.default_rng(options.seed), []
    for _ in range(options.sweep):
        kind, n, p, rank = random_problem(rng)
        names = ("pca", "attenuated", "corrected")
        seconds = measure(partial(calls, kind, n, p, rank), names, options.repeats, options.limit)
        corrected, attenuated = (seconds[name] / seconds["pca"] for name in ("corrected", "attenuated"))
        line = (
            f"{kind:9} {n:>6} x {p:<6} rank {rank:<3} PCA {1e3 * seconds['pca']:8.1f} ms  "
            f"corrected {corrected:6.1f}  attenuated {attenuated:6.1f}"
        )
        found.append((corrected, p, line))
        print(line, flush=True)
    for title, some in (
        (f"above {SWEEP_COLUMNS} columns", [problem for problem in found if problem[1] > SWEEP_COLUMNS]),
        ("all", found),
    ):
        print(f"the ten worst, {title}:")
        print(*(line for _, _, line in sorted(some, reverse=True)[:10]), sep="\n")
    wide = [ratio for ratio, p, _ in found if p > SWEEP_COLUMNS]
    above = sum(ratio > SWEEP_TARGET for ratio in wide)
    print(f"{above} of {len(wide)} above {SWEEP_COLUMNS} columns cost more than {SWEEP_TARGET} times PCA")


def main(arguments=None):
    """Print the table, the sweep or the accuracy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=list(TARGETS))
    parser.add_argument("--kinds", nargs="+", choices=SWEEP_KINDS, default=list(KINDS))
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=150, help="seconds that a fit may take")
    parser.add_argument("--memory", action="store_true", help="measure peak memory too (Linux)")
    parser.add_argument("--sweep", type=int, metavar="PROBLEMS")
    parser.add_argument("--accuracy", type=int, metavar="PROBLEMS")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.accuracy:
        corrected_table(options.accuracy, options.seed)
    elif options.sweep:
        sweep(options)
    else:
        table(options)


if __name__ == "__main__":
    main()
