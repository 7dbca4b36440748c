"""The charts of the page about attenuation."""

import numpy as np
from numpy.typing import NDArray

from attenua.report.attenuated import Findings
from attenua.report.charts import MOST_COLUMNS, Chart, loadings, profiles, series, short, signed
from attenua.theory import PlugInReport


def all_charts(found: Findings) -> dict[str, Chart]:
    """Return the charts of the page by name; the theory's is missing where there is no theory."""
    label = f"attenuated, α = {found.shown:g}"
    charts = [
        _validation(found),
        _spectrum(found),
        loadings(found.names, *found.loadings, label),
        _leakage(found),
        profiles(found.examples, found.names, found.variances, label),
    ]
    if found.theory is not None:
        charts.append(_theory(found.theory))
    return {chart.key: chart for chart in charts}


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
            series("± standard error", "band", "att", alphas, lo=change - error, hi=change + error),
            *(
                series(f"part {number}", "line", "fold", alphas, fold, quiet=True)
                for number, fold in enumerate(folds[:50], start=1)
            ),
            series("all held-out rows", "line", "att", alphas, change, dots=True),
            series("PCA, the fallback", "mark", "pca", [0.0], [0.0]),
            series(f"this fit, α = {found.alpha:g}", "mark", "best", [found.alpha], [change[place]]),
        ],
    }
    rows = [
        [f"{a:g}", short(r, 5), signed(c), short(e), f"{better} of {len(folds)}"]
        for a, r, c, e, better in zip(alphas, risk, change, error, (folds < 0).sum(axis=0), strict=True)
    ]
    head = ["strength α", "held-out risk", "change against PCA, %", "standard error", "parts better than PCA"]
    summary = (
        "Held-out reconstruction risk against strength, as a change from PCA at strength 0. This fit has "
        f"strength {found.alpha:g}, with {signed(change[place])}% ± {short(error[place], 2)}%."
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
            series("before: S", "line", "pca", places, before, dots=True),
            series(f"after: S − {found.shown:g} diag(S)", "line", "att", places, after, dots=True),
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


def _leakage(found: Findings) -> Chart:
    shares = 100 * found.leakage.shares
    largest = np.argsort(-np.abs(shares), kind="stable")[:MOST_COLUMNS]
    view = {
        "type": "rows",
        "xLabel": "share of the leakage, %",
        "rows": [found.names[i] for i in largest],
        "notes": [
            f"variance {short(found.variances[i])}, {100 * found.leakage.inside[i]:.0f}% inside the subspace"
            for i in largest
        ],
        "series": [series("share of the leakage", "bar", "att", shares[largest])],
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
        "shade": [0, 0.5, "reached by masks"],
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
