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
from attenua.bootstrap import Stability
from attenua.corrected import CorrectedPCA
from attenua.learning import LearningCurve
from attenua.monitoring import ControlLimits
from attenua.rank import RankChoice

try:
    from matplotlib import pyplot as plt
    from matplotlib.colors import LinearSegmentedColormap, to_rgba
    from matplotlib.patches import Rectangle
except ImportError as error:
    raise ImportError(f"Pictures need matplotlib: {how_to_install('plot')}.") from error

Array = NDArray[np.float64]
Names = Sequence[Any] | None

# All are seen on white and on black.
COLOURS = {"fit": "#2b7fc4", "pca": "#8c96a3", "accent": "#de731c", "soft": "#9aa3ae"}
# Of labels. The last is that of all other rows, where there are more kinds than colours.
KINDS = (
    "#2b7fc4", "#de731c", "#2f9e58", "#d43d51", "#9061c9",
    "#9c6b4e", "#d977b8", "#a8a62c", "#22b1c4", "#8c96a3",
)  # fmt: skip
_BELOW, _ABOVE = COLOURS["fit"], COLOURS["accent"]
# Nothing is painted at zero.
_SIGNED: Any = LinearSegmentedColormap.from_list(
    "signed",
    [(0, to_rgba(_BELOW)), (0.5, to_rgba(_BELOW, 0)), (0.5, to_rgba(_ABOVE, 0)), (1, to_rgba(_ABOVE))],
)
_FAINT: dict[str, Any] = {"color": COLOURS["soft"], "lw": 0.8, "zorder": 0}
_DOTS: dict[str, Any] = {"s": 18, "lw": 0, "alpha": 0.85, "zorder": 2}
# Rows and columns that are named, and letters of a name.
_MOST_ROWS, _MOST_COLUMNS, _MOST_LETTERS = 8, 20, 24
_MOST_DOTS = 5000
# Components beyond those fitted that a scree shows, so that the rest of the curve is seen.
_BEYOND = 8
# Blocks of cells in a picture of missing cells.
_MOST_DOWN, _MOST_ACROSS = 100, 200
_TINY = np.finfo(float).tiny
# wl_850.5, 850 nm, X850: what stands before a number, the number, and its unit.
_NUMBERED = re.compile(r"(\D*?)([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(\D*)", re.IGNORECASE)


def scores(
    model: Any, X: Any, *, components: Sequence[int] = (0, 1), colour_by: ArrayLike | None = None,
    row_names: Names = None, ax: Any = None,
) -> Any:  # fmt: skip
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
    shares = _host(model.explained_variance_ratio_)
    # The default is two components, of which a fit may have only one.
    drawn = [checked_count(k, "each of components", 0, len(shares) - 1) for k in components[: len(shares)]]
    if len(drawn) not in (1, 2):
        raise ValueError(f"components must be one or two numbers of components; got {components!r}.")
    points = _host(model.transform(X))[:, drawn]
    distances = np.sum(points**2 / np.maximum(np.mean(points**2, axis=0), _TINY), axis=1)
    names = _one_each(row_names, len(points), "row_names", "rows")
    labels = [f"component {k + 1} ({shares[k]:.0%} of the variance)" for k in drawn]
    ax = _axes(ax)
    ax.axhline(0, **_FAINT)
    if len(drawn) == 1:
        points, labels = np.column_stack([np.arange(len(points)), points]), ["row", *labels]
    else:
        ax.axvline(0, **_FAINT)
    _coloured(ax, points, _one_each(colour_by, len(points), "colour_by", "rows"))
    far = np.flatnonzero(distances > chi2.ppf(0.99, len(drawn)))
    _name_rows(ax, points, far[np.argsort(-distances[far], kind="stable")], names)
    return _finished(ax, *labels, loc="upper left", bbox_to_anchor=(1, 1))


