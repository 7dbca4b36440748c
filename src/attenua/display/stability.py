"""Which components hold in other samples, and error bars of their loadings."""

from typing import Any, Self

import numpy as np

from attenua._data.checks import checked_count
from attenua._select.resampling import LARGEST_ANGLE, Block
from attenua.display.common import ACCENT, SHADES, open_frame, panels
from attenua.stability import Stability

# Loadings of more columns are a line with a band, since their names would not fit.
_MOST_NAMES = 25
_MOST_PANELS = 4
_UNSTABLE = "0.6"


class StabilityDisplay:
    """How far the first m components turn in bootstrap samples, and the loadings of some with error bars.

    A bar on the left is the angle that the first m components stay below in most samples. Dark bars end at a
    cut that holds. Loadings of components that are stable singly are dark as well; those of others are pale:
    another sample has other components, and the bars cannot show all that they might be.

    Made by `from_stability` rather than directly.

    Parameters
    ----------
    stability : Stability
        From :func:`attenua.stability`.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        The angles, then one for every component drawn.
    figure_ : matplotlib Figure
        Where it was drawn.
    bars_ : BarContainer
        Angles of the first 1, 2, ... components.
    limit_line_ : Line2D
        The angle above which a cut does not hold.
    loadings_ : list of artists
        Error bars of the loadings of each component drawn, or a line.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from attenua import stability
    >>> from attenua.display import StabilityDisplay
    >>> X = load_wine().data
    >>> found = stability((X - X.mean(axis=0)) / X.std(axis=0), 4, random_state=0)
    >>> len(StabilityDisplay.from_stability(found).axes_)
    5
    """

    def __init__(self, *, stability: Stability) -> None:
        self.stability = stability

    @classmethod
    def from_stability(cls, stability: Stability, *, ax: Any = None, **options: Any) -> Self:
        """Draw what :func:`attenua.stability` returned.

        Parameters
        ----------
        stability : Stability
            What it returned.
        ax, **options
            As for `plot`.
        """
        if not isinstance(stability, Stability):
            raise TypeError(
                f"stability must be a Stability, as attenua.stability returns it; got "
                f"{type(stability).__name__}."
            )
        return cls(stability=stability).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, n_loadings: int | None = None) -> Self:
        """Draw it, and return this display with the artists as attributes.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, default=None
            One subplot, which is divided, or one for the angles and one for every component drawn; a new
            figure by default.
        n_loadings : int, default=None
            How many components, the first ones, have their loadings drawn; by default up to four.
        """
        found, rank = self.stability, len(self.stability.components)
        if n_loadings is None:
            n_loadings = min(rank, _MOST_PANELS)
        n_loadings = checked_count(n_loadings, "n_loadings", 0, rank)
        has_names = found.components.shape[1] <= _MOST_NAMES
        height = max(3.4, 0.9 + 0.21 * found.components.shape[1]) if has_names else 3.4
        self.axes_ = panels(ax, 1 + n_loadings, size=(3.0 + 2.5 * n_loadings, height))
        self.figure_ = self.axes_[0].figure
        block_of = {k: block for block in found.blocks for k in range(block.first, block.last + 1)}
        self._draw_angles(self.axes_[0])
        self.loadings_ = [
            self._draw_loadings(axis, k, block_of[k + 1], has_names) for k, axis in enumerate(self.axes_[1:])
        ]
        return self

    def _draw_angles(self, ax: Any) -> None:
        found = self.stability
        limits, numbers = found.leading_limits, np.arange(1, len(found.components) + 1)
        cuts = {block.last for block in found.blocks if block.is_stable}
        colours = [SHADES[1] if m in cuts else _UNSTABLE for m in numbers]
        self.bars_ = ax.bar(numbers, limits, color=colours, width=0.7)
        self.limit_line_ = ax.axhline(LARGEST_ANGLE, color=ACCENT, ls="--", lw=1.3)
        ax.set(ylim=(0, 90), yticks=range(0, 91, 15), xlabel="first m components")
        ax.set_ylabel(f"turn in {found.level:.0%} of samples\nat most, degrees")
        ax.set_title("cuts below the line hold", fontsize="medium", color=ACCENT)
        ax.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=min(len(numbers), 10))
        open_frame(ax)

    def _draw_loadings(self, ax: Any, k: int, block: Block, has_names: bool) -> Any:
        found = self.stability
        colour = SHADES[1] if block.is_stable and block.is_single else _UNSTABLE
        low, high = found.intervals
        values, places = found.components[k], np.arange(found.components.shape[1])
        if has_names:
            ax.axvline(0, color="0.85", lw=0.8, zorder=0)
            ends = np.array([values - low[k], high[k] - values])
            drawn = ax.errorbar(values, places, xerr=ends, fmt="o", ms=4, color=colour, lw=1.4, capsize=2)
            ax.set_yticks(places, found.feature_names if k == 0 else [""] * len(places), fontsize="small")
            ax.set_ylim(len(places) - 0.5, -0.5)
            ax.set_xlabel("loading")
        else:
            ax.axhline(0, color="0.85", lw=0.8, zorder=0)
            ax.fill_between(places, low[k], high[k], color=colour, alpha=0.3, lw=0)
            (drawn,) = ax.plot(places, values, color=colour, lw=1.2)
            ax.set_xlabel("column")
            if k == 0:
                ax.set_ylabel("loading")
        ax.set_title(f"component {k + 1}{_remark(block)}", fontsize="medium")
        open_frame(ax)
        return drawn


def _remark(block: Block) -> str:
    if not block.is_stable:
        return "\nnot stable"
    return "\nstable" if block.is_single else f"\none of {block.span}"
