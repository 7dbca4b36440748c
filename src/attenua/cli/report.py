"""``attenua report``: one page about a fit."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from attenua.cli import options
from attenua.cli.base import app, command, fail, working
from attenua.cli.options import Method
from attenua.cli.readers import Table
from attenua.cli.record import print_result
from attenua.cli.request import (
    METHODS_OF_OPTIONS,
    Request,
    fit_rows,
    flag_of,
    in_options,
    load_rows,
    reading_of_reference,
    refuse_options_of_a_fit,
    refuse_options_of_other_methods,
    settled,
)
from attenua.cli.writing import check_targets, write_files
from attenua.model_files import ModelFileError, load_model


@command(app)
@options.with_options(Request)
def report(
    request: Request,
    context: typer.Context,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A model.npz that attenua fit wrote on these rows, instead of a new fit."
        ),
    ] = None,
    image_shape: options.ImageShape = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")] = Path(
        "report.html"
    ),
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Write a page that says whether to correct PCA on these rows, how much it helps, and why.

    The page is one HTML file that opens without a network. It fits the rows as `attenua fit` does, or shows
    a model that was fitted to them before.

    For example:

    - `attenua report data.csv -k 5`

    - `attenua report faces.npy -k 10 --neighbours 64x64 --out faces.html`

    - `attenua report patients.csv -k 5 --reference earlier_patients.csv`

    - `attenua report data.csv -k 5 --method attenuated`

    - `attenua report patients.xlsx -k 3 --id-column patient --colour-by diagnosis`

    - `attenua report data.csv --model attenua-fit/model.npz`

    - `attenua report` (the built-in digits)
    """
    if model is not None:
        refuse_options_of_a_fit(context)
    refuse_options_of_other_methods(context, request.method)
    if out.suffix.lower() != ".html":
        raise typer.BadParameter(f"{out} must end in .html.", param_hint="--out")
    check_targets([out], force=force)
    if model is None:
        table = load_rows(request)
        request = settled(request, table)
        fitted = fit_rows(table, request)
    else:
        try:
            fitted = load_model(model)
        except ModelFileError as error:
            fail(str(error))
        table = load_rows(request, getattr(fitted, "feature_names_in_", None))
    write_files({out: page_of(fitted, table, request, image_shape, model)}, force=force)
    print_result(table, fitted, [out], as_json=as_json)


def page_of(
    fitted: Any, table: Table, request: Request, image_shape: Any, model: Path | None = None
) -> bytes:
    """Return the page, or fail with a sentence."""
    try:
        from attenua.report import report as make_report

        with working("Making the report"):
            page = make_report(
                fitted,
                table.X,
                image_shape=image_shape,
                feature_names=table.names,
                groups=table.groups,
                colour_by=table.colours,
                colour_name=request.reading.colour_by,
                row_names=table.ids,
                source=table.source if request.file in (None, "-") else Path(request.file).name,
                code=_code(request, table, image_shape, model),
            )
    except ImportError as error:
        fail(str(error))
    except ValueError as error:
        fail(f"{table.source}: {in_options(str(error))}")
    return page.html.encode()


def _code(request: Request, table: Table, image_shape: Any, model: Path | None) -> str:
    """Return the command that makes the page again and, where the rows are in a file, the same in Python."""
    command = ["attenua", "report", *([request.file] if request.file else [])]
    command += request.reading.as_options()
    command += ["--model", str(model)] if model is not None else _fit_options(request)
    if image_shape is not None:
        command += ["--image-shape", f"{image_shape[0]}x{image_shape[1]}"]
    shell = shlex.join(command) + "\n"
    if request.file in (None, "-") or model is not None:
        return shell
    shape = "" if image_shape is None else f", image_shape={tuple(image_shape)!r}"
    name = request.estimator_class.__name__
    parameters = "".join(f", {key}={value!r}" for key, value in request.parameters.items())
    groups = "" if request.method is Method.PCA else ", groups=table.groups"
    colour = request.reading.colour_by
    reads_reference = borrows = ""
    if request.reference is not None:
        reading = reading_of_reference(request, table).as_code()
        reads_reference = f"reference = read_table({request.reference!r}{reading}, names=table.names).X\n"
        borrows = ", reference=reference"
    coloured = f", colour_by=table.colours, colour_name={colour!r}" if colour else ""
    return (
        f"{shell}\n"
        "# or, in Python:\n"
        f"from attenua import {name}\n"
        "from attenua.cli.readers import read_table\n"
        "from attenua.report import report\n\n"
        f"table = read_table({request.file!r}{request.reading.as_code()})\n"
        f"{reads_reference}model = {name}({request.k}{parameters}{borrows})\n"
        f"model.fit(table.X{groups})\n"
        'report(model, table.X, "report.html", feature_names=table.names, groups=table.groups, '
        f"row_names=table.ids{coloured}{shape})\n"
    )


def _fit_options(request: Request) -> list[str]:
    """Return the options for the same fit."""
    options = ["-k", str(request.k), "--method", request.method]
    for name, methods in METHODS_OF_OPTIONS.items():
        value, separator = getattr(request, name), "x" if name == "neighbours" else ","
        if request.method not in methods or value is None:
            continue
        if isinstance(value, bool):
            options.append(flag_of(name if value else f"no_{name}"))
        else:
            several = isinstance(value, list | tuple)
            options += [flag_of(name), separator.join(map(str, value)) if several else str(value)]
    return options
