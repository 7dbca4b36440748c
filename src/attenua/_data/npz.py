"""An npz file of which nothing is believed: names, sizes and types are checked before an array is read.

No pickle is opened, no code of the file runs, and what is read needs no more memory than the caller allows.
"""

import math
import os
import re
import stat
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Far more than our files have; zipfile reads the whole directory before it says how long it is.
_MOST_MEMBERS, _MOST_DIRECTORY_BYTES = 64, 2**16
_MOST_HEADER_BYTES = 1024
# The end of a zip file and, where something in it lies beyond 2 GiB (zip64), what comes before that end.
_END, _END64, _LOCATOR64 = struct.Struct("<4s4H2LH"), struct.Struct("<4sQ2H2L4Q"), struct.Struct("<4sLQL")
_SIDE = rb"[0-9]{1,18}"
# What numpy writes, and nothing else: its own reader evaluates the header, and mends old ones.
_HEADER = re.compile(
    rb"\{'descr': '([<|][a-zA-Z][0-9]{1,4})', 'fortran_order': (True|False), "
    rb"'shape': \((|%(side)b,|%(side)b(?:, %(side)b)+)\), \} *\n" % {b"side": _SIDE}
)
_UTF8_NAMES = 0x800


class NpzError(ValueError):
    """What is wrong with a file, as the end of a sentence that names it."""


class PackedError(NpzError):
    """A member is compressed, where none may be."""


class Header(NamedTuple):
    """What an array of a file says of itself; its size is known to be that of the shape."""

    dtype: np.dtype
    shape: tuple[int, ...]
    order: str
    n_bytes: int


class Npz:
    """The members of an open npz file.

    Attributes
    ----------
    names : list of str
        Of the members, all different.
    """

    def __init__(self, archive: zipfile.ZipFile):
        self._archive = archive
        self._members = {member.filename: member for member in archive.infolist()}
        self.names = list(self._members)

    def content(self, name: str) -> bytes:
        """Return the bytes of a member."""
        with _damage_told(name), self._archive.open(self._members[name]) as stream:
            return _exactly(stream, self._members[name].file_size)

    def header(self, name: str) -> Header:
        """Return the type and shape of an array without reading it."""
        with _damage_told(name), self._archive.open(self._members[name]) as stream:
            header = _read_header(stream)
            stored = self._members[name].file_size - header.n_bytes
        if math.prod(header.shape) * header.dtype.itemsize != stored:
            raise NpzError(f"{name} has another size than its shape {header.shape} needs")
        return header

    def array(self, name: str) -> NDArray:
        """Return an array."""
        header = self.header(name)
        flat = np.frombuffer(self.content(name), header.dtype, offset=header.n_bytes)
        array = flat.reshape(header.shape, order=header.order)
        return array.copy(order="K")  # which can be written to, and goes through memory as before


@contextmanager
def opened_npz(path: str | os.PathLike[str], *, most_unpacked: int | None = None) -> Iterator[Npz]:
    """Open an npz file and check all that can be known before its members are read.

    Parameters
    ----------
    path : path
        The file, or a link to it. A folder, a device and a pipe are refused, and not waited for.
    most_unpacked : int, optional
        Read members that are packed (by deflate), if all of them take at most so many bytes unpacked. By
        default packed members are refused: memory is then bounded by the size of the file.

    Raises
    ------
    OSError
        If there is no such file, or it may not be read.
    NpzError
        If something is wrong with it, here or in a method of what is returned.
    """
    with _opened(path) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise NpzError("it is not an ordinary file")
        with _damage_told("the archive"):
            _check_end(file, status.st_size)
            archive = zipfile.ZipFile(file)
        with archive:
            _check_members(archive.infolist(), status.st_size, most_unpacked)
            yield Npz(archive)


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    def without_waiting(path: str, flags: int) -> int:
        return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))

    try:
        return open(os.fspath(path), "rb", opener=without_waiting)
    except ValueError as error:  # a null byte in the name
        raise NpzError(str(error)) from None


@contextmanager
def _damage_told(what: str) -> Iterator[None]:
    try:
        yield
    except NpzError:
        raise
    except Exception as error:  # a damaged zip can fail in any way of zipfile, struct and zlib
        # zipfile quotes what it found instead of a name, which may be the whole file.
        raise NpzError(f"{what} is damaged ({type(error).__name__}: {str(error)[:100]})") from None


def _check_end(file: BinaryIO, size: int) -> None:
    """Refuse what is no zip file, is a part of one, or has a directory that is not small and at its end."""
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
            raise NpzError("its directory is not where its end says")
    if disk or first_disk or here != total:
        raise NpzError("it is one of several parts of a zip file")
    if start + length != end:
        raise NpzError("its directory is not where its end says")
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
            raise NpzError(f"{name!r} is compressed in a way that is not ours")
        if member.flag_bits & ~_UTF8_NAMES or member.volume:
            raise NpzError(f"{name!r} is encrypted, or stored in a way that is not ours")
        if not packed and member.file_size != member.compress_size:
            raise NpzError(f"{name!r} has two different sizes")
    if sum(member.compress_size for member in members) > size:
        raise NpzError("its members claim to be larger than the file")
    if most_unpacked is not None and sum(member.file_size for member in members) > most_unpacked:
        raise NpzError(f"its members claim more than {most_unpacked:,} bytes")


def _exactly(stream: BinaryIO, n_bytes: int) -> bytes:
    content = stream.read(n_bytes)
    if len(content) != n_bytes:
        raise EOFError(f"{len(content)} of {n_bytes} bytes")
    return content


def _read_header(stream: BinaryIO) -> Header:
    magic, length = _exactly(stream, 8), int.from_bytes(_exactly(stream, 2), "little")
    if magic != b"\x93NUMPY\x01\x00" or length > _MOST_HEADER_BYTES:
        raise ValueError("it does not begin as an array does")
    found = _HEADER.fullmatch(_exactly(stream, length))
    if found is None:
        raise ValueError("it is no plain array of numbers or texts")
    dtype, fortran, sides = found.groups()
    shape = tuple(int(side) for side in sides.split(b",") if side)
    if 0 in shape:
        raise ValueError(f"it is empty, of shape {shape}")
    return Header(np.dtype(dtype.decode()), shape, "F" if fortran == b"True" else "C", 10 + length)
