"""Figures 2 and 4 of the paper. Lines differ by dash or marker, so that they survive printing in grey."""

import io
from typing import Any

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from attenua_paper.studies.simulations.simulate import Simulations
from attenua_paper.studies.simulations.simulation_tables import LAW_TITLES

MASK_RANGE = "#dce7f3"
SIMULATED = "#12395f"
THEORY = "#c2571a"
STYLE = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 1.7,
    "pdf.fonttype": 42,  # text in the PDF stays text
}


def save_figure(figure: Figure) -> dict[str, bytes]:
    """Return a figure as PNG and PDF, by the endings of their names; the same figure gives the same bytes."""
    pictures = {}
    for ending, options in {"png": {"dpi": 200}, "pdf": {"metadata": {"CreationDate": None}}}.items():
        buffer = io.BytesIO()
        with rc_context(STYLE):
            figure.savefig(buffer, format=ending, **options)
        pictures[ending] = buffer.getvalue()
    return pictures


def shade_mask_range(ax: Any) -> None:
    """Shade the strengths that masks reach and mark 1/2, the end they do not reach."""
    ax.axvspan(0, 0.5, color=MASK_RANGE, lw=0, zorder=0)
    ax.axvline(0.5, color="0.45", lw=0.8, ls=(0, (1, 2)), zorder=1)


def preserved_and_moving_figure(simulations: Simulations) -> Figure:
    """Draw figure 2: risk curves of panels (a) and (b), best strengths and reductions of panel (c)."""
    with rc_context(STYLE):
        figure = Figure(figsize=(10.2, 3.6), layout="constrained")
        grid = figure.add_gridspec(2, 3, width_ratios=[1, 1, 1.15])
        titles = {"balanced": "(a) balanced variances", "unequal": "(b) unequal variances, target kept"}
        for column, (design, curve) in enumerate(simulations.preserved.groupby("design", sort=False)):
            ax = figure.add_subplot(grid[:, column])
            _draw_curve(ax, curve, titles[design], theory=r"theory $\mathcal{K}(\alpha)$")
            if column == 0:
                n = curve["n"].iloc[0]
                ax.set_ylabel(rf"scaled excess risk $n\,\mathrm{{E}}\,R_{{ex}}$, $n={n}$")
            else:
                ax.legend(loc="upper right", borderaxespad=0)
        upper = figure.add_subplot(grid[0, 2])
        lower = figure.add_subplot(grid[1, 2], sharex=upper)
        _draw_oracles(upper, lower, simulations.moving)
    return figure


def non_gaussian_figure(simulations: Simulations) -> Figure:
    """Draw figure 4: simulated risk and moment prediction of three laws at the largest sample size."""
    audit = simulations.audit
    n = audit["n"].max()
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 3.1), layout="constrained")
        axes = figure.subplots(1, 3, sharey=True)
        at_largest = audit[audit["n"] == n].groupby("law", sort=False)
        for ax, (law, curve) in zip(axes, at_largest, strict=True):
            _draw_curve(ax, curve, LAW_TITLES[law], theory="moment prediction", join=True)
        axes[0].set_ylabel(rf"scaled excess risk, $n={n}$")
        axes[0].legend(loc="upper right", borderaxespad=0)
    return figure


def _draw_curve(ax: Any, curve: pd.DataFrame, title: str, *, theory: str, join: bool = False) -> None:
    shade_mask_range(ax)
    ax.errorbar(
        curve["strength"],
        curve["scaled_risk"],
        1.96 * curve["standard_error"],
        fmt="o-" if join else "o",
        color=SIMULATED,
        ms=3,
        lw=1,
        capsize=2,
        label="Monte Carlo, 95%",
        zorder=2,
    )
    ax.plot(curve["strength"], curve["theory"], color=THEORY, ls=(0, (5, 2)), lw=1.8, label=theory, zorder=3)
    ax.set(title=title, xlabel=r"attenuation strength $\alpha$", xlim=(-0.02, 1.02))


def _draw_oracles(upper: Any, lower: Any, best: pd.DataFrame) -> None:
    upper.axhspan(0, 0.5, color=MASK_RANGE, lw=0, zorder=0)
    upper.plot(best["coupling"], best["theory_strength"], color=THEORY, lw=1.5, label="theory")
    upper.plot(
        best["coupling"], best["strength"], "o", color=SIMULATED, ms=4.5, mfc="white", label="Monte Carlo"
    )
    upper.set(title="(c) moving target", ylabel=r"best strength $\alpha$", ylim=(-0.05, 1.05))
    upper.tick_params(labelbottom=False)
    upper.legend(loc="upper right")
    lower.plot(best["coupling"], best["theory_reduction"], color=THEORY, lw=1.5)
    lower.errorbar(
        best["coupling"],
        best["reduction"],
        1.96 * best["reduction_error"],
        fmt="o",
        color=SIMULATED,
        mfc="white",
        ms=4.5,
        capsize=2,
    )
    lower.axhline(0, color="0.6", lw=0.8, zorder=0)
    lower.set(
        xlabel=r"target movement $\|P_*^\perp D\,P_*\|_F=\sin 4\phi$",
        ylabel="risk removed, %",
        ylim=(-8, 108),
        xlim=(-0.03, 1.03),
    )
