"""What changes along a path of strengths: loadings, the variance captured, and the angles to PCA."""

from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from attenua._data.namespace import to_host
from attenua.display.common import (
    ACCENT,
    SHADES,
    axes_or_new,
    finish_strength_axis,
    panels,
    path_of,
    shade_mask_range,
    strength_of,
)
from attenua.path import AttenuationPath, attenuation_path

Array = NDArray[np.float64]


class AttenuationPathDisplay:
    """Loadings of one component, and the part of the variance that the subspace captures, along a path.

    Made by `from_estimator`, `from_path` or `from_data` rather than directly.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths, 0 (PCA) first.
    loadings : ndarray of shape (n_alphas, n_components, n_features)
        Components of every strength, with signs that follow those of the strength before.
    captured : ndarray of shape (n_alphas,)
        Part of the total variance of the fitted rows that lies in the subspace.
    feature_names : list of str
        Names of the columns.

    Attributes
    ----------
    axes_ : ndarray of two matplotlib Axes
        Loadings on the left, captured variance on the right.
    figure_ : matplotlib Figure
        Where it was drawn.
    loading_lines_ : list of Line2D
        One for every column.
    captured_line_ : Line2D
        Captured variance, in percent.
    """

    def __init__(self, *, alphas: Array, loadings: Array, captured: Array, feature_names: list[str]) -> None:
        self.alphas, self.loadings = alphas, loadings
        self.captured, self.feature_names = captured, feature_names

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw the path of a fitted estimator and the rows it was fitted to.

        Parameters
        ----------
        estimator : AttenuatedPCA or AttenuatedPCACV
            Fitted.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows it was fitted to; a frame names its columns.
        ax, **options
            As for `plot`.
        """
        names = getattr(estimator, "feature_names_in_", None)
        return cls.from_path(path_of(estimator, X), feature_names=names, ax=ax, **options)

    @classmethod
    def from_path(
        cls, path: AttenuationPath, *, feature_names: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw a path.

        Parameters
        ----------
        path : AttenuationPath
            From :func:`attenua.attenuation_path`.
        feature_names : sequence of str, optional
            Names of the columns; by default their numbers.
        ax, **options
            As for `plot`.
        """
        p = path.components.shape[2]
        names = [f"{i}" for i in range(p)] if feature_names is None else [str(name) for name in feature_names]
        if len(names) != p:
            raise ValueError(f"feature_names must name each of the {p} columns; got {len(names)} names.")
        return cls(
            alphas=path.alphas,
            loadings=_followed(np.asarray(to_host(path.components), dtype=float)),
            captured=path.explained_variance_ratio.sum(axis=1),
            feature_names=names,
        ).plot(ax=ax, **options)

    @classmethod
    def from_data(
        cls,
        X: Any,
        n_components: int | float | None = None,
        *,
        feature_names: Any = None,
        component: int = 0,
        n_named: int = 6,
        ax: Any = None,
        **parameters: Any,
    ) -> Self:
        """Compute the path of rows and draw it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; a frame names its columns.
        n_components, **parameters
            As for :func:`attenua.attenuation_path`.
        feature_names : sequence of str, optional
            Names of the columns.
        component, n_named, ax
            As for `plot`.
        """
        names = getattr(X, "columns", None) if feature_names is None else feature_names
        path = attenuation_path(X, n_components, **parameters)
        return cls.from_path(path, feature_names=names, component=component, n_named=n_named, ax=ax)

    def plot(self, ax: Any = None, *, component: int = 0, n_named: int = 6) -> Self:
        """Draw the path, and return this display with the artists as attributes.

        Parameters
        ----------
        ax : matplotlib Axes or two of them, default=None
            One subplot, which is divided, or two; a new figure by default.
        component : int, default=0
            Which component's loadings to draw, counted from 0.
        n_named : int, default=6
            How many columns to name: those whose loading moves the most.
        """
        if not 0 <= component < self.loadings.shape[1]:
            raise ValueError(f"component must be from 0 to {self.loadings.shape[1] - 1}; got {component!r}.")
        axes = panels(ax, 2, size=(10.0, 4.2))
        self.axes_, self.figure_ = axes, axes[0].figure
        left, right = axes
        curves = self.loadings[:, component]
        named = np.argsort(-np.ptp(curves, axis=0), kind="stable")[:n_named]
        self.loading_lines_ = left.plot(self.alphas, curves, color="0.75", lw=0.8, zorder=2)
        for rank, i in enumerate(named):
            dashes = ("-", "--", "-.", ":")[rank // 4 % 4]
            self.loading_lines_[i].set(
                color=SHADES[rank % 4], lw=2, ls=dashes, label=self.feature_names[i], zorder=3
            )
        left.axhline(0, color="0.6", lw=0.8, zorder=1)
        left.set_ylabel(f"loading on component {component + 1}")
        # Lines run everywhere, so the legend has a background.
        handles = [self.loading_lines_[i] for i in named]
        left.legend(handles=handles, framealpha=0.9, edgecolor="none", fontsize="small")
        (self.captured_line_,) = right.plot(self.alphas, 100 * self.captured, color=ACCENT, lw=2.2)
        right.set_ylabel("variance captured, %")
        for axis in axes:
            shade_mask_range(axis)
            finish_strength_axis(axis, self.alphas)
        return self


def _followed(components: Array) -> Array:
    """Flip signs so that every component is close to that of the strength before."""
    followed = components.copy()
    for before, now in pairwise(followed):
        now *= np.where(np.einsum("ij,ij->i", before, now) < 0, -1.0, 1.0)[:, None]
    return followed


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
    def from_path(cls, path: AttenuationPath, *, alpha: float | None = None, ax: Any = None) -> Self:
        """Draw the angles of a path.

        Parameters
        ----------
        path : AttenuationPath
            From :func:`attenua.attenuation_path`.
        alpha : float, optional
            A strength of the path to mark.
        ax
            As for `plot`.
        """
        return cls(alphas=path.alphas, angles=path.angles_to_pca(), alpha=alpha).plot(ax=ax)

    @classmethod
    def from_data(
        cls, X: Any, n_components: int | float | None = None, *, ax: Any = None, **parameters: Any
    ) -> Self:
        """Compute the path of rows and draw its angles.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        n_components, **parameters
            As for :func:`attenua.attenuation_path`.
        ax
            As for `plot`.
        """
        return cls.from_path(attenuation_path(X, n_components, **parameters), ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None) -> Self:
        """Draw the angles for a fitted estimator and the rows it was fitted to, its strength marked.

        Parameters
        ----------
        estimator : AttenuatedPCA or AttenuatedPCACV
            Fitted.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows it was fitted to.
        ax
            As for `plot`.
        """
        return cls.from_path(path_of(estimator, X), alpha=strength_of(estimator), ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the angles, and return this display with the artists as attributes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
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
