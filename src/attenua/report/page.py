"""The page itself: findings and charts in a template that loads nothing and runs only its own script."""

import base64
import hashlib
import html
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import ArrayLike

import attenua
from attenua._correct.registry import CORRECTIONS
from attenua._data.checks import checked_count
from attenua._estimate.words import (
    capitalised,
    counted,
    outcome_of_step,
    spoken,
    strengths_in_words,
    taken_in_part,
)
from attenua._extras import how_to_install
from attenua._files import write_all_whole
from attenua.monitoring import ControlLimits
from attenua.report.axis import Axis, axis_of
from attenua.report.charts import all_charts, percent, short
from attenua.report.findings import Findings, find
from attenua.report.images import image_shape_of, missing_image, pictures_of
from attenua.report.overview import (
    Overview,
    colour_of,
    find_overview,
    loadings_table,
    scores_chart,
    scores_table,
    variance_chart,
)
from attenua.report.unusual import find_limits, unusual_chart, unusual_table

_SCRIPTS = ("draw.js", "charts.js", "scatter.js", "files.js", "start.js")


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
        write_all_whole({_checked_path(path): self.html.encode()}, force=force)

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own that shares nothing with it."""
        return (
            '<iframe title="attenua report" sandbox="allow-scripts allow-downloads" '
            'style="width:100%;height:640px;border:0" '
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
    colour_by: ArrayLike | None = None,
    colour_name: str | None = None,
    row_names: ArrayLike | None = None,
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
        Where to write the page, ending in .html: one file that opens without a network.
    image_shape : (int, int), optional
        Show rows and loadings as images of this many rows and columns of pixels. By default where the
        columns are called like pixels, such as ``pixel_0_0``, or their neighbours are a grid.
    feature_names : sequence of str, optional
        Names of the columns; by default those of the estimator or of X.
    groups : array-like of shape (n_samples,), optional
        Labels of rows that belong together, as given to ``fit``.
    colour_by : array-like of shape (n_samples,), optional
        What colours the scores: texts and a few whole numbers as labels, other numbers on a scale. By
        default the groups.
    colour_name : str, optional
        What to call the colours; by default the name of `colour_by`, where it has one.
    row_names : array-like of shape (n_samples,), optional
        Names of the rows; by default they are counted.
    source : str
        What to call the data.
    code : str, optional
        Code that reproduces the fit; by default made from the estimator.
    random_state : int
        Draws the example rows, and the points where there are many.
    force : bool, default=False
        Replace a file that exists.

    Returns
    -------
    Report
        The page, which a notebook shows.
    """
    # Errors come before the work.
    environment = _environment()
    checked_count(random_state, "random_state", least=0)
    if path is not None:
        _checked_path(path)
    found = find(estimator, X, feature_names=feature_names, groups=groups, random_state=random_state)
    overview = find_overview(
        estimator,
        X,
        found.pca_ratio,
        row_names=row_names,
        colour=colour_of(colour_by, colour_name, groups, found.n_rows),
        random_state=random_state,
    )
    limits, why_no_limits = find_limits(estimator, X, groups, float(found.variances.sum()))
    about_rows = ("groups", groups), ("colour_by", colour_by), ("colour_name", colour_name)
    given = [name for name, value in (*about_rows, ("row_names", row_names)) if value is not None]
    neighbours = getattr(estimator, "neighbours", None)
    page = environment.get_template("page.html").render(
        found=found,
        search=found.search,
        answer=found.recommendation,
        overview=overview,
        missing_words="" if found.missing is None else found.missing.in_words(overview.row_names),
        missing_image=None if found.missing is None else missing_image(found.missing),
        corrections=CORRECTIONS,
        pictures=pictures_of(found, image_shape_of(image_shape, found.names, neighbours), overview.row_names),
        limits=limits,
        why_no_limits=why_no_limits,
        source=source,
        about=_about(estimator, found),
        settings=_settings(estimator, found),
        versions=_versions(),
        code=_code(estimator, found, given) if code is None else code,
        **_drawn(found, overview, limits, axis_of(found.names, neighbours)),
        **_script_and_style(),
    )
    # File names that are not UTF-8 contain halves of surrogate pairs, which UTF-8 cannot encode.
    result = Report(page.encode(errors="replace").decode())
    if path is not None:
        result.save(path, force=force)
    return result


