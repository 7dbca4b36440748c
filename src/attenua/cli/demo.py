"""``attenua demo``: PCA, the paper's correction and all corrections on data of scikit-learn."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from attenua._extras import how_to_install
from attenua.cli.base import EXIT_CODES, app, console, fail, progress_bar
from attenua.cli.writing import check_targets, writing


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

    from attenua.cli.demo_figure import save_demo_figure
    from attenua.cli.demo_runs import demo_data, run_demo, what_was_seen

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
        "loss. Taken: the correction chosen in most subsamples, and in how many.\n",
        highlight=False,
    )
    console.print(what_was_seen(lines), highlight=False)
    console.print(f"Picture saved to {out}", highlight=False, soft_wrap=True)


def _table(lines: list[Any]) -> Table:
    from attenua.cli.demo_runs import ALL, PAPER

    table = Table(title="Share of PCA's excess error that is removed, %", box=None, padding=(0, 1, 0, 0))
    table.add_column("data")
    for heading in ("rank", "rows", "PCA's\nexcess", "paper's\nstrength", "all cor-\nrections", "worse"):
        table.add_column(heading, justify="right")
    table.add_column("taken")
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


def _with_interval(line: Any, method: str) -> str:
    mean, low, _ = line.mean_and_interval(method)
    return f"{round(mean, 1) + 0.0:+.1f} ± {mean - low:.1f}"