def loadings(
    model: Any, *, n_components: int = 4, feature_names: Names = None,
    image_shape: tuple[int, int] | None = None, ax: Any = None,
) -> Any:  # fmt: skip
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
    count = min(checked_count(n_components, "n_components"), model.components_.shape[0])
    values = _host(model.components_[:count, :]) * np.sqrt(_host(model.explained_variance_)[:count, None])
    p, shares = values.shape[1], _host(model.explained_variance_ratio_)
    names = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    names = _one_each(names, p, "feature_names", "columns")
    titles = [f"component {k + 1}\n{shares[k]:.0%}" for k in range(len(values))]
    largest = np.maximum(np.abs(values).max(axis=1), _TINY)
    neighbours, axis = getattr(model, "neighbours", None), _axis_of(names)
    if image_shape is None and isinstance(neighbours, (tuple, list)) and len(neighbours) == 2:
        image_shape = (neighbours[0], neighbours[1])
    if image_shape is not None:
        images = _images(values / largest[:, None], image_shape)[None]
        return _montage(_axes(ax, (2 * len(values), 2.4)), images, titles, cmap=_SIGNED, vmin=-1, vmax=1)
    is_line = isinstance(neighbours, str) or (p > _MOST_COLUMNS and (names is None or axis is not None))
    if not is_line:
        return _bars(ax, values, largest, titles, names)
    ax, (places, label) = _axes(ax), axis or (np.arange(1.0, p + 1), "column")
    ax.axhline(0, **_FAINT)
    for k, (curve, title) in enumerate(zip(values, titles, strict=True)):
        look = {"color": KINDS[k % len(KINDS)], "lw": 1.4 if p < 500 else 0.7, "zorder": 3 - k / len(values)}
        ax.plot(places, curve, label=title.replace("\n", ", "), **look)
    return _finished(ax, label, "loading")


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
    ax, shares = _axes(ax), 100 * _host(model.explained_variance_ratio_)
    if X is not None:
        rows = checked_matrix(to_host(X))[0]
        last = min(len(shares) + _BEYOND, max(rows.shape[0] - 1, 1), rows.shape[1])
        pca = CorrectedPCA(last, scale=getattr(model, "scale_", None) is not None).fit(rows)
        line = {"color": COLOURS["pca"], "label": "ordinary PCA", "ms": 4}
        ax.plot(range(1, last + 1), 100 * pca.explained_variance_ratio_, "o-", **line)
    line = {"color": COLOURS["fit"], "label": f"fitted: {len(shares)}", "mfc": "none", "ms": 5}
    ax.plot(range(1, len(shares) + 1), shares, "D-", **line)
    if choice is not None:
        label = f"choose_rank: {choice.rank}"
        ax.axvline(choice.rank + 0.5, color=COLOURS["accent"], ls="--", lw=1.4, label=label)
    ax.set_ylim(0, None)
    return _finished(ax, "component", "variance explained, %", counts=True)


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
    ax, unit = _axes(ax, (6.4, 1.2 + 0.36 * len(compared))), compared[0].unit
    right, factor = ax.get_yaxis_transform(), 1.0 if unit else 100.0
    for place, step in enumerate(compared):
        bar = {"color": COLOURS["fit" if step.weight else "pca"], "ecolor": plt.rcParams["text.color"]}
        error = factor * step.standard_error if step.gain else np.nan
        ax.barh(place, factor * step.gain, 0.6, xerr=error if np.isfinite(error) else None, capsize=3, **bar)
        ax.text(1.02, place, f"{step.weight:.0%}", transform=right, va="center")
    ax.text(1.02, -0.7, "weight", transform=right, va="bottom", fontsize="small")
    ax.axvline(0, **_FAINT)
    names = [spoken(step.correction) + (f" {step.best:g}" if step.best else "") for step in compared]
    ax.set_yticks(range(len(compared)), names)
    ax.set_ylim(len(compared) - 0.4, -0.6)
    return _finished(ax, f"gain, {unit} a row" if unit else "removed of PCA's held-out risk, %", "")


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
    alphas, risk, folds = map(_host, (model.alphas_, model.cv_risk_, model.cv_risk_folds_))
    of_pca = risk[0] or 1.0
    change, changes = 100 * (risk - risk[0]) / of_pca, 100 * (folds - folds[:, :1]) / of_pca
    ax, chosen = _axes(ax), int(np.argmin(np.abs(alphas - model.alpha_)))
    ax.axhline(0, **_FAINT)
    ax.plot(alphas, changes.T, color=COLOURS["soft"], lw=0.7)[0].set_label("each split")
    ax.plot(alphas, change, color=COLOURS["fit"], lw=2.2, label="all splits")
    mark = {"color": COLOURS["accent"], "label": f"chosen: {alphas[chosen]:g}", "ms": 7, "clip_on": False}
    ax.plot(alphas[chosen], change[chosen], "o", **mark)
    return _finished(ax, "strength of attenuation", "held-out risk, change from PCA, %")


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
    ax, line = _axes(ax), {"ms": 4, "color": COLOURS["fit"], "zorder": 3}
    labels = "component", "variance explained, %"
    if choice.errors is not None:
        errors, mean = 100 * choice.errors, 100 * choice.errors.mean(axis=0)
        ax.plot(choice.ranks, errors.T, color=COLOURS["soft"], lw=0.7)[0].set_label("each partition")
        ax.plot(choice.ranks, mean, "o-", label="mean", **line)
        # The errors of large ranks grow without bound and would flatten the rest of the curve.
        ax.set_ylim(0, 1.3 * max(mean[0], mean[choice.rank]))
        labels = "components", "error of held-out entries, % of none"
    elif choice.eigenvalues is not None and choice.thresholds is not None:
        values, least = 100 * choice.eigenvalues, 100 * choice.thresholds
        noise = "95% of shuffled columns" if choice.method == "parallel" else "threshold"
        ax.plot(choice.ranks, values, "o-", label="these rows", **line)
        ax.plot(choice.ranks, least, "--", color=COLOURS["pca"], label=noise)
        ax.set_yscale("log", subs=(2, 5))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("{x:g}")
        # The last eigenvalues may be 0, which a logarithmic axis cannot show.
        ax.set_ylim((min(values[0], least[0]) or max(values[0], least[0])) / 50, None)
    ax.axvline(choice.rank, color=COLOURS["accent"], lw=1.4, label=f"chosen: {choice.rank}")
    return _finished(ax, *labels, counts=True)


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
    ax, sizes, fit = _axes(ax), curve.sizes, COLOURS["fit"]
    ax.plot(sizes, curve.pca_errors, "s-", ms=4, color=COLOURS["pca"], label="PCA")
    bars = {"fmt": "o-", "ms": 5, "lw": 2, "capsize": 3, "label": "estimator"}
    ax.errorbar(sizes, curve.errors, curve.standard_errors, color=fit, **bars)
    more = np.geomspace(sizes[-1], 2 * curve.n_samples, 50)
    ax.plot(more, curve.expected(more), ":", lw=2, color=fit, label="expected of more rows")
    ax.set_xscale("log")
    ticks = [*sizes, 2 * curve.n_samples]
    ax.set_xticks(ticks, [f"{size:,.0f}" for size in ticks])
    ax.minorticks_off()
    return _finished(ax, "rows fitted", "error of new rows")


