"""The charts of the page as plain data, each with a table of its values for those who do not see it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._estimate.words import capitalised, spoken
from attenua._select.steps import Step
from attenua.paired import PairedGain
from attenua.report.axis import Axis
from attenua.report.choice import Search
from attenua.report.findings import Examples, Findings, Move
from attenua.report.missing import MissingCells
from attenua.report.spectra import Spectra

Array = NDArray[np.float64]
Series = dict[str, Any]

# Columns that a chart of rows shows, and a chart of profiles whose columns are in no order.
_MOST_COLUMNS = 20
_MOST_PROFILE = 60
# Points of a curve, and held-out parts with a curve of their own; no screen shows more.
_MOST_PLACES, _MOST_PARTS = 2000, 50
# Strengths that random input masks can reach.
_MASKS = [0, 0.5, "reached by masks"]


@dataclass(frozen=True)
class Chart:
    """One chart: its name on the page, what it shows in a sentence, and a table of its values by column.

    The script draws the views; where there are several, the reader chooses one.
    """

    key: str
    summary: str
    views: list[dict[str, Any]]
    table: dict[str, list[str]]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The rows of the table."""
        return list(zip(*self.table.values(), strict=True))


def short(number: float, digits: int = 3) -> str:
    """Return a number for reading; a dash where there is none."""
    return f"{number:.{digits}g}".replace("-", "−") if np.isfinite(number) else "–"


def percent(part: float) -> str:
    """Return a part of one in percent, with two decimals; a dash where there is none."""
    return f"{100 * part + 0.0:.2f}%".replace("-", "−") if np.isfinite(part) else "–"


def change_of(before: float, after: float) -> str:
    """Return a change in percent, with its sign; a dash where there is nothing to compare with."""
    return f"{100 * (after / before - 1):+.2f}%".replace("-", "−") if before > 0 else "–"


def signed(number: float) -> str:
    """Return a number with its sign and two decimals."""
    return f"{number:+.2f}".replace("-", "−")


def numbers(values: Any, figures: int = 5) -> list[float | None]:
    """Return numbers as JSON can hold them, with so many figures; five are more than a screen shows."""
    return [
        float(f"{value:.{figures}g}") if np.isfinite(value) else None for value in np.asarray(values, float)
    ]


def series(name: str, kind: str, role: str, x: Any, y: Any = None, **more: Any) -> dict[str, Any]:
    """Return what the script draws as one kind of mark in one role: the places, the heights, and more.

    Places have more figures than heights: wavenumbers may differ in their sixth.
    """
    record = {"name": name, "kind": kind, "role": role, "x": numbers(x, 8)}
    if y is not None:
        record["y"] = numbers(y)
    return record | {key: numbers(v) if isinstance(v, np.ndarray) else v for key, v in more.items()}


def xy(x_label: str, y_label: str, drawn: list[Series], **more: Any) -> dict[str, Any]:
    """Return a view of curves and marks over an axis of numbers."""
    return {"type": "xy", "xLabel": x_label, "yLabel": y_label, "series": drawn, **more}


def bars(x_label: str, names: list[str], drawn: list[Series], **more: Any) -> dict[str, Any]:
    """Return a view with a line of its own for each name."""
    return {"type": "rows", "xLabel": x_label, "rows": names, "series": drawn, **more}


def row_label(names: list[str] | None, number: int) -> str:
    """Return the name of a row, counted from 1."""
    return f"row {number:,}" if names is None else names[number - 1]


def all_charts(found: Findings, axis: Axis | None, row_names: list[str] | None) -> dict[str, Chart]:
    """Return the charts of the page by name; columns on an axis have curves."""
    search = found.search
    charts = [_step(step, search) for step in search.steps if len(step.strengths) > 1]
    if found.missing is not None:
        charts.append(_missing(found.missing, found.names))
    if found.moves:
        charts.append(_moves(found.moves, found.names))
    charts.append(_loadings(found.names, found.pca, found.other, found.label, axis))
    if found.examples is not None:
        charts.append(_profiles(found, found.examples, axis, row_names))
    if found.spectra is not None:
        charts.append(_spectrum(found.spectra, found.n_components))
    return {chart.key: chart for chart in charts}


def _missing(missing: MissingCells, columns: list[str]) -> Chart:
    """Return the share of missing cells of each column that has some."""
    shares = 100 * missing.by_column
    largest = np.argsort(-shares, kind="stable")[: min(_MOST_COLUMNS, np.count_nonzero(shares))]
    names = [columns[i] for i in largest]
    more = np.count_nonzero(shares) - len(names)
    others = f" {more:,} other columns miss no more cells than those shown." if more else ""
    summary = f"{names[0]} misses most, {short(shares[largest[0]])}% of its cells.{others}"
    drawn = [series("missing", "bar", "best", shares[largest])]
    table = {
        "column": names,
        "missing cells": [f"{round(shares[i] * missing.shape[0] / 100):,}" for i in largest],
        "of its cells, %": [short(shares[i]) for i in largest],
    }
    return Chart("missing", summary, [bars("missing cells, %", names, drawn)], table)


