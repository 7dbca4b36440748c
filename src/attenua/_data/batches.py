"""Batches of rows from whatever holds them: iterators, lists of arrays, Arrow tables and datasets."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from attenua._data.frames import check_column_names, refusal_of_text
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


def refuse_batches(X: Any) -> None:
    """Raise if X holds batches of rows where rows are wanted."""
    if is_batches(X):
        raise TypeError("X holds batches of rows; give them one by one.")


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
    labels : None, number, array-like of shape (n_samples,), iterable of arrays, or str
        For all rows; or for every batch; or the name of an Arrow column, which is then not a feature.
    argument : str
        What an error calls the labels.
    """
    if is_arrow(X):
        column = labels if isinstance(labels, str) else None
        found = (arrow_batch(batch, column, argument) for batch in _arrow_batches(X))
        labels = None if column is not None else labels
    elif isinstance(labels, str):
        raise ValueError(f"{argument}={labels!r} names a column, which only Arrow and Dask data frames have.")
    else:
        found = (arrow_batch(rows) if is_arrow_table(rows) else Batch(rows) for rows in X)
    if labels is None:
        yield from found
    elif np.isscalar(labels):
        yield from (batch._replace(labels=labels) for batch in found)
    elif _is_flat(labels):
        yield from _with_slices(found, np.asanyarray(labels), argument)
    else:
        yield from _with_batches(found, labels, argument)


def _is_flat(labels: Any) -> bool:
    if hasattr(labels, "shape") or library_of(labels) == "pyarrow":
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
    # Arrow's own readers stumble over names that occur twice.
    check_column_names((X.schema if hasattr(X, "schema") else X.projected_schema).names)
    if hasattr(X, "read_next_batch") or not hasattr(X, "to_batches"):
        return iter([X]) if is_arrow_table(X) else iter(X)
    return iter(X.to_batches())


def arrow_batch(table: Any, label_column: str | None = None, argument: str = "groups") -> Batch:
    """Return an Arrow table or record batch as an array; nulls become NaN, which a check then names."""
    import pyarrow as pa

    names = list(table.schema.names)
    check_column_names(names)
    labels = None
    if label_column is not None:
        if label_column not in names:
            raise ValueError(f"{argument}={label_column!r} is not a column of X.")
        labels = _column(table, label_column)
        names.remove(label_column)
    kinds = [_kind_of_values(table.schema.field(name).type) for name in names]
    text = [
        f"{name!r} ({table.schema.field(name).type})"
        for name, kind in zip(names, kinds, strict=True)
        if not _is_number(kind)
    ]
    if text:
        raise ValueError(refusal_of_text(text))
    single = len(kinds) > 0 and all(pa.types.is_float32(kind) for kind in kinds)
    rows = np.empty((table.num_rows, len(names)), dtype=np.float32 if single else np.float64, order="F")
    for number, name in enumerate(names):
        rows[:, number] = _column(table, name)
    return Batch(rows, labels, names)


def from_arrow(X: Any) -> tuple[Any, list[str] | None]:
    """Return an Arrow table as an array, with the names of its columns; all else as it is, with None."""
    if not is_arrow_table(X):
        return X, None
    rows, _, names = arrow_batch(X)
    return rows, names


def _kind_of_values(kind: Any) -> Any:
    """Return the type of the values of a column; of a dictionary, that of what it stands for."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    is_kind = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(test(kind) for test in is_kind)


def _column(table: Any, name: str) -> NDArray[Any]:
    import pyarrow as pa

    column = table.column(name)
    kind = _kind_of_values(column.type)
    if pa.types.is_decimal(kind):
        kind = pa.float64()
    if kind != column.type:
        column = column.cast(kind)
    # A table's columns come in chunks and are copied; a batch's may be views.
    return column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)