def control_limits(limits: ControlLimits, *, row_names: Names = None, ax: Any = None) -> Any:
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
        ax.axvline(limits.t2(level), label=f"limits of {level:.0%}", **look)
        ax.axhline(limits.q(level), **look)
    is_far = np.isin(np.arange(len(points)), far)
    ax.scatter(*points.T, c=np.where(is_far, COLOURS["accent"], COLOURS["fit"]), **_DOTS)
    most = np.array([limits.t2(0.99), limits.q(0.99)])
    for axis, low, high, limit in zip("xy", np.nanmin(points, 0), np.nanmax(points, 0), most, strict=True):
        if low > 0 and high > 10 * limit:  # a row that is far out would press all others into a corner
            ax.set(**{f"{axis}scale": "log"})
        elif low <= 0.4 * high:  # Q of many columns differs little
            ax.set(**{f"{axis}lim": (0, None)})
    times = np.max(points[far] / np.maximum(most, _TINY), axis=1)
    _name_rows(ax, points, far[np.argsort(-times, kind="stable")], names)
    return _finished(ax, "T2, distance within the components", "Q, squared distance from them")


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
    rank, p = found.components.shape
    is_line, names = p > _MOST_COLUMNS, [_plain(name) for name in found.feature_names]
    height = 3.6 if is_line else max(3.6, 1.6 + 0.2 * p)
    first, *others = axes = _panels(ax, 1 + min(rank, 4), (4.4 + 2.2 * min(rank, 4), height))
    holds = {block.last for block in found.blocks if block.is_stable}
    colours = [COLOURS["fit" if m in holds else "pca"] for m in range(1, rank + 1)]
    first.bar(range(1, rank + 1), found.leading_limits, 0.7, color=colours)
    first.axhline(LARGEST_ANGLE, color=COLOURS["accent"], ls="--", lw=1.3)
    first.set(ylim=(0, 90), yticks=range(0, 91, 15))
    first.set_title("stable below the line", fontsize="medium")
    turn = f"turn in {found.level:.0%} of samples\nat most, degrees"
    _finished(first, "first m components", turn, counts=True)
    low, high = found.intervals
    places, label = _axis_of(names) or (np.arange(1.0, p + 1), "column")
    for k, panel in enumerate(others):
        (block,) = (block for block in found.blocks if block.first <= k + 1 <= block.last)
        reading = "stable" if block.is_single else f"one of {block.span}"
        reading = reading if block.is_stable else "not stable"
        panel.set_title(f"component {k + 1}\n{reading}", fontsize="medium")
        colour, values = COLOURS["fit" if reading == "stable" else "pca"], found.components[k]
        if is_line:
            panel.axhline(0, **_FAINT)
            panel.fill_between(places, low[k], high[k], color=colour, alpha=0.3, lw=0)
            panel.plot(places, values, color=colour, lw=1.2)
        else:
            panel.axvline(0, **_FAINT)
            bars = {"xerr": [values - low[k], high[k] - values], "color": colour, "capsize": 2}
            panel.errorbar(values, range(p), fmt="o", ms=4, **bars)
            panel.set_yticks(range(p), [""] * p if k else names, fontsize="small")
            panel.set_ylim(p - 0.5, -0.5)
            panel.locator_params(axis="x", nbins=4)
        _finished(panel, label if is_line else "loading", "")
    return axes


