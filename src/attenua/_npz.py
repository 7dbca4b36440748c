"""Npz files that are checked before anything in them is read.

Names, sizes and types in an npz file are not trusted. No pickle is opened, no code in the file runs, and
reading needs no more memory than the caller allows.
"""

import math
import os
import re
import stat
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Far more than our files need; zipfile reads the whole directory before it reports how long it is.
_MOST_MEMBERS, _MOST_DIRECTORY_BYTES = 64, 2**16
_MOST_HEADER_BYTES = 1024
# The end of a zip file and, where something in it lies beyond 2 GiB (zip64), what precedes that end.
_END, _END64, _LOCATOR64 = struct.Struct("<4s4H2LH"), struct.Struct("<4sQ2H2L4Q"), struct.Struct("<4sLQL")
_SIDE = rb"[0-9]{1,18}"
# Exactly what numpy writes today: numpy's own reader evaluates the header, and repairs old ones.
_HEADER = re.compile(
    rb"\{'descr': '([<|][a-zA-Z][0-9]{1,4})', 'fortran_order': (True|False), "
    rb"'shape': \((|%(side)b,|%(side)b(?:, %(side)b)+)\), \} *\n" % {b"side": _SIDE}
)
_UTF8_NAMES = 0x800


class NpzError(ValueError):
    """What is wrong with a file, as the end of a sentence that names it."""


class PackedError(NpzError):
    """A member is compressed where compression is not allowed."""


