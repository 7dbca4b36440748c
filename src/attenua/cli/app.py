"""The commands of the shell: read, fit, say what came out, and write it."""

import json
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial, reduce
from pathlib import Path
from typing import Any

import click

from attenua import __version__
from attenua.cli import output
from attenua.cli.output import fail, note, print_plain, working

# numpy, scikit-learn and pandas are imported where they are used, so that --help answers at once.

# Parameters in sentences of the library, and the options that set them.
_OPTIONS = {"n_components": "-k", "neighbours": "--neighbours", "reference": "--reference"}
_QUESTIONS: dict[Any, str] = {
    "bcv": "predict entries best whose row and column are held out?",
    "parallel": "explain more than those of shuffled columns?",
    "threshold": "bring more signal than noise, if noise is equal in all columns?",
}


def parse_rank(context: Any, parameter: Any, text: str) -> int | float | str:
    """Return a number of components, a share of the variance strictly between 0 and 1, or auto."""
    if text == "auto":
        return text
    if re.fullmatch(r"[1-9]\d*", text):
        return int(text)
    if re.fullmatch(r"0?\.\d*[1-9]\d*", text):
        return float(text)
    raise click.BadParameter(f"{text!r} is no number of components (5), share of the variance (0.9) or auto.")


def parse_neighbours(context: Any, parameter: Any, text: str | None) -> str | tuple[int, ...] | None:
    """Return "line", or the shape of a grid such as 28x28."""
    if text is None or text == "line":
        return text
    if re.fullmatch(r"[1-9]\d*(x[1-9]\d*)+", text):
        return tuple(map(int, text.split("x")))
    raise click.BadParameter(f"{text!r} is neither line nor the shape of a grid such as 28x28.")


def parse_sign(context: Any, parameter: Any, text: str | None) -> str | None:
    """Return one sign, or the name of one that cannot be seen."""
    if text is None or len(text) == 1 or text in ("tab", "\\t", "blank", "space"):
        return text
    raise click.BadParameter(f"{text!r} is neither one sign nor tab or blank.")


_option = click.option
_file = partial(click.option, type=click.Path(path_type=Path), metavar="FILE")
_LIST = "names, positions from 1, and ranges such as a:c, separated by commas."
READING = [
    _option("--columns", "-c", multiple=True, metavar="LIST", help=f"Columns to use: {_LIST}"),
    _option("--drop", multiple=True, metavar="LIST", help="Columns to leave out, written as for --columns."),
    _option("--id-column", metavar="COLUMN", help="Column of row names."),
    _option("--header/--no-header", help="Whether the first row is a header.", default=None),
    _option(
        "--sep",
        metavar="SIGN",
        callback=parse_sign,
        help="Sign between cells: , ; | tab or blank.",
    ),
    _option("--decimal", type=click.Choice([".", ","]), help="Decimal sign of a text."),
    _option("--encoding", metavar="NAME", help="Encoding of a text, such as latin-1."),
    _option("--na", multiple=True, metavar="CELL", help="Number or text that means missing; repeatable."),
    _option("--sheet", metavar="NAME", help="Sheet of an Excel file; by default the first."),
]
SCALE = _option("--scale", is_flag=True, help="Divide columns by their standard deviations, for mixed units.")
_ORDER = "Columns in order: line (wavelengths, times) or a grid such as 28x28 (pixels)."
SEARCH = [
    _option("--group-column", metavar="COLUMN", help="Labels of rows to hold out together."),
    _option("--neighbours", metavar="SHAPE", callback=parse_neighbours, help=_ORDER),
    SCALE,
    _option("--reference", metavar="FILE", help="Other rows with the same columns, to borrow from."),
    _option("--quick", is_flag=True, help="Do not measure what new rows gain: a fifth of the time."),
]
_FOLDS = 5  # of the estimators
_NOT_READING = ("neighbours", "scale", "reference", "quick")
FORCE = _option("--force", is_flag=True, help="Replace existing files.")


