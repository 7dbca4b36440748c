"""Scores, explained variance and loadings as plain data: for the charts, and for the files on the page."""

from typing import Any

import numpy as np

from attenua.report.charts import Chart, numbers, series, short
from attenua.report.overview import Labels, Overview, Scale

# Columns that are drawn as arrows among the scores, and rows of scores that the table shows.
_MOST_ARROWS, _MOST_ROWS = 12, 20
# More figures than a float32 has.
_FIGURES = 8


def variance_chart(found: Overview, label: str) -> Chart:
    """Return the chart of the variance that components explain, each and together, beside PCA's."""
    places = np.arange(1, len(found.ratio) + 1)
    curves = {"PCA": ("pca", 100 * found.pca_ratio), label: ("att", 100 * found.ratio)}
    if np.allclose(found.ratio, found.pca_ratio, rtol=1e-6):
        curves = {"this fit": ("att", 100 * found.ratio)}
    views = [
        {
            "type": "xy",
            "small": True,
            "label": view,
            "xLabel": "component",
            "yLabel": "explained variance, %",
            "whole": True,
            "zero": True,
            "series": [
                series(name, "line", role, places, change(values), dots=True)
                for name, (role, values) in curves.items()
            ],
        }
        for view, change in (("Each component", np.array), ("Components together", np.cumsum))
    ]
    total, of_pca = 100 * found.ratio.sum(), 100 * found.pca_ratio.sum()
    who = "1 component explains" if len(places) == 1 else f"{len(places)} components explain"
    summary = f"{who} {short(total, 4)}% of the variance of these rows"
    if len(curves) > 1:
        summary += (
            f"; those of PCA {short(of_pca, 4)}%. No other components explain more of the rows they were "
            "fitted to than PCA's; what counts is rows not seen."
        )
    else:
        summary += "."
    head, columns = ["component"], [places.astype(str).tolist()]
    for name, (_, values) in curves.items():
        head += [f"{name}, %", f"{name}, together, %"]
        columns += [[short(value, 4) for value in some] for some in (values, np.cumsum(values))]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Chart("variance", summary, views, head, rows)


def scores_chart(found: Overview) -> Chart:
    """Return the scores as a chart that the page draws from its table of scores."""
    n, shown = len(found.scores), len(found.drawn)
    which = "All rows" if shown == n else f"{shown:,} of the {n:,} rows, drawn at random,"
    summary = f"{which} in the components of this fit; similar rows lie close together."
    if found.colour is not None:
        summary += f" Coloured by {found.colour.name}."
    if _has_arrows(found):
        summary += " Arrows are the loadings of the columns, on a scale of their own."
    names = [f"row {row + 1}" for row in range(n)] if found.row_names is None else found.row_names
    first = range(min(n, _MOST_ROWS))
    head = ["row", *(f"component {number}" for number in range(1, found.scores.shape[1] + 1))]
    rows = [[names[row], *(short(value, 4) for value in found.scores[row])] for row in first]
    return Chart("scores", summary, [], head, rows)


def scores_table(found: Overview, names: list[str]) -> dict[str, Any]:
    """Return the scores for the chart and the file: of all rows, or of those drawn where all are too many."""
    kept = np.arange(len(found.scores)) if found.scores_fit else found.drawn
    table: dict[str, Any] = {
        "columns": [f"component {number}" for number in range(1, len(found.ratio) + 1)],
        "shares": [f"{short(100 * part)}%" for part in found.ratio],
        "values": [numbers(column, _FIGURES) for column in found.scores[kept].T],
        "rows": (kept + 1).tolist(),
        "drawn": np.searchsorted(kept, found.drawn).tolist(),
        "names": None if found.row_names is None else [found.row_names[row] for row in kept],
        "colour": _colour(found.colour, kept),
        "arrows": None,
    }
    if _has_arrows(found):
        table["arrows"] = {"names": names, "values": [numbers(column) for column in found.loadings.T]}
    return table


def _has_arrows(found: Overview) -> bool:
    n_columns, n_components = found.loadings.shape
    return n_columns <= _MOST_ARROWS and n_components > 1


def loadings_table(found: Overview, names: list[str]) -> dict[str, Any]:
    """Return the loadings for the file."""
    return {
        "columns": [f"component {number}" for number in range(1, len(found.ratio) + 1)],
        "names": names,
        "values": [numbers(column, _FIGURES) for column in found.loadings.T],
    }


def _colour(colour: Labels | Scale | None, kept: Any) -> dict[str, Any] | None:
    if colour is None:
        return None
    if isinstance(colour, Scale):
        return {"name": colour.name, "values": numbers(colour.values[kept])}
    return {
        "name": colour.name,
        "labels": colour.labels,
        "codes": colour.codes[kept].tolist(),
        "others": colour.others,
    }
