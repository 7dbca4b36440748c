"""Accelerometer windows of people who walk, sit, stand and lie, from 21 training and 9 test subjects."""

import io
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from attenua_paper.datasets.dataset import Dataset, load
from attenua_paper.datasets.raw import Member, ZipArchive

ACTIVITIES = ["WALKING", "WALKING_UPSTAIRS", "WALKING_DOWNSTAIRS", "SITTING", "STANDING", "LAYING"]

DESCR = """\
Human Activity Recognition Using Smartphones, version 1.0: total acceleration

10,299 windows of 128 readings (2.56 s at 50 Hz) of the acceleration, gravity included, of a smartphone at
the waist, in units of g. X is the magnitude sqrt(x^2 + y^2 + z^2) of each reading; total_acc holds the
three axes. 7,352 windows of 21 subjects are for training and 2,947 windows of 9 other subjects for
testing; the groups are the subjects. Consecutive windows overlap by half, so rows must be split by
subject. The activities are coded 1 to 6 in the order of target_names.

Source: https://archive.ics.uci.edu/dataset/240/human+activity+recognition+using+smartphones
DOI: 10.24432/C54S4K
Licence: CC BY 4.0 as far as we know; the source page decides. The README inside the archive gives the
data as they are, asks for the citation, and prohibits commercial use.
Citation: D. Anguita, A. Ghio, L. Oneto, X. Parra and J. L. Reyes-Ortiz (2012). Human Activity Recognition
on Smartphones using a Multiclass Hardware-Friendly Support Vector Machine. IWAAL 2012. By the same
authors (2013): A Public Domain Dataset for Human Activity Recognition Using Smartphones. ESANN 2013.
"""


def parse(files: Mapping[str, bytes]) -> dict[str, NDArray[Any]]:
    """Parse the axes (a line of 128 numbers for each window), the subjects and the activities."""
    arrays = {}
    for split in ("train", "test"):
        axes = [
            np.loadtxt(io.BytesIO(files[f"{split}/Inertial Signals/total_acc_{axis}_{split}.txt"]), ndmin=2)
            for axis in "xyz"
        ]
        # By way of float64, as the cache format documents: one rounding from text, one to float32.
        arrays[f"total_acc_{split}"] = np.stack(axes, axis=-1).astype(np.float32)
        for name in ("subject", "y"):
            content = io.BytesIO(files[f"{split}/{name}_{split}.txt"])
            arrays[f"{name}_{split}"] = np.loadtxt(content, dtype=np.uint8, ndmin=1)
    return arrays


HAR = Dataset(
    name="har",
    page="https://archive.ics.uci.edu/dataset/240/human+activity+recognition+using+smartphones",
    raw=(
        ZipArchive(
            name="UCI HAR Dataset.zip",
            addresses=(
                "https://archive.ics.uci.edu/ml/machine-learning-databases/00240/UCI%20HAR%20Dataset.zip",
            ),
            root="UCI HAR Dataset/",
            members=(
                Member(
                    "train/Inertial Signals/total_acc_x_train.txt",
                    15_071_600,
                    "41a7fe1da7b529cc6c2c3d7df97c98752bea74d7a142673dd59c7820fad3b5e6",
                ),
                Member(
                    "train/Inertial Signals/total_acc_y_train.txt",
                    15_071_600,
                    "03bd3a80c0c04bf354597ad62920158b4b6605e157d856a1aab9abb357d40c5d",
                ),
                Member(
                    "train/Inertial Signals/total_acc_z_train.txt",
                    15_071_600,
                    "5be3b593f88d49bb8f740c1c41379fc928ea8608d706594ebbba81cd800a5a33",
                ),
                Member(
                    "test/Inertial Signals/total_acc_x_test.txt",
                    6_041_350,
                    "ea71c339c828561bc1dc6f7301a54aeb7e61e6312cb2387ebaea832ffd04203d",
                ),
                Member(
                    "test/Inertial Signals/total_acc_y_test.txt",
                    6_041_350,
                    "32692c617b40c16e020bf059a316bd6bf3a63d771f030dfc5fa4003f390b6f67",
                ),
                Member(
                    "test/Inertial Signals/total_acc_z_test.txt",
                    6_041_350,
                    "622ddf1d9532fbe340472074ef1edd1a2f58aa332682542bb36a8c03c9ba9e04",
                ),
                Member(
                    "train/subject_train.txt",
                    20_152,
                    "66e1e2fbe9b396fa5155f531dc3348c803f503be663e2318772d49947db9153a",
                ),
                Member(
                    "test/subject_test.txt",
                    7_934,
                    "63b8c577f4a85431c06bd87f6384608c90a9f72f05c7956dd21255dc63515c07",
                ),
                Member(
                    "train/y_train.txt",
                    14_704,
                    "415b3357e2e2d5e70a45c781947c6bdd80e0410a579d862eedcd6bbce3c694ef",
                ),
                Member(
                    "test/y_test.txt",
                    5_894,
                    "2a94cb53ca46b956c1b2aebd4a09a72badd8a8e9ea9cdfe9f31b3306a08666bb",
                ),
            ),
        ),
    ),
    parse=parse,
    layout={
        f"{array}_{split}": form
        for array, form in {
            "total_acc": ("float32", (128, 3)),
            "subject": ("uint8", ()),
            "y": ("uint8", ()),
        }.items()
        for split in ("train", "test")
    },
    digest="bf2a32dad406aa039511d7d502ae0b9038548bb36fe23b916aa75768c019a068",
)


def fetch_har(*, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True) -> Bunch:
    """Load the smartphone activity data set (acceleration magnitudes), downloading it if necessary.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Folder of the data sets. None takes the environment variable ``ATTENUA_DATA``, else the cache
        folder of the platform.
    download_if_missing : bool, default=True
        If False, raise an error instead of downloading.

    Returns
    -------
    sklearn.utils.Bunch
        With the attributes

        X_train, X_test : ndarray of shape (7352, 128) and (2947, 128), float64
            Magnitude of the acceleration at each of the 128 readings of a window, in g.
        total_acc_train, total_acc_test : ndarray of shape (7352, 128, 3) and (2947, 128, 3), float32
            The axes x, y, z of the acceleration.
        target_train, target_test : ndarray of int
            Activities 1 to 6; ``target_names[target - 1]`` is the name.
        groups_train, groups_test : ndarray of int
            Subjects 1 to 30. No subject is in both parts.
        feature_names : list of str
            ``magnitude_0`` to ``magnitude_127``.
        target_names : list of str
            Names of the activities.
        DESCR : str
            Source, licence and citation.

    Raises
    ------
    DatasetNotAvailable
        If the data set is not available; the message says how to get it by hand.
    """
    arrays = load(HAR, data_home, download_if_missing)
    return Bunch(
        X_train=_magnitude(arrays["total_acc_train"]),
        X_test=_magnitude(arrays["total_acc_test"]),
        total_acc_train=arrays["total_acc_train"],
        total_acc_test=arrays["total_acc_test"],
        target_train=arrays["y_train"].astype(np.int64),
        target_test=arrays["y_test"].astype(np.int64),
        groups_train=arrays["subject_train"].astype(np.int64),
        groups_test=arrays["subject_test"].astype(np.int64),
        feature_names=[f"magnitude_{reading}" for reading in range(128)],
        target_names=list(ACTIVITIES),
        DESCR=DESCR,
    )


def _magnitude(total_acc: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.sqrt(np.square(total_acc.astype(np.float64)).sum(axis=-1))
