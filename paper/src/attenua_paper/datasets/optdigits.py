"""Handwritten digits: 8 x 8 images, written by 30 people for training and 13 others for testing."""

import io
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from attenua_paper.datasets.dataset import Dataset, load
from attenua_paper.datasets.raw import TextFile

_ADDRESS = "https://archive.ics.uci.edu/ml/machine-learning-databases/optdigits/"

DESCR = """\
Optical Recognition of Handwritten Digits (Optdigits)

3,823 training and 1,797 test images of 8 x 8 pixels, row by row; each pixel counts 0 to 16 dots. The
training digits were written by 30 people and the test digits by 13 others; who wrote which digit is not
in the files, so there are no groups. The test part is what sklearn.datasets.load_digits returns.

Source: https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits
DOI: 10.24432/C50P49
Licence: CC BY 4.0 as far as we know; the source page decides.
Citation: E. Alpaydin and C. Kaynak (1998). Optical Recognition of Handwritten Digits. UCI Machine
Learning Repository.
"""


def parse(files: Mapping[str, bytes]) -> dict[str, NDArray[Any]]:
    """Parse ``optdigits.tra`` and ``optdigits.tes``: 64 pixels and the digit in each line."""
    arrays = {}
    for split, name in (("train", "optdigits.tra"), ("test", "optdigits.tes")):
        table = np.loadtxt(io.BytesIO(files[name]), delimiter=",", dtype=np.uint8, ndmin=2)
        arrays[split] = table[:, :-1]
        arrays[f"{split}_labels"] = table[:, -1]
    return arrays


OPTDIGITS = Dataset(
    name="optdigits",
    page="https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
    raw=(
        TextFile(
            "optdigits.tra",
            (_ADDRESS + "optdigits.tra",),
            "e1b683cc211604fe8fd8c4417e6a69f31380e0c61d4af22e93cc21e9257ffedd",
        ),
        TextFile(
            "optdigits.tes",
            (_ADDRESS + "optdigits.tes",),
            "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8",
        ),
    ),
    parse=parse,
    layout={
        "train": ("uint8", (64,)),
        "train_labels": ("uint8", ()),
        "test": ("uint8", (64,)),
        "test_labels": ("uint8", ()),
    },
    digest="d056eb92bf1939636d0dd9f6f3b97165c0d378fce1b5573175fc59726bb5d499",
)


def fetch_optdigits(
    *, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True
) -> Bunch:
    """Load the Optdigits data set (classification of handwritten digits), downloading it if necessary.

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

        X_train, X_test : ndarray of shape (3823, 64) and (1797, 64), float64
            Pixel counts from 0 to 16.
        target_train, target_test : ndarray of int
            Digits 0 to 9.
        groups_train, groups_test : None
            The files do not say who wrote a digit.
        feature_names : list of str
            ``pixel_<row>_<column>``.
        target_names : list of str
            The digits as text.
        DESCR : str
            Source, licence and citation.

    Raises
    ------
    DatasetNotAvailable
        If the data set is not available; the message says how to get it by hand.
    """
    arrays = load(OPTDIGITS, data_home, download_if_missing)
    return Bunch(
        X_train=arrays["train"].astype(np.float64),
        X_test=arrays["test"].astype(np.float64),
        target_train=arrays["train_labels"].astype(np.int64),
        target_test=arrays["test_labels"].astype(np.int64),
        groups_train=None,
        groups_test=None,
        feature_names=[f"pixel_{row}_{column}" for row in range(8) for column in range(8)],
        target_names=[str(digit) for digit in range(10)],
        DESCR=DESCR,
    )
