"""The results of the study as they are averaged: draws to cells, cells to data sets.

A line is one method at one rank in one draw. A cell is a data set, a number of rows and a rank; its gain is
what is removed of PCA's excess risk in all its draws together, so that a draw with little excess risk counts
for little. The gain of a data set is the mean over its cells.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from attenua_evidence.collection.entry import PARTS as PARTS_IN_ORDER
from attenua_evidence.store import MEASURED, read_results
from attenua_evidence.strengths import CORRECTIONS

PARTS = PARTS_IN_ORDER[::-1]  # the final part comes first in tables
PCA, PAPER, DEFAULT, RECOMMENDED = "PCA", "paper's strength", "default", "recommended"
WITHOUT = {f"without {name}": name for name in CORRECTIONS}
# Other ways to search; the last is one of stores that are older than votes.
SEARCHES = ("repeated folds", "no share", "guard 0")
SETTINGS = (PAPER, DEFAULT, RECOMMENDED, *SEARCHES)
OURS = (PCA, *SETTINGS, *WITHOUT)

CELL = ["data", "rows", "rank"]
DRAW = [*CELL, "draw"]
ABOUT = ["part", "data", "kind", "unit", "order", "rows", "rank"]
# What is published of a cell, and its decimals; no more of them are sure.
_DIGITS = {"gain": 2, "added": 3, "own_gain": 2, "centroid": 3, "logistic": 3, "seconds": 3}
# Gains, and the risks that they are of.
_RISKS = {"gain": "risk", "own_gain": "own_risk"}


def read_lines(store: Path) -> pd.DataFrame:
    """Read all lines of a store.

    Raises
    ------
    FileNotFoundError
        If there are no results.
    ValueError
        If a column is missing, or a fitted line has no risk.
    """
    lines = read_results(store)
    missing = [name for name in MEASURED if name not in lines]
    if missing:
        raise ValueError(f"{store} has no columns {', '.join(missing)}; was another version run?")
    is_bad = (lines["status"] == "fitted") & ~np.isfinite(lines["risk"])
    if is_bad.any():
        at = at_cell(*lines.loc[is_bad, CELL].iloc[0])
        raise ValueError(f"{store} has a fitted line without a finite risk: {at}.")
    return lines


def at_cell(data: str, rows: int, rank: int) -> str:
    """Name a cell, as in "wine, 32 rows, rank 5"."""
    return f"{data}, {rows} rows, rank {rank}"


def parts_of(lines: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the lines of each part that was run, the final part first, then all of them."""
    parts = {part: lines[lines["part"] == part] for part in PARTS if (lines["part"] == part).any()}
    return {**parts, "all": lines}


def judged_part(lines: pd.DataFrame) -> str:
    """Return the part that the page speaks of: the final one, or all until that is run."""
    return "final" if (lines["part"] == "final").any() else "all"


def rivals_of(lines: pd.DataFrame) -> list[str]:
    """Return the methods that are not ours, in the order of the store."""
    return [method for method in lines["method"].unique() if method not in OURS]


def settings_of(lines: pd.DataFrame) -> list[str]:
    """Return our settings, the other ways to search only where they were run."""
    return [method for method in SETTINGS if method not in SEARCHES or (lines["method"] == method).any()]


def left_out_of(lines: pd.DataFrame) -> list[str]:
    """Return the methods that leave out one correction; a store may be older than a correction."""
    return [method for method in WITHOUT if (lines["method"] == method).any()]


def fitted(lines: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return the lines in which a method fitted, by draw."""
    return lines[(lines["method"] == method) & (lines["status"] == "fitted")].set_index(DRAW)


def pair(lines: pd.DataFrame, method: str, other: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the lines of two methods in the draws in which both fitted."""
    first, second = fitted(lines, method), fitted(lines, other)
    common = first.index.intersection(second.index)
    return first.loc[common], second.loc[common]


def cell_means(lines: pd.DataFrame, column: str = "gain") -> pd.Series:
    """Return by cell a column's mean over draws; gains and additions pool the risks of all draws."""
    return _means(lines, CELL, column)


def _means(lines: pd.DataFrame, by: list[str], column: str) -> pd.Series:
    if column == "added":
        sums = lines.groupby(by)[["risk", "pca_risk"]].sum()
        return (100 * (sums["risk"] / sums["pca_risk"] - 1)).round(6).rename(column) + 0.0
    if column not in _RISKS:
        return lines.groupby(by)[column].mean()
    lines = lines[lines["gain"].notna()]  # there is none where PCA leaves no excess risk
    removed = lines["pca_risk"] - lines[_RISKS[column]]
    sums = lines.assign(removed=removed, excess=lines["pca_risk"] - lines["reference"]).groupby(by)
    gains = 100 * sums["removed"].sum() / sums["excess"].sum()
    return gains.round(6).rename(column) + 0.0  # less is rounding, and must not count as a gain or a loss


def data_means(lines: pd.DataFrame, column: str = "gain") -> pd.Series:
    """Return means over cells, by data set; those without a value are left out."""
    return cell_means(lines, column).groupby("data").mean().dropna()


def cell_table(lines: pd.DataFrame) -> pd.DataFrame:
    """Return one line per cell and method, rounded as it is published.

    Lines of unsuited methods are left out, and `own_gain` where it is the gain: the file stays small.
    """
    lines = lines[lines["status"] != "unsuited"]
    by = [*ABOUT, "method"]
    fits = lines["status"] == "fitted"
    counts = (
        lines.assign(fitted=fits)
        .groupby(by)
        .agg(columns=("columns", "max"), draws=("fitted", "size"), fitted=("fitted", "sum"))
    )
    means = {name: _means(lines[fits], by, name) for name in _DIGITS}
    cells = counts.join(pd.DataFrame(means)).reset_index().round(_DIGITS)
    cells.insert(len(ABOUT) - 1, "columns", cells.pop("columns"))
    return cells.assign(own_gain=cells["own_gain"].where(cells["own_gain"] != cells["gain"]))
