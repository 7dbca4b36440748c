"""Write docs/results.md and its pictures from what ``attenua-paper study`` and ``simulate`` wrote.

python paper/assemble_results.py attenua-study attenua-simulations
"""

import json
import shutil
import sys
from datetime import date
from pathlib import Path

import pandas as pd

from attenua_paper.studies.budget import RESULTS_FILE
from attenua_paper.studies.store import KEY, read_results, read_runs
from attenua_paper.studies.study_methods import HINDSIGHT, MASKED_TARGET

TEMPLATE = Path(__file__).with_name("results.template")
DOCS = Path(__file__).parents[1] / "docs"


def main(study: Path, simulations: Path) -> None:
    """Assemble the page."""
    results, settings = read_results(study / RESULTS_FILE)
    gains = pd.read_csv(study / "gains.csv")
    simulated = json.loads((simulations / "simulation-settings.json").read_text())
    table = {
        name: (study / f"{name}.md").read_text()
        for name in (
            "main-comparison",
            "hindsight",
            "gains-with-intervals",
            "chosen-strengths",
            "chosen-corrections",
            "steps-taken",
            "iteration-caps",
            "seconds-of-a-fit",
        )
    }
    versions = settings["versions"]
    page = TEMPLATE.read_text().format(
        date=date.today().isoformat(),
        seed=settings["seed"],
        simulation_seed=simulated["seed"],
        python=versions["python"],
        numpy=versions["numpy"],
        scipy=versions["scipy"],
        scikit_learn=versions["scikit-learn"],
        n_subsamples=f"{len(results.drop_duplicates(list(KEY))):,}",
        n_methods=len(set(settings["methods"]) - set(HINDSIGHT)),
        time=time_paragraph(results, read_runs(study / RESULTS_FILE)),
        main=table["main-comparison"],
        hindsight=table["hindsight"],
        overlap=overlap_paragraph(gains),
        worse=worse_clause(gains),
        intervals=table["gains-with-intervals"],
        strengths=table["chosen-strengths"],
        corrections=table["chosen-corrections"],
        steps=table["steps-taken"],
        caps=table["iteration-caps"],
        seconds=table["seconds-of-a-fit"],
        claims=(simulations / "simulation-claims.md").read_text(),
    )
    (DOCS / "results.md").write_text(page)
    for folder, name in (
        (study, "figure-3-comparison"),
        (simulations, "figure-1-overview"),
        (simulations, "figure-2-targets"),
        (simulations, "figure-4-non-gaussian"),
    ):
        shutil.copyfile(folder / f"{name}.png", DOCS / "images" / f"{name}.png")


def time_paragraph(results: pd.DataFrame, runs: pd.DataFrame) -> str:
    """Say how long the runs took, and what the masked-target rivals are of it."""
    told = "; ".join(
        f"{run.subsamples:,} subsamples in {run.seconds / 60:.0f} minutes on "
        f"{run.jobs} core{'' if run.jobs == 1 else 's'}"
        for run in runs[runs["subsamples"] > 0].itertuples()
    )
    is_masked = results["method"].isin(MASKED_TARGET)
    masked, others = (results.loc[chosen, "seconds"].sum() / 60 for chosen in (is_masked, ~is_masked))
    sentence = f"The study took: {told}. Its fits add up to {masked + others:.0f} minutes of one core"
    if not masked:
        return f"{sentence}, without the masked-target rivals."
    return (
        f"{sentence}: {masked:.0f} of the masked-target rivals, and {others:.0f} of everything else "
        f"(`--without-masked-target`), about {others / 2:.0f} minutes if two cores share it evenly."
    )


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
