"""From a file to rows of numbers: what each column is for, and every assumption as a note."""

import csv
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attenua._estimate.words import counted
from attenua.cli.cells import (
    Array,
    is_blank,
    is_missing,
    looks_like_number,
    quoted,
    shortened,
    to_number,
    to_numbers,
)
from attenua.cli.header import counts_rows
from attenua.cli.layout import TableError
from attenua.cli.sheets import Reading, Sheet, fill_sheet, first_line

# Numbers that programs and people write for a missing cell. They are suspected and never changed.
_CODES = np.array([-1, *(sign * (10**n - 1) for n in range(1, 7) for sign in (-1, 1))], dtype=float)
# Fewer rows than this may count up, and fewer values be outside the others, by chance.
_LEAST_ROWS, _LEAST_VALUES = 5, 3
_MANY_COPIES = 0.05
_IDS = re.compile(r"(.*[_ .-])?(ids?|index|idx|sample|subject|record|obs|number|no|nr)", re.IGNORECASE)
_GROUPS = re.compile(
    r"(.*[_ .-])?(subject|patient|participant|person|animal|donor|batch|plate)([_ .-]?(id|no|nr|number))?",
    re.IGNORECASE,
)


@dataclass
class Table:
    """Rows of numbers, with labels and names from the file."""

    X: Array  # NaN is a missing cell
    names: list[str]  # of the columns; column_1, column_2, ... if the file has none
    source: str
    notes: list[str]
    sheet: Sheet = field(repr=False)
    positions: list[int] = field(repr=False)  # of the columns of X in the sheet
    row_names: list[str] | None = None
    id_name: str = "id"
    groups: NDArray[Any] | None = None
    colours: NDArray[Any] | None = None  # numbers, or texts


def read_table(path: str | Path, **options: Any) -> Table:
    """Read rows of numbers from a file; the options are the fields of `Reading`.

    A TableError names the file and, where there is one, the row, the column and the option that settles the
    question.
    """
    how = Reading(**options)
    sheet = Sheet("standard input" if str(path) == "-" else str(path))
    try:
        fill_sheet(sheet, Path(path), how)
        return _table(sheet, how)
    except Exception as error:  # libraries raise nearly every error on damaged files
        text = str(error) if isinstance(error, TableError) else f"it cannot be read: {first_line(error)}."
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            text = "it does not exist."
        refused = TableError(f"{sheet.source}: {text}")
        for note in sheet.notes:  # they may say why
            refused.add_note(f"{sheet.source}: {note}")
        raise refused from None


def _table(sheet: Sheet, how: Reading) -> Table:
    def role(name: str | None, option: str) -> int | None:
        return None if name is None else _column(sheet, name, option)

    ids = role(how.id_column, "--id-column")
    groups = role(how.group_column, "--group-column")
    colours = role(how.colour_by, "--colour-by")
    notes, dropped = sheet.notes, _columns(sheet, how.drop, "--drop")
    chosen = _columns(sheet, how.columns, "--columns")
    if how.columns and not chosen:
        raise TableError("--columns names no column.")
    if how.names is not None and sheet.names is not None and not chosen:
        chosen = [_column(sheet, name, "the model") for name in how.names]
    if how.names is not None and sheet.names is None:
        notes.append("it has no names, so its columns are taken in the order of the model.")
    if not len(sheet.frame):
        raise TableError("it has a header and no rows.")
    for position, option in ((ids, "--id-column"), (groups, "--group-column")):
        if position in chosen:
            raise TableError(f"{sheet.called(position)} is in --columns and in {option}; name it in one.")
    left_out = {*dropped} if chosen else {*dropped, ids, groups, colours}
    if not how.columns and ids is None and sheet.index is None and 0 not in left_out.union(chosen):
        ids, first = _first_columns(sheet, notes)
        left_out |= {*first}
    considered = chosen or range(sheet.frame.shape[1])
    positions = [position for position in considered if position not in left_out]
    X, positions = _numbers(sheet, positions, how.na, bool(chosen))
    if how.names is not None and len(positions) != len(how.names):
        raise TableError(
            f"it has {counted(len(positions), 'column')} of numbers, but the model was fitted to "
            f"{len(how.names)}; choose them with --columns."
        )
    if not chosen and len(X) >= _LEAST_ROWS:
        X, positions = _without_counters(sheet, X, positions)
        notes += _suspected_labels(sheet, X, positions)
    _refuse_same_names(sheet, positions)
    notes += [*_missing(X), *_suspected_codes(sheet, X, positions)]
    if groups is None and how.names is None:
        notes += _copies(X)
    names = [sheet.headings[position] for position in positions]
    table = Table(X, names, sheet.source, notes, sheet, positions)
    _name_rows(table, ids, groups, colours)
    return table


