"""From a path to an open file: text, npy, npz, parquet, feather and h5ad."""

import io
import json
import math
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._data.filled import put_back
from attenua.cli.readers.csv_text import CsvSource
from attenua.cli.readers.decoding import UNPACKERS, read_text, unpack_text
from attenua.cli.readers.excel import sheet_as_csv
from attenua.cli.readers.form import CsvOptions
from attenua.cli.readers.not_numbers import NotNumbers, TextColumn
from attenua.cli.readers.source import (
    Source,
    TableError,
    first_names,
    needing,
    refuse_too_large,
    refusing,
    unzipped_size,
)

TEXTS = (".csv", ".tsv", ".tab", ".txt", ".dat")
_EXCEL = ".xlsx"


def open_source(path: str | Path, options: CsvOptions, sheet: str | None) -> Source:
    """Open a file, or standard input for ``-``."""
    if str(path) == "-":
        _refuse_given("standard input", "--sheet", sheet, "an Excel file")
        stream = sys.stdin.buffer if sys.stdin is not None else io.BytesIO()
        return CsvSource(read_text(stream, "standard input", options.encoding), "standard input", options)
    path = Path(path)
    try:
        if S_ISDIR(path.stat().st_mode):  # is_dir() hides some errors from Python 3.14 on
            raise TableError(f"{path} is a folder; give the name of a file.")
        return _open(path, str(path), options, sheet)
    except (FileNotFoundError, NotADirectoryError):
        raise TableError(f"{path} does not exist.") from None
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror or error}.") from None


def _open(path: Path, source: str, options: CsvOptions, sheet: str | None) -> Source:
    ending = path.suffix.lower()
    if ending == _EXCEL:
        _refuse_options_of_texts(source, options)
        return CsvSource(sheet_as_csv(path, source, sheet), source, replace(options, decimal="."))
    _refuse_given(source, "--sheet", sheet, "an Excel file")
    if ending in UNPACKERS and Path(path.stem).suffix.lower() in TEXTS:
        return CsvSource(unpack_text(path, source, options.encoding), source, options)
    if ending in TEXTS:
        with path.open("rb") as stream:
            return CsvSource(read_text(stream, source, options.encoding), source, options)
    if ending not in _OPENERS:
        raise TableError(
            f"{path} has the ending {path.suffix!r}; supported are "
            f"{', '.join([*TEXTS, _EXCEL, *_OPENERS])}, and text compressed as "
            f"{', '.join(TEXTS[0] + ending for ending in UNPACKERS)}."
        )
    _refuse_options_of_texts(source, options)
    header = "--header" if options.header else "--no-header"
    _refuse_given(source, header, options.header, "a CSV or Excel file")
    return _OPENERS[ending](path, source)


def _refuse_options_of_texts(source: str, options: CsvOptions) -> None:
    _refuse_given(source, "--decimal", options.decimal, "a CSV file")
    _refuse_given(source, "--encoding", options.encoding, "a CSV file")


def _refuse_given(source: str, option: str, value: Any, needed: str) -> None:
    if value is not None:
        raise TableError(f"{source}: {option} needs {needed}.")


