"""What every user of PCA looks at: scores with names and colours, explained variance, and files of both."""

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua.report.charts import Chart, numbers, series, short, xy

Array = NDArray[np.float64]
# What colours the rows: its name, and either the values on a scale, or labels and the code of each row, which
# is the place of its label or -1 for all others.
Colour = dict[str, Any]

# Points that are drawn, and values that a file on the page may hold (about 3 MB).
MOST_POINTS, MOST_VALUES = 3000, 300_000
# Colours that can be told apart; rarer labels share a grey.
MOST_LABELS = 10
# Columns that are drawn as arrows among the scores, and rows of scores that the table shows.
_MOST_ARROWS, _MOST_ROWS = 12, 20
# More figures than a float32 has.
_FIGURES = 8
_MISSING = ("nan", "NaN", "None", "<NA>", "NaT")


@dataclass(frozen=True)
class Overview:
    """Scores, loadings and explained variance of a fit."""

    scores: Array  # (n_samples, n_components), as transform gives them
    loadings: Array  # (n_features, n_components)
    ratio: Array  # part of the variance that each component explains
    pca_ratio: Array  # the same of PCA
    row_names: list[str] | None
    colour: Colour | None
    drawn: NDArray[np.intp]  # the rows that are drawn, in order

    @property
    def scores_fit(self) -> bool:
        """Whether the page holds all scores, for a file."""
        return self.scores.size <= MOST_VALUES

    @property
    def loadings_fit(self) -> bool:
        """Whether the page holds all loadings, for a file."""
        return self.loadings.size <= MOST_VALUES


def find_overview(
    estimator: Any,
    X: Any,
    pca_ratio: Array,
    *,
    row_names: ArrayLike | None,
    colour: Colour | None,
    random_state: int,
) -> Overview:
    """Compute what every user of PCA looks at, of a fitted estimator and its rows."""
    with warnings.catch_warnings():
        # The names of the columns are checked, and shown, elsewhere, and so are missing cells.
        warnings.simplefilter("ignore")
        scores = np.asarray(estimator.transform(X), dtype=float)
    n = len(scores)
    names = None if row_names is None else [str(name) for name in one_per_row(row_names, n, "row_names")]
    rng = np.random.default_rng(random_state)
    return Overview(
        scores=scores,
        loadings=np.asarray(estimator.loadings_, dtype=float),
        ratio=np.asarray(estimator.explained_variance_ratio_, dtype=float),
        pca_ratio=np.asarray(pca_ratio, dtype=float),
        row_names=names,
        colour=colour,
        drawn=np.arange(n) if n <= MOST_POINTS else np.sort(rng.choice(n, MOST_POINTS, replace=False)),
    )


def one_per_row(values: ArrayLike, n: int, name: str) -> NDArray[Any]:
    """Return an array with one value for each row, or an error that names the argument."""
    array = np.asarray(values)
    if array.shape != (n,):
        got = f"{len(array)} values" if array.ndim == 1 else f"shape {array.shape}"
        raise ValueError(f"{name} must hold one value for each of the {n} rows; got {got}.")
    return array


def colour_of(
    colour_by: ArrayLike | None, colour_name: str | None, groups: ArrayLike | None, n: int
) -> Colour | None:
    """Return the colours of the rows: by `colour_by`, else by group, else none.

    Texts and a few whole numbers are labels; other numbers are a scale.
    """
    if colour_by is None:
        return None if groups is None else _labels(one_per_row(groups, n, "groups"), colour_name or "group")
    values = one_per_row(colour_by, n, "colour_by")
    name = str(colour_name or getattr(colour_by, "name", None) or "colour")
    if values.dtype.kind not in "iuf" or _are_few_whole(values):
        return _labels(values, name)
    return {"name": name, "values": values.astype(float)}


def _are_few_whole(values: NDArray[Any]) -> bool:
    found = np.unique(values[np.isfinite(values)])
    return len(found) <= MOST_LABELS and bool((found == np.round(found)).all())


