"""The page itself: findings and charts put in a template that lets nothing out and nothing run."""

import base64
import hashlib
import html
import json
import platform
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import ArrayLike, NDArray

import attenua
from attenua import CorrectedPCA, CorrectedPCACV
from attenua._data.extras import how_to_install
from attenua._data.files import write_all_whole
from attenua.report.attenuated import Findings, find
from attenua.report.attenuated_charts import all_charts
from attenua.report.charts import change_of, short
from attenua.report.compared import Examples
from attenua.report.corrected import SearchFindings, find_search
from attenua.report.corrected_charts import search_charts
from attenua.report.corrected_words import search_context
from attenua.report.images import grey_image, shape_from_names, signed_image

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Report:
    """A finished page.

    Attributes
    ----------
    html : str
        The whole page; it asks for no other file.
    """

    html: str = field(repr=False)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the page to a file, whole or not at all; `force` replaces one that exists."""
        write_all_whole({Path(path): self.html.encode()}, force=force)

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own that shares nothing with it."""
        return (
            '<iframe title="attenua report" sandbox="allow-scripts" style="width:100%;height:640px;border:0" '
            f'srcdoc="{html.escape(self.html, quote=True)}"></iframe>'
        )


def report(
    estimator: Any,
    X: Any,
    path: str | Path | None = None,
    *,
    image_shape: tuple[int, int] | None = None,
    feature_names: Any = None,
    groups: ArrayLike | None = None,
    source: str = "X",
    code: str | None = None,
    random_state: int = 0,
    force: bool = False,
) -> Report:
    """Make a page about a fit: should I use it on my data, how much does it help, and why.

    Parameters
    ----------
    estimator : CorrectedPCACV, CorrectedPCA, AttenuatedPCACV or AttenuatedPCA
        Fitted.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows it was fitted to.
    path : path, optional
        Where to write the page; an HTML file that opens without a network.
    image_shape : (int, int), optional
        Show rows and loadings as images of this many rows and columns of pixels. By default where the
        columns are called like pixels, such as ``pixel_0_0``, or their neighbours are a grid.
    feature_names : sequence of str, optional
        Names of the columns; by default those of the estimator or of X.
    groups : array-like of shape (n_samples,), optional
        Labels of rows that belong together, as given to ``fit``.
    source : str
        What to call the data.
    code : str, optional
        Code that reproduces the fit; by default made from the estimator.
    random_state : int
        Draws the example rows and, for attenuated PCA, the bootstrap of the theory.
    force : bool, default=False
        Replace a file that exists.

    Returns
    -------
    Report
        The page, which a notebook shows.
    """
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ModuleNotFoundError:
        raise ImportError(f"The report needs jinja2: {how_to_install('report')}.") from None
    about = {"feature_names": feature_names, "groups": groups, "random_state": random_state}
    if isinstance(estimator, CorrectedPCA | CorrectedPCACV):
        template = "corrected.html"
        found = find_search(estimator, X, **about)
        charts, context, compared = search_charts(found), search_context(found), (found.pca, found.other)
    else:
        template = "attenuated.html"
        found = find(estimator, X, **about)
        charts, context = all_charts(found), _attenuated_context(found)
        compared = (found.pca.components, found.attenuated.components)
    shape = _image_shape(image_shape, found.names, getattr(estimator, "neighbours", None))
    script = _asset("charts.js")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, loader=FunctionLoader(_asset)
    )
    environment.filters["short"] = short
    page = environment.get_template(template).render(
        found=found,
        charts=charts,
        pictures=None if shape is None else _pictures(found.examples, *compared, shape),
        source=source,
        settings=_settings(estimator, found),
        versions=_versions(),
        code=_code(estimator, found) if code is None else code,
        style=_asset("page.css"),
        script=script,
        # Only this script may run, whatever a name in the data looks like.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=script_safe_json({key: chart.views for key, chart in charts.items()}),
        **context,
    )
    result = Report(page)
    if path is not None:
        result.save(path, force=force)
    return result


