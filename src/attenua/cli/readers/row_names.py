"""Columns that are no measurements: labels that pandas and R write first, and ids among the numbers."""

import re
from typing import Any

import numpy as np
import scipy.sparse as sp

from attenua.cli.readers.cells import counts_rows
from attenua.cli.readers.source import Source

_NAMES_OF_IDS = re.compile(
    r"(.*[_ .-])?(id|ids|index|idx|sample|sampleid|subject|row|rowid|rownames|record|obs|number|no|nr)",
    re.IGNORECASE,
)
# Fewer rows than this may count up by chance.
_LEAST_ROWS = 5


def first_column_of_labels(source: Source) -> tuple[Any, str] | None:
    """Return the labels of rows in a first column without a name, and what to say; None if there are none.

    The labels are None where they only count the rows.
    """
    if source.names is None or source.n_columns < 2 or source.names[0] not in ("", "Unnamed: 0"):
        return None
    labels = source.labels(0)
    if counts_rows(labels):
        return (
            None,
            "the first column has no name and counts the rows; it is left out (--columns takes it in).",
        )
    if any(_is_text(label) for label in labels):
        return (
            labels,
            "the first column has no name and holds texts; they are taken as the names of the rows.",
        )
    return None


def _is_text(label: Any) -> bool:
    try:
        float(label)
    except (TypeError, ValueError):
        return bool(label)
    return False


# Damaged numbers may be such that even rounding them warns; differences of large ones overflow.
@np.errstate(over="ignore", invalid="ignore")
def suspected_id(source: Source, X: Any, positions: list[int]) -> str | None:
    """Return what to say if one column of numbers looks like ids: by its name, or because it counts."""
    if sp.issparse(X) or X.shape[0] < _LEAST_ROWS or X.shape[1] < 2:
        return None
    whole = np.flatnonzero((X[:2] == np.round(X[:2])).all(axis=0) & (X[0] != X[1]))
    found = [place for place in whole if _looks_like_id(source, X[:, place], positions[place])]
    if len(found) != 1:
        return None
    called = source.called(positions[found[0]])
    return (
        f"{called} is used as numbers, but looks like an id; --id-column takes it as the names of the rows, "
        "--drop leaves it out."
    )


def _looks_like_id(source: Source, column: Any, position: int) -> bool:
    column = np.asarray(column, dtype=float)
    if (np.diff(column) == 1).all():
        return True
    named = source.names is not None and _NAMES_OF_IDS.fullmatch(source.names[position].strip())
    whole = (column == np.round(column)).all()
    return bool(named and whole and np.unique(column).size == column.size)
