"""Write docs/results.md and its pictures from what ``attenua study`` and ``attenua simulate`` leave.

python docs/assemble_results.py attenua-study attenua-simulations
"""

import json
import shutil
import sys
from datetime import date
from pathlib import Path

import pandas as pd

from attenua.studies.budget import RESULTS_FILE
from attenua.studies.real_data import TITLES
from attenua.studies.store import read_results

DOCS = Path(__file__).parent


def main(study: Path, simulations: Path) -> None:
    """Assemble the page."""
    _, settings = read_results(study / RESULTS_FILE)
    gains = pd.read_csv(study / "gains.csv")
    simulated = json.loads((simulations / "simulation-settings.json").read_text())
    table = {
        name: (study / f"{name}.md").read_text()
        for name in (
            "main-comparison",
            "two-against-one",
            "gains-with-intervals",
            "chosen-strengths",
            "iteration-caps",
        )
    }
    versions = settings["versions"]
    page = (
        (DOCS / "results.template")
        .read_text()
        .format(
            date=date.today().isoformat(),
            seed=settings["seed"],
            simulation_seed=simulated["seed"],
            python=versions["python"],
            numpy=versions["numpy"],
            scipy=versions["scipy"],
            scikit_learn=versions["scikit-learn"],
            main=table["main-comparison"],
            overlap=overlap_paragraph(gains),
            worse=worse_clause(gains),
            two=table["two-against-one"],
            targets=targets_list(pd.read_csv(study / "differences.csv")),
            repeats=repeats_clause(settings["n_repeats"]),
            intervals=table["gains-with-intervals"],
            strengths=table["chosen-strengths"],
            caps=table["iteration-caps"],
            claims=(simulations / "simulation-claims.md").read_text(),
        )
    )
    (DOCS / "results.md").write_text(page)
    for folder, name in (
        (study, "figure-3-comparison"),
        (simulations, "figure-1-overview"),
        (simulations, "figure-2-targets"),
        (simulations, "figure-4-non-gaussian"),
    ):
        shutil.copyfile(folder / f"{name}.png", DOCS / "images" / f"{name}.png")


def overlap_paragraph(gains: pd.DataFrame) -> str:
    """Say in which cells our interval and the paper's do not overlap."""
    published = gains[gains["paper_gain"].notna()]
    apart = published[~published["overlaps"].astype(bool)]
    pairs = "pairs of a method and a cell, our 95% interval and the paper's overlap."
    if apart.empty:
        return f"In all {len(published)} {pairs}"
    names = "; ".join(
        f"{row.method} on {row.data} at N = {row.budget} "
        f"(ours {row.gain:.2f} [{row.low:.2f}, {row.high:.2f}], "
        f"paper {row.paper_gain:.2f} [{row.paper_low:.2f}, {row.paper_high:.2f}])"
        for row in apart.itertuples()
    )
    return (
        f"In {len(published) - len(apart)} of {len(published)} {pairs} They do not for {names}. "
        "Both sides draw their subsamples at random, so a few disjoint intervals among so many are to be "
        "expected; nothing was adjusted."
    )


def worse_clause(gains: pd.DataFrame) -> str:
    """Say in how many cells each of the two has a mean below PCA's."""
    parts = []
    for method in ("factor analysis", "diagonal shrinkage"):
        cells = gains[gains["method"] == method]
        below, clearly = (cells["gain"] < 0).sum(), (cells["high"] < 0).sum()
        parts.append(f"{method} has a mean below PCA in {below} (with an interval below zero in {clearly})")
    return " and ".join(parts)


def targets_list(differences: pd.DataFrame) -> str:
    """Answer, method by method, what two strengths were to reach."""
    lines = []
    for method, cells in differences.groupby("method", sort=False):
        har = cells[cells["data"] == "har"]
        ratios = " and ".join(
            f"{row.gain / row.baseline_gain:.2f} at N = {row.budget}" for row in har.itertuples()
        )
        lines.append(
            f"- *{method}*: the interval of the difference to direct attenuation lies above zero in "
            f"{_count(cells, cells['low'] > 0)}; the mean lies above the best strength in hindsight in "
            f"{_count(cells, cells['oracle_difference'] > 0)}; on HAR it removes {ratios} times what direct "
            "attenuation does."
        )
    return "\n".join(lines)


def _count(cells: pd.DataFrame, reached: pd.Series) -> str:
    missed = ", ".join(f"{row.data} at N = {row.budget}" for row in cells[~reached].itertuples())
    return f"{reached.sum()} of {len(cells)} cells" + (f" (not in {missed})" if missed else "")


def repeats_clause(n_repeats: dict[str, int]) -> str:
    """Say how often folds are repeated on each data set."""
    return ", ".join(f"{count} times on {TITLES[name]}" for name, count in n_repeats.items())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
