"""The tables of the page: parts, methods, losses, kinds of data, corrections left out and taken."""

from collections.abc import Iterable, Mapping
from math import nan

import pandas as pd

from attenua_evidence.averages import Mean, decimals, mean_of
from attenua_evidence.results import (
    DEFAULT,
    PAPER,
    RECOMMENDED,
    SEARCHES,
    data_means,
    fitted,
    left_out_of,
    pair,
    parts_of,
    settings_of,
)
from attenua_evidence.rivals import Rival
from attenua_evidence.strengths import CORRECTIONS
from attenua_evidence.summary import Extreme, Summary, extreme, summary
from attenua_paper.studies.tables import Table

_SHOWN = (RECOMMENDED, DEFAULT, PAPER)
_N_WORST = 5


def gain_of(lines: pd.DataFrame, method: str) -> Mean:
    """Return the mean gain of a method over the data sets in which it fitted."""
    return mean_of(data_means(fitted(lines, method)))


def parts_table(lines: pd.DataFrame) -> Table:
    """Mean gain in each part, with its interval over data sets."""
    rows = []
    for name, part in parts_of(lines).items():
        recommended = summary(part, RECOMMENDED)
        gains = [str(gain_of(part, method)) for method in _SHOWN]
        rows.append((name, str(recommended.sets), str(recommended.cells), *gains))
    title = "Percentage of PCA's excess risk removed: mean over data sets [95% interval over data sets]"
    return Table(title, ("Part", "data sets", "cells", *_SHOWN), rows)


def methods_table(methods: dict[str, Summary]) -> Table:
    """Gains of every method, and of the recommended setting on the same cells."""
    rows = [
        (
            method,
            str(of.gain),
            decimals(of.median),
            f"{of.gaining} of {of.sets}",
            f"{of.losing} of {of.cells}",
            decimals(of.same.value),
            f"{of.unsuited} / {of.failed} / {of.short}",
        )
        for method, of in methods.items()
    ]
    heading = (
        "Method",
        "mean gain [95%]",
        "median data set",
        "data sets that gain",
        "cells that lose over 1%",
        "recommended, same cells",
        "cells unsuited / failed / short",
    )
    return Table("Percentage of PCA's excess risk removed, by method", heading, rows)


def rivals_table(rivals: Mapping[str, Rival]) -> Table:
    """Return the function and the settings of every rival."""
    rows = [(name, rival.what) for name, rival in rivals.items()]
    return Table("What each of the others is", ("Method", "what was called, and how"), rows)


def worst_cells_table(methods: dict[str, Summary]) -> Table:
    """Worst cells of every method, by name, and its time."""
    rows = [
        (method, _named(of.worst, 1), _named(of.most_added, 2), seconds(of.seconds))
        for method, of in methods.items()
    ]
    heading = ("Method", "worst cell: gain, %", "most added to PCA's test error, %", "seconds")
    return Table("Worst cells and mean time of a fit", heading, rows)


def _named(at: Extreme, digits: int) -> str:
    return f"{decimals(at.value, digits)} ({at.cell})" if at.cell else decimals(at.value)


def seconds(value: float) -> str:
    """Return a time with two digits, and a dash for none."""
    if pd.isna(value):
        return "–"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def worst_sets_table(lines: pd.DataFrame) -> Table:
    """Gains of the data sets on which the recommended setting does worst, worst first."""
    mine, paper = fitted(lines, RECOMMENDED), data_means(fitted(lines, PAPER))
    sets = data_means(mine).sort_values()
    rows = []
    for name, gain in sets.head(_N_WORST).items():
        own = mine.xs(name, level="data", drop_level=False)
        worst = extreme(own, "gain", pd.Series.idxmin)
        where = worst.cell.removeprefix(f"{name}, ")
        at = f"{decimals(worst.value, 1)} ({where})"
        rows.append((str(name), own["kind"].iloc[0], decimals(gain), at, decimals(paper.get(name, nan))))
    title = "The data sets on which the recommended setting does worst"
    return Table(title, ("Data", "kind", RECOMMENDED, "its worst cell", PAPER), rows)


def kinds_table(lines: pd.DataFrame) -> Table:
    """Mean gains by kind of data and order of the columns."""
    order = lines["order"].map(lambda text: "columns in order" if text else "columns without order")
    groups = [*lines.groupby("kind"), *lines.groupby(order)]
    return _where("Percentage of PCA's excess risk removed, by kind and order", groups)


def sizes_table(lines: pd.DataFrame) -> Table:
    """Mean gains by rows and rank."""
    groups = [(f"{rows} rows", part) for rows, part in lines.groupby("rows")]
    groups += [(f"rank {rank}", part) for rank, part in lines.groupby("rank")]
    return _where("Percentage of PCA's excess risk removed, by rows and rank", groups)


def _where(title: str, groups: Iterable[tuple[str, pd.DataFrame]]) -> Table:
    rows = []
    for label, part in groups:
        gains = [gain_of(part, method) for method in _SHOWN]
        rows.append((label, str(gains[0].count), *map(str, gains)))
    return Table(title, ("Where", "data sets", *_SHOWN), rows)


def lost_without(lines: pd.DataFrame, method: str) -> pd.Series:
    """Return by data set what the recommended setting gains more than another, in the same draws."""
    mine, recommended = pair(lines, method, RECOMMENDED)
    return data_means(recommended) - data_means(mine)


def left_out_table(lines: pd.DataFrame) -> Table:
    """Differences to the recommended setting where a correction is left out, or the search is another."""
    rows = []
    searches = [method for method in settings_of(lines) if method in SEARCHES]
    for method in (*left_out_of(lines), *searches, PAPER):
        lost = lost_without(lines, method)
        mean = mean_of(lost)
        rows.append((method, str(mean.count), str(mean), f"{(lost > 0).sum()}", f"{(lost < 0).sum()}"))
    title = "Percentage of PCA's excess risk lost against the recommended setting, paired by data set"
    heading = (
        "Instead",
        "data sets",
        "lost [95%]",
        "sets that lose",
        "sets that win",
    )
    return Table(title, heading, rows)


def strengths_table(lines: pd.DataFrame) -> Table:
    """How often each correction is taken; smoothing where columns have an order."""
    rows = []
    for name, part in parts_of(lines).items():
        mine = fitted(part, RECOMMENDED)
        taken = mine[list(CORRECTIONS)] > 0
        shares = {correction: taken[correction] for correction in CORRECTIONS}
        shares["smoothing"] = taken.loc[mine["order"] != "", "smoothing"]
        shares["none"] = ~taken.any(axis=1)
        percent = [decimals(100 * share.mean(), 0) for share in shares.values()]
        rows.append((name, str(len(mine)), *percent))
    heading = ("Part", "fits", *(name.replace("_", " ") for name in CORRECTIONS), "none: PCA")
    title = "Percentage of fits with each correction, recommended setting (smoothing: of those with order)"
    return Table(title, heading, rows)
