"""The charts of the page as plain data, each with a table of its values for those who do not see it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua.report.findings import Findings

_MOST_COORDINATES = 20
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


def all_charts(found: Findings) -> dict[str, Chart]:
    """Return the charts of the page by name; the theory's is missing where there is no theory."""
    charts = [_validation(found), _spectrum(found), _loadings(found), _leakage(found), _profiles(found)]
    if found.theory is not None:
        charts.append(_theory(found))
    return {chart.key: chart for chart in charts}


def short(number: float, digits: int = 3) -> str:
    """Return a number for reading; a dash where there is none."""
    return f"{number:.{digits}g}".replace("-", "−") if np.isfinite(number) else "–"


def change_of(before: float, after: float) -> str:
    """Return a change in percent, with its sign; a dash where there is nothing to compare with."""
    return f"{100 * (after / before - 1):+.2f}%".replace("-", "−") if before > 0 else "–"


def _signed(number: float, decimals: int = 2) -> str:
    return f"{number:+.{decimals}f}".replace("-", "−")


def _list(values: Any) -> list[float | None]:
    """Return numbers as JSON can hold them, with five figures, which is more than a screen shows."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in np.asarray(values, float)]


def _series(name: str, kind: str, role: str, x: Any, y: Any = None, **more: Any) -> dict[str, Any]:
    record = {"name": name, "kind": kind, "role": role, "x": _list(x)}
    if y is not None:
        record["y"] = _list(y)
    return record | {key: _list(v) if isinstance(v, np.ndarray) else v for key, v in more.items()}


def _validation(found: Findings) -> Chart:
    alphas, risk = found.validation.alphas_, found.validation.cv_risk_
    change = 100 * (risk / (risk[0] or 1.0) - 1)
    error = 100 * np.nan_to_num(found.paired.errors)
    folds = 100 * found.paired.differences
    place = int(np.flatnonzero(alphas == found.alpha)[0])
    view = {
        "type": "xy",
        "xLabel": "attenuation strength α",
        "yLabel": "held-out risk against PCA, %",
        "zero": True,
        "shade": [0, 0.5, "reached by masks"],
        "series": [
            _series("± standard error", "band", "att", alphas, lo=change - error, hi=change + error),
            *(
                _series(f"part {number}", "line", "fold", alphas, fold, quiet=True)
                for number, fold in enumerate(folds[:50], start=1)
            ),
            _series("all held-out rows", "line", "att", alphas, change, dots=True),
            _series("PCA, the fallback", "mark", "pca", [0.0], [0.0]),
            _series(f"this fit, α = {found.alpha:g}", "mark", "best", [found.alpha], [change[place]]),
        ],
    }
    rows = [
        [f"{a:g}", short(r, 5), _signed(c), short(e), f"{better} of {len(folds)}"]
        for a, r, c, e, better in zip(alphas, risk, change, error, (folds < 0).sum(axis=0), strict=True)
    ]
    head = ["strength α", "held-out risk", "change against PCA, %", "standard error", "parts better than PCA"]
    summary = (
        "Held-out reconstruction risk against strength, as a change from PCA at strength 0. This fit has "
        f"strength {found.alpha:g}, with {_signed(change[place])}% ± {short(error[place], 2)}%."
    )
    return Chart("validation", summary, [view], head, rows)


def _spectrum(found: Findings) -> Chart:
    before, after, d = found.spectrum_before, found.spectrum_after, found.n_components
    places = np.arange(1, len(before) + 1)
    view = {
        "type": "xy",
        "xLabel": "eigenvalue number",
        "yLabel": "eigenvalue",
        "whole": True,
        "cut": [d + 0.5, f"{d} kept"],
        "series": [
            _series("before: S", "line", "pca", places, before, dots=True),
            _series(f"after: S − {found.shown:g} diag(S)", "line", "att", places, after, dots=True),
        ],
    }

    def gap(values: NDArray[np.float64]) -> str:
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


def _loadings(found: Findings) -> Chart:
    views, rows = [], []
    for number, (pca, attenuated) in enumerate(
        zip(found.pca.components, found.attenuated.components, strict=True), start=1
    ):
        largest = np.argsort(-np.maximum(np.abs(pca), np.abs(attenuated)), kind="stable")[:_MOST_COORDINATES]
        names = [found.names[i] for i in largest]
        views.append(
            {
                "type": "rows",
                "label": f"Component {number}",
                "xLabel": "loading",
                "rows": names,
                "series": [
                    _series("PCA", "dot", "pca", pca[largest]),
                    _series(f"attenuated, α = {found.shown:g}", "dot", "att", attenuated[largest]),
                ],
            }
        )
        rows += [
            [str(number), name, _signed(pca[i], 3), _signed(attenuated[i], 3)]
            for name, i in zip(names, largest, strict=True)
        ]
    p = len(found.names)
    which = f"the {_MOST_COORDINATES} largest of {p:,}" if p > _MOST_COORDINATES else "all columns"
    summary = f"What each column weighs in each component of PCA and of attenuated PCA; {which}."
    return Chart("loadings", summary, views, ["component", "column", "PCA", "attenuated"], rows)


def _leakage(found: Findings) -> Chart:
    shares = 100 * found.leakage.shares
    largest = np.argsort(-np.abs(shares), kind="stable")[:_MOST_COORDINATES]
    view = {
        "type": "rows",
        "xLabel": "share of the leakage, %",
        "rows": [found.names[i] for i in largest],
        "notes": [
            f"variance {short(found.variances[i])}, {100 * found.leakage.inside[i]:.0f}% inside the subspace"
            for i in largest
        ],
        "series": [_series("share of the leakage", "bar", "att", shares[largest])],
    }
    top = largest[0]
    summary = (
        f"Which columns' variances drive the leakage. The first is {found.names[top]} with "
        f"{shares[top]:.1f}% of it."
        if shares.any()
        else "There is no leakage: the variances do not tilt the subspace."
    )
    rows = [
        [
            found.names[i],
            short(found.variances[i]),
            f"{100 * found.leakage.inside[i]:.1f}%",
            f"{_signed(shares[i], 1)}%",
        ]
        for i in largest
    ]
    head = ["column", "variance", "inside the subspace", "share of the leakage"]
    return Chart("leakage", summary, [view], head, rows)


def _theory(found: Findings) -> Chart:
    theory = found.theory
    alphas, risk = theory.alphas, theory.risk
    series, low, high = [], np.full_like(risk, np.nan), np.full_like(risk, np.nan)
    if theory.bootstrap is not None:
        low, high = theory.band
        # An open end of the interval is none in the data, and is drawn to the edge.
        name = f"{theory.level:.0%} interval"
        series.append(_series(name, "band", "att", alphas, lo=low, hi=high, soft=True))
    best = int(np.argmin(risk))
    series += [
        _series("risk", "line", "att", alphas, risk, dots=True),
        _series("bias part", "line", "bias", alphas, theory.bias),
        _series("sampling part", "line", "sampling", alphas, theory.sampling),
        _series(f"smallest, α = {alphas[best]:g}", "mark", "best", [alphas[best]], [risk[best]]),
    ]
    view = {
        "type": "xy",
        "xLabel": "attenuation strength α",
        "yLabel": "expected excess risk",
        "zero": True,
        "shade": [0, 0.5, "reached by masks"],
        "series": series,
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


def _profiles(found: Findings) -> Chart:
    examples, p = found.examples, len(found.names)
    places = np.arange(p)
    if p > _MOST_PROFILE:
        places = np.sort(np.argsort(-found.variances, kind="stable")[:_MOST_PROFILE])
    views = []
    for k, row in enumerate(examples.rows):
        curves = (("row", "data", examples.original), ("PCA", "pca", examples.pca))
        curves += ((f"attenuated, α = {found.shown:g}", "att", examples.attenuated),)
        views.append(
            {
                "type": "xy",
                "label": f"Row {row}",
                "xLabel": "column",
                "yLabel": "value",
                "whole": True,
                "ticks": [found.names[i] for i in places],
                "series": [
                    _series(name, "line", role, np.arange(1, len(places) + 1), values[k][places], dots=True)
                    for name, role, values in curves
                ],
            }
        )
    summary = (
        f"{len(examples.rows)} held-out rows and their reconstructions"
        + (f", the {_MOST_PROFILE} columns of largest variance" if p > _MOST_PROFILE else "")
        + "."
    )
    rows = [
        [str(row), short(a, 4), short(b, 4), change_of(a, b)]
        for row, a, b in zip(examples.rows, examples.pca_error, examples.attenuated_error, strict=True)
    ]
    head = ["row", "squared error of PCA", "of attenuated PCA", "change"]
    return Chart("profiles", summary, views, head, rows)
