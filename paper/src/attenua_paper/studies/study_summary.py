"""From stored subsamples to the means, intervals, strengths and counts that the paper's tables show."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from attenua._correct.registry import CORRECTIONS
from attenua_paper.studies.gain import mean_and_interval
from attenua_paper.studies.published import CAPPED, DATA, GAINS


def independent_means(cell: pd.DataFrame) -> np.ndarray:
    """Return the gains that count as independent: subsamples, or means over each draw of patch locations."""
    if cell["version"].nunique() > 1:
        return cell.groupby("version")["gain"].mean().to_numpy()
    return cell["gain"].to_numpy()


def cells_in_order(results: pd.DataFrame) -> Iterator[tuple[tuple[str, int], pd.DataFrame]]:
    """Yield each cell's name and rows, in the order of the paper."""
    for data in DATA:
        for budget in sorted(results.loc[results["data"] == data, "budget"].unique()):
            yield (data, int(budget)), results[(results["data"] == data) & (results["budget"] == budget)]


def gain_table(results: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the mean gain of each method and cell with its 95% interval, and the published one.

    Parameters
    ----------
    results : DataFrame
        One row for each subsample and method.
    methods : sequence of str
        Methods in the order of the table.

    Returns
    -------
    DataFrame
        Columns data, budget, method, gain, low, high, n_independent, and paper_gain, paper_low, paper_high,
        overlaps where the paper has the method.
    """
    rows = []
    for (data, budget), cell in cells_in_order(results):
        for method in methods:
            chosen = cell[cell["method"] == method]
            if chosen.empty:  # no neighbours there
                continue
            values = independent_means(chosen)
            mean, low, high = mean_and_interval(values)
            row = {"data": data, "budget": budget, "method": method, "gain": mean, "low": low, "high": high}
            row["n_independent"] = len(values)
            published = GAINS.get(method, {}).get((data, budget))
            if published is not None:
                row |= {
                    "paper_gain": published.mean,
                    "paper_low": published.low,
                    "paper_high": published.high,
                }
                row["overlaps"] = bool(low <= published.high and published.low <= high)
            rows.append(row)
    return pd.DataFrame(rows)


def correction_table(results: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the mean chosen strength of each correction, and how often it is above 0, in percent.

    Columns data, budget, method, correction, strength, above_zero_percent, fallback_percent; the last is how
    often the whole fit is PCA.
    """
    rows = []
    for (data, budget), cell in cells_in_order(results):
        for method in methods:
            chosen = cell[cell["method"] == method]
            cell_name = {"data": data, "budget": budget, "method": method}
            rows += [
                cell_name
                | {
                    "correction": correction,
                    "strength": chosen[correction].mean(),
                    "above_zero_percent": 100 * (chosen[correction] > 0).mean(),
                    "fallback_percent": 100 * chosen["fallback"].mean(),
                }
                for correction in CORRECTIONS
                if len(chosen)
            ]
    return pd.DataFrame(rows)


def step_table(results: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return in how many subsamples a search took 0, 1, 2, ... of its steps."""
    rows = []
    for (data, budget), cell in cells_in_order(results):
        for method in methods:
            steps = cell.loc[cell["method"] == method, "steps"]
            counts = {f"steps_{k}": int((steps == k).sum()) for k in range(len(CORRECTIONS) + 1)}
            if len(steps):
                rows.append({"data": data, "budget": budget, "method": method} | counts)
    return pd.DataFrame(rows)


def seconds_table(results: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the mean seconds of a fit on each data set, and the minutes of all fits together."""
    by_data = results.pivot_table("seconds", "method", "data", aggfunc="mean")
    minutes = results.groupby("method")["seconds"].sum() / 60
    table = by_data.reindex(columns=[data for data in DATA if data in by_data]).assign(minutes=minutes)
    return table.reindex(methods).rename_axis("method").reset_index()


def strength_table(results: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the mean chosen strengths, the share of PCA fallbacks and of strengths above 1/2, in percent."""
    rows = []
    for (data, budget), cell in cells_in_order(results):
        for method in methods:
            chosen = cell[cell["method"] == method]
            rows.append(
                {
                    "data": data,
                    "budget": budget,
                    "method": method,
                    "strength": chosen["strength"].mean(),
                    "fallback_percent": 100 * chosen["fallback"].mean(),
                    "above_half_percent": 100 * (chosen["strength"] > 0.5).mean(),
                }
            )
    return pd.DataFrame(rows)


def cap_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return how many fits of iterative methods reached their cap, among those that did not fall back."""
    iterated = results[results["capped"].notna() & ~results["fallback"]]
    rows = []
    for method, (paper_capped, paper_fits) in CAPPED.items():
        if not (results["method"] == method).any():
            continue
        fits = iterated[iterated["method"] == method]
        rows.append(
            {
                "method": method,
                "capped": int(fits["capped"].sum()),
                "fits": len(fits),
                "paper_capped": paper_capped,
                "paper_fits": paper_fits,
            }
        )
    return pd.DataFrame(rows)