def _name_rows(table: Table, ids: int | None, groups: int | None, colours: int | None) -> None:
    """Take names, groups and colours of the rows from their columns, or names from the index."""
    sheet = table.sheet
    if ids is not None:
        table.row_names = _texts(sheet, ids)
        table.id_name = sheet.names[ids] if sheet.names and sheet.names[ids] else "id"
    elif sheet.index is not None:
        table.row_names, table.id_name = [*map(str, sheet.index)], str(sheet.index.name or "id")
    if groups is not None:
        labels = _texts(sheet, groups)
        if "" in labels:
            raise TableError(f"{sheet.place(labels.index(''))}, {sheet.called(groups)} has no group label.")
        table.groups = np.array(labels)
    if colours is not None:
        numbers, bad = _column_of_numbers(sheet, colours, set())
        table.colours = np.array(_texts(sheet, colours)) if bad else numbers


# --- which columns ------------------------------------------------------------------------------------------


def _columns(sheet: Sheet, wanted: Sequence[str], option: str) -> list[int]:
    """Return the positions of columns in comma-separated lists of names, positions from 1, and ranges."""
    items = [item for text in wanted for item in next(csv.reader([text], skipinitialspace=True), [])]
    return list(dict.fromkeys(position for item in items for position in _range(sheet, item, option)))


def _range(sheet: Sheet, item: str, option: str) -> Sequence[int]:
    if _find(sheet, item) is None:
        for colon in re.finditer(":", item):  # a name may contain a colon, so every one is tried
            start, end = item[: colon.start()] or "1", item[colon.end() :] or str(sheet.frame.shape[1])
            first, last = _find(sheet, start), _find(sheet, end)
            if first is not None and last is not None and first <= last:
                return range(first, last + 1)
    return [_column(sheet, item, option)]


def _find(sheet: Sheet, name: str) -> int | None:
    """Return the position of a column by its name, or by its position counted from 1."""
    places = sheet.positions.get(name, [])
    if len(places) > 1:
        raise TableError(f"two columns are called {shortened(name)}; choose one by its position, from 1.")
    if places:
        return places[0]
    is_position = name.isascii() and name.isdigit() and 1 <= int(name) <= sheet.frame.shape[1]
    return int(name) - 1 if is_position else None


def _column(sheet: Sheet, name: str, option: str) -> int:
    position = _find(sheet, name)
    if position is None:
        there = f"its columns are {quoted(sheet.names, 8)}" if sheet.names else "its columns have no names"
        raise TableError(f"it has no column {shortened(name)} for {option}; {there}.")
    return position


def _first_columns(sheet: Sheet, notes: list[str]) -> tuple[int | None, list[int]]:
    """Return the position of row names that come first, if there are any, and the columns to leave out.

    pandas and R give no name to a column of row names; one that was saved twice is called Unnamed: 0.
    """
    ids, found = None, []
    for position in range(sheet.frame.shape[1] - 1):
        name, cells = sheet.names[position] if sheet.names else "-", sheet.cells(position)
        if all(map(is_missing, cells)):
            continue
        if not re.fullmatch(r"(Unnamed: 0(\.\d+)*)?", name):
            break
        which = f"{sheet.called(position)} {'is a saved index' if name else 'has no name'}"
        found.append(position)
        if counts_rows(cells):
            notes.append(f"{which} and counts the rows, so it is left out; --columns keeps it.")
        else:
            ids = position if ids is None else ids
            notes.append(f"{which}, so it holds row names ({quoted(cells, 2)}); --columns keeps it.")
    if not found and sheet.frame.shape[1] > 1:
        cells = sheet.cells(position)
        if len(set(cells)) == len(cells) > 1 and _is_label(sheet, position):
            which = sheet.called(position)
            notes.append(f"{which} holds texts that all differ: row names ({quoted(cells, 2)}).")
            return position, [position]
    return ids, found


