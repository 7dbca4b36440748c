"""Charts as plain data, each with a table of its values for those who do not see it; those of every page."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua.report.compared import Examples

Array = NDArray[np.float64]

# Columns that a chart of rows shows, and a chart of profiles.
MOST_COLUMNS = 20
_MOST_PROFILE = 60


@dataclass(frozen=True)
class Chart:
    """One chart: what the script draws, and what stands in its place.

    Attributes
    ----------
    key : str
        Its name on the page.
    summary : str
        What it shows, in a sentence or two.
    views : list of dict
        What the script draws; more than one can be chosen from.
    head, rows : list
        Table of the values.
    """

    key: str
    summary: str
    views: list[dict[str, Any]]
    head: list[str]
    rows: list[list[str]] = field(default_factory=list)


def short(number: float, digits: int = 3) -> str:
    """Return a number for reading; a dash where there is none."""
    return f"{number:.{digits}g}".replace("-", "−") if np.isfinite(number) else "–"


def change_of(before: float, after: float) -> str:
    """Return a change in percent, with its sign; a dash where there is nothing to compare with."""
    return f"{100 * (after / before - 1):+.2f}%".replace("-", "−") if before > 0 else "–"


def signed(number: float, decimals: int = 2) -> str:
    """Return a number with its sign."""
    return f"{number:+.{decimals}f}".replace("-", "−")


def _list(values: Any) -> list[float | None]:
    """Return numbers as JSON can hold them, with five figures, which is more than a screen shows."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in np.asarray(values, float)]


def series(name: str, kind: str, role: str, x: Any, y: Any = None, **more: Any) -> dict[str, Any]:
    """Return what the script draws as one kind of mark in one role: the places, the heights, and more."""
    record = {"name": name, "kind": kind, "role": role, "x": _list(x)}
    if y is not None:
        record["y"] = _list(y)
    return record | {key: _list(v) if isinstance(v, np.ndarray) else v for key, v in more.items()}


def loadings(names: list[str], pca: Array, other: Array, label: str) -> Chart:
    """Return the chart of the loadings of PCA's components beside those of another subspace.

    Parameters
    ----------
    names : list of str
        Of the columns.
    pca, other : ndarrays of shape (n_components, n_features)
        Components.
    label : str
        What the other is called.
    """
    views, rows = [], []
    for number, (one, two) in enumerate(zip(pca, other, strict=True), start=1):
        largest = np.argsort(-np.maximum(np.abs(one), np.abs(two)), kind="stable")[:MOST_COLUMNS]
        view = {"type": "rows", "label": f"Component {number}", "xLabel": "loading"}
        view["rows"] = [names[i] for i in largest]
        view["series"] = [
            series("PCA", "dot", "pca", one[largest]),
            series(label, "dot", "att", two[largest]),
        ]
        views.append(view)
        rows += [[str(number), names[i], signed(one[i], 3), signed(two[i], 3)] for i in largest]
    p = len(names)
    which = f"the {MOST_COLUMNS} largest of {p:,}" if p > MOST_COLUMNS else "all columns"
    kind = label.split(",")[0]
    summary = f"What each column weighs in each component of PCA and of {kind} PCA; {which}."
    return Chart("loadings", summary, views, ["component", "column", "PCA", kind], rows)


def profiles(examples: Examples, names: list[str], variances: Array, label: str) -> Chart:
    """Return the chart of held-out rows and their reconstructions.

    Parameters
    ----------
    examples : Examples
        The rows.
    names : list of str
        Of the columns.
    variances : ndarray of shape (n_features,)
        Of the columns; those of largest variance are shown.
    label : str
        What the subspace beside PCA's is called.
    """
    p, places = len(names), np.arange(len(names))
    if p > _MOST_PROFILE:
        places = np.sort(np.argsort(-variances, kind="stable")[:_MOST_PROFILE])
    curves = (
        ("row", "data", examples.original),
        ("PCA", "pca", examples.pca),
        (label, "att", examples.other),
    )
    views = [
        {
            "type": "xy",
            "label": f"Row {row}",
            "xLabel": "column",
            "yLabel": "value",
            "whole": True,
            "ticks": [names[i] for i in places],
            "series": [
                series(name, "line", role, np.arange(1, len(places) + 1), values[k][places], dots=True)
                for name, role, values in curves
            ],
        }
        for k, row in enumerate(examples.rows)
    ]
    summary = (
        f"{len(examples.rows)} held-out rows and their reconstructions"
        + (f", the {_MOST_PROFILE} columns of largest variance" if p > _MOST_PROFILE else "")
        + "."
    )
    rows = [
        [str(row), short(a, 4), short(b, 4), change_of(a, b)]
        for row, a, b in zip(examples.rows, examples.pca_error, examples.other_error, strict=True)
    ]
    head = ["row", "squared error of PCA", f"of {label.split(',')[0]} PCA", "change"]
    return Chart("profiles", summary, views, head, rows)
