"""A data set as a record, and the way from that record to arrays: cache, raw files, net."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pooch
from numpy.typing import NDArray

from attenua_paper.datasets import cache
from attenua_paper.datasets.download import DatasetNotAvailable, from_folder, from_net
from attenua_paper.datasets.raw import TextFile, ZipArchive

VARIABLE = "ATTENUA_DATA"


def data_home(path: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds the data sets, without creating it.

    Parameters
    ----------
    path : path-like or None
        The folder. None takes the environment variable ``ATTENUA_DATA`` or, if that is not set or
        empty, the cache folder of the platform.

    Returns
    -------
    pathlib.Path
        The folder, with ``~`` expanded.

    Examples
    --------
    >>> from attenua_paper.datasets import data_home
    >>> data_home("some/folder").name
    'folder'
    """
    named = path if path is not None else os.environ.get(VARIABLE)
    if named is not None and os.fspath(named):
        return Path(named).expanduser()
    return Path(pooch.os_cache("attenua"))


@dataclass(frozen=True)
class Dataset:
    """A data set: where it comes from and how it is checked, read and stored.

    Parameters
    ----------
    name : str
        The cache file is ``<name>.npz``.
    page : str
        Address of the page that describes the data set.
    raw : tuple of TextFile or ZipArchive
        The files as published.
    parse : callable
        From the checked raw files, by name, to the arrays of the cache file.
    layout : mapping
        Names, types and row shapes of those arrays.
    digest : str
        `cache.digest` of the published data set.
    """

    name: str
    page: str
    raw: tuple[TextFile | ZipArchive, ...]
    parse: Callable[[Mapping[str, bytes]], dict[str, NDArray[Any]]]
    layout: cache.Layout
    digest: str

    def path(self, home: Path) -> Path:
        """Return the path of the cache file in a data folder."""
        return home / f"{self.name}.npz"


def load(
    dataset: Dataset, home: str | os.PathLike[str] | None, download_if_missing: bool
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a data set, from the cache file or, once, from the raw files.

    Raises
    ------
    DatasetNotAvailable
        If the data set is not there and cannot be made, or its cache file is damaged.

    Warns
    -----
    UserWarning
        If the cache file has the right form but not the published values.
    """
    folder = data_home(home)
    path = dataset.path(folder)
    if not path.exists():
        return _make(dataset, folder, download_if_missing)
    try:
        arrays = cache.read(path, dataset.layout)
    except ValueError as error:
        raise DatasetNotAvailable(
            f"The cache file {path} cannot be used: {error}.\n"
            f"Delete it and call fetch_{dataset.name} again to rebuild it, or put a good copy there."
        ) from error
    if cache.digest(arrays) != dataset.digest:
        warnings.warn(f"{path} does not hold the published values of {dataset.name}.", stacklevel=3)
    return arrays


def _make(dataset: Dataset, folder: Path, download_if_missing: bool) -> dict[str, NDArray[Any]]:
    files: dict[str, bytes] = {}
    missing = []
    # Everything in the folder is looked at first: a wrong file there should be told before a download.
    for raw in dataset.raw:
        found = from_folder(raw, folder)
        if found is None:
            missing.append(raw)
        else:
            files |= found
    if missing and not download_if_missing:
        raise _not_available(dataset, folder, missing, "download_if_missing is False")
    for raw in missing:
        try:
            files |= from_net(raw)
        except DatasetNotAvailable as error:
            raise _not_available(dataset, folder, missing, str(error)) from error
    arrays = dataset.parse(files)
    cache.check_layout(arrays, dataset.layout)
    try:
        cache.write(dataset.path(folder), arrays)
    except OSError as error:
        raise DatasetNotAvailable(
            f"The data folder {folder} cannot be written: {error}.\n"
            f"Name another one by data_home or the environment variable {VARIABLE}."
        ) from error
    return arrays


def _not_available(
    dataset: Dataset, folder: Path, missing: list[TextFile | ZipArchive], reason: str
) -> DatasetNotAvailable:
    return DatasetNotAvailable("\n".join(_instructions(dataset, folder, missing, reason)))


def _instructions(
    dataset: Dataset, folder: Path, missing: list[TextFile | ZipArchive], reason: str
) -> Iterator[str]:
    yield f"The data set {dataset.name!r} is not in {folder} and was not downloaded:"
    yield from (f"  {line}" for line in reason.splitlines())
    yield "To get it by hand:"
    for raw in missing:
        yield f"  download  {raw.name}"
        yield from (f"  from      {address}" for address in raw.addresses)
        yield from (f"  sha256    {sha256}  {name}" for name, sha256 in raw.expected())
        yield f"  save as   {folder / raw.name}"
    yield "A file put there is checked and read at the next call."
    yield f"The data set is described at {dataset.page}"
    yield (
        f"If you have {dataset.name}.npz already, put it into that folder, or name its folder by data_home "
        f"or the environment variable {VARIABLE}."
    )
