"""The steps of a search, each with the strengths it compared."""

from typing import Any

import numpy as np

from attenua._data.namespace import to_host
from attenua._estimate.words import spoken
from attenua._select.steps import Step, Steps
from attenua.corrected import CorrectedPCACV
from attenua.display.common import ACCENT, SHADES, checked_kind, open_frame, panels


class StepsDisplay:
    """Held-out risk against the strength of each correction, as a change from PCA's, one panel for each step.

    Made by `from_estimator` rather than directly.

    Parameters
    ----------
    steps : Steps
        What each step compared.
    pca_risk : float
        Held-out risk of PCA.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One for every step that compared strengths.
    figure_ : matplotlib Figure
        Where it was drawn.
    lines_ : list of Line2D
        The risk of each step, in percent.
    markers_ : list of Line2D
        The best strength of each step; filled where it was taken.
    error_bars_ : list of ErrorbarContainer or None
        One standard error of the gain on either side; None where nothing was gained or there is one split.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_digits
    >>> from attenua import CorrectedPCACV
    >>> from attenua.display import StepsDisplay
    >>> model = CorrectedPCACV(3).fit(load_digits().data[:100])
    >>> display = StepsDisplay.from_estimator(model)
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['row tempering', 'tempering', 'attenuation', 'damping']
    """

    def __init__(self, *, steps: Steps, pca_risk: float) -> None:
        self.steps, self.pca_risk = steps, pca_risk

    @classmethod
    def from_estimator(cls, estimator: CorrectedPCACV, *, ax: Any = None) -> "StepsDisplay":
        """Draw the steps of a fitted `CorrectedPCACV`.

        Parameters
        ----------
        estimator : CorrectedPCACV
            Fitted.
        ax : matplotlib Axes or sequence of them, default=None
            One subplot, which is divided, or one for every step that compared strengths; a new figure by
            default.
        """
        checked_kind(estimator, CorrectedPCACV)
        return cls(steps=estimator.steps_, pca_risk=float(to_host(estimator.cv_risk_)[0])).plot(ax=ax)

    def plot(self, ax: Any = None) -> "StepsDisplay":
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
        drawn = [self._draw(axis, step) for axis, step in zip(axes, compared, strict=True)]
        self.lines_, self.markers_, self.error_bars_ = (list(artists) for artists in zip(*drawn, strict=True))
        axes[0].set_ylabel("held-out risk,\nchange from PCA, %")
        return self

    def _draw(self, ax: Any, step: Step) -> tuple[Any, Any, Any]:
        change = 100 * (np.array(step.risks) / (self.pca_risk or 1.0) - 1)
        best = step.strengths.index(step.best)
        colour = ACCENT if step.taken else "0.55"
        ax.axhline(0, color="0.8", lw=0.8, zorder=0)
        (line,) = ax.plot(
            step.strengths, change, "-o", ms=3, lw=2.0, color=SHADES[1] if step.taken else "0.65"
        )
        bar = None
        if best and np.isfinite(step.standard_error):
            bar = ax.errorbar(
                step.best, change[best], 100 * step.standard_error, color=colour, lw=1.4, capsize=3, zorder=3
            )
        (marker,) = ax.plot(
            [step.best], [change[best]], "o", ms=7, mew=1.6, mec=colour, ls="none", clip_on=False, zorder=4,
            mfc=colour if step.taken else "white",
        )  # fmt: skip
        title = f"taken at {step.best:g}" if step.taken else "not taken"
        ax.set_title(title, fontsize="medium", color=colour, fontweight="bold" if step.taken else "normal")
        ax.set_xlabel(spoken(step.correction))
        open_frame(ax)
        return line, marker, bar
