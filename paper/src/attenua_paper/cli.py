"""The commands of ``attenua-paper``: the study, the simulations, and the data they need."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from joblib import cpu_count

from attenua.cli.output import (
    EXIT_CODES,
    INTERRUPTED,
    check_folder,
    check_parent,
    fail,
    print_plain,
    progress,
    working,
    writing,
)

_LARGEST_SEED = 2**32 - 1  # of numpy's legacy generator


def _check_folder(folder: Path) -> None:
    """Create an output folder, or fail with a sentence if files cannot be written there."""
    check_folder(folder, force=True)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    check_parent(folder, folder)


def _parse_jobs(context: Any, parameter: Any, text: str) -> int:
    """Return how many processes or threads to use; -1 is one per core."""
    cores = cpu_count()
    most = 8 * cores
    try:
        jobs = cores if int(text) == -1 else int(text)
    except ValueError:
        jobs = 0
    if not 1 <= jobs <= most:
        raise click.BadParameter(f"{text} is neither -1, one per core, nor a number from 1 to {most}.")
    return jobs


_OUT = "Folder of results, tables and figures; an interrupted study goes on there."
_QUICK = click.option("--quick", is_flag=True, help="A minute at most, with far fewer samples.")
_JOBS_HELP = "How many to compute at a time; -1 is one per core. Results do not depend on it."
_JOBS = click.option("--jobs", default="-1", metavar="N", callback=_parse_jobs, help=_JOBS_HELP)
_HOME = click.option("--data-home", help="Folder of the data sets; else ATTENUA_DATA or the usual cache.")


def _out(default: str) -> Any:
    return click.option(
        "--out", type=click.Path(path_type=Path), default=default, show_default=True, help=_OUT
    )


def _seed(default: int) -> Any:
    kind = click.IntRange(0, _LARGEST_SEED)
    return click.option("--seed", type=kind, default=default, show_default=True, help="Draws everything.")


@click.group(epilog=EXIT_CODES)
def app() -> None:
    """Compute the numbers, tables and figures of the paper on diagonal attenuation."""


@app.command()
@_out("attenua-study")
@_seed(2026)
@_JOBS
@_QUICK
@click.option("--paper-only", is_flag=True, help="Only the paper's methods.")
@click.option(
    "--data", type=click.Choice(["optdigits", "phoneme", "har"]), multiple=True, help="Only these data sets."
)
@_HOME
def study(
    out: Path,
    seed: int,
    jobs: int,
    quick: bool,
    paper_only: bool,
    data: tuple[str, ...],
    data_home: str | None,
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
    check_folder(out, force=True)
    try:
        with progress("Subsamples", total=1) as bar:

            def begin(done: int, total: int) -> None:
                bar.length = total
                bar.update(done)

            run_study(
                settings, out, data_home=data_home, n_jobs=jobs, begin=begin, advance=lambda: bar.update(1)
            )
    except (DatasetNotAvailable, StoreError, WorkerLost) as error:
        fail(str(error))
    except KeyboardInterrupt:
        click.echo(f"Interrupted; the same command goes on from what is stored in {out}.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
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


@app.command()
@_out("attenua-simulations")
@_seed(0)
@_JOBS
@_QUICK
def simulate(out: Path, seed: int, jobs: int, quick: bool) -> None:
    """Run the paper's simulations; tables show the published values too."""
    from attenua_paper.studies.simulations import FULL, QUICK, run_simulations
    from attenua_paper.studies.simulations.simulation_tables import simulation_tables
    from attenua_paper.studies.simulations.written_files import write_simulations

    _check_folder(out)
    settings = QUICK if quick else FULL
    with progress("Drawing samples", total=settings.total) as bar:
        results = run_simulations(settings, seed=seed, jobs=jobs, advance=bar.update)
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


@app.command()
@click.option("--download", is_flag=True, help="Fetch what is missing.")
@_HOME
def data(download: bool, data_home: str | None) -> None:
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
