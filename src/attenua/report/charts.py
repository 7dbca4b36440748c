"""The charts of the page as plain data, each with a table of its values for those who do not see it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._estimate.words import capitalised, spoken
from attenua._select.steps import Step
from attenua.paired import PairedGain
from attenua.report.findings import Examples, Findings, Move
from attenua.report.search import Search
from attenua.report.why import Leakage, Why
from attenua.theory import PlugInReport

Array = NDArray[np.float64]
Series = dict[str, Any]

# Columns that a chart of rows shows, and a chart of profiles.
_MOST_COLUMNS = 20
_MOST_PROFILE = 60
# Points of a curve, and held-out parts with a curve of their own; no screen shows more.
_MOST_PLACES, _MOST_PARTS = 2000, 50
# Strengths that random input masks can reach.
_MASKS = [0, 0.5, "reached by masks"]


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


def percent(part: float) -> str:
    """Return a part of one in percent, with two decimals; a dash where there is none."""
    return f"{100 * part + 0.0:.2f}%".replace("-", "−") if np.isfinite(part) else "–"


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


def all_charts(found: Findings, in_order: bool) -> dict[str, Chart]:
    """Return the charts of the page by name; those with nothing to show are left out.

    Parameters
    ----------
    found : Findings
        What the page shows.
    in_order : bool
        Whether neighbouring columns are next to each other.
    """
    search = found.search
    charts = [_step(step, search) for step in search.steps if len(step.strengths) > 1]
    if found.moves:
        charts.append(_moves(found.moves, found.names))
    charts.append(_loadings(found.names, found.pca, found.other, found.label, in_order))
    if found.examples is not None:
        charts.append(_profiles(found.examples, found.names, found.variances, found.label))
    if found.why is not None:
        charts += [
            _spectrum(found.why, found.n_components),
            _leakage(found.why.leakage, found.names, found.variances),
        ]
        if found.why.theory is not None:
            charts.append(_theory(found.why.theory))
    return {chart.key: chart for chart in charts}


def _step(step: Step, search: Search) -> Chart:
    """Return held-out risk against strength, with the steps before it."""
    name, paired = spoken(step.correction), search.paired
    strengths, change = np.array(step.strengths), 100 * (np.array(step.risks) / (search.pca_risk or 1.0) - 1)
    best = step.strengths.index(step.best)
    drawn = [series("held-out risk", "line", "att", strengths, change, dots=True)]
    table = {
        "strength": [f"{strength:g}" for strength in strengths],
        "held-out risk": [short(risk, 5) for risk in step.risks],
        "change against PCA, %": [signed(part) for part in change],
    }
    if paired is None:
        drawn += _noise_of_the_best(step, change)
    else:
        drawn = _noise_of_all(step, change, paired) + drawn + _landmarks(step, change, paired)
        parts = paired.differences
        table["standard error"] = [short(100 * error) for error in paired.errors]
        table["parts better than PCA"] = [f"{better} of {len(parts)}" for better in (parts < 0).sum(axis=0)]
    if best or paired is None:
        label, role = ("taken", "best") if step.taken else ("best, not taken", "pca")
        label = f"{label if best else 'best'}: {step.best:g}"
        drawn.append(series(label, "mark", role, strengths[[best]], change[[best]]))
    view = {
        "type": "xy",
        "xLabel": f"strength of {name}",
        "yLabel": "risk against PCA, %",
        "series": drawn,
    }
    least = f"It is least at {step.best:g}: {signed(change[best])}% against PCA."
    before = ", with the steps before it" if paired is None else ""
    summary = (
        f"Held-out risk against the strength of {name}{before}. {least if best else 'No strength lowers it.'}"
    )
    return Chart(
        f"step-{step.correction}",
        summary,
        [view | ({"small": True} if paired is None else {"zero": True, "shade": _MASKS})],
        list(table),
        [list(row) for row in zip(*table.values(), strict=True)],
    )


def _noise_of_the_best(step: Step, change: Array) -> list[Series]:
    """Return what the best strength of a step had to remove, and its standard error."""
    if not step.best:
        return []
    best, error = step.strengths.index(step.best), 100 * step.standard_error
    needed = np.full_like(change, change[0] - 100 * step.needed)
    drawn = [series("taken if below", "line", "sampling", step.strengths, needed)]
    if np.isfinite(error):
        ends = {"lo": change[[best]] - error, "hi": change[[best]] + error}
        drawn.append(series("± standard error", "span", "best", [step.best], **ends))
    return drawn


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
    views, rows = [], []
    for move in moves:
        name = spoken(move.correction)
        largest = np.argsort(-move.changes, kind="stable")[:_MOST_COLUMNS]
        names = [columns[i] for i in largest]
        views.append(
            {
                "type": "rows",
                "label": f"{capitalised(name)} {move.strength:g}",
                "xLabel": "change of the weights",
                "rows": names,
                "series": [series(f"moved by {name}", "bar", "att", move.changes[largest])],
            }
        )
        rows += [[name, column, short(move.changes[i])] for column, i in zip(names, largest, strict=True)]
    top = columns[int(np.argmax(moves[0].changes))]
    summary = (
        "How far each correction moves the weights of each column, with the components turned to fit those "
        f"before it. {capitalised(spoken(moves[0].correction))} moves {top} most."
    )
    return Chart("moves", summary, views, ["correction", "column", "change of the weights"], rows)


def _loadings(names: list[str], pca: Array, other: Array | None, label: str, in_order: bool = False) -> Chart:
    """Return the chart of the loadings of PCA and, if given, of another subspace with a label.

    Where columns are in order, neighbours next to each other, loadings are curves.
    """
    p = len(names)
    curves = {"PCA": ("pca" if other is not None else "att", pca)}
    if other is not None:
        curves[label] = ("att", other)
    views, rows = [], []
    for number, weights in enumerate(zip(*(some for _, some in curves.values()), strict=True), start=1):
        sizes = np.max(np.abs(weights), axis=0)
        largest = np.argsort(-sizes, kind="stable")[:_MOST_COLUMNS]
        drawn = [(name, role, some[number - 1]) for name, (role, some) in curves.items()]
        view = _as_curves(names, drawn) if in_order else _as_rows(names, drawn, largest)
        views.append({"label": f"Component {number}", **view})
        rows += [[str(number), names[i], *(short(some[i], 4) for some in weights)] for i in largest]
    which = f"the {_MOST_COLUMNS} largest of {p:,}" if p > _MOST_COLUMNS else "all columns"
    if in_order:
        step = _thinned(p)
        which = "as curves over the columns" + (f", one in {step}" if step > 1 else "")
    both = "" if other is None else f" and of the {label} fit"
    summary = (
        f"Components of PCA{both}, times the standard deviations of their scores: in the units of the "
        f"columns; {which}."
    )
    return Chart("loadings", summary, views, ["component", "column", *curves], rows)


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


def _profiles(examples: Examples, names: list[str], variances: Array, label: str) -> Chart:
    """Return the chart of held-out rows and their reconstructions, in the columns of largest variance."""
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
    head = ["row", "squared error of PCA", f"of the {label} fit", "change"]
    return Chart("profiles", summary, views, head, rows)


def _spectrum(why: Why, d: int) -> Chart:
    before, after = why.before, why.after
    places = np.arange(1, len(before) + 1)
    view = {
        "type": "xy",
        "xLabel": "eigenvalue number",
        "yLabel": "eigenvalue",
        "whole": True,
        "cut": [d + 0.5, f"{d} kept"],
        "series": [
            series("before: S", "line", "pca", places, before, dots=True),
            series(f"after: S − {why.alpha:g} diag(S)", "line", "att", places, after, dots=True),
        ],
    }

    def gap(values: Array) -> str:
        return short(values[d - 1] - values[d]) if len(values) > d else "none"

    summary = (
        f"Leading eigenvalues before and after attenuation. The gap behind component {d} is "
        f"{gap(before)} before and {gap(after)} after."
    )
    rows = [
        [str(place), short(b, 5), short(a, 5)]
        for place, b, a in zip(places, before, after, strict=True)
    ]  # fmt: skip
    return Chart("spectrum", summary, [view], ["number", "before", "after"], rows)


def _leakage(leakage: Leakage, names: list[str], variances: Array) -> Chart:
    shares = 100 * leakage.shares
    largest = np.argsort(-np.abs(shares), kind="stable")[:_MOST_COLUMNS]
    view = {
        "type": "rows",
        "xLabel": "share of the leakage, %",
        "rows": [names[i] for i in largest],
        "notes": [
            f"variance {short(variances[i])}, {100 * leakage.inside[i]:.0f}% inside the subspace"
            for i in largest
        ],
        "series": [series("share of the leakage", "bar", "att", shares[largest])],
    }
    top = largest[0]
    summary = (
        f"Which columns' variances drive the leakage. The first is {names[top]} with "
        f"{shares[top]:.1f}% of it."
        if shares.any()
        else "There is no leakage: the variances do not tilt the subspace."
    )
    rows = [
        [
            names[i],
            short(variances[i]),
            f"{100 * leakage.inside[i]:.1f}%",
            f"{signed(shares[i], 1)}%",
        ]
        for i in largest
    ]
    head = ["column", "variance", "inside the subspace", "share of the leakage"]
    return Chart("leakage", summary, [view], head, rows)


def _theory(theory: PlugInReport) -> Chart:
    alphas, risk = theory.alphas, theory.risk
    drawn, low, high = [], np.full_like(risk, np.nan), np.full_like(risk, np.nan)
    if theory.bootstrap is not None:
        low, high = theory.band
        # An open end of the interval is none in the data, and is drawn to the edge.
        name = f"{theory.level:.0%} interval"
        drawn.append(series(name, "band", "att", alphas, lo=low, hi=high, soft=True))
    best = int(np.argmin(risk))
    drawn += [
        series("risk", "line", "att", alphas, risk, dots=True),
        series("bias part", "line", "bias", alphas, theory.bias),
        series("sampling part", "line", "sampling", alphas, theory.sampling),
        series(f"smallest, α = {alphas[best]:g}", "mark", "best", [alphas[best]], [risk[best]]),
    ]
    view = {
        "type": "xy",
        "xLabel": "attenuation strength α",
        "yLabel": "expected excess risk",
        "zero": True,
        "shade": _MASKS,
        "series": drawn,
    }
    summary = (
        f"Expected excess risk by the theory at the sample covariance. It is smallest at strength "
        f"{alphas[best]:g}, {100 * (1 - risk[best] / risk[0]):.1f}% below PCA's."
    )
    rows = [
        [f"{a:g}", *(short(value) for value in values)]
        for a, *values in zip(alphas, risk, theory.bias, theory.sampling, low, high, strict=True)
    ]
    return Chart("theory", summary, [view], ["strength α", "risk", "bias", "sampling", "low", "high"], rows)
