"""From a file to a sheet: its cells, the names of its columns, and what was assumed about it."""

import bz2
import gzip
import io
import lzma
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from attenua.cli.cells import (
    decimal_sign,
    has_thousands,
    is_blank,
    is_text,
    quoted,
    shortened,
    shown,
    to_number,
)
from attenua.cli.header import counts_rows, is_header
from attenua.cli.layout import (
    Cells,
    Record,
    TableError,
    count_filled,
    delimiter_of,
    is_units_row,
    n_summaries,
    records_of,
    table_of,
)

TEXTS = (".csv", ".tsv", ".tab", ".txt", ".dat")
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_FALLBACK = "cp1252"
_UNPACKERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": lambda packed: pa.input_stream(packed, compression="zstd"),
}
# A small file can unpack to any size. Few rows are not larger than this.
_MOST_BYTES = 4_000_000_000
# Options that do not apply to files of an ending. To texts, --sheet does not.
_NOT_FOR = {
    ".xlsx": ("sep", "encoding"),
    **dict.fromkeys((".parquet", ".feather", ".npy"), ("sep", "encoding", "decimal", "header", "sheet")),
}
_JUDGED_ROWS, _JUDGED_CELLS = 200, 200_000


@dataclass(frozen=True)
class Reading:
    """How the user wants a file to be read; None is guessed. The fields are options of the shell."""

    columns: Sequence[str] = ()
    drop: Sequence[str] = ()
    id_column: str | None = None
    group_column: str | None = None
    colour_by: str | None = None
    header: bool | None = None
    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    na: Sequence[str] = ()
    sheet: str | None = None
    names: Sequence[str] | None = None  # of the columns that a model was fitted to


@dataclass
class Sheet:
    """The rows of a table as a file has them: texts, or numbers where the file has types."""

    source: str
    notes: list[str] = field(default_factory=list)
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)  # its columns are counted from 0
    names: list[str] | None = None
    decimal: str = "."
    index: pd.Index | None = None  # of a data frame, if it names the rows
    image_shape: tuple[int, ...] = ()
    # What it takes to write a text or a book again.
    records: list[Record] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    delimiter: str = ""
    encoding: str = "utf-8"
    book: tuple[bytes, str] | None = None  # an Excel file, and the name of the sheet

    def cells(self, position: int) -> list[Any]:
        """Return the cells of a column; those of a file with types that miss a value are None."""
        if self.records:  # of texts and sheets, quickly
            return [record.cells[position] for record in self.records]
        column = self.frame[position]
        return [None if blank else cell for cell, blank in zip(column.tolist(), column.isna(), strict=True)]

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        """Where each name stands."""
        found: dict[str, list[int]] = {}
        for position, name in enumerate(self.names or ()):
            found.setdefault(name, []).append(position)
        return found

    @cached_property
    def headings(self) -> list[str]:
        """The names of the columns, or column_1, column_2, ... where they have none."""
        names = self.names or [""] * self.frame.shape[1]
        return [name or f"column_{position + 1}" for position, name in enumerate(names)]

    def called(self, position: int) -> str:
        """Return what to call a column in a sentence."""
        name = self.names[position] if self.names else ""
        return f"column {shortened(name)}" if name else f"column {position + 1}"

    def place(self, row: int) -> str:
        """Return where a row is, counted from 1."""
        return f"row {row + 1}" + (f" (line {self.records[row].first + 1})" if self.records else "")


def fill_sheet(sheet: Sheet, path: Path, how: Reading) -> None:
    """Read a file, or standard input for ``-``, into a sheet."""
    if str(path) == "-":
        content = sys.stdin.buffer.read(_MOST_BYTES) if sys.stdin is not None else b""
        return _read_text(sheet, content, how)
    if path.is_dir():
        raise TableError("it is a folder; give the name of a file.")
    ending = path.suffix.lower()
    for option in _NOT_FOR.get(ending, ("sheet",)):
        if getattr(how, option) is not None:
            raise TableError(f"--{option} does not apply to a {ending[1:] or 'text'} file.")
    # What a shell puts in place of a command's output has no ending.
    if Path(re.sub(r"\.(gz|bz2|xz|zst)$", "", path.name.lower())).suffix in (*TEXTS, ""):
        with path.open("rb") as file:
            return _read_text(sheet, file.read(_MOST_BYTES), how)
    if ending == ".xlsx":
        return _read_excel(sheet, path.read_bytes(), how)
    if ending in (".parquet", ".feather"):
        return _read_frame(sheet, pd.read_parquet(path) if ending == ".parquet" else pd.read_feather(path))
    if ending == ".npy":
        return _read_matrix(sheet, np.load(path, allow_pickle=False))
    known = ", ".join([*TEXTS, ".xlsx", ".parquet", ".feather", ".npy"])
    raise TableError(f"its ending is none of {known}, or of a text packed as .gz, .bz2, .xz or .zst.")


