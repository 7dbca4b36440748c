"""``attenua simulate``: the paper's simulations."""

from pathlib import Path
from typing import Annotated

import typer

from attenua._extras import how_to_install
from attenua.cli.base import EXIT_CODES, app, fail, print_plain, progress_bar
from attenua.cli.options import LARGEST_SEED, Jobs
from attenua.cli.writing import check_folder, writing


@app.command(epilog=EXIT_CODES)
def simulate(
    out: Annotated[
        Path, typer.Option(help="Folder for tables and figures; those of an earlier run are replaced.")
    ] = Path("attenua-simulations"),
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Draws everything.")] = 0,
    jobs: Jobs = "-1",
    quick: Annotated[bool, typer.Option("--quick", help="A few seconds, with far fewer samples.")] = False,
) -> None:
    """Run the paper's simulations and show what comes out beside what the paper prints."""
    try:
        from attenua.studies.simulations import FULL, QUICK, run_simulations
        from attenua.studies.simulations.output import write_simulations
        from attenua.studies.simulations.tables import simulation_tables
    except ModuleNotFoundError as error:
        fail(f"attenua simulate needs {error.name}: {how_to_install('plot,study')}.")

    check_folder(out)
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
    print_plain(f"Seed {seed}. Written to {out}:")
    print_plain("\n".join(f"  {path.name}" for path in files))
