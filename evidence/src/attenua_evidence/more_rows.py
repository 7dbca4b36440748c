"""How well attenua.learning_curve foretells what twice the rows remove.

Some rows of a data set, or of a population, are given to ``learning_curve``. Then PCA is fitted to them, and
to them and as many again, and judged by all others.

python -m attenua_evidence.more_rows [--draws 30] [--write docs/guide/_more_rows.md]
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from attenua import CorrectedPCA, learning_curve
from attenua._files import write_whole

SEED = 0
# Name, numbers of rows, number of components.
SETTINGS = (
    ("digits", 60, 3),
    ("digits", 60, 10),
    ("digits", 200, 10),
    ("breast cancer", 60, 5),
    ("factors in 100 columns", 60, 3),
    ("factors in 100 columns", 200, 3),
)


def data(name: str) -> np.ndarray:
    """Return many rows."""
    if name == "digits":
        return np.asarray(load_digits().data)
    if name == "breast cancer":
        rows = load_breast_cancer().data
        return np.asarray(rows / rows.std(axis=0))
    variances = np.concatenate([[40.0, 20.0, 8.0], np.ones(97)])
    return np.random.default_rng(SEED).standard_normal((5000, 100)) * np.sqrt(variances)


def measure(name: str, n: int, rank: int, draws: int) -> np.ndarray:
    """Return of each draw what was foretold, its standard error, and what was removed, in percent."""
    rows, random, found = data(name), np.random.default_rng(SEED), []
    for number in range(draws):
        drawn = rows[random.permutation(len(rows))]
        curve = learning_curve(drawn[:n], CorrectedPCA(rank), random_state=number)
        once, twice = (
            CorrectedPCA(rank).fit(drawn[:size]).reconstruction_error(drawn[2 * n :]).mean()
            for size in (n, 2 * n)
        )
        found.append([curve.excess / 2, curve.excess_error / 2, 1 - twice / once])
    return 100 * np.array(found)


def page(settings: Sequence[tuple[str, int, int]], draws: int) -> str:
    """Return the table."""
    lines = [
        "| rows of | fitted | components | twice the rows removed, % | foretold, % | its standard error, % |"
        " its spread, % |",
        "| --- |" + " ---: |" * 6,
    ]
    for name, n, rank in settings:
        foretold, told, removed = measure(name, n, rank, draws).T
        numbers = (removed.mean(), foretold.mean(), told.mean(), foretold.std(ddof=1))
        lines.append(f"| {name} | {n} | {rank} | {' | '.join(f'{number:.1f}' for number in numbers)} |")
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--draws", type=int, default=30, help="samples of each")
    parser.add_argument("--quick", action="store_true", help="one setting")
    parser.add_argument("--write", type=Path, help="a file for the table; printed otherwise")
    options = parser.parse_args(arguments)
    text = page(SETTINGS[:1] if options.quick else SETTINGS, options.draws)
    if options.write:
        write_whole(options.write, text.encode())
    else:
        print(text)


if __name__ == "__main__":
    main()
