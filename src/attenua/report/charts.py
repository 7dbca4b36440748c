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
# Places of a curve; no screen has more.
_MOST_PLACES = 2000


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


def numbers(values: Any, figures: int = 5) -> list[float | None]:
    """Return numbers as JSON can hold them, with so many figures; five are more than a screen shows."""
    return [
        float(f"{value:.{figures}g}") if np.isfinite(value) else None for value in np.asarray(values, float)
    ]


def series(name: str, kind: str, role: str, x: Any, y: Any = None, **more: Any) -> dict[str, Any]:
    """Return what the script draws as one kind of mark in one role: the places, the heights, and more."""
    record = {"name": name, "kind": kind, "role": role, "x": numbers(x)}
    if y is not None:
        record["y"] = numbers(y)
    return record | {key: numbers(v) if isinstance(v, np.ndarray) else v for key, v in more.items()}


def loadings(names: list[str], pca: Array, other: Array | None, label: str, in_order: bool = False) -> Chart:
    """Return the chart of the loadings of PCA, beside those of another subspace if given.

    Parameters
    ----------
    names : list of str
        Of the columns.
    pca, other : ndarrays of shape (n_components, n_features)
        Loadings, a row for each component.
    label : str
        What the other is called.
    in_order : bool, default=False
        Whether neighbouring columns are next to each other, so that loadings are curves.
    """
    p = len(names)
    curves = {"PCA": ("pca" if other is not None else "att", pca)}
    if other is not None:
        curves[label] = ("att", other)
    kinds = [name.split(",")[0] for name in curves]
    views, rows = [], []
    for number, weights in enumerate(zip(*(some for _, some in curves.values()), strict=True), start=1):
        sizes = np.max(np.abs(weights), axis=0)
        largest = np.argsort(-sizes, kind="stable")[:MOST_COLUMNS]
        drawn = [(name, role, some[number - 1]) for name, (role, some) in curves.items()]
        view = _as_curves(names, drawn) if in_order else _as_rows(names, drawn, largest)
        views.append({"label": f"Component {number}", **view})
        rows += [[str(number), names[i], *(short(some[i], 4) for some in weights)] for i in largest]
    which = f"the {MOST_COLUMNS} largest of {p:,}" if p > MOST_COLUMNS else "all columns"
    if in_order:
        step = _thinned(p)
        which = "as curves over the columns" + (f", one in {step}" if step > 1 else "")
    beside = f" and of {kinds[-1]} PCA" if other is not None else ""
    summary = (
        f"Components of PCA{beside}, times the standard deviations of their scores: in the units of the "
        f"columns; {which}."
    )
    return Chart("loadings", summary, views, ["component", "column", *kinds], rows)


def _as_rows(
    names: list[str], drawn: list[tuple[str, str, Array]], largest: NDArray[np.intp]
) -> dict[str, Any]:
    return {
        "type": "rows",
        "xLabel": "loading",
        "rows": [names[i] for i in largest],
        "series": [series(name, "dot", role, weights[largest]) for name, role, weights in drawn],
    }


def _as_curves(names: list[str], drawn: list[tuple[str, str, Array]]) -> dict[str, Any]:
    """Return loadings over the columns: at their own numbers, as of wavelengths, or counted."""
    places = _numbers_in(names)
    view = {"type": "xy", "xLabel": "column", "yLabel": "loading", "zero": True}
    if places is None:
        # The tip tells the names.
        places, view = np.arange(1.0, len(names) + 1), view | {"ticks": names, "whole": True}
    order = np.argsort(places)[:: _thinned(len(names))]
    curves = [series(name, "line", role, places[order], weights[order]) for name, role, weights in drawn]
    return view | {"series": curves}


def _thinned(p: int) -> int:
    """Return every how many-th column a curve shows."""
    return -(-p // _MOST_PLACES)


def _numbers_in(names: list[str]) -> Array | None:
    """Return the numbers that columns are called by, where these rise or fall all the way; else None."""
    try:
        places = np.array([float(name) for name in names])
    except ValueError:
        return None
    steps = np.diff(places)
    is_scale = np.isfinite(places).all() and ((steps > 0).all() or (steps < 0).all())
    return places if is_scale else None


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
