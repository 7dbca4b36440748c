"""What the theory expects: risk against strength, and gain against the number of rows."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._correct.registry import CORRECTIONS
from attenua.display.common import (
    ACCENT,
    SHADES,
    axes_or_new,
    finish_strength_axis,
    open_frame,
    shade_mask_range,
)
from attenua.theory import Expectation, Expectations, PlugInReport, Population, when

Array = NDArray[np.float64]

_DASHES = ("-", (0, (6, 2)), (0, (4, 1.5, 1, 1.5)), (0, (1.5, 1.2)))


class RiskCurveDisplay:
    r"""Expected excess risk against strength, with its bias and sampling parts.

    Made by `from_population` or `from_report` rather than directly.

    Parameters
    ----------
    alphas : ndarray of shape (n_strengths,)
        Strengths.
    sample_sizes : sequence of float
        One curve each.
    bias : ndarray of shape (n_strengths,)
        Population cost :math:`B_{pop}(\alpha)`, the same at every sample size.
    sampling : ndarray of shape (n_sizes, n_strengths)
        :math:`K_{move}(\alpha) / n`.
    band : tuple of two ndarrays of shape (n_strengths,), default=None
        Lower and upper end of an interval for the (one) curve.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    risk_lines_ : list of Line2D
        Risk curves, one per sample size.
    bias_line_, sampling_lines_ : Line2D, list of Line2D
        Parts of the risk; None and an empty list when not drawn.
    oracle_markers_ : list of Line2D
        Smallest risk on the direct path and in the mask range, for each sample size in turn.
    mask_range_ : artist
        Shading of the strengths that masks reach.
    band_ : artist or None
        The interval.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.display import RiskCurveDisplay
    >>> from attenua.theory import Population
    >>> display = RiskCurveDisplay.from_population(Population(np.eye(4) + np.ones((4, 4)), 1), n=50)
    >>> display.ax_.get_ylabel()
    'expected excess risk'
    """

    def __init__(
        self,
        *,
        alphas: Array,
        sample_sizes: Sequence[float],
        bias: Array,
        sampling: Array,
        band: tuple[Array, Array] | None = None,
    ) -> None:
        self.alphas, self.sample_sizes = alphas, sample_sizes
        self.bias, self.sampling, self.band = bias, sampling, band

    @classmethod
    def from_population(
        cls,
        population: Population,
        n: float | Sequence[float],
        *,
        alphas: ArrayLike | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute and draw the risk curve of a population at one or several sample sizes.

        Parameters
        ----------
        population : Population
            Covariance and rank.
        n : float or sequence of floats
            Sample sizes.
        alphas : array-like, default=None
            Strengths; by default 41 equal steps from 0 to 1.
        ax, **options
            As for `plot`.
        """
        sizes = [float(size) for size in np.atleast_1d(n)]
        strengths = np.linspace(0, 1, 41) if alphas is None else np.unique(np.asarray(alphas, dtype=float))
        bias = population.bias(attenuation=strengths)
        coefficient = population.sampling_coefficient(attenuation=strengths)
        sampling = np.array([coefficient / size for size in sizes])
        return cls(alphas=strengths, sample_sizes=sizes, bias=bias, sampling=sampling).plot(ax=ax, **options)

    @classmethod
    def from_report(cls, report: PlugInReport, *, ax: Any = None, **options: Any) -> Self:
        """Draw a plug-in report: its curve, its parts and, where it has a bootstrap, its band.

        Parameters
        ----------
        report : PlugInReport
            From :func:`attenua.theory.plug_in_report`.
        ax, **options
            As for `plot`.
        """
        return cls(
            alphas=report.alphas,
            sample_sizes=[float(report.n)],
            bias=report.bias,
            sampling=report.sampling[None, :],
            band=None if report.bootstrap is None else report.band,
        ).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, parts: bool | None = None, relative: bool | None = None) -> Self:
        """Draw the curves, and return this display with the artists as attributes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        parts : bool, default=None
            Whether to draw the bias and sampling parts; by default when there is one sample size.
        relative : bool, default=None
            Whether to divide every curve by PCA's risk at its sample size; by default when there are several,
            whose risks are too far apart for one axis.
        """
        several = len(self.sample_sizes) > 1
        parts = not several if parts is None else parts
        relative = several if relative is None else relative
        if relative and self.alphas[0] != 0:
            raise ValueError("relative curves need alpha = 0, ordinary PCA, among the strengths.")
        ax = axes_or_new(ax)
        self.ax_, self.figure_ = ax, ax.figure
        self.mask_range_ = shade_mask_range(ax)
        self.risk_lines_: list[Any] = []
        self.sampling_lines_: list[Any] = []
        self.oracle_markers_: list[Any] = []
        self.bias_line_ = self.band_ = None
        for index in range(len(self.sample_sizes)):
            self._draw_curve(index, parts, relative)
        ax.axhline(1.0 if relative else 0.0, color="0.6", lw=0.8, zorder=1)
        finish_strength_axis(ax, self.alphas)
        ax.set_ylabel("expected excess risk" + (" / PCA's" if relative else ""))
        self._set_height(relative)
        shown = [*self.risk_lines_, self.bias_line_, *self.sampling_lines_[:1]]
        shown += [*self.oracle_markers_[:2], self.band_]
        ax.legend(handles=[some for some in shown if some is not None], frameon=False, fontsize="small")
        return self

    def _set_height(self, relative: bool) -> None:
        """Fit the axis to the curves, and not to a wide band or to strengths that cost far more than PCA."""
        heights = np.concatenate([line.get_ydata() for line in (*self.risk_lines_, *self.sampling_lines_)])
        low, high = min(0.0, heights.min()), heights.max()
        if relative:
            high = min(high, 2.0)
        self.ax_.set_ylim(low - 0.04 * (high - low), high + 0.1 * (high - low))

    def _draw_curve(self, index: int, parts: bool, relative: bool) -> None:
        ax, alphas, sampling = self.ax_, self.alphas, self.sampling[index]
        shade, risk = SHADES[index % len(SHADES)], self.bias + sampling
        unit = risk[0] if relative else 1.0
        if self.band is not None:
            low, high = (end / unit for end in self.band)
            label = "bootstrap interval"
            self.band_ = ax.fill_between(alphas, low, high, color="0.6", alpha=0.35, lw=0, label=label)
        label = f"risk, n = {self.sample_sizes[index]:g}"
        dashes = _DASHES[index % len(_DASHES)]
        self.risk_lines_ += ax.plot(alphas, risk / unit, color=shade, ls=dashes, lw=2.2, label=label)
        if parts:
            (self.bias_line_,) = ax.plot(
                alphas, self.bias / unit, color=ACCENT, ls="--", lw=1.5, label="bias part"
            )
            self.sampling_lines_ += ax.plot(
                alphas, sampling / unit, color="#5a5a5a", ls=":", lw=1.8, label="sampling part"
            )
        oracles = (
            (alphas >= 0, {"marker": "o", "ms": 6, "mfc": shade, "label": "smallest risk, direct"}),
            (alphas <= 0.5, {"marker": "D", "ms": 11, "mfc": "none", "label": "smallest risk, mask range"}),
        )
        for within, look in oracles:
            if within.any():
                best = int(np.argmin(np.where(within, risk, np.inf)))
                look |= {"mec": shade, "mew": 1.6, "ls": "none", "clip_on": False, "zorder": 4}
                self.oracle_markers_ += ax.plot(alphas[best], risk[best] / unit, **look)


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
        The given n, and no gain.

    Examples
    --------
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
            sample_sizes = np.geomspace(max(expectations.n / 4, 1), 64 * expectations.n, 121)
        self.sample_sizes = np.asarray(sample_sizes, dtype=float)

    @classmethod
    def from_expectations(
        cls, expectations: Expectations, *, sample_sizes: ArrayLike | None = None, ax: Any = None
    ) -> Self:
        """Draw what :func:`attenua.theory.when` returned.

        Parameters
        ----------
        expectations : Expectations
            What it returned.
        sample_sizes : array-like, default=None
            Where to draw the lines; by default from n / 4 to 64 n.
        ax
            As for `plot`.
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
    ) -> Self:
        """Compute and draw the expectations for a covariance, or for a sample.

        Parameters
        ----------
        covariance, n_components, n, **options
            As for :func:`attenua.theory.when`: a covariance with `n`, or a sample without.
        sample_sizes, ax
            As for `from_expectations`.
        """
        found = when(covariance, n_components, n, **options)
        return cls.from_expectations(found, sample_sizes=sample_sizes, ax=ax)

    def plot(self, ax: Any = None) -> Self:
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
        # The strongest first, so that the legend has the order of the lines at n.
        ordered = sorted(self.expectations, key=_shown_gain, reverse=True)
        self.lines_ = {e.correction: self._draw_line(e) for e in ordered}
        simulated = [e for e in ordered if not e.is_pca and np.isfinite(e.simulated_gain)]
        # Error bars of several corrections stand side by side.
        places = n * 1.08 ** (np.arange(len(simulated)) - (len(simulated) - 1) / 2)
        self.error_bars_ = {
            e.correction: ax.errorbar(
                place, 100 * e.simulated_gain, 100 * e.simulated_error, fmt="o", ms=5, color=_colour(e),
                mec="white", mew=0.7, lw=1.4, capsize=3, zorder=4,
            )
            for e, place in zip(simulated, places, strict=True)
        }  # fmt: skip
        self._finish(simulated)
        return self

    def _draw_line(self, e: Expectation) -> Any:
        gains, ls = 100 * e.gain_at(self.sample_sizes), "-" if e.is_sound else (0, (3, 2))
        together = {"lw": 3.2, "alpha": 0.45, "zorder": 2}
        look = together if e.correction == "together" else {"lw": 1.8, "zorder": 3}
        return self.ax_.plot(self.sample_sizes, gains, color=_colour(e), ls=ls, label=_label(e), **look)[0]

    def _finish(self, simulated: Sequence[Expectation]) -> None:
        ax, n, lines = self.ax_, self.expectations.n, list(self.lines_.values())
        ax.set_xscale("log")
        ax.set_xlim(self.sample_sizes[0], self.sample_sizes[-1])
        heights = np.concatenate([line.get_ydata() for line in lines])
        gains = [100 * e.simulated_gain for e in simulated]
        low, high = min([0.0, *gains]), max([heights.max(), *gains, 1.0])
        ax.set_ylim(low - 0.05 * (high - low), high + 0.08 * (high - low))
        at_n = {"transform": ax.get_xaxis_transform(), "ha": "center", "fontsize": "small", "color": "0.4"}
        ax.text(n, 1.01, f"n = {n:g}", **at_n)
        ax.set_xlabel("rows, n")
        ax.set_ylabel("share of PCA's excess risk removed, %")
        title = "expected; dots: simulated" if simulated else None
        ax.legend(handles=lines, title=title, frameon=False, fontsize="small", title_fontsize="small")
        open_frame(ax)


def _shown_gain(e: Expectation) -> float:
    return e.gain if e.is_sound else e.simulated_gain


def _colour(e: Expectation) -> str:
    return SHADES[0] if e.correction == "together" else CORRECTIONS[e.correction].colour


def _label(e: Expectation) -> str:
    together = e.correction == "together"
    name = e.correction if together else CORRECTIONS[e.correction].label
    if e.is_pca:
        return f"{name}: none"
    at = "" if together else f" {e.strengths[e.correction]:.2g}"
    return f"{name}{at}: {_shown_gain(e):.0%}" + ("" if e.is_sound else " (simulated)")
