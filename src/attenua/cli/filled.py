"""A file written again with its missing cells filled; all other cells stay as they were."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attenua.cli.cells import Array, rounded, shown, to_number
from attenua.cli.layout import TableError, records_of
from attenua.cli.sheets import TEXTS, Sheet
from attenua.cli.tables import Table

ENDINGS = (*TEXTS, ".xlsx", ".parquet", ".feather", ".npy")


def filled_file(table: Table, filled: Array, path: str | Path) -> bytes:
    """Return a file of the ending of `path`, with the cells that are NaN in ``table.X`` from `filled`.

    Filled cells have the digits of their column. A file of the same form is written by changing these cells
    only, and read again: it must have all other cells as they were.
    """
    sheet, cells = table.sheet, _cells(table, filled)
    ending, before = Path(path).suffix.lower(), Path(sheet.source).suffix.lower()
    if ending in TEXTS:
        delimiter = "\t" if ending in (".tsv", ".tab") else ","
        if sheet.lines and (before not in TEXTS or ending == before or delimiter == sheet.delimiter):
            return _filled_text(sheet, cells)
        return _as_text(sheet, cells, ";" if sheet.decimal == delimiter else delimiter)
    if ending == ".xlsx" and sheet.book is not None:
        return _filled_book(sheet, cells, *sheet.book)
    frame, stream, has_index = _filled_frame(table, cells), io.BytesIO(), sheet.index is not None
    if not frame.columns.is_unique:
        raise TableError(f"{ending[1:]} files cannot hold two columns with one name; rename one.")
    if ending == ".npy":
        if len(table.positions) < frame.shape[1]:
            raise TableError("npy files hold numbers only, and not all columns are; write another format.")
        np.save(stream, frame.to_numpy(float).reshape(-1, *(sheet.image_shape or frame.shape[1:])))
    elif ending == ".parquet":
        frame.to_parquet(stream)
    elif ending == ".feather":
        (frame.reset_index() if has_index else frame).to_feather(stream)
    else:
        frame.to_excel(stream, index=has_index)
    return stream.getvalue()


def _cells(table: Table, filled: Array) -> dict[tuple[int, int], Any]:
    """Return the cells to fill, by row and column: numbers, or texts as the column writes them."""
    sheet, found = table.sheet, {}
    for place, position in enumerate(table.positions):
        is_hole = np.isnan(table.X[:, place])
        holes = np.flatnonzero(is_hole)
        cells = sheet.cells(position) if len(holes) else []
        seen = [cell for cell, hole in zip(cells, is_hole, strict=False) if not hole]
        # True and 1,0 are numbers as the column writes them.
        written = {to_number(cell, sheet.decimal): cell for cell in seen if isinstance(cell, str | bool)}
        for row, number in zip(holes, rounded(filled[holes, place], seen, sheet.decimal), strict=True):
            text = shown(number, sheet.decimal) if sheet.lines else float(number)
            found[int(row), position] = written.get(number, text)
    return found


def _filled_text(sheet: Sheet, filled: dict[tuple[int, int], Any]) -> bytes:
    """Return the lines of a text, with those of the rows that miss cells written again."""
    lines, changed = list(sheet.lines), {}
    for row in {row for row, _ in filled}:
        record, line = sheet.records[row], io.StringIO(newline="")
        cells = [filled.get((row, position), cell) for position, cell in enumerate(record.cells)]
        csv.writer(line, delimiter=sheet.delimiter, lineterminator="\n").writerow(cells)
        last = lines[record.last]
        lines[record.first : record.last + 1] = [""] * (record.last + 1 - record.first)
        lines[record.last] = line.getvalue()[:-1] + last[len(last.rstrip("\r\n")) :]
        changed[record.first] = cells
    text = "".join(lines)
    before = records_of(sheet.lines, sheet.delimiter)
    after = records_of(io.StringIO(text, newline="").readlines(), sheet.delimiter)
    expected = [changed.get(record.first, record.cells) for record in before]
    _check_same(expected, [record.cells for record in after])
    return text.encode(sheet.encoding)


def _filled_book(sheet: Sheet, filled: dict[tuple[int, int], Any], content: bytes, title: str) -> bytes:
    """Return an Excel file with the cells that are missing in one sheet filled."""
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(content))
    for (row, position), number in filled.items():
        cell = book[title].cell(sheet.records[row].first + 1, position + 1)
        if isinstance(cell, openpyxl.cell.cell.MergedCell):
            raise TableError(f"cell {cell.coordinate} is a part of a merged cell; separate it first.")
        cell.value = number
    stream = io.BytesIO()
    book.save(stream)
    again = openpyxl.load_workbook(io.BytesIO(stream.getvalue()))
    for each in book.worksheets:
        _check_same(list(each.values), list(again[each.title].values))
    return stream.getvalue()


def _check_same(expected: Sequence[Any], found: Sequence[Any]) -> None:
    if [list(cells) for cells in expected] != [list(cells) for cells in found]:
        raise TableError("the filled file would not be read as it was written, so nothing is written.")


def _as_text(sheet: Sheet, filled: dict[tuple[int, int], Any], delimiter: str) -> bytes:
    """Return all columns as a text, with the decimal sign of the file."""
    columns = {position: sheet.cells(position) for position in sheet.frame}
    for (row, position), number in filled.items():
        columns[position][row] = number
    frame = pd.DataFrame(columns, dtype=object).map(
        lambda cell: shown(cell, sheet.decimal) if isinstance(cell, float) else cell
    )
    written: str = _named(sheet, frame).to_csv(sep=delimiter, index=sheet.index is not None)
    return written.encode()


def _filled_frame(table: Table, filled: dict[tuple[int, int], Any]) -> pd.DataFrame:
    """Return all columns as a data frame, those of numbers with the types that they have."""
    sheet = table.sheet
    frame = sheet.frame.copy()
    for place, position in enumerate(table.positions):
        column = frame[position].copy()
        holes = np.flatnonzero(np.isnan(table.X[:, place]))
        numbers = np.array(
            [to_number(filled[int(row), position], sheet.decimal) for row in holes], dtype=float
        )
        if not pd.api.types.is_numeric_dtype(column.dtype):
            column = table.X[:, place].copy()
            column[holes] = numbers
        elif len(holes):
            column.iloc[holes] = numbers.astype(getattr(column.dtype, "numpy_dtype", column.dtype))
        frame[position] = column
    return _named(sheet, frame)


def _named(sheet: Sheet, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a data frame with the names of a sheet."""
    frame.columns = pd.Index(sheet.names or sheet.headings)
    return frame if sheet.index is None else frame.set_index(sheet.index)