def script_safe_json(value: Any) -> str:
    """Return JSON in which no text can end the element that holds it or start another."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _asset(name: str) -> str:
    return (files("attenua.report") / "assets" / name).read_text(encoding="utf-8")


def _image_shape(given: tuple[int, int] | None, names: list[str], neighbours: Any) -> tuple[int, int] | None:
    """Return the shape of rows as images: that given, that of a grid of neighbours, or that of the names."""
    if given is None:
        is_grid = isinstance(neighbours, tuple | list) and len(neighbours) == 2
        return tuple(neighbours) if is_grid else shape_from_names(names)
    height, width = given
    if height * width != len(names):
        raise ValueError(f"image_shape {height} x {width} does not fit {len(names)} columns.")
    return height, width


def _attenuated_context(found: Findings) -> dict[str, Any]:
    return {"title": "Attenuated PCA", "paired": found.paired, "answer": _answer(found)}


def _answer(found: Findings) -> tuple[str, str]:
    """Return the answer to the first question: in a word or two, and in sentences."""
    paired = found.paired
    if paired.verdict == "pca":
        return "No: use ordinary PCA", found.validation.verdict_ if found.chosen_by_cv else paired.advice
    if paired.verdict == "clear":
        return "Yes", paired.advice
    if paired.gain <= 0:
        return "No", f"At α = {found.alpha:g} held-out rows are reconstructed no better than by PCA."
    return "Perhaps not", paired.advice


def _pictures(examples: Examples | None, pca: Array, other: Array, shape: tuple[int, int]) -> dict[str, Any]:
    """Return rows, their reconstructions and loadings as images."""
    rows = []
    if examples is not None:
        low, high = float(examples.original.min()), float(examples.original.max())
        errors = zip(examples.pca_error, examples.other_error, strict=True)
        rows = [
            {
                "row": int(row),
                "images": [
                    grey_image(values[k].reshape(shape), low, high)
                    for values in (examples.original, examples.pca, examples.other)
                ],
                "change": change_of(before, after),
            }
            for k, (row, (before, after)) in enumerate(zip(examples.rows, errors, strict=True))
        ]
    loadings = []
    for pair in zip(pca, other, strict=True):
        largest = float(np.abs(pair).max())
        loadings.append([signed_image(values.reshape(shape), largest) for values in pair])
    return {"rows": rows, "loadings": loadings, "height": shape[0], "width": shape[1]}


def _settings(estimator: Any, found: Findings | SearchFindings) -> list[tuple[str, str]]:
    shown = {key: _brief(value) for key, value in _parameters(estimator).items()}
    return [
        ("estimator", type(estimator).__name__),
        *shown.items(),
        ("rows", f"{found.n_rows:,}" + (", in groups" if found.grouped else "")),
        ("columns", f"{len(found.names):,}"),
        ("held-out parts", str(found.n_splits)),
    ]


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + " ..."


def _versions() -> list[tuple[str, str]]:
    return [
        ("attenua", attenua.__version__),
        ("numpy", np.__version__),
        ("scipy", scipy.__version__),
        ("scikit-learn", sklearn.__version__),
        ("Python", platform.python_version()),
        ("system", f"{platform.system()} {platform.machine()}"),
    ]


def _code(estimator: Any, found: Findings | SearchFindings) -> str:
    groups = ", groups=groups" if found.grouped and found.chosen_by_cv else ""
    name = type(estimator).__name__
    return (
        f"from attenua import {name}\n"
        "from attenua.report import report\n\n"
        f"model = {name}({_arguments(estimator)})\n"
        f"model.fit(X{groups})\n"
        f'report(model, X, "report.html"{", groups=groups" if found.grouped else ""})\n'
    )


def _arguments(estimator: Any) -> str:
    """Return the parameters that are not the defaults, in full: a shortened text would not run."""
    defaults = type(estimator)().get_params(deep=False)
    given = _parameters(estimator)
    return ", ".join(f"{key}={value!r}" for key, value in given.items() if repr(value) != repr(defaults[key]))


def _parameters(estimator: Any) -> dict[str, Any]:
    return {
        key: value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        for key, value in estimator.get_params(deep=False).items()
    }
