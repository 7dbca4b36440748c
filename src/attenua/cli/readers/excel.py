"""Excel sheets, which become CSV."""

import csv
import io
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attenua.cli.readers.decoding import Text
from attenua.cli.readers.source import (
    TableError,
    needing,
    refuse_too_large,
    refusing,
    shortened,
    unzipped_size,
)

_MOST_ROWS = 2**20


def sheet_as_csv(path: Path, source: str, sheet: str | None) -> Text:
    """Return a sheet of an Excel file as CSV, line by line; by default the first sheet, with a note."""
    with needing(source, "Excel files", "openpyxl", "cli"):
        import openpyxl
    with refusing(source, "an Excel file"), warnings.catch_warnings():
        # openpyxl warns about everything it ignores: styles, pictures, menus.
        warnings.simplefilter("ignore")
        refuse_too_large(source, unzipped_size(path))
        # Opened here, because openpyxl does not close files that it cannot read.
        with path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            rows = [_texts(row) for row in _sheet_rows(book, source, sheet)]
            first, *others = [shortened(found.title) for found in book.worksheets]
    width = max(map(len, rows), default=0)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([*row, *[""] * (width - len(row))] if row else [])
    note = f"the sheet {first} is read; --sheet reads another: {', '.join(others)}."
    return Text(text.getvalue().encode(), notes=(note,) if others and sheet is None else ())


def _sheet_rows(book: Any, source: str, sheet: str | None) -> Iterator[tuple[Any, ...]]:
    sheets = {found.title: found for found in book.worksheets}
    if sheet is not None and sheet not in sheets:
        raise TableError(f"{source} has no sheet {sheet!r}; its sheets are {', '.join(map(repr, sheets))}.")
    if not sheets:
        raise TableError(f"{source} has no sheet of cells.")
    chosen = sheets[sheet] if sheet is not None else next(iter(sheets.values()))
    # Ignore the size that the sheet claims, so that rows end with their last cell.
    chosen.reset_dimensions()
    for number, row in enumerate(chosen.iter_rows(values_only=True), start=1):
        if number > _MOST_ROWS:
            raise TableError(f"{source} has a row beyond {_MOST_ROWS:,}, the last row in Excel.")
        yield row


def _texts(row: tuple[Any, ...]) -> list[str]:
    """Return cells as texts of one line, up to the last that is not empty."""
    texts = ["" if cell is None else " ".join(str(cell).split()) for cell in row]
    while texts and not texts[-1]:
        texts.pop()
    return texts
