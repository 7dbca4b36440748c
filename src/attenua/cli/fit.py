"""``attenua fit``: choose a strength for a file and write components, scores and model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from attenua._data.files import refuse_existing, write_all_whole
from attenua.cli.base import EXIT_CODES, app, fail, print_plain
from attenua.cli.fitting import Request, as_record, describe, dump, fit_rows, load_rows, scores_of
from attenua.cli.options import (
    Alphas,
    AsJson,
    Columns,
    File,
    Folds,
    Force,
    GroupColumn,
    ImageShape,
    OutFolder,
    Rank,
    Repeats,
    Seed,
)
from attenua.cli.output import components_csv, scores_csv
from attenua.model_files import model_bytes
from attenua.paired import paired_gain


@app.command(epilog=EXIT_CODES)
def fit(
    file: File = None,
    k: Rank = "5",
    columns: Columns = None,
    group_column: GroupColumn = None,
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
    """Choose a strength by cross-validation; write components, scores and model.

    Says which strength was chosen, how much held-out risk it removes against PCA and how sure that is, and
    writes components.csv, scores.csv and model.npz: all of them, or none.

    For example:

    - `attenua fit data.csv -k 5`

    - `attenua fit data.parquet -k 3 --columns height:weight,age --group-column subject --out fitted`

    - `zcat data.csv.gz | attenua fit - -k 5 --json`

    - `attenua fit --report` (the built-in digits, with a report)
    """
    request = Request(file, columns, group_column, k, alphas, cv, repeats, seed)
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
    paired = paired_gain(model)
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
        print_plain(
            dump(as_record(table, model, paired, request) | {"files": [str(path) for path in targets]})
        )
    else:
        print_plain(describe(table, model, paired))
        print_plain("Written: " + ", ".join(str(path) for path in targets))
