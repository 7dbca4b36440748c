"""What each column is for: numbers, or groups, names and colours of the rows.

Columns are chosen by name, by position counted from 1, or by ranges of either.
"""

import csv
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua.cli.readers.cells import MISSING
from attenua.cli.readers.form import counts_rows
from attenua.cli.readers.not_numbers import drop_option
from attenua.cli.readers.source import Source, TableError, first_names

_NAMES_OF_IDS = re.compile(
    r"(.*[_ .-])?(id|ids|index|idx|sample|sampleid|subject|row|rowid|rownames|record|obs|number|no|nr)",
    re.IGNORECASE,
)
_NAMES_OF_GROUPS = re.compile(
    r"(.*[_ .-])?(subject|patient|participant|person|animal|donor|batch|plate)([_ .-]?(id|no|nr|number))?",
    re.IGNORECASE,
)
# Fewer rows than this may count up by chance.
_LEAST_ROWS = 5
# Fewer copies than this part of the rows are chance, in data with few digits.
_MANY_COPIES = 0.05


def chosen_columns(source: Source, wanted: Sequence[str], option: str = "--columns") -> list[int]:
    """Return the positions of the columns in some comma-separated lists, in their order.

    An item is the name of a column, its position counted from 1, or a range ``first:last`` of these, where
    either end may be missing. Names win over positions, and may be quoted as in a CSV file.
    """
    positions: list[int] = []
    for item in (item for text in wanted for item in next(csv.reader([text], skipinitialspace=True), [])):
        for position in _positions(source, item):
            if position in positions:
                raise TableError(f"{source.source}: {option} names {source.called(position)} twice.")
            positions.append(position)
    if not positions:
        raise TableError(f"{source.source}: {option} names no column.")
    return positions


def _positions(source: Source, item: str) -> list[int]:
    single = one_column(source, item)
    if single is not None:
        return [single]
    # A name may contain a colon, so every colon is tried.
    for place in (place for place, letter in enumerate(item) if letter == ":"):
        start, end = item[:place], item[place + 1 :]
        first = one_column(source, start) if start else 0
        last = one_column(source, end) if end else source.n_columns - 1
        if first is not None and last is not None:
            if last < first:
                raise TableError(f"{source.source}: the range {item!r} runs backwards.")
            return list(range(first, last + 1))
    raise TableError(f"{source.source} has no column {item!r}; {_describe_columns(source)}.")


def one_column(source: Source, name: str) -> int | None:
    """Return the position of a column by its name or its position counted from 1, or None."""
    if source.names is not None and name in source.names:
        if source.names.count(name) > 1:
            raise TableError(
                f"{source.source}: two columns are called {name!r}; rename one, or choose by position."
            )
        return source.names.index(name)
    if name.isascii() and name.isdigit() and 1 <= int(name) <= source.n_columns:
        return int(name) - 1
    return None


def fitted_columns(source: Source, names: Sequence[str]) -> list[int]:
    """Return the positions of the columns that a model was fitted to."""
    present = set(source.names or ())
    for name in names:
        if name not in present:
            raise TableError(
                f"{source.source} has no column {name!r}, which the model was fitted to; "
                f"{_describe_columns(source)}."
            )
    return [position for name in names if (position := one_column(source, name)) is not None]


def in_order_of_names(source: Source, positions: list[int], names: Sequence[str] | None) -> list[int]:
    """Return chosen columns in the order of the fit, if they are called as its columns are."""
    if names is None or source.names is None:
        return positions
    called = {source.names[position]: position for position in positions}
    same = len(called) == len(positions) and called.keys() == set(names)
    return [called[name] for name in names] if same else positions


def refuse_same_names(source: Source, positions: list[int]) -> None:
    """Refuse two columns of numbers with one name."""
    seen: set[str] = set()
    for position in positions if source.names is not None else []:
        name = source.names[position]
        if name in seen:
            others = [each for each in positions if source.names[each] == name][1:]
            are = f"are called {name!r}" if name else "have no name"
            raise TableError(
                f"{source.source}: {len(others) + 1} columns {are}; rename them, or leave some out by "
                f"their positions: {drop_option(source, others)}."
            )
        seen.add(name)


def _describe_columns(source: Source) -> str:
    if source.names is None:
        return f"it has {source.n_columns} columns without names, 1 to {source.n_columns}"
    return f"its columns are {first_names(source.names)}"


class Labels(NamedTuple):
    """Labels of rows: their heading, their values, and their column if they have one."""

    name: str
    values: NDArray[Any]
    position: int | None


def find_labels(source: Source, name: str | None, option: str) -> Labels | None:
    """Return the labels that an option names, or None without a name."""
    if name is None:
        return None
    outside = source.outside_labels(name)
    if outside is not None:
        return Labels(name, outside, None)
    position = one_column(source, name)
    if position is None:
        raise TableError(f"{source.source} has no column {name!r} for {option}; {_describe_columns(source)}.")
    heading = f"column_{position + 1}" if source.names is None else source.names[position]
    return Labels(heading, source.labels(position), position)


