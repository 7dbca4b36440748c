"""The error of new rows by the number of rows fitted."""

from typing import Any, Self

import numpy as np

from attenua.display.common import SHADES, axes_or_new, open_frame
from attenua.learning import LearningCurve


class LearningCurveDisplay:
    """Error of new rows against the number of rows fitted, by an estimator and by PCA.

    A dotted line goes on to twice the rows. Made by `from_curve` rather than directly.

    Parameters
    ----------
    curve : LearningCurve
        From :func:`attenua.learning_curve`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    errors_ : ErrorbarContainer
        The estimator, with standard errors of the differences to the largest size.
    pca_line_ : Line2D
        Ordinary PCA.
    more_line_ : Line2D
        What is expected of more rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import CorrectedPCA, learning_curve
    >>> from attenua.display import LearningCurveDisplay
    >>> curve = learning_curve(load_digits().data[::18], CorrectedPCA(5, damping=0.5), random_state=0)
    >>> LearningCurveDisplay.from_curve(curve).ax_.get_xlabel()
    'rows fitted'
    """

    def __init__(self, *, curve: LearningCurve) -> None:
        self.curve = curve

    @classmethod
    def from_curve(cls, curve: LearningCurve, *, ax: Any = None) -> Self:
        """Draw what :func:`attenua.learning_curve` returned.

        Parameters
        ----------
        curve : LearningCurve
            What it returned.
        ax
            As for `plot`.
        """
        if not isinstance(curve, LearningCurve):
            raise TypeError(
                f"curve must be a LearningCurve, as learning_curve returns it; got {type(curve).__name__}."
            )
        return cls(curve=curve).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves, and return this display with the artists as attributes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        """
        curve, ax = self.curve, axes_or_new(ax)
        self.ax_, self.figure_, sizes = ax, ax.figure, curve.sizes
        (self.pca_line_,) = ax.plot(sizes, curve.pca_errors, "s-", ms=4, color="0.55", label="PCA")
        self.errors_ = ax.errorbar(
            sizes, curve.errors, curve.standard_errors, fmt="o-", color=SHADES[1], lw=2, capsize=3,
            label="estimator",
        )  # fmt: skip
        more = np.linspace(sizes[-1], 2 * curve.n_samples, 50)
        (self.more_line_,) = ax.plot(more, curve.expected(more), ":", color=SHADES[1], label="more rows")
        ax.set_xscale("log", base=2)
        ax.set_xticks(
            [*sizes, 2 * curve.n_samples], [f"{size:.0f}" for size in [*sizes, 2 * curve.n_samples]]
        )
        ax.set_xlabel("rows fitted")
        ax.set_ylabel("error of new rows")
        ax.legend(frameon=False, fontsize="small")
        open_frame(ax)
        return self
