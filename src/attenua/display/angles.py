"""How far attenuation turns the subspace away from PCA's."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua.display.common import (
    ACCENT,
    SHADES,
    axes_or_new,
    finish_strength_axis,
    path_of,
    shade_mask_range,
    strength_of,
)
from attenua.path import AttenuationPath, attenuation_path

Array = NDArray[np.float64]


class AnglesToPCADisplay:
    """Principal angles between attenuated subspaces and that of PCA, against strength.

    Made by `from_path`, `from_data` or `from_estimator` rather than directly.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths, 0 (PCA) first.
    angles : ndarray of shape (n_alphas, n_components)
        Principal angles in radians, decreasing.
    alpha : float, optional
        A strength to mark.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of Line2D
        One for every angle, in degrees, the largest first.
    marker_ : Line2D or None
        The largest angle at `alpha`.
    """

    def __init__(self, *, alphas: Array, angles: Array, alpha: float | None = None) -> None:
        self.alphas, self.angles, self.alpha = alphas, angles, alpha

    @classmethod
    def from_path(
        cls, path: AttenuationPath, *, alpha: float | None = None, ax: Any = None
    ) -> "AnglesToPCADisplay":
        """Draw the angles of a path.

        Parameters
        ----------
        path : AttenuationPath
            From :func:`attenua.attenuation_path`.
        alpha : float, optional
            A strength of the path to mark.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        """
        return cls(alphas=path.alphas, angles=path.angles_to_pca(), alpha=alpha).plot(ax=ax)

    @classmethod
    def from_data(
        cls, X: Any, n_components: int | float | None = None, *, ax: Any = None, **parameters: Any
    ) -> "AnglesToPCADisplay":
        """Compute the path of rows and draw its angles.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        n_components : int, float or None
            As for :func:`attenua.attenuation_path`.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **parameters
            Of :func:`attenua.attenuation_path`.
        """
        return cls.from_path(attenuation_path(X, n_components, **parameters), ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None) -> "AnglesToPCADisplay":
        """Draw the angles for a fitted estimator and the rows it was fitted to, its strength marked.

        Parameters
        ----------
        estimator : AttenuatedPCA or AttenuatedPCACV
            Fitted.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows it was fitted to.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        """
        path = path_of(estimator, X)
        alpha = strength_of(estimator)
        return cls.from_path(path, alpha=alpha, ax=ax)

    def plot(self, ax: Any = None) -> "AnglesToPCADisplay":
        """Draw the angles.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        AnglesToPCADisplay
            This display, with the artists as attributes.
        """
        ax = axes_or_new(ax)
        self.ax_, self.figure_ = ax, ax.figure
        shade_mask_range(ax)
        degrees = np.degrees(self.angles)
        self.lines_, self.marker_ = ax.plot(self.alphas, degrees, color="0.65", lw=1.0), None
        self.lines_[0].set(color=SHADES[1], lw=2.2, label="largest")
        if len(self.lines_) > 1:
            self.lines_[1].set_label("others")
        if self.alpha is not None:
            place = int(np.flatnonzero(self.alphas == self.alpha)[0])
            (self.marker_,) = ax.plot(
                [self.alpha], [degrees[place, 0]], "o", color=ACCENT, ls="none", clip_on=False, zorder=4,
                label=rf"$\alpha$ = {self.alpha:g}",
            )  # fmt: skip
        finish_strength_axis(ax, self.alphas)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("principal angle to PCA, degrees")
        ax.legend(frameon=False, fontsize="small")
        return self
