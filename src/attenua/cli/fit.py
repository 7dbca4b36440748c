"""``attenua fit``: fit a file, and write components, scores and model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from attenua.cli import options
from attenua.cli.base import app, command
from attenua.cli.record import print_result
from attenua.cli.request import (
    Request,
    fit_rows,
    load_rows,
    noting,
    refuse_options_of_other_methods,
    scores_of,
    settled,
)
from attenua.cli.writing import (
    check_targets,
    components_csv,
    explained_csv,
    refuse_file,
    scores_csv,
    write_files,
)
from attenua.model_files import model_bytes

_FILES = ("components.csv", "explained_variance.csv", "scores.csv", "model.npz")


@command(app)
@options.with_options(Request)
def fit(
    request: Request,
    context: typer.Context,
    out: options.OutFolder = Path("attenua-fit"),
    report: Annotated[
        bool, typer.Option("--report", help="Also write report.html, a page that explains the result.")
    ] = False,
    image_shape: options.ImageShape = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Fit PCA with corrections chosen by held-out rows; write components, scores and model.

    Prints which corrections were chosen, how much of PCA's held-out risk they remove and how certain that
    is. Writes components.csv, explained_variance.csv, scores.csv and model.npz: all of them, or none. The
    result may be ordinary PCA.

    For example:

    - `attenua fit data.csv -k auto`

    - `attenua fit data.parquet -k 3 --columns height:weight,age --group-column subject --out fitted`

    - `attenua fit faces.npy -k 10 --neighbours 64x64`

    - `attenua fit patients.csv -k 5 --reference earlier_patients.csv`

    - `attenua fit data.csv --method attenuated --alphas mask`

    - `attenua fit samples.csv.gz -k 5 --id-column sample --drop batch,age --missing mean`

    - `cat data.csv | attenua fit - -k 5 --json`

    - `attenua fit --report` (the built-in digits, with a report)
    """
    refuse_options_of_other_methods(context, request.method)
    if request.reading.colour_by is not None and not report:
        raise typer.BadParameter("it colours the rows in the report; add --report.", param_hint="--colour-by")
    if image_shape is not None and not report:
        raise typer.BadParameter("it shows rows in the report; add --report.", param_hint="--image-shape")
    targets = [out / name for name in _FILES]
    targets += [out / "report.html"] if report else []
    refuse_file(out)
    check_targets(targets, force=force, make_folders=True)
    table = load_rows(request)
    request = settled(request, table)
    model = fit_rows(table, request)
    with noting(new_rows=False):
        scores = scores_csv(scores_of(model, table), table)
    contents: list[Any] = [components_csv(model, table), explained_csv(model), scores, model_bytes(model)]
    if report:
        from attenua.cli.report import page_of

        contents.append(page_of(model, table, request, image_shape))
    write_files(dict(zip(targets, contents, strict=True)), force=force, make_folders=True)
    print_result(table, model, targets, as_json=as_json)
