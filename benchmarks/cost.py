"""What a fit costs in units of one scikit-learn PCA, and how far its answer is from LAPACK's.

The cost table times PCA, PCA by a full SVD, one attenuated fit and the whole cross-validated fit (22
strengths, 5 folds, refit), and says which targets are met. Calls take turns, and the best time of each
counts. Every row has a process of its own, which is ended where a call takes longer than the limit.

    python benchmarks/cost.py [--rows 400x600 sparse] [--repeats 3] [--memory] [--json cost.json]

``--accuracy`` fits small random problems instead and compares them with a literal loop over LAPACK.

    python benchmarks/cost.py --accuracy 300 [--large] [--seed 0]
"""

import argparse
import json
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import LeaveOneOut
from threadpoolctl import threadpool_limits

import rows as kinds
from accuracy import attenuated_table
from attenua import AttenuatedPCA, AttenuatedPCACV
from measuring import Bench, memory_of, seconds_of

# Of each call: the largest number of times that another may be exceeded; the largest of several counts.
USUAL = {"fit": {"pca": 3, "full": 1}, "cv": {"pca": 12, "full": 6}}
WHOLE = {"fit": {"pca": 3}, "cv": {"pca": 10}}
SPARSE = {"fit": {"pca": 3}, "cv": {"pca": 15}}
MOST_SPREAD, MOST_MEMORY = 3, 3
# Memory of allocators and threads, in bytes; less than this is not judged.
MEMORY_NOISE = 16e6
SPECTRA = ("noise", "power", "clustered", "spiked")
SPECTRA_SHAPES = ((400, 600), (1_500, 1_500), (3_000, 3_000), (300, 20_000))
CALLS = {
    "pca": lambda row, X: PCA(row.rank, svd_solver=row.solver, random_state=0).fit(X),
    "full": lambda row, X: PCA(row.rank, svd_solver="full").fit(X),
    "fit": lambda row, X: AttenuatedPCA(row.rank, alpha=0.5).fit(X),
    "cv": lambda row, X: AttenuatedPCACV(row.rank).fit(X),
    "loo": lambda row, X: AttenuatedPCACV(row.rank, cv=LeaveOneOut()).fit(X),
}


@dataclass(frozen=True)
class Row:
    """A row of the table: a kind of data, its shape, the rank, and how many times others a call may cost.

    `density` is the part of the entries that are stored, None for dense rows; `most_memory` is what
    cross-validation may take beyond X, whatever PCA takes.
    """

    kind: str
    n: int
    p: int
    rank: int | None = 10
    density: float | None = None
    targets: dict[str, dict[str, float]] = field(default_factory=dict)
    most_memory: float = np.inf

    @property
    def name(self):
        """What ``--rows`` searches."""
        sparse = "" if self.density is None else "sparse-"
        rank = "" if self.rank == 10 else f"-rank-{self.rank}"
        return f"{sparse}{self.kind}-{self.n}x{self.p}{rank}{'-loo' if 'loo' in self.targets else ''}"

    @property
    def solver(self):
        """The solver of scikit-learn's PCA."""
        return "auto" if self.density is None else "arpack"

    @property
    def calls(self):
        """The calls that are measured, in turn."""
        if "loo" in self.targets:
            return ["pca", "cv", "loo"]
        return ["pca", "full", "fit", "cv"] if self.density is None else ["pca", "fit", "cv"]

    def data(self):
        """Draw the data."""
        density = () if self.density is None else (self.density,)
        return getattr(kinds, self.kind)(np.random.default_rng(0), self.n, self.p, self.rank, *density)


def own_target(times):
    return {"cv": {"pca": times}}