def refuse_as_numbers(source: Source, positions: list[int], labels: dict[str, Labels | None]) -> None:
    """Refuse columns of labels among the numbers; the keys say what the labels do."""
    for use, column in labels.items():
        if column is not None and column.position in positions:
            raise TableError(
                f"{source.source}: {source.called(column.position)} {use}; take it out of --columns."
            )


def _is_empty(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([value is None or value != value or value == "" for value in values.tolist()], dtype=bool)


def as_texts(values: NDArray[Any]) -> NDArray[np.str_]:
    """Return labels as texts, empty where a label is missing."""
    pairs = zip(values.tolist(), _is_empty(values), strict=True)
    return np.array(["" if empty else str(value) for value, empty in pairs], dtype=str)


def as_groups(source: Source, groups: Labels, kept: Any) -> NDArray[Any]:
    """Return the group labels of the rows that are kept; a missing label is an error."""
    values = groups.values[kept]
    empty = np.flatnonzero(_is_empty(values))
    if empty.size:
        row = int(np.arange(groups.values.size)[kept][empty[0]])
        raise TableError(f"{source.source}: {source.place(row)}, column {groups.name!r} has no group label.")
    return as_texts(values) if values.dtype == object else values


def as_colours(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers if every label is a number or missing, else texts."""
    texts = as_texts(values)
    try:
        return np.where(np.isin(texts, MISSING), "nan", texts).astype(float)
    except ValueError:
        return texts


def first_column_of_labels(source: Source) -> tuple[Any, str] | None:
    """Return the row labels that pandas and R write in a first column without a name, and a note.

    The labels are None if they only count the rows. Without such a column, the result is None.
    """
    if source.names is None or source.n_columns < 2 or source.names[0] not in ("", "Unnamed: 0"):
        return None
    labels = source.labels(0)
    if counts_rows(labels):
        note = "the first column has no name and counts the rows, so it is dropped (--columns keeps it)."
        return None, note
    if any(_is_text(label) for label in labels):
        return labels, "the first column has no name and holds text, so it is used as row names."
    return None


def _is_text(label: Any) -> bool:
    try:
        float(label)
    except (TypeError, ValueError):
        return bool(label)
    return False


# Numbers in damaged files can overflow even when they are rounded or subtracted.
@np.errstate(over="ignore", invalid="ignore")
def suspected_id(source: Source, X: Any, positions: list[int]) -> str | None:
    """Return a note if exactly one column of numbers looks like IDs, by its name or because it counts."""
    if sp.issparse(X) or X.shape[0] < _LEAST_ROWS or X.shape[1] < 2:
        return None
    whole = np.flatnonzero((X[:2] == np.round(X[:2])).all(axis=0) & (X[0] != X[1]))
    found = [place for place in whole if _looks_like_id(source, X[:, place], positions[place])]
    if len(found) != 1:
        return None
    return (
        f"{source.called(positions[found[0]])} is used as numbers but looks like an ID; use --id-column to "
        "take it as row names, or --drop to leave it out."
    )


def suspected_groups(source: Source, X: Any, positions: list[int]) -> list[str]:
    """Return a note for each column of whole numbers that is called like labels of rows, and repeats them."""
    names = [source.names[position].strip() for position in positions] if source.names is not None else []
    found = [place for place, name in enumerate(names) if _NAMES_OF_GROUPS.fullmatch(name)]
    if sp.issparse(X) or X.shape[0] < _LEAST_ROWS:
        return []
    return [
        f"{source.called(positions[place])} is used as numbers but looks like labels of rows that belong "
        "together; use --group-column to keep them in one fold, or --drop to leave it out."
        for place in found
        if (X[:, place] == np.round(X[:, place])).all() and np.unique(X[:, place]).size < X.shape[0]
    ]


def suspected_copies(X: Any) -> list[str]:
    """Return a note if many rows are exact copies of others: perhaps one sample, entered twice."""
    if sp.issparse(X) or X.shape[0] < _LEAST_ROWS:
        return []
    copies = X.shape[0] - len({hash(row.tobytes()) for row in X})
    if copies < _MANY_COPIES * X.shape[0]:
        return []
    return [
        f"{copies:,} of {X.shape[0]:,} rows are exact copies of others. If they are the same samples, remove "
        "them, or keep them in one fold with --group-column: held-out copies of fitted rows flatter any fit."
    ]


def _looks_like_id(source: Source, column: Any, position: int) -> bool:
    column = np.asarray(column, dtype=float)
    if (np.diff(column) == 1).all():
        return True
    named = source.names is not None and _NAMES_OF_IDS.fullmatch(source.names[position].strip())
    whole = (column == np.round(column)).all()
    return bool(named and whole and np.unique(column).size == column.size)
