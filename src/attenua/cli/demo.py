"""``attenua demo``: three tasks on new rows, by `CorrectedPCACV` and by PCA, on data of scikit-learn."""

import io
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from attenua._extras import how_to_install
from attenua._files import write_whole
from attenua.cli.base import app, command, console, fail, progress_bar
from attenua.cli.demo_runs import (
    HIDDEN,
    MOST_NEW,
    NOISE,
    TASKS,
    DemoData,
    DemoResult,
    demo_data,
    run_demo,
    what_was_seen,
)
from attenua.cli.writing import check_targets, writing

_TITLES = {"reconstruct": "Reconstruct", "fill": "Fill gaps", "denoise": "Denoise"}


@command(app)
def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to save the picture.")
    ] = Path("attenua-demo.png"),
    rows: Annotated[int, typer.Option(min=16, max=128, metavar="N", help="Rows to fit.")] = 32,
    subsamples: Annotated[int, typer.Option(min=2, metavar="N", help="Subsamples per data set.")] = 40,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed for drawing the subsamples.")] = 0,
) -> None:
    """Reconstruct, fill and denoise new rows, and compare with PCA, on data that come with scikit-learn."""
    if find_spec("matplotlib") is None:
        fail(f"the picture needs matplotlib: {how_to_install('cli')}.")
    check_targets([out], force=True)
    data = demo_data()
    with progress_bar() as progress:
        task = progress.add_task("Fitting subsamples", total=len(data) * subsamples)
        results = run_demo(data, rows, subsamples, seed=seed, advance=lambda: progress.advance(task))
    # Save first: printing fails if the reader of a pipe stops early.
    with writing(out):
        save_demo_figure(results, rows, out)
    console.print(_table(data, results, rows))
    console.print(
        f"\nMeans over {subsamples} subsamples, ± a 95% interval; a difference is clear if the interval "
        "excludes 0. Both methods have the same number of components and are judged on up to "
        f"{MOST_NEW} new rows.\n"
        f"Fill: {HIDDEN:.0%} of the cells of each new row are hidden. PCA fills them by probabilistic PCA, "
        "CorrectedPCACV.impute by a whole covariance and not by its components alone.\n"
        f"Denoise: new rows get noise of {NOISE:g} standard deviations of each column. The error is against "
        "the rows without it.\n",
        highlight=False,
    )
    console.print(what_was_seen(results), highlight=False)
    console.print(f"Picture saved to {out}", highlight=False, soft_wrap=True)


def _table(data: Sequence[DemoData], results: Sequence[DemoResult], n_rows: int) -> Table:
    """Return a line for each data set; what is not clear is dim."""
    title = f"Part of PCA's error on new rows that is removed, % ({n_rows} rows fitted)"
    table = Table(title=title, box=None, padding=(0, 2, 0, 0))
    table.add_column("data")
    for heading in ("columns", "components", *TASKS):
        table.add_column(heading, justify="right")
    for one in data:
        cells = [
            f"[{'bold' if found.clear else 'dim'}]{found.mean:+.1f} ± {found.half_width:.1f}[/]"
            for found in results
            if found.data == one.name
        ]
        table.add_row(one.name, f"{one.X.shape[1]}", f"{one.n_components}", *cells)
    return table


def save_demo_figure(results: Sequence[DemoResult], n_rows: int, path: Path, *, narrow: bool = False) -> None:
    """Draw a panel for each task with a bar for each data set, and save the picture as PNG.

    The panels are side by side, or below each other where the picture is for a narrow screen.
    """
    from matplotlib.figure import Figure  # not pyplot, whose backend is the user's

    names = list(dict.fromkeys(result.data for result in results))
    height = 0.42 * len(names) + 1.2
    figure = Figure(figsize=(4.2, 2.4 * height) if narrow else (7.2, height), layout="constrained")
    places = (len(TASKS), 1) if narrow else (1, len(TASKS))
    panels = figure.subplots(*places, sharex=True, sharey=True)
    for ax, task in zip(panels, TASKS, strict=True):
        _draw_panel(ax, [result for result in results if result.task == task])
        ax.set_title(_TITLES[task], fontsize=14)
        ax.tick_params(axis="y", labelsize=14)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.4, -0.6)
    # Room for a number beside the longest bar.
    panels[0].set_xmargin(0.2)
    gap = "\n" if narrow else "   "
    figure.supxlabel(f"less error than PCA on new rows, % →{gap}({n_rows} rows fitted)", fontsize=12)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    write_whole(path, picture.getvalue())


def _draw_panel(ax: Any, results: Sequence[DemoResult]) -> None:
    """Draw the means as bars with their intervals and numbers; what is not clear is pale."""
    from attenua.pictures import COLOURS

    for place, result in enumerate(results):
        colour = COLOURS["accent" if result.mean < 0 else "fit"]
        alpha = 1 if result.clear else 0.3
        ax.barh(place, result.mean, height=0.62, color=colour, alpha=alpha)
        low, high = result.mean - result.half_width, result.mean + result.half_width
        ax.plot([low, high], [place, place], color="0.2", lw=1, alpha=alpha)
        label = f"{result.mean:+.0f}" if result.clear else "not clear"
        ax.text(
            max(high, 0) + 1, place, label, va="center", fontsize=12, color=colour if result.clear else "0.5"
        )
    ax.axvline(0, color="0.2", lw=1.2)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
