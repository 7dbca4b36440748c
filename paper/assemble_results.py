"""Write docs/results.md and its pictures from the files in paper/results.

python paper/assemble_results.py
python paper/assemble_results.py attenua-study attenua-study-1 attenua-study-2 attenua-simulations

With folders that ``attenua-paper study`` and ``simulate`` wrote, take the files from there first: of the
study that the page is about, of the same study with other seeds, and of the simulations.
"""

import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from attenua_paper.studies.comparison import compare_simulations, compare_study
from attenua_paper.studies.published import DATA, GAINS
from attenua_paper.studies.simulations.simulate import FILES, Simulations
from attenua_paper.studies.simulations.simulation_tables import simulation_tables
from attenua_paper.studies.simulations.written_files import SETTINGS_FILE, figures_of, read_simulations
from attenua_paper.studies.study_methods import HINDSIGHT, in_order
from attenua_paper.studies.study_output import STUDY_FILE, STUDY_SETTINGS, csv_of, figure_of
from attenua_paper.studies.tables import Table, described, seeds_tables, study_tables, values_of

PAPER = Path(__file__).parent
RESULTS = PAPER / "results"
DOCS = PAPER.parent / "docs"
PARTS = {
    "gain": "Mean gains (tables 1 to 3)",
    "strength": "Mean chosen strengths (table 4)",
    "fallback_percent": "Fallbacks to PCA (table 4)",
    "text": "Text on the study",
    "simulations": "Text on the simulations",
}


def main(folders: list[Path]) -> None:
    """Take the files of new runs, if any, and write the page and its pictures."""
    if folders:
        take(folders[:-1], folders[-1], RESULTS)
    study, settings, simulations = read(RESULTS)
    (DOCS / "results.md").write_text(page(study, settings, simulations), encoding="utf-8")
    pictures = figure_of(first_seed(study)) | figures_of(simulations)
    for name, picture in pictures.items():
        if name.endswith(".png"):
            (DOCS / "images" / name).write_bytes(picture)


def take(studies: list[Path], simulations: Path, results: Path) -> None:
    """Copy the files of runs; the studies become one, the first first."""
    results.mkdir(exist_ok=True)
    seeds = [pd.read_csv(folder / STUDY_FILE) for folder in studies]
    (results / STUDY_FILE).write_bytes(csv_of(pd.concat(seeds)))
    shutil.copy(studies[0] / STUDY_SETTINGS, results)
    for name in (*FILES.values(), SETTINGS_FILE):
        shutil.copy(simulations / name, results)


def read(results: Path) -> tuple[pd.DataFrame, dict[str, Any], Simulations]:
    """Return the study with all its seeds, its settings, and the simulations."""
    settings = json.loads((results / STUDY_SETTINGS).read_text())
    return pd.read_csv(results / STUDY_FILE), settings, read_simulations(results)


def first_seed(study: pd.DataFrame) -> pd.DataFrame:
    """Return the study that the page is about."""
    return study[study["seed"] == study["seed"].iloc[0]]


def page(study: pd.DataFrame, settings: dict[str, Any], simulations: Simulations) -> str:
    """Return the page of results; a table that the files do not give is said to be missing."""
    main_study = first_seed(study)
    in_study, in_simulations = compare_study(main_study), compare_simulations(simulations.claims)
    compared = pd.concat([in_study, in_simulations])
    seconds = values_of(main_study, "seconds")
    tables = study_tables(main_study, in_study) | simulation_tables(simulations)
    tables |= {"verdicts": verdict_table(compared), **seeds_tables(study)}
    fields = {
        **{name: table.to_markdown() for name, table in tables.items()},
        **settings["versions"],
        "commands": "".join(study_commands(study)),
        "simulation_seed": simulations.seed,
        "minutes": f"{(seconds['value'] * seconds['n']).sum() / 60:.0f}",
        "overlap": overlap_sentence(compared[compared["part"] == "gain"]),
        "differing": differing(compared),
    }
    template = (PAPER / "results.template").read_text(encoding="utf-8")
    return template.format_map(defaultdict(lambda: "*Not in the files.*", fields))


def study_commands(study: pd.DataFrame) -> Iterator[str]:
    """Yield the commands that gave the seeds of the study, and what they measured."""
    for seed, part in study.groupby("seed", sort=False):
        names, methods = part["data"].unique(), set(part["method"]) - set(HINDSIGHT)
        options = " --paper-only" if methods <= GAINS.keys() else ""
        if len(names) < len(DATA):
            options += "".join(f" --data {name}" for name in names)
        n = values_of(part, "gain").groupby(["data", "budget"])["n"].first().sum()
        words = f"{len(methods)} methods" if methods >= GAINS.keys() else f"of {', '.join(in_order(methods))}"
        yield f"    attenua-paper study{options} --seed {seed}   # {n:,} subsamples, {words}\n"


def verdict_table(compared: pd.DataFrame) -> Table:
    """Count what agrees and what differs, by what it is."""
    rows = []
    for part, words in PARTS.items():
        chosen = compared[compared["part"] == part]
        verdicts = [(chosen["verdict"] == verdict).sum() for verdict in ("same", "agree", "differ")]
        spread = (chosen.loc[chosen["verdict"] != "same", "apart"] ** 2).mean() ** 0.5
        rows.append((words, *map(str, (len(chosen), *verdicts)), f"{spread:.2f}"))
    heading = ("", "compared", "same", "agree", "differ", "standard errors apart, root mean square")
    return Table("The numbers that the paper prints, and ours", heading, rows)


def overlap_sentence(gains: pd.DataFrame) -> str:
    """Say of how many mean gains the intervals overlap, apart from those that cannot differ."""
    free = gains[gains["verdict"] != "same"]
    reach = 1.96 * (free["error"] + free["paper_error"])
    overlapping = ((free["ours"] - free["paper"]).abs() <= reach).sum()
    return (
        f"Of the {len(gains)} mean gains, {len(gains) - len(free)} are 0 in every fit of both; of the other "
        f"{len(free)}, the 95% intervals overlap in {overlapping}."
    )


def differing(compared: pd.DataFrame) -> str:
    """List what differs."""
    return "".join(
        f"- {described(row)}: paper {row['paper']:.4g}, ours {row['ours']:.4g}, {row['apart']:+.1f} apart.\n"
        for _, row in compared[compared["verdict"] == "differ"].iterrows()
    )


if __name__ == "__main__":
    main([Path(folder) for folder in sys.argv[1:]])
