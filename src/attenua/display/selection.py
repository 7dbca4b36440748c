"""What held-out rows chose: a strength, the steps of a search, a number of components."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._data.namespace import to_host
from attenua._estimate.words import spoken
from attenua._select.steps import Step, Steps
from attenua.attenuation import AttenuatedPCACV
from attenua.corrected import CorrectedPCACV
from attenua.display.common import (
    ACCENT,
    SHADES,
    axes_or_new,
    checked_kind,
    finish_strength_axis,
    open_frame,
    panels,
    shade_mask_range,
)
from attenua.paired import paired_gain
from attenua.rank import RankChoice

Array = NDArray[np.float64]

_THRESHOLDS = {"parallel": "shuffled columns, 95%", "threshold": "threshold"}


class ValidationCurveDisplay:
    """Held-out risk against strength, as a change from PCA's, with the noise of that difference.

    Made by `from_estimator` or `from_cv` rather than directly.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths, 0 (PCA) first.
    change, errors : ndarray of shape (n_alphas,)
        Held-out risk over PCA's, less 1, and its standard error from paired differences over splits; NaN for
        one split.
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
    def from_estimator(cls, estimator: AttenuatedPCACV, *, ax: Any = None, **options: Any) -> Self:
        """Draw the curve of a fitted `AttenuatedPCACV`.

        Parameters
        ----------
        estimator : AttenuatedPCACV
            Fitted.
        ax, **options
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
    ) -> Self:
        """Cross-validate rows and draw the curve.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        n_components, **parameters
            Of `AttenuatedPCACV`.
        groups : array-like of shape (n_samples,), optional
            Labels of rows that belong together.
        ax, folds
            As for `plot`.
        """
        model = AttenuatedPCACV(n_components, **parameters).fit(X, groups=groups)
        return cls.from_estimator(model, ax=ax, folds=folds)

    def plot(self, ax: Any = None, *, folds: bool = True) -> Self:
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


class StepsDisplay:
    """Held-out risk against the strength of each correction, as a change from PCA's, one panel for each step.

    Made by `from_estimator` rather than directly.

    Parameters
    ----------
    steps : Steps
        What each step compared, from PCA on.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One for every step that compared strengths.
    figure_ : matplotlib Figure
        Where it was drawn.
    lines_ : list of Line2D
        The risk of each step, in percent.
    markers_ : list of Line2D
        The best strength of each step; filled where the fit has this correction.
    error_bars_ : list of ErrorbarContainer or None
        One standard error of the gain on either side; None where nothing was gained or there is one split.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import CorrectedPCACV
    >>> from attenua.display import StepsDisplay
    >>> model = CorrectedPCACV(3).fit(load_digits().data[:100])
    >>> display = StepsDisplay.from_estimator(model)
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['row tempering', 'tempering', 'attenuation', 'damping', 'pooling']
    """

    def __init__(self, *, steps: Steps) -> None:
        self.steps = steps

    @classmethod
    def from_estimator(cls, estimator: CorrectedPCACV, *, ax: Any = None) -> Self:
        """Draw the steps of a fitted `CorrectedPCACV`.

        Parameters
        ----------
        estimator : CorrectedPCACV
            Fitted.
        ax
            As for `plot`.
        """
        checked_kind(estimator, CorrectedPCACV)
        return cls(steps=estimator.steps_).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the steps, and return this display with the artists as attributes.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, default=None
            One subplot, which is divided, or one for every step that compared strengths; a new figure by
            default.
        """
        compared = [step for step in self.steps if step.strengths]
        if not compared:
            raise ValueError("no step compared any strengths, so there is nothing to draw.")
        axes = panels(ax, len(compared), size=(0.9 + 2.1 * len(compared), 3.0), share_y=True)
        self.axes_, self.figure_ = axes, axes[0].figure
        of_pca = compared[0].risks[0] or 1.0  # by the loss that steps compare, which is not that of cv_risk_
        drawn = [self._draw(axis, step, of_pca) for axis, step in zip(axes, compared, strict=True)]
        self.lines_, self.markers_, self.error_bars_ = (list(artists) for artists in zip(*drawn, strict=True))
        axes[0].set_ylabel("held-out risk,\nchange from PCA, %")
        return self

    def _draw(self, ax: Any, step: Step, of_pca: float) -> tuple[Any, Any, Any]:
        change = 100 * (np.array(step.risks) / of_pca - 1)
        best = step.strengths.index(step.best)
        colour = ACCENT if step.weight else "0.55"
        ax.axhline(0, color="0.8", lw=0.8, zorder=0)
        (line,) = ax.plot(
            step.strengths, change, "-o", ms=3, lw=2.0, color=SHADES[1] if step.weight else "0.65"
        )
        bar = None
        if best and np.isfinite(step.standard_error):
            bar = ax.errorbar(
                step.best, change[best], 100 * step.standard_error, color=colour, lw=1.4, capsize=3, zorder=3
            )
        (marker,) = ax.plot(
            [step.best], [change[best]], "o", ms=7, mew=1.6, mec=colour, ls="none", clip_on=False, zorder=4,
            mfc=colour if step.weight else "white",
        )  # fmt: skip
        weight = "bold" if step.weight else "normal"
        ax.set_title(f"weight {step.weight:.0%}", fontsize="medium", color=colour, fontweight=weight)
        ax.set_xlabel(spoken(step.correction))
        open_frame(ax)
        return line, marker, bar


