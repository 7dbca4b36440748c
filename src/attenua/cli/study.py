"""``attenua study``: the paper's fixed-budget study on real data."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from attenua._data.extras import how_to_install
from attenua.cli.base import app, console, print_plain


@app.command()
def study(
    out: Annotated[
        Path, typer.Option(help="Folder of results, tables and figure; an interrupted run goes on there.")
    ] = Path("attenua-study"),
    seed: Annotated[int, typer.Option(min=0, help="Draws patch locations and subsamples.")] = 2026,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one a core. Changes no number.")] = -1,
    quick: Annotated[bool, typer.Option("--quick", help="About a minute, with few subsamples.")] = False,
    without_masked_target: Annotated[
        bool,
        typer.Option("--without-masked-target", help="Leave out the masked-target rivals, which take long."),
    ] = False,
    data_home: Annotated[
        str | None, typer.Option(help="Folder of the data sets; else ATTENUA_DATA or the usual cache.")
    ] = None,
) -> None:
    """Run the paper's fixed-budget study on three real data sets and print it beside the published values.

    All corrections, which the paper does not have, are fitted to the same subsamples.
    """
    try:
        from attenua.datasets import DatasetNotAvailable
        from attenua.studies.budget import QUICK, StudySettings, run_study
        from attenua.studies.store import SettingsMismatch
        from attenua.studies.study_output import summarise, write_study
    except ModuleNotFoundError as error:
        sys.exit(f"attenua study needs {error.name}: {how_to_install('plot,study')}.")

    settings = replace(QUICK if quick else StudySettings(), seed=seed)
    if without_masked_target:
        settings = settings.without_masked_target()
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
        print_plain(table.to_text())
    if quick:
        full = StudySettings()
        print_plain(
            f"Quick run, not the paper's: {settings.n_subsamples} subsamples instead of "
            f"{full.n_subsamples} in each cell, and {settings.n_versions['optdigits']} draws of patch "
            f"locations instead of {full.n_versions['optdigits']}."
        )
    print_plain(f"Seed {seed}. Written to {out}:")
    print_plain("\n".join(f"  {path.name}" for path in write_study(summary, out)))
