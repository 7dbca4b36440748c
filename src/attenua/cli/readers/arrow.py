"""Parquet and feather, by pyarrow."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua.cli.readers.source import Source, TableError


class ArrowSource(Source):
    """A table of columns with names."""

    def __init__(self, path: Path, source: str):
        self.source = source
        try:
            import pyarrow as pa
            from pyarrow import feather, parquet
        except ImportError as error:  # also where it is installed but does not go with this numpy
            raise TableError(
                f"{source}: {path.suffix} files need pyarrow: pip install pyarrow ({error})."
            ) from None
        read = parquet.read_table if path.suffix.lower() == ".parquet" else feather.read_table
        try:
            self._table = read(path)
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise TableError(f"{source} cannot be read as {path.suffix[1:]}: {reason}.") from None
        # What pandas writes of its row labels is not data.
        index = (self._table.schema.pandas_metadata or {}).get("index_columns", [])
        stored = [name for name in index if isinstance(name, str) and name in self._table.column_names]
        self._table = self._table.drop_columns(stored) if stored else self._table
        self.names = [str(name) for name in self._table.column_names]
        self.n_columns = len(self.names)
        self.check_names()

    def numbers(self, positions: list[int]) -> NDArray[np.float64]:
        """Return columns as numbers."""
        X = np.empty((self._table.num_rows, len(positions)))
        for place, position in enumerate(positions):
            X[:, place] = self._column(position)
        return X

    def _column(self, position: int) -> Any:
        import pyarrow.types as kinds

        column = self._table.column(position)
        kind = column.type
        if not any(
            is_kind(kind)
            for is_kind in (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal)
        ):
            raise TableError(
                f"{self.source}: {self.called(position)} holds {kind}, not numbers. Choose the columns to "
                "use with --columns."
            )
        if column.null_count:
            row = column.is_null().to_numpy().argmax() + 1
            raise TableError(
                f"{self.source}: row {row}, {self.called(position)} is empty. Fill or remove it, or choose "
                "the columns to use with --columns."
            )
        return column.to_numpy().astype(float)

    def labels(self, position: int) -> NDArray[Any]:
        """Return a column as labels."""
        column = self._table.column(position)
        if column.null_count:
            row = column.is_null().to_numpy().argmax() + 1
            raise TableError(f"{self.source}: row {row}, {self.called(position)} has no label of a group.")
        return np.asarray(column.to_pylist())
