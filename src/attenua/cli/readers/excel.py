"""Excel sheets, by openpyxl: turned into CSV text, so that they are read like one."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attenua._data.extras import how_to_install
from attenua.cli.readers.source import TableError, first_line


def sheet_as_csv(path: Path, source: str, sheet: str | None) -> bytes:
    """Return a sheet as CSV text, line by line as in Excel; by default the first sheet."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise TableError(f"{source}: Excel files need openpyxl: {how_to_install('excel')}.") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # openpyxl passes on whatever zip and XML readers raise
        raise TableError(f"{source} cannot be read as an Excel file: {first_line(error)}.") from None
    try:
        sheets = {found.title: found for found in book.worksheets}
        if sheet is not None and sheet not in sheets:
            raise TableError(
                f"{source} has no sheet {sheet!r}; its sheets are {', '.join(map(repr, sheets))}."
            )
        if not sheets:
            raise TableError(f"{source} has no sheet of cells.")
        chosen = sheets[sheet] if sheet is not None else next(iter(sheets.values()))
        return _as_csv(chosen.iter_rows(values_only=True))
    finally:
        book.close()


def _as_csv(cells: Iterable[tuple[Any, ...]]) -> bytes:
    rows = [[_as_text(cell) for cell in row] for row in cells]
    # Cells that only have a format make a sheet wider and longer than what it holds.
    width = max((place + 1 for row in rows for place, text in enumerate(row) if text), default=0)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        filled = any(row)
        writer.writerow([*row, *[""] * (width - len(row))][:width] if filled else [])
    return text.getvalue().encode()


def _as_text(cell: Any) -> str:
    """Return a cell on one line; true and false are numbers, as everywhere else."""
    if isinstance(cell, bool):
        cell = int(cell)
    return "" if cell is None else " ".join(str(cell).split())
