"""The folder that holds the data sets."""

import os
from pathlib import Path

import pooch

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
