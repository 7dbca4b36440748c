"""``attenua fit``: fit a file, and write components, scores and model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from attenua._data.files import refuse_existing, write_all_whole
from attenua.cli.base import EXIT_CODES, app, fail, print_plain
from attenua.cli.fitting import fit_rows, load_rows, scores_of
from attenua.cli.methods import Method, Request, refuse_options_of_other_methods
from attenua.cli.options import (
    Alphas,
    AsJson,
    Columns,
    Corrections,
    File,
    Folds,
    Force,
    GroupColumn,
    Guard,
    ImageShape,
    MethodOption,
    Neighbours,
    OutFolder,
    Rank,
    Repeats,
    Seed,
)
from attenua.cli.output import components_csv, scores_csv
from attenua.cli.words import as_record, describe, dump
from attenua.model_files import model_bytes


@app.command(epilog=EXIT_CODES)
def fit(
    context: typer.Context,
    file: File = None,
    k: Rank = "5",
    columns: Columns = None,
    group_column: GroupColumn = None,
    method: MethodOption = Method.CORRECTED,
    corrections: Corrections = "auto",
    neighbours: Neighbours = None,
    guard: Guard = 1.0,
    alphas: Alphas = "direct",
    cv: Folds = 5,
    repeats: Repeats = 1,
    seed: Seed = 0,
    out: OutFolder = Path("attenua-fit"),
    report: Annotated[
        bool, typer.Option("--report", help="Also write report.html, a page that explains the choice.")
    ] = False,
    image_shape: ImageShape = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Fit PCA with the corrections that held-out rows choose; write components, scores and model.

    Says which corrections were taken, how much of PCA's held-out risk they remove and how sure that is, and
    writes components.csv, scores.csv and model.npz: all of them, or none. Ordinary PCA is a normal answer.

    For example:

    - `attenua fit data.csv -k 5`

    - `attenua fit data.parquet -k 3 --columns height:weight,age --group-column subject --out fitted`

    - `attenua fit faces.npy -k 10 --neighbours 64x64`

    - `attenua fit data.csv --method attenuated --alphas mask`

    - `zcat data.csv.gz | attenua fit - -k 5 --json`

    - `attenua fit --report` (the built-in digits, with a report)
    """
    refuse_options_of_other_methods(context, method)
    request = Request(
        file, columns, group_column, k, method, corrections, neighbours, guard, alphas, cv, repeats, seed
    )
    targets = [out / name for name in ("components.csv", "scores.csv", "model.npz")]
    targets += [out / "report.html"] if report else []
    if out.exists() and not out.is_dir():
        fail(f"{out} is a file; --out takes the name of a folder.")
    try:
        # Before the work, so that nobody waits for a result that cannot be written.
        refuse_existing(targets, force=force)
    except FileExistsError as error:
        fail(str(error))
    table = load_rows(request)
    model = fit_rows(table, request)
    contents: list[Any] = [
        components_csv(model, table.names),
        scores_csv(scores_of(model, table)),
        model_bytes(model),
    ]
    if report:
        from attenua.cli.report import page_of

        contents.append(page_of(model, table, request, image_shape))
    try:
        write_all_whole(dict(zip(targets, contents, strict=True)), force=force, make_folders=True)
    except OSError as error:
        fail(str(error) if isinstance(error, FileExistsError) else f"{out} cannot be written to: {error}.")
    if as_json:
        print_plain(dump(as_record(table, model) | {"files": [str(path) for path in targets]}))
    else:
        print_plain(describe(table, model))
        print_plain("Written: " + ", ".join(str(path) for path in targets))