def reconstructions(
    original: ArrayLike, pca: ArrayLike, fit: ArrayLike, *, row_names: Names = None,
    image_shape: tuple[int, int] | None = None, feature_names: Names = None, ax: Any = None,
) -> Any:  # fmt: skip
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
    rows, by_pca, by_fit = (np.atleast_2d(_host(values)) for values in (original, pca, fit))
    n, p = rows.shape
    names = _one_each(row_names, n, "row_names", "rows")
    titles = [f"row {i}" if names is None else _plain(names[i]) for i in range(n)]
    columns = _one_each(feature_names, p, "feature_names", "columns")
    if image_shape is not None:
        images = np.stack([_images(values, image_shape) for values in (rows, by_pca, by_fit)], axis=1)
        greys, heads = plt.get_cmap("gray_r"), ["as it is", "by PCA", "by the fit"]
        look = {
            "cmap": greys.with_extremes(bad=COLOURS["accent"]),
            "vmin": np.nanmin(rows),
            "vmax": np.nanmax(rows),
        }
        return _montage(_axes(ax, (5.4, 0.5 + 1.5 * n)), images, heads, titles, **look)
    is_curve, axis = p > _MOST_COLUMNS, _axis_of(columns)
    line, (places, label) = "-" if is_curve else "", axis or (np.arange(1.0, p + 1), "column")
    grey, blue, orange = (COLOURS[name] for name in ("pca", "fit", "accent"))
    # A noisy curve lies below its reconstructions, which it would hide.
    below = {"alpha": 0.45, "zorder": 1} if is_curve else {}
    ink = {"color": plt.rcParams["text.color"], "mfc": "none"} | below
    axes = _panels(ax, n, (1.4 + 3.2 * n, 3.4 if is_curve else 4.4))
    for panel, row, one, other, title in zip(axes, rows, by_pca, by_fit, titles, strict=True):
        # Where both reconstructions agree, both are seen.
        panel.plot(places, one, line or "s", ms=6, lw=2.6, color=grey, label="by PCA")
        panel.plot(places, other, line or "o", ms=4, lw=1.4, color=blue, label="by the fit")
        panel.plot(places, row, line or "o", ms=9, lw=0.8, label="as it is", **ink)
        if np.isnan(rows).any():
            mark = {"color": orange, "ms": 3 if is_curve else 10, "mfc": "none", "mew": 1.4}
            holes = np.isnan(row)
            panel.plot(places[holes], other[holes], "s", label="missing", **mark)
        panel.set_title(title, fontsize="medium")
        if columns is None or axis is not None or is_curve:
            panel.set_xlabel(label)
        else:
            panel.set_xticks(places, map(_plain, columns), rotation=90, fontsize="small")
    # One legend is enough. It stands above the titles, since points are everywhere below.
    axes[0].legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0, 1.08), ncols=2)
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
    rows = checked_matrix(to_host(X))[0]
    n, p = rows.shape
    stored = rows.tocoo() if sp.issparse(rows) else None
    i, j = np.nonzero(np.isnan(rows)) if stored is None else np.stack(stored.coords)[:, np.isnan(stored.data)]
    # The block of each row and of each column.
    down, across = (np.arange(m) * min(m, most) // m for m, most in ((n, _MOST_DOWN), (p, _MOST_ACROSS)))
    cells = np.outer(np.bincount(down), np.bincount(across))
    missing = np.zeros(cells.shape)
    np.add.at(missing, (down[i], across[j]), 1)
    ax, shares = _axes(ax), np.ma.masked_equal(missing / cells, 0)
    ends = to_rgba(COLOURS["accent"], 0.6), COLOURS["accent"]
    look = {"cmap": LinearSegmentedColormap.from_list("missing", ends), "vmin": 0, "vmax": 1}
    extent = (0.5, p + 0.5, n + 0.5, 0.5)
    ax.imshow(shares, extent=extent, aspect="auto", interpolation="nearest", **look)
    ax.spines[:].set_visible(True)
    ax.set_title(f"{counted(len(i), 'missing cell')} of {n * p:,}", fontsize="medium")
    return _finished(ax, "column", "row")


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
    compared = any(step.strengths for step in getattr(model, "steps_", ()))
    below = "steps" if compared or hasattr(model, "alphas_") else "loadings"
    places: Any = [["scores", "scree"], ["loadings", below]]
    figure, axes = plt.subplot_mosaic(places, figsize=(12.5, 8.5), layout="constrained")
    try:
        scores(model, X, colour_by=colour_by, ax=axes["scores"])
        scree(model, X, ax=axes["scree"])
        loadings(model, ax=axes["loadings"])
        if compared:
            steps(model.steps_, axes["steps"])
        elif "steps" in axes:
            strengths(model, axes["steps"])
    except BaseException:
        plt.close(figure)  # half a figure is none
        raise
    return dict(axes)


def _axes(ax: Any, size: tuple[float, float] = (6.4, 4.2)) -> Any:
    """Return the given Axes, or those of a new figure, without the two sides that carry no scale."""
    ax = plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _finished(ax: Any, x: str, y: str, *, counts: bool = False, **legend: Any) -> Any:
    """Return Axes with labels and, if something on them has a label, a legend; `counts` has whole ticks."""
    ax.set(xlabel=x, ylabel=y)
    if counts:
        ax.xaxis.get_major_locator().set_params(integer=True)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize="small", **legend)
    return ax


