"""Lines above a table that are no part of it: Excel's ``sep=;``, and titles."""

import io
import re
from itertools import islice

import numpy as np

from attenua.cli.readers.cells import has_decimal_comma, is_missing, is_number
from attenua.cli.readers.source import shortened

_SEPARATOR = re.compile(r'"?sep=.?"?', re.IGNORECASE)
_CELL = re.compile(r'"[^"]*"|[^,;\t|"]+')
# Lines to judge by, and the fewest cells in the rows of a table that may have a title.
_LINES, _LEAST_CELLS = 50, 3
# A longer line is no title; it is cut.
_LONGEST = 2**20


def without_preamble(content: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return a text with empty lines in place of those above the table, and a note on titles.

    A title is a line with a text in one cell only, above lines with three cells and more.
    """
    head = _first_lines(content)
    length = sum(map(len, head))
    titles = []
    for number, line in enumerate(line.decode(errors="replace").strip(" \r\n") for line in head):
        if line.startswith("#"):
            continue
        if line and not _SEPARATOR.fullmatch(line):
            cells = _cells(line)
            # An odd quote begins a cell of several lines.
            is_text = len(cells) == 1 and not is_number(cells[0]) and line.count('"') % 2 == 0
            if not is_text or _usual_cells(content) < _LEAST_CELLS:
                break
            titles.append(shortened(cells[0].strip(' "')))
        head[number] = head[number][len(head[number].rstrip(b"\r\n")) :]
    note = f"text above the table is left out: {', '.join(titles)}."
    if sum(map(len, head)) == length:  # nothing changed, so nothing is copied
        return content, ()
    return b"".join(head) + content[length:], (note,) if titles else ()


def _first_lines(content: bytes) -> list[bytes]:
    stream = io.BytesIO(content)
    return list(islice(iter(lambda: stream.readline(_LONGEST), b""), _LINES))


def _usual_cells(content: bytes) -> float:
    """Return how many cells half of the first lines have at least, empty lines left out."""
    lines = [line.decode(errors="replace") for line in _first_lines(content)]
    found = [1 if _is_between_blanks(line) else len(_cells(line)) for line in lines]
    return float(np.median([number for number in found if number]))


def _is_between_blanks(line: str) -> bool:
    """Whether the commas of a line are decimal signs, in numbers between blanks; a name may come first."""
    cells = [cell.strip('"') for cell in line.split()]
    numbers = [cell for cell in cells[1:] if not is_missing(cell)]
    has_commas = len(cells) > 1 and any(map(has_decimal_comma, cells)) and not set(";\t|") & set(line)
    return has_commas and all(is_number(cell, ",") for cell in numbers)


def _cells(line: str) -> list[str]:
    """Return the cells of a line that are not empty, by any separator but blanks."""
    return [cell for cell in _CELL.findall(line) if cell.strip(' "\r\n')]
