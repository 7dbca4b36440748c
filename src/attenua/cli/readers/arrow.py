"""Parquet and feather, by pyarrow."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._extras import how_to_install
from attenua.cli.readers.refusing import refuse_too_large, refusing
from attenua.cli.readers.source import NOT_NUMBERS, Source, TableError


class ArrowSource(Source):
    """A table of columns with names."""

    def __init__(self, path: Path, source: str):
        self.source = source
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError as error:  # also where it is installed but does not go with this numpy
            raise TableError(
                f"{source}: {path.suffix} files need pyarrow: {how_to_install('cli')} ({error})."
            ) from None
        with refusing(source, path.suffix[1:]):
            if path.suffix.lower() == ".parquet":
                claimed = parquet.read_metadata(path)
                refuse_too_large(source, 8 * claimed.num_rows * claimed.num_columns)
                self._table = parquet.read_table(path)
            else:
                with pa.OSFile(str(path)) as file:
                    _refuse_old_feather(file, source)
                    self._table = pa.ipc.open_file(file).read_all()
            # Offsets beyond the data, which nobody has checked yet, would be read as memory.
            self._table.validate(full=True)
            self._take_index()
        self.names = [str(name) for name in self._table.column_names]
        self.n_columns = len(self.names)

    def _take_index(self) -> None:
        """Take what pandas writes of its row labels out of the columns; one column of them names the rows."""
        index = (self._table.schema.pandas_metadata or {}).get("index_columns", [])
        stored = [name for name in index if isinstance(name, str) and name in self._table.column_names]
        if len(stored) == 1:
            called = "index" if stored[0].startswith("__index_level_") else stored[0]
            self.row_names = called, np.asarray(self._table.column(stored[0]).to_pylist())
        self._table = self._table.drop_columns(stored) if stored else self._table

    def numbers(self, positions: list[int]) -> NDArray[np.float64]:
        """Return columns as numbers, NaN where a cell is empty."""
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
                f"{self.source}: {self.called(position)} holds {kind}, not numbers. {NOT_NUMBERS}"
            )
        # In a column of decimals an empty cell is None, which as a number is NaN as well.
        return column.to_numpy().astype(float)

    def labels(self, position: int) -> NDArray[Any]:
        """Return a column as labels."""
        column = self._table.column(position)
        return np.array(column.to_pylist(), dtype=object if column.null_count else None)


def _refuse_old_feather(file: Any, source: str) -> None:
    """Refuse version 1: it is deprecated, and a damaged file of it can end the whole process."""
    if file.read_at(4, 0) == b"FEA1":
        raise TableError(
            f"{source} is feather of version 1, which is no longer supported; read it with pandas and "
            "save it again."
        )
