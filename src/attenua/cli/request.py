"""What the commands that fit share: the request of a user, and how it is read, fitted and scored."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, get_args

import numpy as np
import scipy.sparse as sp
import typer
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from attenua import AttenuatedPCACV, CorrectedCovariance, CorrectedPCA, CorrectedPCACV, choose_rank
from attenua._correct.registry import CORRECTIONS
from attenua._data.opening import NamedRows
from attenua._data.range import OutOfRangeError, list_columns
from attenua.cli.base import fail, warn, working
from attenua.cli.options import (
    AUTO,
    METHOD,
    Method,
    Missing,
    Reading,
    parse_alphas,
    parse_corrections,
    parse_neighbours,
    parse_rank,
    parse_seed,
)
from attenua.cli.readers import Table, TableError
from attenua.cli.readers.source import shortened
from attenua.cli.writing import column_names
from attenua.rank import Method as RankMethod
from attenua.rank import RankChoice

_NEED_NEIGHBOURS = [each.label for each in CORRECTIONS.values() if each.parameter == "neighbours"]
_NEED_REFERENCE = [each.label for each in CORRECTIONS.values() if each.parameter == "reference"]
_SEARCHES = (Method.CORRECTED, Method.ATTENUATED)
# Options that belong to some methods only.
METHODS_OF_OPTIONS = {
    "corrections": (Method.CORRECTED,),
    "neighbours": (Method.CORRECTED,),
    "reference": (Method.CORRECTED,),
    "nested": (Method.CORRECTED,),
    "alphas": (Method.ATTENUATED,),
    "scale": tuple(Method),
    "cv": _SEARCHES,
    "repeats": _SEARCHES,
    "seed": _SEARCHES,
}
# Arguments in messages of the library, and the options that set them.
_OPTIONS = {
    "n_components": "--components",
    "n_repeats": "--repeats",
    "cv": "--cv",
    "neighbours": "--neighbours",
    "reference": "--reference",
    "nested": "--nested",
    "image_shape": "--image-shape",
}


@dataclass(frozen=True)
class Request:
    """Which rows to read, and how to fit them; the fields are options of commands."""

    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Rows of numbers: .csv (.tsv, .tab, .txt, .dat; also compressed as .gz, .bz2, .xz or "
            ".zst), .xlsx, .parquet, .feather, .npy, .npz or .h5ad; - for CSV on standard input. Without a "
            "file, the handwritten digits of scikit-learn.",
        ),
    ] = None
    k: Annotated[
        Any,
        typer.Option(
            "-k",
            "--components",
            parser=parse_rank,
            metavar="K",
            help="Number of components, the share of the variance (0.9) that PCA explains with them, or "
            "auto, the number that attenua rank recommends.",
        ),
    ] = "5"
    reading: Reading = field(default_factory=Reading)
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            metavar="NAME",
            rich_help_panel=METHOD,
            help="corrected: PCA with corrections chosen by held-out rows; attenuated: the paper's "
            "correction alone, at the strength with the lowest held-out risk; pca: ordinary PCA.",
        ),
    ] = Method.CORRECTED
    corrections: Annotated[
        Any,
        typer.Option(
            parser=parse_corrections,
            metavar="NAMES",
            rich_help_panel=METHOD,
            help=f"Corrections to try, separated by commas: {', '.join(CORRECTIONS)}; auto tries all.",
        ),
    ] = "auto"
    neighbours: Annotated[
        Any,
        typer.Option(
            parser=parse_neighbours,
            metavar="SHAPE",
            help=f"Which columns are neighbours, for {' and '.join(_NEED_NEIGHBOURS)}: line (wavelengths, "
            "times), or the shape of a grid such as 28x28 (pixels).",
        ),
    ] = None
    scale: Annotated[
        bool,
        typer.Option(
            help="Divide the columns by their standard deviations, as for columns in different units; in "
            "every training set by its own.",
        ),
    ] = False
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=METHOD,
            help=f"Other rows with the same columns, for {' and '.join(_NEED_REFERENCE)}, in a file that is "
            "read like the first one.",
        ),
    ] = None
    nested: Annotated[
        bool,
        typer.Option(rich_help_panel=METHOD, help="Measure what to expect of new rows: five times the cost."),
    ] = True
    alphas: Annotated[
        Any,
        typer.Option(
            parser=parse_alphas,
            metavar="GRID",
            rich_help_panel=METHOD,
            help="With --method attenuated, strengths to compare: direct (0 to 1), mask (0 to 0.49), or "
            "numbers such as 0,0.2,0.5. 0, ordinary PCA, is always included.",
        ),
    ] = "direct"
    cv: Annotated[
        int, typer.Option("--cv", min=2, metavar="N", rich_help_panel=METHOD, help="Number of folds.")
    ] = 5
    repeats: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=METHOD,
            help="Repetitions of cross-validation; more than one shuffles the rows.",
        ),
    ] = 1
    seed: Annotated[
        Any,
        typer.Option(
            parser=parse_seed,
            metavar="N",
            rich_help_panel=METHOD,
            help="Seed for shuffling the repetitions.",
        ),
    ] = "0"

    @property
    def estimator_class(self) -> type:
        """Class of the estimator."""
        return {
            Method.CORRECTED: CorrectedPCACV,
            Method.ATTENUATED: AttenuatedPCACV,
            Method.PCA: CorrectedPCA,
        }[self.method]

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator, except the number of components and the reference."""
        search = {
            "corrections": self.corrections,
            "neighbours": self.neighbours,
            "nested": self.nested,
        }
        return {
            Method.CORRECTED: search | self._folds,
            Method.ATTENUATED: {"alphas": self.alphas} | self._folds,
            Method.PCA: {},
        }[self.method] | {"scale": self.scale}

    @property
    def covariance(self) -> CorrectedCovariance:
        """Estimator of the whole covariance, without the reference."""
        return CorrectedCovariance(
            neighbours=self.neighbours, nested=self.nested, scale=self.scale, **self._folds
        )

    @property
    def _folds(self) -> dict[str, int]:
        return {"cv": self.cv, "n_repeats": self.repeats, "random_state": self.seed}


