"""``attenua covariance``: the whole covariance of the columns of a file."""

from pathlib import Path
from typing import Annotated

import typer

from attenua.cli import options
from attenua.cli.base import app, command
from attenua.cli.record import print_result
from attenua.cli.request import Request, fit_rows, load_rows, settled
from attenua.cli.writing import check_targets, covariance_csv, write_files
from attenua.model_files import model_bytes


@command(app)
@options.with_options(Request, without=("k", "colour_by", "method", "corrections", "alphas"))
def covariance(
    request: Request,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The file to write, .csv; one that ends in .npz is a model for attenua impute.",
        ),
    ] = Path("covariance.csv"),
    force: options.Force = False,
) -> None:
    """Write the covariance of all columns as CSV, with corrections chosen by held-out rows.

    Prints which corrections were chosen, and what new rows gain in log-likelihood over the covariance of
    Ledoit and Wolf. The names of the columns are the first row and the first column of the file.

    For example:

    - `attenua covariance data.csv -o cov.csv`

    - `attenua covariance returns.parquet --drop date --reference earlier_returns.parquet`

    - `attenua covariance many.csv -o model.npz` (for `attenua impute few.csv --model model.npz`)
    """
    if out.suffix.lower() not in (".csv", ".npz"):
        raise typer.BadParameter(f"{out} must end in .csv or .npz.", param_hint="--out")
    check_targets([out], force=force)
    table = load_rows(request)
    request = settled(request, table)
    model = fit_rows(table, request, request.covariance)
    content = model_bytes(model) if out.suffix.lower() == ".npz" else covariance_csv(model, table)
    write_files({out: content}, force=force)
    print_result(table, model, [out], as_json=False)
