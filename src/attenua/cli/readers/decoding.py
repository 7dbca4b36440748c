"""From the bytes of a stream to text: unpacked if it is packed, and decoded."""

import bz2
import codecs
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from attenua.cli.readers.source import TableError, first_line, needing, refuse_too_large, shortened

# Bytes of a text to read at once, and to judge its encoding by.
_BLOCK, _JUDGED = 2**20, 2**12
_FALLBACK = "cp1252"
# Letters around the first that is not UTF-8, in which its word is looked for.
_NEAR = 100
_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
# Controls that no text has; some other files can be decoded as cp1252, too.
_CONTROLS = bytes(sign for sign in range(32) if sign not in b"\t\n\v\f\r\x1b")


class Text(NamedTuple):
    """A text in UTF-8, and how it was encoded in its file."""

    content: bytes
    encoding: str = "utf-8"
    mark: bytes = b""  # the byte order mark, which is not in the content
    notes: tuple[str, ...] = ()

    def as_in_file(self, text: str) -> bytes:
        """Return a text as bytes like those of the file."""
        return self.mark + text.encode(self.encoding)


def read_text(stream: Any, source: str, encoding: str | None) -> Text:
    """Return the text of a stream, which is unpacked if it begins as a packed file does."""
    stream = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
    begins = stream.peek(6)
    for signature, ending in _SIGNATURES.items():
        if begins.startswith(signature):
            return _unpacked(UNPACKERS[ending], stream, source, encoding)
    return _read(stream, source, encoding)


def unpack_text(path: Path, source: str, encoding: str | None) -> Text:
    """Return the content of a compressed text."""
    return _unpacked(UNPACKERS[path.suffix.lower()], path, source, encoding)


def _unpacked(unpack: Callable[[Any], Any], packed: Any, source: str, encoding: str | None) -> Text:
    try:
        with unpack(packed) as stream:
            return _read(stream, source, encoding)
    except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error) as error:
        if isinstance(error, PermissionError | TableError):
            raise
        raise TableError(
            f"{source} cannot be unpacked; it may be damaged or cut short: {first_line(error)}."
        ) from None


def _read(stream: Any, source: str, encoding: str | None) -> Text:
    """Return a text; binary or endless content is refused on the way."""
    content = io.BytesIO()
    while block := stream.read(_BLOCK):
        wide = encoding or _wide_encoding(block)
        if b"\0" in block and not wide:
            raise TableError(f"{source} is not CSV text: it contains zero bytes.")
        content.write(block)
        refuse_too_large(source, content.tell())
    return _decoded(content.getvalue(), source, encoding)


def _wide_encoding(content: bytes) -> str:
    """Return UTF-16 if a text begins as such texts do, with a mark or with zeros in every other byte."""
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return encoding
    first, second = (content[start:_JUDGED:2] for start in (0, 1))
    zeros = [half.count(0) / max(1, len(half)) for half in (first, second)]
    if min(zeros) == 0 and max(zeros) > 0.5:
        return "utf-16-le" if zeros[1] else "utf-16-be"
    return ""


def _decoded(content: bytes, source: str, encoding: str | None) -> Text:
    encoding = None if encoding is None else _known(encoding, source)
    mark = next((mark for mark in _MARKS if content.startswith(mark)), b"")
    if mark and encoding in (None, "utf-8", "utf-16-le", "utf-16-be"):
        encoding, content = _MARKS[mark], content[len(mark) :]
    else:
        mark, encoding = b"", encoding or _wide_encoding(content) or None
    notes: tuple[str, ...] = ()
    try:
        text = content.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        if encoding is not None or not _may_be_fallback(content):
            raise TableError(_undecoded(content, source, encoding, error)) from None
        encoding, text = _FALLBACK, content.decode(_FALLBACK)
        notes = (_note_of_fallback(text, error.start),)
    if "\0" in text:
        raise TableError(f"{source} is not CSV text: it contains zero bytes.")
    encoding = encoding or "utf-8"
    return Text(content if encoding == "utf-8" else _in_utf8(text, source), encoding, mark, notes)


def _known(encoding: str, source: str) -> str:
    """Return Python's name of an encoding, one that writes no mark of its own."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)  # fails for codecs that are not of texts
    except (LookupError, ValueError):
        raise TableError(
            f"{source}: --encoding {shortened(encoding)} is not a known encoding, such as utf-8, cp1252, "
            "latin-1 or utf-16."
        ) from None
    return {"utf-16": "utf-16-le", "utf-8-sig": "utf-8"}.get(name, name)


def _may_be_fallback(content: bytes) -> bool:
    """Return whether bytes that are not UTF-8 may be a text in the encoding of Western Windows."""
    try:
        content.decode(_FALLBACK)
    except UnicodeDecodeError:
        return False
    return len(content.translate(None, _CONTROLS)) == len(content)


def _note_of_fallback(text: str, place: int) -> str:
    # Searched in a part of the text: to look for an end takes the square of the length.
    near = text[max(0, place - _NEAR) : place], text[place : place + _NEAR]
    before, after = re.search(r"[^\s,;|\"]*$", near[0]), re.match(r"[^\s,;|\"]*", near[1])
    word = "".join(found[0] for found in (before, after) if found)
    return (
        f"the text is not UTF-8 and is read as {_FALLBACK} (Western Windows), such as {shortened(word)}; "
        "--encoding names another."
    )


def _undecoded(content: bytes, source: str, encoding: str | None, error: UnicodeDecodeError) -> str:
    line = content[: error.start].count(b"\n") + 1
    expected = f"{encoding} text" if encoding else f"UTF-8 text, nor {_FALLBACK}"
    return f"{source}: line {line} is not {expected}; name the encoding with --encoding."


def _in_utf8(text: str, source: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # halves of surrogate pairs, which UTF-7 and others let pass
        raise TableError(f"{source} is not text: it contains halves of characters.") from None


def _open_zst(packed: Any) -> Any:
    with needing(str(getattr(packed, "name", packed)), ".zst files", "pyarrow", "cli"):
        import pyarrow as pa
    return pa.input_stream(packed, compression="zstd")


UNPACKERS: dict[str, Callable[[Any], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zst,
}
_SIGNATURES = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\x00": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
}