def _labels(values: NDArray[Any], name: str) -> Colour:
    """Return labels in order, the most frequent of them where there are many."""
    if values.dtype.kind == "f" and _are_few_whole(values):
        texts = [f"{value:.0f}" for value in values]
    else:
        texts = [str(value) for value in values.tolist()]
    counts = Counter(text for text in texts if text not in _MISSING)
    kept = [text for text, _ in counts.most_common(MOST_LABELS)]
    # Labels that are numbers go by size, others by the alphabet.
    kept.sort(key=lambda text: (0, float(text), text) if _is_number(text) else (1, 0.0, text))
    places = {text: place for place, text in enumerate(kept)}
    rest = len(counts) - len(kept)
    others = " or ".join([f"{rest} others"] * (rest > 0) + ["missing"] * (sum(counts.values()) < len(texts)))
    codes = np.array([places.get(text, -1) for text in texts])
    return {"name": name, "labels": kept, "codes": codes, "others": others}


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def variance_chart(found: Overview, kind: str) -> Chart:
    """Return the variance that the components of the fit and of PCA explain, each and together."""
    places = np.arange(1, len(found.ratio) + 1)
    curves = {"PCA": ("pca", 100 * found.pca_ratio), kind: ("att", 100 * found.ratio)}
    if np.allclose(found.ratio, found.pca_ratio, rtol=1e-6):
        curves = {"this fit": ("att", 100 * found.ratio)}
    views = []
    for label, change in (("Each component", np.array), ("Components together", np.cumsum)):
        drawn = [
            series(name, "line", role, places, change(values), dots=True)
            for name, (role, values) in curves.items()
        ]
        more = {"label": label, "small": True, "whole": True, "zero": True}
        views.append(xy("component", "explained variance, %", drawn, **more))
    who = "1 component explains" if len(places) == 1 else f"{len(places)} components explain"
    summary = f"{who} {short(100 * found.ratio.sum(), 4)}% of the variance of these rows."
    if len(curves) > 1:
        summary = (
            f"{summary[:-1]}; those of PCA {short(100 * found.pca_ratio.sum(), 4)}%. No other components "
            "explain more of the rows they were fitted to than PCA's; what counts is rows not seen."
        )
    table = {"component": places.astype(str).tolist()}
    for name, (_, values) in curves.items():
        table[f"{name}, %"] = [short(value, 4) for value in values]
        table[f"{name}, together, %"] = [short(value, 4) for value in np.cumsum(values)]
    return Chart("variance", summary, views, table)


def scores_chart(found: Overview) -> Chart:
    """Return the scores as a chart that the page draws from its table of scores."""
    n, shown = len(found.scores), len(found.drawn)
    which = "All rows" if shown == n else f"{shown:,} of the {n:,} rows, drawn at random,"
    summary = f"{which} in the components of this fit; similar rows lie close together."
    if found.colour is not None:
        summary += f" Coloured by {found.colour['name']}."
    if _has_arrows(found):
        summary += " Arrows are the loadings of the columns, on a scale of their own."
    names = found.row_names or [f"row {row + 1}" for row in range(n)]
    table = {"row": names[:_MOST_ROWS]}
    for name, column in zip(_component_names(found), found.scores[:_MOST_ROWS].T, strict=True):
        table[name] = [short(value, 4) for value in column]
    return Chart("scores", summary, [], table)


def _component_names(found: Overview) -> list[str]:
    return [f"component {number}" for number in range(1, len(found.ratio) + 1)]


def scores_table(found: Overview, names: list[str]) -> dict[str, Any]:
    """Return the scores for the chart and the file: of all rows, or of those drawn where all are too many."""
    kept = np.arange(len(found.scores)) if found.scores_fit else found.drawn
    table: dict[str, Any] = {
        "columns": _component_names(found),
        "shares": [f"{short(100 * part)}%" for part in found.ratio],
        "values": [numbers(column, _FIGURES) for column in found.scores[kept].T],
        "rows": (kept + 1).tolist(),
        "drawn": np.searchsorted(kept, found.drawn).tolist(),
        "names": None if found.row_names is None else [found.row_names[row] for row in kept],
        "colour": found.colour and _of_rows(found.colour, kept),
        "arrows": None,
    }
    if _has_arrows(found):
        table["arrows"] = {"names": names, "values": [numbers(column) for column in found.loadings.T]}
    return table


def _of_rows(colour: Colour, kept: Any) -> Colour:
    """Return the colours of some rows, as JSON can hold them."""
    if "values" in colour:
        return colour | {"values": numbers(colour["values"][kept])}
    return colour | {"codes": colour["codes"][kept].tolist()}


def _has_arrows(found: Overview) -> bool:
    n_columns, n_components = found.loadings.shape
    return n_columns <= _MOST_ARROWS and n_components > 1


def loadings_table(found: Overview, names: list[str]) -> dict[str, Any]:
    """Return the loadings for the file."""
    return {
        "columns": _component_names(found),
        "names": names,
        "values": [numbers(column, _FIGURES) for column in found.loadings.T],
    }
