"""The files that a run of the simulations leaves, and the simulations that they were made from."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import scipy

from attenua import __version__
from attenua_paper.studies.simulations.figures import (
    non_gaussian_figure,
    preserved_and_moving_figure,
    save_figure,
)
from attenua_paper.studies.simulations.mechanism_figure import overview_figure
from attenua_paper.studies.simulations.simulate import FILES, Settings, Simulations
from attenua_paper.studies.simulations.simulation_tables import simulation_tables
from attenua_paper.studies.study_output import csv_of, json_of, write_files

SETTINGS_FILE = "simulation-settings.json"


def write_simulations(simulations: Simulations, folder: Path) -> list[Path]:
    """Write all files, and return them."""
    versions = {"attenua": __version__, "numpy": np.__version__, "scipy": scipy.__version__}
    settings = {"seed": simulations.seed, **asdict(simulations.settings), "versions": versions}
    tables = simulation_tables(simulations).values()
    contents = {name: csv_of(frame) for name, frame in simulations.frames.items()}
    contents |= {
        SETTINGS_FILE: json_of(settings),
        "simulation-tables.md": "\n".join(table.to_markdown() for table in tables).encode(),
    }
    return write_files(folder, contents | figures_of(simulations))


def figures_of(simulations: Simulations) -> dict[str, bytes]:
    """Return figures 1, 2 and 4 by the names of their files."""
    figures = {
        "figure-1-overview": overview_figure(simulations.seed),
        "figure-2-targets": preserved_and_moving_figure(simulations),
        "figure-4-non-gaussian": non_gaussian_figure(simulations),
    }
    return {
        f"{name}.{ending}": picture
        for name, figure in figures.items()
        for ending, picture in save_figure(figure).items()
    }


def read_simulations(folder: Path) -> Simulations:
    """Return the simulations whose files are in a folder."""
    settings = json.loads((folder / SETTINGS_FILE).read_text())
    seed, _ = settings.pop("seed"), settings.pop("versions")
    settings["audit_sizes"] = tuple(settings["audit_sizes"])
    frames = {field: pd.read_csv(folder / name) for field, name in FILES.items()}
    return Simulations(Settings(**settings), seed, **frames)
