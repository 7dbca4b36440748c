"""What is reported of one method: gains, losses, failures and time."""

from collections.abc import Callable
from math import nan
from typing import NamedTuple

import pandas as pd

from attenua_evidence.averages import Mean, mean_of
from attenua_evidence.results import (
    CELL,
    PCA,
    RECOMMENDED,
    at_cell,
    cell_means,
    data_means,
    fitted,
    left_out_of,
    pair,
    parts_of,
    rivals_of,
    settings_of,
)

# A cell has lost if it adds more than this to PCA's excess risk, in percent.
LOSS = 1.0


class Extreme(NamedTuple):
    """The value of the cell where a method does worst, and its name."""

    value: float
    cell: str


class Summary(NamedTuple):
    """A method on the cells that it fitted.

    Attributes
    ----------
    gain, own_gain : Mean
        Over data sets, around the mean of the fitting rows and around the method's own centre.
    same : Mean
        Gain of the recommended setting in the very draws in which the method fitted.
    median : float
        Gain of the median data set.
    sets, gaining, below : int
        Data sets, and those with a gain above and below 0.
    cells, losing : int
        Cells with a fit, and those that lose more than 1% of PCA's excess risk.
    unsuited, failed, short : int
        Cells that the method does not suit, cells in which a fit failed, and cells in which it found fewer
        components than the rank.
    worst, most_added : Extreme
        Least gain of a cell, and the most added to PCA's whole test error, in percent.
    seconds : float
        Mean over cells.
    """

    gain: Mean
    own_gain: Mean
    same: Mean
    median: float
    sets: int
    gaining: int
    below: int
    cells: int
    losing: int
    unsuited: int
    failed: int
    short: int
    worst: Extreme
    most_added: Extreme
    seconds: float


def summary(lines: pd.DataFrame, method: str) -> Summary:
    """Sum up a method over some lines of the store."""
    mine, (_, same) = fitted(lines, method), pair(lines, method, RECOMMENDED)
    cells, sets = cell_means(mine), data_means(mine)
    total = lines[lines["method"] == PCA].groupby(CELL).ngroups
    tried = lines[(lines["method"] == method) & lines["status"].isin(["fitted", "failed"])]
    return Summary(
        gain=mean_of(sets),
        own_gain=mean_of(data_means(mine, "own_gain")),
        same=mean_of(data_means(same)),
        median=float(sets.median()),
        sets=len(sets),
        gaining=int((sets > 0).sum()),
        below=int((sets < 0).sum()),
        cells=len(cells),
        losing=int((cells < -LOSS).sum()),
        unsuited=total - tried.groupby(CELL).ngroups,
        failed=tried[tried["status"] == "failed"].groupby(CELL).ngroups,
        short=mine[mine["n_components"] < mine.index.get_level_values("rank")].groupby(CELL).ngroups,
        worst=extreme(mine, "gain", pd.Series.idxmin),
        most_added=extreme(mine, "added", pd.Series.idxmax),
        seconds=float(cell_means(mine, "seconds").mean()),
    )


def extreme(lines: pd.DataFrame, column: str, find: Callable[[pd.Series], tuple]) -> Extreme:
    """Return the cell that `find` (Series.idxmin or idxmax) finds among the means of cells."""
    cells = cell_means(lines, column)
    if cells.empty:
        return Extreme(nan, "")
    at = find(cells)
    return Extreme(float(cells[at]), at_cell(*at))


def compared(lines: pd.DataFrame) -> dict[str, Summary]:
    """Sum up the settings of ours and all rivals."""
    return {method: summary(lines, method) for method in (*settings_of(lines), *rivals_of(lines))}


def method_frame(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the summary of every method in every part, as it is published."""
    rows = []
    for part, own in parts_of(lines).items():
        for method in (*settings_of(lines), *left_out_of(lines), *rivals_of(lines)):
            row: dict[str, object] = {"part": part, "method": method}
            for name, value in summary(own, method)._asdict().items():
                if isinstance(value, Mean):
                    row |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
                elif isinstance(value, Extreme):
                    row |= {name: value.value, f"{name}_cell": value.cell}
                else:
                    row[name] = value
            rows.append(row)
    return pd.DataFrame(rows)
