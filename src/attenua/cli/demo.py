"""``attenua demo``: PCA against corrected PCA on patches of digits."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from attenua._correct.corrections import CORRECTIONS
from attenua.cli.base import app, console


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("attenua-demo.png"),
    subsamples: Annotated[int, typer.Option(min=2, help="Subsamples of each size.")] = 100,
    seed: Annotated[int, typer.Option(help="Draws patches and subsamples.")] = 0,
) -> None:
    """Compare PCA and corrected PCA on patches of the digits that come with scikit-learn."""
    from attenua.studies.demo import RANK, plot_demo, run_demo

    if find_spec("matplotlib") is None:
        console.print(
            "The picture needs matplotlib; install it with: pip install 'attenua[plot]'", markup=False
        )
        raise typer.Exit(1)
    if not out.parent.is_dir():
        raise typer.BadParameter(f"the folder {out.parent} does not exist.", param_hint="--out")
    budgets = (32, 64, 128)
    with Progress(console=console) as progress:
        task = progress.add_task("Fitting subsamples", total=len(budgets) * subsamples)
        results = run_demo(budgets, subsamples, seed=seed, advance=lambda: progress.advance(task))
    console.print(_demo_table(results))
    console.print(
        f"3x3 patches of handwritten digits, {RANK} components, {subsamples} subsamples a row, tested on "
        "images never fitted to.\nExcess risk: mean squared reconstruction error above that of the best "
        "subspace.",
        highlight=False,
    )
    plot_demo(results, out)
    console.print(f"Picture saved to {out}", highlight=False, soft_wrap=True)


def _demo_table(results: list) -> Table:
    from attenua.studies.gain import mean_and_interval

    table = Table(title="Held-out excess risk: PCA against corrected PCA")
    for heading in ("rows", "PCA", "corrected", "removed (95% interval)", "most often taken", "kept PCA"):
        table.add_column(heading, justify="right")
    for result in results:
        mean, low, high = mean_and_interval(result.removed)
        often = (result.strengths > 0).mean(axis=0)
        table.add_row(
            f"{result.n_rows}",
            f"{result.pca_excess.mean():.2f}",
            f"{result.excess.mean():.2f}",
            f"{mean:.1f}%  [{low:.1f}, {high:.1f}]",
            f"{CORRECTIONS[often.argmax()].replace('_', ' ')} ({often.max():.0%})",
            f"{result.is_pca.mean():.0%}",
        )
    return table
