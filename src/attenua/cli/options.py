"""The options that commands share, and how their texts are parsed."""

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

import typer

from attenua._correct.registry import CORRECTIONS
from attenua.cli.base import warn
from attenua.cli.readers import Table, read_table

FILE_HELP = (
    "Rows of numbers: .csv (.tsv, .txt; also compressed as .gz, .bz2, .xz or .zst), .xlsx, .parquet, "
    ".feather, .npy, .npz or .h5ad; - for CSV on standard input. "
    "Without a file, the handwritten digits of scikit-learn."
)
COLUMNS_HELP = (
    "Columns to use: names, positions from 1, or ranges such as a:c, 2: and :5, separated by commas."
)
_NEED_NEIGHBOURS = [each.label for each in CORRECTIONS.values() if each.parameter == "neighbours"]
# The largest seed of numpy's legacy generator.
LARGEST_SEED = 2**32 - 1


class Method(StrEnum):
    """What to fit."""

    CORRECTED = "corrected"
    ATTENUATED = "attenuated"
    PCA = "pca"


class Missing(StrEnum):
    """What to do with missing cells."""

    FAIL = "fail"
    DROP_ROWS = "drop-rows"
    MEAN = "mean"


class Decimal(StrEnum):
    """The decimal sign."""

    POINT = "."
    COMMA = ","


def parse_rank(text: str) -> int | float:
    """Return a number of components, or a share of the variance strictly between 0 and 1."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if 0 < number < 1:
        return number
    if number >= 1 and number.is_integer():
        return int(number)
    raise typer.BadParameter(
        f"{text!r} is neither a number of components (1, 2, ...) nor a share of the variance below 1."
    )


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


File = Annotated[str | None, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)]
Rank = Annotated[
    Any,
    typer.Option(
        "-k",
        "--components",
        parser=parse_rank,
        metavar="K",
        help="Number of components, or the share of the variance (0.9) that PCA should explain with them.",
    ),
]
MethodOption = Annotated[
    Method,
    typer.Option(
        "--method",
        help="corrected: PCA with corrections chosen by held-out rows; attenuated: the paper's correction "
        "alone, at the strength with the lowest held-out risk; pca: ordinary PCA.",
    ),
]
Corrections = Annotated[
    Any,
    typer.Option(
        parser=parse_corrections,
        metavar="NAMES",
        help=f"Corrections to try, separated by commas: {', '.join(CORRECTIONS)}; auto tries all.",
    ),
]
Neighbours = Annotated[
    Any,
    typer.Option(
        parser=parse_neighbours,
        metavar="SHAPE",
        help="Which columns are neighbours: line (wavelengths, times), or the shape of a grid such as 28x28 "
        f"(pixels). For {' and '.join(_NEED_NEIGHBOURS)}.",
    ),
]
Guard = Annotated[
    float,
    typer.Option(min=0, help="How many standard errors a correction must gain; 0 takes the lowest risk."),
]
Alphas = Annotated[
    Any,
    typer.Option(
        parser=parse_alphas,
        metavar="GRID",
        help="With --method attenuated, strengths to compare: direct (0 to 1), mask (0 to 0.49), or numbers "
        "such as 0,0.2,0.5. 0, ordinary PCA, is always included.",
    ),
]
Folds = Annotated[int, typer.Option("--cv", min=2, help="Number of folds.")]
Repeats = Annotated[
    int, typer.Option(min=1, help="Repetitions of cross-validation; more than one shuffles the rows.")
]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed for shuffling the repetitions.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of sentences.", show_default=False)
]
ImageShape = Annotated[
    Any,
    typer.Option(
        "--image-shape",
        parser=parse_shape,
        metavar="HxW",
        help="Show rows as images of this shape in the report. Columns named like pixels, and grids of "
        "neighbours, are recognised.",
    ),
]
OutFolder = Annotated[Path, typer.Option(help="Output folder; created if it is missing.")]

# How to read a file; `Reading` collects these.
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        "-c",
        help=f"{COLUMNS_HELP} May be repeated. By default all columns without another role.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        help="Drop columns that are not measurements, such as IDs and timestamps; written as for --columns.",
    ),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(help="Column of labels; rows with the same label stay in the same fold."),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        help="Column of row names; it becomes the first column of scores.csv. By default the index of "
        "parquet and feather, and obs_names of h5ad."
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
        help="Whether the first row of a text or sheet is a header. By default it is if it contains text, or "
        "numbers such as wavelengths that differ from the rows below.",
        show_default=False,
    ),
]
DecimalSign = Annotated[
    Decimal | None,
    typer.Option("--decimal", help="The decimal sign of a text. By default guessed from the first rows."),
]
MissingCells = Annotated[
    Missing,
    typer.Option(
        "--missing",
        help="What to do with missing cells (empty, or a word such as NA, NaN, null, None): fail, drop their "
        "rows, or fill them with the means of their columns.",
    ),
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file. By default the first.")]


@dataclass(frozen=True)
class Reading:
    """How to read a file; the fields are named like the parameters of `read_table` and the options."""

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
        """Return the settings of a command line."""
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
        """Read a file, and print what was assumed about it."""
        table = read_table(file, **self.given, **more)
        for note in table.notes:
            warn(f"{table.source}: {note}")
        return table

    def as_options(self) -> list[str]:
        """Return the same settings as options of a command line."""
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
        """Return the same settings as arguments of `read_table`."""
        return "".join(f", {name}={value!r}" for name, value in self.given.items())
