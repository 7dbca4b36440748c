"""``attenua transform``: scores of new rows by a model that ``attenua fit`` wrote."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from attenua._data.files import refuse_existing, write_all_whole
from attenua.cli.base import EXIT_CODES, app, fail, print_plain
from attenua.cli.fitting import scores_of
from attenua.cli.options import COLUMNS_HELP, AsJson, Force
from attenua.cli.output import scores_csv, scores_npy
from attenua.cli.readers import TableError, read_table
from attenua.cli.words import dump
from attenua.model_files import ModelFileError, load_model


@app.command(epilog=EXIT_CODES)
def transform(
    model: Annotated[Path, typer.Argument(help="A model.npz that attenua fit wrote.")],
    data: Annotated[
        str, typer.Argument(help="Rows with the columns of the fit; - for CSV on standard input.")
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            "-c",
            help=f"{COLUMNS_HELP} By default those of the fit, by name where they have names.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="File for the scores: .csv or .npy; - prints CSV on standard output.")
    ] = Path("scores.csv"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the scores of rows on the components of a fitted model.

    Columns are found by name where model and data have names, in any order; others are left aside.

    For example:

    - `attenua transform attenua-fit/model.npz new.csv --out new-scores.csv`

    - `cat new.csv | attenua transform attenua-fit/model.npz - --out - | head`
    """
    to_screen = str(out) == "-"
    if not to_screen and out.suffix.lower() not in (".csv", ".npy"):
        raise typer.BadParameter(f"{out} must end in .csv or .npy, or be -.", param_hint="--out")
    if to_screen and as_json:
        raise typer.BadParameter("standard output cannot hold both scores and --json.", param_hint="--out")
    try:
        refuse_existing([] if to_screen else [out], force=force)
        estimator = load_model(model)
        names = getattr(estimator, "feature_names_in_", None)
        table = read_table(data, columns=columns, names=names, least_rows=1)
        if table.X.shape[1] != estimator.n_features_in_:
            fail(
                f"{table.source} has {table.X.shape[1]} columns of numbers, but {model} was fitted to "
                f"{estimator.n_features_in_}; choose them with --columns."
            )
        scores = scores_of(estimator, table)
        content = scores_npy(scores) if out.suffix.lower() == ".npy" else scores_csv(scores)
        if not to_screen:
            write_all_whole({out: content}, force=force)
    except (ModelFileError, TableError, FileExistsError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{out} cannot be written: {error.strerror or error}.")
    n_rows, rank = scores.shape
    if to_screen:
        sys.stdout.write(content.decode())
        return
    if as_json:
        print_plain(dump({"data": table.source, "n_rows": n_rows, "n_components": rank, "files": [str(out)]}))
    else:
        print_plain(f"{table.source}: scores of {n_rows:,} rows on {rank} components written to {out}")
