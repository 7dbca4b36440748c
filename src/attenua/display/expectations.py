"""The gain that the theory expects of each correction, against the number of rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attenua._correct.registry import CORRECTIONS
from attenua._estimate.words import spoken
from attenua.display.common import SHADES, axes_or_new, open_frame
from attenua.theory import Expectation, Expectations, when

# The range of n, as multiples of the n asked for.
_FROM, _TO, _POINTS = 1 / 4, 64, 121


class ExpectationsDisplay:
    """Expected gain of each correction against n, and what a simulation found at one n.

    At every n a line has the gain of the strength that is best there. It is dashed where the simulation
    disagrees with the expansion. Made by `from_expectations` or `from_covariance` rather than directly.

    Parameters
    ----------
    expectations : Expectations
        From :func:`attenua.theory.when`.
    sample_sizes : ndarray, default=None
        Where to draw the lines; by default from n / 4 to 64 n.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : dict of str to Line2D
        Expected gain in percent, by correction.
    error_bars_ : dict of str to ErrorbarContainer
        Simulated gain with one standard error on either side; only those that were simulated at a strength
        above 0.
    size_line_, zero_line_ : Line2D
        The n asked for, and no gain.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from attenua.display import ExpectationsDisplay
    >>> covariance = 1 + np.diag([0.5, 0.7, 1.0, 1.4, 2.0, 1.0])
    >>> display = ExpectationsDisplay.from_covariance(covariance, 1, 30, corrections=["attenuation"])
    >>> list(display.lines_)
    ['attenuation']
    """

    def __init__(self, *, expectations: Expectations, sample_sizes: ArrayLike | None = None) -> None:
        self.expectations = expectations
        if sample_sizes is None:
            n = expectations.n
            sample_sizes = np.geomspace(max(n * _FROM, 1), n * _TO, _POINTS)
        self.sample_sizes = np.asarray(sample_sizes, dtype=float)

    @classmethod
    def from_expectations(
        cls, expectations: Expectations, *, sample_sizes: ArrayLike | None = None, ax: Any = None
    ) -> "ExpectationsDisplay":
        """Draw what :func:`attenua.theory.when` returned.

        Parameters
        ----------
        expectations : Expectations
            What it returned.
        sample_sizes : array-like, default=None
            Where to draw the lines; by default from n / 4 to 64 n.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        """
        return cls(expectations=expectations, sample_sizes=sample_sizes).plot(ax=ax)

    @classmethod
    def from_covariance(
        cls,
        covariance: ArrayLike,
        n_components: int,
        n: float | None = None,
        *,
        sample_sizes: ArrayLike | None = None,
        ax: Any = None,
        **options: Any,
    ) -> "ExpectationsDisplay":
        """Compute and draw the expectations for a covariance, or for a sample.

        Parameters
        ----------
        covariance, n_components, n
            As for :func:`attenua.theory.when`: a covariance with `n`, or a sample without.
        sample_sizes : array-like, default=None
            Where to draw the lines; by default from n / 4 to 64 n.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options
            As for :func:`attenua.theory.when`.
        """
        found = when(covariance, n_components, n, **options)
        return cls.from_expectations(found, sample_sizes=sample_sizes, ax=ax)

    def plot(self, ax: Any = None) -> "ExpectationsDisplay":
        """Draw the lines, and return this display with the artists as attributes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        """
        ax = axes_or_new(ax)
        self.ax_, self.figure_, n = ax, ax.figure, self.expectations.n
        self.zero_line_ = ax.axhline(0, color="0.6", lw=0.8, zorder=1)
        self.size_line_ = ax.axvline(n, color="0.8", lw=0.8, zorder=0)
        self.lines_: dict[str, Any] = {}
        self.error_bars_: dict[str, Any] = {}
        # The strongest first: the legend has the order of the lines at n.
        ordered = sorted(self.expectations, key=_shown_gain, reverse=True)
        simulated = [e for e in ordered if not e.is_pca and np.isfinite(e.simulated_gain)]
        for expectation in ordered:
            self._draw_line(expectation)
        for place, expectation in enumerate(simulated):
            # Error bars of several corrections stand side by side.
            self._draw_error_bar(expectation, n * 1.08 ** (place - (len(simulated) - 1) / 2))
        self._finish(ordered)
        return self

    def _draw_line(self, e: Expectation) -> None:
        together = e.correction == "together"
        (self.lines_[e.correction],) = self.ax_.plot(
            self.sample_sizes,
            100 * e.gain_at(self.sample_sizes),
            color=_colour(e),
            ls="-" if e.is_sound else (0, (3, 2)),
            lw=3.2 if together else 1.8,
            alpha=0.45 if together else 1.0,
            zorder=2 if together else 3,
            label=_label(e),
        )

    def _draw_error_bar(self, e: Expectation, where: float) -> None:
        self.error_bars_[e.correction] = self.ax_.errorbar(
            where,
            100 * e.simulated_gain,
            100 * e.simulated_error,
            fmt="o",
            ms=5,
            color=_colour(e),
            mec="white",
            mew=0.7,
            lw=1.4,
            capsize=3,
            zorder=4,
        )

    def _finish(self, ordered: Sequence[Expectation]) -> None:
        ax = self.ax_
        ax.set_xscale("log")
        ax.set_xlim(self.sample_sizes[0], self.sample_sizes[-1])
        heights = np.concatenate([line.get_ydata() for line in self.lines_.values()])
        simulated = [100 * e.simulated_gain for e in ordered if e.correction in self.error_bars_]
        low, high = min(0.0, *simulated, 0.0), max(heights.max(), *simulated, 1.0)
        ax.set_ylim(low - 0.05 * (high - low), high + 0.08 * (high - low))
        ax.text(
            self.expectations.n, 1.01, f"n = {self.expectations.n:g}", transform=ax.get_xaxis_transform(),
            ha="center", fontsize="small", color="0.4",
        )  # fmt: skip
        ax.set_xlabel("rows, n")
        ax.set_ylabel("share of PCA's excess risk removed, %")
        title = "expected; dots: simulated" if self.error_bars_ else None
        ax.legend(
            handles=list(self.lines_.values()), title=title, loc="best", frameon=False,
            fontsize="small", title_fontsize="small",
        )  # fmt: skip
        open_frame(ax)


def _shown_gain(e: Expectation) -> float:
    return e.gain if e.is_sound else e.simulated_gain


def _colour(e: Expectation) -> str:
    return SHADES[0] if e.correction == "together" else CORRECTIONS[e.correction].colour


def _label(e: Expectation) -> str:
    name = spoken(e.correction)
    if e.is_pca:
        return f"{name}: none"
    at = "" if e.correction == "together" else f" {getattr(e.strengths, e.correction):.2g}"
    return f"{name}{at}: {_shown_gain(e):.0%}" + ("" if e.is_sound else " (simulated)")
