"""The forest plot: what the recommended setting gains on every data set, sorted."""

from math import nan
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from attenua_evidence.averages import Mean, mean_of
from attenua_evidence.results import PAPER, RECOMMENDED, cell_means, data_means, fitted, judged_part, parts_of
from attenua_paper.studies.simulations.figures import STYLE

# Parts differ by marker and by shade, so that they survive printing in grey.
LOOKS: dict[str, dict[str, Any]] = {
    "final": {"color": "#12395f", "marker": "o"},
    "known": {"color": "#7a5c99", "marker": "D"},
    "choose": {"color": "#3f8f8c", "marker": "s"},
    "develop": {"color": "#8a8f98", "marker": "^"},
}
PAPER_COLOUR = "#c2571a"
# The mark of the paper's strength stands across the axis of gains.
PAPER_MARKER = {"x": "|", "y": "_"}
LABEL = "PCA's excess risk removed, %"
# Beyond this the axis is logarithmic, if a cell lies beyond the second number.
LINEAR, WIDE = 10.0, 30.0
_TICKS = (1000, 300, 100, 50, 20, 10, 5, 0)


class DataSet(NamedTuple):
    """One line of the plot.

    Attributes
    ----------
    name, part, kind : str
        What the data set is.
    gain : float
        Mean over its cells.
    least, low, high, most : float
        Quartiles of its cells, with the worst and the best: cells share rows, so they make no interval.
    paper : float
        Mean gain of the paper's strength.
    """

    name: str
    part: str
    kind: str
    gain: float
    least: float
    low: float
    high: float
    most: float
    paper: float


def data_sets(lines: pd.DataFrame) -> list[DataSet]:
    """Return what is drawn of every data set, the largest gain first."""
    recommended, paper = fitted(lines, RECOMMENDED), data_means(fitted(lines, PAPER))
    sets = []
    for name, own in recommended.groupby("data"):
        cells = cell_means(own)
        about = (str(name), own["part"].iloc[0], own["kind"].iloc[0])
        quartiles = np.percentile(cells, [0, 25, 75, 100])
        sets.append(DataSet(*about, cells.mean(), *quartiles, paper.get(name, nan)))
    return sorted(sets, key=lambda one: -one.gain)


def overall(lines: pd.DataFrame) -> dict[str, Mean]:
    """Return the means over the data sets of the final part and of all, or of all so far, by their labels."""
    parts = parts_of(lines)
    is_final = judged_part(lines) == "final"
    labels = {"final": "final part", "all": "all parts"} if is_final else {"all": "so far"}
    return {label: mean_of(data_means(fitted(parts[name], RECOMMENDED))) for name, label in labels.items()}


def forest(lines: pd.DataFrame) -> Figure:
    """Draw a line for each data set with its name and kind, and the means over data sets below."""
    sets, means = data_sets(lines), overall(lines)
    with rc_context(STYLE | {"font.size": 8}):
        figure = Figure(figsize=(6.4, 0.145 * (len(sets) + 1.6 * len(means)) + 1.25), layout="constrained")
        ax = figure.subplots()
        for row, one in enumerate(sets):
            _draw_set(ax, one, row, "x")
            ax.text(
                1.01, row, one.kind, transform=ax.get_yaxis_transform(), va="center_baseline", color="0.35"
            )
        rows = [len(sets) + 0.6 + 1.6 * i for i in range(len(means))]
        for row, mean in zip(rows, means.values(), strict=True):
            _draw_diamond(ax, mean, row, 0.55)
            ax.text(1.01, row, _signed(mean), transform=ax.get_yaxis_transform(), va="center", weight="bold")
        labels = [*(one.name for one in sets), *(f"mean, {label}" for label in means)]
        ax.set_yticks([*range(len(sets)), *rows], labels)
        ax.set_ylim(rows[-1] + 1, -0.8)
        ax.tick_params(axis="y", length=0)
        ax.axhline(len(sets) - 0.3, color="0.7", lw=0.6)
        _finish(ax, sets, "x", figure)
    return figure