class MatrixSource(Source):
    """A dense or sparse matrix, with or without names of columns and annotations of rows."""

    def __init__(self, X: Any, source: str, names: list[str] | None = None, annotations: Any = None):
        self.source, self.names, self._annotations = source, names, annotations
        if X.ndim > 2 and names is None:
            X = self._flattened(X)
        if X.ndim != 2:
            raise TableError(f"{source} must hold a matrix, rows by columns; it has shape {X.shape}.")
        if X.dtype.kind not in "fiub":
            raise TableError(f"{source} must hold real numbers; its type is {X.dtype}.")
        # Every column needs a Python int and a place in a list.
        refuse_too_large(source, 64 * X.shape[1])
        self._X = _as_csr(X, source) if sp.issparse(X) else X
        self.n_columns = X.shape[1]

    def _flattened(self, X: Any) -> Any:
        """Return a stack of images as a matrix, a row for each image."""
        self.grid = X.shape[1:]
        sides = " x ".join(map(str, self.grid))
        self.notes = (f"a stack of {X.shape[0]:,} images of {sides}, read as a row for each image.",)
        return X.reshape(X.shape[0], math.prod(self.grid))

    def numbers(self, positions: list[int]) -> Any:
        """Return columns, without a copy if all are wanted."""
        if positions == list(range(self.n_columns)):
            return self._X
        return self._X[:, positions]

    def labels(self, position: int) -> NDArray[Any]:
        """Return a column as labels."""
        column = self._X[:, [position]]
        return np.asarray(column.todense() if sp.issparse(column) else column).ravel()

    def filled(self, positions: list[int], X: Any, values: NDArray[Any]) -> Any:
        """Return all columns as an Arrow table, after the names of the rows if there are any."""
        with needing(self.source, "tables", "pyarrow", "cli"):
            import pyarrow as pa
        matrix = self.filled_matrix(positions, values)
        names = [] if self.row_names is None else [self.row_names]
        columns = [pa.array(labels) for _, labels in names] + [pa.array(column) for column in matrix.T]
        return pa.table(columns, names=[*(heading for heading, _ in names), *self.headings])

    def filled_matrix(self, positions: list[int], values: NDArray[Any]) -> NDArray[Any]:
        """Return the whole matrix, dense."""
        matrix = self._X.toarray() if sp.issparse(self._X) else self._X
        matrix = np.array(matrix, dtype=np.result_type(matrix, values))
        matrix[:, positions] = values
        return matrix

    def outside_labels(self, name: str) -> NDArray[Any] | None:
        """Return a column of the annotations of rows."""
        if self._annotations is None or name not in self._annotations:
            return None
        column = self._annotations[name]
        return np.asarray(column if column.dtype.kind in "iuf" else column.astype(object))


def _as_csr(X: Any, source: str) -> Any:
    """Return a sparse matrix by rows; indices beyond its shape would read foreign memory."""
    if hasattr(X, "check_format"):
        X.check_format(full_check=True)
    refuse_too_large(source, 8 * (X.shape[0] + 2 * X.nnz))
    return X.tocsr()


def _open_npy(path: Path, source: str) -> MatrixSource:
    """Open an npy file without reading it into memory."""
    with refusing(source, "npy"):
        X = np.lib.format.open_memmap(path, mode="r")
    return MatrixSource(X, source)


def _open_npz(path: Path, source: str) -> MatrixSource:
    """Open a scipy sparse matrix, or the matrix of an npz file: the only one, or the one called X."""
    if not zipfile.is_zipfile(path):  # numpy would take it for a pickle
        raise TableError(f"{source} cannot be read as npz: it is not a zip file.")
    with refusing(source, "npz"), path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        names = archive.files
        if {"format", "shape", "data"} <= set(names):
            refuse_too_large(source, unzipped_size(path))
            return MatrixSource(sp.load_npz(path), source)
        # Only headers are read to find the matrix, so that nothing else is unpacked.
        matrices = [name for name in (["X"] if "X" in names else names) if _is_matrix(archive.zip, name)]
        if len(matrices) != 1:
            found = first_names(names) or "nothing"
            raise TableError(f"{source} must hold one matrix, or one called X; it holds {found}.")
        refuse_too_large(source, archive.zip.getinfo(f"{matrices[0]}.npy").file_size)
        return MatrixSource(archive[matrices[0]], source)


def _is_matrix(archive: zipfile.ZipFile, name: str) -> bool:
    if f"{name}.npy" not in archive.namelist():
        return False
    formats = np.lib.format
    with archive.open(f"{name}.npy") as member:
        first = formats.read_magic(member) == (1, 0)
        read_header = formats.read_array_header_1_0 if first else formats.read_array_header_2_0
        return len(read_header(member)[0]) >= 2


def _open_h5ad(path: Path, source: str) -> MatrixSource:
    """Open the matrix X of annotated data; the annotations of its rows can serve as labels."""
    with needing(source, "h5ad files", "anndata", "h5ad"):
        import anndata
    with refusing(source, "h5ad"):
        data = anndata.read_h5ad(path)
        if data.X is None:
            raise TableError(f"{source} has no matrix X.")
        matrix = MatrixSource(data.X, source, [str(name) for name in data.var_names], data.obs)
        matrix.row_names = data.obs_names.name or "id", np.asarray(data.obs_names.astype(str))
    return matrix


