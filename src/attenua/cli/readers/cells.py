"""Cells of a text: which are numbers, and which are missing."""

import re

# Words that stand for a missing cell. Files with a space after each comma are common.
MISSING = ("", "NA", "NaN", "nan", "null", "N/A")
MISSING_CELLS = [space + word for word in MISSING for space in ("", " ")]

_NUMBER = re.compile(
    r"[+-]?(?:\d+[.]?\d*|[.]\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|infinity|nan)", re.IGNORECASE | re.ASCII
)


def is_missing(cell: str) -> bool:
    """Return whether a cell holds nothing, or a word for nothing."""
    return cell.strip() in MISSING


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return whether a cell is a number; with a decimal comma, a point is no part of one."""
    cell = cell.strip()
    if decimal == ",":
        if "." in cell:
            return False
        cell = cell.replace(",", ".")
    return _NUMBER.fullmatch(cell) is not None


def number(cell: str, decimal: str) -> float:
    """Return the number in a cell."""
    return float(cell.replace(decimal, "."))
