"""Tables from files: CSV, parquet, feather, npy, npz and h5ad, with errors that name file, row and column."""

from attenua.cli.readers.reading import read_table
from attenua.cli.readers.source import Table, TableError

__all__ = ["Table", "TableError", "read_table"]
