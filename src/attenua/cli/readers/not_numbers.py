"""Columns that were to be numbers and hold something else: all are named, with what to do."""

import csv
import io
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from attenua.cli.readers.source import Source, TableError, shortened

# Nobody would read a longer list.
_MOST_NAMED, _MOST_DROPPED = 8, 20


class TextColumn(NamedTuple):
    """A column that holds something else than numbers."""

    position: int
    holds: str  # its first text in quotes, or the type of all its cells
    place: str = ""  # where that text stands
    is_mostly_numbers: bool = False


class NotNumbers(TableError):
    """Some of the columns that were to be numbers hold something else."""

    def __init__(self, source: Source, wanted: Sequence[int], columns: Sequence[TextColumn]):
        self.columns = columns
        super().__init__(f"{source.source}: {_in_words(source, len(wanted), columns)}")


def note_of_left_out(source: Source, columns: Sequence[TextColumn]) -> str:
    """Return which columns were left out because they hold something else than numbers."""
    named = [
        f"{_called(source, column)} ({column.holds} in {column.place}, else numbers)"
        if column.is_mostly_numbers
        else _called(source, column)
        for column in columns
    ]
    are = (
        "holds something else than numbers and is"
        if len(columns) == 1
        else "hold something else than numbers and are"
    )
    return f"{_counted(columns)} {are} left out: {_listed(named)}."


def _in_words(source: Source, n_wanted: int, columns: Sequence[TextColumn]) -> str:
    if source.n_columns == 1:
        return (
            f"{_where(columns[0])}{source.called(0)} holds {columns[0].holds}, which is not a number. Cells "
            "must be separated by commas, semicolons, tabs, | or blanks; here each row is one cell."
        )
    wrong = [column for column in columns if column.is_mostly_numbers]
    texts = [column for column in columns if not column.is_mostly_numbers]
    sentences = [_which_texts(source, texts, n_wanted - len(columns))] if texts else []
    if wrong:
        more = f" (so {'do' if len(wrong) > 2 else 'does'} {_counted(wrong[1:], 'more ')})" * (len(wrong) > 1)
        also, first = "Also, " if texts else "", wrong[0]
        sentences.append(
            f"{also}{_where(first)}{source.called(first.position)} holds {first.holds}, which is not a "
            f"number, among numbers{more}: mend it, or leave the column out with {_drop(source, wrong)}."
        )
    return " ".join(sentences)


def _which_texts(source: Source, texts: Sequence[TextColumn], n_numbers: int) -> str:
    first = texts[0]
    if len(texts) == 1:
        kind = "which is not a number" if first.place else "not numbers"
        found = f"{_where(first)}{source.called(first.position)} holds {first.holds}, {kind}."
    else:
        found = f"{_counted(texts)} hold no numbers: {_listed([_named(source, column) for column in texts])}."
    if n_numbers < 1:
        return f"{found} No column is left; if these are numbers, look at the separator and the decimal sign."
    out = f"{'the column' if len(texts) == 1 else 'them'} out with"
    if len(texts) > _MOST_DROPPED:
        return f"{found} Leave {out} --numeric-only."
    what = "it" if len(texts) == 1 else "one"
    return (
        f"{found} Leave {out} {_drop(source, texts)} or --numeric-only, or use {what} as row names with "
        f"--id-column {shlex.quote(_option(source, first.position))}."
    )


def _where(column: TextColumn) -> str:
    return f"{column.place}, " if column.place else ""


def _counted(columns: Sequence[TextColumn], more: str = "") -> str:
    return f"{len(columns):,} {more}column{'' if len(columns) == 1 else 's'}"


def _called(source: Source, column: TextColumn) -> str:
    return source.called(column.position).removeprefix("column ")


def _named(source: Source, column: TextColumn) -> str:
    return f"{_called(source, column)} ({column.holds})"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:_MOST_NAMED]) + f" and {len(words) - _MOST_NAMED} more" * (
        len(words) > _MOST_NAMED
    )


def _drop(source: Source, columns: Sequence[TextColumn]) -> str:
    return drop_option(source, [column.position for column in columns])


def drop_option(source: Source, positions: Sequence[int]) -> str:
    """Return the finished option that leaves columns out."""
    if len(positions) > _MOST_DROPPED:
        return "--numeric-only"
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([_option(source, position) for position in positions])
    return f"--drop {shlex.quote(line.getvalue())}"


def _option(source: Source, position: int) -> str:
    """Return the name of a column as an option takes it, or its position where a name would not do."""
    name = (source.names or [""] * source.n_columns)[position]
    is_plain = source.names is not None and source.names.count(name) == 1 and name.isprintable()
    return name if is_plain and repr(name) == shortened(name) and name else str(position + 1)
