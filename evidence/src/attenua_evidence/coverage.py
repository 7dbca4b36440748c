"""How often filled cells lie within their standard deviations: simulated rows, by CorrectedCovariance.

python -m attenua_evidence.coverage [--sets 40] [--write docs/guide/_coverage.md]
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attenua import CorrectedCovariance
from attenua._data.blas import blas_limit
from attenua._files import write_whole
from attenua_evidence.new_rows import factors, smooth

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
    parser.add_argument("--write", type=Path, help="a file for the table, too")
    options = parser.parse_args(arguments)
    text = table(options.sets)
    print(text, end="")
    if options.write:
        write_whole(options.write, text.encode())


if __name__ == "__main__":
    main()
