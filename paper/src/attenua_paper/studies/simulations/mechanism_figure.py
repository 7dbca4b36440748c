"""Figure 1 of the paper: from averaged masks to a path of matrices to the strength with the smallest risk."""

from itertools import product
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from attenua.masks import alpha_from_mask_rate, mask_rate_from_alpha
from attenua_paper.studies.simulations.figures import MASK_RANGE, SIMULATED, STYLE, THEORY, shade_mask_range
from attenua_paper.studies.simulations.monte_carlo import Array
from attenua_paper.studies.simulations.paper_populations import MOVING_SIZE, rotating_design, unequal_design
from attenua_paper.theory import draw_rows

MASK_RATE = 0.5
# A population whose best strength lies beyond the masks' reach and whose target moves.
ANGLE = 3.0
ARROW = {"arrowstyle": "-|>", "color": "0.25", "lw": 1.2}


def overview_figure(seed: int = 0) -> Figure:
    """Draw figure 1 from a drawn sample (left, centre) and from the theory (right)."""
    X = draw_rows(unequal_design().covariance, 40, random_state=seed)
    S = X.T @ X / len(X)
    with rc_context(STYLE):
        figure = Figure(figsize=(11, 3.5), layout="constrained")
        left, centre, right = figure.subplots(1, 3, width_ratios=[1.15, 1.2, 1])
        _draw_masks(left, S)
        _draw_path(centre, S)
        _draw_balance(right)
    return figure


def masked_loss_matrix(S: Array, kept: Array, mask_rate: float) -> Array:
    r"""Return the matrix whose trace with `P` one mask's loss subtracts, in the unit of the average.

    :math:`\|x - P W x\|^2` averaged over the rows is :math:`\operatorname{tr} S - \operatorname{tr}\{P (W S +
    S W - W S W)\}`, and over masks the bracket has mean :math:`q (2 - q) (S - \alpha D)`, :math:`q = 1 - m`.
    """
    W, q = np.diag(kept), 1 - mask_rate
    return (W @ S + S @ W - W @ S @ W) / (q * (2 - q))


def averaged_loss_matrix(S: Array, mask_rate: float) -> Array:
    """Return the mean of `masked_loss_matrix` over all masks, each with its probability."""
    p = len(S)
    total = np.zeros_like(S)
    for kept in product([0.0, 1.0], repeat=p):
        weight = np.prod(np.where(np.array(kept) > 0, 1 - mask_rate, mask_rate))
        total += weight * masked_loss_matrix(S, np.array(kept), mask_rate)
    return total


def _draw_masks(ax: Any, S: Array) -> None:
    alpha = alpha_from_mask_rate(MASK_RATE)
    ax.set_title("Averaging the loss over input masks")
    ax.set_axis_off()
    largest = _largest_shade(S)
    _draw_matrix(ax, (0.0, 0.32, 0.3, 0.4), S, largest, r"covariance $S_n$", numbers=True)
    for height, kept in zip((0.7, 0.39, 0.08), ((1, 0, 1, 1), (0, 1, 1, 0), (1, 0, 0, 1)), strict=True):
        matrix = masked_loss_matrix(S, np.array(kept, dtype=float), MASK_RATE)
        inset = _draw_matrix(ax, (0.4, height, 0.17, 0.23), matrix, largest)
        hidden = [row for row, keep in enumerate(kept) if not keep]
        inset.set_yticks(hidden, ["×"] * len(hidden), fontsize=8)
        inset.tick_params(length=0, pad=1)
    ax.text(0.485, 0.0, "masks W (× hidden)", ha="center", va="top", fontsize=8, transform=ax.transAxes)
    average = averaged_loss_matrix(S, MASK_RATE)
    _draw_matrix(ax, (0.68, 0.32, 0.3, 0.4), average, largest, "mean over masks", numbers=True)
    ax.text(0.83, 0.27, r"$S_n-\alpha\,\mathrm{diag}(S_n)$", ha="center", va="top", transform=ax.transAxes)
    ax.text(
        0.83,
        0.13,
        rf"$m={MASK_RATE:g}$,  $\alpha=\frac{{m}}{{1+m}}={alpha:.2f}$",
        ha="center",
        va="top",
        fontsize=8,
        transform=ax.transAxes,
    )
    for start, stop in ((0.315, 0.37), (0.6, 0.665)):
        ax.annotate("", (stop, 0.52), (start, 0.52), xycoords=ax.transAxes, arrowprops=ARROW)


