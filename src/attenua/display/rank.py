"""How a number of components was chosen."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua.display.common import ACCENT, SHADES, axes_or_new, open_frame
from attenua.rank import RankChoice

Array = NDArray[np.float64]

_NOISE = {"parallel": "shuffled columns, 95%", "threshold": "threshold"}


class RankDisplay:
    """Held-out error by rank, or eigenvalues and what they have to exceed, and the rank that was chosen.

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
        What the eigenvalues have to exceed; None for errors.
    partition_lines_ : list of Line2D
        The errors of each random partition; empty for eigenvalues.
    rank_line_ : Line2D
        The rank that was chosen.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
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
    def from_choice(cls, choice: RankChoice, *, ax: Any = None) -> "RankDisplay":
        """Draw what :func:`attenua.choose_rank` returned.

        Parameters
        ----------
        choice : RankChoice
            What it returned.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        """
        if not isinstance(choice, RankChoice):
            raise TypeError(
                f"choice must be a RankChoice, as choose_rank returns it; got {type(choice).__name__}."
            )
        return cls(choice=choice).plot(ax=ax)

    def plot(self, ax: Any = None) -> "RankDisplay":
        """Draw the choice, and return this display with the artists as attributes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        """
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        self.partition_lines_: list[Any] = []
        self.threshold_line_ = None
        self.rank_line_ = self.ax_.axvline(
            self.choice.rank, color=ACCENT, lw=1.2, zorder=1, label=f"chosen: {self.choice.rank}"
        )
        if self.choice.errors is not None:
            self._draw_errors(100 * self.choice.errors)
        elif self.choice.eigenvalues is not None and self.choice.thresholds is not None:
            self._draw_eigenvalues(100 * self.choice.eigenvalues, 100 * self.choice.thresholds)
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        self.ax_.legend(frameon=False, fontsize="small")
        open_frame(self.ax_)
        return self

    def _draw_errors(self, errors: Array) -> None:
        ranks, mean = self.choice.ranks, errors.mean(axis=0)
        for partition in errors:
            self.partition_lines_ += self.ax_.plot(ranks, partition, color="0.8", lw=0.8, zorder=2)
        self.partition_lines_[0].set_label("random partitions")
        (self.line_,) = self.ax_.plot(ranks, mean, "o-", ms=3.5, color=SHADES[1], zorder=3, label="mean")
        # The errors of large ranks grow without bound and would flatten what matters.
        self.ax_.set_ylim(0, 1.3 * max(mean[0], mean[self.choice.rank]))
        self.ax_.set_xlabel("components")
        self.ax_.set_ylabel("error of held-out entries, % of none")

    def _draw_eigenvalues(self, eigenvalues: Array, thresholds: Array) -> None:
        ranks, noise = self.choice.ranks, _NOISE[self.choice.method]
        (self.line_,) = self.ax_.plot(
            ranks, eigenvalues, "o-", ms=3.5, color=SHADES[1], zorder=3, label="your rows"
        )
        (self.threshold_line_,) = self.ax_.plot(ranks, thresholds, "--", color="0.45", zorder=2, label=noise)
        self.ax_.set_yscale("log", subs=(2, 5))
        self.ax_.yaxis.set_major_formatter("{x:g}")
        self.ax_.yaxis.set_minor_formatter("{x:g}")
        # Beyond the noise there may be zeros, which a logarithm cannot show.
        lowest = min(thresholds[0], eigenvalues[0]) if thresholds[0] > 0 else eigenvalues[0]
        self.ax_.set_ylim(lowest / 50, None)
        self.ax_.set_xlabel("component")
        self.ax_.set_ylabel("variance explained, %")
