"""What the corrected covariance gains over Ledoit and Wolf's on real data sets, in four uses.

Some rows of a data set are fitted and others judge, as in the study of the corrections. Only the parts
`develop` and `choose` of the collection are read.

python -m attenua_evidence.covariance DATA [--draws 2] [--write docs/guide/_covariance.md]
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track
from scipy.stats import trim_mean

from attenua._data.blas import blas_limit
from attenua._files import write_whole
from attenua_evidence.collection.entries import ENTRIES
from attenua_evidence.covariance_rivals import BASE, METHODS, MOST_COLUMNS_OF_LASSO, OURS, PLAIN
from attenua_evidence.covariance_uses import (
    ACCURACY,
    AUC,
    AUTO,
    BY_CLASS,
    LEAST_OF_A_CLASS,
    LIKELIHOOD,
    POOLED,
    VARIANCE,
    of_classes,
    of_new_rows,
    of_outliers,
)
from attenua_evidence.draws import rows_allowed

PARTS = ("develop", "choose")
MOST_ROWS, MOST_COLUMNS = 128, 200
SLIGHTLY, CLEARLY = 0.001, 0.01  # nats per row and column
COMPARED = [name for name in METHODS if name != BASE]


def measure(entries: Iterable[Any], folder: Path, draws: int) -> pd.DataFrame:
    """Return a line for each use, method and draw."""
    entries = [entry for entry in entries if entry.part in PARTS and entry.shape[1] <= MOST_COLUMNS]
    lines = []
    with blas_limit(1):
        for entry in track(entries, "Data sets", console=Console(stderr=True)):
            table = entry.read(folder)
            sizes = [n for n in rows_allowed(len(table.X)) if n <= MOST_ROWS]
            for n, number in ((n, number) for n in sizes for number in range(draws)):
                head = {"data": entry.name, "kind": entry.kind, "columns": entry.shape[1]}
                head |= {"rows": n, "draw": number}
                for use in (of_new_rows, of_classes, of_outliers):
                    lines += [head | found._asdict() for found in use(entry, table, n, number)]
    return pd.DataFrame(lines)


def draws_of(lines: pd.DataFrame, use: str) -> pd.DataFrame:
    """Return the values of all draws, a column for each method; missing where it failed."""
    index = ["data", "kind", "columns", "rows", "draw"]
    return lines[lines["use"] == use].pivot(index=index, columns="method", values="value")


def cell_means(draws: pd.DataFrame | pd.Series) -> Any:
    """Return the mean of each cell over its draws."""
    return draws.groupby(level=["data", "kind", "columns", "rows"]).mean()


def data_means(cells: pd.DataFrame | pd.Series) -> Any:
    """Return the mean of each data set over its cells."""
    return cells.groupby(level="data").mean()


def nats(value: float) -> str:
    """Return a difference with its sign."""
    return f"{value:+.3f}" if value > -1000 else f"{value:.0e}"


def likelihood_words(gains: pd.Series) -> list[str]:
    """Return a method's gains of all draws in words: over cells, then over data sets."""
    cells = cell_means(gains).dropna()
    sets = data_means(cells)
    return [
        f"{gains.count()} of {len(gains)}",
        *(nats(value) for value in (cells.median(), trim_mean(cells, 0.1))),
        *(f"{np.mean(share):.0%}" for share in (cells > 0, cells < -SLIGHTLY, cells < -CLEARLY)),
        nats(cells.min()),
        *(f"{np.mean(share):.0%}" for share in (sets > 0, sets < -CLEARLY)),
    ]


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table of Markdown, and the empty line after it."""
    rule = ["---"] + ["---:"] * (len(heading) - 1)
    return [*(f"| {' | '.join(cells)} |" for cells in (heading, rule, *rows)), ""]


def likelihood_tables(lines: pd.DataFrame) -> list[str]:
    """Return the gains in log-likelihood of all methods, then ours by size, and where ours loses."""
    draws = draws_of(lines, LIKELIHOOD)
    gains = draws.sub(draws[BASE], axis=0)
    columns = ("fits", "median", "trimmed mean", "better", f"worse by > {SLIGHTLY}", f"worse by > {CLEARLY}")
    columns += ("worst cell", "data sets better", f"data sets worse by > {CLEARLY}")
    ours, rows = gains[OURS], gains.index.get_level_values("rows")
    wide = gains.index.get_level_values("columns") > rows
    sizes = {f"{n} rows": rows == n for n in np.unique(rows)}
    sizes |= {"at least as many rows as columns": ~wide, "more columns than rows": wide}
    sets = data_means(cell_means(ours)).sort_values()
    lost = [f"{name} ({nats(value)})" for name, value in sets[sets < 0].items()]
    return [
        f"**Log-likelihood of new rows: nats per row and column more than {BASE}'s**",
        "",
        f"{len(sets)} data sets, {rows.min()} to {rows.max()} rows. A cell is a data set and a number of "
        "rows, averaged over draws. Fits that fail, do not converge or are not positive definite are left "
        f"out; GraphicalLassoCV is fitted to at most {MOST_COLUMNS_OF_LASSO} columns. The trimmed mean is "
        "without a tenth of the cells at each end.",
        "",
        *table(("covariance", *columns), [(name, *likelihood_words(gains[name])) for name in COMPARED]),
        f"**{OURS} by size**",
        "",
        *table(
            ("size", *columns),
            [(size, *likelihood_words(ours[chosen])) for size, chosen in sizes.items() if chosen.any()],
        ),
        f"Data sets on which {OURS} is worse: {', '.join(lost) or 'none'}.",
        "",
    ]


def variance_table(lines: pd.DataFrame) -> list[str]:
    """Return by how much the variance of the minimum-variance combination is less, and where it is more."""
    draws = draws_of(lines, VARIANCE)
    ratios = cell_means(draws.div(draws[BASE], axis=0))
    kinds = ratios.index.get_level_values("kind")
    rows = []
    for words, chosen in (("all", kinds != ""), ("returns", kinds == "returns")):
        for name in COMPARED:
            found = ratios.loc[chosen, name].dropna()
            if len(found):
                numbers = f"{1 - found.median():.1%}", f"{np.mean(found < 1):.0%}", f"{found.max():.2f} times"
                rows.append((words, name, str(len(found)), *numbers))
    doubled = ratios.index[ratios[OURS] > 2].get_level_values("data").unique()
    return [
        f"**Minimum-variance combination: variance on new rows, less than with {BASE}**",
        "",
        "Data sets with all columns in one unit. The weights are P1 / 1'P1, with the inverse P of the "
        f"covariance. The worst cell is the variance divided by that with {BASE}.",
        "",
        *table(("data", "covariance", "cells", "less (median)", "less in", "worst cell"), rows),
        f"Data sets with cells in which {OURS} has more than twice the variance: "
        f"{', '.join(doubled) or 'none'}.",
        "",
    ]


def difference(sets: pd.DataFrame, name: str, other: str) -> tuple[str, str, str]:
    """Return the mean difference with its standard error, the median, and data sets better and worse."""
    values = 100 * (sets[name] - sets[other])
    mean = f"{values.mean():+.1f} ± {values.std() / np.sqrt(len(values)):.1f}"
    return mean, f"{values.median():+.1f}", f"{np.sum(values > 0)} / {np.sum(values < 0)}"


def accuracy_table(lines: pd.DataFrame) -> list[str]:
    """Return accuracies of discriminant analysis, compared with scikit-learn's and with one Ledoit-Wolf."""
    sets, pooled = data_means(cell_means(draws_of(lines, ACCURACY))), BASE + POOLED
    rows = [
        (
            name,
            f"{100 * sets[name].mean():.1f}",
            *difference(sets, name, AUTO),
            *difference(sets, name, pooled),
        )
        for name in (AUTO, pooled, BY_CLASS, PLAIN + POOLED, OURS + POOLED)
    ]
    heading = ("covariance", "accuracy", f"more than {AUTO}", "median", "better / worse")
    return [
        "**Linear discriminant analysis: accuracy on new rows, in percent**",
        "",
        f"{len(sets)} data sets with labels; classes with {LEAST_OF_A_CLASS} fitted rows and more. Means and "
        "standard errors over data sets, and numbers of data sets better and worse. Pooled contrasts "
        "are the rows of all classes by Helmert's matrix, which takes the mean of each class away.",
        "",
        *table((*heading, f"more than {pooled}", "median", "better / worse"), rows),
    ]


