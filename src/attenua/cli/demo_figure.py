"""The picture of the demo: what each method removes of PCA's excess risk, one line a data set."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attenua._files import write_whole
from attenua.cli.demo_runs import ALL, N_ROWS, PAPER, DemoLine
from attenua.display.common import ACCENT, SHADES

_STYLES = {PAPER: ("o", SHADES[1], -0.17), ALL: ("D", ACCENT, 0.17)}
# Losses have no bound. The largest one beyond the edge is written out there.
_EDGE = -80.0


def save_demo_figure(lines: Sequence[DemoLine], path: Path) -> None:
    """Draw the lines of the demo, a panel for each number of rows, and save the picture as PNG."""
    from matplotlib.figure import Figure  # not pyplot, whose backend is the user's

    names = list(dict.fromkeys((line.data, line.n_components) for line in lines))
    figure = Figure(figsize=(7.1, 0.38 * len(names) + 1.6), layout="constrained")
    panels = figure.subplots(1, len(N_ROWS), sharex=True, sharey=True)
    for ax, n_rows in zip(panels, N_ROWS, strict=True):
        _draw_panel(ax, [line for line in lines if line.n_rows == n_rows])
        ax.set_title(f"fitted to {n_rows} rows")
    panels[0].set_yticks(range(len(names)), [f"{data}, {rank} components" for data, rank in names])
    panels[0].set(xlim=(_EDGE, 102), ylim=(len(names) - 0.5, -1.1))
    figure.supxlabel(
        "PCA's excess error on new rows that is removed, %\n(mean and 95% interval; each dot is one sample)",
        fontsize="medium",
    )
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    write_whole(path, picture.getvalue())


def _draw_panel(ax: Any, lines: Sequence[DemoLine]) -> None:
    """Draw a mean with its interval for each method and line, and every subsample as a faint dot."""
    ax.axvspan(_EDGE, 0, color="0.93", lw=0)
    ax.axvline(0, color="0.2", lw=1.2)
    ax.text(-3, -0.75, "worse than PCA", ha="right", va="center", fontsize="small", color="0.3")
    ax.text(3, -0.75, "better", ha="left", va="center", fontsize="small", color="0.3")
    for method, (marker, colour, shift) in _STYLES.items():
        for place, line in enumerate(lines):
            values, height = line.removed[method], place + shift
            mean, low, high = line.mean_and_interval(method)
            ax.plot(values, np.full(len(values), height), ".", color=colour, alpha=0.25, ms=5)
            ax.plot([low, high], [height, height], color=colour, lw=2.2)
            label = method if place == 0 else None
            ax.plot(mean, height, marker, color=colour, mec="white", ms=7.5, ls="", label=label)
            if values.min() < _EDGE:
                ax.text(_EDGE, height, f"◂ {values.min():.0f}", color=colour, va="center", fontsize="small")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
