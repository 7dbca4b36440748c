"""The folder that holds the data sets."""

import os
from pathlib import Path

from attenua._extras import how_to_install
from attenua.datasets.errors import DatasetNotAvailable

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

    Raises
    ------
    DatasetNotAvailable
        If no folder is named and pooch, which knows the platform's cache folder, is not installed.

    Examples
    --------
    >>> from attenua.datasets import data_home
    >>> data_home("some/folder").name
    'folder'
    """
    named = path if path is not None else os.environ.get(VARIABLE)
    if named is not None and os.fspath(named):
        return Path(named).expanduser()
    try:
        import pooch
    except ImportError as error:
        raise DatasetNotAvailable(
            f"No data folder is named. Give data_home, or set the environment variable {VARIABLE}. "
            f"To use the platform's cache folder: {how_to_install('study')}."
        ) from error
    return Path(pooch.os_cache("attenua"))
