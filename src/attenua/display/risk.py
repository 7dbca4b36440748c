"""The risk curve of the theory."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua.display.common import ACCENT, SHADES, axes_or_new, finish_strength_axis, shade_mask_range
from attenua.theory import PlugInReport, Population


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
        alphas: NDArray[np.float64],
        sample_sizes: Sequence[float],
        bias: NDArray[np.float64],
        sampling: NDArray[np.float64],
        band: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
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
    ) -> "RiskCurveDisplay":
        """Compute and draw the risk curve of a population at one or several sample sizes.

        Parameters
        ----------
        population : Population
            Covariance and rank.
        n : float or sequence of floats
            Sample sizes.
        alphas : array-like, default=None
            Strengths; by default 41 equal steps from 0 to 1.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options
            As for `plot`.
        """
        sizes = [float(size) for size in np.atleast_1d(n)]
        strengths = np.linspace(0, 1, 41) if alphas is None else np.unique(np.asarray(alphas, dtype=float))
        bias = population.bias(attenuation=strengths)
        coefficient = population.sampling_coefficient(attenuation=strengths)
        sampling = np.array([coefficient / size for size in sizes])
        return cls(alphas=strengths, sample_sizes=sizes, bias=bias, sampling=sampling).plot(ax=ax, **options)

    @classmethod
    def from_report(cls, report: PlugInReport, *, ax: Any = None, **options: Any) -> "RiskCurveDisplay":
        """Draw a plug-in report: its curve, its parts and, where it has a bootstrap, its band.

        Parameters
        ----------
        report : PlugInReport
            From :func:`attenua.theory.plug_in_report`.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        **options
            As for `plot`.
        """
        return cls(
            alphas=report.alphas,
            sample_sizes=[float(report.n)],
            bias=report.bias,
            sampling=report.sampling[None, :],
            band=None if report.bootstrap is None else report.band,
        ).plot(ax=ax, **options)

    def plot(
        self, ax: Any = None, *, parts: bool | None = None, relative: bool | None = None
    ) -> "RiskCurveDisplay":
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
        for index, size in enumerate(self.sample_sizes):
            self._draw_curve(index, size, parts, relative)
        ax.axhline(1.0 if relative else 0.0, color="0.6", lw=0.8, zorder=1)
        finish_strength_axis(ax, self.alphas)
        ax.set_ylabel("expected excess risk" + (" / PCA's" if relative else ""))
        self._set_height(relative)
        shown = [*self.risk_lines_, self.bias_line_, *self.sampling_lines_[:1]]
        shown += [*self.oracle_markers_[:2], self.band_]
        ax.legend(handles=[some for some in shown if some is not None], frameon=False, fontsize="small")
        return self

    def _set_height(self, relative: bool) -> None:
        """Let the curves fill the axis: not a wide band, nor strengths that cost far more than PCA."""
        heights = np.concatenate([line.get_ydata() for line in (*self.risk_lines_, *self.sampling_lines_)])
        low, high = min(0.0, heights.min()), heights.max()
        if relative:
            high = min(high, 2.0)
        self.ax_.set_ylim(low - 0.04 * (high - low), high + 0.1 * (high - low))

    def _draw_curve(self, index: int, size: float, parts: bool, relative: bool) -> None:
        ax, shade = self.ax_, SHADES[index % len(SHADES)]
        risk = self.bias + self.sampling[index]
        unit = risk[0] if relative else 1.0
        if self.band is not None:
            low, high = (end / unit for end in self.band)
            self.band_ = ax.fill_between(
                self.alphas, low, high, color="0.6", alpha=0.35, lw=0, label="bootstrap interval"
            )
        dashes = ("-", (0, (6, 2)), (0, (4, 1.5, 1, 1.5)), (0, (1.5, 1.2)))[index % 4]
        label = f"risk, n = {size:g}"
        self.risk_lines_ += ax.plot(self.alphas, risk / unit, color=shade, ls=dashes, lw=2.2, label=label)
        if parts:
            (self.bias_line_,) = ax.plot(
                self.alphas, self.bias / unit, color=ACCENT, ls="--", lw=1.5, label="bias part"
            )
            self.sampling_lines_ += ax.plot(
                self.alphas,
                self.sampling[index] / unit,
                color="#5a5a5a",
                ls=":",
                lw=1.8,
                label="sampling part",
            )
        inside = np.flatnonzero(self.alphas <= 0.5)
        for name, marker, where in (("direct", "o", np.arange(len(risk))), ("mask", "D", inside)):
            if where.size == 0:
                continue
            best = where[np.argmin(risk[where])]
            self.oracle_markers_ += ax.plot(
                self.alphas[best],
                risk[best] / unit,
                marker=marker,
                ms=6 if name == "direct" else 11,
                mfc=shade if name == "direct" else "none",
                mec=shade,
                mew=1.6,
                ls="none",
                clip_on=False,
                zorder=4,
                label=f"smallest risk, {name}" + (" range" if name == "mask" else ""),
            )
