"""Which data sets are here, and whether they are the published ones."""

import os
from dataclasses import dataclass
from pathlib import Path

from attenua_paper.datasets import cache
from attenua_paper.datasets.dataset import data_home as resolve_home
from attenua_paper.datasets.har import HAR
from attenua_paper.datasets.optdigits import OPTDIGITS
from attenua_paper.datasets.phoneme import PHONEME

DATASETS = (OPTDIGITS, PHONEME, HAR)


@dataclass(frozen=True)
class DatasetStatus:
    """The state of one data set in a data folder.

    Parameters
    ----------
    name : str
        ``fetch_<name>`` loads it.
    path : pathlib.Path
        Where its cache file is, or would be.
    present : bool
        Whether that file exists.
    n_bytes : int
        Size of the file, 0 if it does not exist.
    checked : bool
        Whether the file was read and holds exactly the published values.
    problem : str
        What is wrong with a file that is present and not `checked`; else empty.
    page : str
        Address of the page that describes the data set.
    """

    name: str
    path: Path
    present: bool
    n_bytes: int
    checked: bool
    problem: str
    page: str


def status(data_home: str | os.PathLike[str] | None = None) -> list[DatasetStatus]:
    """Look at the cache file of every data set; nothing is downloaded.

    Parameters
    ----------
    data_home : path-like or None, default=None
        Folder of the data sets. None takes the environment variable ``ATTENUA_DATA``, else the cache
        folder of the platform.

    Returns
    -------
    list of DatasetStatus
        One record for each data set.

    Examples
    --------
    >>> from attenua_paper.datasets import status
    >>> [item.name for item in status("no-such-folder")]
    ['optdigits', 'phoneme', 'har']
    """
    home = resolve_home(data_home)
    records = []
    for dataset in DATASETS:
        path = dataset.path(home)
        present = path.exists()
        problem = ""
        if present:
            try:
                if cache.digest(cache.read(path, dataset.layout)) != dataset.digest:
                    problem = "it does not hold the published values"
            except ValueError as error:
                problem = str(error)
        records.append(
            DatasetStatus(
                name=dataset.name,
                path=path,
                present=present,
                n_bytes=path.stat().st_size if present else 0,
                checked=present and not problem,
                problem=problem,
                page=dataset.page,
            )
        )
    return records
