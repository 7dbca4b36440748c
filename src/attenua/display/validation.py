"""The cross-validated curve or surface of an estimator."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._data.namespace import to_host
from attenua.attenuation import AttenuatedPCACV
from attenua.display.common import ACCENT, SHADES, axes_or_new, finish_strength_axis, shade_mask_range
from attenua.paired import paired_gain

Array = NDArray[np.float64]
_CHANGE = "held-out risk, change from PCA, %"


class ValidationCurveDisplay:
    """Held-out risk against strength, as a change from PCA's, with the noise of that difference.

    Where several temperings were compared, a heat map: attenuation across, tempering upwards, with the
    chosen pair and the corner of PCA.

    Made by `from_estimator` or `from_cv` rather than directly.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths, 0 (PCA) first.
    change : ndarray of shape (n_alphas,) or (n_temperings, n_alphas)
        Held-out risk over PCA's, less 1.
    errors : ndarray of the shape of `change`
        Standard error of the change, from paired differences over splits; NaN for one split.
    folds : ndarray of shape (n_splits, ...)
        The change in each split.
    alpha : float
        Chosen strength.
    temperings : ndarray of shape (n_temperings,), optional
        Temperings, 0 first.
    tempering : float
        Chosen tempering.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : Line2D or None
        The curve, in percent; None for a surface.
    mesh_, colorbar_ : QuadMesh and Colorbar, or None
        The surface, in percent; None for a curve.
    band_ : artist or None
        One standard error on either side; None for one split, and for a surface.
    fold_lines_ : list of Line2D
        The curve of each split; empty when not drawn.
    chosen_marker_, pca_marker_ : Line2D
        What was chosen, and PCA, the fallback.
    mask_range_ : artist or None
        Shading of the strengths that masks reach, under a curve.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_digits
    >>> from attenua import AttenuatedPCACV
    >>> from attenua.display import ValidationCurveDisplay
    >>> model = AttenuatedPCACV(3).fit(load_digits().data[:100])
    >>> display = ValidationCurveDisplay.from_estimator(model)
    >>> float(display.chosen_marker_.get_xdata()[0])
    1.0
    """

    def __init__(
        self,
        *,
        alphas: Array,
        change: Array,
        errors: Array,
        folds: Array,
        alpha: float,
        temperings: Array | None = None,
        tempering: float = 0.0,
    ) -> None:
        self.alphas, self.change, self.errors = alphas, change, errors
        self.folds, self.alpha = folds, alpha
        self.temperings, self.tempering = temperings, tempering

    @classmethod
    def from_estimator(
        cls, estimator: AttenuatedPCACV, *, ax: Any = None, **options: Any
    ) -> "ValidationCurveDisplay":
        """Draw the curve or surface of a fitted `AttenuatedPCACV`.

        Parameters
        ----------
        estimator : AttenuatedPCACV
            Fitted.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options
            As for `plot`.
        """
        paired = paired_gain(estimator)
        risk = np.asarray(to_host(estimator.cv_risk_), dtype=float)
        return cls(
            alphas=to_host(estimator.alphas_),
            change=risk / risk.flat[0] - 1 if risk.flat[0] > 0 else np.zeros_like(risk),
            errors=paired.errors,
            folds=paired.differences,
            alpha=float(estimator.alpha_),
            temperings=to_host(estimator.temperings_),
            tempering=float(estimator.tempering_),
        ).plot(ax=ax, **options)

    @classmethod
    def from_cv(
        cls,
        X: Any,
        n_components: int | float | None = None,
        *,
        groups: ArrayLike | None = None,
        ax: Any = None,
        folds: bool = True,
        **parameters: Any,
    ) -> "ValidationCurveDisplay":
        """Cross-validate rows and draw the curve or surface.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        n_components : int, float or None
            As for `AttenuatedPCACV`.
        groups : array-like of shape (n_samples,), optional
            Labels of rows that belong together.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        folds : bool, default=True
            As for `plot`.
        **parameters
            Of `AttenuatedPCACV`.
        """
        model = AttenuatedPCACV(n_components, **parameters).fit(X, groups=groups)
        return cls.from_estimator(model, ax=ax, folds=folds)

    def plot(self, ax: Any = None, *, folds: bool = True) -> "ValidationCurveDisplay":
        """Draw the curve, or the surface.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        folds : bool, default=True
            Whether to draw the curve of every split, thinly; not for a surface.

        Returns
        -------
        ValidationCurveDisplay
            This display, with the artists as attributes.
        """
        ax = axes_or_new(ax)
        self.ax_, self.figure_ = ax, ax.figure
        self.fold_lines_, self.line_, self.band_, self.mask_range_ = [], None, None, None
        self.mesh_, self.colorbar_ = None, None
        if self.change.ndim == 2:
            self._draw_surface(ax)
        else:
            self._draw_curve(ax, folds)
        return self

    def _draw_surface(self, ax: Any) -> None:
        from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm

        percent = 100 * self.change
        # Each side of PCA has its own scale: a gain of a few percent must show beside a large loss.
        norm = TwoSlopeNorm(0.0, min(percent.min(), -1e-9), max(percent.max(), 1e-9))
        colours = LinearSegmentedColormap.from_list("change", [SHADES[1], "#f7f7f5", ACCENT])
        self.mesh_ = ax.pcolormesh(
            _edges(self.alphas), _edges(self.temperings), percent, norm=norm, cmap=colours
        )
        self.colorbar_ = ax.figure.colorbar(self.mesh_, ax=ax, label=_CHANGE)
        if percent.any():
            self.colorbar_.ax.set_ylim(percent.min(), percent.max())
        self._mark(ax, (0.0, 0.0), (self.alpha, self.tempering), rf", $\gamma$ = {self.tempering:g}")
        finish_strength_axis(ax, _edges(self.alphas))
        ax.set_yticks(self.temperings, [f"{tempering:g}" for tempering in self.temperings])
        ax.set_ylabel(r"tempering $\gamma$")
        # Above the cells, which leave no room for it.
        ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), ncols=2)

    def _draw_curve(self, ax: Any, folds: bool) -> None:
        self.mask_range_ = shade_mask_range(ax)
        ax.axhline(0, color="0.6", lw=0.8, zorder=1)
        percent, half = 100 * self.change, 100 * self.errors
        if folds:
            self.fold_lines_ = ax.plot(self.alphas, 100 * self.folds.T, color="0.72", lw=0.7, zorder=2)
            self.fold_lines_[0].set_label("each split")
        if np.isfinite(half).all():
            self.band_ = ax.fill_between(
                self.alphas, percent - half, percent + half, color=SHADES[2], alpha=0.25, lw=0,
                label="± standard error",
            )  # fmt: skip
        (self.line_,) = ax.plot(self.alphas, percent, color=SHADES[1], lw=2.2, label="held-out risk")
        best = int(np.flatnonzero(self.alphas == self.alpha)[0])
        self._mark(ax, (0.0, 0.0), (self.alpha, percent[best]))
        finish_strength_axis(ax, self.alphas)
        ax.set_ylabel(_CHANGE)
        ax.legend(frameon=False, fontsize="small")

    def _mark(self, ax: Any, pca: tuple[float, float], chosen: tuple[float, float], more: str = "") -> None:
        """Mark PCA and what was chosen."""
        markers = {"ls": "none", "clip_on": False, "zorder": 4, "mew": 1.6}
        (self.pca_marker_,) = ax.plot(
            *np.transpose([pca]),
            marker="s",
            mfc="none",
            mec="0.25",
            ms=10,
            label="PCA, the fallback",
            **markers,
        )
        (self.chosen_marker_,) = ax.plot(
            *np.transpose([chosen]), marker="o", mfc=ACCENT, mec=ACCENT, ms=6,
            label=rf"chosen, $\alpha$ = {self.alpha:g}{more}", **markers,
        )  # fmt: skip


def _edges(centres: Array) -> Array:
    """Return the ends of cells around points."""
    if len(centres) == 1:
        return centres[0] + np.array([-0.5, 0.5])
    middles = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([2 * centres[:1] - middles[:1], middles, 2 * centres[-1:] - middles[-1:]])
