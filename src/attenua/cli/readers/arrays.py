"""Matrices without column names: npy, npz and sparse npz; and h5ad, which has names."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._extras import how_to_install
from attenua.cli.readers.refusing import refuse_too_large, refusing, unzipped_size
from attenua.cli.readers.source import Source, TableError, shortened


class MatrixSource(Source):
    """A dense or sparse matrix, its columns with or without names."""

    def __init__(self, X: Any, source: str, names: list[str] | None = None, beside: Any = None):
        self.source, self.names, self._beside = source, names, beside
        if X.ndim != 2:
            raise TableError(f"{source} must hold a matrix, rows by columns; it has shape {X.shape}.")
        if X.dtype.kind not in "fiub":
            raise TableError(f"{source} must hold real numbers; its type is {X.dtype}.")
        # A number of Python for every column, and its place in a list.
        refuse_too_large(source, 64 * X.shape[1])
        self._X = _as_csr(X, source) if sp.issparse(X) else X
        self.n_columns = X.shape[1]

    def numbers(self, positions: list[int]) -> Any:
        """Return columns; all of them are not copied."""
        if positions == list(range(self.n_columns)):
            return self._X
        return self._X[:, positions]

    def labels(self, position: int) -> NDArray[Any]:
        """Return a column as labels."""
        column = self._X[:, [position]]
        return np.asarray(column.todense() if sp.issparse(column) else column).ravel()

    def outside_labels(self, name: str) -> NDArray[Any] | None:
        """Return a column of the annotations of rows."""
        if self._beside is None or name not in self._beside:
            return None
        column = self._beside[name]
        return np.asarray(column if column.dtype.kind in "iuf" else column.astype(object))


def _as_csr(X: Any, source: str) -> Any:
    """Return a sparse matrix by rows; indices beyond its shape would be read as memory, and are refused."""
    if hasattr(X, "check_format"):
        X.check_format(full_check=True)
    refuse_too_large(source, 8 * (X.shape[0] + 2 * X.nnz))
    return X.tocsr()


def npy_source(path: Path, source: str) -> MatrixSource:
    """Open an npy file without reading it into memory."""
    with refusing(source, "npy"):
        X = np.lib.format.open_memmap(path, mode="r")
    return MatrixSource(X, source)


def npz_source(path: Path, source: str) -> MatrixSource:
    """Open the matrix of an npz file: the only one, or the one called X; or a scipy sparse matrix."""
    if not zipfile.is_zipfile(path):  # numpy would take it for a pickle
        raise TableError(f"{source} cannot be read as npz: it is not a zip file.")
    with refusing(source, "npz"), path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        names = archive.files
        if {"format", "shape", "data"} <= set(names):
            refuse_too_large(source, unzipped_size(path))
            return MatrixSource(sp.load_npz(path), source)
        # Their headers say which are matrices, so that nothing else is unpacked.
        matrices = [name for name in (["X"] if "X" in names else names) if _is_matrix(archive.zip, name)]
        if len(matrices) != 1:
            found = ", ".join(map(shortened, names[:8])) or "nothing"
            found += f" and {len(names) - 8} more" * (len(names) > 8)
            raise TableError(f"{source} must hold one matrix, or one called X; it holds {found}.")
        refuse_too_large(source, archive.zip.getinfo(f"{matrices[0]}.npy").file_size)
        return MatrixSource(archive[matrices[0]], source)


def _is_matrix(archive: zipfile.ZipFile, name: str) -> bool:
    """Return whether a member of an npz file says that it is a matrix."""
    if f"{name}.npy" not in archive.namelist():
        return False
    with archive.open(f"{name}.npy") as member:
        version = np.lib.format.read_magic(member)
        read_header = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        return len(read_header(member)[0]) == 2


def h5ad_source(path: Path, source: str) -> MatrixSource:
    """Open the matrix X of annotated data; its row annotations can label groups."""
    try:
        import anndata
    except ModuleNotFoundError:
        raise TableError(f"{source}: h5ad files need anndata: {how_to_install('h5ad')}.") from None
    with refusing(source, "h5ad"):
        data = anndata.read_h5ad(path)
        if data.X is None:
            raise TableError(f"{source} has no matrix X.")
        matrix = MatrixSource(data.X, source, [str(name) for name in data.var_names], data.obs)
        matrix.row_names = data.obs_names.name or "id", np.asarray(data.obs_names.astype(str))
    return matrix
