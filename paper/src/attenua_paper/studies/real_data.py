"""The data sets of the fixed-budget study, in the form that the study compares methods on."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua_paper.datasets import fetch_har, fetch_optdigits, fetch_phoneme
from attenua_paper.studies.patches import draw_patches

Array = NDArray[np.float64]

TITLES = {"optdigits": "Optdigits patches", "phoneme": "Phoneme", "har": "HAR"}
# Patch locations are drawn again for each of ten versions of Optdigits; the others have one version.
N_VERSIONS = {"optdigits": 10, "phoneme": 1, "har": 1}


@dataclass(frozen=True)
class StudyData:
    """Training and test rows with the rank and the groupings that the paper sets.

    Attributes
    ----------
    X_train, X_test : ndarray
        Official split.
    row_groups : ndarray or None
        Speaker or subject of every training row; kept whole in one fold.
    rank : int
        Number of components.
    column_groups : ndarray
        Label of every column, for block masks.
    neighbours : None or "line"
        Which columns are neighbours: the frequencies of Phoneme and the readings of HAR lie on a line.
    """

    X_train: Array
    X_test: Array
    row_groups: NDArray[Any] | None
    rank: int
    column_groups: NDArray[np.intp]
    neighbours: str | None = None


@lru_cache(maxsize=16)
def study_data(name: str, version: int, seed: int, data_home: str | None = None) -> StudyData:
    """Return one version of a data set of the study.

    Parameters
    ----------
    name : {"optdigits", "phoneme", "har"}
        Data set.
    version : int
        Which draw of patch locations (Optdigits only).
    seed : int
        Seed of the study.
    data_home : str, optional
        Folder of the data sets.
    """
    if name == "optdigits":
        raw = fetch_optdigits(data_home=data_home)
        # One image, one patch: training and test locations come from one stream per version.
        random = np.random.default_rng([seed, version])
        train, test = (draw_patches(X.reshape(-1, 8, 8), random) for X in (raw.X_train, raw.X_test))
        return _study_data(train, test, None, rank=2, group_width=3)
    if name == "phoneme":
        raw = fetch_phoneme(data_home=data_home)
        return _study_data(
            raw.X_train, raw.X_test, raw.groups_train, rank=8, group_width=16, neighbours="line"
        )
    raw = fetch_har(data_home=data_home)
    return _study_data(raw.X_train, raw.X_test, raw.groups_train, rank=16, group_width=8, neighbours="line")


def _study_data(
    train: Array,
    test: Array,
    row_groups: NDArray[Any] | None,
    *,
    rank: int,
    group_width: int,
    neighbours: str | None = None,
) -> StudyData:
    column_groups = np.arange(train.shape[1]) // group_width
    return StudyData(
        np.ascontiguousarray(train, dtype=float),
        np.ascontiguousarray(test, dtype=float),
        row_groups,
        rank,
        column_groups,
        neighbours,
    )