class RankDisplay:
    """Held-out error by rank, or eigenvalues and what they must exceed, with the chosen rank marked.

    Made by `from_choice` rather than directly.

    Parameters
    ----------
    choice : RankChoice
        From :func:`attenua.choose_rank`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : Line2D
        Mean error of each rank, or the eigenvalues.
    threshold_line_ : Line2D or None
        What the eigenvalues must exceed; None for errors.
    partition_lines_ : list of Line2D
        The errors of each random partition; empty for eigenvalues.
    rank_line_ : Line2D
        The chosen rank.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import choose_rank
    >>> from attenua.display import RankDisplay
    >>> display = RankDisplay.from_choice(choose_rank(load_digits().data[:100], method="threshold"))
    >>> display.ax_.get_xlabel()
    'component'
    """

    def __init__(self, *, choice: RankChoice) -> None:
        self.choice = choice

    @classmethod
    def from_choice(cls, choice: RankChoice, *, ax: Any = None) -> Self:
        """Draw what :func:`attenua.choose_rank` returned.

        Parameters
        ----------
        choice : RankChoice
            What it returned.
        ax
            As for `plot`.
        """
        if not isinstance(choice, RankChoice):
            raise TypeError(
                f"choice must be a RankChoice, as choose_rank returns it; got {type(choice).__name__}."
            )
        return cls(choice=choice).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the choice, and return this display with the artists as attributes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        """
        choice, ax = self.choice, axes_or_new(ax)
        self.ax_, self.figure_ = ax, ax.figure
        self.partition_lines_: list[Any] = []
        self.threshold_line_ = None
        label = f"chosen: {choice.rank}"
        self.rank_line_ = ax.axvline(choice.rank, color=ACCENT, lw=1.2, zorder=1, label=label)
        if choice.errors is not None:
            self._draw_errors(100 * choice.errors)
        elif choice.eigenvalues is not None and choice.thresholds is not None:
            self._draw_eigenvalues(100 * choice.eigenvalues, 100 * choice.thresholds)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend(frameon=False, fontsize="small")
        open_frame(ax)
        return self

    def _draw_errors(self, errors: Array) -> None:
        ranks, mean = self.choice.ranks, errors.mean(axis=0)
        for partition in errors:
            self.partition_lines_ += self.ax_.plot(ranks, partition, color="0.8", lw=0.8, zorder=2)
        self.partition_lines_[0].set_label("random partitions")
        (self.line_,) = self.ax_.plot(ranks, mean, "o-", ms=3.5, color=SHADES[1], zorder=3, label="mean")
        # The errors of large ranks grow without bound and would flatten the rest of the curve.
        self.ax_.set_ylim(0, 1.3 * max(mean[0], mean[self.choice.rank]))
        self.ax_.set_xlabel("components")
        self.ax_.set_ylabel("error of held-out entries, % of none")

    def _draw_eigenvalues(self, eigenvalues: Array, thresholds: Array) -> None:
        ax, ranks, label = self.ax_, self.choice.ranks, _THRESHOLDS[self.choice.method]
        (self.line_,) = ax.plot(
            ranks, eigenvalues, "o-", ms=3.5, color=SHADES[1], zorder=3, label="your rows"
        )
        (self.threshold_line_,) = ax.plot(ranks, thresholds, "--", color="0.45", zorder=2, label=label)
        ax.set_yscale("log", subs=(2, 5))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("{x:g}")
        # The last eigenvalues may be 0, which a logarithmic axis cannot show.
        lowest = min(thresholds[0], eigenvalues[0]) if thresholds[0] > 0 else eigenvalues[0]
        ax.set_ylim(lowest / 50, None)
        ax.set_xlabel("component")
        ax.set_ylabel("variance explained, %")
