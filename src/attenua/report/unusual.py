"""Which rows are unusual: T2 and Q of each row under a fit without it, and their limits."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._estimate.words import counted, listed
from attenua.monitoring import ControlLimits
from attenua.report.charts import Chart, numbers, row_label, short
from attenua.report.overview import Overview

# Levels of the limits, and rows that the sentence names and the table lists.
_LEVELS = (0.95, 0.99)
_MOST_NAMED, _MOST_LISTED = 8, 50
# Of the variance of the rows, a mean Q below this is rounding.
_ROUNDING = 1e-12


def find_limits(
    estimator: Any, X: Any, groups: ArrayLike | None, variance: float
) -> tuple[ControlLimits | None, str]:
    """Return T2 and Q of the rows with their limits, or None and why there are none."""
    try:
        limits = estimator.control_limits(X, groups=groups)
    except ValueError as error:
        return None, str(error)
    if not limits.q_mean > _ROUNDING * variance:
        return None, "The components reconstruct every row exactly, so Q is zero."
    return limits, ""


def unusual_chart(limits: ControlLimits, row_names: list[str] | None) -> Chart:
    """Return T2 against Q as a chart that the page draws from its table, and the rows beyond the limits."""
    far, near = (limits.beyond(level) for level in reversed(_LEVELS))
    named = [row_label(row_names, row + 1) for row in far]
    shown = (
        [*named[:_MOST_NAMED], f"{len(named) - _MOST_NAMED} others"] if len(named) > _MOST_NAMED else named
    )
    who = f": {listed(shown)}" if shown else ""
    summary = (
        f"{len(far)} of {counted(len(limits.q_rows), 'row')} beyond a limit of 99%{who}. "
        "By chance one row in a hundred is beyond each limit."
    )
    largest = near[np.argsort(-_times_beyond(limits)[near], kind="stable")][:_MOST_LISTED]
    table = {
        "row": [row_label(row_names, row + 1) for row in largest],
        "T2": [short(limits.t2_rows[row]) for row in largest],
        "Q": [short(limits.q_rows[row]) for row in largest],
        "beyond": [_beyond(limits, row) for row in largest],
    }
    return Chart("unusual", summary, [], table)


def unusual_table(limits: ControlLimits, overview: Overview) -> dict[str, Any]:
    """Return T2 and Q for the chart: of the rows whose scores are drawn, and of all beyond a limit."""
    near, far = (limits.beyond(level) for level in _LEVELS)
    kept = np.union1d(overview.drawn, near)
    codes = np.isin(kept, near).astype(int) + np.isin(kept, far)
    names = overview.row_names
    return {
        "columns": ["T2", "Q"],
        "values": [numbers(values[kept]) for values in (limits.t2_rows, limits.q_rows)],
        "rows": (kept + 1).tolist(),
        "drawn": list(range(len(kept))),
        "names": None if names is None else [names[row] for row in kept],
        "colour": {
            "name": "beyond a limit",
            "labels": ["none", *(f"{level:.0%}" for level in _LEVELS)],
            "codes": codes.tolist(),
            "others": "",
        },
        "arrows": None,
        "limits": [numbers([limit(level) for level in _LEVELS]) for limit in (limits.t2, limits.q)],
    }


def _times_beyond(limits: ControlLimits) -> NDArray[np.float64]:
    """Return the larger of T2 and Q of each row, in units of their limits."""
    return np.fmax(limits.t2_rows / limits.t2(), limits.q_rows / limits.q())


def _beyond(limits: ControlLimits, row: int) -> str:
    """Return the limits that a row is beyond, each with its highest level."""
    found = []
    for name, value, limit in (("T2", limits.t2_rows[row], limits.t2), ("Q", limits.q_rows[row], limits.q)):
        levels = [f"{name} {level:.0%}" for level in _LEVELS if value > limit(level)]
        found += levels[-1:]
    return ", ".join(found)
