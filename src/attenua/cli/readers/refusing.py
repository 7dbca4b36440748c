"""Files that cannot be read: whatever a library raises becomes one sentence, and sizes have a limit."""

import os
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attenua.cli.readers.source import TableError, first_line


@contextmanager
def refusing(source: str, kind: str) -> Iterator[None]:
    """Say that a file cannot be read as its kind, whatever goes wrong inside.

    Damaged files make the libraries of their formats raise nearly every error that Python has.
    """
    try:
        yield
    except (TableError, MemoryError, PermissionError):  # they have sentences of their own
        raise
    except Exception as error:
        raise TableError(f"{source} cannot be read as {kind}: {first_line(error)}.") from None


def refuse_too_large(source: str, n_bytes: int) -> None:
    """Refuse what would fill the memory, before it does: a small file can unpack to or claim any size."""
    limit = memory_limit()
    if n_bytes > limit:
        raise TableError(
            f"{source} does not fit in memory: it holds more than {limit / 1e9:.3g} GB, half of all there is."
        )


def unzipped_size(path: Path) -> int:
    """Return how many bytes the members of a zip file unpack to; none can be read beyond what it claims."""
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def memory_limit() -> int:
    """Return the largest number of bytes that a file may hold: half the memory, for it is copied once."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError):  # not on Windows
        return sys.maxsize
