"""The results of the tasks as they are averaged: draws to cells, cells to data sets.

A cell is a data set, a number of rows and a rank. Of an error, its gain is the part of the whole error of the
base that a method removes, in percent, in all draws together. Of other values it is how much larger they are
than the base's, the mean over draws. The gain of a data set is the mean over its cells.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from attenua_evidence.averages import Mean, mean_of
from attenua_evidence.covariance_rivals import BASE as LEDOIT_WOLF
from attenua_evidence.tasks import columns, densities, filling, new_rows, outliers, subspaces, transfer
from attenua_evidence.tasks.study import COLUMNS

CELL = ["data", "rows", "rank"]
DRAW = [*CELL, "draw"]
_TEXTS = ("part", "data", "kind", "order", "task", "method", "status", "note")
# PCA leaves nothing to gain where its excess is less than this part of its error.
_ROUNDING = 1e-10
# A rival that fits fewer data sets than this part of ours is not called the best one.
_MANY = 0.5


class Task(NamedTuple):
    """How a task is judged.

    Attributes
    ----------
    name : str
        As in the store.
    base : str
        The method that all are compared with.
    ours : str
        What we recommend for it.
    own : tuple of str
        Our other ways, and ways of PCA: no rivals.
    other : str
        Another way of ours that the sentence names, because people may try it first.
    unit : str
        Of a gain.
    factor : float
        What a difference of values is multiplied by; 0 for errors, whose gain is a percentage.
    loss : float
        A cell loses if its gain is below minus this.
    """

    name: str
    base: str = subspaces.PCA
    ours: str = subspaces.OURS
    own: tuple[str, ...] = subspaces.OWN
    other: str = ""
    unit: str = "% of the whole error"
    factor: float = 0.0
    loss: float = 1.0

    @property
    def is_error(self) -> bool:
        """Whether less is better."""
        return self.factor == 0


_POINTS = {"unit": "points of accuracy", "factor": 100.0}
_OF_COVARIANCES = {
    "base": LEDOIT_WOLF,
    "ours": densities.OURS,
    "own": (densities.OURS, densities.PLAIN),
}
TASKS = {
    task.name: task
    for task in (
        Task(new_rows.REBUILD),
        Task(
            filling.FILL,
            ours=filling.OURS,
            own=(subspaces.PCA, filling.LEAST_SQUARES, filling.OURS, filling.PLAIN),
        ),
        Task(new_rows.DENOISE),
        Task(columns.COLUMN),
        Task(new_rows.TARGET),
        Task(new_rows.CENTROID, **_POINTS),
        Task(new_rows.LOGISTIC, **_POINTS),
        Task(
            outliers.OUTLIERS,
            outliers.BASE,
            outliers.SHRUNK,
            own=(*outliers.OF_SUBSPACES, outliers.CORRECTED, outliers.SHRUNK),
            other=f"{subspaces.OURS}, {outliers.RESIDUAL}",
            unit="points of the area under the ROC curve",
            factor=100.0,
        ),
        Task(densities.DENSITY, unit="nats per cell", factor=1.0, loss=0.01, **_OF_COVARIANCES),
        Task(densities.PORTFOLIO, **_OF_COVARIANCES),
        Task(
            transfer.TRANSFER,
            ours=transfer.BORROWING,
            own=(subspaces.PCA, subspaces.OURS, transfer.BORROWING),
            other=subspaces.OURS,
        ),
    )
}


class Summary(NamedTuple):
    """A method in a task.

    Attributes
    ----------
    gain, excess : Mean
        Over data sets; the excess is what is removed of the part of the base's error that a subspace of this
        rank could avoid.
    same : Mean
        Gain of ours in the draws in which the method fitted.
    median, same_median : float
        Gain of the median data set, and that of ours in the same draws.
    better : float
        Part of the data sets with a gain above 0, in percent.
    cells : int
        Cells with a fit.
    losing : float
        Part of the cells that lose, in percent.
    seconds : float
        Mean time of a fit.
    failed : int
        Fits that failed.
    """

    gain: Mean
    excess: Mean
    same: Mean
    median: float
    same_median: float
    better: float
    cells: int
    losing: float
    seconds: float
    failed: int


def read_lines(store: Path) -> pd.DataFrame:
    """Read all lines of a store.

    Raises
    ------
    FileNotFoundError
        If there are no results.
    """
    files = sorted(Path(store).glob("*.csv"))
    if not files:
        raise FileNotFoundError(f"there are no results in {store}.")
    frames = [pd.read_csv(file, dtype=dict.fromkeys(_TEXTS, str)) for file in files]
    filled = [frame for frame in frames if len(frame)]
    lines = pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=COLUMNS)
    lines[list(_TEXTS)] = lines[list(_TEXTS)].fillna("")
    return lines


def by_draw(lines: pd.DataFrame, task: Task, method: str, base: str | None = None) -> pd.DataFrame:
    """Return value, base and reference of the draws in which a method and its base fitted.

    Draws in which a value is not there, such as an accuracy without known classes, are left out.
    """
    of_task = lines[(lines["task"] == task.name) & (lines["status"] == "fitted")]
    mine, other = (of_task[of_task["method"] == name].set_index(DRAW) for name in (method, base or task.base))
    found = mine[["value", "reference", "seconds"]].join(other["value"].rename("base"), how="inner")
    return found[found[["value", "base"]].notna().all(axis=1)]


def cell_gains(draws: pd.DataFrame, task: Task) -> pd.DataFrame:
    """Return gain, excess and seconds of each cell."""
    groups = draws.groupby(CELL)
    if not task.is_error:
        means = groups[["value", "base", "seconds"]].mean()
        gain = task.factor * (means["value"] - means["base"])
        return pd.DataFrame({"gain": gain, "excess": np.nan, "seconds": means["seconds"]})
    sums = groups[["value", "base"]].sum()
    least = groups["reference"].sum(min_count=1)
    excess = (sums["base"] - least).where(lambda left: left > _ROUNDING * sums["base"])
    removed = sums["base"] - sums["value"]
    # Less is rounding, and must not count as a gain or a loss.
    return pd.DataFrame(
        {
            "gain": (100 * removed / sums["base"]).round(6) + 0.0,
            "excess": (100 * removed / excess).round(6) + 0.0,
            "seconds": groups["seconds"].mean(),
        }
    )


def set_gains(lines: pd.DataFrame, task: Task, method: str, base: str | None = None) -> pd.Series:
    """Return the gain of each data set."""
    return _over_sets(cell_gains(by_draw(lines, task, method, base), task)["gain"])


def summary(lines: pd.DataFrame, task: Task, method: str) -> Summary:
    """Sum up a method over some lines."""
    draws = by_draw(lines, task, method)
    cells = cell_gains(draws, task)
    sets = _over_sets(cells["gain"])
    ours = by_draw(lines, task, task.ours)
    same = _over_sets(cell_gains(ours.loc[ours.index.intersection(draws.index)], task)["gain"])
    mine = lines[(lines["task"] == task.name) & (lines["method"] == method)]
    return Summary(
        gain=mean_of(sets),
        excess=mean_of(_over_sets(cells["excess"])),
        same=mean_of(same),
        median=float(sets.median()),
        same_median=float(same.median()),
        better=100 * float((sets > 0).mean()),
        cells=len(cells),
        losing=100 * float((cells["gain"] < -task.loss).mean()),
        seconds=float(cells["seconds"].mean()),
        failed=int((mine["status"] == "failed").sum()),
    )


def compared(lines: pd.DataFrame, task: Task) -> dict[str, Summary]:
    """Sum up all methods of a task that fitted anything, the base first."""
    names = lines.loc[lines["task"] == task.name, "method"].unique()
    found = {name: summary(lines, task, name) for name in names}
    found = {name: of for name, of in found.items() if of.cells}
    return {name: found[name] for name in sorted(found, key=lambda name: name != task.base)}


def best_rival(methods: dict[str, Summary], task: Task) -> str | None:
    """Return the rival with the largest median gain, of those that fit half of our data sets and more.

    Not the mean: where PCA leaves hardly an error, a rival may have thousands of times as much.
    """
    least = _MANY * methods[task.ours].gain.count
    rivals = {
        name: of.median
        for name, of in methods.items()
        if name not in (*task.own, task.base) and of.gain.count >= least
    }
    return max(rivals, key=rivals.__getitem__) if rivals else None


def ahead(methods: dict[str, Summary], task: Task) -> list[str]:
    """Return the rivals with a mean or a median gain above ours on the same cells."""
    return [
        name
        for name, of in methods.items()
        if name not in task.own and (of.gain.value > of.same.value or of.median > of.same_median)
    ]


def tasks_of(lines: pd.DataFrame) -> list[Task]:
    """Return the tasks that some data sets have, with ours fitted."""
    return [task for task in TASKS.values() if len(by_draw(lines, task, task.ours))]


def cell_frame(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the gain of every cell and method in every task, as it is published."""
    about = lines.groupby("data")[["part", "kind", "order"]].first()
    frames = []
    for task in tasks_of(lines):
        for method in lines.loc[lines["task"] == task.name, "method"].unique():
            cells = cell_gains(by_draw(lines, task, method), task).reset_index()
            frames.append(cells.assign(task=task.name, method=method))
    found = pd.concat(frames, ignore_index=True).join(about, on="data")
    names = ["part", "kind", "order", *CELL, "task", "method", "gain", "excess", "seconds"]
    return found[names].round({"gain": 3, "excess": 2, "seconds": 3})


def published_gains(cells: pd.DataFrame, task: Task, method: str) -> pd.Series:
    """Return the gain of each data set, from the cells as they are published."""
    mine = cells[(cells["task"] == task.name) & (cells["method"] == method)]
    return _over_sets(mine.set_index("data")["gain"])


def method_frame(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the summary of every method and task in every part, as it is published."""
    rows = []
    for part in lines["part"].unique():
        own = lines[lines["part"] == part]
        for task in tasks_of(own):
            for method, of in compared(own, task).items():
                row: dict[str, object] = {"part": part, "task": task.name, "method": method}
                for name, value in of._asdict().items():
                    if isinstance(value, Mean):
                        row |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
                    else:
                        row[name] = value
                rows.append(row | {"sets": of.gain.count})
    return pd.DataFrame(rows).round(3)


def _over_sets(cells: pd.Series) -> pd.Series:
    return cells.groupby("data").mean().dropna()
