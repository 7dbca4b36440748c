"""The form of a CSV text, by its first rows: the delimiter, the decimal sign, and the header."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua.cli.readers.cells import is_missing, is_number, number
from attenua.cli.readers.header import Finding, judge

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
class Wishes:
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


def find_form(lines: Any, wishes: Wishes) -> Form | None:
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
        header, sentence = _header(rows, decimal)
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
        pass
    return found


def _decimal(rows: list[list[str]], delimiter: str) -> str:
    """Return the comma where some cells are numbers with one and no cell is a number with a point."""
    if delimiter == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    with_comma = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    with_point = any("." in cell and is_number(cell) for cell in cells[len(rows[0]) :])
    return "," if with_comma and not with_point else "."


def _header(rows: list[list[str]], decimal: str) -> tuple[bool, str | None]:
    """Return whether the first row is a header, and what to say about it."""
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    numeric = [is_number(cell, decimal) for cell in first]
    if not all(numeric) and any(not is_number(cell, decimal) and not is_missing(cell) for cell in first):
        return True, _doubt(first, numeric, decimal)
    if not all(numeric[1:]) or not below:
        return False, None
    # A blank first cell is the name that pandas and R give to the labels of rows.
    start = 0 if numeric[0] else 1
    if start and first[0].strip() == "" and counts_rows([row[0] for row in below]):
        return True, None
    finding = judge(first[start:], _numbers([row[start:] for row in below], decimal), decimal)
    shown = ", ".join(cell.strip() for cell in first[start : start + 3])
    if finding is Finding.HEADER:
        return (
            True,
            f"the first row looks like a header of numbers: {shown}, ...; --no-header reads it as data.",
        )
    if finding is Finding.SUSPECT:
        return (
            False,
            f"the first row, {shown}, ..., is read as data; if it is a header of numbers, give --header.",
        )
    return False, None


def _doubt(first: list[str], numeric: list[bool], decimal: str) -> str | None:
    """Return what to say of a header that holds numbers in no order, as a row of data would."""
    values = [number(cell, decimal) for cell, is_numeric in zip(first, numeric, strict=True) if is_numeric]
    steps = np.diff(values)
    if len(values) < 2 or (steps > 0).all() or (steps < 0).all():
        return None
    shown = ", ".join(cell.strip() for cell in first[:3])
    return f"the first row is read as the header: {shown}, ...; --no-header reads it as data."


def counts_rows(cells: Any) -> bool:
    """Return whether some cells count the rows, from 0 or from 1."""
    texts = [str(cell).strip() for cell in cells]
    return bool(texts) and any(
        texts == [str(number + start) for number in range(len(texts))] for start in (0, 1)
    )


def _numbers(rows: list[list[str]], decimal: str) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where a cell is none."""
    values = [[number(cell, decimal) if is_number(cell, decimal) else np.nan for cell in row] for row in rows]
    return np.array(values, dtype=float)