def _texts(sheet: Sheet, position: int) -> list[str]:
    return ["" if is_blank(cell) else str(cell).strip() for cell in sheet.cells(position)]


def _is_label(sheet: Sheet, position: int) -> bool:
    """Return whether a column holds texts, and none of them is a number or written like one."""
    cells = [cell for cell in sheet.cells(position) if not is_missing(cell)]
    return bool(cells) and not any(
        to_number(cell, sheet.decimal) is not None or looks_like_number(cell) for cell in cells
    )


# --- numbers ------------------------------------------------------------------------------------------------


def _numbers(sheet: Sheet, positions: list[int], na: Sequence[str], chosen: bool) -> tuple[Array, list[int]]:
    """Return the columns of numbers and their positions; texts are left out, unless they were chosen."""
    words = {word.strip() for word in na}
    arrays: dict[int, Array] = {}
    texts, empty = [], []
    for position in positions:
        column, bad = _column_of_numbers(sheet, position, words)
        if bad and (chosen or not _is_label(sheet, position)):
            _refuse_texts(sheet, position, bad)
        elif bad:
            texts.append(sheet.called(position))
        elif not chosen and sheet.names and np.isnan(column).all():
            empty.append(sheet.called(position))
        else:
            arrays[position] = column
    for what, columns in (("of texts", texts), ("without a cell", empty)):
        if columns:
            more = f" and {len(columns) - 8} more" * (len(columns) > 8)
            which = f"columns {what} are" if len(columns) > 1 else f"a column {what} is"
            sheet.notes.append(f"{which} left out: {', '.join(columns[:8])}{more}.")
    if not arrays:
        raise TableError("it has no column of numbers; --sep and --decimal say how numbers are written.")
    X = np.column_stack(list(arrays.values()))
    X[np.isin(X, [number for word in words if (number := to_number(word)) is not None])] = np.nan
    for row, place in np.argwhere(np.isinf(X)):
        which = f"{sheet.place(row)}, {sheet.called([*arrays][place])}"
        raise TableError(f"{which} is infinite; give --na inf if that stands for missing.")
    return X, list(arrays)


def _column_of_numbers(sheet: Sheet, position: int, words: set[str]) -> tuple[Array, list[int]]:
    column = sheet.frame[position]
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(float, na_value=np.nan), []
    return to_numbers(sheet.cells(position), sheet.decimal, words)


def _refuse_texts(sheet: Sheet, position: int, bad: list[int]) -> None:
    """Refuse a column with cells that are no numbers."""
    cell = str(sheet.cells(position)[bad[0]]).strip()
    more = f" (and {counted(len(bad) - 1, 'more cell')})" if len(bad) > 1 else ""
    name = sheet.headings[position]
    drop = name if sheet.names and sheet.headings.count(name) == 1 else str(position + 1)
    raise TableError(
        f"{sheet.place(bad[0])}, {sheet.called(position)} holds {shortened(cell)}{more}, which is no number. "
        f"Correct it, give --na {_word(cell)} if it stands for missing, or leave the column out with --drop "
        f"{_word(drop)}."
    )


def _word(text: str) -> str:
    return shlex.quote(text) if text.isprintable() else shortened(text)


def _refuse_same_names(sheet: Sheet, positions: list[int]) -> None:
    for name, places in sheet.positions.items():
        same = [position + 1 for position in places if position in positions] if len(places) > 1 else []
        if name and len(same) > 1:
            which = f"columns {' and '.join(map(str, same))} are both called {shortened(name)}"
            raise TableError(f"{which}; rename one, or leave it out with --drop {same[-1]}.")


# --- notes --------------------------------------------------------------------------------------------------


def _without_counters(sheet: Sheet, X: Array, positions: list[int]) -> tuple[Array, list[int]]:
    """Leave out the columns that only count: they measure nothing."""
    counts = (np.diff(X, axis=0) == 1).all(axis=0)
    if counts.all():
        return X, positions
    for place in np.flatnonzero(counts):
        numbers = f"{X[0, place]:.15g}, {X[1, place]:.15g}, ..."
        which = f"{sheet.called(positions[place])} only counts ({numbers})"
        sheet.notes.append(f"{which}, so it is left out; --columns keeps it.")
    return X[:, ~counts], [position for position, count in zip(positions, counts, strict=True) if not count]


