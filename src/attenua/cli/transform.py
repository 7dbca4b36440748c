"""``attenua transform``: scores of new rows by a model that ``attenua fit`` wrote."""

from pathlib import Path
from typing import Annotated

import typer

from attenua._estimate.words import counted
from attenua.cli.base import EXIT_CODES, app, fail, print_plain
from attenua.cli.fitting import scores_of
from attenua.cli.options import AsJson, Force
from attenua.cli.output import scores_csv, scores_npy
from attenua.cli.readers import TableError
from attenua.cli.reading import (
    COLUMNS_HELP,
    DecimalSign,
    Drop,
    Header,
    IdColumn,
    Missing,
    Reading,
    Sheet,
)
from attenua.cli.record import dump
from attenua.cli.writing import check_targets, write_files
from attenua.model_files import ModelFileError, load_model


@app.command(epilog=EXIT_CODES)
def transform(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model.npz that attenua fit wrote.")],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Rows with the columns of the fit, in any format of fit; - is CSV on standard input.",
        ),
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            "-c",
            help=f"{COLUMNS_HELP} By default those of the fit, by name where they have names.",
        ),
    ] = None,
    drop: Drop = None,
    id_column: IdColumn = None,
    header: Header = None,
    decimal: DecimalSign = None,
    missing: Annotated[
        Missing,
        typer.Option(
            "--missing",
            help="With missing cells: fail, leave out their rows, or fill them with the means of the model "
            "(its mean_), not those of these rows.",
        ),
    ] = Missing.FAIL,
    sheet: Sheet = None,
    out: Annotated[
        Path, typer.Option(help="File for the scores: .csv or .npy; - prints CSV on standard output.")
    ] = Path("scores.csv"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the scores of rows on the components of a fitted model.

    Columns are found by name where model and data have names, in any order; others are left aside. Names of
    the rows (--id-column) are the first column of the scores in .csv; .npy holds the scores alone.

    For example:

    - `attenua transform attenua-fit/model.npz new.csv --out new-scores.csv`

    - `cat new.csv | attenua transform attenua-fit/model.npz - --out - | head`
    """
    to_screen = str(out) == "-"
    if not to_screen and out.suffix.lower() not in (".csv", ".npy"):
        raise typer.BadParameter(f"{out} must end in .csv or .npy, or be -.", param_hint="--out")
    if to_screen and as_json:
        raise typer.BadParameter("standard output cannot hold both scores and --json.", param_hint="--out")
    if not to_screen:
        check_targets([out], force=force)
    try:
        estimator = load_model(model)
        names = getattr(estimator, "feature_names_in_", None)
        table = Reading.of(context).read(data, names=names, means=estimator.mean_, least_rows=1)
    except (ModelFileError, TableError) as error:
        fail(str(error))
    scores = scores_of(estimator, table)
    content = scores_npy(scores) if out.suffix.lower() == ".npy" else scores_csv(scores, table)
    if to_screen:
        typer.echo(content, nl=False)  # as bytes: the same as in a file, whatever the terminal can show
        return
    write_files({out: content}, force=force)
    n_rows, rank = scores.shape
    if as_json:
        record = {"data": table.source, "n_rows": n_rows, "n_components": rank, "notes": list(table.notes)}
        print_plain(dump(record | {"files": [str(out)]}))
    else:
        size = f"{counted(n_rows, 'row')} on {counted(rank, 'component')}"
        print_plain(f"{table.source}: scores of {size} written to {out}")
