"""Rows in batches: the containers that hold them, and their sums, one set per fold, in bounded memory.

Batches come from iterators, lists of arrays, Arrow tables and datasets. Row number i of a stream, counted
from 0 over all batches, belongs to fold ``i % n_folds``; with groups, a row belongs to the fold that a fixed
hash of its label gives (:func:`folds_by_group`).
"""

from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from attenua._data.checks import check_column_names, check_total_weight, refusal_of_text
from attenua._data.folds import folds_by_group
from attenua._data.moments import ScatterMoments
from attenua._data.namespace import library_of
from attenua._data.range import check_not_too_large
from attenua._data.rows import scatter_moments
from attenua._data.splits import FoldMoments
from attenua._data.sums import FoldSums, Frame, choose_frame, counted_rows, magnitude, product_blocks

Array = NDArray[np.float64]


class Batch(NamedTuple):
    """Rows with a label (or weight) each, and the names of the columns if the rows have none themselves."""

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
    """Raise if X holds batches of rows instead of rows."""
    if is_batches(X):
        raise TypeError("X holds batches of rows; give them one by one.")


def can_be_read_again(X: Any) -> bool:
    """Whether batches, or labels of their rows, can be read a second time; a reader or iterator cannot."""
    return not (hasattr(X, "__next__") or hasattr(X, "read_next_batch"))


def _has_two_dimensions(X: Any) -> bool:
    return len(getattr(X, "shape", ())) == 2


