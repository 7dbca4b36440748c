"""How often filled cells lie within their standard deviations: simulated rows, by CorrectedCovariance.

python -m attenua_evidence.coverage [--sets 40] [--write docs/guide/_coverage.md]
python -m attenua_evidence.coverage --draws [--sets 400]    # intervals of cells and slopes by draws
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from attenua import CorrectedCovariance
from attenua._data.blas import blas_limit
from attenua._files import write_whole
from attenua_evidence.new_rows import factors, of_smooth, smooth

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Array]

SIZES = ((24, 12), (24, 60), (200, 12), (200, 60))
MISSING = 0.2
NEW_ROWS = 200


def heavy(random: np.random.Generator, n: int, p: int) -> Array:
    """Return rows of factors, each times a length of its own: Student's law with four degrees of freedom."""
    return factors(random, n, p) / np.sqrt(random.chisquare(4, (n, 1)) / 4)


def nearly_dependent(random: np.random.Generator, n: int, p: int) -> Array:
    """Return rows of three factors with hardly any noise: each column nearly follows from others."""
    weights = np.random.default_rng(5).standard_normal((3, p))
    return random.standard_normal((n, 3)) @ weights + 0.05 * random.standard_normal((n, p))


CASES: dict[str, Draw] = {
    "factors and noise": factors,
    "smooth curves and noise": smooth,
    "heavy tails": heavy,
    "nearly dependent columns": nearly_dependent,
}


def covered(draw: Draw, n: int, p: int, sets: int) -> tuple[float, float, float]:
    """Return the parts of new cells within 1 and 1.96 deviations, and the size of errors in deviations."""
    inside, squares = [], []
    for seed in range(sets):
        random = np.random.default_rng([seed, n, p])
        X = draw(random, n + NEW_ROWS, p)
        hidden = random.random(X.shape) < MISSING
        holes = np.where(hidden, np.nan, X)
        model = CorrectedCovariance().fit(holes[:n])
        filled, std = model.impute(holes[n:], return_std=True)
        ratio = ((filled - X[n:]) / np.where(std > 0, std, 1.0))[hidden[n:]]
        inside.append([np.mean(np.abs(ratio) < 1), np.mean(np.abs(ratio) < 1.96)])
        squares.append(np.mean(ratio**2))
    one, two = np.mean(inside, axis=0)
    return float(one), float(two), float(np.sqrt(np.mean(squares)))


def covered_by_draws(n: int, sets: int) -> tuple[float, float, float]:
    """Return how often 95% intervals by draws hold hidden cells, and slopes; and slopes of whole rows.

    Smooth curves and noise have 12 columns. The slopes are those of the seventh column on the next three.
    """
    cells, slopes, of_whole = [], [], []
    population = of_smooth(12)
    truth = np.linalg.solve(population[7:10, 7:10], population[7:10, 6])
    for seed in range(sets):
        random = np.random.default_rng([seed, n])
        X = smooth(random, n, 12)
        hidden = random.random(X.shape) < MISSING
        holes = np.where(hidden, np.nan, X)
        draws = CorrectedCovariance().fit(holes).impute(holes, n_draws=200, random_state=seed)
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        cells.append(np.mean(((low < X) & (high > X))[hidden]))
        slopes.append(np.mean(pooled(draws[:20], truth)))
        of_whole.append(np.mean(pooled(X[None], truth)))
    return float(np.mean(cells)), float(np.mean(slopes)), float(np.mean(of_whole))


def pooled(tables: Array, truth: Array) -> NDArray[np.bool_]:
    """Return which 95% intervals of slopes hold the true ones, pooled by the rules of Rubin (1987).

    Degrees of freedom are those of Barnard and Rubin (1999), for few rows.
    """
    found, variances = [], []
    for rows in tables - tables.mean(axis=1, keepdims=True):
        given, column = rows[:, 7:10], rows[:, 6]
        inverse = np.linalg.inv(given.T @ given)
        found.append(inverse @ given.T @ column)
        residuals = column - given @ found[-1]
        variances.append(np.diagonal(inverse) * (residuals @ residuals) / (len(rows) - 4))
    m, freedom = len(tables), tables.shape[1] - 4
    between = (1 + 1 / m) * np.var(found, axis=0, ddof=1) if m > 1 else np.zeros(len(truth))
    within = np.mean(variances, axis=0)
    share = between / (between + within)
    of_rows = (freedom + 1) / (freedom + 3) * freedom * (1 - share)
    degrees = 1 / (share**2 / max(m - 1, 1) + 1 / of_rows) if m > 1 else freedom
    half = student.ppf(0.975, degrees) * np.sqrt(between + within)
    return np.abs(np.mean(found, axis=0) - truth) < half


def table_of_draws(sets: int) -> str:
    """Return the table of intervals by draws, as Markdown."""
    lines = ["| rows | cells | slopes | slopes of whole rows |", "| ---: | ---: | ---: | ---: |"]
    with blas_limit(1):
        for n in (20, 50, 200):
            cells, slopes, of_whole = covered_by_draws(n, sets)
            lines.append(f"| {n} | {cells:.0%} | {slopes:.0%} | {of_whole:.0%} |")
    return "\n".join(lines) + "\n"


def table(sets: int) -> str:
    """Return the table, as Markdown."""
    lines = [
        "| simulated rows | fitted rows | columns | within 1 std | within 1.96 std | errors / std |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    with blas_limit(1):
        for name, draw in CASES.items():
            for n, p in SIZES:
                one, two, ratio = covered(draw, n, p, sets)
                lines.append(f"| {name} | {n} | {p} | {one:.0%} | {two:.0%} | {ratio:.2f} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and write it if wanted."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sets", type=int, default=40, help="simulated data sets of every line")
    parser.add_argument("--draws", action="store_true", help="intervals by draws instead of deviations")
    parser.add_argument("--write", type=Path, help="a file for the table, too")
    options = parser.parse_args(arguments)
    text = (table_of_draws if options.draws else table)(options.sets)
    print(text, end="")
    if options.write:
        write_whole(options.write, text.encode())


if __name__ == "__main__":
    main()
