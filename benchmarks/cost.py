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
import multiprocessing
import re
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold, LeaveOneOut
from threadpoolctl import threadpool_limits

from attenua import AttenuatedPCA, AttenuatedPCACV

# Of each call: the largest number of times that another may be exceeded; the largest of several counts.
USUAL = {"fit": {"pca": 3, "full": 1}, "cv": {"pca": 12, "full": 6}}
SPARSE = {"fit": {"pca": 3}, "cv": {"pca": 20}}
MOST_SPREAD = 3
MOST_MEMORY = 3
# What allocators and threads keep beside arrays, in bytes; memory below it is not judged.
MEMORY_NOISE = 16e6
# Differences of risk below this part of the total variance are rounding, and so are eigenvalues at the cut
# that differ by less than this part of it: they do not determine a subspace.
ROUNDING = 1e-12
ACCURACY = {
    "loss of the refit / total variance": 1e-8,
    "error of cv_risk_ / risk": None,
    "loss of the choice / standard error": 0.01,
    "loss of the choice / risk": None,
}
CALLS = {
    "pca": lambda row, X: PCA(row.rank, svd_solver=row.solver, random_state=0).fit(X),
    "full": lambda row, X: PCA(row.rank, svd_solver="full").fit(X),
    "fit": lambda row, X: AttenuatedPCA(row.rank, alpha=0.5).fit(X),
    "cv": lambda row, X: AttenuatedPCACV(row.rank).fit(X),
    "loo": lambda row, X: AttenuatedPCACV(row.rank, cv=LeaveOneOut()).fit(X),
}


def edge(n, p):
    """Return the largest sample variance of a direction of unit noise."""
    return (1 + np.sqrt(p / n)) ** 2


def rotated(rng, X):
    """Rotate rows by random signs, a cosine transform and signs: no axis stays near a column."""
    X *= rng.choice([-1.0, 1.0], X.shape[1])
    X = scipy.fft.dct(X, norm="ortho", axis=1, overwrite_x=True)
    X *= rng.choice([-1.0, 1.0], X.shape[1])
    return X


def noise(rng, n, p, rank):
    return rng.standard_normal((n, p))


def spiked(rng, n, p, rank):
    """Draw rows with `rank` spikes clearly above noise whose variances differ by a factor of two."""
    X = rng.standard_normal((n, p))
    X *= np.sqrt(rng.uniform(2 / 3, 4 / 3, p))
    loadings = np.linalg.qr(rng.standard_normal((p, rank)))[0]
    X += (rng.standard_normal((n, rank)) * np.sqrt(edge(n, p) * np.geomspace(30, 3, rank))) @ loadings.T
    return X