def _step(step: Step, search: Search) -> Chart:
    """Return held-out risk against strength, with the steps before it."""
    name, paired = spoken(step.correction), search.paired
    # The search begins from PCA; steps may compare by another loss than cv_risk_ has.
    of_pca = next(each.risks[0] for each in search.steps if each.strengths) or 1.0
    strengths, change = np.array(step.strengths), 100 * (np.array(step.risks) / of_pca - 1)
    best = step.strengths.index(step.best)
    drawn = [series("held-out risk", "line", "att", strengths, change, dots=True)]
    table = {
        "strength": [f"{strength:g}" for strength in strengths],
        "held-out risk": [short(risk, 5) for risk in step.risks],
        "change against PCA, %": [signed(part) for part in change],
    }
    more: dict[str, Any] = {"small": True}
    if paired is None:
        drawn += _noise_of_the_best(step, change)
    else:
        drawn = _noise_of_all(step, change, paired) + drawn + _landmarks(step, change, paired)
        parts, more = paired.differences, {"zero": True, "shade": _MASKS}
        table["standard error"] = [short(100 * error) for error in paired.errors]
        table["parts better than PCA"] = [f"{better} of {len(parts)}" for better in (parts < 0).sum(axis=0)]
    if best or paired is None:
        role = "best" if step.weight else "pca"
        drawn.append(series(f"best: {step.best:g}", "mark", role, strengths[[best]], change[[best]]))
    before = ", with the steps before it" if paired is None else ""
    least = f"It is lowest at {step.best:g}: {signed(change[best])}% against PCA."
    summary = (
        f"Held-out risk against the strength of {name}{before}. {least if best else 'No strength lowers it.'}"
    )
    view = xy(f"strength of {name}", "risk against PCA, %", drawn, **more)
    return Chart(f"step-{step.correction}", summary, [view], table)


def _noise_of_the_best(step: Step, change: Array) -> list[Series]:
    """Return the standard error of the gain of a step."""
    best, error = step.strengths.index(step.best), 100 * step.standard_error
    if not step.best or not np.isfinite(error):
        return []
    ends = {"lo": change[[best]] - error, "hi": change[[best]] + error}
    return [series("± standard error", "span", "best", [step.best], **ends)]


def _noise_of_all(step: Step, change: Array, paired: PairedGain) -> list[Series]:
    """Return the standard errors of all strengths, and the curves of single held-out parts."""
    errors = 100 * np.nan_to_num(paired.errors)
    parts = enumerate(100 * paired.differences[:_MOST_PARTS], start=1)
    return [
        series("± standard error", "band", "att", step.strengths, lo=change - errors, hi=change + errors),
        *(series(f"part {k}", "line", "fold", step.strengths, part, quiet=True) for k, part in parts),
    ]


def _landmarks(step: Step, change: Array, paired: PairedGain) -> list[Series]:
    """Return PCA and, where it is neither PCA nor the best, the strength of the fit."""
    marks = [series("PCA, the fallback", "mark", "pca", [0.0], [0.0])]
    if paired.alpha not in (0, step.best):
        height = change[step.strengths.index(paired.alpha)]
        marks.append(series(f"this fit: {paired.alpha:g}", "mark", "data", [paired.alpha], [height]))
    return marks


def _moves(moves: list[Move], columns: list[str]) -> Chart:
    views = []
    table: dict[str, list[str]] = {"correction": [], "column": [], "change of the weights": []}
    for move in moves:
        name = spoken(move.correction)
        largest = np.argsort(-move.changes, kind="stable")[:_MOST_COLUMNS]
        names = [columns[i] for i in largest]
        drawn = [series(f"moved by {name}", "bar", "att", move.changes[largest])]
        label = f"{capitalised(name)} {move.strength:g}"
        views.append(bars("change of the weights", names, drawn, label=label))
        table["correction"] += [name] * len(names)
        table["column"] += names
        table["change of the weights"] += [short(move.changes[i]) for i in largest]
    (top,) = moves[0].most_moved(columns, 1)
    summary = (
        "How far each correction moves the weights of each column, after rotating the components to match "
        f"those before it. {capitalised(spoken(moves[0].correction))} moves {top} most."
    )
    return Chart("moves", summary, views, table)


