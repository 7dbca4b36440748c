"""How much variance each component explains, beyond those that were kept, and where one might stop."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from attenua._data.missing import has_missing
from attenua._data.namespace import to_host
from attenua._select.rank import elbow
from attenua.corrected import CorrectedPCA
from attenua.display.common import ACCENT, SHADES, axes_or_new, checked_model, host_rows, open_frame
from attenua.rank import RankChoice, choose_rank

Array = NDArray[np.float64]

# Components beyond the last cut that are drawn: enough to see the rest of the scree.
_BEYOND = 8
_FEWEST_DRAWN = 20
# Cuts at the same number stand side by side.
_APART = 0.12


class ScreeDisplay:
    r"""Variance that each component of ordinary PCA explains, with three places to stop.

    They are the number that was fitted, the elbow, and what :func:`attenua.choose_rank` answers. The elbow is
    where the first q eigenvalues and the rest are two groups that differ least within (Zhu and Ghodsi, 2006):

    .. math::

        \min_q \; \sum_{j \le q} (\ell_j - \bar\ell_{\le q})^2 + \sum_{j > q} (\ell_j - \bar\ell_{> q})^2 .

    It is only about the shape of the curve. A first component that is far larger than the others puts it at
    1, whatever comes after. ``choose_rank`` asks whether held-out entries are predicted better.

    Made by `from_estimator` or `from_data` rather than directly.

    Parameters
    ----------
    ratios : ndarray of shape (n_all,)
        Part of the variance that each component of ordinary PCA explains, as many as there are.
    fitted : ndarray of shape (n_components,), default=None
        The same of the components of a fitted estimator.
    choice : RankChoice, default=None
        What ``choose_rank`` answered.

    Attributes
    ----------
    elbow : int
        Components before the elbow.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : Line2D
        Ordinary PCA, in percent.
    fitted_line_ : Line2D or None
        The fitted components, in percent.
    cut_lines_ : dict of str to Line2D
        Where one might stop: "fitted", "elbow" and "choose_rank", as far as they are known.

    References
    ----------
    M. Zhu and A. Ghodsi, "Automatic dimensionality selection from the scree plot via the use of profile
    likelihood", Computational Statistics & Data Analysis 51 (2006), 918-930.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from attenua.display import ScreeDisplay
    >>> X = load_wine().data
    >>> display = ScreeDisplay.from_data((X - X.mean(axis=0)) / X.std(axis=0))
    >>> display.elbow, display.choice.rank
    (2, 4)
    """

    def __init__(
        self, *, ratios: Array, fitted: Array | None = None, choice: RankChoice | None = None
    ) -> None:
        self.ratios, self.fitted, self.choice = ratios, fitted, choice
        self.elbow = elbow(ratios)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, choice: RankChoice | None = None, ax: Any = None
    ) -> Self:
        """Draw the scree of rows, and the components that were fitted to them.

        Parameters
        ----------
        estimator : object
            A fitted estimator of this package.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The rows it was fitted to.
        choice : RankChoice, default=None
            What ``choose_rank`` answered; by default it is asked, unless cells are missing.
        ax
            As for `plot`.
        """
        checked_model(estimator)
        fitted = np.asarray(to_host(estimator.explained_variance_ratio_), dtype=float)
        rows = host_rows(estimator, X)
        return cls(ratios=_spectrum(rows), fitted=fitted, choice=choice or _rank(rows)).plot(ax=ax)

    @classmethod
    def from_data(cls, X: Any, *, choice: RankChoice | None = None, ax: Any = None) -> Self:
        """Draw the scree of rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows.
        choice : RankChoice, default=None
            What ``choose_rank`` answered; by default it is asked, unless cells are missing.
        ax
            As for `plot`.
        """
        whole = CorrectedPCA().fit(X)
        rows = host_rows(whole, X)
        return cls(ratios=_spectrum(rows, whole), choice=choice or _rank(rows)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the scree, and return this display with the artists as attributes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        """
        ax = axes_or_new(ax)
        self.ax_, self.figure_ = ax, ax.figure
        cuts = self._cuts()
        drawn = min(len(self.ratios), max(_FEWEST_DRAWN, max(q for q, *_ in cuts.values()) + _BEYOND))
        numbers = np.arange(1, drawn + 1)
        (self.line_,) = ax.plot(
            numbers, 100 * self.ratios[:drawn], "o-", ms=4, color=SHADES[1], zorder=3, label="ordinary PCA"
        )
        self.fitted_line_ = None
        if self.fitted is not None:
            kept = 100 * self.fitted[:drawn]
            (self.fitted_line_,) = ax.plot(
                numbers[: len(kept)], kept, "D", ms=6, mfc="none", mec=ACCENT, mew=1.4, zorder=4,
                label="fitted components",
            )  # fmt: skip
        self.cut_lines_ = {}
        for place, (name, (q, label, look)) in enumerate(cuts.items()):
            where = q + 0.5 + _APART * (place - (len(cuts) - 1) / 2)
            self.cut_lines_[name] = ax.axvline(where, lw=1.4, zorder=1, label=label, **look)
        ax.set_xlim(0.3, drawn + 0.7)
        ax.set_ylim(0, None)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("component")
        ax.set_ylabel("variance explained, %")
        ax.legend(frameon=False, fontsize="small")
        open_frame(ax)
        return self

    def _cuts(self) -> dict[str, tuple[int, str, dict[str, Any]]]:
        """Return the number, the label and the look of each place to stop."""
        cuts: dict[str, tuple[int, str, dict[str, Any]]] = {}
        if self.fitted is not None:
            cuts["fitted"] = len(self.fitted), f"fitted: {len(self.fitted)}", {"color": ACCENT}
        cuts["elbow"] = self.elbow, f"elbow: {self.elbow}", {"color": "0.45", "ls": ":"}
        if self.choice is not None:
            rank = self.choice.rank
            cuts["choose_rank"] = rank, f"choose_rank: {rank}", {"color": SHADES[0], "ls": "--"}
        return cuts


def _spectrum(rows: Any, whole: CorrectedPCA | None = None) -> Array:
    """Return the part of the variance that each component of ordinary PCA explains."""
    whole = CorrectedPCA().fit(rows) if whole is None else whole
    ratios = np.asarray(to_host(whole.explained_variance_ratio_), dtype=float)
    return ratios[: max(min(rows.shape[0] - 1, rows.shape[1]), 1)]


def _rank(rows: Any) -> RankChoice | None:
    """Return what ``choose_rank`` answers, or None where it cannot: of missing cells or very few rows."""
    if has_missing(rows) or min(rows.shape) < 4:
        return None
    return choose_rank(rows.toarray() if hasattr(rows, "toarray") else rows, random_state=0)