def first_line(error: Exception) -> str:
    """Return the first line of a library's message, which may quote the file."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return "".join(sign if sign.isprintable() else "?" for sign in text.splitlines()[0][:300].rstrip("."))


# --- text ---------------------------------------------------------------------------------------------------


def _read_text(sheet: Sheet, content: bytes, how: Reading) -> None:
    """Read the table of a text, which may be packed."""
    text, sheet.encoding = _decoded(_unpacked(content), how.encoding, sheet.notes)
    if not text.strip():
        raise TableError("it is empty.")
    if re.match(r"\s*<(!doctype )?html", text, re.IGNORECASE):
        raise TableError("it is a web page (HTML), not a table.")
    sheet.lines = io.StringIO(text, newline="").readlines()
    told = re.match(r'"?sep=(.)', sheet.lines[0], re.IGNORECASE)
    sheet.delimiter = delimiter_of(sheet.lines, how.sep or (told[1] if told else None))
    _take_rows(sheet, *table_of(records_of(sheet.lines, sheet.delimiter), sheet.notes), how)


def _unpacked(content: bytes) -> bytes:
    """Return bytes as they are, or unpacked if they begin as a packed file does."""
    unpack = next((_UNPACKERS[mark] for mark in _UNPACKERS if content.startswith(mark)), None)
    if unpack is not None:
        try:
            with unpack(io.BytesIO(content)) as stream:
                content = stream.read(_MOST_BYTES)
        except Exception as error:
            raise TableError(f"it is damaged or cut short: {first_line(error)}.") from None
    if len(content) == _MOST_BYTES:
        raise TableError(f"it holds more than {_MOST_BYTES / 1e9:g} GB, which is no table of few rows.")
    return content


def _decoded(content: bytes, given: str | None, notes: list[str]) -> tuple[str, str]:
    """Return a text and its encoding."""
    mark = next((mark for mark in _MARKS if content.startswith(mark)), b"")
    encoding = _MARKS.get(mark, given or "utf-8")
    try:
        text = content.decode(encoding)
    except LookupError:
        raise TableError(f"--encoding {shortened(encoding)} is not known; cp1252 and latin-1 are.") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        if given or mark or b"\0" in content:
            raise TableError(f"line {line} is not {encoding} text; --encoding names another.") from None
        encoding, text = _FALLBACK, content.decode(_FALLBACK, errors="replace")
        if "\ufffd" in text:
            raise TableError(
                f"line {line} is neither UTF-8 nor {_FALLBACK}; --encoding names its encoding."
            ) from None
        found = re.search(r"\w*[^\x00-\x7f]\w*", text)
        word = shortened(found[0] if found else "")
        notes.append(
            f"it is not UTF-8 but {_FALLBACK} (Western Windows), such as {word}; --encoding overrules."
        )
    if "\0" in text:
        raise TableError("it holds zero bytes and is no text; UTF-16 without a mark needs --encoding utf-16.")
    return text, encoding


def _take_rows(sheet: Sheet, records: list[Record], comment: Cells | None, how: Reading) -> None:
    """Take the rows that are data, and what the others say."""
    words = {word.strip() for word in how.na}
    rows = [each.cells for each in records]
    if words:  # what the user calls missing is no text
        rows = [["NA" if str(cell).strip() in words else cell for cell in row] for row in rows]
    first: Cells = rows[0]
    below, width = rows[1:], len(rows[-1])
    decimal = sheet.decimal = how.decimal or _guessed_decimal(sheet, below or rows)
    header, judged = how.header, below[: min(_JUDGED_ROWS, max(10, _JUDGED_CELLS // width))]
    if len(first) < width:
        first, header = _whole_header(sheet, first, below, how), True
    elif (
        comment is not None
        and header is not False
        and any(to_number(each, decimal) is not None for each in first)
    ):
        sheet.notes.append(f"the header is the comment above the rows, {quoted(comment)}.")
        first, header = comment, True
        rows, records = [[*comment], *rows], [records[0], *records]
    elif header is None:
        known = how.names is not None and set(how.names) <= set(_as_names(first))
        header = known or is_header(first, judged, decimal, sheet.notes)
    start = int(header)
    if header and is_units_row(rows[1 : 1 + len(judged)], decimal):
        sheet.notes.append(f"the row under the header, {quoted(rows[1])}, holds units and is left out.")
        start = 2
    stop = len(rows) - n_summaries(rows[start:], decimal, sheet.notes)
    if stop < len(rows):
        sums = "; ".join(map(quoted, rows[stop:]))
        sheet.notes.append(f"the end of the table sums up the rows above and is left out: {sums}.")
    sheet.names, sheet.records = _as_names(first) if header else None, records[start:stop]
    sheet.frame = pd.DataFrame([each.cells for each in sheet.records], columns=range(width), dtype=object)


def _as_names(cells: Cells) -> list[str]:
    return ["" if is_blank(cell) else " ".join(str(cell).split()) for cell in cells]


def _guessed_decimal(sheet: Sheet, rows: Sequence[Cells]) -> str:
    cells = [cell for row in rows for cell in row if isinstance(cell, str)]
    sign, example = decimal_sign(cells, sheet.delimiter)
    if sign is None:
        why = "may have a decimal sign or one between thousands, and no other number tells"
        raise TableError(f"{shortened(example)} {why}; --decimal . or --decimal , names the decimal sign.")
    called, other = ("points", ",") if sign == "." else ("commas", ".")
    if sign == "," or to_number(example, other) is not None:
        number = to_number(example, sign)
        sheet.notes.append(f"{called} are decimal ({example} is {number}); --decimal {other} overrules.")
    grouped = next((cell for cell in cells if has_thousands(cell, sign)), None)
    if grouped is not None:
        sheet.notes.append(
            f"signs stand between thousands ({grouped} is {shown(to_number(grouped, sign) or 0, '.')})."
        )
    return sign


def _whole_header(sheet: Sheet, first: Cells, below: Sequence[Cells], how: Reading) -> Cells:
    """Return a header with one cell more: of the row names, or at the end, where all rows are empty."""
    if all(is_blank(row[-1]) for row in below):
        return [*first, ""]
    labels = [str(row[0]).strip() for row in below]
    names_rows = all(map(is_text, labels)) and len(set(labels)) == len(labels)
    if names_rows or counts_rows(labels) or how.id_column == "1":
        sheet.notes.append("the header is one cell short, so its names begin with the second column.")
        return ["", *first]
    raise TableError(
        f"the header has {len(first)} cells ({quoted(first)}), but the rows have {len(below[0])} "
        f"({quoted(below[0])}). If the first holds names of rows, give --id-column 1; if commas or blanks "
        "inside numbers cut them, --sep names the sign between cells, such as ';'."
    )


# --- files with types ---------------------------------------------------------------------------------------


def _read_excel(sheet: Sheet, content: bytes, how: Reading) -> None:
    """Read a sheet of an Excel file, by default the first that is not hidden."""
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of styles, pictures and menus, which it leaves out
        formulas = openpyxl.load_workbook(io.BytesIO(content))
        values = openpyxl.load_workbook(io.BytesIO(content), data_only=True)
    titles = {each.title: each.sheet_state == "visible" for each in values.worksheets}
    if how.sheet is not None and how.sheet not in titles:
        raise TableError(f"it has no sheet {how.sheet!r}; --sheet takes {', '.join(map(repr, titles))}.")
    title = how.sheet or max(titles, key=lambda each: titles[each])
    if len(titles) > 1 and how.sheet is None:
        others = [repr(each) + " (hidden)" * (not titles[each]) for each in titles if each != title]
        sheet.notes.append(f"the sheet {title!r} is read; --sheet reads another: {', '.join(others)}.")
    records: list[Record] = []
    gap, hidden = False, []
    for row, cells in enumerate(values[title].iter_rows()):
        for cell in cells:
            if cell.value is None and formulas[title][cell.coordinate].data_type == "f":
                why = "holds a formula without a value; open and save the file in Excel or LibreOffice"
                raise TableError(f"cell {cell.coordinate} {why}.")
        texts = [_excel_value(cell.value) for cell in cells]
        record = Record(row, row, texts, count_filled(texts), after_gap=gap)
        gap = not record.n_filled
        records += [] if gap else [record]
        if not gap and values[title].row_dimensions[row + 1].hidden:
            hidden.append(f"row {row + 1}")
    if not records:
        raise TableError(f"its sheet {title!r} is empty.")
    hidden += [f"column {name}" for name, each in values[title].column_dimensions.items() if each.hidden]
    if hidden:
        which = ", ".join(hidden[:8]) + ", ..." * (len(hidden) > 8)
        sheet.notes.append(f"what Excel hides is read too (hidden: {which}).")
    sheet.book, sheet.delimiter = (content, title), ";"  # no commas separate the cells
    _take_rows(sheet, table_of(records, sheet.notes)[0], None, how)


def _excel_value(value: Any) -> Any:
    """Return a number as it is and anything else as a text of one line."""
    return value if value is None or isinstance(value, int | float) else " ".join(str(value).split())


def _read_frame(sheet: Sheet, frame: pd.DataFrame) -> None:
    """Take a frame with its types; its index names the rows unless it counts them."""
    sheet.index = None if isinstance(frame.index, pd.RangeIndex) else frame.index
    sheet.names = [str(name) for name in frame.columns]
    sheet.frame = frame.reset_index(drop=True).set_axis(range(frame.shape[1]), axis=1)


def _read_matrix(sheet: Sheet, X: np.ndarray[Any, Any]) -> None:
    """Take a matrix, or a stack of images as a row for each image."""
    if X.ndim < 2 or X.dtype.kind not in "fiub":
        raise TableError(f"it must hold a matrix of real numbers; it has shape {X.shape} and type {X.dtype}.")
    if X.ndim > 2:
        sheet.image_shape = X.shape[1:]
        sides = " x ".join(map(str, sheet.image_shape))
        sheet.notes.append(f"a stack of {len(X):,} images of {sides} is read as a row for each image.")
    sheet.frame = pd.DataFrame(X.reshape(len(X), -1))
