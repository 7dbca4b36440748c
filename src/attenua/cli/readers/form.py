"""The form of a CSV text, by its first rows: the delimiter, the decimal sign, and the header."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from attenua.cli.readers.cells import is_missing, is_number
from attenua.cli.readers.header import find_header

_ROWS, _CELLS = 200, 200_000
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*", re.ASCII)


@dataclass(frozen=True)
class Form:
    """How a text is to be read.

    Attributes
    ----------
    delimiter, decimal : str
        What separates cells, and the sign before decimals.
    names : list of str or None
        The header, where there is one.
    width : int
        Number of columns.
    notes : list of str
        What was assumed and might be wrong.
    """

    delimiter: str
    decimal: str
    names: list[str] | None
    width: int
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class CsvOptions:
    """What is known about a text before it is opened.

    Attributes
    ----------
    header : bool or None
        Whether the first row is a header; None finds out.
    decimal : str or None
        ``"."`` or ``","``; None finds out.
    names : sequence of str or None
        Names of columns that a header would hold.
    """

    header: bool | None = None
    decimal: str | None = None
    names: Sequence[str] | None = None


def find_form(lines: Any, wishes: CsvOptions) -> Form | None:
    """Return the form of a text, or None if it has no rows; `lines()` returns its lines from the start."""
    header, decimal = wishes.header, wishes.decimal
    delimiter = _delimiter(lines, decimal)
    rows = _first_rows(lines(), delimiter)
    if not rows:
        return None
    notes: list[str] = []
    if decimal is None:
        decimal = _decimal(rows, delimiter)
        if decimal == ",":
            notes.append(
                "numbers are read with decimal commas (1,5 is one and a half); --decimal . reads points."
            )
    if header is None and wishes.names is not None:
        header = set(wishes.names) <= {cell.strip() for cell in rows[0]} or None
    if header is None:
        header, sentence = find_header(rows, decimal)
        notes += [sentence] if sentence else []
    names = [cell.strip() for cell in rows[0]] if header else None
    return Form(delimiter, decimal, names, len(rows[0]), notes)


def _delimiter(lines: Any, decimal: str | None) -> str:
    """Return the delimiter that makes most cells numbers; among equals, the one most often in a line."""
    first = next((line for line in lines() if line.strip()), "")
    possible = [sign for sign in ",;\t" if sign in first and sign != decimal]

    def numbers(delimiter: str) -> tuple[float, int]:
        rows = _first_rows(lines(), delimiter)
        cells = [cell for row in rows[1:] or rows for cell in row]
        numeric = [any(is_number(cell, sign) for sign in ".,") or is_missing(cell) for cell in cells]
        return sum(numeric) / max(1, len(cells)), first.count(delimiter)

    return (
        max(possible, key=numbers) if len(possible) > 1 else (possible or [";" if decimal == "," else ","])[0]
    )


def _first_rows(lines: Iterator[str], delimiter: str) -> list[list[str]]:
    rows = (row for row in csv.reader(lines, delimiter=delimiter) if row)
    found: list[list[str]] = []
    try:
        for row in islice(rows, _ROWS):
            found.append(row)
            if len(found) > 4 and len(found) * len(row) > _CELLS:
                break
    except csv.Error:  # said with its line when the numbers are read
        if not found:
            raise
    return found


def _decimal(rows: list[list[str]], delimiter: str) -> str:
    """Return the comma where some cells are numbers with one and no cell is a number with a point."""
    if delimiter == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    with_comma = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    with_point = any("." in cell and is_number(cell) for cell in cells[len(rows[0]) :])
    return "," if with_comma and not with_point else "."
