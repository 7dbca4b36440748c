"""The page itself: a template filled with findings and pictures, which loads nothing and runs nothing."""

import io
import platform
import re
import warnings
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray

import attenua
from attenua import AttenuatedPCACV, CorrectedPCA, pictures
from attenua._correct.registry import CORRECTIONS
from attenua._estimate.words import counted, spoken, strengths_in_words
from attenua._extras import how_to_install
from attenua.report.findings import Array, Findings, HeldOut, checked_rows, code_of, find, strengths_of

try:
    from jinja2 import Environment, StrictUndefined
    from matplotlib import pyplot as plt
except ModuleNotFoundError as error:
    raise ImportError(f"The report needs jinja2 and matplotlib: {how_to_install('cli')}.") from error

# Matplotlib draws in these colours; the page replaces each by its own, which is light or dark.
_INK, _SOFT = "#010203", "#040506"
_COLOURS = {_INK: "ink", _SOFT: "soft"} | {colour: name for name, colour in pictures.COLOURS.items()}
_STYLE: Any = {
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), _INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), _SOFT),
    "font.family": "DejaVu Sans",
    "font.size": 12,
    "figure.constrained_layout.w_pad": 0.1,  # letters of a browser are wider
    "path.simplify_threshold": 0.3,
    "svg.fonttype": "none",
    "svg.hashsalt": "attenua",
}
# Of a picture that shares a line with another, in inches.
_WIDTH, _HEIGHT = 5.2, 4.0
_MOST_LETTERS, _MOST_ROWS = 80, 3


class Picture(NamedTuple):
    """What is inside of an SVG element, and its size in points."""

    content: str
    width: float
    height: float


def report(
    model: Any,
    X: ArrayLike,
    *,
    feature_names: Sequence[Any] | None = None,
    row_names: Sequence[Any] | None = None,
    groups: ArrayLike | None = None,
    colour_by: ArrayLike | None = None,
    colour_name: str | None = None,
    image_shape: tuple[int, int] | None = None,
    title: str = "X",
    notes: Sequence[str] = (),
    call: str | None = None,
) -> str:
    """Return a page about a fit: should I use it on my data, how much does it help, and why.

    The page is one HTML file that loads nothing and runs no script. It takes a few fits without some of the
    rows, but no other search than that of the estimator.

    Parameters
    ----------
    model : CorrectedPCACV, AttenuatedPCACV or CorrectedPCA
        Fitted. Only with ``nested=True`` can it say what to expect of new rows.
    X : array-like of shape (n_samples, n_features)
        The rows it was fitted to, with NaN for missing cells.
    feature_names : sequence of shape (n_features,), optional
        Names of the columns; by default those of the estimator.
    row_names : sequence of shape (n_samples,), optional
        Names of the rows; by default they are counted from 1.
    groups : array-like of shape (n_samples,), optional
        Labels of rows that belong together, as given to ``fit``.
    colour_by : array-like of shape (n_samples,), optional
        What colours the scores: labels or numbers. By default the groups.
    colour_name : str, optional
        What to call the colours.
    image_shape : (int, int), optional
        Height and width of rows as images; by default the grid of the estimator's ``neighbours``.
    title : str
        What to call the data.
    notes : sequence of str
        What was assumed about the data, such as how a file was read.
    call : str, optional
        The command or code that repeats the fit; by default code made from the estimator's parameters.

    Returns
    -------
    str
        The page, to be written to a file that ends in .html.
    """
    rows = checked_rows(model, X)
    n, p = rows.shape
    names = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    columns = _names(_one_each(names, p, "feature_names"), p, "column")
    row_texts = _names(_one_each(row_names, n, "row_names"), n, "row")
    labels, colours = _one_each(groups, n, "groups"), _one_each(colour_by, n, "colour_by")
    colour_name = colour_name or ("group" if colours is None else "label")
    colours = labels if colours is None else colours
    neighbours = getattr(model, "neighbours", None)
    if image_shape is None and isinstance(neighbours, tuple | list) and len(neighbours) == 2:
        image_shape = (neighbours[0], neighbours[1])
    found = find(model, rows, columns, row_texts, labels)
    with plt.rc_context(_STYLE), plt.ioff(), warnings.catch_warnings():
        # Of letters that the font of the drawing does not have; browsers have them.
        warnings.simplefilter("ignore")
        drawn = _pictures(model, rows, found, columns, row_texts, colours, image_shape)
    pages = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    pages.filters.update(counted=counted, spoken=spoken, in_words=strengths_in_words, percent=_percent)
    libraries = f"attenua {attenua.__version__}, numpy {np.__version__}, scikit-learn {sklearn.__version__}"
    page: str = pages.from_string((files("attenua.report") / "template.html").read_text("utf-8")).render(
        model=model,
        is_attenuated=isinstance(model, AttenuatedPCACV),
        is_given=isinstance(model, CorrectedPCA),
        is_grouped=labels is not None,
        image_shape=image_shape,
        given=strengths_of(model)[0],
        found=found,
        pictures=drawn,
        weakens={name: correction.weakens for name, correction in CORRECTIONS.items()},
        title=title,
        notes=list(notes),
        colours="" if colours is None else _plain(colour_name),
        call=code_of(model, groups) if call is None else call,
        versions=f"{libraries}, Python {platform.python_version()}",
    )
    # File names that are not UTF-8 hold halves of surrogate pairs, which UTF-8 cannot encode.
    return page.encode(errors="replace").decode()


