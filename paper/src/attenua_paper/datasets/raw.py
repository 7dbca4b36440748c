"""The raw files as their publishers offer them, and the proof that some bytes are such a file.

Nothing that was downloaded or put in place by hand reaches a parser before it has passed here.
"""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

# Several times the 63 MB of the members that are read; an archive beyond that is not the right one.
_NESTED_LIMIT = 256 * 2**20


class WrongContent(ValueError):
    """A raw file does not hold the published bytes."""


@dataclass(frozen=True)
class TextFile:
    """One text file that is offered as it is.

    Parameters
    ----------
    name : str
        File name, in the data folder and in the result of `verified`.
    addresses : tuple of str
        Where it can be downloaded, the best first.
    sha256 : str
        Hash of the file with LF line ends.
    """

    name: str
    addresses: tuple[str, ...]
    sha256: str

    def verified(self, content: bytes) -> dict[str, bytes]:
        """Return ``{name: content}`` if the content is the published one, else raise `WrongContent`."""
        # A server or an editor may have changed LF to CRLF, which changes the hash and nothing else.
        for candidate in (content, content.replace(b"\r\n", b"\n")):
            if hashlib.sha256(candidate).hexdigest() == self.sha256:
                return {self.name: candidate}
        raise WrongContent(
            f"{len(content)} bytes with sha256 {hashlib.sha256(content).hexdigest()}, expected {self.sha256}"
        )

    def expected(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each file that is checked, and its sha256."""
        yield self.name, self.sha256


@dataclass(frozen=True)
class Member:
    """A file inside an archive: the exact name, the exact size and the hash."""

    name: str
    n_bytes: int
    sha256: str


@dataclass(frozen=True)
class ZipArchive:
    """A zip archive of which only known members are read, into memory.

    The hash of the archive as a whole is not known, and it may be offered inside another archive; the
    hashes of its members are known, and they are what is checked.

    Parameters
    ----------
    name : str
        File name in the data folder, and of the inner archive where one is wrapped in another.
    addresses : tuple of str
        Where it can be downloaded, the best first.
    root : str
        Folder in the archive that holds the members, ending in a slash. A copy packed without it is
        read as well.
    members : tuple of Member
        What to read. Names are relative to `root`.
    """

    name: str
    addresses: tuple[str, ...]
    root: str
    members: tuple[Member, ...]

    def verified(self, content: bytes) -> dict[str, bytes]:
        """Return the content of each member by name if all are as published, else raise `WrongContent`."""
        try:
            archive = self._unwrapped(content)
            return {member.name: self._read_member(archive, member) for member in self.members}
        except WrongContent:
            raise
        except Exception as error:  # a damaged zip can fail in any way of zipfile, zlib, bz2 and lzma
            raise WrongContent(f"not a readable zip archive ({error})") from error

    def expected(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each file that is checked, and its sha256."""
        for member in self.members:
            yield member.name, member.sha256

    def _unwrapped(self, content: bytes) -> zipfile.ZipFile:
        archive = zipfile.ZipFile(io.BytesIO(content))
        if self.name in archive.namelist():
            return zipfile.ZipFile(io.BytesIO(_read(archive, self.name, _NESTED_LIMIT)))
        return archive

    def _read_member(self, archive: zipfile.ZipFile, member: Member) -> bytes:
        # Only these exact names are ever looked up, so what else an archive holds cannot matter.
        name = self.root + member.name
        if name not in archive.namelist():
            name = member.name
        if name not in archive.namelist():
            raise WrongContent(f"the archive has no member {self.root + member.name!r}")
        content = _read(archive, name, member.n_bytes)
        found = hashlib.sha256(content).hexdigest()
        if found != member.sha256:
            raise WrongContent(f"member {name!r} has sha256 {found}, expected {member.sha256}")
        return content


def _read(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    # The size that the archive states may be a lie, so the reading itself is bounded.
    with archive.open(name) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise WrongContent(f"member {name!r} has more than {limit} bytes")
    return content
