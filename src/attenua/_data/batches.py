"""Batches of rows from whatever holds them: iterators, lists of arrays, Arrow tables and datasets."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._data.namespace import library_of


class Batch(NamedTuple):
    """Some rows, and what belongs to them.

    Attributes
    ----------
    rows : ndarray, sparse matrix or data frame
        The rows.
    labels : array-like or None
        One label (or weight) for every row.
    names : list of str or None
        Names of the columns, where the rows cannot tell them themselves.
    """

    rows: Any
    labels: Any = None
    names: list[str] | None = None


def is_arrow(X: Any) -> bool:
    """Whether X is a table, batch, reader or dataset of pyarrow."""
    return library_of(X) == "pyarrow" and (
        hasattr(X, "to_batches") or hasattr(X, "read_next_batch") or is_arrow_table(X)
    )


def is_arrow_table(X: Any) -> bool:
    """Whether X is a table or record batch of pyarrow: rows in memory."""
    return library_of(X) == "pyarrow" and hasattr(X, "schema") and hasattr(X, "column")


def is_batches(X: Any) -> bool:
    """Whether X holds batches of rows and not the rows themselves."""
    if is_arrow(X) or hasattr(X, "__next__"):
        return True
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and _has_two_dimensions(X[0])
    if isinstance(X, (str, bytes, dict, set, frozenset)) or sp.issparse(X):
        return False
    is_array = any(
        hasattr(X, name) for name in ("shape", "__array__", "__array_interface__", "__dataframe__")
    )
    return hasattr(X, "__iter__") and not is_array


def can_be_read_again(X: Any) -> bool:
    """Whether batches, or labels of their rows, can be read a second time; a reader or iterator cannot."""
    return not (hasattr(X, "__next__") or hasattr(X, "read_next_batch"))


def _has_two_dimensions(X: Any) -> bool:
    return len(getattr(X, "shape", ())) == 2


def one_batch(X: Any) -> Batch:
    """Return rows that are given at once as a batch."""
    if is_arrow_table(X):
        return arrow_batch(X)
    if is_batches(X):
        raise TypeError("partial_fit takes one batch of rows; fit takes an iterable of them.")
    return Batch(X)


def batches_of(X: Any, labels: Any, argument: str) -> Iterator[Batch]:
    """Yield the batches of X with the labels of their rows.

    Parameters
    ----------
    X : iterable of batches, or Arrow table, reader or dataset
        Rows.
    labels : None, array-like of shape (n_samples,), iterable of arrays, or str
        For all rows; or for every batch; or the name of an Arrow column, which is then not a feature.
    argument : str
        What an error calls the labels.
    """
    if is_arrow(X):
        column = labels if isinstance(labels, str) else None
        found = (arrow_batch(batch, column) for batch in _arrow_batches(X))
        labels = None if column is not None else labels
    elif isinstance(labels, str):
        raise ValueError(f"{argument}={labels!r} names a column, which only Arrow and Dask data frames have.")
    else:
        found = (Batch(rows) for rows in X)
    if labels is None:
        yield from found
    elif _is_flat(labels):
        yield from _with_slices(found, np.asarray(labels), argument)
    else:
        yield from _with_batches(found, labels, argument)


def _is_flat(labels: Any) -> bool:
    if hasattr(labels, "shape"):
        return True
    return isinstance(labels, (list, tuple)) and (len(labels) == 0 or np.ndim(labels[0]) == 0)


def _with_slices(found: Iterable[Batch], labels: NDArray[Any], argument: str) -> Iterator[Batch]:
    start = 0
    for batch in found:
        stop = start + _length(batch.rows)
        if stop > len(labels):
            raise ValueError(f"{argument} holds {len(labels)} entries, but X has more rows.")
        yield batch._replace(labels=labels[start:stop])
        start = stop
    if start < len(labels):
        raise ValueError(f"{argument} holds {len(labels)} entries, but X has {start} rows.")


def _with_batches(found: Iterable[Batch], labels: Iterable[Any], argument: str) -> Iterator[Batch]:
    rest = iter(labels)
    for number, batch in enumerate(found):
        try:
            yield batch._replace(labels=next(rest))
        except StopIteration:
            raise ValueError(f"{argument} has {number} batches, but X has more.") from None
    if next(rest, None) is not None:
        raise ValueError(f"{argument} has more batches than X.")


def _length(rows: Any) -> int:
    return rows.shape[0] if hasattr(rows, "shape") else len(rows)


def _arrow_batches(X: Any) -> Iterator[Any]:
    if hasattr(X, "read_next_batch") or not hasattr(X, "to_batches"):
        return iter([X]) if is_arrow_table(X) else iter(X)
    return iter(X.to_batches())


def arrow_batch(table: Any, label_column: str | None = None) -> Batch:
    """Return an Arrow table or record batch as an array; nulls become NaN, which a check then names."""
    import pyarrow as pa

    names = list(table.schema.names)
    labels = None
    if label_column is not None:
        if label_column not in names:
            raise ValueError(f"{label_column!r} is not a column of the data; they are {names}.")
        labels = _column(table, label_column)
        names.remove(label_column)
    for name in names:
        kind = table.schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise ValueError(f"column {name!r} holds {kind}, not numbers.")
    single = all(pa.types.is_float32(table.schema.field(name).type) for name in names)
    rows = np.empty((table.num_rows, len(names)), dtype=np.float32 if single else np.float64, order="F")
    for number, name in enumerate(names):
        rows[:, number] = _column(table, name)
    return Batch(rows, labels, names)


def _column(table: Any, name: str) -> NDArray[Any]:
    column = table.column(name)
    # A table's columns come in chunks and are copied; a batch's may be views.
    return column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)
