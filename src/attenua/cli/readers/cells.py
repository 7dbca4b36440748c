"""What a cell of a text holds: a number, one of several ways to write it, or nothing."""

import re

# Words and signs for a missing cell in pandas, Excel, R and SAS, and by hand.
MISSING = (
    *("", "NA", "N/A", "n/a", "na", "N.A.", "n.a.", "NaN", "nan", "null", "NULL", "None", "none", "<NA>"),
    *("-", "--", ".", "?", "#N/A", "#NA", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?"),
)

_TRUTH = {"True": "1", "TRUE": "1", "true": "1", "False": "0", "FALSE": "0", "false": "0"}
_NUMBER = re.compile(
    r"[+-]?(?:\d+[.]?\d*|[.]\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|infinity|nan)", re.IGNORECASE | re.ASCII
)
# Points, apostrophes or blanks, also those that do not break, between groups of three digits.
_SIGNS = "[.'\u2019 \u00a0\u202f]"
_GROUPED = re.compile(rf"[+-]?[1-9]\d{{0,2}}({_SIGNS})\d{{3}}(?:\1\d{{3}})*(?:,\d*)?", re.ASCII)
_GROUPED_BY_COMMAS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:[.]\d*)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", re.ASCII)
# A comma that may stand between groups of three digits as well.
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)


def is_missing(cell: str) -> bool:
    """Return whether a cell is empty or holds a word for a missing value."""
    return cell.strip(" \t") in MISSING


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return whether a cell is a number, or True or False."""
    return plain_number(cell, decimal) is not None


def plain_number(cell: str, decimal: str = ".", *, by_commas: bool = False) -> str | None:
    """Return a number as Python writes it, or None if the cell is something else.

    With decimal commas, 7.261,22 has a point between thousands, and other points are refused. With decimal
    points, commas between thousands are refused unless the text has them.

    >>> plain_number("7.261,22", ","), plain_number("True"), plain_number("1.5", ",")
    ('7261.22', '1', None)
    >>> plain_number("7,261.22"), plain_number("7,261.22", by_commas=True)
    (None, '7261.22')
    """
    cell = _stripped(cell)
    if cell in _TRUTH:
        return _TRUTH[cell]
    if by_commas and _GROUPED_BY_COMMAS.fullmatch(cell):
        cell = cell.replace(",", "")
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
    return _GROUPED.fullmatch(_stripped(cell)) is not None


def is_surely_grouped_by_commas(cell: str) -> bool:
    """Return whether a comma of a number can only stand between thousands, as in 7,261.22 and 1,234,567."""
    cell = _stripped(cell)
    return _GROUPED_BY_COMMAS.fullmatch(cell) is not None and ("." in cell or cell.count(",") > 1)


def has_decimal_comma(cell: str) -> bool:
    """Return whether a cell is a number only if the comma is the decimal sign; 1,234 may be."""
    cell = _stripped(cell)
    return _DECIMAL_COMMA.fullmatch(cell) is not None or ("," in cell and has_thousands(cell))


def is_surely_decimal(cell: str) -> bool:
    """Return whether the comma of a number cannot stand between thousands."""
    return has_decimal_comma(cell) and _EITHER.fullmatch(_stripped(cell)) is None


def _stripped(cell: str) -> str:
    """Return a cell without blanks around it, and with the minus of the keyboard."""
    return cell.strip(" \t").replace("\N{MINUS SIGN}", "-")
