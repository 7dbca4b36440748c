"""``attenua data``: which of the paper's data sets are here."""

from typing import Annotated

import typer

from attenua.cli.base import EXIT_CODES, app, fail, print_plain, working


@app.command(epilog=EXIT_CODES)
def data(
    download: Annotated[bool, typer.Option("--download", help="Fetch what is missing.")] = False,
    data_home: Annotated[
        str | None, typer.Option(help="Folder of the data sets; else ATTENUA_DATA or the usual cache.")
    ] = None,
) -> None:
    """Say which of the paper's data sets are here, or fetch them."""
    from attenua import datasets

    try:
        if download:
            for fetch in (datasets.fetch_optdigits, datasets.fetch_phoneme, datasets.fetch_har):
                with working(fetch.__name__.removeprefix("fetch_")):
                    fetch(data_home=data_home)
        found = datasets.status(data_home=data_home)
    except datasets.DatasetNotAvailable as error:
        fail(str(error))
    for item in found:
        if not item.present:
            state = f"not here; attenua data --download fetches it, or see {item.page}"
        elif item.checked:
            state = f"{item.n_bytes:,} bytes, values as published"
        else:
            state = f"{item.n_bytes:,} bytes, NOT the published values: {item.problem}"
        print_plain(f"{item.name:<10} {item.path}\n{'':<10} {state}")
