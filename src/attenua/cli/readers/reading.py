"""The one door: a path in, a table of finite numbers out."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attenua.cli.readers.arrays import h5ad_source, npy_source, npz_source
from attenua.cli.readers.arrow import ArrowSource
from attenua.cli.readers.columns import chosen_columns, describe_columns, one_column
from attenua.cli.readers.csv_text import CsvSource
from attenua.cli.readers.source import Source, Table, TableError, check_finite

_OPENERS: dict[str, Any] = {
    ".csv": lambda path, source: CsvSource(path.read_bytes(), source),
    ".tsv": lambda path, source: CsvSource(path.read_bytes(), source),
    ".txt": lambda path, source: CsvSource(path.read_bytes(), source),
    ".parquet": ArrowSource,
    ".feather": ArrowSource,
    ".npy": npy_source,
    ".npz": npz_source,
    ".h5ad": h5ad_source,
}


def read_table(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    group_column: str | None = None,
    names: Sequence[str] | None = None,
    least_rows: int = 2,
) -> Table:
    """Read rows of numbers from a file.

    Parameters
    ----------
    path : str or Path
        A .csv (.tsv, .txt), .parquet, .feather, .npy, .npz or .h5ad file; ``-`` is CSV on standard input.
    columns : sequence of str, optional
        Comma-separated names, positions counted from 1, or ranges ``first:last``; by default all columns
        but the group column.
    group_column : str, optional
        Column (or, in h5ad, row annotation) that labels the rows.
    names : sequence of str, optional
        Exact names of the columns to take, where the file has names; without names it must have as many.
    least_rows : int, default=2
        Fewest rows that will do.

    Returns
    -------
    Table
        Numbers, names and groups.

    Raises
    ------
    TableError
        A sentence that names the file and, where there is one, the row and the column.
    """
    source = _open(path)
    groups, group_position = _groups(source, group_column)
    positions = [position for position in range(source.n_columns) if position != group_position]
    if columns:
        positions = chosen_columns(source, columns)
        if group_position in positions:
            raise TableError(
                f"{source.source}: {source.called(group_position)} labels groups; take it out of --columns."
            )
    elif names is not None and source.names is not None:
        positions = [_named(source, name) for name in names]
    if not positions:
        raise TableError(f"{source.source} has no column of numbers.")
    X = source.numbers(positions)
    if X.shape[0] < least_rows:
        raise TableError(f"{source.source} has {X.shape[0]} rows; at least {least_rows} are needed.")
    check_finite(source, X, positions)
    found = None if source.names is None else [source.names[position] for position in positions]
    return Table(X, found, groups, source.source)


def _open(path: str | Path) -> Source:
    if str(path) == "-":
        return CsvSource(sys.stdin.buffer.read(), "standard input")
    path = Path(path)
    opener = _OPENERS.get(path.suffix.lower())
    if path.is_dir():
        raise TableError(f"{path} is a folder; give the name of a file.")
    if not path.exists():
        raise TableError(f"{path} does not exist.")
    if opener is None:
        raise TableError(f"{path} has the ending {path.suffix!r}; known are {', '.join(_OPENERS)}.")
    try:
        return opener(path, str(path))
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror or error}.") from None


def _groups(source: Source, name: str | None) -> tuple[Any, int | None]:
    if name is None:
        return None, None
    outside = source.outside_labels(name)
    if outside is not None:
        return outside, None
    position = one_column(source, name)
    if position is None:
        raise TableError(
            f"{source.source} has no column {name!r} for --group-column; {describe_columns(source)}."
        )
    return source.labels(position), position


def _named(source: Source, name: str) -> int:
    if name not in source.names:
        raise TableError(
            f"{source.source} has no column {name!r}, which the model was fitted to; "
            f"{describe_columns(source)}."
        )
    return source.names.index(name)
