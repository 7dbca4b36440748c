"""Containers of rows: how each is made of an array, and what it can do."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Container:
    """One kind of container.

    Attributes
    ----------
    make : callable
        Rows, something that draws at random and a folder for files to the container.
    in_memory : bool
        Whether ``cv`` may be anything; streams take a number of folds. Corrections need it.
    is_sparse, is_device : bool
        Whether rows stay sparse, and whether they are of another array library.
    holds : {"double", "single", "integers"}
        The type of the numbers.
    needs : str
        The package, if any.
    """

    make: Callable[..., Any]
    in_memory: bool = True
    is_sparse: bool = False
    is_device: bool = False
    holds: str = "double"
    needs: str = "numpy"


def _memmap(rows, random, folder):
    path = Path(folder) / "rows.npy"
    np.save(path, rows)
    return np.load(path, mmap_mode="r")


def _strided(rows, random, folder):
    wide = np.full((2 * len(rows), 3 * rows.shape[1]), np.nan)
    wide[::2, 1::3] = rows
    return wide[::2, 1::3]


def _reversed(rows, random, folder):
    return np.ascontiguousarray(rows[::-1, ::-1])[::-1, ::-1]


def _read_only(rows, random, folder):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


def _named(rows):
    return [f"column {number}" for number in range(rows.shape[1])]


def _pandas(rows, random, folder):
    import pandas as pd

    return pd.DataFrame(rows, columns=_named(rows), index=random.permutation(len(rows)))


def _polars(rows, random, folder):
    import polars as pl

    return pl.DataFrame(dict(zip(_named(rows), rows.T, strict=True)))


def _arrow(rows, random, folder):
    import pyarrow as pa

    parts = [pa.table(dict(zip(_named(rows), part.T, strict=True))) for part in pieces(rows, random)]
    return pa.concat_tables(parts)


def _dataset(rows, random, folder):
    import pyarrow.dataset as ds
    import pyarrow.feather as feather

    path = Path(folder) / "rows.feather"
    feather.write_feather(_arrow(rows, random, folder), path)
    return ds.dataset(path, format="feather")


def _dask_array(rows, random, folder):
    import dask.array as da

    return da.from_array(rows, chunks=(tuple(len(part) for part in pieces(rows, random)), -1))


def _dask_frame(rows, random, folder):
    import dask.dataframe as dd

    return dd.from_pandas(_pandas(rows, random, folder).reset_index(drop=True), npartitions=3)


def labelled(frame, labels):
    """Return a dask frame with one more column, and its name."""
    import dask.array as da

    lengths = tuple(frame.map_partitions(len).compute())
    return frame.assign(labels=da.from_array(labels, chunks=(lengths,))), "labels"


def _torch(rows, random, folder):
    import torch

    return torch.asarray(rows.copy())


def _strict(rows, random, folder):
    import array_api_strict

    # A device that numpy cannot read: what is copied to the host by mistake raises an error.
    return array_api_strict.asarray(rows, device=array_api_strict.Device("device1"))


def pieces(rows, random):
    """Return rows in a few batches of odd lengths, none of them empty."""
    cuts = np.unique(random.integers(1, len(rows), 3))
    return np.split(rows, cuts)


CONTAINERS = {
    "C array": Container(lambda rows, random, folder: np.ascontiguousarray(rows)),
    "Fortran array": Container(lambda rows, random, folder: np.asfortranarray(rows)),
    "strided view": Container(_strided),
    "reversed view": Container(_reversed),
    "read-only array": Container(_read_only),
    "memory map": Container(_memmap),
    "list of lists": Container(lambda rows, random, folder: rows.tolist()),
    "float32 array": Container(lambda rows, random, folder: rows.astype(np.float32), holds="single"),
    "integers": Container(lambda rows, random, folder: rows.astype(np.int32), holds="integers"),
    "csr array": Container(lambda rows, random, folder: sp.csr_array(rows), is_sparse=True),
    "csr matrix": Container(lambda rows, random, folder: sp.csr_matrix(rows), is_sparse=True),
    "csc array": Container(lambda rows, random, folder: sp.csc_array(rows), is_sparse=True),
    "csc matrix": Container(lambda rows, random, folder: sp.csc_matrix(rows), is_sparse=True),
    "float32 csr": Container(
        lambda rows, random, folder: sp.csr_array(rows.astype(np.float32)), is_sparse=True, holds="single"
    ),
    "pandas": Container(_pandas, needs="pandas"),
    "polars": Container(_polars, needs="polars"),
    "Arrow table": Container(_arrow, needs="pyarrow"),
    "Arrow dataset": Container(_dataset, in_memory=False, needs="pyarrow"),
    "list of batches": Container(lambda rows, random, folder: pieces(rows, random), in_memory=False),
    "sparse batches": Container(
        lambda rows, random, folder: [sp.csr_array(part) for part in pieces(rows, random)],
        in_memory=False,
        is_sparse=True,
    ),
    "iterator": Container(lambda rows, random, folder: iter(pieces(rows, random)), in_memory=False),
    "dask array": Container(_dask_array, in_memory=False, needs="dask"),
    "dask frame": Container(_dask_frame, in_memory=False, needs="dask"),
    "torch": Container(_torch, is_device=True, needs="torch"),
    "array_api_strict": Container(_strict, is_device=True, needs="array_api_strict"),
}


def is_installed(name):
    """Whether the package of a container is there."""
    return find_spec(CONTAINERS[name].needs) is not None


def filled(name, rows, seed, folder=None):
    """Return a container of some rows; its odd lengths come from the seed.

    Parameters
    ----------
    name : str
        One of ``CONTAINERS``.
    rows : ndarray
        The rows.
    seed : int
        For what is drawn at random.
    folder : path, optional
        Where files are put.
    """
    folder = tempfile.gettempdir() if folder is None else folder
    return CONTAINERS[name].make(rows, np.random.default_rng(seed), folder)
