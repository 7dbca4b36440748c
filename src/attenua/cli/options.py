"""Options that several commands share, and how their texts are understood."""

from pathlib import Path
from typing import Annotated, Any

import typer
from joblib import cpu_count

from attenua._correct.registry import CORRECTIONS
from attenua.cli.methods import Method

FILE_HELP = (
    "Rows of numbers: .csv (.tsv, .txt; also packed as .gz, .bz2, .xz or .zst), .xlsx, .parquet, .feather, "
    ".npy, .npz or .h5ad; - for CSV on standard input. "
    "Without it, the handwritten digits that come with scikit-learn."
)
# The largest that numpy's older generator takes.
LARGEST_SEED = 2**32 - 1


def parse_rank(text: str) -> int | float:
    """Return a number of components, or a part of the variance strictly between 0 and 1."""
    try:
        return _checked_rank(float(text))
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither a number of components (1, 2, ...) nor a part of the variance below 1."
        ) from None


def _checked_rank(number: float) -> int | float:
    if 0 < number < 1:
        return number
    if number >= 1 and number.is_integer():
        return int(number)
    raise ValueError


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
        raise typer.BadParameter(f"{unknown[0]!r} is no correction; they are {', '.join(CORRECTIONS)}.")
    return names


def parse_neighbours(text: str) -> Any:
    """Return "line", or the shape of a grid from a text such as 28x28."""
    if text == "line":
        return text
    lengths = text.lower().split("x")
    if len(lengths) < 2 or not all(_is_length(length) for length in lengths):
        raise typer.BadParameter(
            f"{text!r} is neither 'line' nor the shape of a grid such as 28x28 or 8x8x3."
        )
    return tuple(int(length) for length in lengths)


def parse_shape(text: str) -> tuple[int, int]:
    """Return an image shape from a text such as 8x8."""
    lengths = text.lower().split("x")
    if len(lengths) != 2 or not all(_is_length(length) for length in lengths):
        raise typer.BadParameter(f"{text!r} is not a shape such as 8x8, rows of pixels by columns of pixels.")
    return int(lengths[0]), int(lengths[1])


def _is_length(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) > 0


def parse_jobs(text: str) -> int:
    """Return how many processes or threads to use; -1 is one for each core."""
    cores = cpu_count()
    most = 8 * cores
    try:
        jobs = cores if int(text) == -1 else int(text)
    except ValueError:
        jobs = 0
    if not 1 <= jobs <= most:
        raise typer.BadParameter(f"{text} is neither -1, one for each core, nor a number from 1 to {most}.")
    return jobs


File = Annotated[str | None, typer.Argument(metavar="FILE", help=FILE_HELP, show_default=False)]
Rank = Annotated[
    Any,
    typer.Option(
        "-k",
        "--components",
        parser=parse_rank,
        metavar="K",
        help="Number of components, or the part of the variance (0.9) that PCA is to explain with them.",
    ),
]
MethodOption = Annotated[
    Method,
    typer.Option(
        "--method",
        help="corrected: PCA with corrections that held-out rows choose; attenuated: the paper's correction "
        "alone, at the strength of least held-out risk; pca: ordinary PCA.",
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
        help="Which columns are neighbours, for smoothing: line (wavelengths, times), or the shape of a grid "
        "such as 28x28 (pixels).",
    ),
]
Guard = Annotated[
    float,
    typer.Option(min=0, help="How many standard errors a correction must gain; 0 takes the least risk."),
]
Alphas = Annotated[
    Any,
    typer.Option(
        parser=parse_alphas,
        metavar="GRID",
        help="With --method attenuated, strengths to compare: direct (0 to 1), mask (0 to 0.49), or numbers "
        "such as 0,0.2,0.5. 0, ordinary PCA, is always among them.",
    ),
]
Folds = Annotated[int, typer.Option("--cv", min=2, help="Number of folds.")]
Repeats = Annotated[
    int, typer.Option(min=1, help="Repetitions of the folds; more than one shuffles the rows.")
]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Shuffles the repetitions.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of sentences.", show_default=False)
]
ImageShape = Annotated[
    Any,
    typer.Option(
        "--image-shape",
        parser=parse_shape,
        metavar="HxW",
        help="In the report, show rows as images of this shape; columns called like pixels "
        "and grids of neighbours are recognised.",
    ),
]
Jobs = Annotated[
    Any,
    typer.Option(
        parser=parse_jobs,
        metavar="N",
        help="How many to compute at a time; -1 for one a core. Changes no number.",
    ),
]
OutFolder = Annotated[Path, typer.Option(help="Folder for the files; made if it is missing.")]
