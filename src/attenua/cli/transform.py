"""``attenua transform``: scores of new rows on the components of a fitted model."""

from pathlib import Path
from typing import Annotated

import typer

from attenua._estimate.words import counted
from attenua.cli import options
from attenua.cli.base import app, command, fail, print_plain
from attenua.cli.readers import TableError
from attenua.cli.record import dump
from attenua.cli.request import noting, scores_of
from attenua.cli.writing import check_targets, npy_bytes, scores_csv, write_files
from attenua.model_files import ModelFileError, load_model


@command(app)
def transform(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model.npz written by attenua fit.")],
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
            metavar="COLUMNS",
            help=f"{options.COLUMNS_HELP} By default those of the fit, by name where they have names.",
        ),
    ] = None,
    drop: options.Drop = None,
    id_column: options.IdColumn = None,
    header: options.Header = None,
    decimal: options.DecimalSign = None,
    encoding: options.EncodingName = None,
    missing: Annotated[
        options.Missing,
        typer.Option(
            "--missing",
            metavar="WAY",
            rich_help_panel=options.FILE,
            help="What to do with missing cells: keep them, which the model fills given the other cells of "
            "their row; fail; drop-rows, which drops their rows; or mean, which fills them with the means of "
            "the model (its mean_), not of these rows.",
        ),
    ] = options.Missing.KEEP,
    na: options.NaCodes = None,
    sheet: options.Sheet = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File for the scores: .csv or .npy; - prints CSV to standard output.",
        ),
    ] = Path("scores.csv"),
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Write the scores of rows on the components of a fitted model.

    If model and data both have column names, columns are matched by name, in any order, and extra columns are
    ignored. Row names (--id-column) become the first column of a .csv file; .npy holds the scores alone.

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
    reading = options.Reading(
        columns,
        drop,
        id_column=id_column,
        header=header,
        decimal=decimal,
        encoding=encoding,
        missing=missing,
        na=na,
        sheet=sheet,
    )
    try:
        estimator = load_model(model)
        if not hasattr(estimator, "components_"):
            fail(f"{model} holds a {type(estimator).__name__}, which gives rows no scores.")
        names = getattr(estimator, "feature_names_in_", None)
        table = reading.read(data, names=names, means=estimator.mean_, least_rows=1)
    except (ModelFileError, TableError) as error:
        fail(str(error))
    with noting():
        scores = scores_of(estimator, table)
    content = npy_bytes(scores) if out.suffix.lower() == ".npy" else scores_csv(scores, table)
    if to_screen:
        typer.echo(content, nl=False)  # as bytes: exactly what a file would hold
        return
    write_files({out: content}, force=force)
    n_rows, rank = scores.shape
    if as_json:
        record = {"data": table.source, "n_rows": n_rows, "n_components": rank, "notes": list(table.notes)}
        print_plain(dump(record | {"files": [str(out)]}))
    else:
        size = f"{counted(n_rows, 'row')} on {counted(rank, 'component')}"
        print_plain(f"{table.source}: scores of {size} written to {out}")