def _host(values: Any) -> Array:
    return np.asarray(to_host(values), dtype=float)


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
    text = " ".join(str(name).split()) or "(empty)"
    text = text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"
    # Legends leave out what begins with an underscore.
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def _one_each(values: Any, count: int, name: str, what: str) -> Any:
    """Return an array with one value for each row or column; None stays None."""
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (count,):
        raise ValueError(f"{name} must hold one value for each of the {count} {what}; got {array.shape}.")
    return array


def _coloured(ax: Any, points: Array, values: Any) -> None:
    """Draw rows as points, in the colours of labels or of numbers; very many are an image in a file."""
    ax.set_rasterization_zorder(3 if len(points) > _MOST_DOTS else None)
    if values is None:
        ax.scatter(*points.T, color=COLOURS["fit"], **_DOTS)
        return
    is_number = values.dtype.kind in "iuf"
    if is_number and len(np.unique(values[np.isfinite(values)])) > len(KINDS):
        colours = plt.get_cmap("viridis").with_extremes(bad=COLOURS["soft"])
        drawn = ax.scatter(*points.T, c=values, cmap=colours, plotnonfinite=True, **_DOTS)
        ax.figure.colorbar(drawn, ax=ax, shrink=0.8)
        return
    texts = np.array([f"{v:.10g}" if isinstance(v, float) else str(v) for v in values.tolist()])
    kinds = [kind for kind, _ in Counter(texts.tolist()).most_common()]
    kept = kinds if len(kinds) <= len(KINDS) else kinds[: len(KINDS) - 1]
    groups = [(_plain(kind), texts == kind) for kind in sorted(kept, key=float if is_number else str)]
    if len(kept) < len(kinds):
        groups.append((f"{len(kinds) - len(kept)} others", ~np.isin(texts, kept)))
    for colour, (label, rows) in zip(KINDS, groups, strict=False):
        ax.scatter(*points[rows].T, color=colour, label=label, **_DOTS)


