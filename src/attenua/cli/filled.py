"""A file written again with its missing cells filled; all other cells stay as they were."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attenua.cli.cells import Array, is_missing, rounded, shown
from attenua.cli.layout import TableError, records_of
from attenua.cli.sheets import TEXTS, Sheet
from attenua.cli.tables import Table

ENDINGS = (*TEXTS, ".xlsx", ".parquet", ".feather", ".npy")


def filled_file(table: Table, filled: Array, path: str | Path) -> bytes:
    """Return a file of the ending of `path`, with the cells that are NaN in ``table.X`` from `filled`.

    Filled cells have the digits of their column. A file of the same form is written by changing these cells
    only, and read again: it must have all other cells as they were.
    """
    values, sheet = table.X.copy(), table.sheet
    for place, position in enumerate(table.positions):
        holes = np.isnan(values[:, place])
        if holes.any():
            values[holes, place] = rounded(filled[holes, place], sheet.frame[position][~holes], sheet.decimal)
    ending, before = Path(path).suffix.lower(), Path(sheet.source).suffix.lower()
    if ending in TEXTS:
        delimiter = "\t" if ending in (".tsv", ".tab") else ","
        if sheet.lines and (before not in TEXTS or ending == before or delimiter == sheet.delimiter):
            return _filled_text(table, values)
        return _as_text(table, values, ";" if sheet.decimal == delimiter else delimiter)
    if ending == ".xlsx" and sheet.book is not None:
        return _filled_book(table, values, *sheet.book)
    if len(set(sheet.headings)) < len(sheet.headings):
        raise TableError(f"{ending[1:]} files cannot hold two columns with one name; rename one.")
    frame, stream, has_index = _filled_frame(table, values), io.BytesIO(), sheet.index is not None
    if ending == ".npy":
        np.save(stream, frame.to_numpy(float).reshape(-1, *(sheet.image_shape or frame.shape[1:])))
    elif ending == ".parquet":
        frame.to_parquet(stream)
    elif ending == ".feather":
        (frame.reset_index() if has_index else frame).to_feather(stream)
    else:
        frame.to_excel(stream, index=has_index)
    return stream.getvalue()


def _filled_text(table: Table, values: Array) -> bytes:
    """Return the lines of a text, with those of the rows that miss cells written again."""
    sheet, changed = table.sheet, {}
    lines = list(sheet.lines)
    for row, record in enumerate(sheet.records):
        holes = np.flatnonzero(np.isnan(table.X[row]))
        if len(holes):
            cells = list(record.cells)
            for place in holes:
                cells[table.positions[place]] = shown(values[row, place], sheet.decimal)
            line, last = io.StringIO(newline=""), lines[record.last]
            csv.writer(line, delimiter=sheet.delimiter, lineterminator="").writerow(cells)
            lines[record.first : record.last + 1] = [""] * (record.last + 1 - record.first)
            lines[record.last] = line.getvalue() + last[len(last.rstrip("\r\n")) :]
            changed[record.first] = cells
    text = "".join(lines)
    before = records_of(sheet.lines, sheet.delimiter)
    after = records_of(io.StringIO(text, newline="").readlines(), sheet.delimiter)
    expected = [changed.get(record.first, record.cells) for record in before]
    _check_same(expected, [record.cells for record in after])
    return text.encode(sheet.encoding)


def _filled_book(table: Table, values: Array, content: bytes, title: str) -> bytes:
    """Return an Excel file with the cells that are missing in one sheet filled."""
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(content))
    for row, place in np.argwhere(np.isnan(table.X)):
        line = table.sheet.records[row].first + 1
        book[title].cell(line, table.positions[place] + 1).value = float(values[row, place])
    stream = io.BytesIO()
    book.save(stream)
    again = openpyxl.load_workbook(io.BytesIO(stream.getvalue()))
    for sheet in book.worksheets:
        _check_same(list(sheet.values), list(again[sheet.title].values))
    return stream.getvalue()


def _check_same(expected: Sequence[Any], found: Sequence[Any]) -> None:
    if [list(cells) for cells in expected] != [list(cells) for cells in found]:
        raise TableError("the filled file would not be read as it was written, so nothing is written.")


def _as_text(table: Table, values: Array, delimiter: str) -> bytes:
    """Return all columns as a text, with the decimal sign of the file."""
    sheet = table.sheet
    frame = sheet.frame.astype(object)
    for row, place in np.argwhere(np.isnan(table.X)):
        frame.iat[row, table.positions[place]] = float(values[row, place])

    def text(cell: Any) -> Any:
        return "" if is_missing(cell) else shown(cell, sheet.decimal) if isinstance(cell, float) else cell

    written: str = _named(sheet, frame.map(text)).to_csv(sep=delimiter, index=sheet.index is not None)
    return written.encode()


def _filled_frame(table: Table, values: Array) -> pd.DataFrame:
    """Return all columns as a data frame, those of numbers with the types that they have."""
    frame = table.sheet.frame.copy()
    for place, position in enumerate(table.positions):
        column, holes = frame[position].copy(), np.isnan(table.X[:, place])
        if not pd.api.types.is_numeric_dtype(column.dtype):
            column = values[:, place]
        elif holes.any():
            column[holes] = values[holes, place].astype(getattr(column.dtype, "numpy_dtype", column.dtype))
        frame[position] = column
    return _named(table.sheet, frame)


def _named(sheet: Sheet, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a data frame with the names of a sheet."""
    frame.columns = pd.Index(sheet.names or sheet.headings)
    return frame if sheet.index is None else frame.set_index(sheet.index)