def bulk(rng, n, p, rank):
    """Draw spiked rows with so few spikes that the cut falls inside the bulk."""
    return spiked(rng, n, p, rank // 3)


def power(rng, n, p, rank):
    """Draw rows whose population eigenvalues are 1, 1/2, 1/3, ..."""
    return rotated(rng, rng.standard_normal((n, p)) / np.sqrt(np.arange(1, p + 1)))


def around_the_cut(values, rank, n, spread=0.0):
    """Make twenty values around the cut equal, up to a relative spread, and those above them larger."""
    start, size = max(rank - 10, 0), 4 * edge(n, len(values))
    values[:start] = 2 * size
    inside = values[start : start + 20]
    inside[:] = size * (1 + spread * np.linspace(1, 0, len(inside)))
    return values


def clustered(rng, n, p, rank):
    """Draw rows with twenty equal population eigenvalues around the cut."""
    return rotated(rng, rng.standard_normal((n, p)) * np.sqrt(around_the_cut(np.ones(p), rank, n)))


def ties(rng, n, p, rank):
    """Draw rows with twenty sample eigenvalues within 1e-5 of each other around the cut."""
    count = min(n - 1, p)
    G = rng.standard_normal((n, count))
    scores = np.linalg.qr(G - G.mean(axis=0))[0]
    X = np.zeros((n, p))
    values = around_the_cut(np.linspace(2, 0.1, count) * edge(n, p) / 2, rank, n, 1e-5)
    X[:, :count] = scores * np.sqrt(n * values)
    return rotated(rng, X)


def counts_at(rows, columns, shape):
    return sp.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()


def counts(rng, n, p, rank, density):
    """Draw Poisson counts: each row mixes two of eight topics, and columns are unequally common."""
    n_draws = rng.poisson(density * n * p)
    rows = rng.integers(0, n, n_draws)
    topics_of_row = rng.integers(0, 8, (n, 2))
    topics = topics_of_row[rows, (rng.random(n_draws) < 0.2).astype(int)]
    common = np.arange(1, p + 1) ** -0.5
    columns = np.empty(n_draws, dtype=int)
    for topic in range(8):
        here = np.flatnonzero(topics == topic)
        rates = rng.permutation(common) * rng.exponential(1, p) ** 2
        columns[here] = rng.choice(p, len(here), p=rates / rates.sum())
    return counts_at(rows, columns, (n, p))


def scattered(rng, n, p, rank, density):
    """Draw sparse rows with entries at random places and nothing behind them."""
    n_draws = int(density * n * p)
    X = counts_at(rng.integers(0, n, n_draws), rng.integers(0, p, n_draws), (n, p))
    X.data = rng.exponential(1, X.nnz)
    return X


DENSE = (noise, power, clustered, spiked, bulk, ties)
KINDS = {kind.__name__: kind for kind in (*DENSE, counts, scattered)}
SPECTRA = ("noise", "power", "clustered", "spiked")
SPECTRA_SHAPES = ((400, 600), (1_500, 1_500), (3_000, 3_000), (300, 20_000))


@dataclass(frozen=True)
class Row:
    """A row of the table: what data, which rank, and what the calls may cost.

    Attributes
    ----------
    kind : str
        A key of ``KINDS``.
    n, p : int
        Shape.
    rank : int or None
        Number of components.
    density : float or None
        Part of the entries that are stored; None for dense rows.
    targets : dict
        For each call that has a target, how many times others it may cost.
    most_memory : float
        Bytes that cross-validation may take beyond X, whatever PCA takes.
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

    def data(self, seed=0):
        """Draw the data."""
        density = () if self.density is None else (self.density,)
        return KINDS[self.kind](np.random.default_rng(seed), self.n, self.p, self.rank, *density)


def all_rows():
    """Return the rows of the table; those that only show how spectra differ have no targets."""
    rows = [
        *(Row("noise", n, p, None, targets=USUAL) for n, p in [(50, 1_000), (300, 5_000), (300, 100_000)]),
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


def own_target(times):
    return {"cv": {"pca": times}}


def seconds_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def memory_of(call):
    """Return how many bytes a call takes at its peak, beyond what is there before. Linux only."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = peak_resident()
    call()
    return peak_resident() - before


def peak_resident():
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def serve(pipe, row, threads):
    """Draw the data of a row and measure the calls that are asked for: the life of a process."""
    warnings.simplefilter("ignore")
    with threadpool_limits(threads):
        X = row.data()
        small = Row("spiked", 300, 220, 2)
        for name in ("pca", "cv"):  # what is loaded and started at first use is not measured
            CALLS[name](small, small.data())
        pipe.send("ready")
        while True:
            measure, name = pipe.recv()
            pipe.send(measure(partial(CALLS[name], row, X)))


class Bench:
    """A process that holds the data of a row, and is started again after a call that took too long.

    Parameters
    ----------
    row : Row
        The row.
    limit : float
        Seconds that a call may take.
    threads : int or None
        Threads of BLAS and OpenMP; None leaves them as they are.
    """

    def __init__(self, row: Row, limit: float, threads: int | None):
        self._row, self._limit, self._threads = row, limit, threads
        self._process = None

    def close(self):
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def measure(self, measure: Callable[..., float], name: str) -> float:
        """Measure a call: infinite where it took too long, not a number where it failed."""
        try:
            if self._process is None:
                self._start()
            self._pipe.send((measure, name))
            if self._pipe.poll(self._limit):
                return self._pipe.recv()
        except (EOFError, ConnectionError):
            self.close()
            return np.nan
        self.close()
        return np.inf

    def _start(self):
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, self._row, self._threads), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()


@dataclass
class Check:
    """Something that has a target."""

    what: str
    value: float
    target: float

    @property
    def met(self) -> bool | None:
        """Whether it is met; None where that cannot be said."""
        return None if np.isnan(self.value) else bool(self.value <= self.target)

    def __str__(self):
        verdict = {True: "met", False: "MISSED", None: "not known"}[self.met]
        return f"{self.what}: {self.value:.3g}, target {self.target:.3g}, {verdict}"


