"""``attenua simulate``: the paper's simulations."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from attenua._data.extras import how_to_install
from attenua.cli.base import app, console, print_plain


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
        sys.exit(f"attenua simulate needs {error.name}: {how_to_install('plot,study')}.")
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
        print_plain(table.to_text())
    if settings.left_out():
        print_plain(f"Quick run, not the paper's: {settings.left_out()}.")
    print_plain(f"Seed {seed}. Written to {out}:")
    print_plain("\n".join(f"  {path.name}" for path in write_simulations(results, out)))
