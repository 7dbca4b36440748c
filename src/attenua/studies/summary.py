"""From stored subsamples to the means, intervals, strengths and counts that the paper's tables show."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from attenua.studies.gain import mean_and_interval
from attenua.studies.published import CAPPED, DATA, GAINS


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
    for (data, budget), cell in cells_in_order(results):
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
