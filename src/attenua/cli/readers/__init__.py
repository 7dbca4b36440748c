"""Tables from files: CSV, Excel, parquet, feather, npy, npz and h5ad, with errors that name the cell."""

from attenua.cli.readers.reading import read_table
from attenua.cli.readers.source import Table, TableError

__all__ = ["Table", "TableError", "read_table"]
