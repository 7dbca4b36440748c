"""``attenua demo``: PCA, the paper's correction and all corrections on data of scikit-learn."""

import io
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from attenua._extras import how_to_install
from attenua._files import write_whole
from attenua.cli.base import EXIT_CODES, app, console, fail, progress_bar
from attenua.cli.demo_runs import ALL, N_ROWS, PAPER, DemoLine, demo_data, run_demo, what_was_seen
from attenua.cli.writing import check_targets, writing
from attenua.display.common import ACCENT, SHADES

_STYLES = {PAPER: ("o", SHADES[1], -0.17), ALL: ("D", ACCENT, 0.17)}
# Losses have no bound. The largest one beyond the edge is written out there.
_EDGE = -80.0


@app.command(epilog=EXIT_CODES)
def demo(
    out: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("attenua-demo.png"),
    subsamples: Annotated[int, typer.Option(min=2, help="Subsamples per data set.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed for drawing the subsamples.")] = 0,
) -> None:
    """Compare PCA, the paper's correction and all corrections on data that come with scikit-learn."""
    if find_spec("matplotlib") is None:
        fail(f"the picture needs matplotlib: {how_to_install('cli')}.")
    check_targets([out], force=True)
    data = demo_data()
    with progress_bar() as progress:
        task = progress.add_task("Fitting subsamples", total=len(data) * subsamples)
        lines = run_demo(data, subsamples, seed=seed, advance=lambda: progress.advance(task))
    # Save first: printing fails if the reader of a pipe stops early.
    with writing(out):
        save_demo_figure(lines, out)
    console.print(_table(lines))
    console.print(
        f"\nMeans over {subsamples} subsamples, judged on the other rows, ± a 95% interval; a difference is "
        "clear if the interval excludes 0. Excess: the share of PCA's error that the best possible subspace "
        "for those rows would avoid. Worse: subsamples in which all corrections lost to PCA, and the largest "
        "loss. Taken: the correction with the largest mean weight in the fits, and that weight.\n",
        highlight=False,
    )
    console.print(what_was_seen(lines), highlight=False)
    console.print(f"Picture saved to {out}", highlight=False, soft_wrap=True)


def _table(lines: Sequence[DemoLine]) -> Table:
    table = Table(title="Share of PCA's excess error that is removed, %", box=None, padding=(0, 1, 0, 0))
    table.add_column("data")
    for heading in ("rank", "rows", "PCA's\nexcess", "paper's\nstrength", "all cor-\nrections", "worse"):
        table.add_column(heading, justify="right")
    table.add_column("largest\nweight")
    for line in lines:
        table.add_row(
            line.data,
            f"{line.n_components}",
            f"{line.n_rows}",
            f"{line.excess.mean():.0f}%",
            _with_interval(line, PAPER),
            _with_interval(line, ALL),
            f"{line.n_worse(ALL)} ({line.removed[ALL].min():+.0f})" if line.n_worse(ALL) else "0",
            line.most_taken(),
        )
    return table


def _with_interval(line: DemoLine, method: str) -> str:
    mean, low, _ = line.mean_and_interval(method)
    return f"{round(mean, 1) + 0.0:+.1f} ± {mean - low:.1f}"


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
