"""How often each method finds the number of components, and what a wrong number costs.

Rows are signal plus noise, with a signal of known rank. Spikes (eigenvalues of the signal's covariance, noise
variance 1) are multiples of sqrt(p / n), below which no method can see a component of white noise. For every
population and size, some samples: the rank that each method takes, and the loss of PCA at that rank, the
squared distance of its reconstruction from the signal, over that of the best rank.

The methods of `attenua.choose_rank` are compared with bi-cross-validation by the least error alone, as Owen
and Perry have it, scikit-learn's `PCA(n_components="mle")` (Minka), which needs as many rows as columns, and
90% of the variance, the habit of many.

python -m attenua_evidence.rank_choice [--draws 20] [--write docs/guide/_rank_choice.md]
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from attenua import choose_rank
from attenua._files import write_whole

SIZES = ((40, 400), (100, 100), (600, 40))
SPREAD = 1.5  # half the range of the logarithms of unequal noise variances
SEED = 1  # not that of the trials by which the guard of "bcv" was decided
ALIKE = 0.7  # correlation of neighbours


class Kind(NamedTuple):
    """Spikes in units of the detection threshold, and the noise."""

    spikes: tuple[float, ...]
    noise: Callable[[np.random.Generator, int, int], np.ndarray]


def white(random: np.random.Generator, n: int, p: int) -> np.ndarray:
    return random.standard_normal((n, p))


def unequal(random: np.random.Generator, n: int, p: int) -> np.ndarray:
    variances = np.exp(random.uniform(-SPREAD, SPREAD, p))
    return random.standard_normal((n, p)) * np.sqrt(variances / variances.mean())


def heavy(random: np.random.Generator, n: int, p: int) -> np.ndarray:
    return random.standard_t(4, (n, p)) / np.sqrt(2)


def alike(random: np.random.Generator, n: int, p: int) -> np.ndarray:
    places = np.arange(p)
    root = np.linalg.cholesky(ALIKE ** np.abs(places[:, None] - places))
    return random.standard_normal((n, p)) @ root.T


STRONG = (16.0, 12.0, 8.0)
KINDS = {
    "no signal": Kind((), white),
    "3 strong": Kind(STRONG, white),
    "2 strong, 2 weak": Kind((16.0, 8.0, 2.0, 1.5), white),
    "1 huge, 2 medium": Kind((400.0, 6.0, 5.0), white),
    "10 medium": Kind(tuple(np.linspace(16, 6, 10)), white),
    "3 strong, unequal noise": Kind(STRONG, unequal),
    "3 strong, heavy tails": Kind(STRONG, heavy),
    "3 strong, neighbours alike": Kind(STRONG, alike),
    "3 strong, rows alike": Kind(STRONG, lambda random, n, p: alike(random, p, n).T),
}


def draw(kind: Kind, n: int, p: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return centred rows and their signal."""
    k = len(kind.spikes)
    directions = np.linalg.qr(random.standard_normal((p, k)))[0]
    scores = random.standard_normal((n, k)) * np.sqrt(np.array(kind.spikes) * np.sqrt(p / n))
    signal = scores @ directions.T
    rows = signal + kind.noise(random, n, p)
    return rows - rows.mean(axis=0), signal - signal.mean(axis=0)


def losses(rows: np.ndarray, signal: np.ndarray) -> np.ndarray:
    """Return the squared distance of PCA's reconstruction from the signal at rank 0, 1, ..."""
    u, d, vt = np.linalg.svd(rows, full_matrices=False)
    changes = d**2 - 2 * d * np.einsum("ij,ij->j", u, signal @ vt.T)
    return np.sum(signal**2) + np.concatenate([[0.0], np.cumsum(changes)])


METHODS = ("bcv", "parallel", "threshold", "bcv, least error", "scikit-learn mle", "90% of variance")


def ranks_taken(rows: np.ndarray) -> dict[str, int]:
    """Return the rank that each method takes, of those that can."""
    choices = {name: choose_rank(rows, method=name, random_state=0) for name in METHODS[:3]}
    taken = {name: choice.rank for name, choice in choices.items()}
    taken["bcv, least error"] = int(np.argmin(choices["bcv"].errors.mean(axis=0)))
    taken["90% of variance"] = PCA(0.9, svd_solver="full").fit(rows).n_components_
    if len(rows) >= rows.shape[1]:
        taken["scikit-learn mle"] = PCA("mle").fit(rows).n_components_
    return taken


class Outcome(NamedTuple):
    """What a method took on one sample, what was true, and the losses of what it took and of the best."""

    taken: int
    true: int
    loss: float
    least: float


Results = dict[tuple[str, tuple[int, int], str], list[Outcome]]


def compare(sizes: Sequence[tuple[int, int]], draws: int) -> Results:
    """Return the outcomes of every method by kind and size."""
    results: Results = {}
    start = time.perf_counter()
    for place, (name, kind) in enumerate(KINDS.items()):
        for n, p in sizes:
            random = np.random.default_rng([SEED, place, n, p])
            for _ in range(draws):
                rows, signal = draw(kind, n, p, random)
                loss = losses(rows, signal)
                for method, taken in ranks_taken(rows).items():
                    outcome = Outcome(taken, len(kind.spikes), loss[taken], loss.min())
                    results.setdefault((name, (n, p), method), []).append(outcome)
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return results


def found_and_cost(outcomes: Sequence[Outcome]) -> str:
    """Return how often the rank was right, and the mean loss over the least, less 1."""
    words = f"{np.mean([outcome.taken == outcome.true for outcome in outcomes]):.0%}"
    if outcomes[0].true:  # without a signal rank 0 is best, and loses nothing
        words += f", +{np.mean([outcome.loss / outcome.least - 1 for outcome in outcomes]):.0%}"
    return words


def mean_rank(outcomes: Sequence[Outcome]) -> str:
    return f"{np.mean([outcome.taken for outcome in outcomes]):.1f}"


def table(
    results: Results, sizes: Sequence[tuple[int, int]], write: Callable[[Sequence[Outcome]], str]
) -> list[str]:
    """Return a table with a line for each population, over some sizes."""
    lines = ["| population | " + " | ".join(METHODS) + " |", "| --- |" + " ---: |" * len(METHODS)]
    for name in KINDS:
        outcomes = [[o for size in sizes for o in results.get((name, size, m), [])] for m in METHODS]
        lines.append(f"| {name} | {' | '.join(write(found) if found else '–' for found in outcomes)} |")
    return lines


def page(results: Results, sizes: Sequence[tuple[int, int]], draws: int) -> str:
    """Return the tables: all sizes together, then each."""
    lines = [f"**Rank found, and cost; all sizes, {draws} samples of each**", ""]
    lines += [*table(results, sizes, found_and_cost), ""]
    lines += ["<details><summary>Mean number taken, and each size</summary>", ""]
    lines += ["**Mean number taken, all sizes**", "", *table(results, sizes, mean_rank), ""]
    for n, p in sizes:
        lines += [f"**{n} rows, {p} columns**", "", *table(results, [(n, p)], found_and_cost), ""]
    return "\n".join([*lines, "</details>", ""])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--draws", type=int, default=20, help="samples of each population and size")
    parser.add_argument("--quick", action="store_true", help="one small size")
    parser.add_argument("--write", type=Path, help="a file for the tables; printed otherwise")
    options = parser.parse_args(arguments)
    sizes = ((30, 24),) if options.quick else SIZES
    text = page(compare(sizes, options.draws), sizes, options.draws)
    if options.write:
        write_whole(options.write, text.encode())
    else:
        print(text)


if __name__ == "__main__":
    main()
