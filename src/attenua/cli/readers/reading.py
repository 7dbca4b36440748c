"""The one door: a path in, a table of finite numbers out."""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attenua._estimate.words import counted
from attenua.cli.readers.columns import chosen_columns, describe_columns, one_column, refuse_same_names
from attenua.cli.readers.form import CsvOptions
from attenua.cli.readers.labels import Labels, as_colours, as_groups, as_texts, find_labels, refuse_as_numbers
from attenua.cli.readers.missing import WAYS, without_missing
from attenua.cli.readers.opening import open_source
from attenua.cli.readers.row_names import first_column_of_labels, suspected_id
from attenua.cli.readers.source import Source, Table, TableError


def _memory_in_words(read: Callable[..., Table]) -> Callable[..., Table]:
    """Make one more sentence of the reader: that there is not enough memory."""

    @wraps(read)
    def reading(path: str | Path, **options: Any) -> Table:
        try:
            return read(path, **options)
        except MemoryError:
            called = "standard input" if str(path) == "-" else path
            raise TableError(f"{called} does not fit in memory.") from None

    return reading


@_memory_in_words
def read_table(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    group_column: str | None = None,
    id_column: str | None = None,
    colour_by: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    missing: str = "fail",
    sheet: str | None = None,
    names: Sequence[str] | None = None,
    means: ArrayLike | None = None,
    least_rows: int = 2,
) -> Table:
    """Read rows of numbers from a file.

    Parameters
    ----------
    path : str or Path
        A .csv (.tsv, .txt; also packed: .gz, .bz2, .xz, .zst), .xlsx, .parquet, .feather, .npy, .npz or
        .h5ad file; ``-`` is CSV on standard input.
    columns : sequence of str, optional
        Comma-separated names, positions counted from 1, or ranges ``first:last``, ``first:``, ``:last``; by
        default all columns but those that the next four parameters name.
    drop : sequence of str, optional
        Columns to leave out, in the same words.
    group_column : str, optional
        Column (or, in h5ad, row annotation) that labels the rows.
    id_column : str, optional
        Column that names the rows. By default what the file keeps for it: the index of parquet and feather,
        the obs_names of h5ad.
    colour_by : str, optional
        Column to colour the rows by in pictures: numbers or texts.
    header : bool, optional
        Whether the first row of a text or a sheet is a header. By default it is found out.
    decimal : {".", ","}, optional
        The decimal sign of a text. By default it is found out.
    missing : {"fail", "drop-rows", "mean"}, default="fail"
        What to do with missing cells.
    sheet : str, optional
        Sheet of an Excel file; by default the first.
    names : sequence of str, optional
        Exact names of the columns to take, where the file has names; without names it must have as many.
    means : array-like, optional
        Means to fill missing cells with; by default those of the rows.
    least_rows : int, default=2
        Fewest rows that will do.

    Returns
    -------
    Table
        Numbers, names, what else is known about the rows, and what was assumed.

    Raises
    ------
    TableError
        A sentence that names the file and, where there is one, the row and the column.
    """
    if missing not in WAYS:
        raise ValueError(f"missing must be one of {', '.join(WAYS)}; got {missing!r}.")
    source = open_source(path, CsvOptions(header, decimal, names), sheet)
    groups = find_labels(source, group_column, "--group-column")
    colours = find_labels(source, colour_by, "--colour-by")
    ids = find_labels(source, id_column, "--id-column")
    first = first_column_of_labels(source) if ids is None or ids.position != 0 else None
    aside = {labels.position for labels in (groups, colours, ids) if labels} | ({0} if first else set())
    if columns:
        positions = chosen_columns(source, columns)
        refuse_as_numbers(source, positions, {"labels groups": groups, "names the rows": ids})
    elif names is not None and source.names is not None:
        positions = _named(source, names)
    else:
        positions = [position for position in range(source.n_columns) if position not in aside]
    dropped = chosen_columns(source, drop, "--drop") if drop else []
    positions = [position for position in positions if position not in dropped]
    X = _numbers(source, positions, least_rows, means)
    asked = bool(columns) or names is not None
    ids, said = _row_names(source, ids, None if 0 in positions else first, asked)
    suspicion = None if asked else suspected_id(source, X, positions)
    X, kept, done = without_missing(source, X, positions, missing, means)
    if X.shape[0] < least_rows:
        raise TableError(
            f"{source.source} has {counted(X.shape[0], 'row')} without missing cells; "
            f"at least {least_rows} are needed."
        )
    return Table(
        X,
        None if source.names is None else [source.names[position] for position in positions],
        None if groups is None else as_groups(source, groups, kept),
        source.source,
        None if ids is None else as_texts(ids.values[kept]),
        "id" if ids is None else ids.name,
        None if colours is None else as_colours(colours.values[kept]),
        tuple(note for note in (*source.notes, said, suspicion, done) if note),
    )


def _named(source: Source, names: Sequence[str]) -> list[int]:
    positions = []
    there = set(source.names or ())
    for name in names:
        if name not in there:
            raise TableError(
                f"{source.source} has no column {name!r}, which the model was fitted to; "
                f"{describe_columns(source)}."
            )
        positions.append(one_column(source, name))
    return positions


def _row_names(
    source: Source, ids: Labels | None, first: tuple[Any, str] | None, asked: bool
) -> tuple[Labels | None, str | None]:
    """Return the names of the rows, and what to say of a first column that is left out."""
    labels, sentence = first or (None, None)
    if ids is None and labels is not None:
        return Labels("id", labels, 0), sentence
    if ids is None and source.row_names is not None:
        ids = Labels(*source.row_names, None)
    # Who names the columns, or the rows by another one, has left the first out already.
    return ids, None if asked or labels is not None else sentence


def _numbers(source: Source, positions: list[int], least_rows: int, means: ArrayLike | None) -> Any:
    if not positions:
        raise TableError(f"{source.source} has no column left to use as numbers.")
    refuse_same_names(source, positions)
    n_fitted = len(positions) if means is None else np.size(means)
    if len(positions) != n_fitted:
        raise TableError(
            f"{source.source} has {len(positions)} columns of numbers, but the model was fitted to {n_fitted}"
            "; choose them with --columns."
        )
    X = source.numbers(positions)
    if X.shape[0] < least_rows:
        raise TableError(
            f"{source.source} has {counted(X.shape[0], 'row')}; at least {least_rows} are needed."
        )
    return X
