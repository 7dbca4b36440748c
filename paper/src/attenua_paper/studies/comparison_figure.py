"""Figure 3: the gains of all methods in every cell, with their intervals."""

import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attenua_paper.studies.real_data import TITLES
from attenua_paper.studies.simulations.figures import STYLE
from attenua_paper.studies.study_methods import CORRECTED, HINDSIGHT, in_order

_MARKERS = ({"marker": "o", "mfc": "black"}, {"marker": "D", "mfc": "white"})
# Ours, and what a choice could have reached.
_SHADED = dict.fromkeys(("mask-derived attenuation", "direct attenuation", *CORRECTED), "0.92")
_SHADED |= {"direct attenuation, repeated folds": "0.92"} | dict.fromkeys(HINDSIGHT, "0.97")
# To the left of zero a panel shows at most this part of what it shows to the right. Methods further below PCA
# are marked at the edge and labelled.
_LEFT_PART = 0.6


def comparison_figure(study: pd.DataFrame) -> Figure:
    """Draw mean gains and 95% intervals: a panel for each data set, a row for each method."""
    gains = study[study["measure"] == "gain"]
    methods = in_order(gains["method"])
    names = [name for name in TITLES if name in set(gains["data"])]
    with rc_context(STYLE):
        figure = Figure(figsize=(10.2, 0.42 * len(methods) + 1.1), layout="constrained")
        panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for ax, name in zip(panels, names, strict=True):
            _draw_panel(ax, gains[gains["data"] == name], methods)
            ax.set_title(TITLES[name])
        panels[0].set_yticks(range(len(methods)), methods)
        panels[0].set_ylim(len(methods) - 0.5, -0.5)
        figure.supxlabel("PCA's test excess risk removed, %", fontsize="medium")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper")
    return figure


def _limits(gains: pd.DataFrame) -> tuple[float, float]:
    half = 1.96 * gains["error"]
    right = 1.05 * max((gains["value"] + half).max(), 1.0)
    return max(1.1 * min((gains["value"] - half).min(), 0.0), -_LEFT_PART * right) - 0.02 * right, right


def _draw_panel(ax: Axes, gains: pd.DataFrame, methods: list[str]) -> None:
    limits = _limits(gains)
    ax.set_xlim(*limits)
    ax.axvline(0, color="0.4", lw=0.8)
    for row, method in enumerate(methods):
        if method in _SHADED:
            ax.axhspan(row - 0.5, row + 0.5, color=_SHADED[method], lw=0, zorder=0)
    for shift, style, budget in zip((-0.16, 0.16), _MARKERS, sorted(gains["budget"].unique()), strict=False):
        for result in gains[gains["budget"] == budget].itertuples():
            row = methods.index(result.method)
            label = f"N = {budget}" if row == 0 else None
            if result.value < limits[0]:
                ax.plot(limits[0], row + shift, marker="<", color="black", mfc=style["mfc"], clip_on=False)
                ax.annotate(
                    f"{result.value:.1f}",
                    (limits[0], row + shift),
                    xytext=(6, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize="small",
                )
                continue
            looks = {"color": "black", "lw": 1, "capsize": 2, "ms": 5, "ls": "", **style}
            ax.errorbar(result.value, row + shift, xerr=1.96 * result.error, label=label, **looks)
    ax.tick_params(axis="y", length=0)