def _loadings(names: list[str], pca: Array, other: Array | None, label: str, axis: Axis | None) -> Chart:
    """Return the loadings of PCA and of another fit, as curves where columns lie on an axis."""
    fits = {"PCA": pca} if other is None else {"PCA": pca, label: other}
    roles = ["att"] if other is None else ["pca", "att"]
    views = []
    table: dict[str, list[str]] = {name: [] for name in ("component", "column", *fits)}
    for number, weights in enumerate(zip(*fits.values(), strict=True), start=1):
        largest = np.argsort(-np.max(np.abs(weights), axis=0), kind="stable")[:_MOST_COLUMNS]
        drawn = list(zip(fits, roles, weights, strict=True))
        if axis is not None:
            columns = axis.order[:: _thinned(len(names))]
            curves = [series(name, "line", role, axis.places[columns], y[columns]) for name, role, y in drawn]
            view = xy(axis.label, "loading", curves, zero=True, **axis.look)
        else:
            dots = [series(name, "dot", role, some[largest]) for name, role, some in drawn]
            view = bars("loading", [names[i] for i in largest], dots)
        views.append({"label": f"Component {number}", **view})
        table["component"] += [str(number)] * len(largest)
        table["column"] += [names[i] for i in largest]
        for fit, some in zip(fits, weights, strict=True):
            table[fit] += [short(some[i], 4) for i in largest]
    p, step = len(names), _thinned(len(names))
    which = f"the {_MOST_COLUMNS} largest of {p:,}" if p > _MOST_COLUMNS else "all columns"
    if axis is not None:
        which = "as curves over the columns" + (f", one in {step}" if step > 1 else "")
    both = "" if other is None else f" and of the {label} fit"
    summary = (
        f"Components of PCA{both}, times the standard deviations of their scores: in the units of the "
        f"columns; {which}."
    )
    return Chart("loadings", summary, views, table)


def _thinned(p: int) -> int:
    """Return the distance between the columns that a curve shows."""
    return -(-p // _MOST_PLACES)


def _profiles(found: Findings, examples: Examples, axis: Axis | None, row_names: list[str] | None) -> Chart:
    """Return held-out rows and their reconstructions: all columns on an axis, else those of most variance."""
    names, label = found.names, found.label
    if axis is None:
        columns = np.sort(np.argsort(-found.variances, kind="stable")[:_MOST_PROFILE])
        places = np.arange(1.0, len(columns) + 1)
        look = {"whole": True, "ticks": [names[i] for i in columns]}
        which = f", the {_MOST_PROFILE} columns of largest variance" if len(names) > _MOST_PROFILE else ""
    else:
        columns, step = axis.order[:: _thinned(len(names))], _thinned(len(names))
        places, look = axis.places[columns], axis.look
        which = f", one column in {step}" if step > 1 else ""
    fits = {("PCA", "pca"): examples.pca, (label, "att"): examples.other}
    labels = [row_label(row_names, row) for row in examples.rows]
    views = []
    for k, name_of_row in enumerate(labels):
        original, filled = examples.original[k][columns], examples.other[k][columns]
        seen = ~np.isnan(original)
        drawn = [series("row", "line", "data", places[seen], original[seen], dots=True)]
        drawn += [
            series(name, "line", role, places, values[k][columns], dots=axis is None)
            for (name, role), values in fits.items()
        ]
        if not seen.all():
            drawn.append(series("missing, filled", "mark", "best", places[~seen], filled[~seen]))
        x_label = "column" if axis is None else axis.label
        views.append(xy(x_label, "value", drawn, label=name_of_row, **look))
    summary = f"{len(labels)} held-out rows and their reconstructions{which}."
    if np.isnan(examples.original).any():
        summary += " Rings mark cells that the row misses. Errors are those of its other cells."
    table = {
        "row": labels,
        "squared error of PCA": [short(error, 4) for error in examples.pca_error],
        f"of the {label} fit": [short(error, 4) for error in examples.other_error],
        "change": list(map(change_of, examples.pca_error, examples.other_error)),
    }
    return Chart("profiles", summary, views, table)


def _spectrum(spectra: Spectra, d: int) -> Chart:
    places = np.arange(1, len(spectra.before) + 1)
    drawn = [
        series("before: S", "line", "pca", places, spectra.before, dots=True),
        series(f"after: S − {spectra.alpha:g} diag(S)", "line", "att", places, spectra.after, dots=True),
    ]
    view = xy("eigenvalue number", "eigenvalue", drawn, whole=True, cut=[d + 0.5, f"{d} kept"])
    before, after = (
        short(values[d - 1] - values[d]) if len(values) > d else "none"
        for values in (spectra.before, spectra.after)
    )
    summary = (
        f"Leading eigenvalues before and after attenuation. The gap behind component {d} is {before} before "
        f"and {after} after."
    )
    table = {
        "number": [str(place) for place in places],
        "before": [short(value, 5) for value in spectra.before],
        "after": [short(value, 5) for value in spectra.after],
    }
    return Chart("spectrum", summary, [view], table)