def with_options(*options: Any) -> Callable[[Any], Any]:
    """Give a command options in their order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


@click.group(epilog=output.EXIT_CODES, context_settings={"show_default": True})
@click.version_option(__version__, message="attenua %(version)s")
def app() -> None:
    """PCA for few rows, with corrections chosen by held-out rows.

    A FILE holds rows of numbers: .csv (.tsv, .tab, .txt, .dat; also packed as .gz, .bz2, .xz or .zst), .xlsx,
    .parquet, .feather or .npy. - is CSV on standard input.
    """


@app.command()
@click.argument("file")
@_option("-k", default="5", metavar="K", callback=parse_rank, help="Components: 5, a share (0.9), or auto.")
@_option("--method", type=click.Choice(["corrected", "attenuated", "pca"]), default="corrected")
@with_options(*READING, *SEARCH)
@_option("--colour-by", metavar="COLUMN", help="Labels or numbers that colour the rows in the report.")
@_file("--out", "-o", help="A new folder; by default attenua-fit, attenua-fit-2, ...")
@FORCE
def fit(file: str, k: Any, method: str, out: Path | None, force: bool, **options: Any) -> None:
    """Fit PCA with corrections that held-out rows choose; the result may be ordinary PCA.

    Writes components.csv, scores.csv, explained_variance.csv, model.safetensors, result.json and
    report.html, a page that says whether to use the fit, and why.

    \b
    attenua fit data.csv -k auto
    attenua fit spectra.csv -k 10 --neighbours line
    attenua fit patients.xlsx -k 3 --scale --colour-by diagnosis
    """  # noqa: D301
    import pandas as pd

    from attenua import AttenuatedPCACV, CorrectedPCA, CorrectedPCACV, save_model
    from attenua.report import report

    reading, search = _split(options)
    without: Any = {"corrected": [], "attenuated": search, "pca": ["neighbours", "reference", "quick"]}
    _refuse(search, without[method], f"it does not apply to --method {method}.")
    table = load(file, reading)
    if method != "pca" and len(table.X) < _FOLDS:
        fail(f"{table.source}: a fit holds rows out and needs at least {_FOLDS}; there are {len(table.X)}.")
    folder = out or output.free_folder()
    output.check_folder(folder, force=force)
    k = chosen_rank(table, search["scale"]) if k == "auto" else k
    model: Any = AttenuatedPCACV(k) if method == "attenuated" else CorrectedPCA(k, scale=search["scale"])
    if method == "corrected":
        model = CorrectedPCACV(k, **parameters(table, search, reading))
    fit_rows(model, table, use_groups=method != "pca")
    call = shlex.join(["attenua", *sys.argv[1:]])
    with working("Making the report"), explaining(table.source):
        scores = scores_of(model, table)
        page = report(
            model,
            table.X,
            feature_names=table.names,
            row_names=table.row_names,
            groups=table.groups,
            colour_by=table.colours,
            colour_name=reading["colour_by"],
            title=Path(file).name,
            notes=table.notes,
            call=call,
        )
    numbers = pd.RangeIndex(1, model.n_components_ + 1, name="component")
    ratios = model.explained_variance_ratio_
    variances = {"explained_variance": model.explained_variance_, "explained_variance_ratio": ratios}
    variances["cumulative_ratio"] = ratios.cumsum()
    with output.whole_folder(folder) as begun:
        save_model(model, begun / "model.safetensors")
        pd.DataFrame(model.components_, numbers, table.names).to_csv(begun / "components.csv")
        pd.DataFrame(variances, numbers).to_csv(begun / "explained_variance.csv")
        scores.to_csv(begun / "scores.csv", index=table.row_names is not None)
        (begun / "result.json").write_text(json.dumps(record(model, table, call), indent=2))
        (begun / "report.html").write_text(page, encoding="utf-8", errors="replace")
    print_outcome(model, table)
    print_plain(f"Written to {folder}; open {folder / 'report.html'} in a browser.")


@app.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file")
@with_options(*READING)
@_file("--out", "-o", default="scores.csv", help="A .csv file; - is standard output.")
@FORCE
def transform(model: Path, file: str, out: Path, force: bool, **reading: Any) -> None:
    """Write the scores of new rows on the components of a MODEL, a model.safetensors of attenua fit.

    Columns are matched by name where both have names, in any order; missing cells are filled by the model.

    \b
    attenua transform attenua-fit/model.safetensors new.csv --out new-scores.csv
    """  # noqa: D301
    if str(out) != "-":
        output.check_file(out, force=force, endings=[".csv"])
    fitted, names = load_fitted(model, "components_", "gives rows no scores")
    table = load(file, reading, names)
    with explaining(table.source):
        text = scores_of(fitted, table).to_csv(index=table.row_names is not None)
    if str(out) == "-":
        click.echo(text, nl=False)
        return
    output.write(out, text.encode(), force=force)
    print_plain(f"{table.source}: scores of {len(table.X):,} rows written to {out}.")


@app.command()
@click.argument("file")
@with_options(*READING, *SEARCH)
@_file("--out", "-o", required=True, help="The file to write: a text, .xlsx, .parquet, .feather or .npy.")
@_file("--std", help="Also write the standard deviation of each filled cell, as CSV.")
@_file("--model", help="Fill by this model of --save-model instead of one fitted to FILE.")
@_file("--save-model", "keep", help="Keep the model for other rows, as .safetensors.")
@FORCE
def impute(file: str, out: Path, force: bool, **options: Any) -> None:
    """Fill the empty cells of a file, each by its mean given the other cells of its row.

    All other cells stay as they are. Filled cells have the digits of their column.

    \b
    attenua impute data.csv -o filled.csv
    attenua impute survey.csv --na -999 -o filled.csv --std deviations.csv
    """  # noqa: D301
    import numpy as np

    from attenua import save_model
    from attenua.cli.filled import ENDINGS, filled_file

    std, model, keep = (options.pop(name) for name in ("std", "model", "keep"))
    reading, search = _split(options)
    output.check_file(out, force=force, endings=ENDINGS)
    for path, ending, option in ((std, ".csv", "--std"), (keep, ".safetensors", "--save-model")):
        if path is not None:
            output.check_file(path, force=force, endings=[ending], option=option)
        if path is not None and path.resolve() == out.resolve():
            raise click.BadParameter("it must be another file than --out.", param_hint=option)
    if model is None:
        table = load(file, reading)
        fitted = covariance_of(table, search, reading)
    else:
        _refuse(search, search, "--model is fitted; leave out one of them.")
        why = "fills no cells; take one of attenua impute --save-model"
        fitted, names = load_fitted(model, "covariance_", why)
        table = load(file, reading, names)
    with explaining(table.source):
        filled, deviations = map(np.asarray, fitted.impute(rows_of(table), return_std=True))
        contents = {out: filled_file(table, filled, out)}
    if std is not None:
        contents[std] = deviations_of(table, filled, deviations).to_csv(index=False).encode()
    for path, content in contents.items():
        output.write(path, content, force=force)
    if keep is not None:
        with output.writing(keep):
            save_model(fitted, keep, force=force)
    print_plain(in_options(fitted.verdict_))
    print_plain(f"Written: {', '.join(str(path) for path in (*contents, keep) if path is not None)}")


@app.command()
@click.argument("file")
@with_options(*READING, *SEARCH)
@_file("--out", "-o", default="covariance.csv", help="The .csv file to write.")
@FORCE
def covariance(file: str, out: Path, force: bool, **options: Any) -> None:
    """Write the whole covariance of the columns, with corrections that held-out rows choose.

    Says what new rows gain in log-likelihood over the covariance of Ledoit and Wolf.

    \b
    attenua covariance data.csv -o cov.csv
    """  # noqa: D301
    import pandas as pd

    reading, search = _split(options)
    output.check_file(out, force=force, endings=[".csv"])
    table = load(file, reading)
    model = covariance_of(table, search, reading)
    frame = pd.DataFrame(model.covariance_, pd.Index(table.names, name="column"), table.names)
    output.write(out, frame.to_csv().encode(), force=force)
    print_outcome(model, table)
    print_plain(f"Written: {out}")


@app.command()
@click.argument("file")
@with_options(*READING, SCALE)
def rank(file: str, scale: bool, **reading: Any) -> None:
    """Say how many components stand out of the noise, by three methods that ask different questions.

    bcv, bi-cross-validation, is recommended; attenua fit -k auto takes its number. All take noise to be
    independent from column to column: where neighbouring columns vary together, they count noise as
    components.

    \b
    attenua rank data.csv --scale
    """  # noqa: D301
    from attenua.cli.tables import are_points

    table = load(file, reading)
    choices = rank_choices(table, scale)
    print_plain(f"{table.source}: {len(table.X):,} rows, {len(table.names):,} columns.\n")
    print_plain(f"{'method':<10} {'components':<11} question: how many ...")
    for method, choice in choices.items():
        print_plain(f"{method:<10} {choice.rank:<11} {_QUESTIONS[method]}")
    print_plain(f"\nRecommended, by bcv: {choices['bcv']}")
    if are_points(table.names):
        print_plain("The columns are in order: noise that neighbours share counts as components here.")


@app.command()
@_file("--out", "-o", default="attenua-demo.png", help="Where to save the picture.")
@_option("--rows", type=click.IntRange(16, 128), default=32, help="Rows to fit.")
@_option("--subsamples", type=click.IntRange(2), default=40, help="Subsamples of each data set.")
def demo(out: Path, rows: int, subsamples: int) -> None:
    """Rebuild, fill and denoise new rows, and compare with PCA, on data that come with scikit-learn."""
    from attenua.cli.demo import as_text, demo_data, draw, run

    output.check_file(out, force=True, endings=[".png"])
    with output.progress("Fitting subsamples", total=len(demo_data()) * subsamples) as bar:
        results = run(rows, subsamples, lambda: bar.update(1))
    output.write(out, draw(results, rows), force=True)  # first: printing fails if a pipe ends early
    print_plain(as_text(results, rows, subsamples))
    print_plain(f"Picture saved to {out}")


# --- steps that commands share ------------------------------------------------------------------------------


def _split(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of reading a file, and those of the search."""
    reading = {name: value for name, value in options.items() if name not in _NOT_READING}
    return reading, {name: options[name] for name in _NOT_READING}