def iter_batches(X: Any, labels: Any, argument: str) -> Iterator[Batch]:
    """Yield the batches of X with the labels of their rows.

    Labels are given for all rows, or for every batch, or as the name of an Arrow column, which is then not a
    feature. An error calls them by the name of their argument.
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
    # Arrow's own readers fail on names that occur twice.
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


class RowStream:
    """Sums of the rows of a stream, one set per fold.

    Parameters
    ----------
    n_folds : int
        Number of folds; 1 where nothing is held out.
    feature_names : sequence of str, optional
        Names that an error about a column uses.

    Attributes
    ----------
    n_rows : int
        Number of rows seen, those of no weight left out.
    n_left_out : int
        Number of rows of no weight.
    is_float32 : bool
        Whether all of them were float32.
    has_groups : bool or None
        Whether labels decide the folds; None before the first batch.
    """

    def __init__(self, n_folds: int = 1, feature_names: Any = None):
        self.n_folds = n_folds
        self.counts = np.zeros(n_folds, dtype=int)
        self.n_left_out = 0
        self.is_float32 = True
        self.names = feature_names
        self._sums: FoldSums | None = None
        self._rows_at_origin = 0
        self.has_groups: bool | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows seen, those of no weight left out."""
        return int(self.counts.sum())

    @property
    def fewest_training_rows(self) -> int:
        """Rows of the smallest training set, or all if none are held out; a row of weight 2 counts as two."""
        if self.n_folds == 1 or self._sums is None:
            return self.n_rows
        weights = self._sums.weights
        return max(int(self.n_rows - self.counts.max()), int(weights.sum() - weights.max()))

    def add(self, X: Any, *, groups: ArrayLike | None = None, sample_weight: Array | None = None) -> None:
        """Add a batch. Rows of weight zero are left out."""
        n = X.shape[0]
        if self.has_groups not in (None, groups is not None):
            raise ValueError("groups must be given with every batch or with none.")
        folds = None if groups is None else folds_by_group(groups, self.n_folds)
        if folds is not None and len(folds) != n:
            raise ValueError(f"groups must hold one label for each of the {n} rows; got {len(folds)}.")
        if folds is not None and sample_weight is not None:
            folds = folds[sample_weight > 0]
        X, sample_weight = counted_rows(X, sample_weight)
        left_out = n - X.shape[0]
        if X.shape[0]:
            self._add_rows(X, folds, sample_weight)
        self.n_left_out += left_out
        self.is_float32 &= X.dtype == np.float32
        self.has_groups = groups is not None

    def _add_rows(self, X: Any, folds: NDArray[np.intp] | None, sample_weight: Array | None) -> None:
        """Sum the rows by themselves, then add these sums to those before."""
        n = X.shape[0]
        largest = magnitude(X, self.names)
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # the caller's matrix stays as it is
            X.sum_duplicates()
        frame = self._frame_for(X, largest)
        batch = FoldSums(frame, self.n_folds, self.names)
        parts = list(self._parts(n, X.shape[1], folds))
        batch.add(X, parts, sample_weight=sample_weight, largest=largest)
        if self._sums is not None:
            batch = self._sums.followed_by(batch, origin=frame.origin * frame.unit)
        if batch.frame.unit > 1:
            dtype = np.float32 if self.is_float32 and X.dtype == np.float32 else np.float64
            check_not_too_large(ScatterMoments.sum(scatter_moments(batch)), dtype, self.names)
        if folds is None:
            folds = (self.n_rows + np.arange(n)) % self.n_folds
        counts = self.counts + np.bincount(folds, minlength=self.n_folds)
        moved = self._sums is None or not np.array_equal(self._sums.frame.origin, batch.frame.origin)
        self._sums, self.counts = batch, counts
        if moved:
            self._rows_at_origin = self.n_rows

    def _frame_for(self, X: Any, largest: float) -> Frame:
        """Return the frame that a batch is summed up in.

        The origin follows the mean whenever the rows double, before they are squared, so that unusual first
        rows cost no digits.
        """
        n, sums = X.shape[0], self._sums
        if sums is None:
            return choose_frame(X, self.names, largest)
        frame = sums.frame.covering(largest)
        if self.n_rows + n < 2 * self._rows_at_origin:
            return frame
        if n >= self.n_rows:
            own = choose_frame(X, self.names, largest)
            origin = own.origin * own.unit
        else:
            origin = sums.centre(sparse=sp.issparse(X))
        return frame._replace(origin=origin / frame.unit)

    def _parts(self, n: int, p: int, folds: NDArray[np.intp] | None) -> Iterator[tuple[int, Any]]:
        """Yield the rows of a batch fold by fold; row numbers modulo the folds are strided slices."""
        for fold in range(self.n_folds):
            if folds is None:
                first = (fold - self.n_rows) % self.n_folds
                yield from ((fold, block) for block in product_blocks(first, n, p, self.n_folds))
            else:
                rows = np.flatnonzero(folds == fold)
                yield from ((fold, rows[block]) for block in product_blocks(0, len(rows), p))

    def followed_by(self, others: Iterable["RowStream"]) -> "RowStream":
        """Return the stream of these rows and then those of others; all stay as they are."""
        result = copy(self)  # sums are replaced, never changed
        for other in others:
            result._append(other)
        return result

    def _append(self, other: "RowStream") -> None:
        self.n_left_out += other.n_left_out
        self.is_float32 = self.is_float32 and other.is_float32
        if other._sums is None:
            return
        # The other counted its rows from 0, but they come after these.
        shift = 0 if other.has_groups else self.n_rows % self.n_folds
        self._sums = other._sums if self._sums is None else self._sums.followed_by(other._sums, shift)
        self.counts = self.counts + np.roll(other.counts, shift)
        self.has_groups = other.has_groups
        self._rows_at_origin = self.n_rows

    def moments(self) -> FoldMoments:
        """Return the moments of every fold; raise if there are too few rows."""
        n = self.n_rows + self.n_left_out
        if n < 2:
            raise ValueError(f"Found {n} sample(s) in all batches, but at least 2 are required.")
        check_total_weight(0.0 if self._sums is None else float(self._sums.weights.sum()))
        empty = np.flatnonzero(self.counts == 0)
        if self.n_folds > 1 and empty.size:
            raise ValueError(self._why_empty(int(empty[0])))
        if self.n_folds > 1 and self.n_rows - self.counts.max() < 2:
            raise ValueError("a training set has one row only; a covariance needs at least two.")
        assert self._sums is not None  # since there are rows of some weight
        return FoldMoments(scatter_moments(self._sums))

    def _why_empty(self, fold: int) -> str:
        if not self.has_groups:
            return f"cv={self.n_folds} folds need at least as many rows; got n_samples={self.n_rows}."
        return (
            f"fold {fold} of cv={self.n_folds} has no rows. In a stream a group's fold is a hash of its "
            "label, which can miss a fold when groups are few: use fewer folds, or collect more groups."
        )
