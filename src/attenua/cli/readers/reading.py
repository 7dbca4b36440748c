"""Read a file: a path in, a table of numbers out; missing cells are kept, refused, dropped or filled."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from attenua._estimate.words import counted
from attenua.cli.readers.codes import suspected_codes
from attenua.cli.readers.form import CsvOptions
from attenua.cli.readers.formats import open_source
from attenua.cli.readers.not_numbers import NotNumbers, drop_option, note_of_left_out
from attenua.cli.readers.roles import (
    Labels,
    as_colours,
    as_groups,
    as_texts,
    chosen_columns,
    find_labels,
    first_column_of_labels,
    fitted_columns,
    in_order_of_names,
    refuse_as_numbers,
    refuse_same_names,
    suspected_copies,
    suspected_groups,
    suspected_id,
)
from attenua.cli.readers.source import Source, Table, TableError

_WAYS = ("keep", "fail", "drop-rows", "mean")
# Cells to examine at once.
_BLOCK_CELLS = 2**22


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
    encoding: str | None = None,
    numeric_only: bool = False,
    missing: str = "keep",
    na: Sequence[float] | None = None,
    sheet: str | None = None,
    names: Sequence[str] | None = None,
    means: ArrayLike | None = None,
    least_rows: int = 2,
    keep_file: bool = False,
) -> Table:
    """Read rows of numbers from a file.

    Parameters
    ----------
    path : str or Path
        A .csv (.tsv, .tab, .txt, .dat; also compressed: .gz, .bz2, .xz, .zst), .xlsx, .parquet, .feather,
        .npy, .npz or .h5ad file; ``-`` is CSV on standard input.
    columns : sequence of str, optional
        Comma-separated names, positions counted from 1, or ranges ``first:last``, ``first:``, ``:last``. By
        default all columns except those named by the next four parameters.
    drop : sequence of str, optional
        Columns to leave out, written the same way.
    group_column : str, optional
        Column (or, in h5ad, annotation of rows) with group labels.
    id_column : str, optional
        Column with row names. By default the index of parquet and feather, and the obs_names of h5ad.
    colour_by : str, optional
        Column, of numbers or texts, to colour the rows by in pictures.
    header : bool, optional
        Whether the first row of a text or a sheet is a header. By default it is guessed.
    decimal : {".", ","}, optional
        The decimal sign of a text. By default it is guessed.
    encoding : str, optional
        Encoding of a text. By default UTF-8, UTF-16 or, where it is neither, cp1252.
    numeric_only : bool, default=False
        Whether columns that hold something else than numbers are left out instead of an error.
    missing : {"keep", "fail", "drop-rows", "mean"}, default="keep"
        What to do with missing cells; those that are kept are NaN.
    na : sequence of float, optional
        Numbers that stand for a missing cell.
    sheet : str, optional
        Sheet of an Excel file; by default the first.
    names : sequence of str, optional
        Exact names of the columns to use; a file without names must have this many columns.
    means : array-like, optional
        Means to fill missing cells with; by default the column means of the file.
    least_rows : int, default=2
        Fewest rows to accept.
    keep_file : bool, default=False
        Whether to keep the open file in the table, which can then be written again with other cells.

    Returns
    -------
    Table
        Numbers, names, labels of the rows, and what was assumed about the file.

    Raises
    ------
    TableError
        A sentence that names the file and, if possible, the row and the column.
    """
    if missing not in _WAYS:
        raise ValueError(f"missing must be one of {', '.join(_WAYS)}; got {missing!r}.")
    source = None
    try:
        source = open_source(path, CsvOptions(header, decimal, encoding, names), sheet)
        groups = find_labels(source, group_column, "--group-column")
        colours = find_labels(source, colour_by, "--colour-by")
        ids = find_labels(source, id_column, "--id-column")
        first = first_column_of_labels(source) if ids is None or ids.position != 0 else None
        labels = {column.position for column in (groups, colours, ids) if column} | ({0} if first else set())
        if columns:
            positions = chosen_columns(source, columns)
            refuse_as_numbers(source, positions, {"labels groups": groups, "names the rows": ids})
            positions = in_order_of_names(source, positions, names)
        elif names is not None and source.names is not None:
            positions = fitted_columns(source, names)
        else:
            positions = [position for position in range(source.n_columns) if position not in labels]
        dropped = chosen_columns(source, drop, "--drop") if drop else []
        positions = [position for position in positions if position not in dropped]
        X, positions, left_out = _numbers(source, positions, least_rows, means, numeric_only)
        X = _with_codes_missing(X, na or (), source)
        chosen = bool(columns) or names is not None
        ids, first_note = _row_names(source, ids, None if 0 in positions else first, chosen)
        id_note = None if chosen else suspected_id(source, X, positions)
        groups_notes = [] if chosen else suspected_groups(source, X, positions)
        codes_notes = suspected_codes(source, X, positions)
        copies_notes = suspected_copies(X) if groups is None and names is None else []
        X, kept, missing_note = _settled_missing(source, X, positions, missing, means)
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
            tuple(
                note
                for note in (
                    *source.notes,
                    *left_out,
                    first_note,
                    id_note,
                    *groups_notes,
                    missing_note,
                    *codes_notes,
                    *copies_notes,
                )
                if note
            ),
            (source, positions) if keep_file else None,
            source.grid if positions == list(range(source.n_columns)) else (),
        )
    except TableError as error:
        # A wrong guess may be the reason.
        for note in () if source is None else source.notes:
            error.add_note(f"{source.source}: {note}")
        raise
    except MemoryError:
        raise TableError(
            f"{'standard input' if str(path) == '-' else path} does not fit in memory."
        ) from None


def _row_names(
    source: Source, ids: Labels | None, first: tuple[Any, str] | None, chosen: bool
) -> tuple[Labels | None, str | None]:
    """Return the row names, and a note about a first column that is not used as numbers."""
    labels, note = first or (None, None)
    if ids is None and labels is not None:
        return Labels("id", labels, 0), note
    if ids is None and source.row_names is not None:
        ids = Labels(*source.row_names, None)
    # With the columns or other row names chosen, nobody wonders why the first column is left out.
    return ids, None if chosen or labels is not None else note


def _numbers(
    source: Source, positions: list[int], least_rows: int, means: ArrayLike | None, numeric_only: bool
) -> tuple[Any, list[int], list[str]]:
    """Return the columns of numbers, their positions, and notes on others that were left out."""
    if not positions:
        raise TableError(f"{source.source} has no column left to use as numbers.")
    n_fitted = len(positions) if means is None else np.size(means)
    if len(positions) != n_fitted:
        raise TableError(
            f"{source.source} has {len(positions)} columns of numbers, but the model was fitted to {n_fitted}"
            "; choose them with --columns."
        )
    notes = []
    try:
        X = source.numbers(positions)
    except NotNumbers as found:
        texts = {column.position for column in found.columns}
        if not numeric_only or len(texts) == len(positions):
            raise
        positions = [position for position in positions if position not in texts]
        X = source.numbers(positions)
        notes.append(note_of_left_out(source, found.columns))
    empty = _empty_columns(source, X, positions, numeric_only) if means is None else []
    if empty:
        notes.append(f"without a number, and left out: {', '.join(map(source.called, empty))}.")
        kept = [place for place, position in enumerate(positions) if position not in empty]
        X, positions = X[:, kept], [positions[place] for place in kept]
    refuse_same_names(source, positions)
    if X.shape[0] < least_rows:
        raise TableError(
            f"{source.source} has {counted(X.shape[0], 'row')}; at least {least_rows} are needed."
        )
    return X, positions, notes


def _empty_columns(source: Source, X: Any, positions: list[int], numeric_only: bool) -> list[int]:
    """Return the positions of columns without any number that are left out: those without a name, or all."""
    named = [source.names is None or bool(source.names[position]) for position in positions]
    if sp.issparse(X) or (all(named) and not numeric_only):
        return []
    empty = np.isnan(X).all(axis=0) & (numeric_only | ~np.array(named))
    return [] if empty.all() else [positions[place] for place in np.flatnonzero(empty)]


def _with_codes_missing(X: Any, codes: Sequence[float], source: Source) -> Any:
    """Return the numbers with NaN for the codes that the user named."""
    if not codes:
        return X
    if sp.issparse(X):
        if 0 in codes:
            raise TableError(
                f"{source.source}: --na 0 needs a dense matrix; in a sparse one most cells are 0."
            )
        X = X.astype(float)
        X.data[np.isin(X.data, codes)] = np.nan
        return X
    X = np.array(X, dtype=np.result_type(X.dtype, np.float32))
    X[np.isin(X, codes)] = np.nan
    return X


def _settled_missing(
    source: Source, X: Any, positions: list[int], way: str, means: ArrayLike | None
) -> tuple[Any, NDArray[Any] | slice, str | None]:
    """Return the numbers, which rows they are, and a note on missing cells and what was done with them."""
    rows, columns, values = not_finite(X)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        first = infinite[0]
        raise TableError(
            f"{source.source}: {source.place(rows[first])}, {source.called(positions[columns[first]])} is "
            f"{values[first]}, which is not a finite number."
        )
    if not rows.size:
        return X, slice(None), None
    of_rows = f"{np.unique(rows).size:,} of {counted(X.shape[0], 'row')}"
    which = "the column means of these rows" if means is None else "the means of the model"
    are_missing = (
        f"{counted(rows.size, 'cell')} {'is' if rows.size == 1 else 'are'} missing, in {of_rows} and "
        f"{np.unique(columns).size:,} of {counted(X.shape[1], 'column')}"
    )
    if way == "keep":
        if means is None:
            _refuse_empty_columns(source, X.shape, positions, columns)
        return X, slice(None), f"{are_missing}."
    if way == "fail":
        raise TableError(
            f"{source.source}: {are_missing}; the first is {source.place(rows[0])}, "
            f"{source.called(positions[columns[0]])}. Use --missing drop-rows to drop these rows, "
            f"--missing mean to fill the cells with {which}, or fill them first with attenua impute."
        )
    if way == "drop-rows":
        kept = np.setdiff1d(np.arange(X.shape[0]), rows)
        return X[kept], kept, f"{of_rows} dropped because of {counted(rows.size, 'missing cell')}."
    note = f"{counted(rows.size, 'missing cell')}, in {of_rows}, filled with {which}."
    return _filled(source, X, positions, rows, columns, means), slice(None), note


def _filled(
    source: Source, X: Any, positions: list[int], rows: Any, columns: Any, means: ArrayLike | None
) -> Any:
    """Return a copy with the missing cells filled."""
    X = X.copy() if sp.issparse(X) else np.array(X, dtype=float)
    if means is None:
        n_present = _refuse_empty_columns(source, X.shape, positions, columns)
        X[rows, columns] = 0.0
        with np.errstate(over="ignore"):
            means = np.asarray(X.sum(axis=0)).ravel() / n_present
        if not np.isfinite(means).all():
            large = source.called(positions[int(np.argmin(np.isfinite(means)))])
            raise TableError(f"{source.source}: {large} holds numbers too large for a mean.")
    X[rows, columns] = np.asarray(means)[columns]
    return X


def _refuse_empty_columns(
    source: Source, shape: tuple[int, int], positions: list[int], columns: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return how many cells of each column are not missing; a column without any is an error."""
    n_present = shape[0] - np.bincount(columns, minlength=shape[1])
    if not n_present.all():
        empty = [positions[place] for place in np.flatnonzero(n_present == 0)]
        more = f" (nor do {len(empty) - 1:,} more)" * (len(empty) > 1)
        raise TableError(
            f"{source.source}: {source.called(empty[0])} holds no number at all{more}; leave it out with "
            f"{drop_option(source, empty)}."
        )
    return n_present


def not_finite(X: Any) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]:
    """Return the rows, columns and values of cells that are not finite, sorted by row."""
    if sp.issparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        return np.searchsorted(X.indptr, bad, side="right") - 1, X.indices[bad], X.data[bad]
    step = max(1, _BLOCK_CELLS // max(1, X.shape[1]))
    found = [np.empty((0, 2), np.intp)]
    for start in range(0, X.shape[0], step):
        found.append(np.argwhere(~np.isfinite(X[start : start + step])) + np.array([start, 0]))
    rows, columns = np.concatenate(found).T
    return rows, columns, np.asarray(X[rows, columns])
