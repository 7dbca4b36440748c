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


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
