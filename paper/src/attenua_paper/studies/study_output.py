"""The files that a run of the fixed-budget study leaves, made from its stored results."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from attenua._files import write_all_whole
from attenua_paper.studies.budget import RESULTS_FILE
from attenua_paper.studies.comparison_figure import comparison_figure
from attenua_paper.studies.simulations.figures import save_figure
from attenua_paper.studies.store import read_results
from attenua_paper.studies.study_methods import CORRECTED
from attenua_paper.studies.study_summary import (
    cap_table,
    correction_table,
    gain_table,
    seconds_table,
    step_table,
    strength_table,
)
from attenua_paper.studies.tables import (
    Table,
    caps_table,
    corrections_table,
    hindsight_table,
    interval_table,
    main_table,
    steps_table,
    strengths_table,
    table_files,
    time_table,
)

# Its strength is a formula's, not a choice among candidates.
_ESTIMATED = ("diagonal shrinkage",)


@dataclass(frozen=True)
class StudySummary:
    """Tables to show and the frames behind them.

    Attributes
    ----------
    tables : dict of str to Table
        By the names of their files.
    frames : dict of str to DataFrame
        Gains, strengths, corrections, steps, caps and seconds, tidy.
    """

    tables: dict[str, Table]
    frames: dict[str, pd.DataFrame]


def summarise(folder: Path) -> StudySummary:
    """Summarise the stored results of a study."""
    results, settings = read_results(folder / RESULTS_FILE)
    methods = settings["methods"]
    with_strength = set(results.loc[results["strength"].notna(), "method"]) - set(_ESTIMATED)
    corrected = [method for method in methods if method in CORRECTED]
    frames = {
        "gains": gain_table(results, methods),
        "strengths": strength_table(results, [method for method in methods if method in with_strength]),
        "corrections": correction_table(results, corrected),
        "steps": step_table(results, corrected),
        "caps": cap_table(results),
        "seconds": seconds_table(results, methods),
    }
    tables = {
        "main-comparison": main_table(frames["gains"]),
        "hindsight": hindsight_table(frames["gains"]),
        "gains-with-intervals": interval_table(frames["gains"]),
        "chosen-strengths": strengths_table(frames["strengths"]),
        "chosen-corrections": corrections_table(frames["corrections"]),
        "steps-taken": steps_table(frames["steps"]),
        "iteration-caps": caps_table(frames["caps"]),
        "seconds-of-a-fit": time_table(frames["seconds"]),
    }
    return StudySummary(tables, frames)


def write_study(summary: StudySummary, folder: Path) -> list[Path]:
    """Write tables, frames and figure 3 to a folder, all of them or none; return the files."""
    contents = table_files(folder, summary.tables, summary.frames)
    for ending, picture in save_figure(comparison_figure(summary.frames["gains"])).items():
        contents[folder / f"figure-3-comparison.{ending}"] = picture
    write_all_whole(contents, force=True, make_folders=True)
    return list(contents)
