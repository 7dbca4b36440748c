"""From a path to an open file, whatever its kind."""

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from attenua._extras import how_to_install
from attenua.cli.readers.arrays import h5ad_source, npy_source, npz_source
from attenua.cli.readers.arrow import ArrowSource
from attenua.cli.readers.csv_text import CsvSource
from attenua.cli.readers.excel import sheet_as_csv
from attenua.cli.readers.form import CsvOptions
from attenua.cli.readers.refusing import refuse_too_large
from attenua.cli.readers.source import Source, TableError, first_line

# Bytes of a text that are read in one go.
_BLOCK = 2**20
_TEXTS = (".csv", ".tsv", ".txt")
_EXCEL = ".xlsx"
_OPENERS: dict[str, Any] = {
    ".parquet": ArrowSource,
    ".feather": ArrowSource,
    ".npy": npy_source,
    ".npz": npz_source,
    ".h5ad": h5ad_source,
}


def open_source(path: str | Path, wishes: CsvOptions, sheet: str | None) -> Source:
    """Open a file, or standard input for ``-``."""
    if str(path) == "-":
        _refuse_given("standard input", "an Excel file", {"--sheet": sheet})
        source, stream = "standard input", sys.stdin.buffer if sys.stdin is not None else io.BytesIO()
        return CsvSource(_text(stream, source), source, wishes)
    path = Path(path)
    if path.is_dir():
        raise TableError(f"{path} is a folder; give the name of a file.")
    if not path.exists():
        raise TableError(f"{path} does not exist.")
    try:
        return _open(path, str(path), wishes, sheet)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror or error}.") from None


def _open(path: Path, source: str, wishes: CsvOptions, sheet: str | None) -> Source:
    ending = path.suffix.lower()
    packed = _UNPACKERS.get(ending)
    kind = Path(path.stem).suffix.lower() if packed else ending
    if ending == _EXCEL:
        _refuse_given(source, "a CSV file", {"--decimal": wishes.decimal})
        return CsvSource(sheet_as_csv(path, source, sheet), source, replace(wishes, decimal="."))
    _refuse_given(source, "an Excel file", {"--sheet": sheet})
    if kind in _TEXTS:
        if packed:
            return CsvSource(_unpacked(path, source, packed), source, wishes)
        with path.open("rb") as stream:
            return CsvSource(_text(stream, source), source, wishes)
    opener = _OPENERS.get(ending)
    if opener is None:
        known = ", ".join([*_TEXTS, _EXCEL, *_OPENERS])
        raise TableError(
            f"{path} has the ending {path.suffix!r}; known are {known}, and texts packed as "
            f"{', '.join(_TEXTS[0] + ending for ending in _UNPACKERS)}."
        )
    header = "--header" if wishes.header else "--no-header"
    _refuse_given(source, "a CSV file", {"--decimal": wishes.decimal})
    _refuse_given(source, "a CSV or Excel file", {header: wishes.header})
    return opener(path, source)


def _refuse_given(source: str, needed: str, options: dict[str, Any]) -> None:
    for option, value in options.items():
        if value is not None:
            raise TableError(f"{source}: {option} needs {needed}.")


def _unpacked(path: Path, source: str, open_packed: Callable[[Path], Any]) -> bytes:
    try:
        with open_packed(path) as stream:
            return _text(stream, source)
    except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error) as error:
        if isinstance(error, PermissionError | TableError):
            raise
        raise TableError(
            f"{source} cannot be unpacked; it may be damaged or cut short: {first_line(error)}."
        ) from None


def _text(stream: Any, source: str) -> bytes:
    """Return what a stream holds; what is no text, or does not end, is refused on the way."""
    content = io.BytesIO()
    while block := stream.read(_BLOCK):
        if b"\0" in block:
            raise TableError(f"{source} is not a CSV text: it holds zero bytes.")
        content.write(block)
        refuse_too_large(source, content.tell())
    return content.getvalue()


def _open_zst(path: Path) -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise TableError(f"{path}: .zst files need pyarrow: {how_to_install('cli')} ({error}).") from None
    return pa.input_stream(path, compression="zstd")


_UNPACKERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zst,
}
