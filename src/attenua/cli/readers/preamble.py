"""Lines above a table that are no part of it: Excel's ``sep=;``, and titles."""

import io
import re
from itertools import islice

import numpy as np

from attenua.cli.readers.cells import is_number
from attenua.cli.readers.source import shortened

_SEPARATOR = re.compile(r'"?sep=.?"?', re.IGNORECASE)
_CELL = re.compile(r'"[^"]*"|[^,;\t|"]+')
# Lines to judge by, and the fewest cells in the rows of a table that may have a title.
_LINES, _LEAST_CELLS = 50, 3


def without_preamble(content: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return a text with empty lines in place of those above the table, and a note on titles.

    A title is a line with a text in one cell only, above lines with three cells and more.
    """
    head = list(islice(io.BytesIO(content), _LINES))
    length = sum(map(len, head))
    lines = [line.decode(errors="replace").strip() for line in head]
    cells = [[cell for cell in _CELL.findall(line) if cell.strip(' "')] for line in lines]
    is_table = np.median([len(row) for row in cells if row] or [0]) >= _LEAST_CELLS
    titles = []
    for number, (line, row) in enumerate(zip(lines, cells, strict=True)):
        if not line or line.startswith("#"):
            continue
        if not _SEPARATOR.fullmatch(line):
            # An odd quote begins a cell of several lines.
            if not is_table or len(row) > 1 or line.count('"') % 2 or is_number(row[0] if row else "0"):
                break
            titles.append(shortened(row[0].strip(' "')))
        head[number] = head[number][len(head[number].rstrip(b"\r\n")) :]
    note = f"text above the table is left out: {', '.join(titles)}."
    return b"".join(head) + content[length:], (note,) if titles else ()
