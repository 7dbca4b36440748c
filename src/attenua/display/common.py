"""What the displays share: axes, colours, and the path of an estimator."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from attenua._data.namespace import to_host
from attenua._data.opening import checked_rows
from attenua._data.sums import divided
from attenua._estimate.transformer import SubspaceTransformer
from attenua._extras import how_to_install
from attenua.attenuation import AttenuatedPCA, AttenuatedPCACV
from attenua.path import AttenuationPath, attenuation_path

# Dark to light, so that curves keep their order without colour.
SHADES = ("#0b1c33", "#1d5a86", "#3f8f8c", "#93a35a")
ACCENT = "#b5541c"
_MASK_RANGE = "#e9edf2"
# For an estimator that compared no strengths itself.
_STRENGTHS = np.round(np.linspace(0, 1, 21), 2)


def axes_or_new(ax: Any) -> Any:
    """Return the given axes, or those of a new figure."""
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=(6.4, 4.2), layout="constrained")[1]


def panels(ax: Any, count: int, *, size: tuple[float, float], share_y: bool = False) -> NDArray[Any]:
    """Return axes for panels side by side: those given, parts of the one given, or those of a new figure.

    The one given keeps its place in its figure. It is hidden and the panels stand where it stood, as in
    scikit-learn's PartialDependenceDisplay.
    """
    if ax is None:
        figure = pyplot().figure(figsize=size, layout="constrained")
        return np.ravel(figure.subplots(1, count, sharey=share_y, squeeze=False))
    given = np.ravel(ax)
    if len(given) == 1 and count > 1 and given[0].get_subplotspec() is not None:
        (whole,) = given
        whole.set_axis_off()
        parts = whole.get_subplotspec().subgridspec(1, count)
        return np.ravel(parts.subplots(sharey=share_y, squeeze=False))
    if len(given) != count:
        raise ValueError(f"ax must be one subplot, or {count} axes, one for each panel; got {len(given)}.")
    return given


def shade_mask_range(ax: Any) -> Any:
    """Shade the strengths below one half, which random input masks can reach."""
    ax.text(0.25, 1.01, "mask range", transform=ax.get_xaxis_transform(), ha="center", fontsize="small")
    return ax.axvspan(0, 0.5, color=_MASK_RANGE, lw=0, zorder=0)


def finish_strength_axis(ax: Any, alphas: NDArray[Any]) -> None:
    """Label the axis of strengths."""
    if len(alphas) > 1:
        ax.set_xlim(alphas[0], alphas[-1])
    ax.set_xlabel(r"attenuation strength $\alpha$")
    open_frame(ax)


def open_frame(ax: Any) -> None:
    """Remove the two sides of the frame that carry no scale."""
    ax.spines[["top", "right"]].set_visible(False)


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
    check_is_fitted(estimator)


def checked_model(estimator: Any) -> None:
    """Raise an error unless this is a fitted estimator of components."""
    if not isinstance(estimator, SubspaceTransformer):
        raise ValueError(
            "estimator must be a fitted estimator of attenua with components_, such as CorrectedPCACV; got "
            f"{type(estimator).__name__}."
        )
    check_is_fitted(estimator)


def host_rows(estimator: Any, X: Any) -> Any:
    """Return rows as a fitted estimator reads and scales them, in the memory of the host."""
    rows = checked_rows(estimator, X)
    rows = rows if sp.issparse(rows) else to_host(rows)
    return rows if estimator.scale_ is None else divided(rows, to_host(estimator.scale_))


def strength_of(estimator: Any) -> float:
    """Return the strength that an AttenuatedPCA was given or an AttenuatedPCACV chose."""
    return float(estimator.alpha_ if isinstance(estimator, AttenuatedPCACV) else estimator.alpha)


def path_of(estimator: Any, X: Any) -> AttenuationPath:
    """Return the path of a fitted estimator and the rows it was fitted to; its strength is on it."""
    checked_kind(estimator, AttenuatedPCA, AttenuatedPCACV)
    return attenuation_path(
        X if estimator.scale_ is None else host_rows(estimator, X),
        int(estimator.n_components_),
        alphas=np.append(to_host(getattr(estimator, "alphas_", _STRENGTHS)), strength_of(estimator)),
        feature_groups=estimator.feature_groups,
    )