class Header(NamedTuple):
    """Type and shape of a stored array; its size in the file matches the shape."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    n_bytes: int


class Npz:
    """The members of an open npz file.

    Attributes
    ----------
    names : list of str
        Names of the members, all different.
    """

    def __init__(self, archive: zipfile.ZipFile):
        self._archive = archive
        self._members = {member.filename: member for member in archive.infolist()}
        self.names = list(self._members)

    def content(self, name: str) -> bytes:
        """Return the bytes of a member."""
        with _explain_damage(name), self._archive.open(self._members[name]) as stream:
            return _read_exactly(stream, self._members[name].file_size)

    def sum(self, name: str) -> int:
        """Return the checksum that the archive has of a member, which reading it checks."""
        return self._members[name].CRC

    def header(self, name: str) -> Header:
        """Return the type and shape of an array without reading it."""
        with _explain_damage(name), self._archive.open(self._members[name]) as stream:
            header = _read_header(stream)
            stored = self._members[name].file_size - header.n_bytes
        if math.prod(header.shape) * header.dtype.itemsize != stored:
            raise NpzError(f"{name} has another size than its shape {header.shape} needs")
        return header

    def array(self, name: str) -> NDArray[Any]:
        """Return an array."""
        header = self.header(name)
        flat = np.frombuffer(self.content(name), header.dtype, offset=header.n_bytes)
        # A writable copy with the same memory layout.
        return flat.reshape(header.shape, order=header.order).copy(order="K")


@contextmanager
def opened_npz(path: str | os.PathLike[str], *, most_unpacked: int | None = None) -> Iterator[Npz]:
    """Open an npz file and check everything that can be checked before its members are read.

    Folders, devices and pipes are refused without waiting for them. Compressed members are refused, so that
    the size of the file bounds the memory, unless `most_unpacked` gives the bytes that all members together
    may unpack to. Raises OSError if the file cannot be read, and NpzError if it is not as it should be; so do
    the methods of the result.
    """
    with _open_without_waiting(path) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise NpzError("it is not an ordinary file")
        with _explain_damage("the archive"):
            _check_end(file, status.st_size)
            archive = zipfile.ZipFile(file)
        with archive:
            _check_members(archive.infolist(), status.st_size, most_unpacked)
            yield Npz(archive)


def _open_without_waiting(path: str | os.PathLike[str]) -> BinaryIO:
    def opener(path: str, flags: int) -> int:
        return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))

    try:
        return open(os.fspath(path), "rb", opener=opener)
    except ValueError as error:  # a null byte in the name
        raise NpzError(str(error)) from None


@contextmanager
def _explain_damage(what: str) -> Iterator[None]:
    try:
        yield
    except NpzError:
        raise
    except Exception as error:  # a damaged zip can raise any error of zipfile, struct and zlib
        # zipfile may quote the whole file in place of a name.
        raise NpzError(f"{what} is damaged ({type(error).__name__}: {str(error)[:100]})") from None


def _check_end(file: BinaryIO, size: int) -> None:
    """Refuse files that are not a zip file, are one part of several, or have an odd directory."""
    most = _END64.size + _LOCATOR64.size + _END.size
    file.seek(max(0, size - most))
    tail = file.read(most)
    if len(tail) < _END.size:
        raise NpzError("it is too short for a zip file")
    signature, disk, first_disk, here, total, length, start, comment = _END.unpack(tail[-_END.size :])
    if signature != b"PK\x05\x06" or comment:
        raise NpzError("it does not end as a zip file does")
    end = size - _END.size
    if tail[-_END.size - _LOCATOR64.size :].startswith(b"PK\x06\x07"):
        end -= _END64.size + _LOCATOR64.size
        _, _, place, _ = _LOCATOR64.unpack_from(tail, _END64.size)
        signature, _, _, _, disk, first_disk, here, total, length, start = _END64.unpack_from(tail)
        if signature != b"PK\x06\x06" or place != end:
            raise NpzError("its directory is in the wrong place")
    if disk or first_disk or here != total:
        raise NpzError("it is one of several parts of a zip file")
    if start + length != end:
        raise NpzError("its directory is in the wrong place")
    if total > _MOST_MEMBERS or length > _MOST_DIRECTORY_BYTES:
        raise NpzError(f"it has more than {_MOST_MEMBERS} members, or very long names")


def _check_members(members: list[zipfile.ZipInfo], size: int, most_unpacked: int | None) -> None:
    names = [member.filename for member in members]
    for member in members:
        name = member.filename[:60]
        if names.count(member.filename) > 1:
            raise NpzError(f"it has several members called {name!r}")
        packed = member.compress_type != zipfile.ZIP_STORED
        if packed and most_unpacked is None:
            raise PackedError(f"{name!r} is compressed")
        if packed and member.compress_type != zipfile.ZIP_DEFLATED:
            raise NpzError(f"{name!r} is compressed by an unsupported method")
        if member.flag_bits & ~_UTF8_NAMES or member.volume:
            raise NpzError(f"{name!r} is encrypted or stored in an unsupported way")
        if not packed and member.file_size != member.compress_size:
            raise NpzError(f"{name!r} has two different sizes")
    if sum(member.compress_size for member in members) > size:
        raise NpzError("its members claim to be larger than the file")
    if most_unpacked is not None and sum(member.file_size for member in members) > most_unpacked:
        raise NpzError(f"its members claim more than {most_unpacked:,} bytes")


def _read_exactly(stream: IO[bytes], n_bytes: int) -> bytes:
    content = stream.read(n_bytes)
    if len(content) != n_bytes:
        raise EOFError(f"{len(content)} of {n_bytes} bytes")
    return content


def _read_header(stream: IO[bytes]) -> Header:
    magic, length = _read_exactly(stream, 8), int.from_bytes(_read_exactly(stream, 2), "little")
    if magic != b"\x93NUMPY\x01\x00" or length > _MOST_HEADER_BYTES:
        raise ValueError("it does not begin as an array does")
    found = _HEADER.fullmatch(_read_exactly(stream, length))
    if found is None:
        raise ValueError("it is not a plain array of numbers or texts")
    dtype, fortran, sides = found.groups()
    shape = tuple(int(side) for side in sides.split(b",") if side)
    if 0 in shape:
        raise ValueError(f"it is empty, of shape {shape}")
    return Header(np.dtype(dtype.decode()), shape, "F" if fortran == b"True" else "C", 10 + length)
