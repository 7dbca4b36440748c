"""``attenua impute``: the empty cells of a file, filled."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
import typer

from attenua import CorrectedCovariance
from attenua._estimate.words import counted
from attenua.cli import options
from attenua.cli.base import app, command, fail, print_plain
from attenua.cli.readers import Table, TableError
from attenua.cli.readers.formats import TEXTS
from attenua.cli.readers.reading import not_finite
from attenua.cli.record import dump
from attenua.cli.request import (
    Request,
    fit_rows,
    flags_in_words,
    load_rows,
    noting,
    refuse_options_of_a_fit,
    settled,
)
from attenua.cli.writing import (
    arrow_bytes,
    check_targets,
    deviations_csv,
    npy_bytes,
    write_files,
)
from attenua.model_files import ModelFileError, load_model

_ENDINGS = (*TEXTS, ".parquet", ".feather", ".npy")
# Options of other commands.
_WITHOUT = ("file", "k", "colour_by", "missing", "method", "corrections", "alphas")


@command(app)
@options.with_options(Request, without=_WITHOUT)
def impute(
    request: Request,
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Rows with empty cells, in any format of fit; - is CSV on standard input."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help=f"The file to write: {', '.join(_ENDINGS)}.",
            show_default=False,
        ),
    ],
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Fill the cells by this covariance, which attenua covariance -o model.npz wrote, instead of "
            "one that is fitted to FILE.",
        ),
    ] = None,
    std: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV", help="Also write the standard deviations of the filled cells: one line for each."
        ),
    ] = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Fill the empty cells of a file, given the other cells of their rows.

    Fits the covariance of the columns to the file itself (as `attenua covariance` does, with corrections
    chosen by held-out rows), or takes that of a model, and writes the file with each missing cell at its mean
    given the others. All else stays: other columns, the order, and in CSV each byte of the other cells. A
    .npy file holds the numbers alone.

    For example:

    - `attenua impute data.csv -o filled.csv`

    - `attenua impute survey.csv --id-column person --drop town --na -999 -o filled.csv --std deviations.csv`

    - `attenua impute new.parquet --model model.npz -o filled.parquet`
    """
    if model is not None:
        refuse_options_of_a_fit(context)
    if out.suffix.lower() not in _ENDINGS:
        raise typer.BadParameter(f"{out} must end in {', '.join(_ENDINGS)}.", param_hint="--out")
    if std is not None and (std.suffix.lower() != ".csv" or os.path.realpath(std) == os.path.realpath(out)):
        raise typer.BadParameter(
            f"{std} must end in .csv, and be another file than --out.", param_hint="--std"
        )
    targets = [out, *([] if std is None else [std])]
    for target in targets:
        check_targets([target], force=force)
    table, fitted = _fitted(replace(request, file=data), model)
    with noting(new_rows=model is not None):
        filled, deviations = fitted.impute(table.X, return_std=True)
    filled = filled.toarray() if sp.issparse(filled) else filled
    rows, columns, _ = not_finite(table.X)
    contents = [_content(out, table, filled, rows, columns)]
    if std is not None:
        values = filled[rows, columns], deviations[rows, columns]
        contents.append(deviations_csv(zip(rows, columns, *values, strict=True), table))
    write_files(dict(zip(targets, contents, strict=True)), force=force)
    _print_answer(table, fitted, rows, columns, targets, as_json=as_json)


def _fitted(request: Request, model: Path | None) -> tuple[Table, CorrectedCovariance]:
    """Return the rows, and a covariance that is fitted to them or read from a file."""
    if model is None:
        table = load_rows(request, keep_file=True)
        request = settled(request, table)
        return table, fit_rows(table, request, request.covariance)
    try:
        fitted = load_model(model)
    except ModelFileError as error:
        fail(str(error))
    if not isinstance(fitted, CorrectedCovariance):
        fail(
            f"{model} holds a {type(fitted).__name__}, and cells are filled by a CorrectedCovariance, which "
            "attenua covariance -o model.npz writes."
        )
    names = getattr(fitted, "feature_names_in_", None)
    return load_rows(request, names, means=fitted.location_, least_rows=1, keep_file=True), fitted


def _content(out: Path, table: Table, filled: Any, rows: Any, columns: Any) -> bytes:
    """Return the file with its missing cells filled, in the format of the output."""
    assert table.file is not None
    (source, positions), ending = table.file, out.suffix.lower()
    if ending == ".npy":
        matrix = source.filled_matrix(positions, filled)
        return npy_bytes(matrix.reshape(-1, *source.grid) if source.grid else matrix)
    try:
        text = None
        if ending in TEXTS:
            text = source.text_with(rows, np.array(positions)[columns], filled[rows, columns])
        return arrow_bytes(source.filled(positions, table.X, filled), ending) if text is None else text
    except TableError as error:
        fail(str(error))


def _print_answer(
    table: Table, model: Any, rows: Any, columns: Any, files: list[Path], *, as_json: bool
) -> None:
    (n, p), (n_rows, n_columns) = table.X.shape, (len(np.unique(places)) for places in (rows, columns))
    if as_json:
        filled = {"n_filled": len(rows), "n_rows_filled": n_rows, "n_columns_filled": n_columns}
        record = {"data": table.source, "n_rows": n, "n_columns": p, **filled, "verdict": model.verdict_}
        print_plain(dump(record | {"notes": list(table.notes), "files": [str(path) for path in files]}))
        return
    where = f"in {n_rows:,} of {counted(n, 'row')} and {n_columns:,} of {counted(p, 'column')}"
    what = f"{counted(len(rows), 'cell')} filled, {where}" if len(rows) else "no cell is missing"
    verdict = flags_in_words(model.verdict_)
    print_plain(f"{verdict}\n{table.source}: {what}.\nWritten: {', '.join(map(str, files))}")
