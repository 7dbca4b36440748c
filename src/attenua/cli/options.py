"""The options that commands share, and how their texts are parsed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from attenua._correct.registry import CORRECTIONS
from attenua.cli.base import warn
from attenua.cli.readers import Table, TableError, read_table
from attenua.cli.readers.codes import code_as_text

COLUMNS_HELP = "Columns to use, written as for --drop."
# The largest seed of numpy's legacy generator.
LARGEST_SEED = 2**32 - 1
AUTO = "auto"


class Method(StrEnum):
    """What to fit."""

    CORRECTED = "corrected"
    ATTENUATED = "attenuated"
    PCA = "pca"


class Missing(StrEnum):
    """What to do with missing cells."""

    KEEP = "keep"
    FAIL = "fail"
    DROP_ROWS = "drop-rows"
    MEAN = "mean"


class Decimal(StrEnum):
    """The decimal sign."""

    POINT = "."
    COMMA = ","


def parse_rank(text: str) -> int | float | str:
    """Return a number of components, a share of the variance strictly between 0 and 1, or auto."""
    if text == AUTO:
        return text
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if 0 < number < 1:
        return number
    if number >= 1 and number.is_integer():
        return int(number)
    raise typer.BadParameter(
        f"{text!r} is neither a number of components (1, 2, ...) nor a share of the variance below 1, nor "
        f"{AUTO}."
    )


def parse_seed(text: str) -> int:
    """Return a whole number that can start numpy's generator."""
    if text.isascii() and text.isdigit() and int(text) <= LARGEST_SEED:
        return int(text)
    raise typer.BadParameter(f"{text!r} is not a whole number from 0 to {LARGEST_SEED}.")