def _draw_path(ax: Any, S: Array) -> None:
    ax.set_title("One path from PCA to diagonal deletion")
    ax.axvspan(0, 0.5, color=MASK_RANGE, lw=0, zorder=0)
    alphas = (0.0, 0.25, 0.5, 0.75, 1.0)
    D = np.diag(np.diag(S))
    for alpha in alphas:
        _draw_matrix(ax, (0.02 + 0.8 * alpha, 0.36, 0.16, 0.26), S - alpha * D, _largest_shade(S))
    ax.annotate("", (1.08, 0.26), (-0.08, 0.26), arrowprops=ARROW)
    ax.text(0.5, 0.16, "direct attenuation: every strength", ha="center", va="center", fontsize=8)
    ax.text(0.2, 0.93, "input masking", ha="center", va="center", fontsize=8)
    ax.text(0.2, 0.84, r"$0\leq m<1$,  $\alpha<1/2$", ha="center", va="center", fontsize=8)
    ax.text(0.0, 0.71, "PCA", ha="center", weight="bold")
    ax.text(1.0, 0.71, "diagonal\ndeletion", ha="center", weight="bold")
    ax.set(xlim=(-0.125, 1.125), ylim=(0, 1), yticks=[], xlabel=r"attenuation strength $\alpha$")
    labels = [f"{a:g}" + (f"\nm = {mask_rate_from_alpha(a):.2g}" if a < 0.5 else "") for a in alphas]
    labels[2] += "\nm → 1"
    ax.set_xticks(alphas, labels)
    ax.spines["left"].set_visible(False)


def _draw_balance(ax: Any) -> None:
    population, n = rotating_design(ANGLE), MOVING_SIZE
    alphas = np.linspace(0, 1, 101)
    bias, risk = n * population.bias(alphas), n * population.excess_risk(n, alphas)
    shade_mask_range(ax)
    ax.plot(alphas, risk, color=SIMULATED, lw=2, label="excess risk")
    ax.plot(alphas, risk - bias, color="0.35", lw=1.5, ls=(0, (1.5, 1.2)), label="sampling rotation")
    ax.plot(alphas, bias, color=THEORY, lw=1.5, ls=(0, (5, 2)), label="population cost")
    best = population.oracle(n)
    height = n * population.excess_risk(n, best)
    ax.plot(best, height, "o", color=SIMULATED, ms=7, zorder=4)
    ax.annotate(
        "oracle strength",
        (best, height),
        (best + 0.08, height + 0.35 * (risk[0] - height)),
        ha="center",
        arrowprops=ARROW | {"shrinkB": 5},
    )
    ax.plot(0, risk[0], "s", color=SIMULATED, ms=6, clip_on=False, zorder=4)
    ax.annotate("PCA", (0, risk[0]), (6, 3), textcoords="offset points")
    ax.set(
        title="The oracle balances two costs",
        xlabel=r"attenuation strength $\alpha$",
        ylabel="scaled excess risk",
        xlim=(0, 1),
        ylim=(None, 1.1 * risk[0]),
    )
    ax.legend(loc="upper right")


def _largest_shade(S: Array) -> float:
    """Return the largest entry that any mask's matrix can have: one scale of shades for all of them."""
    return float(masked_loss_matrix(S, np.ones(len(S)), MASK_RATE).max())


def _draw_matrix(
    ax: Any,
    box: tuple[float, float, float, float],
    matrix: Array,
    largest: float,
    title: str = "",
    numbers: bool = False,
) -> Any:
    """Draw a matrix as a square of shades inside an axes, darker for larger entries."""
    inset = ax.inset_axes(box)
    inset.imshow(matrix, cmap="Blues", vmin=0, vmax=largest)
    inset.set(xticks=[], yticks=[])
    inset.set_title(title, fontsize=8, pad=3)
    for spine in inset.spines.values():
        spine.set_visible(True)
    if numbers:
        for (row, column), value in np.ndenumerate(matrix):
            shade = "white" if value > 0.6 * largest else "black"
            inset.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=7, color=shade)
    return inset
