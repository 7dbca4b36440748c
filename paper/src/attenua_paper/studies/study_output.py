"""The files that a run of the fixed-budget study leaves, made from its stored results."""

import json
from pathlib import Path

import pandas as pd

from attenua._files import write_whole
from attenua_paper.studies.budget import RESULTS_FILE
from attenua_paper.studies.comparison import compare_study
from attenua_paper.studies.comparison_figure import comparison_figure
from attenua_paper.studies.simulations.figures import save_figure
from attenua_paper.studies.store import read_results
from attenua_paper.studies.study_summary import summary_table
from attenua_paper.studies.tables import Table, study_tables

STUDY_FILE = "study.csv"
STUDY_SETTINGS = "study-settings.json"
# Far below every standard error.
DIGITS = "%.6g"


def write_study(folder: Path) -> tuple[dict[str, Table], list[Path]]:
    """Summarise the stored results of a study in files next to them.

    Returns
    -------
    tables : dict of str to Table
        What to show.
    files : list of Path
        The summary, the settings, the tables and figure 3.
    """
    results, settings = read_results(folder / RESULTS_FILE)
    study = summary_table(results, settings)
    tables = study_tables(study, compare_study(study))
    contents = {
        STUDY_FILE: csv_of(study),
        STUDY_SETTINGS: json_of(settings),
        "study-tables.md": "\n".join(table.to_markdown() for table in tables.values()).encode(),
    }
    return tables, write_files(folder, contents | figure_of(study))


def figure_of(study: pd.DataFrame) -> dict[str, bytes]:
    """Return figure 3 by the names of its files."""
    pictures = save_figure(comparison_figure(study))
    return {f"figure-3-comparison.{ending}": picture for ending, picture in pictures.items()}


def csv_of(frame: pd.DataFrame) -> bytes:
    """Return a frame as a small file."""
    return frame.to_csv(index=False, float_format=DIGITS).encode()


def json_of(settings: dict[str, object]) -> bytes:
    """Return settings as a file."""
    return (json.dumps(settings, indent=2) + "\n").encode()


def write_files(folder: Path, contents: dict[str, bytes]) -> list[Path]:
    """Write files by their names, each of them whole, and return them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        write_whole(folder / name, content)
    return [folder / name for name in contents]