def outlier_table(lines: pd.DataFrame) -> list[str]:
    """Return areas under the curve of Mahalanobis distances."""
    sets = data_means(cell_means(draws_of(lines, AUC)))
    rows = [
        (name, f"{100 * sets[name].mean():.1f}", *difference(sets, name, BASE))
        for name in (BASE, OURS, PLAIN)
    ]
    return [
        "**Mahalanobis distances: area under the ROC curve, in percent**",
        "",
        f"{len(sets)} data sets with labels. Rows of the largest class are fitted; its other rows are told "
        "from the rows of all other classes.",
        "",
        *table(("covariance", "area", f"more than {BASE}", "median", "better / worse"), rows),
    ]


def page(lines: pd.DataFrame) -> str:
    """Return the tables of the four uses."""
    tables = (likelihood_tables, variance_table, accuracy_table, outlier_table)
    return "\n".join(line for make in tables for line in make(lines))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path, help="folder of the collection")
    parser.add_argument("--draws", type=int, default=2, help="draws of rows of every cell")
    parser.add_argument("--write", type=Path, help="a file for the tables; printed otherwise")
    options = parser.parse_args(arguments)
    text = page(measure(ENTRIES, options.data, options.draws))
    if options.write:
        write_whole(options.write, text.encode())
    else:
        print(text)


if __name__ == "__main__":
    main()