def _suspected_labels(sheet: Sheet, X: Array, positions: list[int]) -> Iterator[str]:
    """Note whole numbers that look like codes of rows, or like labels of rows that belong together."""
    for column, position in zip(X.T, positions, strict=True):
        which, name = sheet.called(position), sheet.headings[position].strip()
        if X.shape[1] < 2 or not (column == np.round(column)).all():
            continue
        all_differ = len(np.unique(column)) == len(column)
        n_digits = {len(f"{abs(number):.0f}") for number in column}
        are_codes = len(n_digits) == 1 and min(n_digits) > 3 and not ((column > 1800) & (column < 2100)).any()
        are_first = position == 0 and not (np.round(X) == X).all()
        has_zeros = any(re.fullmatch(r"0\d+", str(cell).strip()) for cell in sheet.cells(position))
        if has_zeros or (all_differ and (are_codes or are_first or _IDS.fullmatch(name))):
            yield f"{which} looks like codes of rows; --id-column makes it their names, --drop leaves it out."
        elif not all_differ and _GROUPS.fullmatch(name):
            how = "--group-column holds them out together, --drop leaves it out"
            yield f"{which} looks like labels of rows that belong together; {how}."


def _missing(X: Array) -> Iterator[str]:
    holes = np.isnan(X)
    if holes.any():
        (n, p), n_rows, n_columns = X.shape, holes.any(axis=1).sum(), holes.any(axis=0).sum()
        what = f"{holes.sum():,} {'cell is' if holes.sum() == 1 else 'cells are'} missing"
        yield f"{what}, in {n_rows:,} of {counted(n, 'row')} and {n_columns:,} of {counted(p, 'column')}."


def _suspected_codes(sheet: Sheet, X: Array, positions: list[int]) -> Iterator[str]:
    """Note numbers such as -999 that lie further from the others of their column than these are wide."""
    where: dict[float, list[int]] = {}
    for place in np.flatnonzero(np.isin(X, _CODES).any(axis=0)):
        values, counts = np.unique(X[~np.isnan(X[:, place]), place], return_counts=True)
        is_code = np.isin(values, _CODES)
        if (~is_code).sum() < _LEAST_VALUES:
            continue
        low, *_, high = values[~is_code]
        for code, number in zip(values[is_code], counts[is_code], strict=True):
            far = max(low - code, code - high) > high - low or (code == -1 and low >= 0)
            if far and (number > 1 or abs(code) >= 999):
                where.setdefault(code, []).append(positions[place])
    for code, places in where.items():
        others = f" and {counted(len(places) - 1, 'more column')}" if len(places) > 1 else ""
        which = f"{code:g} in {sheet.called(places[0])}{others} is far from the other values"
        yield f"{which}: if it stands for missing, give --na {code:g}."


def _copies(X: Array) -> Iterator[str]:
    copies = len(X) - len({row.tobytes() for row in X})
    if len(X) >= _LEAST_ROWS and copies >= _MANY_COPIES * len(X):
        yield (
            f"{copies:,} of {len(X):,} rows are exact copies of others. If they are the same samples, remove "
            "them or hold them out together with --group-column: copies make any fit look better."
        )


# A number, with a unit or without. R writes an X before names that are numbers.
_POINT = re.compile(r"X?([+-]?\d+(?:[.,]\d+)?)([^\d.,].*)?")


def are_points(names: Sequence[str]) -> bool:
    """Return whether columns are called like the points of an axis, in order.

    >>> are_points(["400 nm", "402 nm", "404 nm", "406 nm", "408 nm"])
    True
    """
    points = [found.groups() for name in names if (found := _POINT.fullmatch(name.strip()))]
    if len(names) < _LEAST_ROWS or len(points) < len(names) or len({unit for _, unit in points}) > 1:
        return False
    values = np.array([float(number.replace(",", ".")) for number, _ in points])
    steps = np.diff(values)
    only_counts = values[0] in (0, 1) and bool((steps == 1).all()) and points[0][1] is None
    return bool(abs(np.sign(steps).sum()) == len(steps)) and not only_counts
