"""``attenua study``: the paper's fixed-budget study on real data."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from attenua._extras import how_to_install
from attenua.cli.base import EXIT_CODES, INTERRUPTED, app, fail, print_plain, progress_bar
from attenua.cli.options import LARGEST_SEED, Jobs
from attenua.cli.writing import refuse_file, writing


@app.command(epilog=EXIT_CODES)
def study(
    out: Annotated[
        Path, typer.Option(help="Folder of results, tables and figure; an interrupted run goes on there.")
    ] = Path("attenua-study"),
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="Draws patch locations and subsamples.")
    ] = 2026,
    jobs: Jobs = "-1",
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
        from attenua.studies.budget import QUICK, StudySettings, WorkerLost, run_study
        from attenua.studies.store import StoreError
        from attenua.studies.study_output import summarise, write_study
    except ModuleNotFoundError as error:
        fail(f"attenua study needs {error.name}: {how_to_install('plot,study')}.")

    settings = replace(QUICK if quick else StudySettings(), seed=seed)
    if without_masked_target:
        settings = settings.without_masked_target()
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    refuse_file(out)
    try:
        with progress_bar(*columns) as progress:
            task = progress.add_task("Subsamples", total=None)
            run_study(
                settings,
                out,
                data_home=data_home,
                n_jobs=jobs,
                begin=lambda done, total: progress.update(task, completed=done, total=total),
                advance=lambda: progress.advance(task),
            )
        summary = summarise(out)
    except (DatasetNotAvailable, StoreError, WorkerLost) as error:
        fail(str(error))
    except KeyboardInterrupt:
        typer.echo(f"Interrupted; the same command goes on from what is stored in {out}.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    # Before anything is printed: a reader that stops early must not cost the files.
    with writing(out):
        files = write_study(summary, out)
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
    print_plain("\n".join(f"  {path.name}" for path in files))
