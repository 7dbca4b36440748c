"""Cells of a text: which are numbers, and which are missing."""

import re
from collections.abc import Iterable

# Words that stand for a missing cell: those of pandas, Excel and R.
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>", "#N/A", "#NA")

_NUMBER = re.compile(
    r"[+-]?(?:\d+[.]?\d*|[.]\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|infinity|nan)", re.IGNORECASE | re.ASCII
)


def is_missing(cell: str) -> bool:
    """Return whether a cell holds nothing, or a word for nothing."""
    return cell.strip(" \t") in MISSING


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return whether a cell is a number; with a decimal comma, a point is no part of one."""
    cell = cell.strip(" \t")
    if decimal == ",":
        if "." in cell:
            return False
        cell = cell.replace(",", ".")
    return _NUMBER.fullmatch(cell) is not None


def number(cell: str, decimal: str) -> float:
    """Return the number in a cell."""
    return float(cell.replace(decimal, "."))


def counts_rows(cells: Iterable[object]) -> bool:
    """Return whether some cells count the rows, from 0 or from 1."""
    texts = [str(cell).strip() for cell in cells]
    return bool(texts) and any(
        texts == [str(number + start) for number in range(len(texts))] for start in (0, 1)
    )
