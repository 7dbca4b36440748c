"""Which columns are meant: names, positions counted from 1, and ranges of either."""

import csv
from collections.abc import Sequence

from attenua.cli.readers.source import Source, TableError, shortened


def chosen_columns(source: Source, wanted: Sequence[str], option: str = "--columns") -> list[int]:
    """Return the positions of the columns that some comma-separated lists ask for, in their order.

    An item is the name of a column, its position counted from 1, or two of them joined by a colon for all
    columns from one to the other; without one of the two, from the first or to the last column. A name goes
    before a position, and names may be quoted as in a CSV file.
    """
    positions: list[int] = []
    for item in (item for text in wanted for item in next(csv.reader([text], skipinitialspace=True), [])):
        found = _positions(source, item)
        for position in found:
            if position in positions:
                raise TableError(f"{source.source}: {option} names {source.called(position)} twice.")
            positions.append(position)
    if not positions:
        raise TableError(f"{source.source}: {option} names no column.")
    return positions


def one_column(source: Source, name: str) -> int | None:
    """Return the position of a column by its name or position counted from 1; None if it is not there."""
    if source.names is not None and name in source.names:
        if source.names.count(name) > 1:
            raise TableError(
                f"{source.source}: two columns are called {name!r}; give each its own name, or say which "
                "by its position."
            )
        return source.names.index(name)
    if name.isascii() and name.isdigit() and 1 <= int(name) <= source.n_columns:
        return int(name) - 1
    return None


def refuse_same_names(source: Source, positions: list[int]) -> None:
    """Refuse names that do not tell the columns apart that are used."""
    seen: set[str] = set()
    for name in [source.names[position] for position in positions] if source.names is not None else []:
        if name in seen:
            raise TableError(
                f"{source.source}: two columns are called {name!r}; give each its own name, or leave one out "
                "by its position with --drop."
            )
        seen.add(name)


def _positions(source: Source, item: str) -> list[int]:
    single = one_column(source, item)
    if single is not None:
        return [single]
    # A name may hold a colon itself, so every colon is tried.
    for place in (place for place, letter in enumerate(item) if letter == ":"):
        start, end = item[:place], item[place + 1 :]
        first = one_column(source, start) if start else 0
        last = one_column(source, end) if end else source.n_columns - 1
        if first is not None and last is not None:
            if last < first:
                raise TableError(f"{source.source}: the range {item!r} runs backwards.")
            return list(range(first, last + 1))
    raise TableError(f"{source.source} has no column {item!r}; {describe_columns(source)}.")


def describe_columns(source: Source) -> str:
    """Say which columns a file has."""
    if source.names is None:
        return f"it has {source.n_columns} columns without names, 1 to {source.n_columns}"
    shown = ", ".join(map(shortened, source.names[:8]))
    return f"its columns are {shown}" + (f" and {source.n_columns - 8} more" * (source.n_columns > 8))
