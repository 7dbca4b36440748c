"""Labels of rows: groups, names and colours."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attenua.cli.readers.cells import MISSING
from attenua.cli.readers.columns import describe_columns, one_column
from attenua.cli.readers.source import Source, TableError


class Labels(NamedTuple):
    """Labels of rows: what they are called, and their column, unless the file keeps them elsewhere."""

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
        raise TableError(f"{source.source} has no column {name!r} for {option}; {describe_columns(source)}.")
    called = f"column_{position + 1}" if source.names is None else source.names[position]
    return Labels(called, source.labels(position), position)


def refuse_as_numbers(source: Source, positions: list[int], labels: dict[str, Labels | None]) -> None:
    """Refuse columns of labels among the numbers; the keys say what they are for."""
    for use, column in labels.items():
        if column is not None and column.position in positions:
            raise TableError(
                f"{source.source}: {source.called(column.position)} {use}; take it out of --columns."
            )


def _is_empty(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([value is None or value != value or value == "" for value in values.tolist()], dtype=bool)


def as_texts(values: NDArray[Any]) -> NDArray[np.str_]:
    """Return labels as texts, empty where there is none."""
    texts = [
        "" if empty else str(value) for value, empty in zip(values.tolist(), _is_empty(values), strict=True)
    ]
    return np.array(texts, dtype=str)


def as_groups(source: Source, groups: Labels, kept: Any) -> NDArray[Any]:
    """Return the labels of the rows that are kept; one that is missing is an error."""
    values = groups.values[kept]
    empty = np.flatnonzero(_is_empty(values))
    if empty.size:
        row = int(np.arange(groups.values.size)[kept][empty[0]])
        raise TableError(
            f"{source.source}: {source.place(row)}, column {groups.name!r} has no label of a group."
        )
    return as_texts(values) if values.dtype == object else values


def as_colours(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers where every label is one or missing, else texts."""
    texts = np.where(np.isin(as_texts(values), MISSING), "nan", as_texts(values))
    try:
        return texts.astype(float)
    except ValueError:
        return as_texts(values)