def _drawn(
    found: Findings, overview: Overview, limits: ControlLimits | None, axis: Axis | None
) -> dict[str, Any]:
    """Return the charts, and what the script needs to draw them and to save tables."""
    names = overview.row_names
    charts = all_charts(found, axis, names) | {"variance": variance_chart(overview, found.kind)}
    views = {key: chart.views for key, chart in charts.items()}
    # Scores, and T2 and Q, are drawn from their tables.
    charts["scores"] = scores_chart(overview)
    tables = {"scores": scores_table(overview, found.names)}
    if limits is not None:
        charts["unusual"] = unusual_chart(limits, names)
        tables["unusual"] = unusual_table(limits, overview)
    if overview.loadings_fit:
        tables["loadings"] = loadings_table(overview, found.names)
    return {"charts": charts, "data": script_safe_json({"charts": views, "tables": tables})}


def _script_and_style() -> dict[str, str]:
    script = '"use strict";\n(() => {\n' + "\n".join(map(_asset, _SCRIPTS)) + "})();\n"
    # Only this script may run, whatever a name in the data looks like.
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"style": _asset("page.css"), "script": script, "script_hash": script_hash}


def _environment() -> Any:
    """Return what fills the templates."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ModuleNotFoundError:
        raise ImportError(f"The report needs jinja2: {how_to_install('report')}.") from None
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, loader=FunctionLoader(_asset)
    )
    filters = {some.__name__: some for some in (short, percent, counted, spoken, capitalised, taken_in_part)}
    environment.filters |= filters | {"in_words": strengths_in_words, "outcome": outcome_of_step}
    return environment


def _checked_path(path: str | Path) -> Path:
    """Return where the page goes, or an error that says why it cannot go there."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"path must end in .html, since the report is a web page; got {str(path)!r}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"path must be in a folder that exists; there is no {str(path.parent)!r}.")
    return path


def script_safe_json(value: Any) -> str:
    """Return JSON in which no text can end the element that holds it or start another."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _asset(name: str) -> str:
    return (files("attenua.report") / "assets" / name).read_text(encoding="utf-8")


def _about(estimator: Any, found: Findings) -> list[str]:
    """Return what the corrections have to say about the strengths of this fit."""
    given = estimator.get_params(deep=False)
    used = [(CORRECTIONS[name], strength) for name, strength in found.strengths.items() if strength]
    sentences = [each.about(strength, given.get(each.parameter)) for each, strength in used]
    return [sentence for sentence in sentences if sentence]


def _settings(estimator: Any, found: Findings) -> list[tuple[str, str]]:
    texts = {key: repr(value) for key, value in _parameters(estimator).items()}
    return [
        ("estimator", type(estimator).__name__),
        *((key, text if len(text) <= 200 else text[:200] + " ...") for key, text in texts.items()),
        ("rows", f"{found.n_rows:,}" + (", in groups" if found.grouped else "")),
        ("columns", f"{len(found.names):,}"),
        ("held-out parts", str(found.search.n_splits)),
    ]


def _versions() -> list[tuple[str, str]]:
    libraries = {"attenua": attenua, "numpy": np, "scipy": scipy, "scikit-learn": sklearn}
    return [
        *((name, library.__version__) for name, library in libraries.items()),
        ("Python", platform.python_version()),
        ("system", f"{platform.system()} {platform.machine()}"),
    ]


def _code(estimator: Any, found: Findings, given: Sequence[str]) -> str:
    groups = ", groups=groups" if found.grouped and found.chosen_by_cv else ""
    arguments = "".join(f", {argument}={argument}" for argument in given)
    name = type(estimator).__name__
    return (
        f"from attenua import {name}\n"
        "from attenua.report import report\n\n"
        f"model = {name}({_arguments(estimator)})\n"
        f"model.fit(X{groups})\n"
        f'report(model, X, "report.html"{arguments})\n'
    )


def _arguments(estimator: Any) -> str:
    """Return the parameters that are not the defaults, in full: a shortened text would not run."""
    defaults = type(estimator)().get_params(deep=False)
    given = _parameters(estimator)
    return ", ".join(f"{key}={value!r}" for key, value in given.items() if repr(value) != repr(defaults[key]))


def _parameters(estimator: Any) -> dict[str, Any]:
    given = estimator.get_params(deep=False)
    if given.get("reference") is not None:
        given["reference"] = _Reference()
    return {
        key: value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        for key, value in given.items()
    }


class _Reference:
    """Stands for a reference, which may have many rows: in code it is a variable, as X is."""

    def __repr__(self) -> str:
        return "reference"
