"""What the displays share: where to draw, the axis of strengths, and the range that masks reach."""

from typing import Any

from numpy.typing import NDArray

from attenua._data.extras import how_to_install

# Dark to light, so that curves keep their order without colour.
SHADES = ("#0b1c33", "#1d5a86", "#3f8f8c", "#93a35a")
ACCENT = "#b5541c"
_MASK_RANGE = "#e9edf2"


def axes_or_new(ax: Any, *, columns: int = 1) -> Any:
    """Return the axes given, or new ones; several as an array."""
    if ax is not None:
        return ax
    width = 6.4 if columns == 1 else 10.0
    return pyplot().subplots(1, columns, figsize=(width, 4.2), layout="constrained")[1]


def shade_mask_range(ax: Any) -> Any:
    """Shade the strengths below one half, which random input masks can reach."""
    ax.text(0.25, 1.01, "mask range", transform=ax.get_xaxis_transform(), ha="center", fontsize="small")
    return ax.axvspan(0, 0.5, color=_MASK_RANGE, lw=0, zorder=0)


def finish_strength_axis(ax: Any, alphas: NDArray[Any]) -> None:
    """Label the axis of strengths and take away what says nothing."""
    if len(alphas) > 1:
        ax.set_xlim(alphas[0], alphas[-1])
    ax.set_xlabel(r"attenuation strength $\alpha$")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def pyplot() -> Any:
    """Return matplotlib.pyplot, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"Drawing needs matplotlib, which is not installed: {how_to_install('plot')}."
        ) from error
    return plt


def checked_kind(estimator: Any, *kinds: type) -> None:
    """Raise an error where a display cannot draw an estimator, and say which it draws."""
    if not isinstance(estimator, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        hint = "; StepsDisplay draws it" if type(estimator).__name__ == "CorrectedPCACV" else ""
        raise ValueError(f"estimator must be a fitted {names}; got {type(estimator).__name__}{hint}.")
