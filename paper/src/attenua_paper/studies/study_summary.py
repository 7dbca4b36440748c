"""From stored subsamples to one tidy table: means with their standard errors, shares and counts."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from attenua._correct.registry import SEARCH_ORDER
from attenua_paper.studies.gain import mean_and_error
from attenua_paper.studies.published import DATA, GAINS

# After the name of a correction: how often its strength is above 0.
TAKEN = "_taken_percent"


def summary_table(results: pd.DataFrame, settings: dict[str, Any]) -> pd.DataFrame:
    """Return one row for each cell, method and measure.

    Parameters
    ----------
    results : DataFrame
        One row for each subsample and method.
    settings : dict
        Those of the study; its methods give the order of the rows.

    Returns
    -------
    DataFrame
        Columns seed, data, budget, method, measure, value, error and n. The error is the standard error of a
        mean over what counts as independent, missing for a count; n is the number of fits. Measures are

        - ``gain``, percentage of PCA's test excess risk removed;
        - ``lead``, for methods of the paper: gain less that of the best of its other methods in the cell;
        - ``strength``, ``above_half_percent``: the chosen strength, and how often it is above 1/2;
        - the name of a correction, and the name with ``TAKEN``: its strength, and how often it is above 0;
        - ``fallback_percent``: how often the fit is PCA;
        - ``capped``: fits that reached their cap on iterations, of those that did not fall back;
        - ``seconds`` of a fit.
    """
    rows = []
    for (data, budget), cell in cells_in_order(results):
        fits = {method: cell[cell["method"] == method] for method in settings["methods"]}
        fits = {method: chosen for method, chosen in fits.items() if len(chosen)}  # neighbours need an order
        gains = {method: independent_means(chosen, chosen["gain"]) for method, chosen in fits.items()}
        for method, chosen in fits.items():
            measures = _measures(method, chosen) | _lead(method, gains)
            labels = {"seed": settings["seed"], "data": data, "budget": budget, "method": method}
            rows += [
                labels | {"measure": name, "value": value, "error": error, "n": len(chosen)}
                for name, (value, error) in measures.items()
            ]
    return pd.DataFrame(rows)


def cells_in_order(results: pd.DataFrame) -> Iterator[tuple[tuple[str, int], pd.DataFrame]]:
    """Yield each cell's name and rows, in the order of the paper."""
    for data in DATA:
        for budget in sorted(results.loc[results["data"] == data, "budget"].unique()):
            yield (data, int(budget)), results[(results["data"] == data) & (results["budget"] == budget)]


def independent_means(fits: pd.DataFrame, values: pd.Series) -> np.ndarray:
    """Return what counts as independent: values of subsamples, or means over each draw of patch locations."""
    if fits["version"].nunique() > 1:
        return values.groupby(fits["version"]).mean().to_numpy()
    return values.to_numpy()


def _measures(method: str, fits: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return the value and the standard error of each measure but the lead."""
    columns = {"gain": fits["gain"]}
    if fits["strength"].notna().any():
        columns |= {"strength": fits["strength"], "above_half_percent": 100 * (fits["strength"] > 0.5)}
    corrections = [name for name in SEARCH_ORDER if fits[name].notna().any()]
    for name in corrections:
        columns |= {name: fits[name], name + TAKEN: 100 * (fits[name] > 0)}
    if "strength" in columns or corrections:
        columns["fallback_percent"] = 100 * fits["fallback"]
    columns["seconds"] = fits["seconds"]
    measures = {name: mean_and_error(independent_means(fits, values)) for name, values in columns.items()}
    if fits["capped"].notna().any():
        measures["capped"] = (fits.loc[~fits["fallback"], "capped"].sum(), np.nan)
    return measures


def _lead(method: str, gains: dict[str, np.ndarray]) -> dict[str, tuple[float, float]]:
    others = [name for name in GAINS if name != method and name in gains]
    if method not in GAINS or not others:
        return {}
    best = max(others, key=lambda name: gains[name].mean())
    return {"lead": mean_and_error(gains[method] - gains[best])}