def _pictures(
    model: Any, X: Array, found: Findings, columns: list[str], rows: list[str], colours: Any, shape: Any
) -> dict[str, Picture]:
    """Draw what there is to draw."""
    if colours is not None and colours.dtype.kind not in "iufb":
        colours = np.array([_plain(colour) for colour in colours], dtype=object)
    drawn = {
        "scores": pictures.scores(model, X, colour_by=colours, row_names=rows, ax=_axes()),
        "scree": pictures.scree(model, X, ax=_axes()),
        "loadings": pictures.loadings(model, feature_names=columns, image_shape=shape),
    }
    compared = [step for step in getattr(model, "steps_", ()) if step.strengths]
    if found.limits is not None:
        drawn["limits"] = pictures.control_limits(found.limits, row_names=rows, ax=_axes())
    if isinstance(model, AttenuatedPCACV):
        drawn["steps"] = pictures.strengths(model, ax=_axes())
    elif any(step.best for step in compared):
        drawn["steps"] = pictures.steps(model.steps_, ax=_axes(1.4 + 0.36 * len(compared)))
    if found.held_out is not None:
        drawn["reconstructions"] = _reconstructions(model, found.held_out, columns, rows, shape)
    if found.missing:
        drawn["missing"] = pictures.missing_cells(X, ax=_axes())
    return {key: _picture(key, axes) for key, axes in drawn.items()}


def _reconstructions(model: Any, held_out: HeldOut, columns: list[str], rows: list[str], shape: Any) -> Any:
    """Draw the held-out rows that the fit improves most, in the middle, and least."""
    order = np.argsort(held_out.fit_errors - held_out.pca_errors, kind="stable")
    shown = order[np.linspace(0, len(order) - 1, min(_MOST_ROWS, len(order))).round().astype(int)]
    centre, unit = (0.0, 1.0) if model.scale_ is None else (model.mean_, model.scale_)
    three = ((values[shown] - centre) / unit for values in (held_out.original, held_out.pca, held_out.fit))
    names = [rows[row] for row in held_out.rows[shown]]
    return pictures.reconstructions(*three, row_names=names, feature_names=columns, image_shape=shape)


def _axes(height: float = _HEIGHT) -> Any:
    return plt.subplots(figsize=(_WIDTH, height), layout="constrained")[1]


def _picture(key: str, axes: Any) -> Picture:
    """Return what was drawn as SVG that follows the colours of the page and shares no id with another."""
    figure = np.ravel(axes)[0].figure
    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True)
    plt.close(figure)
    width, height = 72 * figure.get_size_inches()
    drawn = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", file.getvalue(), flags=re.DOTALL)
    inside = drawn[drawn.index(">", drawn.index("<svg")) + 1 : drawn.rindex("</svg>")]
    return Picture(re.sub(r"<[^>]+>", lambda tag: _tag(tag[0], key), inside), width, height)


def _tag(tag: str, key: str) -> str:
    """Return a tag of SVG with ids and colours of its own, and numbers with two decimals."""
    tag = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{key}-", tag)
    if "base64" in tag:
        return tag
    for drawn, name in _COLOURS.items():
        tag = tag.replace(drawn, f"var(--{name})")
    return re.sub(r"(\.\d\d)\d+", r"\1", tag)


def _one_each(values: Any, count: int, argument: str) -> NDArray[Any] | None:
    """Return an array with one value for each row or column; None stays None."""
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (count,):
        raise ValueError(f"{argument} must hold {count} values; got shape {array.shape}.")
    return array


def _names(names: NDArray[Any] | None, count: int, what: str) -> list[str]:
    """Return names as texts of one line; by default they are counted."""
    return [f"{what} {i + 1}" if names is None else _plain(names[i]) for i in range(count)]


def _plain(name: Any) -> str:
    """Return a name in one line, without what is not printed, such as signs that turn the text around."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"


def _percent(part: float, decimals: int = 1) -> str:
    """Return a part of one in percent, with a minus sign that is one."""
    return f"{part + 0.0:.{decimals}%}".replace("-", "−")
