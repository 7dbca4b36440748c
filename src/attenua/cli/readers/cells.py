"""Cells of a text: which are numbers, and which are missing."""

import re

# Words that stand for a missing cell. Spaces around commas are common; pyarrow takes cells as they are.
MISSING = ("", "NA", "NaN", "nan", "null", "N/A")
MISSING_CELLS = [before + word + after for word in MISSING for before in ("", " ") for after in ("", " ")]

_NUMBER = re.compile(
    r"[+-]?(?:\d+[.]?\d*|[.]\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|infinity|nan)", re.IGNORECASE | re.ASCII
)


def is_missing(cell: str) -> bool:
    """Return whether a cell holds nothing, or a word for nothing."""
    return cell in MISSING_CELLS


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