def parse_alphas(text: str) -> Any:
    """Return a named grid of strengths, or a list of them."""
    if text in ("direct", "mask"):
        return text
    try:
        numbers = [float(item) for item in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(0 <= number <= 1 for number in numbers):
        raise typer.BadParameter(
            f"{text!r} is neither 'direct' nor 'mask' nor numbers from 0 to 1 separated by commas."
        )
    return numbers


def parse_corrections(text: str) -> Any:
    """Return the names of corrections, or auto for all."""
    if text == "auto":
        return text
    names = [name.strip().replace("-", "_") for name in text.split(",")]
    unknown = [name for name in names if name not in CORRECTIONS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is not a correction; choose from {', '.join(CORRECTIONS)}.")
    return names


def parse_neighbours(text: str) -> Any:
    """Return "line", or the shape of a grid from a text such as 28x28."""
    shape = "line" if text == "line" else _lengths(text)
    if len(shape) < 2:
        raise typer.BadParameter(
            f"{text!r} is neither 'line' nor the shape of a grid such as 28x28 or 8x8x3."
        )
    return shape


def parse_shape(text: str) -> tuple[int, ...]:
    """Return the shape of an image from a text such as 8x8."""
    shape = _lengths(text)
    if len(shape) != 2:
        raise typer.BadParameter(f"{text!r} is not a shape such as 8x8, rows of pixels by columns of pixels.")
    return shape


def _lengths(text: str) -> tuple[int, ...]:
    """Return positive whole numbers joined by x, or nothing if the text is something else."""
    lengths = text.lower().split("x")
    valid = all(length.isascii() and length.isdigit() and int(length) > 0 for length in lengths)
    return tuple(int(length) for length in lengths) if valid else ()


# Groups of options in --help, after the few that matter first.
COLUMNS, FILE, METHOD, OUTPUT = "Columns and rows", "How the file is read", "How it is fitted", "Output"

Force = Annotated[bool, typer.Option("--force", rich_help_panel=OUTPUT, help="Replace existing files.")]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        rich_help_panel=OUTPUT,
        help="Print one JSON object instead of sentences.",
        show_default=False,
    ),
]
ImageShape = Annotated[
    Any,
    typer.Option(
        "--image-shape",
        parser=parse_shape,
        metavar="HxW",
        rich_help_panel=OUTPUT,
        help="Show rows as images of this shape in the report. Columns named like pixels, and grids of "
        "neighbours, are recognised.",
    ),
]
OutFolder = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FOLDER", help="Output folder; created if it is missing."),
]

Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="COLUMNS",
        help="Drop columns that are not measurements, such as IDs and timestamps: names, positions from 1, "
        "or ranges such as a:c, 2: and :5, separated by commas.",
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of row names; scores.csv begins with it. By default the index of parquet and feather, "
        "and obs_names of h5ad.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        rich_help_panel=FILE,
        help="Whether the first row of a text or sheet is a header. By default it is if it contains text, or "
        "numbers such as wavelengths that differ from the rows below.",
        show_default=False,
    ),
]
DecimalSign = Annotated[
    Decimal | None,
    typer.Option(
        "--decimal",
        metavar="SIGN",
        rich_help_panel=FILE,
        help="The decimal sign of a text, . or , (then with points between thousands, as in 7.261,22). By "
        "default guessed from the first rows.",
    ),
]
EncodingName = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        rich_help_panel=FILE,
        help="Encoding of a text, such as latin-1. By default UTF-8 or UTF-16, and cp1252 if it is neither.",
    ),
]
NaCodes = Annotated[
    list[float] | None,
    typer.Option(
        "--na",
        metavar="NUMBER",
        rich_help_panel=FILE,
        help="A number, such as -999, that stands for a missing cell. May be repeated.",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(metavar="NAME", rich_help_panel=FILE, help="Sheet of an Excel file. By default the first."),
]


def with_options(
    kind: type, without: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of a dataclass as options, and call it with the dataclass in their place.

    A field that is a dataclass itself gives its own fields. Those of `without` keep their defaults.
    """
    added = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
        for field in _all_fields(kind)
        if field.name not in without
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            command(_filled(kind, given), **given)

        own = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in signature(command).parameters.values()]
        # typer reads the signature.
        run.__signature__ = Signature(added + own[1:])  # type: ignore[attr-defined]
        run.__name__, run.__doc__, run.__annotations__ = command.__name__, command.__doc__, {}
        return run

    return decorate


def _all_fields(kind: Any) -> Iterator[Any]:
    for field in fields(kind):
        yield from _all_fields(field.type) if is_dataclass(field.type) else [field]


def _filled(kind: Any, given: dict[str, Any]) -> Any:
    """Return a dataclass filled with arguments, which are taken out of those given, or with defaults."""
    values = {}
    for field in fields(kind):
        nested = is_dataclass(field.type)
        values[field.name] = _filled(field.type, given) if nested else given.pop(field.name, field.default)
    return kind(**values)


@dataclass(frozen=True)
class Reading:
    """How to read a file; the fields are options of commands, named like the parameters of `read_table`."""

    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            "-c",
            metavar="COLUMNS",
            rich_help_panel=COLUMNS,
            help=f"{COLUMNS_HELP} May be repeated. By default all columns without another role.",
        ),
    ] = None
    drop: Drop = None
    numeric_only: Annotated[
        bool,
        typer.Option(
            "--numeric-only",
            rich_help_panel=COLUMNS,
            help="Leave out columns that hold something else than numbers, or nothing, with a note.",
        ),
    ] = False
    group_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            rich_help_panel=COLUMNS,
            help="Column of labels; rows with the same label stay in the same fold.",
        ),
    ] = None
    id_column: IdColumn = None
    colour_by: Annotated[
        str | None,
        typer.Option(
            "--colour-by",
            metavar="COLUMN",
            rich_help_panel=COLUMNS,
            help="Column, of texts or numbers, that colours the rows in the report's pictures.",
        ),
    ] = None
    header: Header = None
    decimal: DecimalSign = None
    encoding: EncodingName = None
    missing: Annotated[
        Missing,
        typer.Option(
            "--missing",
            metavar="WAY",
            rich_help_panel=FILE,
            help="What to do with missing cells (empty, or a word such as NA, NaN, null, None): keep them, "
            "which the fit takes into account; fail; drop-rows, which drops their rows; or mean, which fills "
            "them with the means of their columns.",
        ),
    ] = Missing.KEEP
    na: NaCodes = None
    sheet: Sheet = None

    @property
    def given(self) -> dict[str, Any]:
        """What differs from the defaults."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {
            name: str(value) if isinstance(value, StrEnum) else value
            for name, (value, default) in values.items()
            if value != default
        }

    def read(self, file: str, **more: Any) -> Table:
        """Read a file, and print what was assumed about it."""
        try:
            table = read_table(file, **self.given, **more)
        except TableError as error:
            for note in getattr(error, "__notes__", ()):
                warn(note)
            raise
        for note in table.notes:
            warn(f"{table.source}: {note}")
        return table

    def as_options(self) -> list[str]:
        """Return the same settings as options of a command line."""
        options = []
        for name, value in self.given.items():
            flag = f"--{name.replace('_', '-')}"
            if isinstance(value, bool):
                options.append(flag if value else f"--no-{name}")
                continue
            for text in value if isinstance(value, list) else [value]:
                options += [flag, code_as_text(text) if name == "na" else text]
        return options

    def as_code(self) -> str:
        """Return the same settings as arguments of `read_table`."""
        return "".join(f", {name}={value!r}" for name, value in self.given.items())
