"""From stored subsamples to the means, intervals, strengths and counts that the paper's tables show."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from attenua.studies.gain import mean_and_interval
from attenua.studies.published import GAINS

# Columns of every summary that name a cell.
CELL = ["data", "budget"]


def independent_means(cell: pd.DataFrame) -> np.ndarray:
    """Return the gains that count as independent: subsamples, or means over each draw of patch locations."""
    if cell["version"].nunique() > 1:
        return cell.groupby("version")["gain"].mean().to_numpy()
    return cell["gain"].to_numpy()


def gain_table(results: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the mean gain of each method and cell with its 95% interval, beside the published one.

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
    for (data, budget), cell in results.groupby(CELL, sort=False):
        for method in methods:
            values = independent_means(cell[cell["method"] == method])
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


def strength_table(results: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the mean chosen strength, the share of PCA fallbacks and of strengths above 1/2, in percent."""
    chosen = results[results["method"].isin(methods)]
    grouped = chosen.groupby([*CELL, "method"], sort=False)
    return pd.DataFrame(
        {
            "strength": grouped["strength"].mean(),
            "fallback_percent": 100 * grouped["fallback"].mean(),
            "above_half_percent": 100 * grouped["strength"].agg(lambda s: (s > 0.5).mean()),
        }
    ).reset_index()


def cap_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return how many fits of iterative methods reached their cap, among those that did not fall back."""
    iterated = results[results["capped"].notna() & ~results["fallback"]]
    grouped = iterated.groupby("method", sort=False)["capped"]
    return pd.DataFrame({"capped": grouped.sum().astype(int), "fits": grouped.size()}).reset_index()
