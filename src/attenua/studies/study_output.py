"""The files that a run of the fixed-budget study leaves, made from its stored results."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from attenua._data.files import write_whole
from attenua.studies.budget import ORACLE, RESULTS_FILE
from attenua.studies.comparison_figure import comparison_figure
from attenua.studies.published import STRENGTHS
from attenua.studies.simulations.figures import save_figure
from attenua.studies.store import read_results
from attenua.studies.summary import cap_table, gain_table, strength_table
from attenua.studies.tables import (
    Table,
    caps_table,
    interval_table,
    main_table,
    strengths_table,
    write_tables,
)


@dataclass(frozen=True)
class StudySummary:
    """Tables to show and the frames behind them.

    Attributes
    ----------
    tables : dict of str to Table
        By the names of their files.
    frames : dict of str to DataFrame
        Gains, strengths and caps, tidy.
    """

    tables: dict[str, Table]
    frames: dict[str, pd.DataFrame]


def summarise(folder: Path) -> StudySummary:
    """Summarise the stored results of a study."""
    results, settings = read_results(folder / RESULTS_FILE)
    methods = settings["methods"]
    gains = gain_table(results, methods)
    strengths = strength_table(results, [method for method in methods if method in (*STRENGTHS, ORACLE)])
    caps = cap_table(results)
    tables = {
        "main-comparison": main_table(gains),
        "gains-with-intervals": interval_table(gains),
        "chosen-strengths": strengths_table(strengths),
        "iteration-caps": caps_table(caps),
    }
    frames = {"gains": gains, "strengths": strengths, "caps": caps}
    return StudySummary(tables, frames)


def write_study(summary: StudySummary, folder: Path) -> list[Path]:
    """Write tables, frames and figure 3 beside the results, each file whole or not at all."""
    written = write_tables(folder, summary.tables, summary.frames)
    for ending, picture in save_figure(comparison_figure(summary.frames["gains"])).items():
        path = folder / f"figure-3-comparison.{ending}"
        write_whole(path, picture)
        written.append(path)
    return written