def all_rows():
    """Return the rows of the table; those that only show how spectra differ have no targets."""
    rows = [
        *(Row("noise", n, p, None, targets=WHOLE) for n, p in [(50, 1_000), (300, 5_000), (300, 100_000)]),
        *(Row("noise", n, p, targets=USUAL) for n, p in [(400, 600), (1_500, 2_000), (3_000, 3_000)]),
        *(Row("noise", n, p, targets=USUAL) for n, p in [(200, 5_000), (300, 20_000)]),
        Row("ties", 1_500, 1_500, targets=USUAL),
        Row("bulk", 800, 256, targets=USUAL),
        Row("spiked", 3_000, 3_000, targets=USUAL),
        Row("spiked", 3_000, 3_000, 200, targets=USUAL),
        Row("spiked", 5_000, 5_000, targets=USUAL | own_target(6), most_memory=2e9),
        Row("spiked", 300, 100_000, targets=USUAL),
        Row("counts", 5_000, 3_000, density=0.01, targets=SPARSE),
        Row("counts", 20_000, 20_000, density=0.001, targets=SPARSE),
        Row("scattered", 2_000, 3_000, density=0.01, targets=SPARSE),
        Row("scattered", 50_000, 30_000, density=1e-4, targets=SPARSE),
        # A split of leave-one-out may cost as much as a split of five folds.
        Row("spiked", 500, 600, 5, targets={"loo": {"cv": 500 / 5}}),
        Row("spiked", 1_000_000, 100, targets=own_target(1.5)),
        Row("spiked", 20_000, 1_000, targets=own_target(2)),
        Row("spiked", 2_000, 2_000, targets=own_target(4)),
        Row("spiked", 500, 20_000, targets=own_target(4)),
        Row("spiked", 2_000, 256, targets=own_target(3)),
        Row("spiked", 20_000, 256, targets=own_target(2)),
    ]
    known = {row.name for row in rows}
    spectra = [Row(kind, n, p) for n, p in SPECTRA_SHAPES for kind in SPECTRA]
    return rows + [row for row in spectra if row.name not in known]


def prepared(row):
    """Draw the data of a row and return its calls, by name."""
    X, small = row.data(), Row("spiked", 300, 220, 2)
    for name in ("pca", "cv"):  # what is loaded and started at first use is not measured
        CALLS[name](small, small.data())
    return {name: partial(CALLS[name], row, X) for name in row.calls}


def check(what, value, target):
    """Compare a value with its target; None where that cannot be said."""
    met = None if np.isnan(value) else bool(value <= target)
    return {"what": what, "value": value, "target": target, "met": met}


def measure_row(row, repeats=3, limit=150, threads=None, memory=False):
    """Return the best times of the calls of a row, with `memory` its peak memory, and the checks of both."""
    best, left = dict.fromkeys(row.calls, np.inf), list(row.calls)
    with closing(Bench(partial(prepared, row), limit, threads)) as bench:
        for run in range(repeats):
            for name in list(left):
                seconds = bench.measure(seconds_of, name)
                best[name] = np.fmin(best[name], seconds) if run else seconds
                if not np.isfinite(seconds):
                    left.remove(name)
    result = {"name": row.name, "seconds": best, "checks": time_checks(row, best)}
    if memory:
        # A call that was ended says nothing about its memory.
        result["memory"] = peaks = dict.fromkeys(row.calls, np.nan)
        for name in left:
            with closing(Bench(partial(prepared, row), limit, threads)) as bench:
                peak = bench.measure(memory_of, name)
            peaks[name] = peak if np.isfinite(peak) else np.nan
        result["checks"] += memory_checks(row, peaks)
    return result


def time_checks(row, best):
    """Compare times with the targets of a row, in units of PCA, or for leave-one-out of a split."""
    if "loo" in row.targets:
        ratio = (best["loo"] / row.n) / (best["cv"] / 5)
        return [check("split of leave-one-out / split of five folds", ratio, 1)]
    most = {
        name: max(times * best[other] for other, times in allowed.items())
        for name, allowed in row.targets.items()
    }
    return [check(f"{name} / pca", best[name] / best["pca"], most[name] / best["pca"]) for name in most]