def measure_row(row, repeats=3, limit=150, threads=None, memory=False):
    """Return the best times of the calls of a row, its peak memory if asked for, and the checks of both."""
    best = dict.fromkeys(row.calls, np.inf)
    left = list(row.calls)
    with closing(Bench(row, limit, threads)) as bench:
        for run in range(repeats):
            for name in list(left):
                progress(f"{row.name}: run {run + 1} of {repeats}, {name}")
                seconds = bench.measure(seconds_of, name)
                best[name] = np.fmin(best[name], seconds) if run else seconds
                if not np.isfinite(seconds):
                    left.remove(name)
    result = {"name": row.name, "seconds": best, "checks": time_checks(row, best)}
    if memory:
        # A call that was ended says nothing about its memory.
        result["memory"] = peaks = dict.fromkeys(row.calls, np.nan)
        for name in left:
            progress(f"{row.name}: memory of {name}")
            with closing(Bench(row, limit, threads)) as bench:
                peak = bench.measure(memory_of, name)
            peaks[name] = peak if np.isfinite(peak) else np.nan
        result["checks"] += memory_checks(row, peaks)
    return result


def time_checks(row, best):
    """Compare times with the targets of a row, in units of PCA, or for leave-one-out of a split."""
    if "loo" in row.targets:
        ratio = (best["loo"] / row.n) / (best["cv"] / 5)
        return [Check("split of leave-one-out / split of five folds", ratio, 1)]
    return [
        Check(f"{name} / pca", best[name] / best["pca"], most_allowed(allowed, best) / best["pca"])
        for name, allowed in row.targets.items()
    ]


def most_allowed(allowed, best):
    return max(times * best[other] for other, times in allowed.items())


def memory_checks(row, peaks):
    """Compare memory with that of PCA and of the moments of five folds, where those are formed."""
    moments = 5 * 8 * row.p**2 if row.density is None and row.n >= row.p else 0
    most = min(max(MOST_MEMORY * peaks["pca"] + moments, MEMORY_NOISE), row.most_memory)
    judged = [name for name in row.calls if name in ("fit", "cv", "loo")]
    return [Check(f"MB of {name}", peaks[name] / 1e6, most / 1e6) for name in judged]


def spectra_checks(results):
    """Compare the cross-validated fits of one shape whose spectra differ."""
    times = {result["name"]: result["seconds"]["cv"] for result in results}
    checks = []
    for n, p in SPECTRA_SHAPES:
        known = [times[name] for kind in SPECTRA if (name := f"{kind}-{n}x{p}") in times]
        if len(known) > 1:
            what = f"slowest / fastest cv of {len(known)} spectra of {n}x{p}"
            checks.append(Check(what, max(known) / min(known), MOST_SPREAD))
    return checks


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
    say(f"{result['name']:<28}" + "".join(f"{cell:>17}" for cell in cells))
    if "memory" in result:
        cells = [f"{peak / 1e6:.0f} {name}" for name, peak in result["memory"].items()]
        say(f"    MB beyond X: {', '.join(cells)}")
    for check in result["checks"]:
        say(f"    {check}")


def cost_table(rows, options):
    """Measure and print rows; return what ``--json`` writes."""
    say(f"{'seconds (times PCA)':<28}" + "".join(f"{name:>17}" for name in CALLS))
    results = []
    for row in rows:
        result = measure_row(row, options.repeats, options.limit, options.threads, options.memory)
        print_row(result, options.limit)
        results.append(result)
        save({"rows": results}, options.json)
    spectra = spectra_checks(results)
    for check in spectra:
        say(str(check))
    checks = [check for result in results for check in result["checks"]] + spectra
    say(f"{sum(check.met is True for check in checks)} of {len(checks)} targets met")
    save({"rows": results, "spectra": spectra}, options.json)


def attenuated(S, alpha):
    return S - alpha * np.diag(np.diag(S))


def leading(S, alpha, rank):
    """Return the leading eigenvalues of ``S - alpha diag(S)``, one more than `rank`, and eigenvectors."""
    p = len(S)
    values, vectors = scipy.linalg.eigh(attenuated(S, alpha), subset_by_index=[p - rank - 1, p - 1])
    return values[::-1], vectors[:, :0:-1]


def exact_risks(X, splits, alphas, rank):
    """Return the held-out risks of all splits and strengths by LAPACK; NaN where the cut is a tie."""
    risks = np.empty((len(splits), len(alphas)))
    for risk, (train, held) in zip(risks, splits, strict=True):
        centred = X[held] - X[train].mean(axis=0)
        S = np.cov(X[train].T, bias=True)
        for number, alpha in enumerate(alphas):
            values, U = leading(S, alpha, rank)
            is_tie = values[-2] - values[-1] <= ROUNDING * np.trace(S)
            error = np.sum((centred - (centred @ U) @ U.T) ** 2) / len(held)
            risk[number] = np.nan if is_tie else error
    return risks


