"""The way in: any container of rows is opened here, and becomes moments of folds.

This is the only place that depends on the kind of container. After it, rows in memory, memory maps,
batches, Arrow data, Dask collections and arrays on a device are all :class:`FitData`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import validate_data

from attenua._data.checks import (
    as_numbers,
    check_names,
    checked_batch_weights,
    checked_weights,
    matrix_requirements,
    naming_text_columns,
)
from attenua._data.dask_rows import DaskRows
from attenua._data.folds import (
    checked_groups,
    checked_stream_folds,
    interleaved_folds,
    is_number_of_folds,
    make_splits,
    resolve_cv,
    splits_of_kept,
)
from attenua._data.known_rows import known_to
from attenua._data.missing import (
    PartialInMemory,
    PartialRows,
    PartialSplits,
    has_missing,
    partial_rows,
    without_missing,
)
from attenua._data.namespace import (
    array_namespace,
    asarray_like,
    described,
    is_dask,
    is_foreign,
    is_on_device,
    namespace_of,
    refuse_other_kinds,
    to_host,
)
from attenua._data.range import check_range
from attenua._data.reweighting import RowsInMemory
from attenua._data.rows import DeviceRows, HostRows, device_magnitude
from attenua._data.splits import SplitMoments, SplitRows, Splits
from attenua._data.streams import (
    Batch,
    RowStream,
    arrow_batch,
    can_be_read_again,
    from_arrow,
    is_arrow_table,
    is_batches,
    iter_batches,
    refuse_batches,
)
from attenua._data.sums import largest_magnitude, magnitude


@dataclass(frozen=True)
class NamedRows:
    """An array, with the names of its columns."""

    rows: Any
    names: list[str]


class FitData(NamedTuple):
    """What a fit needs of its rows.

    Attributes
    ----------
    moments : Splits
        Moments of all rows, and of both sides of every split.
    n_samples : int
        Number of rows that count.
    fewest_training_rows : int
        Rows of the smallest training set; a row of weight 2 counts as two.
    dtype : type
        ``numpy.float32`` or ``numpy.float64``: the type of what is fitted.
    reweighter : RowsInMemory or None
        The rows, where they are in memory.
    """

    moments: Splits
    n_samples: int
    fewest_training_rows: int
    dtype: type
    reweighter: RowsInMemory | None = None

    def scaled(self) -> "FitData":
        """Return the same data with columns that are divided by the standard deviations of fitted rows."""
        moments = self.moments.scaled()
        rows = self.reweighter
        return self._replace(moments=moments, reweighter=None if rows is None else rows.with_splits(moments))


def is_in_memory(X: Any) -> bool:
    """Whether X is one array, frame or table of rows on the host."""
    return is_arrow_table(X) or not (is_batches(X) or is_dask(X) or is_on_device(X))


def check_in_memory(X: Any, who: str) -> None:
    """Raise for rows in batches, in a Dask collection or on a device."""
    if is_in_memory(X):
        return
    if is_dask(X):
        given = "a Dask collection"
    else:
        given = described(X) if is_on_device(X) else f"batches of rows ({type(X).__name__})"
    why = (
        " The corrections are for few rows. AttenuatedPCA, AttenuatedPCACV and attenuation_path take "
        "batches, Dask collections and arrays on a device."
    )
    raise TypeError(
        f"{who} takes rows in memory, as one array; X is {given}.{why if who.startswith('Corrected') else ''}"
    )


def open_rows(
    estimator: Any, X: Any, sample_weight: ArrayLike | None = None
) -> HostRows | PartialRows | DeviceRows:
    """Check rows in memory or on a device, note their columns, and put them in a frame."""
    xp = namespace_of(X)
    if xp is not None and not get_tags(estimator).array_api_support:
        check_in_memory(X, type(estimator).__name__)
    X, names = (X.rows, X.names) if isinstance(X, NamedRows) else from_arrow(X)
    if isinstance(X, np.ndarray) and X.ndim == 3:
        raise ValueError(
            f"X must have two dimensions, rows and columns; got an array of shape {X.shape}. Of images, give "
            f"X.reshape({len(X)}, -1)."
        )
    X = with_nan(X) if get_tags(estimator).input_tags.allow_nan else X
    with naming_text_columns(X):
        X = as_numbers(validate_data(estimator, X, **matrix_requirements()))
    if names is not None:
        check_names(estimator, names, reset=True)
    if xp is not None and xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported: X has the type {X.dtype}.")
    known = known_to(estimator)
    if known is not None:
        known.refuse(X)
    if xp is None:
        weights = checked_weights(sample_weight, X.shape[0])
        if get_tags(estimator).input_tags.allow_nan and has_missing(X):
            return partial_rows(X, weights, _feature_names(estimator))
        return HostRows(X, weights, _feature_names(estimator))
    return DeviceRows(xp, X, _device_weights(X, sample_weight))


_is_na = np.frompyfunc(lambda cell: type(cell).__name__ == "NAType", 1, 1)


def with_nan(X: Any) -> Any:
    """Return X with NaN for masked cells and pd.NA among objects.

    A column alone, as pandas has it, becomes an array.
    """
    if hasattr(X, "iloc") and X.ndim == 1:
        return X.to_numpy()  # refused as one-dimensional arrays are
    if np.ma.is_masked(X):
        return np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    if isinstance(X, np.ndarray) and X.dtype == object:  # as a nullable frame gives it by to_numpy
        return np.where(_is_na(X).astype(bool), np.nan, X)
    objects = [number for number, dtype in enumerate(getattr(X, "dtypes", ())) if dtype == np.dtype(object)]
    if objects and hasattr(X, "isetitem"):  # pandas
        X = X.copy(deep=False)
        for number in objects:
            column = X.iloc[:, number]
            X.isetitem(number, column.where(column.notna(), np.nan))
    return X


def _feature_names(estimator: Any) -> Any:
    return getattr(estimator, "feature_names_in_", None)


def _device_weights(X: Any, sample_weight: Any) -> Any:
    weights = checked_weights(to_host(sample_weight), X.shape[0])
    return None if weights is None else asarray_like(X, weights)


def open_for_fit(estimator: Any, X: Any, sample_weight: Any = None) -> FitData:
    """Open rows for a fit that holds none out."""
    if is_dask(X):
        return _stream_data(DaskRows(estimator, X, 1, sample_weight=sample_weight).stream())
    X, sample_weight = _whole_table(X, sample_weight, "sample_weight")
    if is_batches(X):
        return _open_batches(estimator, X, 1, "sample_weight", sample_weight)
    return _in_memory(estimator, open_rows(estimator, X, sample_weight), [])


def _whole_table(X: Any, labels: Any, argument: str) -> tuple[Any, Any]:
    """Return an Arrow table, which is in memory, as a named array, with its labels; all else as it is."""
    if not is_arrow_table(X):
        return X, labels
    column = labels if isinstance(labels, str) else None
    rows, of_column, names = arrow_batch(X, column, argument)
    return NamedRows(rows, names or []), labels if column is None else of_column


def _in_memory(
    estimator: Any,
    rows: HostRows | PartialRows | DeviceRows,
    splits: Sequence[SplitRows],
    groups: Any = None,
) -> FitData:
    """Return what a fit needs of rows in memory, in splits."""
    moments: SplitMoments
    if isinstance(rows, PartialRows):
        moments = PartialSplits(rows, splits)
        reweighter: RowsInMemory = PartialInMemory(rows, moments, groups)
    else:
        moments = SplitMoments(rows, splits)
        reweighter = RowsInMemory(rows, moments, groups)
    check_range(moments.total, rows.dtype, _feature_names(estimator))
    return FitData(moments, rows.n_samples, moments.fewest_training_rows, rows.dtype, reweighter)


# Without one of three rows, two are left: too few. Groups hold more rows, so three are enough.
_FEWEST_UNITS = 3


def open_for_cv(
    estimator: Any,
    X: Any,
    y: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    *,
    fewer_folds: bool = False,
) -> FitData:
    """Open rows and split them by the parameter ``cv``.

    A row of weight 0 is left out before a number of folds counts the rows. Folds are no more than groups in
    memory; with `fewer_folds`, no more than rows either, and none if these or the groups are too few.
    """
    cv = resolve_cv(estimator.cv)
    if is_dask(X):
        n_folds = checked_stream_folds(cv)
        parts = DaskRows(estimator, X, n_folds, groups=groups, sample_weight=sample_weight)
        return _stream_data(parts.stream())
    if groups is not None:
        X, groups = _whole_table(X, groups, "groups")
    else:
        X, sample_weight = _whole_table(X, sample_weight, "sample_weight")
    if is_batches(X):
        n_folds = checked_stream_folds(cv)
        if sample_weight is None:
            return _open_batches(estimator, X, n_folds, "groups", groups)
        if groups is None:
            return _open_batches(estimator, X, n_folds, "sample_weight", sample_weight)
        raise ValueError(
            "fit to batches takes groups or sample_weight, not both; give the rows in memory to use both."
        )
    rows = open_rows(estimator, X, sample_weight)
    n, kept = rows.n_samples, _kept_rows(sample_weight)
    if kept is not None and groups is not None:
        labels = checked_groups(to_host(groups), len(kept))
        assert labels is not None
        groups = labels[kept] if is_number_of_folds(cv) else labels
    if fewer_folds and is_number_of_folds(cv):
        labels = checked_groups(to_host(groups), n)
        units = n if labels is None else len(np.unique(labels))
        if min(n - 1, units) < _FEWEST_UNITS:
            return _in_memory(estimator, rows, [])
        cv = min(int(cv), units)
    splits: Sequence[SplitRows]
    if groups is None and is_number_of_folds(cv):
        # The folds that make_splits would give, without lists of row numbers as long as the data.
        splits = [(None, fold) for fold in interleaved_folds(int(cv), n)]
    else:
        counted = None if is_number_of_folds(cv) else kept  # other splits are of all rows
        splits = make_splits(
            cv,
            n if counted is None else len(counted),
            X=None if is_foreign(X) or isinstance(X, NamedRows) else X,
            y=to_host(y),
            groups=to_host(groups),
        )
        if counted is not None:
            splits = splits_of_kept(splits, counted)
            groups = None if groups is None else groups[counted]
    return _in_memory(estimator, rows, splits, to_host(groups))


def _kept_rows(sample_weight: Any) -> NDArray[np.bool_] | None:
    """Return which rows have a weight above 0; None if all have."""
    if sample_weight is None:
        return None
    kept = np.asarray(to_host(sample_weight)) > 0
    return None if kept.ndim == 0 or kept.all() else kept


def _open_batches(estimator: Any, X: Any, n_folds: int, argument: str, labels: Any) -> FitData:
    """Add up all batches; ``argument`` names the argument that holds the labels of their rows."""
    stream = None
    for batch in iter_batches(X, labels, argument):
        rows = _checked_batch(estimator, batch, first=stream is None)
        if rows.shape[0] == 0:
            continue
        if stream is None:
            stream = RowStream(n_folds, _feature_names(estimator))
        given = to_host(batch.labels)
        if argument == "sample_weight":
            given = checked_batch_weights(given, rows.shape[0])
        stream.add(rows, **{argument: given})
    if stream is None:
        once = "" if can_be_read_again(X) else " An iterator or reader gives its rows once."
        raise ValueError(f"Found 0 sample(s): X gave no rows, while at least 2 are required.{once}")
    return _stream_data(stream)


def _checked_batch(estimator: Any, batch: Batch, first: bool) -> Any:
    if batch.names is not None:
        check_names(estimator, batch.names, reset=first)
        return batch.rows
    requirements = matrix_requirements() | {"ensure_min_samples": 0}
    # The sums of a stream are kept on the host, so a batch on a device comes there.
    refuse_other_kinds(batch.rows)
    with naming_text_columns(batch.rows):
        return as_numbers(validate_data(estimator, to_host(batch.rows), reset=first, **requirements))


def _stream_data(stream: RowStream) -> FitData:
    """Return what a fit needs of the rows of a stream."""
    if stream.n_rows + stream.n_left_out == 0:
        raise ValueError("Found 0 sample(s): X has no rows, while at least 2 are required.")
    moments = stream.moments()
    n = stream.n_rows
    dtype = np.float32 if stream.is_float32 else np.float64
    check_range(moments.total, dtype, stream.names)
    return FitData(moments, n, stream.fewest_training_rows, dtype)


def checked_rows(estimator: Any, X: Any) -> Any:
    """Check rows that a fitted estimator is applied to: an array or sparse matrix comes back.

    They may hold NaN if the estimator takes missing cells.
    """
    missing = get_tags(estimator).input_tags.allow_nan
    X, names = from_arrow(X)
    if names is not None:
        check_names(estimator, names, reset=False)
        checked_magnitude(X, names, missing=missing)
        return X
    refuse_batches(X)
    namespace_of(X)  # raises for arrays that cannot be used
    X = with_nan(X) if missing else X
    with naming_text_columns(X):
        requirements = matrix_requirements() | {"ensure_min_samples": 1}
        X = as_numbers(validate_data(estimator, X, reset=False, **requirements))
    checked_magnitude(X, _feature_names(estimator), missing=missing)
    return X


def checked_magnitude(X: Any, names: Any = None, *, missing: bool = False) -> float:
    """Return the largest magnitude, or raise if a value is not finite, naming the first such column.

    With `missing`, NaN passes.
    """
    if is_foreign(X):
        return device_magnitude(array_namespace(X), X)
    largest = largest_magnitude(X)
    if np.isfinite(largest):
        return largest
    return magnitude(without_missing(X) if missing else X, names)


def checked_matrix(X: Any) -> tuple[Any, list[str] | None]:
    """Return X as a dense array or csr matrix, of any real type, with its column names if it has any."""
    check_in_memory(X, "This function")
    X, arrow_names = from_arrow(X)
    columns = getattr(X, "columns", arrow_names)
    names = None if columns is None else [str(name) for name in columns]
    with naming_text_columns(X):
        rows = check_array(X, **matrix_requirements(), estimator="attenua", input_name="X")
        return as_numbers(rows), names