def memory_checks(row, peaks):
    """Compare memory with that of PCA and of the moments of five folds, where those are formed."""
    moments = 5 * 8 * row.p**2 if row.density is None and row.n >= row.p else 0
    most = min(max(MOST_MEMORY * peaks["pca"] + moments, MEMORY_NOISE), row.most_memory)
    judged = [name for name in row.calls if name in ("fit", "cv", "loo")]
    return [check(f"MB of {name}", peaks[name] / 1e6, most / 1e6) for name in judged]


def spectra_checks(results):
    """Compare the cross-validated fits of one shape whose spectra differ."""
    times = {result["name"]: result["seconds"]["cv"] for result in results}
    checks = []
    for n, p in SPECTRA_SHAPES:
        known = [times[name] for kind in SPECTRA if (name := f"{kind}-{n}x{p}") in times]
        if len(known) > 1:
            what = f"slowest / fastest cv of {len(known)} spectra of {n}x{p}"
            checks.append(check(what, max(known) / min(known), MOST_SPREAD))
    return checks


def print_check(found):
    verdict = {True: "met", False: "MISSED", None: "not known"}[found["met"]]
    print(f"    {found['what']}: {found['value']:.3g}, target {found['target']:.3g}, {verdict}", flush=True)


def print_row(result, limit):
    best = result["seconds"]
    cells = []
    for name in CALLS:
        if name not in best:
            cells.append("")
        elif not np.isfinite(best[name]):
            cells.append("failed" if np.isnan(best[name]) else f"> {limit:g}")
        else:
            cells.append(f"{best[name]:.3f} ({best[name] / best['pca']:.1f})")
    print(f"{result['name']:<28}" + "".join(f"{cell:>17}" for cell in cells))
    if "memory" in result:
        cells = [f"{peak / 1e6:.0f} {name}" for name, peak in result["memory"].items()]
        print(f"    MB beyond X: {', '.join(cells)}")
    for found in result["checks"]:
        print_check(found)


def cost_table(rows, options):
    """Measure and print rows, and write them to ``--json``."""
    print(f"{'seconds (times PCA)':<28}" + "".join(f"{name:>17}" for name in CALLS))
    results = []
    for row in rows:
        result = measure_row(row, options.repeats, options.limit, options.threads, options.memory)
        print_row(result, options.limit)
        results.append(result)
        save({"rows": results, "spectra": spectra_checks(results)}, options.json)
    spectra = spectra_checks(results)
    for found in spectra:
        print_check(found)
    checks = [found for result in results for found in result["checks"]] + spectra
    print(f"{sum(found['met'] is True for found in checks)} of {len(checks)} targets met")


def save(results, file):
    """Write results as JSON; numbers that are not finite become null."""
    if file is not None:
        finite = json.loads(json.dumps(results), parse_constant=lambda _: None)
        file.write_text(json.dumps(finite, indent=1) + "\n")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="rows whose name contains one of these")
    parser.add_argument("--list", action="store_true", help="list the rows")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each call")
    parser.add_argument("--limit", type=float, default=150, help="seconds that a call may take")
    parser.add_argument("--threads", type=int, help="threads of BLAS and OpenMP")
    parser.add_argument("--memory", action="store_true", help="measure peak memory too (Linux)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results")
    parser.add_argument("--accuracy", type=int, nargs="?", const=300, metavar="N", help="judge N problems")
    parser.add_argument("--large", action="store_true", help="problems of up to 1,500 columns")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first problem")
    options = parser.parse_args(arguments)
    rows = [row for row in all_rows() if any(part in row.name for part in options.rows or [""])]
    if options.list:
        print(*(row.name for row in rows), sep="\n")
    elif options.accuracy is not None:
        seeds = range(options.seed, options.seed + options.accuracy)
        with threadpool_limits(options.threads):
            save({"problems": attenuated_table(seeds, options.large)}, options.json)
    else:
        cost_table(rows, options)


if __name__ == "__main__":
    main()