class ArrowSource(Source):
    """A parquet or feather file, by pyarrow."""

    def __init__(self, path: Path, source: str):
        self.source = source
        with needing(source, f"{path.suffix} files", "pyarrow", "cli"):
            import pyarrow as pa
            from pyarrow import parquet
        with refusing(source, path.suffix[1:]):
            if path.suffix.lower() == ".parquet":
                claimed = parquet.read_metadata(path)
                refuse_too_large(source, 8 * claimed.num_rows * claimed.num_columns)
                self._table = parquet.read_table(path)
            else:
                with pa.OSFile(str(path)) as file:
                    _refuse_old_feather(file, source)
                    self._table = pa.ipc.open_file(file).read_all()
            # Offsets beyond the data would read foreign memory.
            self._table.validate(full=True)
            self._take_index()
        self.names = [str(name) for name in self._table.column_names]
        self.n_columns = len(self.names)

    def _take_index(self) -> None:
        """Take the index of pandas out of the columns; if it is one column, it names the rows."""
        index = (self._table.schema.pandas_metadata or {}).get("index_columns", [])
        stored = [name for name in index if isinstance(name, str) and name in self._table.column_names]
        if len(stored) == 1:
            heading = "index" if stored[0].startswith("__index_level_") else stored[0]
            self.row_names = heading, np.asarray(self._table.column(stored[0]).to_pylist())
        self._whole = self._table
        self._table = self._table.drop_columns(stored) if stored else self._table

    def numbers(self, positions: list[int]) -> NDArray[np.float64]:
        """Return columns as numbers, NaN where a cell is empty."""
        texts = [
            TextColumn(position, str(kind))
            for position in positions
            if not _is_numeric(kind := self._table.column(position).type)
        ]
        if texts:
            raise NotNumbers(self, positions, texts)
        X = np.empty((self._table.num_rows, len(positions)))
        for place, position in enumerate(positions):
            # An empty decimal is None, which becomes NaN.
            X[:, place] = self._table.column(position).to_numpy().astype(float)
        return X

    def filled(self, positions: list[int], X: Any, values: NDArray[Any]) -> Any:
        """Return the whole table, with its index; columns that are filled keep their type if it can be."""
        changed = put_back(self._table.select(positions), X, values)
        whole = self._whole
        kept = [place for place, name in enumerate(whole.column_names) if name in self._table.column_names]
        for place, position in enumerate(positions):
            whole = whole.set_column(kept[position], changed.field(place), changed.column(place))
        return _with_types_for_pandas(whole, self._whole.schema)

    def labels(self, position: int) -> NDArray[Any]:
        """Return a column as labels."""
        column = self._table.column(position)
        return np.array(column.to_pylist(), dtype=object if column.null_count else None)


def _is_numeric(kind: Any) -> bool:
    import pyarrow.types as kinds

    numeric = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal)
    return any(is_kind(kind) for is_kind in numeric)


def _with_types_for_pandas(table: Any, before: Any) -> Any:
    """Return a table that pandas can read: the types of columns that it noted must be those they have now."""
    noted = table.schema.pandas_metadata
    if not noted:
        return table
    changed = {new.name for new, old in zip(table.schema, before, strict=True) if new.type != old.type}
    for column in noted["columns"]:
        if column["field_name"] in changed:
            column |= {"pandas_type": "float64", "numpy_type": "float64", "metadata": None}
    return table.replace_schema_metadata({**table.schema.metadata, b"pandas": json.dumps(noted).encode()})


def _refuse_old_feather(file: Any, source: str) -> None:
    """Refuse version 1: it is deprecated, and a damaged file can crash the process."""
    if file.read_at(4, 0) == b"FEA1":
        raise TableError(
            f"{source} is feather version 1, which is no longer supported; read it with pandas and save it "
            "again."
        )


_OPENERS: dict[str, Callable[[Path, str], Source]] = {
    ".parquet": ArrowSource,
    ".feather": ArrowSource,
    ".npy": _open_npy,
    ".npz": _open_npz,
    ".h5ad": _open_h5ad,
}
