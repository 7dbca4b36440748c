"""The files that a command writes: their text, checks before the work starts, and all or none written."""

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR
from typing import Any

import numpy as np

from attenua._files import refuse_existing, sweep, write_all_whole
from attenua.cli.base import fail
from attenua.cli.readers import Table
from attenua.cli.readers.source import headings_of


def column_names(table: Table) -> Sequence[str]:
    """Return the names of the columns, or column_1, column_2, ... if they have none."""
    return headings_of(table.names, table.X.shape[1])


def components_csv(model: Any, table: Table) -> bytes:
    """Return the components as CSV: one row each, one column per column of the data."""
    rows = ([number, *_digits(row)] for number, row in enumerate(model.components_, start=1))
    return _csv(["component", *column_names(table)], rows)


def explained_csv(model: Any) -> bytes:
    """Return the variance that each component explains as CSV, also as a part of the total and summed up."""
    ratios = model.explained_variance_ratio_
    columns = model.explained_variance_, ratios, np.cumsum(ratios)
    rows = ([number, *_digits(row)] for number, row in enumerate(zip(*columns, strict=True), start=1))
    return _csv(["component", "explained_variance", "explained_variance_ratio", "cumulative_ratio"], rows)


def covariance_csv(model: Any, table: Table) -> bytes:
    """Return the covariance as CSV, with the names of the columns in its first row and first column."""
    names = column_names(table)
    rows = ([name, *_digits(row)] for name, row in zip(names, model.covariance_, strict=True))
    return _csv(["column", *names], rows)


def scores_csv(scores: Any, table: Table) -> bytes:
    """Return scores as CSV: the row names if there are any, then one column per component."""
    names = [f"component_{number}" for number in range(1, scores.shape[1] + 1)]
    if table.ids is None:
        return _csv(names, (_digits(row) for row in scores))
    rows = ([name, *_digits(row)] for name, row in zip(table.ids, scores, strict=True))
    return _csv([table.id_name, *names], rows)


def deviations_csv(cells: Iterable[tuple[int, int, float, float]], table: Table) -> bytes:
    """Return filled cells as CSV, a line each: its row counted from 1, column, value and deviation."""
    names, ids = column_names(table), table.ids
    head = ["row", *([] if ids is None else [table.id_name]), "column", "filled", "standard_deviation"]
    lines = (
        [row + 1, *([] if ids is None else [ids[row]]), names[column], *_digits(values)]
        for row, column, *values in cells
    )
    return _csv(head, lines)


def npy_bytes(array: Any) -> bytes:
    """Return an array as npy."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def arrow_bytes(columns: Any, ending: str) -> bytes:
    """Return an Arrow table as parquet, feather or, for other endings, separated text."""
    import pyarrow as pa
    from pyarrow import feather, parquet

    if ending in (".parquet", ".feather"):
        buffer = pa.BufferOutputStream()
        (parquet.write_table if ending == ".parquet" else feather.write_feather)(columns, buffer)
        return bytes(buffer.getvalue())
    # numpy gives a float32 the digits that it has.
    cells = [
        column.to_pylist()
        if column.null_count or not pa.types.is_floating(column.type)
        else column.to_numpy()
        for column in columns.columns
    ]
    return _csv(columns.column_names, zip(*cells, strict=True), "\t" if ending in (".tsv", ".tab") else ",")


def _digits(row: Any) -> list[str]:
    # str of a numpy number is the shortest text that reads back as the same number.
    return [str(number) for number in row]


def _csv(header: Sequence[Any], rows: Iterable[Sequence[Any]], delimiter: str = ",") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def check_targets(targets: Sequence[Path], *, force: bool, make_folders: bool = False) -> None:
    """Fail with a sentence if files cannot be written, before any work that would be lost."""
    with writing(targets[0]):
        sweep(targets)
        refuse_existing(targets, force=force)
    folder = targets[0].parent
    if make_folders:
        folder = next(place for place in (folder, *folder.parents) if place.exists())
    if not folder.exists():
        fail(f"{targets[0]} cannot be written: the folder {folder} does not exist.")
    if not folder.is_dir():
        fail(f"{targets[0]} cannot be written: {folder} is a file, not a folder.")
    refuse_without_permission(targets[0], folder)


def write_files(contents: Mapping[Path, bytes], *, force: bool, make_folders: bool = False) -> None:
    """Write files, all of them or none, or fail with a sentence."""
    with writing(next(iter(contents))):
        write_all_whole(contents, force=force, make_folders=make_folders)


def refuse_file(folder: Path) -> None:
    """Fail with a sentence if --out names a file instead of a folder."""
    is_taken = False
    with writing(folder), suppress(FileNotFoundError, NotADirectoryError):
        is_taken = not S_ISDIR(folder.stat().st_mode)  # exists() hides some errors from Python 3.14 on
    if is_taken:
        fail(f"{folder} is a file; --out takes the name of a folder.")


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn errors of the file system into a sentence."""
    try:
        yield
    except OSError as error:
        if isinstance(error, FileExistsError) and error.errno is None:  # a sentence already
            fail(str(error))
        fail(f"{error.filename or target} cannot be written: {error.strerror or error}.")


def refuse_without_permission(target: Path, folder: Path) -> None:
    """Fail with a sentence if nothing can be written in a folder."""
    if not os.access(folder, os.W_OK | os.X_OK):
        fail(f"{target} cannot be written: there is no permission to write in {folder}.")
