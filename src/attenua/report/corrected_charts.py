"""The charts of the page about a search: one for every step, and what the accepted ones changed."""

import numpy as np

from attenua._select.steps import Step
from attenua.report.charts import MOST_COLUMNS, Chart, loadings, profiles, series, short, signed
from attenua.report.corrected import SearchFindings


def search_charts(found: SearchFindings) -> dict[str, Chart]:
    """Return the charts of the page by name; those of what changed are missing where nothing did."""
    pca_risk = float(found.search.cv_risk_[0]) or 1.0
    charts = [_step(step, pca_risk) for step in found.search.steps_ if len(step.strengths) > 1]
    if found.moves:
        charts.append(_moves(found))
    in_order = isinstance(found.search.neighbours, str)
    charts.append(
        loadings(found.names, found.pca, None if found.is_pca else found.other, "corrected", in_order)
    )
    if found.examples is not None:
        charts.append(profiles(found.examples, found.names, found.variances, "corrected"))
    return {chart.key: chart for chart in charts}


def _step(step: Step, pca_risk: float) -> Chart:
    name = step.correction.replace("_", " ")
    strengths, change = np.array(step.strengths), 100 * (np.array(step.risks) / pca_risk - 1)
    best, error = int(np.argmax(strengths == step.best)), 100 * step.standard_error
    drawn = [series("held-out risk", "line", "att", strengths, change, dots=True)]
    if best:
        needed = np.full_like(change, change[0] - 100 * step.needed)
        drawn.append(series("taken if below", "line", "sampling", strengths, needed))
        if np.isfinite(error):
            ends = {"lo": change[[best]] - error, "hi": change[[best]] + error}
            drawn.append(series("± standard error", "span", "best", strengths[[best]], **ends))
    label, role = ("taken", "best") if step.taken else ("best, not taken", "pca")
    drawn.append(
        series(f"{label if best else 'best'}: {step.best:g}", "mark", role, strengths[[best]], change[[best]])
    )
    view = {
        "type": "xy",
        "small": True,
        "xLabel": f"strength of {name}",
        "yLabel": "risk against PCA, %",
        "series": drawn,
    }
    least = f"It is least at {step.best:g}: {signed(change[best])}% against PCA."
    summary = (
        f"Held-out risk against the strength of {name}, with the steps before it. "
        f"{least if best else 'No strength lowers it.'}"
    )
    rows = [
        [f"{strength:g}", short(risk, 5), signed(part)]
        for strength, risk, part in zip(strengths, step.risks, change, strict=True)
    ]
    head = ["strength", "held-out risk", "change against PCA, %"]
    return Chart(f"step-{step.correction}", summary, [view], head, rows)


def _moves(found: SearchFindings) -> Chart:
    views, rows = [], []
    for move in found.moves:
        name = move.correction.replace("_", " ")
        largest = np.argsort(-move.changes, kind="stable")[:MOST_COLUMNS]
        names = [found.names[i] for i in largest]
        views.append(
            {
                "type": "rows",
                "label": f"{name} {move.strength:g}".capitalize(),
                "xLabel": "change of the weights",
                "rows": names,
                "series": [series(f"moved by {name}", "bar", "att", move.changes[largest])],
            }
        )
        rows += [[name, column, short(move.changes[i])] for column, i in zip(names, largest, strict=True)]
    first = found.moves[0]
    top = found.names[int(np.argmax(first.changes))]
    summary = (
        "How far each correction moved the weights of each column, with the components turned to fit those "
        f"before it. {first.correction.replace('_', ' ').capitalize()} moved {top} most."
    )
    return Chart("moves", summary, views, ["correction", "column", "change of the weights"], rows)
