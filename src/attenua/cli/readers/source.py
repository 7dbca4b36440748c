"""What every kind of file offers, and what comes out: a table of numbers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

# What to do about a column that holds something else.
NOT_NUMBERS = (
    "Leave the column out with --drop, take it as the names of the rows with --id-column, or choose the "
    "columns to use with --columns."
)
_LONGEST, _LONGEST_LINE = 60, 300


class TableError(ValueError):
    """A sentence that says what is wrong with a file, and where in it."""


@dataclass(frozen=True)
class Table:
    """Rows of numbers, with what the file says about them.

    Attributes
    ----------
    X : ndarray or csr matrix of shape (n_rows, n_columns)
        The numbers, all finite.
    names : list of str or None
        Names of the columns, where the file has them.
    groups : ndarray of shape (n_rows,) or None
        Labels of the rows.
    source : str
        Name of the file, for messages.
    ids : ndarray of str of shape (n_rows,) or None
        Names of the rows.
    id_name : str
        What the names of the rows are called.
    colours : ndarray of shape (n_rows,) or None
        Numbers or texts to colour the rows by; NaN or an empty text where there is none.
    notes : tuple of str
        What was assumed about the file, in sentences.
    """

    X: Any
    names: list[str] | None
    groups: NDArray[Any] | None
    source: str
    ids: NDArray[Any] | None = None
    id_name: str = "id"
    colours: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()


class Source(ABC):
    """An open file: its columns are known, its numbers are read when asked for."""

    source: str
    names: list[str] | None
    n_columns: int
    # What was assumed when the file was opened.
    notes: Sequence[str] = ()
    # Names of the rows that the file keeps apart from its columns, after what they are called.
    row_names: tuple[str, NDArray[Any]] | None = None

    @abstractmethod
    def numbers(self, positions: list[int]) -> Any:
        """Return the columns at some positions as a matrix; NaN is a missing cell."""

    @abstractmethod
    def labels(self, position: int) -> NDArray[Any]:
        """Return one column as labels of rows; None, NaN or an empty text where there is none."""

    def outside_labels(self, name: str) -> NDArray[Any] | None:
        """Return labels that the file keeps beside its matrix, or None."""
        return None

    def called(self, position: int) -> str:
        """Return what to call a column in a message."""
        if self.names is None or not self.names[position]:
            return f"column {position + 1}"
        return f"column {shortened(self.names[position])}"

    def place(self, row: int) -> str:
        """Return where a row is, for a message."""
        return f"row {row + 1}"


def first_line(error: Exception) -> str:
    """Return the first line of what a library says, to be put into a sentence."""
    line = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    # A library may quote what a file holds, of any length and with signs that steer a terminal.
    return "".join(sign if sign.isprintable() else "?" for sign in line[:_LONGEST_LINE])


def shortened(text: str) -> str:
    """Return a text in quotes for a message, cut where it is long."""
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")
