"""How a file is to be read: the options that fit, report and transform share."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Annotated, Any, Self

import typer

from attenua.cli.base import warn
from attenua.cli.readers import Table, read_table

COLUMNS_HELP = (
    "Columns to use: names, positions from 1, or ranges such as a:c, 2: and :5, separated by commas."
)


class Missing(StrEnum):
    """What to do with missing cells."""

    FAIL = "fail"
    DROP_ROWS = "drop-rows"
    MEAN = "mean"


class Decimal(StrEnum):
    """The sign before decimals."""

    POINT = "."
    COMMA = ","


Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        "-c",
        help=f"{COLUMNS_HELP} May be repeated. By default all that no other option takes.",
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", help="Columns to leave out, written as for --columns.")
]
GroupColumn = Annotated[
    str | None,
    typer.Option(help="Column that labels rows which belong together; they are never split."),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        help="Column that names the rows: the first column of scores.csv. By default the index of parquet "
        "and feather, and obs_names of h5ad."
    ),
]
ColourBy = Annotated[
    str | None,
    typer.Option(
        "--colour-by", help="Column, of texts or numbers, that colours the rows in the report's pictures."
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row of a text or sheet is a header. By default it is if it holds a text, or "
        "numbers such as wavelengths that are unlike the rows below.",
        show_default=False,
    ),
]
DecimalSign = Annotated[
    Decimal | None,
    typer.Option("--decimal", help="The decimal sign of a text. By default found in the first rows."),
]
MissingCells = Annotated[
    Missing,
    typer.Option(
        "--missing",
        help="With missing cells (empty, or a word such as NA, NaN, null, None): fail, leave out their rows, "
        "or fill them with the means of their columns.",
    ),
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file. By default the first.")]


@dataclass(frozen=True)
class Reading:
    """How a file is to be read; fields are called as the parameters of `read_table` and the options are."""

    columns: list[str] | None = None
    drop: list[str] | None = None
    group_column: str | None = None
    id_column: str | None = None
    colour_by: str | None = None
    header: bool | None = None
    decimal: str | None = None
    missing: str = "fail"
    sheet: str | None = None

    @classmethod
    def of(cls, context: typer.Context) -> Self:
        """Return what a command line asks for."""
        given = {field.name: context.params.get(field.name) for field in fields(cls)}
        lists = {name: list(given[name] or ()) or None for name in ("columns", "drop")}
        texts = {name: given[name] and str(given[name]) for name in ("decimal", "missing")}
        return cls(**given | lists | texts)

    @property
    def given(self) -> dict[str, Any]:
        """What differs from the defaults."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}

    def read(self, file: str, **more: Any) -> Table:
        """Read a file, and say what was assumed."""
        table = read_table(file, **self.given, **more)
        for note in table.notes:
            warn(f"{table.source}: {note}")
        return table

    def as_options(self) -> list[str]:
        """Return the options of a command line that asks for the same."""
        options = []
        for name, value in self.given.items():
            flag = f"--{name.replace('_', '-')}"
            if name == "header":
                options.append(flag if value else "--no-header")
                continue
            for text in value if isinstance(value, list) else [value]:
                options += [flag, text]
        return options

    def as_code(self) -> str:
        """Return the arguments of `read_table` that ask for the same."""
        return "".join(f", {name}={value!r}" for name, value in self.given.items())
