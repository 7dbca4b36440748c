"""The commands of ``attenua-paper``: the study, the simulations, and the data they need."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from joblib import cpu_count
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from attenua.cli.base import INTERRUPTED, command, fail, new_app, print_plain, progress_bar, working
from attenua.cli.options import LARGEST_SEED
from attenua.cli.writing import refuse_file, refuse_without_permission, writing

DataHome = Annotated[
    str | None, typer.Option(help="Folder of the data sets; else ATTENUA_DATA or the usual cache.")
]


def _check_folder(folder: Path) -> None:
    """Create an output folder, or fail with a sentence if files cannot be written there."""
    refuse_file(folder)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    refuse_without_permission(folder, folder)


def _parse_jobs(text: str) -> int:
    """Return how many processes or threads to use; -1 is one per core."""
    cores = cpu_count()
    most = 8 * cores
    try:
        jobs = cores if int(text) == -1 else int(text)
    except ValueError:
        jobs = 0
    if not 1 <= jobs <= most:
        raise typer.BadParameter(f"{text} is neither -1, one per core, nor a number from 1 to {most}.")
    return jobs


Jobs = Annotated[
    Any,
    typer.Option(
        parser=_parse_jobs,
        metavar="N",
        help="How many to compute at a time; -1 is one per core. Results do not depend on it.",
    ),
]

DataName = StrEnum("DataName", ["OPTDIGITS", "PHONEME", "HAR"])

app = new_app("The numbers, tables and figures of the paper on diagonal attenuation.")


@command(app)
def study(
    out: Annotated[
        Path, typer.Option(help="Folder of results, tables and figure; an interrupted run goes on there.")
    ] = Path("attenua-study"),
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="Draws patch locations and subsamples.")
    ] = 2026,
    jobs: Jobs = "-1",
    quick: Annotated[bool, typer.Option("--quick", help="About a minute, with few subsamples.")] = False,
    paper_only: Annotated[bool, typer.Option("--paper-only", help="Only the paper's methods.")] = False,
    data: Annotated[
        list[DataName] | None, typer.Option(help="Only this data set; may be given again.")
    ] = None,
    data_home: DataHome = None,
) -> None:
    """Run the paper's fixed-budget study on three real data sets; tables show the published values too.

    All corrections, which the paper does not have, are fitted to the same subsamples.
    """
    from attenua_paper.datasets import DatasetNotAvailable
    from attenua_paper.studies.budget import QUICK, StudySettings, WorkerLost, run_study
    from attenua_paper.studies.published import GAINS
    from attenua_paper.studies.store import StoreError
    from attenua_paper.studies.study_output import write_study

    settings = replace(QUICK if quick else StudySettings(), seed=seed)
    if paper_only:
        settings = replace(settings, methods=tuple(GAINS))
    if data:
        settings = replace(
            settings, n_versions={name: settings.n_versions[name] for name in dict.fromkeys(data)}
        )
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
    except (DatasetNotAvailable, StoreError, WorkerLost) as error:
        fail(str(error))
    except KeyboardInterrupt:
        typer.echo(f"Interrupted; the same command goes on from what is stored in {out}.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    # Before anything is printed: a reader that stops early must not cost the files.
    with writing(out):
        tables, files = write_study(out)
    for table in tables.values():
        print_plain(table.to_text())
    if quick:
        full = StudySettings()
        print_plain(
            f"Quick run, not the paper's: {settings.n_subsamples} subsamples instead of "
            f"{full.n_subsamples} in each cell, and {QUICK.n_versions['optdigits']} draws of patch "
            f"locations instead of {full.n_versions['optdigits']}."
        )
    _print_written(seed, out, files)


@command(app)
def simulate(
    out: Annotated[
        Path, typer.Option(help="Folder for tables and figures; those of an earlier run are replaced.")
    ] = Path("attenua-simulations"),
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Draws everything.")] = 0,
    jobs: Jobs = "-1",
    quick: Annotated[bool, typer.Option("--quick", help="A few seconds, with far fewer samples.")] = False,
) -> None:
    """Run the paper's simulations; tables show the published values too."""
    from attenua_paper.studies.simulations import FULL, QUICK, run_simulations
    from attenua_paper.studies.simulations.simulation_tables import simulation_tables
    from attenua_paper.studies.simulations.written_files import write_simulations

    _check_folder(out)
    settings = QUICK if quick else FULL
    with progress_bar() as progress:
        task = progress.add_task("Drawing samples", total=settings.total)
        results = run_simulations(settings, seed=seed, jobs=jobs, advance=lambda n: progress.advance(task, n))
    # Before anything is printed: a reader that stops early must not cost the files.
    with writing(out):
        files = write_simulations(results, out)
    for table in simulation_tables(results).values():
        print_plain(table.to_text())
    if settings.left_out():
        print_plain(f"Quick run, not the paper's: {settings.left_out()}.")
    _print_written(seed, out, files)


def _print_written(seed: int, folder: Path, files: list[Path]) -> None:
    print_plain(f"Seed {seed}. Written to {folder}:")
    print_plain("\n".join(f"  {path.name}" for path in files))


@command(app)
def data(
    download: Annotated[bool, typer.Option("--download", help="Fetch what is missing.")] = False,
    data_home: DataHome = None,
) -> None:
    """List which of the paper's data sets are here, or fetch them."""
    from attenua_paper import datasets

    try:
        if download:
            for fetch in (datasets.fetch_optdigits, datasets.fetch_phoneme, datasets.fetch_har):
                with working(fetch.__name__.removeprefix("fetch_")):
                    fetch(data_home=data_home)
        found = datasets.status(data_home=data_home)
    except datasets.DatasetNotAvailable as error:
        fail(str(error))
    for item in found:
        if not item.present:
            state = f"not here; attenua-paper data --download fetches it, or see {item.page}"
        elif item.checked:
            state = f"{item.n_bytes:,} bytes, values as published"
        else:
            state = f"{item.n_bytes:,} bytes, NOT the published values: {item.problem}"
        print_plain(f"{item.name:<10} {item.path}\n{'':<10} {state}")
