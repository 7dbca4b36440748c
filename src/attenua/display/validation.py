"""The cross-validated curve of an estimator."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._data.namespace import to_host
from attenua.attenuation import AttenuatedPCACV
from attenua.display.common import (
    ACCENT,
    SHADES,
    axes_or_new,
    checked_kind,
    finish_strength_axis,
    shade_mask_range,
)
from attenua.paired import paired_gain

Array = NDArray[np.float64]


class ValidationCurveDisplay:
    """Held-out risk against strength, as a change from PCA's, with the noise of that difference.

    Made by `from_estimator` or `from_cv` rather than directly.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths, 0 (PCA) first.
    change : ndarray of shape (n_alphas,)
        Held-out risk over PCA's, less 1.
    errors : ndarray of the shape of `change`
        Standard error of the change, from paired differences over splits; NaN for one split.
    folds : ndarray of shape (n_splits, n_alphas)
        The change in each split.
    alpha : float
        Chosen strength.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : Line2D
        The curve, in percent.
    band_ : artist or None
        One standard error on either side; None for one split.
    fold_lines_ : list of Line2D
        The curve of each split; empty when not drawn.
    chosen_marker_, pca_marker_ : Line2D
        What was chosen, and PCA, the fallback.
    mask_range_ : artist
        Shading of the strengths that masks reach.

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

    def __init__(self, *, alphas: Array, change: Array, errors: Array, folds: Array, alpha: float) -> None:
        self.alphas, self.change, self.errors = alphas, change, errors
        self.folds, self.alpha = folds, alpha

    @classmethod
    def from_estimator(
        cls, estimator: AttenuatedPCACV, *, ax: Any = None, **options: Any
    ) -> "ValidationCurveDisplay":
        """Draw the curve of a fitted `AttenuatedPCACV`.

        Parameters
        ----------
        estimator : AttenuatedPCACV
            Fitted.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options
            As for `plot`.
        """
        checked_kind(estimator, AttenuatedPCACV)
        paired = paired_gain(estimator)
        risk = np.asarray(to_host(estimator.cv_risk_), dtype=float)
        return cls(
            alphas=to_host(estimator.alphas_),
            change=risk / risk[0] - 1 if risk[0] > 0 else np.zeros_like(risk),
            errors=paired.errors,
            folds=paired.differences,
            alpha=float(estimator.alpha_),
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
        """Cross-validate rows and draw the curve.

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
        """Draw the curve, and return this display with the artists as attributes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        folds : bool, default=True
            Whether to draw the curve of every split, thinly.
        """
        ax = axes_or_new(ax)
        self.ax_, self.figure_ = ax, ax.figure
        self.fold_lines_, self.band_ = [], None
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
        markers = {"ls": "none", "clip_on": False, "zorder": 4, "mew": 1.6}
        (self.pca_marker_,) = ax.plot(
            [0.0], [0.0], marker="s", mfc="none", mec="0.25", ms=10, label="PCA, the fallback", **markers
        )
        (self.chosen_marker_,) = ax.plot(
            [self.alpha], [percent[best]], marker="o", mfc=ACCENT, mec=ACCENT, ms=6,
            label=rf"chosen, $\alpha$ = {self.alpha:g}", **markers,
        )  # fmt: skip
        finish_strength_axis(ax, self.alphas)
        ax.set_ylabel("held-out risk, change from PCA, %")
        ax.legend(frameon=False, fontsize="small")
        return self
