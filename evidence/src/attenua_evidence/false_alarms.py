"""How many new rows the limits of T2 and Q call unusual that are not.

Rows are drawn, fitted, and compared with 2,000 new ones of the same population; of scikit-learn's data sets,
with the rows not drawn. The part of the new rows beyond a limit of 95% should be 5%. Limits are the
textbook's, from the fitted rows, and those from held-out rows, for ordinary PCA and for CorrectedPCACV.

python -m attenua_evidence.false_alarms [--draws 50] [--write docs/guide/_false_alarms.md]
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from attenua import CorrectedPCA, CorrectedPCACV
from attenua._files import write_whole

LEVELS = (0.95, 0.99)
NEW_ROWS = 2000
SEED = 0
ESTIMATORS = {"PCA": CorrectedPCA, "CorrectedPCACV": CorrectedPCACV}
LIMITS = {"textbook": False, "held out": True}

Rows = np.ndarray
Draw = Callable[[np.random.Generator], tuple[Rows, Rows]]


class Kind(NamedTuple):
    """Rows to fit, new rows, the number of components, and how many of the first rows are outliers."""

    draw: Draw
    n_components: int
    outliers: int = 0


def population(
    n: int, p: int, k: int, *, freedom: float = np.inf, outliers: int = 0, missing: float = 0.0
) -> Kind:
    """Return rows of k strong directions and unequal noise; Student's t where `freedom` is finite.

    Outliers are rows four times as long in other directions. Missing cells are missing at random in all rows.
    """
    variances = np.concatenate([20.0 * np.arange(k, 0, -1), np.linspace(1.5, 0.5, p - k)])
    turn = np.linalg.qr(np.random.default_rng(SEED).standard_normal((p, p)))[0]

    def some(random: np.random.Generator, count: int) -> Rows:
        rows = random.standard_normal((count, p)) * np.sqrt(variances)
        if np.isfinite(freedom):
            rows *= np.sqrt((freedom - 2) / random.chisquare(freedom, (count, 1)))
        rows = rows @ turn
        return np.where(random.random(rows.shape) < missing, np.nan, rows)

    def draw(random: np.random.Generator) -> tuple[Rows, Rows]:
        fitted = some(random, n)
        fitted[:outliers] += 4 * np.sqrt(variances.mean()) * random.standard_normal((outliers, p))
        return fitted, some(random, NEW_ROWS)

    return Kind(draw, k, outliers)


def parts_of(rows: Rows, n: int, k: int) -> Kind:
    """Return some rows of a data set, and the others as new ones."""

    def draw(random: np.random.Generator) -> tuple[Rows, Rows]:
        order = random.permutation(len(rows))
        return rows[order[:n]], rows[order[n:]]

    return Kind(draw, k)


def kinds() -> dict[str, Kind]:
    """Return what is fitted, by its name in the table."""
    tissue = load_breast_cancer().data
    return {
        "Gaussian, 20 x 10, 2 components": population(20, 10, 2),
        "Gaussian, 30 x 100, 3": population(30, 100, 3),
        "Gaussian, 60 x 100, 3": population(60, 100, 3),
        "Gaussian, 60 x 100, 15": population(60, 100, 15),
        "Gaussian, 100 x 30, 5": population(100, 30, 5),
        "Gaussian, 500 x 30, 5": population(500, 30, 5),
        "heavy tails (t, 5), 60 x 30, 3": population(60, 30, 3, freedom=5),
        "3 outliers, 40 x 30, 3": population(40, 30, 3, outliers=3),
        "20% missing, 60 x 30, 3": population(60, 30, 3, missing=0.2),
        "digits, 60 x 64, 10": parts_of(load_digits().data, 60, 10),
        "breast cancer, 60 x 30, 5": parts_of(tissue / tissue.std(axis=0), 60, 5),
    }


# Parts beyond the limits of T2 at both levels and of Q at both, and of the outliers that Q names at 99%.
Rates = list[float]
Results = dict[tuple[str, str, str], list[Rates]]


def rates_of(model: CorrectedPCA, fitted: Rows, new: Rows, held_out: bool, outliers: int) -> Rates:
    """Return the parts of new rows beyond each limit, and of the outliers among the fitted rows."""
    limits = model.control_limits(fitted, held_out=held_out)
    t2, q = model.t2(new), model.q(new)
    rates = [float(np.mean(t2 > limits.t2(level))) for level in LEVELS]
    rates += [float(np.mean(q > limits.q(level))) for level in LEVELS]
    return [*rates, float(np.mean(limits.q_rows[:outliers] > limits.q(0.99))) if outliers else np.nan]


def measure(chosen: dict[str, Kind], draws: int) -> Results:
    """Return the rates of every draw by kind, estimator and limits."""
    results: Results = {}
    start = time.perf_counter()
    for place, (name, kind) in enumerate(chosen.items()):
        random = np.random.default_rng([SEED, place])
        for _ in range(draws):
            fitted, new = kind.draw(random)
            for called, estimator in ESTIMATORS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = estimator(kind.n_components).fit(fitted)
                for words, held_out in LIMITS.items():
                    rates = rates_of(model, fitted, new, held_out, kind.outliers)
                    results.setdefault((name, called, words), []).append(rates)
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return results


def cell(rates: Sequence[float]) -> str:
    """Return a mean in percent with its standard error."""
    return f"{100 * np.mean(rates):.1f} ± {100 * np.std(rates, ddof=1) / np.sqrt(len(rates)):.1f}"


def page(results: Results, chosen: dict[str, Kind], draws: int) -> str:
    """Return a table for each estimator, and what became of the outliers."""
    lines = []
    for called in ESTIMATORS:
        lines += [
            f"**New rows beyond the limits of {called}, %; {draws} draws of each, ± standard error**",
            "",
        ]
        lines += [
            "| rows | T2 95%, textbook | held out | T2 99%, textbook | held out | Q 95%, textbook | held out"
        ]
        lines[-1] += " | Q 99%, textbook | held out |"
        lines += ["| --- |" + " ---: |" * 8]
        for name in chosen:
            pairs = [[[r[j] for r in results[name, called, words]] for words in LIMITS] for j in range(4)]
            lines.append(f"| {name} | {' | '.join(cell(rates) for pair in pairs for rates in pair)} |")
        lines.append("")
    for name, kind in chosen.items():
        if kind.outliers:
            found = {
                (called, words): np.mean([r[4] for r in results[name, called, words]])
                for called in ESTIMATORS
                for words in LIMITS
            }
            named = ", ".join(f"{called}, {words}: {part:.0%}" for (called, words), part in found.items())
            lines += [f"Outliers among the fitted rows that are beyond the limit of Q at 99%: {named}.", ""]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--draws", type=int, default=50, help="samples of each kind")
    parser.add_argument("--quick", action="store_true", help="one small kind")
    parser.add_argument("--write", type=Path, help="a file for the tables; printed otherwise")
    options = parser.parse_args(arguments)
    chosen = {"3 outliers, 30 x 8, 2": population(30, 8, 2, outliers=3)} if options.quick else kinds()
    text = page(measure(chosen, options.draws), chosen, options.draws)
    if options.write:
        write_whole(options.write, text.encode())
    else:
        print(text)


if __name__ == "__main__":
    main()