def _refuse(options: dict[str, Any], names: Iterable[str], why: str) -> None:
    for name in names:
        if options[name]:
            raise click.BadParameter(why, param_hint=f"--{name}")


def load(file: str, reading: dict[str, Any], names: Any = None, *, option: str = "") -> Any:
    """Read a file, and print what was assumed about it, or fail with a sentence that names its option."""
    from attenua.cli.layout import TableError
    from attenua.cli.tables import read_table

    try:
        table = read_table(file, names=names, **reading)
    except TableError as error:
        for each in getattr(error, "__notes__", ()):
            note(each)
        fail(f"{option}{error}")
    for each in table.notes:
        note(f"{table.source}: {each}")
    return table


def load_fitted(path: Path, needed: str, otherwise: str) -> tuple[Any, list[str] | None]:
    """Load a model that has an attribute, with the names of its columns, or fail with a sentence."""
    from attenua import load_model
    from attenua.model_files import ModelFileError

    try:
        model = load_model(path)
    except (ModelFileError, OSError) as error:
        fail(str(error))
    if not hasattr(model, needed):
        fail(f"{path} holds a {type(model).__name__}, which {otherwise}.")
    names = getattr(model, "feature_names_in_", None)
    return model, None if names is None else list(names)


def rows_of(table: Any) -> Any:
    """Return the rows, with the names of the columns where the file has them."""
    import pandas as pd

    return table.X if table.sheet.names is None else pd.DataFrame(table.X, columns=table.names)


