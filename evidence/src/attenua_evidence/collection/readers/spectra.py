"""Spectra."""

from pathlib import Path

import numpy as np
import pandas as pd

from ..formats import averaged, numbers, numeric, r_object
from ..table import Table, codes


def tecator(root: Path) -> Table:
    """Read spectra of meat. Groups: the same water, fat and protein is taken to be the same meat."""
    contents = np.asarray(r_object(root, "endpoints", "tecator.RData"))
    meat = np.unique(contents, axis=0, return_inverse=True)[1]
    return Table(np.asarray(r_object(root, "absorp", "tecator.RData")), meat.ravel())


def mayonnaise(root: Path) -> Table:
    """Read spectra of mayonnaise. Groups: each sample was measured three times, one after the other."""
    data = r_object(root, "mayonnaise")
    spectra = np.asarray(data["NIR"])
    return Table(spectra[:, ::3], np.arange(len(spectra)) // 3, codes(data["oil.type"]))


def gasoline(root: Path) -> Table:
    """Read spectra of gasoline. The response is a number, so there are no classes."""
    return Table(np.asarray(r_object(root, "gasoline")["NIR"])[:, ::4])


def fruit(root: Path) -> Table:
    """Read spectra of melons. Labels: cultivars."""
    frame = r_object(root, "fruit", "fruit.rda")
    return Table(numeric(frame)[:, ::2], labels=codes(frame["cultivar"]))


def collagen(root: Path) -> Table:
    """Read infrared spectra of pixels, every second wavenumber. Labels: substances."""
    path = root / "orangecontrib/spectroscopy/datasets/collagen.csv"
    frame = pd.read_csv(path, skiprows=[1, 2])
    return Table(numbers(frame.iloc[:, 1::2]), labels=codes(frame["type"]))


def mixtures(root: Path) -> Table:
    """Read spectra of mixtures of three liquids, each mixture at five temperatures."""
    found = r_object(root, "nir", "nir.rda")
    mixture = [str(shares) for shares in np.round(np.asarray(found["composition"]), 3)]
    return Table(averaged(np.asarray(found["spectra"]), 2), codes(mixture), codes(found["temperature"]))


def munsell(root: Path) -> Table:
    """Read reflectances of chips every 5 nm; chips of one hue are a group, of one hue family a class."""
    folder = root / "luxpy/data/rfls"
    rows = np.loadtxt(folder / "Munsell1269.dat", delimiter=",")
    hues = pd.read_csv(folder / "Munsell1269NotationInfo.dat")["H"].astype(str)
    return Table(rows[::5, 1:].T, codes(hues), codes(hues.str.replace(r"[\d.]", "", regex=True)))
