"""What a cell of a text holds: a number, one of several ways to write it, or nothing."""

import re

# Words for a missing cell in pandas, Excel and R.
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>", "#N/A", "#NA")

_TRUTH = {"True": "1", "TRUE": "1", "true": "1", "False": "0", "FALSE": "0", "false": "0"}
_NUMBER = re.compile(
    r"[+-]?(?:\d+[.]?\d*|[.]\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|infinity|nan)", re.IGNORECASE | re.ASCII
)
# Points, apostrophes or blanks, also those that do not break, between groups of three digits.
_SIGNS = "[.'\u2019 \u00a0\u202f]"
_GROUPED = re.compile(rf"[+-]?[1-9]\d{{0,2}}({_SIGNS})\d{{3}}(?:\1\d{{3}})*(?:,\d*)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", re.ASCII)
# A comma that may stand between groups of three digits as well.
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)


def is_missing(cell: str) -> bool:
    """Return whether a cell is empty or holds a word for a missing value."""
    return cell.strip(" \t") in MISSING


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return whether a cell is a number, or True or False."""
    return plain_number(cell, decimal) is not None


def plain_number(cell: str, decimal: str = ".") -> str | None:
    """Return a number as Python writes it, or None if the cell is something else.

    With decimal commas, 7.261,22 has a point between thousands, and other points are refused.

    >>> plain_number("7.261,22", ","), plain_number("True"), plain_number("1.5", ",")
    ('7261.22', '1', None)
    """
    cell = cell.strip(" \t")
    if cell in _TRUTH:
        return _TRUTH[cell]
    if decimal == ",":
        grouped = _GROUPED.fullmatch(cell)
        if grouped:
            cell = cell.replace(grouped[1], "")
        elif "." in cell:
            return None
        cell = cell.replace(",", ".")
    return cell if _NUMBER.fullmatch(cell) else None


def has_thousands(cell: str) -> bool:
    """Return whether a number with a decimal comma, or none, has signs between its thousands."""
    return _GROUPED.fullmatch(cell.strip(" \t")) is not None


def has_decimal_comma(cell: str) -> bool:
    """Return whether a cell is a number only if the comma is the decimal sign; 1,234 may be."""
    cell = cell.strip(" \t")
    return _DECIMAL_COMMA.fullmatch(cell) is not None or ("," in cell and has_thousands(cell))


def is_surely_decimal(cell: str) -> bool:
    """Return whether the comma of a number cannot stand between thousands."""
    return has_decimal_comma(cell) and _EITHER.fullmatch(cell.strip(" \t")) is None