def _name_rows(ax: Any, points: Array, rows: NDArray[np.intp], names: Any) -> None:
    """Write the names of the first few rows next to their points, where they cover no other of them."""
    ax.get_xlim(), ax.get_ylim()  # autoscaling is pending until they are read
    rows, point = rows[:_MOST_ROWS], ax.figure.dpi / 72
    places = ax.transData.transform(points[rows])
    taken = [(place - 3 * point, place + 3 * point) for place in places]  # corners of boxes
    for row, place in zip(rows, places, strict=True):
        text = str(row) if names is None else _plain(names[row])
        size = point * np.array([5.5 * len(text), 11])
        for right, up, align in ((1, 0, "left"), (-1, 0, "right"), (0, 1, "center"), (0, -1, "center")):
            low = place + point * np.array([5 * right, 9 * up]) + size * ((right - 1) / 2, -0.5)
            inside = (low >= ax.bbox.min).all() and (low + size <= ax.bbox.max).all()
            if inside and all(((low > b) | (low + size < a)).any() for a, b in taken):
                taken.append((low, low + size))
                look = {"textcoords": "offset points", "ha": align, "va": "center", "fontsize": "small"}
                ax.annotate(text, points[row], (5 * right, 9 * up), **look)
                break


def _axis_of(names: Any) -> tuple[Array, str] | None:
    """Return the numbers in names and what they are of, if they only rise or only fall; else None."""
    found = [_NUMBERED.fullmatch(str(name).strip()) for name in ([] if names is None else names)]
    parts = [match.groups() for match in found if match]
    if len(parts) < max(len(found), 2) or len({(before, after) for before, _, after in parts}) > 1:
        return None
    places = np.array([float(number) for _, number, _ in parts])
    changes = np.diff(places)
    if not np.isfinite(places).all() or not ((changes > 0).all() or (changes < 0).all()):
        return None
    words = (part.strip(" _-=.:()[]") for part in (parts[0][0], parts[0][2]))
    return places, _plain(", ".join(filter(None, words)) or "column")


def _bars(ax: Any, values: Array, largest: Array, titles: list[str], names: Any) -> Any:
    """Draw loadings as bars, of the columns where they are largest; each component has a lane and a scale."""
    k, p = values.shape
    parts = values / largest[:, None]
    order = np.argsort(-np.max(np.abs(parts), axis=0), kind="stable")
    shown = np.sort(order[:_MOST_COLUMNS])
    ax, lanes = _axes(ax, (2.4 + 1.5 * k, 1.4 + max(1.2, 0.21 * len(shown)))), 2.4 * np.arange(k)
    for lane, bars, title in zip(lanes, parts[:, shown], titles, strict=True):
        ax.axvline(lane, **_FAINT)
        ax.barh(range(len(shown)), bars, 0.7, left=lane, color=_SIGNED(np.sign(bars) / 2 + 0.5))
        ax.text(lane, 1.01, title, transform=ax.get_xaxis_transform(), ha="center", va="bottom")
    places = (lanes[:, None] + [-0.5, 0, 0.5]).ravel()
    halves = (largest[:, None] * [-0.5, 0, 0.5]).ravel()
    ax.set_xticks(places, [f"{half:.2g}".replace("-", "−") for half in halves], fontsize="small")
    texts = [_plain(i if names is None else names[i]) for i in shown]
    ax.set_yticks(range(len(shown)), texts, fontsize="small")
    ax.set(xlim=(-1.2, lanes[-1] + 1.2), ylim=(len(shown) - 0.4, -0.6))
    return _finished(ax, "loading", f"{len(shown)} of {p:,} columns" if len(shown) < p else "")


def _images(values: Array, shape: tuple[int, int]) -> Array:
    """Return rows as images."""
    if np.prod(shape) != values.shape[1]:
        raise ValueError(f"image_shape must have {values.shape[1]} pixels, one for each column; got {shape}.")
    return values.reshape(len(values), *shape)


def _montage(ax: Any, images: Array, above: Sequence[str], left: Sequence[str] = (), **look: Any) -> Any:
    """Draw images of shape (lines, columns, height, width) in one Axes, with their titles."""
    lines, columns, height, width = images.shape
    across, down = width + 0.1 * max(height, width), height + 0.1 * max(height, width)
    for i, j in np.ndindex(lines, columns):
        x, y = j * across, i * down
        ax.imshow(images[i, j], extent=(x, x + width, y + height, y), interpolation="nearest", **look)
        ax.add_patch(Rectangle((x, y), width, height, fill=False, ec=COLOURS["soft"], lw=0.6))
    for j, text in enumerate(above):
        ax.text(j * across + width / 2, -0.03 * down, text, ha="center", va="bottom")
    for i, text in enumerate(left):
        ax.text(-0.05 * across, i * down + height / 2, text, ha="right", va="center")
    ax.set(xlim=(-0.02 * across, columns * across), ylim=(lines * down, -0.02 * down))
    ax.axis("off")
    return ax