def in_options(sentence: str) -> str:
    """Return a message of the library with options in place of arguments.

    >>> in_options("n_components=9 must be between 1 and 3.")
    '--components 9 must be between 1 and 3.'
    """
    # This is an everyday word too, so only at the start of a sentence is it an argument.
    sentence = re.sub(r"^corrections\b", "--corrections", sentence)
    # In quotes they are names of columns.
    arguments = rf"(?<!['-])\b({'|'.join(_OPTIONS)})\b(?!')(=?)"
    sentence = re.sub(arguments, lambda found: _OPTIONS[found[1]] + " " * len(found[2]), sentence)
    return re.sub(r"\bn_samples=(\d+)", r"\1 rows", sentence)


def flags_in_words(text: str) -> str:
    """Return an answer of the library with flags in place of arguments.

    >>> flags_in_words("consider scale=True, or leave it out")
    'consider --scale, or leave it out'
    """
    return re.sub(r"\b(nested|scale)=True\b", r"--\1", text)


def refuse_options_of_other_methods(context: typer.Context, method: Method) -> None:
    """Refuse an option that the method does not have."""
    for name, methods in METHODS_OF_OPTIONS.items():
        if _is_given(context, name) and method not in methods:
            raise typer.BadParameter(
                f"it belongs to --method {' or '.join(methods)}, but this is --method {method}.",
                param_hint=flag_of(name),
            )


def refuse_options_of_a_fit(context: typer.Context) -> None:
    """Refuse an option that changes the fit of a model that is already fitted."""
    for name in ("k", "method", *METHODS_OF_OPTIONS):
        if _is_given(context, name):
            fail(
                f"{flag_of(name)} has no effect with --model, which is already fitted; leave out one of them."
            )


def flag_of(name: str) -> str:
    """Return how an option is typed."""
    return "-k" if name == "k" else f"--{name.replace('_', '-')}"


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    # By name: the enumeration is click's, or a copy of it in newer versions of typer.
    return source is not None and source.name == "COMMANDLINE"


def load_rows(request: Request, names: Sequence[str] | None = None, **more: Any) -> Table:
    """Read the rows of a request, with the columns of these names if given, or fail with a sentence.

    More arguments are those of `read_table`.
    """
    try:
        if request.file is not None:
            return request.reading.read(request.file, names=names, **more)
    except TableError as error:
        fail(str(error))
    if request.reading.given:
        fail(f"{request.reading.as_options()[0]} needs a file; it does not apply to the built-in digits.")
    digits = load_digits()
    return Table(digits.data, list(digits.feature_names), None, "the built-in digits")


