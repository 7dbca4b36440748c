"""What a cell of a text holds: a number with some decimal sign, a word for a missing value, or a text."""

import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Words and signs for a missing cell in pandas, Excel, R and SAS, and by hand.
MISSING = {
    *("", "NA", "N/A", "n/a", "na", "N.A.", "n.a.", "NaN", "nan", "null", "NULL", "None", "none", "<NA>"),
    *("-", "--", ".", "?", "\\N", "(null)", "#N/A", "#NA", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?"),
    *("#NULL!", "#NV", "#WERT!", "#BEZUG!", "#ZAHL!", "#NOMBRE?", "#NOM?", "#VALEUR!", "#NOMBRE!"),
}
_MAY_HAVE_THOUSANDS = re.compile(r"\d[,.'\u2019 \u00a0\u202f]\d{3}")
_ENOUGH = 1000  # numbers that show their decimal sign
_TRUTH = {"true": 1.0, "false": 0.0}


def _pattern(decimal: str, other: str) -> re.Pattern[str]:
    """Return the pattern of a number, with thousands in groups of three or in one piece."""
    # Also apostrophes and blanks stand between thousands, those that do not break among them.
    whole = rf"[1-9]\d{{0,2}}(?P<group>[{other}'\u2019 \u00a0\u202f])\d{{3}}(?:(?P=group)\d{{3}})*|\d+"
    number = rf"(?:(?:{whole})(?:{decimal}\d*)?|{decimal}\d+)(?:e[+-]?\d+)?|inf(?:inity)?"
    return re.compile(rf"[+-]?(?:{number})", re.IGNORECASE | re.ASCII)


_NUMBERS = {".": _pattern("[.]", ","), ",": _pattern(",", ".")}


def to_number(cell: Any, decimal: str = ".") -> float | None:
    """Return the number that a cell holds, or None; True and False are 1 and 0.

    >>> to_number("7.261,22", ","), to_number("7,261.22"), to_number("1.5", ",")
    (7261.22, 7261.22, None)
    """
    if not isinstance(cell, str):  # files with types have numbers of their own
        return float(cell) if isinstance(cell, int | float | Decimal) else None
    text = cell.strip().replace("\N{MINUS SIGN}", "-").replace("\N{EN DASH}", "-")
    found = _NUMBERS[decimal].fullmatch(text)
    if found is None:
        return _TRUTH.get(text.lower())
    return float(text.replace(found["group"] or " ", "").replace(decimal, "."))


def has_thousands(cell: str, decimal: str) -> bool:
    """Return whether signs stand between the thousands of a number."""
    if _MAY_HAVE_THOUSANDS.search(cell) is None:  # nearly all cells
        return False
    found = _NUMBERS[decimal].fullmatch(cell.strip())
    return found is not None and found["group"] is not None


def is_blank(cell: Any) -> bool:
    """Return whether a cell holds nothing at all; NaN is what a table with types has there."""
    return cell is None or cell != cell or (isinstance(cell, str) and not cell.strip())


def is_missing(cell: Any, words: Collection[str] = ()) -> bool:
    """Return whether a cell is blank or holds a word for a missing value."""
    return is_blank(cell) or (isinstance(cell, str) and (cell.strip() in MISSING or cell.strip() in words))


def is_text(cell: Any, decimal: str = ".") -> bool:
    """Return whether a cell holds neither a number nor a word for a missing value."""
    return not is_missing(cell) and to_number(cell, decimal) is None


def looks_like_number(cell: Any) -> bool:
    """Return whether a text is written like a number, as 1.5, <0,3, $ 5, 12 mg and 4* are; dates are not."""
    if not isinstance(cell, str) or re.match(r"\s*\d+[./-]\d+[./-]\d+", cell):
        return False
    return re.match(r"\s*[^\w\s#]*\s*\d[\d.,' ]*[^\d:/-]*$", cell) is not None


def shortened(text: str) -> str:
    """Return a text in quotes for a sentence, cut if it is long."""
    return repr(text if len(text) <= 60 else f"{text[:60]}...")


def quoted(cells: Iterable[Any], most: int = 4) -> str:
    """Return the first cells that are not empty, in quotes for a sentence."""
    texts = [str(cell).strip() for cell in cells if not is_blank(cell)]
    return shortened(", ".join(texts[:most]) + ", ..." * (len(texts) > most))


def to_numbers(cells: Sequence[Any], decimal: str, words: Collection[str] = ()) -> tuple[Array, list[int]]:
    """Return a column as numbers, NaN where a cell is missing, and the places of cells that are neither."""
    if decimal == "." and not any(isinstance(cell, str) and "_" in cell for cell in cells):
        try:  # the usual column, which Python reads at once; it would take 1_0 for a number
            return np.array(cells, dtype=object).astype(float), []
        except (TypeError, ValueError):
            pass
    found = [np.nan if is_missing(cell, words) else to_number(cell, decimal) for cell in cells]
    bad = [place for place, number in enumerate(found) if number is None]
    return np.array(found, dtype=float), bad


def decimal_sign(cells: Iterable[str], delimiter: str) -> tuple[str | None, str]:
    """Return the decimal sign of some cells with one that shows it, or None with one that may be either.

    1.200 is a number with a decimal point and one with a point between thousands. Cells that commas separate
    have decimal points, unless one of them shows the opposite.
    """
    shows: dict[str, list[str]] = {".": [], ",": [], ".,": []}
    for cell in cells:
        if len(shows["."]) + len(shows[","]) == _ENOUGH:
            break
        if "," in cell or "." in cell:
            signs = "".join(sign for sign in ".," if to_number(cell, sign) is not None)
            shows.get(signs, []).append(cell)
    sign = max(".,", key=lambda sign: len(shows[sign]))
    if shows[sign]:
        return sign, shows[sign][0]
    doubtful = next((cell for cell in shows[".,"] if "," in cell or delimiter != ","), None)
    return (".", (shows[".,"] or [""])[0]) if doubtful is None else (None, doubtful)


def shown(number: float, decimal: str) -> str:
    """Return the shortest text that reads back as a number."""
    text = repr(float(number)).removesuffix(".0")
    if "e" in text and 1e-15 < abs(number) < 1e20:
        text = np.format_float_positional(number, trim="-")
    return text.replace(".", decimal)


def rounded(numbers: Array, cells: Iterable[Any], decimal: str) -> Array:
    """Return numbers with no more digits than the numbers in some cells have."""
    texts = [(cell if isinstance(cell, str) else shown(cell, decimal)).strip().lower() for cell in cells]
    mantissas = [text.partition("e")[0] for text in texts]
    if any(re.search(r"\de", text) for text in texts):
        digits = max(len(re.sub(r"\D", "", text).lstrip("0")) for text in mantissas)
        return np.array([float(f"{number:.{max(digits, 1)}g}") for number in numbers])
    most = max((len(text.partition(decimal)[2]) for text in mantissas), default=17)
    return np.round(numbers, most) + 0.0  # without -0.0