def random_problem(seed, large=False):
    """Draw the kind, the shape and the rank of a problem."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(list(KINDS)))
    most = [400, 1_500 if large else 400]
    n, p = np.exp(rng.uniform(np.log(20), np.log(most))).round().astype(int).tolist()
    training_rows = n - -(-n // 5)
    rank = int(rng.integers(1, min(20, p - 1, training_rows - 1) + 1))
    return Row(kind, n, p, rank, None if KINDS[kind] in DENSE else float(rng.uniform(0.1, 0.3)))


def judge(row, seed):
    """Return how far the fit of a problem is from LAPACK's: the values that ``ACCURACY`` names.

    Those of risks are NaN where a training set has a tie at the cut, which leaves the risk open.
    """
    X = row.data(seed)
    splits = list(KFold(5).split(X))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The cut at")
        model = AttenuatedPCACV(row.rank, cv=splits).fit(X)
    dense = X if row.density is None else X.toarray()
    S, U = np.cov(dense.T, bias=True), model.components_.T
    best = leading(S, model.alpha_, row.rank)[0][:-1].sum()
    refit = (best - np.sum(U * (attenuated(S, model.alpha_) @ U))) / np.trace(S)
    with threadpool_limits(1):  # several threads are slower at these sizes, above all on a busy machine
        folds = exact_risks(dense, splits, model.alphas_, row.rank)
    risk = np.average(folds, axis=0, weights=[len(held) for _, held in splits])
    chosen, minimum = np.flatnonzero(model.alphas_ == model.alpha_)[0], risk.argmin()
    loss = risk[chosen] - risk[minimum]
    error = np.std(folds[:, chosen] - folds[:, minimum], ddof=1) / np.sqrt(len(splits))
    in_errors = 0 if loss <= ROUNDING * np.trace(S) else loss / error
    off = np.max(np.abs(model.cv_risk_ - risk) / risk)
    if np.isnan(risk).any():
        off = in_errors = loss = np.nan
    return dict(zip(ACCURACY, map(float, (max(refit, 0), off, in_errors, loss / risk.min())), strict=True))


def accuracy_table(seeds, large=False, file=None):
    """Judge a problem of every seed and print quantiles of each value and the worst; return all values."""
    results = []
    for number, seed in enumerate(seeds):
        row = random_problem(seed, large)
        progress(f"problem {number + 1} of {len(seeds)}: {row.name}")
        results.append({"seed": seed, "name": row.name, **judge(row, seed)})
        save({"problems": results}, file)
    say(f"{'':<38}problems   median      90%      99%    worst")
    for what, target in ACCURACY.items():
        judged = [result for result in results if not np.isnan(result[what])]
        if not judged:
            continue
        values = np.array([result[what] for result in judged])
        worst = judged[values.argmax()]
        cells = "".join(f"{value:>9.1e}" for value in np.quantile(values, [0.5, 0.9, 0.99, 1]))
        say(f"{what:<38}{len(judged):>8}{cells}  seed {worst['seed']}, {worst['name']}")
        if target is not None:
            say(f"    target {target:g}: {np.sum(values <= target)} of {len(values)} meet it")
    return results


def progress(text):
    print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def say(text):
    progress("")
    print(text, flush=True)


def save(results, file):
    """Write results as JSON; numbers that are not finite become null."""
    if file is None:
        return
    as_dict = {Check: lambda check: asdict(check) | {"met": check.met}}
    text = json.dumps(results, default=lambda value: as_dict[type(value)](value))
    finite = json.loads(text, parse_constant=lambda _: None)
    file.write_text(json.dumps(finite, indent=1) + "\n")


def parse_options():
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
    return parser.parse_args()


def main():
    options = parse_options()
    rows = [row for row in all_rows() if any(part in row.name for part in options.rows or [""])]
    if options.list:
        print(*(row.name for row in rows), sep="\n")
    elif options.accuracy is not None:
        seeds = range(options.seed, options.seed + options.accuracy)
        with threadpool_limits(options.threads):
            accuracy_table(seeds, options.large, options.json)
    else:
        cost_table(rows, options)


if __name__ == "__main__":
    main()
