"""``attenua fit``: fit a file, and write components, scores and model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from attenua._estimate.words import described
from attenua.cli.base import EXIT_CODES, app, print_plain
from attenua.cli.fitting import fit_rows, load_rows, scores_of
from attenua.cli.methods import Method, Request, refuse_options_of_other_methods
from attenua.cli.options import (
    Alphas,
    AsJson,
    Corrections,
    File,
    Folds,
    Force,
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
from attenua.cli.reading import (
    ColourBy,
    Columns,
    DecimalSign,
    Drop,
    GroupColumn,
    Header,
    IdColumn,
    Missing,
    MissingCells,
    Reading,
    Sheet,
)
from attenua.cli.record import as_record, dump
from attenua.cli.writing import check_targets, refuse_file, write_files
from attenua.model_files import model_bytes


@app.command(epilog=EXIT_CODES)
def fit(
    context: typer.Context,
    file: File = None,
    k: Rank = "5",
    columns: Columns = None,
    drop: Drop = None,
    group_column: GroupColumn = None,
    id_column: IdColumn = None,
    colour_by: ColourBy = None,
    header: Header = None,
    decimal: DecimalSign = None,
    missing: MissingCells = Missing.FAIL,
    sheet: Sheet = None,
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

    - `attenua fit samples.csv.gz -k 5 --id-column sample --drop batch,age --missing mean`

    - `cat data.csv | attenua fit - -k 5 --json`

    - `attenua fit --report` (the built-in digits, with a report)
    """
    refuse_options_of_other_methods(context, method)
    # The options from --columns to --sheet go together.
    reading = Reading.of(context)
    request = Request(file, reading, k, method, corrections, neighbours, guard, alphas, cv, repeats, seed)
    targets = [out / name for name in ("components.csv", "scores.csv", "model.npz")]
    targets += [out / "report.html"] if report else []
    refuse_file(out)
    check_targets(targets, force=force, make_folders=True)
    table = load_rows(request)
    model = fit_rows(table, request)
    contents: list[Any] = [
        components_csv(model, table),
        scores_csv(scores_of(model, table), table),
        model_bytes(model),
    ]
    if report:
        from attenua.cli.report import page_of

        contents.append(page_of(model, table, request, image_shape))
    write_files(dict(zip(targets, contents, strict=True)), force=force, make_folders=True)
    if as_json:
        print_plain(dump(as_record(table, model) | {"files": [str(path) for path in targets]}))
    else:
        print_plain(described(table.source, model))
        print_plain("Written: " + ", ".join(str(path) for path in targets))
