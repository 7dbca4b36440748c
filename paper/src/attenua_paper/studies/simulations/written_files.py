"""The files that a run of the simulations leaves: tables, the frames behind them, figures, settings."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import scipy

from attenua import __version__
from attenua._files import write_all_whole
from attenua_paper.studies.simulations.figures import (
    non_gaussian_figure,
    preserved_and_moving_figure,
    save_figure,
)
from attenua_paper.studies.simulations.mechanism_figure import overview_figure
from attenua_paper.studies.simulations.simulate import Simulations
from attenua_paper.studies.simulations.simulation_tables import simulation_tables
from attenua_paper.studies.tables import table_files


def write_simulations(simulations: Simulations, folder: Path) -> list[Path]:
    """Write all files or none, and return them."""
    contents = table_files(folder, simulation_tables(simulations), simulations.frames)
    figures = {
        "figure-1-overview": overview_figure(simulations.seed),
        "figure-2-targets": preserved_and_moving_figure(simulations),
        "figure-4-non-gaussian": non_gaussian_figure(simulations),
    }
    contents |= {
        folder / f"{name}.{ending}": picture
        for name, figure in figures.items()
        for ending, picture in save_figure(figure).items()
    }
    versions = {"attenua": __version__, "numpy": np.__version__, "scipy": scipy.__version__}
    settings = {"seed": simulations.seed, **asdict(simulations.settings), "versions": versions}
    contents[folder / "simulation-settings.json"] = (json.dumps(settings, indent=2) + "\n").encode()
    write_all_whole(contents, force=True, make_folders=True)
    return list(contents)
