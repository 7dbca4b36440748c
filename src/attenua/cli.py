"""The command ``attenua``."""

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

try:
    import typer
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
    from rich.table import Table
except ModuleNotFoundError as error:
    sys.exit(f"The attenua command needs {error.name}; install it with: pip install 'attenua[cli]'")

from attenua import __version__

app = typer.Typer(
    help="PCA for limited data: diagonal attenuation with a strength chosen from the data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = Console()


def _print_version(wanted: bool) -> None:
    if wanted:
        console.print(f"attenua {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("attenua-demo.png"),
    subsamples: Annotated[int, typer.Option(min=2, help="Subsamples of each size.")] = 200,
    seed: Annotated[int, typer.Option(help="Draws patches and subsamples.")] = 0,
) -> None:
    """Compare PCA and attenuated PCA on patches of the digits that come with scikit-learn."""
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

    table = Table(title="Held-out excess risk: PCA against attenuated PCA")
    for heading in ("rows", "PCA", "attenuated", "removed (95% interval)", "mean α", "kept PCA"):
        table.add_column(heading, justify="right")
    for result in results:
        mean, low, high = mean_and_interval(result.removed)
        table.add_row(
            f"{result.n_rows}",
            f"{result.pca_excess.mean():.2f}",
            f"{result.excess.mean():.2f}",
            f"{mean:.1f}%  [{low:.1f}, {high:.1f}]",
            f"{result.chosen.mean():.2f}",
            f"{(result.chosen == 0).mean():.0%}",
        )
    return table


@app.command()
def simulate(
    out: Annotated[
        Path, typer.Option(help="Folder for tables and figures; those of an earlier run are replaced.")
    ] = Path("attenua-simulations"),
    seed: Annotated[int, typer.Option(min=0, help="Draws everything.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Threads; by default one a core. Changes no number.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few seconds, with far fewer samples.")] = False,
) -> None:
    """Run the paper's simulations and show what comes out beside what the paper prints."""
    try:
        from attenua.studies.simulations import FULL, QUICK, run_simulations
        from attenua.studies.simulations.output import write_simulations
        from attenua.studies.simulations.tables import simulation_tables
    except ModuleNotFoundError as error:
        sys.exit(f"attenua simulate needs {error.name}; install it with: pip install 'attenua[plot,study]'")
    from joblib import cpu_count

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise typer.BadParameter(f"cannot make the folder {out}: {error}", param_hint="--out") from None
    settings = QUICK if quick else FULL
    with Progress(console=console) as progress:
        task = progress.add_task("Drawing samples", total=settings.total)
        results = run_simulations(
            settings, seed=seed, jobs=jobs or cpu_count(), advance=lambda n: progress.advance(task, n)
        )
    for table in simulation_tables(results).values():
        _print_plain(table.to_text())
    if settings.left_out():
        _print_plain(f"Quick run, not the paper's: {settings.left_out()}.")
    _print_plain(f"Seed {seed}. Written to {out}:")
    _print_plain("\n".join(f"  {path.name}" for path in write_simulations(results, out)))


@app.command()
def study(
    out: Annotated[
        Path, typer.Option(help="Folder of results, tables and figure; an interrupted run goes on there.")
    ] = Path("attenua-study"),
    seed: Annotated[int, typer.Option(min=0, help="Draws patch locations and subsamples.")] = 2026,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one a core. Changes no number.")] = -1,
    quick: Annotated[bool, typer.Option("--quick", help="Under a minute, with few subsamples.")] = False,
    data_home: Annotated[
        str | None, typer.Option(help="Folder of the data sets; else ATTENUA_DATA or the usual cache.")
    ] = None,
) -> None:
    """Run the paper's fixed-budget study on three real data sets and print it beside the published values."""
    try:
        from attenua.datasets import DatasetNotAvailable
        from attenua.studies.budget import QUICK, StudySettings, run_study
        from attenua.studies.store import SettingsMismatch
        from attenua.studies.study_output import summarise, write_study
    except ModuleNotFoundError as error:
        sys.exit(f"attenua study needs {error.name}; install it with: pip install 'attenua[plot,study]'")

    settings = replace(QUICK if quick else StudySettings(), seed=seed)
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("Subsamples", total=None)
            run_study(
                settings,
                out,
                data_home=data_home,
                n_jobs=jobs,
                begin=lambda done, total: progress.update(task, completed=done, total=total),
                advance=lambda: progress.advance(task),
            )
    except (DatasetNotAvailable, SettingsMismatch) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo(f"Interrupted; the same command goes on from what is stored in {out}.", err=True)
        raise typer.Exit(130) from None
    summary = summarise(out)
    for table in summary.tables.values():
        _print_plain(table.to_text())
    if quick:
        full = StudySettings()
        _print_plain(
            f"Quick run, not the paper's: {settings.n_subsamples} subsamples in the place of "
            f"{full.n_subsamples} in each cell, and {settings.n_versions['optdigits']} draws of patch "
            f"locations in the place of {full.n_versions['optdigits']}."
        )
    _print_plain(f"Seed {seed}. Written to {out}:")
    _print_plain("\n".join(f"  {path.name}" for path in write_study(summary, out)))


@app.command()
def data(
    download: Annotated[bool, typer.Option("--download", help="Fetch what is missing.")] = False,
    data_home: Annotated[
        str | None, typer.Option(help="Folder of the data sets; else ATTENUA_DATA or the usual cache.")
    ] = None,
) -> None:
    """Say which of the paper's data sets are here, or fetch them."""
    from attenua import datasets

    try:
        if download:
            for fetch in (datasets.fetch_optdigits, datasets.fetch_phoneme, datasets.fetch_har):
                with console.status(f"{fetch.__name__.removeprefix('fetch_')} ..."):
                    fetch(data_home=data_home)
        found = datasets.status(data_home=data_home)
    except datasets.DatasetNotAvailable as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    for item in found:
        if not item.present:
            state = f"not here; attenua data --download fetches it, or see {item.page}"
        elif item.checked:
            state = f"{item.n_bytes:,} bytes, values as published"
        else:
            state = f"{item.n_bytes:,} bytes, NOT the published values: {item.problem}"
        _print_plain(f"{item.name:<10} {item.path}\n{'':<10} {state}")


def _print_plain(text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def main() -> None:
    """Run the command line."""
    app()
