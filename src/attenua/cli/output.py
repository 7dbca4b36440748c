"""Components and scores as text, with every digit that the numbers have."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from attenua.cli.readers import Table


def column_names(table: Table) -> Sequence[str]:
    """Return the names of the columns; those without one are counted."""
    if table.names is not None:
        return table.names
    return [f"column_{number}" for number in range(1, table.X.shape[1] + 1)]


def components_csv(model: Any, table: Table) -> bytes:
    """Return the components as CSV: one row each, one column per column of the data."""
    rows = ([number, *_digits(row)] for number, row in enumerate(model.components_, start=1))
    return _csv(["component", *column_names(table)], rows)


def scores_csv(scores: Any, table: Table) -> bytes:
    """Return scores as CSV: the names of the rows if they have any, then one column per component."""
    names = [f"component_{number}" for number in range(1, scores.shape[1] + 1)]
    if table.ids is None:
        return _csv(names, (_digits(row) for row in scores))
    rows = ([name, *_digits(row)] for name, row in zip(table.ids, scores, strict=True))
    return _csv([table.id_name, *names], rows)


def scores_npy(scores: Any) -> bytes:
    """Return scores as npy."""
    buffer = io.BytesIO()
    np.save(buffer, scores, allow_pickle=False)
    return buffer.getvalue()


def _digits(row: Any) -> list[str]:
    # str of a numpy number is the shortest text that reads back as the same number.
    return [str(number) for number in row]


def _csv(header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()
