"""Pictures of fits and of what was found out about them, each on one matplotlib Axes where one is enough.

Every function draws on the Axes it is given, or on a new figure, and returns what it drew on. Text and frames
have the colours of ``matplotlib.rcParams``, and no background is painted, so that a style sheet suits them to
a light or a dark page.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2
from sklearn.utils.validation import check_is_fitted

from attenua._data.checks import checked_count
from attenua._data.namespace import to_host
from attenua._data.opening import checked_matrix
from attenua._estimate.words import counted, spoken
from attenua._extras import how_to_install
from attenua._select.resampling import LARGEST_ANGLE
from attenua._select.steps import Steps
from attenua.corrected import CorrectedPCA
from attenua.learning import LearningCurve
from attenua.monitoring import ControlLimits
from attenua.rank import RankChoice
from attenua.stability import Stability

try:
    from matplotlib import pyplot as plt
    from matplotlib.colors import LinearSegmentedColormap, to_rgba
    from matplotlib.patches import Rectangle
except ImportError as error:
    raise ImportError(
        f"Pictures need matplotlib, which is not installed: {how_to_install('plot')}."
    ) from error

Array = NDArray[np.float64]

# All are seen on white and on black.
COLOURS = {"fit": "#2b7fc4", "pca": "#8c96a3", "accent": "#de731c", "soft": "#9aa3ae"}
# Of labels. The last is that of all other rows, where there are more kinds than colours.
KINDS = (
    "#2b7fc4", "#de731c", "#2f9e58", "#d43d51", "#9061c9",
    "#9c6b4e", "#d977b8", "#a8a62c", "#22b1c4", "#8c96a3",
)  # fmt: skip
_MOST_NAMED_ROWS = 8
_MOST_NAMED_COLUMNS = 20
_MOST_LETTERS = 24
# Components beyond those fitted that a scree shows, so that the rest of the curve is seen.
_BEYOND = 8
# Blocks of cells in a picture of missing cells, down and across.
_MOST_BLOCKS = (100, 200)
# wl_850.5, 850 nm, X850: what stands before a number, the number, and its unit.
_NUMBERED = re.compile(r"(\D*?)([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(\D*)", re.IGNORECASE)


def scores(
    model: Any,
    X: Any,
    *,
    components: Sequence[int] = (0, 1),
    colour_by: ArrayLike | None = None,
    row_names: Sequence[Any] | None = None,
    ax: Any = None,
) -> Any:
    r"""Draw rows as points of two components; of one component, over the number of the row.

    Up to eight outlying rows are named: those with the largest :math:`\sum_k t_{ik}^2 / \overline{t_k^2}`
    over the components drawn, beyond the 99% quantile of :math:`\chi^2`.

    Parameters
    ----------
    model : object
        A fitted estimator of components.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows; missing cells are filled as in ``transform``.
    components : sequence of one or two int, default=(0, 1)
        Which components, the first being 0.
    colour_by : array-like of shape (n_samples,), default=None
        What colours the rows: labels, or numbers of more than ten kinds, which get a colour bar.
    row_names : sequence of shape (n_samples,), default=None
        Names of the rows; by default their numbers, the first being 0.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    check_is_fitted(model)
    shares = np.asarray(to_host(model.explained_variance_ratio_), dtype=float)
    # The default is two components, of which a fit may have only one.
    drawn = [checked_count(k, "each of components", 0, len(shares) - 1) for k in components[: len(shares)]]
    if len(drawn) not in (1, 2):
        raise ValueError(f"components must be one or two numbers of components; got {components!r}.")
    points = np.asarray(to_host(model.transform(X)), dtype=float)[:, drawn]
    names = _one_each(row_names, len(points), "row_names", "rows")
    ax = _axes(ax)
    squares = points**2 / np.maximum(np.mean(points**2, axis=0), np.finfo(float).tiny)
    labels = [f"component {k + 1} ({shares[k]:.0%} of the variance)" for k in drawn]
    if len(drawn) == 1:
        points, labels = np.column_stack([np.arange(len(points)), points]), ["row", *labels]
        ax.xaxis.get_major_locator().set_params(integer=True)
    else:
        ax.axvline(0, color=COLOURS["soft"], lw=0.8, alpha=0.5, zorder=0)
    ax.axhline(0, color=COLOURS["soft"], lw=0.8, alpha=0.5, zorder=0)
    _coloured(ax, points, colour_by)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    distances = squares.sum(axis=1)
    far = np.flatnonzero(distances > chi2.ppf(0.99, len(drawn)))
    _name_rows(ax, points, far[np.argsort(-distances[far], kind="stable")], names)
    return ax


