"""The tables of the pages for one kind of data: its data sets one by one, and one of them cell by cell."""

import pandas as pd

from attenua_evidence.averages import decimals
from attenua_evidence.results import DEFAULT, RECOMMENDED, cell_means, data_means, fitted
from attenua_paper.studies.tables import Table

KINDS = ("spectra", "sensors", "time series")
# One well-known data set for each page, taken for its name and not for its result.
EXAMPLES = ("tecator", "sonar")


def sets_table(lines: pd.DataFrame, kind: str) -> Table:
    """Gains of every data set of a kind, in all parts."""
    lines = lines[lines["kind"] == kind]
    mine, default = (fitted(lines, method) for method in (RECOMMENDED, DEFAULT))
    cells, without_order = cell_means(mine), data_means(default)
    about = mine.reset_index().drop_duplicates("data").set_index("data").sort_values(["part", "data"])
    rows = []
    for name, gain in data_means(mine).reindex(about.index).dropna().items():
        part, order, columns = about.loc[name, ["part", "order", "columns"]]
        worst, best = cells[name].min(), cells[name].max()
        gains = [decimals(value) for value in (gain, worst, best, without_order[name])]
        rows.append((str(name), part, str(columns), order or "none", *gains))
    heading = ("Data", "part", "columns", "order", RECOMMENDED, "worst cell", "best cell", DEFAULT)
    return Table(f"Percentage of PCA's excess risk removed: {kind}", heading, rows)


def cells_table(lines: pd.DataFrame, data: str) -> Table:
    """Gains of the recommended setting on one data set, by rows and rank."""
    gains = cell_means(fitted(lines[lines["data"] == data], RECOMMENDED))[data].unstack("rank")
    rows = [(str(n), *map(decimals, row)) for n, row in zip(gains.index, gains.to_numpy(), strict=True)]
    heading = ("Rows", *(f"rank {rank}" for rank in gains.columns))
    return Table(f"Percentage of PCA's excess risk removed on {data}, {RECOMMENDED} setting", heading, rows)
