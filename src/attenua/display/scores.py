"""Rows and columns in one picture, and the scores of a fit beside those of ordinary PCA."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import orthogonal_procrustes

from attenua._data.checks import checked_count
from attenua._data.namespace import to_host
from attenua.corrected import CorrectedPCA
from attenua.display.common import (
    ACCENT,
    SHADES,
    axes_or_new,
    checked_model,
    open_frame,
    panels,
)

Array = NDArray[np.float64]

_MOST_ARROWS = 12
# Labels with more values than this are numbers on a scale, not kinds of rows.
_MOST_KINDS = 10
# The longest arrow, as a part of the distance of the farthest row.
_REACH = 0.85
# Between the names of arrows, as a part of the height of the axes.
_LINE_HEIGHT = 0.052
# Lines between the two places of every row are drawn for no more rows than these.
_MOST_MOVES = 300
# Longer names are cut: they would cover their arrows.
_MOST_LETTERS = 18


class BiplotDisplay:
    r"""Rows as points and columns as arrows on two components; the twelve longest arrows are drawn.

    Points are scores of unit variance and arrows are loadings, times one factor that makes them fit:
    :math:`x_{ij} - \bar x_j \approx \sum_k z_{ik} \ell_{jk}` with :math:`\ell_{jk} = u_{kj}
    \sqrt{\lambda_k}` (Gabriel, 1971). So the length of an arrow is the standard deviation of its column
    within the plane, the cosine between two arrows is the correlation of their columns there, and a point
    lies far out along the arrows of the columns that are large in its row.

    Made by `from_estimator` rather than directly.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, 2)
        Scores of unit variance.
    arrows : ndarray of shape (n_features, 2)
        Loadings.
    feature_names : list of str
        Names of the columns.
    components : tuple of int
        The two components, the first being 0.
    ratios : tuple of float
        Part of the variance that each explains.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    points_ : artist
        The rows.
    shown_ : ndarray of int
        Columns whose arrows are drawn, the longest first.
    arrows_, names_ : list of artists
        Their arrows and names.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import CorrectedPCA
    >>> from attenua.display import BiplotDisplay
    >>> X = load_digits().data[:100]
    >>> display = BiplotDisplay.from_estimator(CorrectedPCA(2).fit(X), X)
    >>> len(display.arrows_)
    12
    """

    def __init__(
        self,
        *,
        scores: Array,
        arrows: Array,
        feature_names: list[str],
        components: tuple[int, int] = (0, 1),
        ratios: tuple[float, float],
    ) -> None:
        self.scores, self.arrows, self.feature_names = scores, arrows, feature_names
        self.components, self.ratios = components, ratios

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, components: tuple[int, int] = (0, 1), ax: Any = None, **options: Any
    ) -> Self:
        """Draw the biplot of a fitted estimator.

        Parameters
        ----------
        estimator : object
            A fitted estimator of this package with at least two components.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows; missing cells are filled as in ``transform``.
        components : tuple of two int, default=(0, 1)
            Which components, the first being 0.
        ax, **options
            As for `plot`.
        """
        checked_model(estimator)
        pair = _checked_pair(components, int(estimator.n_components_))
        variances = np.asarray(to_host(estimator.explained_variance_), dtype=float)
        deviations = np.where(variances > 0, np.sqrt(variances), 1.0)
        scores = _scores(estimator, X) / deviations
        names = getattr(estimator, "feature_names_in_", range(int(estimator.n_features_in_)))
        ratios = np.asarray(to_host(estimator.explained_variance_ratio_), dtype=float)
        return cls(
            scores=scores[:, pair],
            arrows=np.asarray(to_host(estimator.loadings_), dtype=float)[:, pair],
            feature_names=[str(name) for name in names],
            components=(pair[0], pair[1]),
            ratios=(float(ratios[pair[0]]), float(ratios[pair[1]])),
        ).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, colour_by: ArrayLike | None = None) -> Self:
        """Draw the biplot, and return this display with the artists as attributes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        colour_by : array-like of shape (n_samples,), default=None
            What colours the rows: labels of a few kinds, or numbers.
        """
        ax = axes_or_new(ax)
        self.ax_, self.figure_ = ax, ax.figure
        self.points_ = _draw_rows(ax, self.scores, colour_by)
        lengths = np.hypot(*self.arrows.T)
        longest = np.argsort(-lengths, kind="stable")[:_MOST_ARROWS]
        self.shown_ = longest[lengths[longest] > 1e-9 * (lengths.max() or 1.0)]
        reach = np.abs(self.scores).max() or 1.0
        tips = self.arrows[self.shown_] * (_REACH * reach / (lengths.max() or 1.0))
        limit = 1.6 * reach
        # Angles between arrows mean something, so both axes have one scale.
        ax.set(xlim=(-limit, limit), ylim=(-1.1 * reach, 1.1 * reach), aspect="equal")
        self.arrows_ = [
            ax.annotate(
                "", tip, (0, 0),
                arrowprops={"arrowstyle": "-|>", "color": ACCENT, "lw": 1.2, "shrinkA": 0, "shrinkB": 0},
            )
            for tip in tips
        ]  # fmt: skip
        self.names_ = _named(ax, tips, [self.feature_names[place] for place in self.shown_], limit)
        for axis, component, ratio in zip("xy", self.components, self.ratios, strict=True):
            ax.set(**{f"{axis}label": f"component {component + 1} ({ratio:.0%}), unit variance"})
        for draw_zero in (ax.axhline, ax.axvline):
            draw_zero(0, color="0.85", lw=0.8, zorder=0)
        open_frame(ax)
        return self


class ScoresBesidePCADisplay:
    r"""The scores of ordinary PCA, and beside them those of a fit, turned to be as like them as possible.

    With the scores A of PCA and B of the fit, on as many components, the second picture shows BQ with the
    orthogonal Q of least :math:`\|A - BQ\|_F` (Procrustes). So signs, the order of components and turns
    within the subspace, which no row tells apart, are not in the picture; what is left is the change of
    subspace.

    Made by `from_estimator` rather than directly.

    Parameters
    ----------
    pca, aligned : ndarray of shape (n_samples, n_components)
        A and BQ.
    components : tuple of int
        The two components that are drawn, the first being 0.

    Attributes
    ----------
    change : float
        :math:`\|A - BQ\|_F^2 / \|A\|_F^2`, over all components.
    axes_ : ndarray of two matplotlib Axes
        PCA on the left, the fit on the right.
    figure_ : matplotlib Figure
        Where it was drawn.
    points_ : list of artists
        The rows in both.
    moves_ : artist or None
        Lines from where PCA has each row; None for more than 300 rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import CorrectedPCA
    >>> from attenua.display import ScoresBesidePCADisplay
    >>> X = load_digits().data[:100]
    >>> model = CorrectedPCA(5, damping=0.5, smoothing=0.8, neighbours=(8, 8)).fit(X)
    >>> 0.1 < ScoresBesidePCADisplay.from_estimator(model, X).change < 0.3
    True
    """

    def __init__(self, *, pca: Array, aligned: Array, components: tuple[int, int] = (0, 1)) -> None:
        self.pca, self.aligned, self.components = pca, aligned, components
        self.change = float(np.sum((pca - aligned) ** 2) / (np.sum(pca**2) or 1.0))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, components: tuple[int, int] = (0, 1), ax: Any = None, **options: Any
    ) -> Self:
        """Draw the scores of a fitted estimator beside those of ordinary PCA of the same rows.

        Parameters
        ----------
        estimator : object
            A fitted estimator of this package with at least two components.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The rows it was fitted to; missing cells are filled as in ``transform``.
        components : tuple of two int, default=(0, 1)
            Which components of PCA are drawn, the first being 0.
        ax, **options
            As for `plot`.
        """
        checked_model(estimator)
        rank = int(estimator.n_components_)
        pair = _checked_pair(components, rank)
        pca, ours = _scores(CorrectedPCA(rank, scale=estimator.scale).fit(X), X), _scores(estimator, X)
        turn, _ = orthogonal_procrustes(ours, pca)
        return cls(pca=pca, aligned=ours @ turn, components=(pair[0], pair[1])).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, colour_by: ArrayLike | None = None) -> Self:
        """Draw the scores, and return this display with the artists as attributes.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of two, default=None
            One subplot, which is divided, or two; a new figure by default.
        colour_by : array-like of shape (n_samples,), default=None
            What colours the rows: labels of a few kinds, or numbers.
        """
        self.axes_ = panels(ax, 2, size=(9.6, 4.4))
        self.figure_ = self.axes_[0].figure
        before, after = self.pca[:, self.components], self.aligned[:, self.components]
        self.points_, self.moves_ = [], None
        if len(before) <= _MOST_MOVES:
            from matplotlib.collections import LineCollection

            moves = LineCollection(
                list(np.stack([before, after], axis=1)), colors="0.75", lw=0.8, zorder=1, label="from PCA"
            )
            self.moves_ = self.axes_[1].add_collection(moves)
        low, high = np.min([before, after], axis=(0, 1)), np.max([before, after], axis=(0, 1))
        margin = 0.06 * np.maximum(high - low, 1e-300)
        titles = ("ordinary PCA", f"this fit, turned to PCA: scores differ by {self.change:.1%}")
        for axis, points, title in zip(self.axes_, (before, after), titles, strict=True):
            # One legend is enough for two pictures of the same rows.
            self.points_.append(_draw_rows(axis, points, colour_by, legend=axis is self.axes_[1]))
            axis.set_title(title, fontsize="medium")
            axis.set(xlim=(low[0] - margin[0], high[0] + margin[0]))
            axis.set(ylim=(low[1] - margin[1], high[1] + margin[1]))
            axis.set_xlabel(f"score on component {self.components[0] + 1} of PCA")
            open_frame(axis)
        self.axes_[0].set_ylabel(f"score on component {self.components[1] + 1} of PCA")
        return self


def _checked_pair(components: Any, rank: int) -> list[int]:
    """Return the numbers of two components."""
    if rank < 2:
        raise ValueError(f"estimator must have at least two components to draw; it has {rank}.")
    if not hasattr(components, "__len__") or len(components) != 2:
        raise ValueError(f"components must be two numbers of components, such as (0, 1); got {components!r}.")
    return [checked_count(number, "each of components", 0, rank - 1) for number in components]


def _scores(estimator: Any, X: Any) -> Array:
    """Return scores that are not whitened."""
    scores = np.asarray(to_host(estimator.transform(X)), dtype=float)
    return scores * np.asarray(to_host(estimator._scale()), dtype=float) if estimator.whiten else scores


def _draw_rows(ax: Any, points: Array, colour_by: ArrayLike | None, *, legend: bool = True) -> Any:
    """Draw rows as points, in colours if that is asked for."""
    look = {"s": 16, "lw": 0, "alpha": 0.8, "zorder": 2}
    if colour_by is None:
        return ax.scatter(*points.T, color=SHADES[1], **look)
    values = np.asarray(colour_by)
    if values.shape != (len(points),):
        raise ValueError(
            f"colour_by must have one entry for each of the {len(points)} rows; got shape {values.shape}."
        )
    kinds, codes = np.unique(values, return_inverse=True)
    if values.dtype.kind in "iuf" and len(kinds) > _MOST_KINDS:
        drawn = ax.scatter(*points.T, c=values, cmap="viridis", **look)
        if legend:
            ax.figure.colorbar(drawn, ax=ax, shrink=0.8)
        return drawn
    drawn = ax.scatter(*points.T, c=codes, cmap="tab20" if len(kinds) > _MOST_KINDS else "tab10", **look)
    if legend:
        handles, _ = drawn.legend_elements(num=None)
        labels = [str(kind) for kind in kinds]
        ax.legend(handles, labels, frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    return drawn


def _named(ax: Any, tips: Array, names: list[str], limit: float) -> list[Any]:
    """Write the names of arrows in two columns at the sides, spread so that none covers another."""
    written: list[Any] = []
    low, high = ax.get_ylim()
    step = _LINE_HEIGHT * (high - low)
    for side, align in ((1, "right"), (-1, "left")):
        places = [place for place in range(len(tips)) if (tips[place, 0] >= 0) == (side > 0)]
        places.sort(key=lambda place: tips[place, 1])
        heights = _spread(np.array([tips[place, 1] for place in places]), step, low + step, high - step)
        for place, height in zip(places, heights, strict=True):
            written.append(
                ax.annotate(
                    _shortened(names[place]), tips[place], (side * 0.99 * limit, height), ha=align,
                    va="center", fontsize="small", color=ACCENT, zorder=5,
                    arrowprops={"arrowstyle": "-", "color": "0.7", "lw": 0.6, "shrinkB": 2},
                )
            )  # fmt: skip
    return written


def _shortened(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else name[: _MOST_LETTERS - 1] + "…"


def _spread(heights: Array, step: float, low: float, high: float) -> Array:
    """Return increasing heights at least a step apart, as near as that allows to those given, in a range."""
    if not len(heights):
        return heights
    spread = heights.copy()
    for _ in range(200):
        close = np.flatnonzero(np.diff(spread) < step - 1e-9)
        if not len(close):
            break
        for place in close:
            middle = (spread[place] + spread[place + 1]) / 2
            spread[place], spread[place + 1] = middle - step / 2, middle + step / 2
    spread -= max(float(spread[-1]) - high, 0.0)
    spread += max(low - float(spread[0]), 0.0)
    return spread