def loadings(
    model: Any,
    *,
    n_components: int = 4,
    feature_names: Sequence[Any] | None = None,
    image_shape: tuple[int, int] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the loadings of the first components: as images, as curves over the columns, or as bars.

    They are images where the columns are a grid, curves where they are a line or more than 20 without names,
    and else bars: of all columns, or of the 20 with the largest loadings.

    Parameters
    ----------
    model : object
        A fitted estimator of components.
    n_components : int, default=4
        How many components to draw, as far as there are so many.
    feature_names : sequence of shape (n_features,), default=None
        Names of the columns; by default those of the frame that was fitted. Where all are numbers that only
        rise or only fall, such as ``850.5`` or ``"850 nm"``, these are the axis of the curves.
    image_shape : tuple of two int, default=None
        Height and width of rows as images; by default those of the estimator's ``neighbours``.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    check_is_fitted(model)
    count = checked_count(n_components, "n_components")
    deviations = np.sqrt(np.asarray(to_host(model.explained_variance_), dtype=float)[:count])
    values = np.asarray(to_host(model.components_[:count]), dtype=float) * deviations[:, None]
    names = _one_each(feature_names, values.shape[1], "feature_names", "columns")
    names = getattr(model, "feature_names_in_", None) if names is None else names
    neighbours = getattr(model, "neighbours", None)
    is_line = isinstance(neighbours, str)
    if image_shape is None and isinstance(neighbours, (tuple, list)) and len(neighbours) == 2:
        image_shape = (neighbours[0], neighbours[1])
    shares = to_host(model.explained_variance_ratio_)
    titles = [f"component {k + 1}\n{shares[k]:.0%}" for k in range(len(values))]
    if image_shape is not None:
        largest = np.maximum(np.abs(values).max(axis=1, keepdims=True), np.finfo(float).tiny)
        images = _images(values / largest, image_shape)[None]
        return _montage(_axes(ax, (2 * len(values), 2.4)), images, titles, cmap=_signed(), limits=(-1, 1))
    places, label, is_scale = _places(names, values.shape[1])
    if not is_line and (values.shape[1] <= _MOST_NAMED_COLUMNS or not (names is None or is_scale)):
        return _bars(ax, values, titles, names)
    ax = _axes(ax)
    ax.axhline(0, color=COLOURS["soft"], lw=0.8, zorder=0)
    for k, curve in enumerate(values):
        look = {"color": KINDS[k % len(KINDS)], "lw": 1.4 if len(curve) < 500 else 0.7}
        ax.plot(places, curve, label=titles[k].replace("\n", ", "), zorder=3 - k / len(values), **look)
    _name_places(ax, names, places, label, is_scale)
    ax.set_ylabel("loading")
    _legend(ax)
    return ax


def scree(model: Any, X: Any = None, *, choice: RankChoice | None = None, ax: Any = None) -> Any:
    """Draw the variance that components explain, and where they were cut.

    Parameters
    ----------
    model : object
        A fitted estimator of components.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
        The rows it was fitted to: with them the curve of ordinary PCA goes on beyond the fitted components.
    choice : RankChoice, default=None
        What :func:`attenua.choose_rank` answered, to be marked.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    check_is_fitted(model)
    shares = 100 * np.asarray(to_host(model.explained_variance_ratio_), dtype=float)
    ax, last = _axes(ax), len(shares)
    if X is not None:
        rows = checked_matrix(to_host(X))[0]
        last = min(len(shares) + _BEYOND, max(rows.shape[0] - 1, 1), rows.shape[1])
        whole = CorrectedPCA(last, scale=getattr(model, "scale_", None) is not None).fit(rows)
        ax.plot(
            range(1, last + 1), 100 * whole.explained_variance_ratio_, "o-", ms=4, color=COLOURS["pca"],
            label="ordinary PCA",
        )  # fmt: skip
    ax.plot(
        range(1, len(shares) + 1), shares, "D-", ms=5, mfc="none", mew=1.4, color=COLOURS["fit"],
        label=f"fitted: {len(shares)}",
    )  # fmt: skip
    if choice is not None:
        ax.axvline(
            choice.rank + 0.5, color=COLOURS["accent"], ls="--", lw=1.4, label=f"choose_rank: {choice.rank}"
        )
    ax.set_ylim(0, None)
    ax.set(xlabel="component", ylabel="variance explained, %")
    ax.xaxis.get_major_locator().set_params(integer=True)
    _legend(ax)
    return ax


def steps(steps: Steps, ax: Any = None) -> Any:
    """Draw what each step of a search gained beyond those before it, and the weight it got in the fit.

    Parameters
    ----------
    steps : Steps
        ``steps_`` of a fitted estimator.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    compared = [step for step in steps if step.strengths]
    if not compared:
        raise ValueError("steps must hold a step that compared strengths; none did.")
    ax = _axes(ax, (6.4, 1.2 + 0.36 * len(compared)))
    unit = compared[0].unit
    factor = 1.0 if unit else 100.0
    for place, step in enumerate(compared):
        colour, error = COLOURS["fit" if step.weight else "pca"], factor * step.standard_error
        has_error = bool(step.gain) and np.isfinite(error)
        ax.barh(
            place, factor * step.gain, 0.6, color=colour, xerr=error if has_error else None, capsize=3,
            error_kw={"ecolor": plt.rcParams["text.color"], "elinewidth": 1.2},
        )  # fmt: skip
        ax.text(1.02, place, f"{step.weight:.0%}", transform=ax.get_yaxis_transform(), va="center")
    ax.text(1.02, -0.7, "weight", transform=ax.get_yaxis_transform(), va="bottom", fontsize="small")
    ax.axvline(0, color=COLOURS["soft"], lw=0.8)
    names = [spoken(step.correction) + (f" {step.best:g}" if step.best else "") for step in compared]
    ax.set_yticks(range(len(compared)), names)
    ax.set_ylim(len(compared) - 0.4, -0.6)
    ax.set_xlabel(f"gain, {unit} a row" if unit else "removed of PCA's held-out risk, %")
    return ax


def strengths(model: Any, ax: Any = None) -> Any:
    """Draw the held-out risk of an `AttenuatedPCACV` over its strengths, as a change from PCA's.

    Parameters
    ----------
    model : AttenuatedPCACV
        Fitted.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    check_is_fitted(model)
    alphas, risk, folds = (
        np.asarray(to_host(values), dtype=float)
        for values in (model.alphas_, model.cv_risk_, model.cv_risk_folds_)
    )
    of_pca = risk[0] or 1.0
    change = 100 * (risk - risk[0]) / of_pca
    chosen = int(np.argmin(np.abs(alphas - model.alpha_)))
    ax = _axes(ax)
    ax.axhline(0, color=COLOURS["soft"], lw=0.8, zorder=0)
    if len(folds) > 1:
        parts = ax.plot(
            alphas, 100 * (folds - folds[:, :1]).T / of_pca, color=COLOURS["soft"], lw=0.7, alpha=0.7
        )
        parts[0].set_label("each split")
    ax.plot(alphas, change, "-", color=COLOURS["fit"], lw=2.2, label="all splits")
    ax.plot(
        alphas[chosen], change[chosen], "o", ms=7, color=COLOURS["accent"], clip_on=False,
        label=f"chosen: {alphas[chosen]:g}",
    )  # fmt: skip
    ax.set(xlabel="strength of attenuation", ylabel="held-out risk, change from PCA, %")
    _legend(ax)
    return ax


def rank(choice: RankChoice, ax: Any = None) -> Any:
    """Draw the held-out error by number of components, or eigenvalues and what they must exceed.

    Parameters
    ----------
    choice : RankChoice
        From :func:`attenua.choose_rank`.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    ax = _axes(ax)
    look = {"ms": 4, "color": COLOURS["fit"], "zorder": 3}
    if choice.errors is not None:
        errors = 100 * choice.errors
        mean = errors.mean(axis=0)
        ax.plot(choice.ranks, errors.T, color=COLOURS["soft"], lw=0.7, alpha=0.7)[0].set_label(
            "each partition"
        )
        ax.plot(choice.ranks, mean, "o-", label="mean", **look)
        # The errors of large ranks grow without bound and would flatten the rest of the curve.
        ax.set_ylim(0, 1.3 * max(mean[0], mean[choice.rank]))
        ax.set(xlabel="components", ylabel="error of held-out entries, % of none")
    elif choice.eigenvalues is not None and choice.thresholds is not None:
        values, least = 100 * choice.eigenvalues, 100 * choice.thresholds
        noise = "95% of shuffled columns" if choice.method == "parallel" else "threshold"
        ax.plot(choice.ranks, values, "o-", label="these rows", **look)
        ax.plot(choice.ranks, least, "--", color=COLOURS["pca"], label=noise)
        ax.set_yscale("log", subs=(2, 5))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("{x:g}")
        # The last eigenvalues may be 0, which a logarithmic axis cannot show.
        ax.set_ylim(min(value for value in (values[0], least[0]) if value > 0) / 50, None)
        ax.set(xlabel="component", ylabel="variance explained, %")
    ax.axvline(choice.rank, color=COLOURS["accent"], lw=1.4, label=f"chosen: {choice.rank}")
    ax.xaxis.get_major_locator().set_params(integer=True)
    _legend(ax)
    return ax


def learning_curve(curve: LearningCurve, ax: Any = None) -> Any:
    """Draw the error of new rows by the number of rows fitted, and what twice the rows should bring.

    Parameters
    ----------
    curve : LearningCurve
        From :func:`attenua.learning_curve`.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    ax, sizes = _axes(ax), curve.sizes
    ax.plot(sizes, curve.pca_errors, "s-", ms=4, color=COLOURS["pca"], label="PCA")
    ax.errorbar(
        sizes, curve.errors, curve.standard_errors, fmt="o-", ms=5, color=COLOURS["fit"], lw=2, capsize=3,
        label="estimator",
    )  # fmt: skip
    more = np.geomspace(sizes[-1], 2 * curve.n_samples, 50)
    ax.plot(more, curve.expected(more), ":", lw=2, color=COLOURS["fit"], label="expected of more rows")
    ticks = [*sizes, 2 * curve.n_samples]
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{size:,.0f}" for size in ticks])
    ax.minorticks_off()
    ax.set(xlabel="rows fitted", ylabel="error of new rows")
    _legend(ax)
    return ax


def control_limits(limits: ControlLimits, *, row_names: Sequence[Any] | None = None, ax: Any = None) -> Any:
    """Draw T2 against Q with the limits of 95% and 99%; up to eight rows beyond those of 99% are named.

    Parameters
    ----------
    limits : ControlLimits
        From ``control_limits`` of a fitted estimator.
    row_names : sequence of shape (n_samples,), default=None
        Names of the rows; by default their numbers, the first being 0.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    points = np.column_stack([limits.t2_rows, limits.q_rows])
    names = _one_each(row_names, len(points), "row_names", "rows")
    ax, far = _axes(ax), limits.beyond(0.99)
    for level, style in ((0.95, ":"), (0.99, "--")):
        look = {"color": COLOURS["accent"], "lw": 1.2, "ls": style}
        ax.axvline(limits.t2(level), label=f"{level:.0%}", **look)
        ax.axhline(limits.q(level), **look)
    colours = np.full(len(points), COLOURS["fit"])
    colours[far] = COLOURS["accent"]
    ax.scatter(*points.T, s=18, lw=0, alpha=0.85, c=colours, zorder=2)
    ax.set(xlabel="T2, distance within the components", ylabel="Q, squared distance from them")
    for axis, values, limit in zip("xy", points.T, (limits.t2(0.99), limits.q(0.99)), strict=True):
        # A row that is far out would press all others into a corner.
        is_far_out = np.nanmin(values) > 0 and np.nanmax(values) > 10 * limit
        ax.set(**({f"{axis}scale": "log"} if is_far_out else {f"{axis}lim": (0, None)}))
    _legend(ax, title="limits")
    times = np.fmax(points[far, 0] / limits.t2(0.99), points[far, 1] / (limits.q(0.99) or 1.0))
    _name_rows(ax, points, far[np.argsort(-times, kind="stable")], names)
    return ax


def stability(found: Stability, ax: Any = None) -> Any:
    """Draw how far the first m components turn, and the loadings of up to four with error bars.

    Parameters
    ----------
    found : Stability
        From :func:`attenua.stability`.
    ax : matplotlib Axes or sequence of them, default=None
        One subplot, which is divided, or one for each panel; a new figure by default.

    Returns
    -------
    ndarray of matplotlib Axes
        The angles, then the loadings of each component.
    """
    n_panels, p = 1 + min(len(found.components), 4), found.components.shape[1]
    has_names = p <= _MOST_NAMED_COLUMNS
    axes = _panels(ax, n_panels, (2.2 + 2.2 * n_panels, 3.6 if not has_names else 1.6 + max(2.0, 0.2 * p)))
    holds = {block.last for block in found.blocks if block.is_stable}
    numbers = np.arange(1, len(found.components) + 1)
    colours = [COLOURS["fit" if m in holds else "pca"] for m in numbers]
    axes[0].bar(numbers, found.leading_limits, 0.7, color=colours)
    axes[0].axhline(LARGEST_ANGLE, color=COLOURS["accent"], ls="--", lw=1.3)
    axes[0].set(ylim=(0, 90), yticks=range(0, 91, 15), xlabel="first m components")
    axes[0].set_ylabel(f"turn in {found.level:.0%} of samples\nat most, degrees")
    axes[0].set_title("stable below the line", fontsize="medium")
    axes[0].xaxis.get_major_locator().set_params(integer=True)
    low, high = found.intervals
    places, label, _ = _places(found.feature_names, p)
    for k, panel in enumerate(axes[1:]):
        (block,) = (block for block in found.blocks if block.first <= k + 1 <= block.last)
        reading = "stable" if block.is_single else f"one of {block.span}"
        colour = COLOURS["fit" if block.is_stable and block.is_single else "pca"]
        values = found.components[k]
        if has_names:
            panel.axvline(0, color=COLOURS["soft"], lw=0.8, zorder=0)
            ends = [values - low[k], high[k] - values]
            panel.errorbar(values, range(p), xerr=ends, fmt="o", ms=4, color=colour, lw=1.4, capsize=2)
            names = [_plain(name) for name in found.feature_names] if k == 0 else [""] * p
            panel.set_yticks(range(p), names, fontsize="small")
            panel.set_ylim(p - 0.5, -0.5)
            panel.set_xlabel("loading")
            panel.locator_params(axis="x", nbins=4)
        else:
            panel.axhline(0, color=COLOURS["soft"], lw=0.8, zorder=0)
            panel.fill_between(places, low[k], high[k], color=colour, alpha=0.3, lw=0)
            panel.plot(places, values, color=colour, lw=1.2)
            panel.set_xlabel(label)
        panel.set_title(
            f"component {k + 1}\n{reading if block.is_stable else 'not stable'}", fontsize="medium"
        )
    return axes


def reconstructions(
    original: ArrayLike,
    pca: ArrayLike,
    fit: ArrayLike,
    *,
    row_names: Sequence[Any] | None = None,
    image_shape: tuple[int, int] | None = None,
    feature_names: Sequence[Any] | None = None,
    ax: Any = None,
) -> Any:
    """Draw a few rows as they are, as PCA reconstructs them, and as a fit does.

    Parameters
    ----------
    original, pca, fit : array-like of shape (n_rows, n_features)
        The rows, with NaN for missing cells, and their reconstructions. Divide columns of different units by
        their standard deviations.
    row_names : sequence of shape (n_rows,), default=None
        Names of the rows; by default their numbers, the first being 0.
    image_shape : tuple of two int, default=None
        Height and width of rows as images.
    feature_names : sequence of shape (n_features,), default=None
        Names of the columns.
    ax : matplotlib Axes or sequence of them, default=None
        One subplot, which is divided, or one for each row; a new figure by default.

    Returns
    -------
    matplotlib Axes or ndarray of them
        One Axes of images; one for each row if they are not images.
    """
    rows, by_pca, by_fit = (np.atleast_2d(np.asarray(values, dtype=float)) for values in (original, pca, fit))
    n, p = rows.shape
    names = _one_each(row_names, n, "row_names", "rows")
    titles = [f"row {i}" if names is None else _plain(names[i]) for i in range(n)]
    columns = _one_each(feature_names, p, "feature_names", "columns")
    if image_shape is not None:
        images = np.stack([_images(values, image_shape) for values in (rows, by_pca, by_fit)], axis=1)
        grey = plt.get_cmap("gray_r").with_extremes(bad=COLOURS["accent"])
        limits = (float(np.nanmin(rows)), float(np.nanmax(rows)))
        ax = _axes(ax, (5.4, 0.5 + 1.5 * n))
        return _montage(ax, images, ["as it is", "by PCA", "by the fit"], titles, cmap=grey, limits=limits)
    places, label, is_scale = _places(columns, p)
    is_curve = p > _MOST_NAMED_COLUMNS
    ink, line = plt.rcParams["text.color"], "-" if is_curve else ""
    axes = _panels(ax, n, (1.4 + 3.2 * n, 3.4 if is_curve else 4.4))
    for panel, title, row, one, other in zip(axes, titles, rows, by_pca, by_fit, strict=True):
        missing = np.isnan(row)
        # Where both reconstructions agree, both are seen.
        panel.plot(places, one, line or "s", ms=6, lw=2.6, color=COLOURS["pca"], label="by PCA")
        panel.plot(places, other, line or "o", ms=4, lw=1.4, color=COLOURS["fit"], label="by the fit")
        panel.plot(places, row, line or "o", ms=9, lw=0.8, mfc="none", color=ink, label="as it is")
        if missing.any():
            look = {"ms": 3} if is_curve else {"ms": 10, "mfc": "none", "mew": 1.4}
            panel.plot(places[missing], other[missing], "s", color=COLOURS["accent"], label="missing", **look)
        panel.set_title(title, fontsize="medium")
        _name_places(panel, columns, places, label, is_scale)
    _legend(axes[0])
    return axes


def missing_cells(X: Any, ax: Any = None) -> Any:
    """Draw where cells are missing: rows down, columns across.

    Where there are more cells than a picture shows, a block has the share of its cells that are missing, and
    a block with one of them is seen.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows with NaN for missing cells.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    rows = checked_matrix(X)[0]
    if sp.issparse(rows):
        stored = rows.tocoo()
        i, j = (places[np.isnan(stored.data)] for places in stored.coords)
    else:
        i, j = np.nonzero(np.isnan(rows))
    n, p = rows.shape
    # The block of each row and of each column.
    down, across = (
        np.arange(size) * min(size, most) // size for size, most in zip((n, p), _MOST_BLOCKS, strict=True)
    )
    cells = np.outer(np.bincount(down), np.bincount(across))
    shares = np.zeros(cells.shape)
    np.add.at(shares, (down[i], across[j]), 1)
    shares /= cells
    ax = _axes(ax)
    pale, full = to_rgba(COLOURS["accent"], 0.6), to_rgba(COLOURS["accent"])
    cmap = LinearSegmentedColormap.from_list("missing", [pale, full]).with_extremes(bad=(0, 0, 0, 0))
    ax.imshow(
        np.ma.masked_equal(shares, 0), cmap=cmap, vmin=0, vmax=1, aspect="auto", interpolation="nearest",
        extent=(0.5, p + 0.5, n + 0.5, 0.5),
    )  # fmt: skip
    ax.spines[:].set_visible(True)
    ax.set(xlabel="column", ylabel="row")
    ax.set_title(f"{counted(len(i), 'missing cell')} of {n * p:,}", fontsize="medium")
    return ax


def overview(model: Any, X: Any, *, colour_by: ArrayLike | None = None) -> dict[str, Any]:
    """Draw scores, scree, loadings and, where strengths were compared, what they gained, in a new figure.

    Parameters
    ----------
    model : object
        A fitted estimator of components.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The rows it was fitted to.
    colour_by : array-like of shape (n_samples,), default=None
        What colours the rows: labels, or numbers.

    Returns
    -------
    dict of str to matplotlib Axes
        "scores", "scree", "loadings" and, where strengths were compared, "steps".
    """
    check_is_fitted(model)
    is_search = hasattr(model, "alphas_") or any(step.strengths for step in getattr(model, "steps_", ()))
    places: Any = [["scores", "scree"], ["loadings", "steps" if is_search else "loadings"]]
    figure, axes = plt.subplot_mosaic(places, figsize=(12.5, 8.5), layout="constrained")
    try:
        scores(model, X, colour_by=colour_by, ax=axes["scores"])
        scree(model, X, ax=axes["scree"])
        loadings(model, ax=axes["loadings"])
        if hasattr(model, "alphas_"):
            strengths(model, ax=axes["steps"])
        elif is_search:
            steps(model.steps_, ax=axes["steps"])
    except BaseException:
        plt.close(figure)  # half a figure is none
        raise
    return dict(axes)


def _axes(ax: Any, size: tuple[float, float] = (6.4, 4.2)) -> Any:
    """Return the given Axes, or those of a new figure, without the two sides that carry no scale."""
    ax = plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _panels(ax: Any, count: int, size: tuple[float, float]) -> NDArray[Any]:
    """Return Axes side by side: those given, parts of the one given, or those of a new figure."""
    if ax is None:
        found = plt.subplots(1, count, figsize=size, layout="constrained", squeeze=False)[1]
    elif np.size(ax) == 1 and count > 1 and np.ravel(ax)[0].get_subplotspec() is not None:
        (whole,) = np.ravel(ax)
        whole.set_axis_off()
        found = whole.get_subplotspec().subgridspec(1, count).subplots(squeeze=False)
    elif np.size(ax) == count:
        found = ax
    else:
        raise ValueError(f"ax must be one subplot, or {count} Axes, one for each panel; got {np.size(ax)}.")
    return np.array([_axes(panel) for panel in np.ravel(found)], dtype=object)


def _plain(name: Any) -> str:
    """Return a name as a short text in one line that matplotlib takes as it is, without formulas."""
    text = " ".join(str(name).split())
    text = text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"
    # Legends leave out what begins with an underscore.
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def _one_each(values: Any, count: int, name: str, what: str) -> Any:
    """Return an array with one value for each row or column; None stays None."""
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (count,):
        raise ValueError(
            f"{name} must hold one value for each of the {count} {what}; got shape {array.shape}."
        )
    return array


def _legend(ax: Any, **more: Any) -> None:
    ax.legend(frameon=False, fontsize="small", **more)


def _coloured(ax: Any, points: Array, colour_by: ArrayLike | None) -> None:
    """Draw rows as points, in the colours of labels or of numbers."""
    values = _one_each(colour_by, len(points), "colour_by", "rows")
    look: dict[str, Any] = {"s": 18, "lw": 0, "alpha": 0.85, "zorder": 2}
    if values is None:
        ax.scatter(*points.T, color=COLOURS["fit"], **look)
        return
    is_number = values.dtype.kind in "iuf"
    if is_number and len(np.unique(values[np.isfinite(values)])) > len(KINDS):
        cmap = plt.get_cmap("viridis").with_extremes(bad=COLOURS["soft"])
        drawn = ax.scatter(*points.T, c=values, cmap=cmap, plotnonfinite=True, **look)
        ax.figure.colorbar(drawn, ax=ax, shrink=0.8)
        return
    kinds = np.array([f"{value:g}" if is_number else str(value) for value in values.tolist()], dtype=object)
    counts = Counter(kinds)
    kept = [kind for kind, _ in counts.most_common()][
        : len(KINDS) if len(counts) <= len(KINDS) else len(KINDS) - 1
    ]
    in_order = sorted(kept, key=lambda kind: (float(kind), kind) if is_number else (0.0, kind))
    for colour, kind in zip(KINDS, in_order, strict=False):
        ax.scatter(*points[kinds == kind].T, color=colour, label=_plain(kind), **look)
    if len(kept) < len(counts):
        others = ~np.isin(kinds, kept)
        ax.scatter(*points[others].T, color=KINDS[-1], label=f"{len(counts) - len(kept)} others", **look)
    _legend(ax, loc="upper left", bbox_to_anchor=(1, 1))


def _name_rows(ax: Any, points: Array, rows: NDArray[np.intp], names: Any) -> None:
    """Write the names of the first few rows next to their points, where they cover no other of them."""
    ax.get_xlim(), ax.get_ylim()  # autoscaling is pending until they are read
    rows, point = rows[:_MOST_NAMED_ROWS], ax.figure.dpi / 72
    places = ax.transData.transform(points[rows])
    # Corners: left and low, right and high.
    taken = [(place - 3 * point, place + 3 * point) for place in places]
    for row, place in zip(rows, places, strict=True):
        text = str(row) if names is None else _plain(names[row])
        size = point * np.array([5.5 * len(text), 11])
        for side, align in (((1, 0), "left"), ((-1, 0), "right"), ((0, 1), "center"), ((0, -1), "center")):
            offset = np.array(side) * (5, 9)
            low = place + point * offset + size * ((side[0] - 1) / 2, -0.5)
            inside = (low >= ax.bbox.min).all() and (low + size <= ax.bbox.max).all()
            if inside and all(((low > b) | (low + size < a)).any() for a, b in taken):
                taken.append((low, low + size))
                ax.annotate(
                    text,
                    points[row],
                    offset,
                    textcoords="offset points",
                    fontsize="small",
                    ha=align,
                    va="center",
                )
                break


def _places(names: Any, count: int) -> tuple[Array, str, bool]:
    """Return where columns lie on an axis, its label, and whether the names are numbers in order."""
    found = [_NUMBERED.fullmatch(str(name).strip()) for name in ([] if names is None else names)]
    parts = [match.groups() for match in found if match]
    around = {(before, after) for before, _, after in parts}
    if count > 1 and len(parts) == count and len(around) == 1:
        ((before, after),) = around
        places = np.array([float(number) for _, number, _ in parts])
        if np.isfinite(places).all() and len(set(np.sign(np.diff(places)))) == 1 and places[0] != places[1]:
            label = ", ".join(filter(None, (part.strip(" _-=.:()[]") for part in (before, after))))
            return places, _plain(label) or "column", True
    return np.arange(1.0, count + 1), "column", False


def _name_places(ax: Any, names: Any, places: Array, label: str, is_scale: bool) -> None:
    """Label the axis of the columns: by their names where they are few and no numbers."""
    if names is not None and not is_scale and len(places) <= _MOST_NAMED_COLUMNS:
        ax.set_xticks(places, [_plain(name) for name in names], rotation=90, fontsize="small")
    else:
        ax.set_xlabel(label)


def _bars(ax: Any, values: Array, titles: list[str], names: Any) -> Any:
    """Draw loadings as bars, of the columns where they are largest; each component has a lane and a scale."""
    k, p = values.shape
    reach = np.maximum(np.abs(values).max(axis=1), np.finfo(float).tiny)
    largest = np.argsort(-np.max(np.abs(values) / reach[:, None], axis=0), kind="stable")
    shown = np.sort(largest[:_MOST_NAMED_COLUMNS])
    lanes = 2.4 * np.arange(k)
    ax = _axes(ax, (2.4 + 1.5 * k, 1.4 + max(1.2, 0.21 * len(shown))))
    for lane, bars, title in zip(lanes, values[:, shown] / reach[:, None], titles, strict=True):
        ax.axvline(lane, color=COLOURS["soft"], lw=0.8, zorder=0)
        colours = [COLOURS["fit" if bar < 0 else "accent"] for bar in bars]
        ax.barh(range(len(shown)), bars, 0.7, left=lane, color=colours)
        ax.text(lane, 1.01, title, transform=ax.get_xaxis_transform(), ha="center", va="bottom")
    # The largest of 1, 2 and 5 times a power of ten within each lane.
    steps = np.floor(np.log10(reach))[:, None] + np.log10([1, 2, 5])
    ticks = [
        max(10.0**step for step in some if 10.0**step <= most)
        for some, most in zip(steps, reach, strict=True)
    ]
    places = [
        lane + side * tick / most
        for lane, tick, most in zip(lanes, ticks, reach, strict=True)
        for side in (-1, 0, 1)
    ]
    texts = [text for tick in ticks for text in (f"−{tick:g}", "0", f"{tick:g}")]
    ax.set_xticks(places, texts, fontsize="small")
    ax.set_yticks(
        range(len(shown)), [_plain(i if names is None else names[i]) for i in shown], fontsize="small"
    )
    ax.set(xlim=(-1.2, lanes[-1] + 1.2), ylim=(len(shown) - 0.4, -0.6), xlabel="loading")
    if len(shown) < p:
        ax.set_ylabel(f"{len(shown)} of {p:,} columns")
    elif names is None:
        ax.set_ylabel("column")
    return ax


def _signed() -> Any:
    """Return a colour map from negative to positive that paints nothing at zero."""
    below, above = COLOURS["fit"], COLOURS["accent"]
    ends = [(0.0, to_rgba(below)), (0.5, to_rgba(below, 0)), (0.5, to_rgba(above, 0)), (1.0, to_rgba(above))]
    return LinearSegmentedColormap.from_list("signed", ends)


def _images(values: Array, shape: tuple[int, int]) -> Array:
    """Return rows as images."""
    if np.prod(shape) != values.shape[1]:
        raise ValueError(
            f"image_shape must have {values.shape[1]} pixels, one for each column; got {shape!r}."
        )
    return values.reshape(len(values), *shape)


def _montage(
    ax: Any,
    images: Array,
    above: Sequence[str],
    left: Sequence[str] = (),
    *,
    cmap: Any,
    limits: tuple[float, float],
) -> Any:
    """Draw images of shape (lines, columns, height, width) in one Axes, with their titles."""
    lines, columns, height, width = images.shape
    across, down = width + 0.1 * max(height, width), height + 0.1 * max(height, width)
    for i, j in np.ndindex(lines, columns):
        x, y = j * across, i * down
        ax.imshow(
            images[i, j], cmap=cmap, vmin=limits[0], vmax=limits[1], interpolation="nearest",
            extent=(x, x + width, y + height, y),
        )  # fmt: skip
        ax.add_patch(Rectangle((x, y), width, height, fill=False, ec=COLOURS["soft"], lw=0.6))
    for j, text in enumerate(above):
        ax.text(j * across + width / 2, -0.03 * down, text, ha="center", va="bottom")
    for i, text in enumerate(left):
        ax.text(-0.05 * across, i * down + height / 2, text, ha="right", va="center")
    ax.set(xlim=(-0.02 * across, columns * across), ylim=(lines * down, -0.02 * down))
    ax.axis("off")
    return ax
