"""Excel sheets, by openpyxl: turned into CSV text, so that they are read like one."""

import csv
import io
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from attenua._extras import how_to_install
from attenua.cli.readers.refusing import refuse_too_large, refusing, unzipped_size
from attenua.cli.readers.source import TableError

_MOST_ROWS = 2**20


def sheet_as_csv(path: Path, source: str, sheet: str | None) -> bytes:
    """Return a sheet as CSV text, line by line as in Excel; by default the first sheet."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise TableError(f"{source}: Excel files need openpyxl: {how_to_install('excel')}.") from None
    with refusing(source, "an Excel file"), warnings.catch_warnings():
        # openpyxl warns of all that it leaves out: styles, pictures, menus.
        warnings.simplefilter("ignore")
        refuse_too_large(source, unzipped_size(path))
        # openpyxl leaves a file open that it cannot read, unless it was opened here.
        with path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            return _as_csv(_rows(book, source, sheet))


def _rows(book: Any, source: str, sheet: str | None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a sheet."""
    sheets = {found.title: found for found in book.worksheets}
    if sheet is not None and sheet not in sheets:
        raise TableError(f"{source} has no sheet {sheet!r}; its sheets are {', '.join(map(repr, sheets))}.")
    if not sheets:
        raise TableError(f"{source} has no sheet of cells.")
    chosen = sheets[sheet] if sheet is not None else next(iter(sheets.values()))
    # Without what the sheet says of its size, rows end with their last cell.
    chosen.reset_dimensions()
    for number, row in enumerate(chosen.iter_rows(values_only=True), start=1):
        if number > _MOST_ROWS:
            raise TableError(f"{source} has a row beyond {_MOST_ROWS:,}, the last that Excel has.")
        yield row


def _as_csv(cells: Iterable[tuple[Any, ...]]) -> bytes:
    rows = [_without_end(row) for row in cells]
    width = max(map(len, rows), default=0)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([*row, *[""] * (width - len(row))] if row else [])
    return text.getvalue().encode()


def _without_end(row: tuple[Any, ...]) -> list[str]:
    """Return cells as texts up to the last that holds one: some only have a format."""
    texts = [_as_text(cell) for cell in row]
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _as_text(cell: Any) -> str:
    """Return a cell on one line; true and false are numbers, as everywhere else."""
    if isinstance(cell, bool):
        cell = int(cell)
    return "" if cell is None else " ".join(str(cell).split())