def compact_forest(lines: pd.DataFrame) -> Figure:
    """Draw all data sets side by side without names, in a picture that fits on one screen."""
    sets, means = data_sets(lines), overall(lines)
    with rc_context(STYLE | {"font.size": 9}):
        figure = Figure(figsize=(7.2, 3.9), layout="constrained")
        ax = figure.subplots()
        for place, one in enumerate(sets):
            _draw_set(ax, one, place, "y")
        step = max(1.0, len(sets) / 12)
        places = [len(sets) + step * (0.5 + i) for i in range(len(means))]
        for place, (label, mean) in zip(places, means.items(), strict=True):
            _draw_diamond(ax, mean, place, step / 5, upright=True)
            ax.annotate(
                f"{label.replace(' ', chr(10))}\n{mean.value:+.1f}",
                (place, 0),
                xycoords=("data", "axes fraction"),
                xytext=(0, -4),
                textcoords="offset points",
                ha="center",
                va="top",
                weight="bold",
            )
        ax.axvline(len(sets) - 0.4, color="0.7", lw=0.6)
        ax.set_xlim(-1, places[-1] + step * 0.55)
        middle = (len(sets) - 1) / 2
        ax.set_xticks([middle], [f"the {len(sets)} data sets, from the largest gain to the largest loss"])
        ax.tick_params(axis="x", length=0)
        # Gains are sorted, so that these two corners are empty.
        ax.text(0.02, 0.03, "below 0: worse than PCA", transform=ax.transAxes, color="0.35")
        ax.text(
            len(sets) - 1,
            0.95,
            "above 0: better than PCA",
            transform=ax.get_xaxis_transform(),
            color="0.35",
            ha="right",
        )
        _finish(ax, sets, "y", figure)
    return figure


def _signed(mean: Mean) -> str:
    return f"{mean.value:+.1f}{'' if pd.isna(mean.low) else f' [{mean.low:.1f}, {mean.high:.1f}]'}"


def _draw_set(ax: Any, one: DataSet, at: float, along: str) -> None:
    """Draw the range of the cells, their middle half, their mean, and the paper's strength."""
    looks = LOOKS[one.part]
    line = ax.hlines if along == "x" else ax.vlines
    line(at, one.least, one.most, color=looks["color"], lw=0.5, alpha=0.8)
    line(at, one.low, one.high, color=looks["color"], lw=1.8)
    paper = {"marker": PAPER_MARKER[along], "color": PAPER_COLOUR}
    for value, style, size in ((one.paper, paper, 6), (one.gain, looks, 4)):
        ax.plot(*((value, at) if along == "x" else (at, value)), ls="", ms=size, zorder=3, **style)


def _draw_diamond(ax: Any, mean: Mean, at: float, half: float, *, upright: bool = False) -> None:
    """Draw a mean as a diamond as wide as its interval."""
    low, high = (mean.value, mean.value) if pd.isna(mean.low) else (mean.low, mean.high)
    along, across = [low, mean.value, high, mean.value], [at, at - half, at, at + half]
    x, y = (across, along) if upright else (along, across)
    ax.fill(x, y, color="black", lw=0.8)


def _finish(ax: Any, sets: list[DataSet], along: str, figure: Figure) -> None:
    """Scale and label the axis of gains, mark zero, and say what the marks mean."""
    axis = ax.xaxis if along == "x" else ax.yaxis
    ends = [value for one in sets for value in (one.least, one.most)]
    label = LABEL
    if max(map(abs, ends)) > WIDE:
        (ax.set_xscale if along == "x" else ax.set_yscale)("symlog", linthresh=LINEAR, linscale=1.2)
        ticks = [sign * tick for tick in _TICKS for sign in (-1, 1) if min(ends) <= sign * tick <= max(ends)]
        axis.set_major_locator(FixedLocator(sorted({0, *ticks})))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        space = " " if along == "x" else "\n"
        label += f"{space}(logarithmic beyond {LINEAR:g})"
    (ax.set_xlabel if along == "x" else ax.set_ylabel)(label)
    (ax.axvline if along == "x" else ax.axhline)(0, color="0.3", lw=0.8, zorder=1)
    ax.grid(axis=along, color="0.92", lw=0.6)
    ax.set_axisbelow(True)
    for part in dict.fromkeys(part for part in LOOKS if any(one.part == part for one in sets)):
        ax.plot([], [], ls="", ms=4, label=f"{part} part", **LOOKS[part])
    ax.plot([], [], ls="", ms=6, label=PAPER, marker=PAPER_MARKER[along], color=PAPER_COLOUR)
    figure.legend(loc="outside upper center", ncols=4, handletextpad=0.2, columnspacing=1.4)
