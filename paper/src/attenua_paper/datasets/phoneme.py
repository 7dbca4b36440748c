"""Log-periodograms of five phonemes, from 325 training speakers and 112 test speakers."""

import csv
import io
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from attenua_paper.datasets.dataset import Dataset, load
from attenua_paper.datasets.raw import TextFile, WrongContent

FREQUENCIES = [f"x.{number}" for number in range(1, 257)]

DESCR = """\
Phoneme log-periodograms of The Elements of Statistical Learning

4,509 log-periodograms of length 256, each from one frame of read speech (TIMIT), of five phonemes: aa,
ao, dcl, iy, sh. 3,340 frames of 325 speakers are for training and 1,169 frames of 112 other speakers for
testing; the groups are the speakers. (The book's text says 50 speakers; the file has 437.) Not to be
confused with the data set "phoneme" of five attributes at KEEL and OpenML.

Source: https://hastie.su.domains/ElemStatLearn/ (phoneme.data; described in phoneme.info.txt)
Licence: none is stated there; the R package ElemStatLearn, which carries the same data, is GPL (>= 2).
The speech is TIMIT, of the Linguistic Data Consortium.
Citation: T. Hastie, A. Buja and R. Tibshirani (1995). Penalized Discriminant Analysis. Annals of
Statistics 23. T. Hastie, R. Tibshirani and J. Friedman. The Elements of Statistical Learning. Springer.
"""


def parse(files: Mapping[str, bytes]) -> dict[str, NDArray[Any]]:
    """Parse ``phoneme.data``: a header, then row name, 256 values, phoneme and speaker in each line."""
    header, *lines = csv.reader(io.StringIO(files["phoneme.data"].decode("ascii")))
    if header != ["row.names", *FREQUENCIES, "g", "speaker"]:
        raise WrongContent("phoneme.data does not begin with the header row.names,x.1,...,x.256,g,speaker")
    arrays = {}
    for split in ("train", "test"):
        rows = [line for line in lines if line[-1].startswith(f"{split}.")]
        arrays[f"X_{split}"] = np.array([row[1:257] for row in rows]).astype(np.float64)
        arrays[f"y_{split}"] = np.array([row[257] for row in rows], dtype="U3")
        arrays[f"speaker_{split}"] = np.array([row[258] for row in rows], dtype="U19")
        arrays[f"row_{split}"] = np.array([int(row[0]) for row in rows], dtype=np.int16)
    return arrays


PHONEME = Dataset(
    name="phoneme",
    page="https://hastie.su.domains/ElemStatLearn/",
    raw=(
        TextFile(
            "phoneme.data",
            (
                "https://hastie.su.domains/ElemStatLearn/datasets/phoneme.data",
                "https://web.stanford.edu/~hastie/ElemStatLearn/datasets/phoneme.data",
            ),
            "545fd472fbd60ab570425c0a0e0feecbb32c1da2ef260446cc6a5c8a444036bf",
        ),
    ),
    parse=parse,
    layout={
        f"{array}_{split}": form
        for array, form in {
            "X": ("float64", (256,)),
            "y": ("<U3", ()),
            "speaker": ("<U19", ()),
            "row": ("int16", ()),
        }.items()
        for split in ("train", "test")
    },
    digest="ca1f9dd687b13fa57735d395df4384fdeaff6d640619cca1063c918b3a3c01cb",
)


def fetch_phoneme(
    *, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True
) -> Bunch:
    """Load the phoneme data set (log-periodograms of speech), downloading it if necessary.

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

        X_train, X_test : ndarray of shape (3340, 256) and (1169, 256), float64
            Log-periodograms.
        target_train, target_test : ndarray of str
            Phonemes: aa, ao, dcl, iy, sh.
        groups_train, groups_test : ndarray of str
            Speakers, such as mcpm0. No speaker is in both parts.
        feature_names : list of str
            ``x.1`` to ``x.256``.
        target_names : list of str
            Names of the phonemes.
        DESCR : str
            Source, licence and citation.

    Raises
    ------
    DatasetNotAvailable
        If the data set is not available; the message says how to get it by hand.
    """
    arrays = load(PHONEME, data_home, download_if_missing)
    return Bunch(
        X_train=arrays["X_train"],
        X_test=arrays["X_test"],
        target_train=arrays["y_train"],
        target_test=arrays["y_test"],
        groups_train=_speakers(arrays["speaker_train"]),
        groups_test=_speakers(arrays["speaker_test"]),
        feature_names=list(FREQUENCIES),
        target_names=["aa", "ao", "dcl", "iy", "sh"],
        DESCR=DESCR,
    )


def _speakers(sources: NDArray[np.str_]) -> NDArray[np.str_]:
    # A source reads split.region.speaker.sentence, such as train.dr1.mcpm0.sa1.
    return np.array([source.split(".")[2] for source in sources])
