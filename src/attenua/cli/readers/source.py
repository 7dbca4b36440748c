"""The interface of an open file, the table that comes out, and how a file is refused."""

import os
import sys
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from attenua._extras import how_to_install

_LONGEST, _LONGEST_LINE = 60, 300


class TableError(ValueError):
    """A sentence that says what is wrong with a file, and where in it."""


@dataclass(frozen=True)
class Table:
    """Rows of numbers, with labels and names from the file."""

    X: Any  # ndarray or csr matrix of numbers; NaN is a missing cell
    names: list[str] | None  # of the columns, if the file has them
    groups: NDArray[Any] | None  # group labels of the rows
    source: str  # the file, for messages
    ids: NDArray[Any] | None = None  # names of the rows
    id_name: str = "id"  # heading of the column of row names
    colours: NDArray[Any] | None = None  # numbers or texts; NaN or an empty text if missing
    notes: tuple[str, ...] = ()  # what was assumed about the file, in sentences
    file: tuple["Source", list[int]] | None = None  # the open file, if kept, and which columns X has of it
    grid: tuple[int, ...] = ()  # shape of the images whose pixels are the columns


class Source(ABC):
    """An open file with known columns, whose numbers are read on demand."""

    source: str
    names: list[str] | None
    n_columns: int
    # What was assumed when the file was opened.
    notes: Sequence[str] = ()
    # Heading and values of row names that are not among the columns.
    row_names: tuple[str, NDArray[Any]] | None = None
    # Shape of the images whose pixels are the columns.
    grid: tuple[int, ...] = ()

    @abstractmethod
    def numbers(self, positions: list[int]) -> Any:
        """Return the columns at some positions as a matrix; NaN is a missing cell."""

    @abstractmethod
    def labels(self, position: int) -> NDArray[Any]:
        """Return one column as row labels; None, NaN or an empty text if missing."""

    def outside_labels(self, name: str) -> NDArray[Any] | None:
        """Return row labels that are not among the columns, or None."""
        return None

    @abstractmethod
    def filled(self, positions: list[int], X: Any, values: NDArray[Any]) -> Any:
        """Return all columns as an Arrow table, those at some positions with `values` where X is missing."""

    def filled_matrix(self, positions: list[int], values: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of the file as a matrix, with these values of the columns at some positions."""
        return values

    def text_with(self, rows: Any, positions: Any, values: Any) -> bytes | None:
        """Return the text of the file with numbers in some cells, or None if it is not a text."""
        return None

    @property
    def headings(self) -> list[str]:
        """The names of the columns, or column_1, column_2, ... if they have none."""
        return headings_of(self.names, self.n_columns)

    def called(self, position: int) -> str:
        """Return what to call a column in a message."""
        if self.names is None or not self.names[position]:
            return f"column {position + 1}"
        return f"column {shortened(self.names[position])}"

    def place(self, row: int) -> str:
        """Return where a row is, for a message."""
        return f"row {row + 1}"


def headings_of(names: list[str] | None, n_columns: int) -> list[str]:
    """Return the names of columns, or column_1, column_2, ... if they have none."""
    return [f"column_{number}" for number in range(1, n_columns + 1)] if names is None else names


def first_line(error: Exception) -> str:
    """Return the first line of a library's message, safe to print within a sentence."""
    line = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    # A library may quote the file: text of any length, with control characters.
    return "".join(sign if sign.isprintable() else "?" for sign in line[:_LONGEST_LINE])


def shortened(text: str) -> str:
    """Return a text in quotes for a message, cut if it is long."""
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")


def first_names(names: Sequence[str]) -> str:
    """Return the first names in quotes, and how many more there are."""
    return ", ".join(map(shortened, names[:8])) + f" and {len(names) - 8} more" * (len(names) > 8)


@contextmanager
def refusing(source: str, kind: str) -> Iterator[None]:
    """Turn any error inside into a TableError: libraries raise nearly every error on damaged files."""
    try:
        yield
    except (TableError, MemoryError, PermissionError):  # these get their own sentences
        raise
    except Exception as error:
        raise TableError(f"{source} cannot be read as {kind}: {first_line(error)}.") from None


@contextmanager
def needing(source: str, files: str, library: str, extra: str) -> Iterator[None]:
    """Turn a failed import into a TableError that says how to install the library."""
    try:
        yield
    except ImportError as error:  # also a library that is installed but does not fit this numpy
        raise TableError(f"{source}: {files} need {library}: {how_to_install(extra)} ({error}).") from None


def refuse_too_large(source: str, n_bytes: int) -> None:
    """Refuse content that would fill the memory: a small file can unpack to, or claim, any size."""
    limit = memory_limit()
    if n_bytes > limit:
        raise TableError(
            f"{source} does not fit in memory: it needs more than {limit / 1e9:.3g} GB, half of the memory "
            "of this machine."
        )


def unzipped_size(path: Path) -> int:
    """Return how many bytes a zip file claims to unpack to; zipfile reads no more than that."""
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def memory_limit() -> int:
    """Return the most bytes a file may hold: half of the memory, because it is copied once."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError):  # not on Windows
        return sys.maxsize
