"""Figure 3: the gains of all methods in every cell, with their intervals."""

import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attenua.studies.budget import ORACLE
from attenua.studies.real_data import TITLES
from attenua.studies.simulations.figures import STYLE

# Wide enough for every method but those far worse than PCA, which are marked at the edge and labelled.
_RANGE = {"optdigits": (-9.0, 13.0), "phoneme": (-2.6, 3.4), "har": (-2.6, 5.2)}
_MARKERS = ({"marker": "o", "mfc": "black"}, {"marker": "D", "mfc": "white"})
# The attenuation paths, as in the paper; and what no choice of a strength can reach.
_SHADED = {"mask-derived attenuation": "0.92", "direct attenuation": "0.92", ORACLE: "0.97"}


def comparison_figure(gains: pd.DataFrame) -> Figure:
    """Draw mean gains and 95% intervals: a panel for each data set, a row for each method."""
    methods = list(dict.fromkeys(gains["method"]))
    names = [name for name in TITLES if name in set(gains["data"])]
    with rc_context(STYLE):
        figure = Figure(figsize=(10.2, 0.42 * len(methods) + 1.1), layout="constrained")
        panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for ax, name in zip(panels, names, strict=True):
            _draw_panel(ax, gains[gains["data"] == name], methods, _RANGE[name])
            ax.set_title(TITLES[name])
        panels[0].set_yticks(range(len(methods)), methods)
        panels[0].set_ylim(len(methods) - 0.5, -0.5)
        figure.supxlabel("PCA's test excess risk removed, %", fontsize="medium")
        handles, labels = panels[0].get_legend_handles_labels()
        panels[-1].legend(handles, labels, loc="lower right", frameon=True, framealpha=1.0)
    return figure


def _draw_panel(ax: Axes, gains: pd.DataFrame, methods: list[str], limits: tuple[float, float]) -> None:
    ax.set_xlim(*limits)
    ax.axvline(0, color="0.4", lw=0.8)
    for row, method in enumerate(methods):
        if method in _SHADED:
            ax.axhspan(row - 0.5, row + 0.5, color=_SHADED[method], lw=0, zorder=0)
    for shift, style, budget in zip((-0.16, 0.16), _MARKERS, sorted(gains["budget"].unique()), strict=False):
        cell = gains[gains["budget"] == budget].set_index("method").loc[methods]
        for row, result in enumerate(cell.itertuples()):
            label = f"N = {budget}" if row == 0 else None
            if result.gain < limits[0]:
                ax.plot(limits[0], row + shift, marker="<", color="black", mfc=style["mfc"], clip_on=False)
                ax.annotate(
                    f"{result.gain:.1f}",
                    (limits[0], row + shift),
                    xytext=(6, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize="small",
                )
                continue
            bars = [[result.gain - result.low], [result.high - result.gain]]
            looks = {"color": "black", "lw": 1, "capsize": 2, "ms": 5, "ls": "", **style}
            ax.errorbar(result.gain, row + shift, xerr=bars, label=label, **looks)
    ax.tick_params(axis="y", length=0)