def settled(request: Request, table: Table) -> Request:
    """Return a request with what it leaves to the rows: neighbours in images, how many components."""
    if table.grid and request.neighbours is None and request.method is Method.CORRECTED:
        shape = "x".join(map(str, table.grid))
        warn(f"{table.source}: the pixels of an image are neighbours, as by --neighbours {shape}.")
        request = replace(request, neighbours=table.grid)
    if request.k != AUTO:
        return request
    choices = rank_choices(table, scale=request.scale)
    best, doubt = choices["bcv"], disagreement(choices)
    if not best.rank:
        fail(f"{table.source}: -k auto finds {str(best).lower()}{doubt} -k 1 fits one all the same.")
    warn(f"{table.source}: {best}{doubt}")
    return replace(request, k=best.rank)


def rank_choices(table: Table, *, scale: bool) -> Mapping[str, RankChoice]:
    """Return the number of components by each method of `choose_rank`, or fail with a sentence."""
    X = table.X.toarray() if sp.issparse(table.X) else table.X
    if np.isnan(X).any():
        fail(
            f"{table.source}: the number of components cannot be chosen while cells are missing; give "
            "--missing drop-rows or --missing mean, or fill them first with attenua impute."
        )
    try:
        with working("Choosing the number of components"):
            X = StandardScaler().fit_transform(X) if scale else X
            return {method: choose_rank(X, method=method, random_state=0) for method in get_args(RankMethod)}
    except ValueError as error:
        fail(f"{table.source}: {in_options(str(error))}")


def disagreement(choices: Mapping[str, RankChoice]) -> str:
    """Return a sentence to add if the methods disagree on the number of components."""
    if len({choice.rank for choice in choices.values()}) == 1:
        return ""
    numbers = ", ".join(f"{method} {choice.rank}" for method, choice in choices.items())
    return f" The methods disagree: {numbers}."


def reading_of_reference(request: Request, table: Table) -> Reading:
    """Return how the reference is read: like the rows, or by the names of their columns if they have names.

    With names, options about columns are not needed, and may name none of this file. A reference cannot have
    missing cells.
    """
    reading = request.reading
    if reading.missing is Missing.KEEP:
        reading = replace(reading, missing=Missing.FAIL)
    about_columns = ("columns", "drop", "group_column", "id_column", "colour_by")
    return reading if table.names is None else replace(reading, **dict.fromkeys(about_columns))


def _load_reference(file: str, request: Request, table: Table) -> Any:
    """Read the reference of a request, with the columns of its rows, or fail with a sentence."""
    try:
        return reading_of_reference(request, table).read(file, names=table.names).X
    except TableError as error:
        fail(f"--reference: {error}")


def fit_rows(table: Table, request: Request, model: Any = None) -> Any:
    """Fit the rows, or fail with a sentence; warnings of the fit are printed as notes.

    The model is that of the request, unless another one is given.
    """
    if model is None:
        model = request.estimator_class(request.k, **request.parameters)
    if request.reference is not None:
        model.reference = _load_reference(request.reference, request, table)
    # PCA holds no rows out, so groups make no difference.
    groups = {} if request.method is Method.PCA else {"groups": table.groups}
    rows = table.X if table.names is None else NamedRows(table.X, table.names)
    with working("Fitting"), noting():
        try:
            model.fit(rows, **groups)
        except OutOfRangeError as error:
            names = column_names(table)
            listed = list_columns([shortened(names[position]) for position in error.positions])
            fail(f"{table.source} holds {error.sentence.format(where=listed)}")
        except ValueError as error:
            fail(f"{table.source}: {in_options(str(error))}")
        except MemoryError:
            fail(f"{table.source}: there is not enough memory to fit these rows.")
    return model


@contextmanager
def noting(*, new_rows: bool = True) -> Iterator[None]:
    """Print warnings inside as notes, unless they are about rows of which the fit has printed them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Names are compared when a table is read; its matrix has none.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield
    for warning in caught if new_rows else ():
        warn(in_options(str(warning.message)))


def scores_of(model: Any, table: Table) -> Any:
    """Return the scores of rows whose columns already match the model's."""
    try:
        return model.transform(table.X)
    except OutOfRangeError as error:
        fail(f"{table.source} holds {error.sentence.format(where=f'row {error.positions[0] + 1}')}")