def parameters(table: Any, search: dict[str, Any], reading: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a search. The reference is read like the rows, by the names of its columns."""
    reference = None
    if search["reference"] is not None:
        by_name = table.sheet.names is not None
        roles = {"columns": (), "drop": (), "id_column": None} if by_name else {}
        without = {"group_column": None, "colour_by": None}
        names, reading = table.names if by_name else None, reading | roles | without
        reference = load(search["reference"], reading, names, option="--reference ").X
    neighbours = search["neighbours"] or table.sheet.image_shape or None
    nested, scale = not search["quick"], search["scale"]
    return {"neighbours": neighbours, "reference": reference, "nested": nested, "scale": scale}


def fit_rows(model: Any, table: Any, *, use_groups: bool = True) -> Any:
    """Fit the rows, or fail with a sentence."""
    with working("Fitting"), explaining(table.source):
        return model.fit(rows_of(table), **({"groups": table.groups} if use_groups else {}))


def covariance_of(table: Any, search: dict[str, Any], reading: dict[str, Any]) -> Any:
    """Return the whole covariance of the rows."""
    from attenua import CorrectedCovariance

    return fit_rows(CorrectedCovariance(**parameters(table, search, reading)), table)


def rank_choices(table: Any, scale: bool) -> dict[str, Any]:
    """Return the number of components by each method."""
    from attenua import choose_rank

    with working("Choosing the number of components"), explaining(table.source):
        return {
            method: choose_rank(table.X, method=method, scale=scale, random_state=0) for method in _QUESTIONS
        }


def chosen_rank(table: Any, scale: bool) -> Any:
    """Return the number of components that is recommended, with a note."""
    choices = rank_choices(table, scale)
    ranks = {method: choice.rank for method, choice in choices.items()}
    if not ranks["bcv"]:
        fail(f"{table.source}: -k auto finds {str(choices['bcv']).lower()} -k 1 fits one all the same.")
    differ = ", ".join(f"{method} {rank}" for method, rank in ranks.items())
    others = f" The methods disagree: {differ}." if len({*ranks.values()}) > 1 else ""
    note(f"{table.source}: {choices['bcv']}{others}")
    return ranks["bcv"]


def scores_of(model: Any, table: Any) -> Any:
    """Return the scores as a data frame, with the names of the rows where there are any."""
    import pandas as pd

    scores = model.transform(rows_of(table))
    names = [f"component_{number + 1}" for number in range(scores.shape[1])]
    index = None if table.row_names is None else pd.Index(table.row_names, name=table.id_name)
    return pd.DataFrame(scores, index, names)


def deviations_of(table: Any, filled: Any, deviations: Any) -> Any:
    """Return a data frame with a row for each filled cell: its place, value and standard deviation."""
    import numpy as np
    import pandas as pd

    rows, columns = cells = np.nonzero(np.isnan(table.X))
    found = pd.DataFrame({"row": rows + 1, "column": np.array(table.names)[columns]})
    if table.row_names is not None:
        found[table.id_name] = np.array(table.row_names)[rows]
    return found.assign(filled=filled[cells], standard_deviation=deviations[cells])


def record(model: Any, table: Any, call: str) -> Any:
    """Return the outcome of a fit as JSON can hold it."""
    names = ["verdict", "n_components", "explained_variance_ratio", "left_out_gain", "left_out_gain_error"]
    names += ["choices", "choice_weights", "alpha"]
    found = {"call": call, "data": table.source, "estimator": type(model).__name__}
    found |= {"n_rows": len(table.X), "n_columns": len(table.names), "notes": table.notes}
    found |= {name: getattr(model, f"{name}_") for name in names if hasattr(model, f"{name}_")}
    return output.plain(found | {"steps": [step._asdict() for step in getattr(model, "steps_", ())]})


@contextmanager
def explaining(source: str) -> Iterator[None]:
    """Print warnings of the library as notes, and turn its errors into sentences with options."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # A note of the table says it.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        try:
            yield
        except (ValueError, ImportError) as error:
            fail(f"{source}: {in_options(str(error).removeprefix(f'{source}: '))}")
        except MemoryError:
            fail(f"{source}: there is not enough memory for these rows.")
    for sentence in dict.fromkeys(str(each.message) for each in caught):
        note(in_options(sentence))


def in_options(sentence: str) -> str:
    """Return a sentence of the library with options in place of parameters.

    >>> in_options("n_components=9 must be between 1 and 3; consider scale=True.")
    '-k 9 must be between 1 and 3; consider --scale.'
    """
    sentence = sentence.replace("nested=True measures it", "leave out --quick to measure it")
    sentence = sentence.replace("scale=True", "--scale")
    # In quotes they are names of columns.
    parameters = rf"(?<!['-])\b({'|'.join(_OPTIONS)})\b(?!')(=?)"
    return re.sub(parameters, lambda found: _OPTIONS[found[1]] + " " * len(found[2]), sentence)


def print_outcome(model: Any, table: Any) -> None:
    """Print the answer, the size of what was read, and the steps."""
    from attenua._estimate.words import counted
    from attenua.cli.tables import are_points

    print_plain(in_options(getattr(model, "verdict_", "The fit is ordinary PCA, as asked.")))
    size = f"{table.source}: {counted(len(table.X), 'row')}, {counted(len(table.names), 'column')}"
    if hasattr(model, "components_"):
        ratios = model.explained_variance_ratio_
        each = ", ".join(f"{ratio:.1%}" for ratio in ratios[:10]) + ", ..." * (len(ratios) > 10)
        size += f", {counted(len(ratios), 'component')} with {ratios.sum():.1%} of the variance: {each}"
    print_plain(size)
    if hasattr(model, "steps_"):
        print_plain(f"\n{model.steps_!r}\n")
    if are_points(table.names) and getattr(model, "neighbours", "") is None:
        print_plain("The columns are called like points in order; --neighbours line takes them so.")
