"""Dask arrays and data frames: sums on the workers, combined in a tree, without gathering rows.

Every partition becomes one :class:`~attenua._data.streams.RowStream`, numbered from its own first row and
in a frame of its own. Neighbours combine in order: the folds of the second are shifted by the number of rows
of the first, so row numbers need no pass of their own, and chunks may be uneven or of unknown length. The
sums of a partition depend on its rows alone and the tree is fixed, so work that is repeated after a worker is
lost gives the same result.
"""

from copy import copy
from typing import Any

import numpy as np
from sklearn.utils import check_array

from attenua._data.checks import (
    as_numbers,
    check_column_names,
    check_names,
    check_type,
    checked_batch_weights,
    matrix_requirements,
    naming_text_columns,
    refusal_of_text,
)
from attenua._data.namespace import is_dask, refuse_other_kinds
from attenua._data.streams import RowStream

# How many neighbours one task combines.
_SPLIT_EVERY = 4


class DaskRows:
    """The rows of a dask collection, in partitions, with their labels and weights. Its columns are noted.

    Parameters
    ----------
    estimator : estimator
        Gets ``n_features_in_`` and ``feature_names_in_``.
    X : dask array or data frame
        Rows; blocks may be sparse.
    n_folds : int
        Number of folds.
    groups, sample_weight : dask array or series, array-like, or str
        Aligned with the rows of X; or the name of a column of a data frame, which is then not a feature.
    """

    def __init__(
        self, estimator: Any, X: Any, n_folds: int, *, groups: Any = None, sample_weight: Any = None
    ):
        X, groups = _without_label_column(X, groups, "groups")
        X, sample_weight = _without_label_column(X, sample_weight, "sample_weight")
        _note_columns(estimator, X, reset=True)
        X = _whole_rows(X)
        partitions = X.to_delayed().ravel().tolist() if hasattr(X, "chunks") else X.to_delayed()
        labels = _aligned(groups, X, len(partitions), "groups")
        weights = _aligned(sample_weight, X, len(partitions), "sample_weight")
        self._parts = list(zip(partitions, labels, weights, strict=True))
        self._n_folds = n_folds
        self._names = getattr(estimator, "feature_names_in_", None)

    def stream(self) -> RowStream:
        """Read the rows once, and return their sums."""
        import dask

        read, combine = dask.delayed(_partition), dask.delayed(_combine)
        parts = [read(*part, self._n_folds, self._names) for part in self._parts]
        while len(parts) > 1:
            parts = [combine(parts[i : i + _SPLIT_EVERY]) for i in range(0, len(parts), _SPLIT_EVERY)]
        (stream,) = dask.compute(parts[0])
        return stream


def _checked(rows: Any) -> Any:
    with naming_text_columns(rows):
        return as_numbers(check_array(rows, **(matrix_requirements() | {"ensure_min_samples": 0})))


def _partition(rows: Any, groups: Any, sample_weight: Any, n_folds: int, names: Any) -> RowStream:
    """Return the sums of one partition; runs on a worker."""
    rows = _checked(rows)
    stream = RowStream(n_folds, names)
    if rows.shape[0]:
        weights = checked_batch_weights(sample_weight, rows.shape[0])
        stream.add(rows, groups=groups, sample_weight=weights)
    return stream


def _combine(parts: list[RowStream]) -> RowStream:
    """Return the sums of neighbouring partitions; runs on a worker and leaves the parts as they are."""
    first, *others = parts
    return first.followed_by(others)


def _known_lengths(X: Any) -> tuple[int, ...] | None:
    """Return the number of rows of every block, or None if dask has not computed it."""
    chunks: Any = X.chunks[0] if hasattr(X, "chunks") else (np.nan,)
    return None if np.isnan(chunks).any() else chunks


def _without_label_column(X: Any, labels: Any, argument: str) -> tuple[Any, Any]:
    if not isinstance(labels, str):
        return X, labels
    if labels not in list(getattr(X, "columns", [])):
        raise ValueError(f"{argument}={labels!r} is not a column of X.")
    check_column_names(X.columns)
    return X.drop(columns=[labels]), X[labels]


def _note_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    _check_kind(X)
    names = list(getattr(X, "columns", []))
    named = {isinstance(name, str) for name in names}
    if named == {True}:
        check_names(estimator, names, reset=reset)
        return
    # As in scikit-learn, names without any text do not count as names, and a mixture is refused.
    if named == {True, False}:
        raise TypeError("X has columns of which only some have text as a name; all of them or none must.")
    if reset:
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )


def _check_kind(X: Any) -> None:
    """Raise unless X is a table of numbers, judging by its types."""
    refuse_other_kinds(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions; got a dask collection with {X.ndim}.")
    if not hasattr(X, "columns"):
        check_type(X.dtype)
        return
    check_column_names(X.columns)
    kinds = zip(X.columns, X.dtypes, strict=True)
    text = [f"{name!r} ({dtype})" for name, dtype in kinds if _is_text(dtype)]
    if text:
        raise ValueError(refusal_of_text(text))


def _is_text(dtype: Any) -> bool:
    """Whether a column of this type holds no numbers; Python objects are checked by their values."""
    if str(dtype) == "category":
        # Before dask reads the rows, the categories may have this placeholder.
        categories = dtype.categories
        return "__UNKNOWN_CATEGORIES__" not in categories and _is_text(categories.dtype)
    is_decimal = str(dtype).startswith("decimal")
    return str(dtype) != "object" and not is_decimal and dtype.kind not in "biuf"


def _whole_rows(X: Any) -> Any:
    """Return X with all columns of a row in one block."""
    return X.rechunk({1: -1}) if hasattr(X, "chunks") and len(X.chunks[1]) > 1 else X


def _aligned(labels: Any, X: Any, n_partitions: int, argument: str) -> list[Any]:
    """Return what belongs to every partition of X."""
    if labels is None:
        return [None] * n_partitions
    if np.isscalar(labels):
        return [labels] * n_partitions
    chunks = _known_lengths(X)
    if not is_dask(labels):
        if chunks is None:
            raise ValueError(
                f"{argument} must be a dask collection with the partitions of X, because the number of rows "
                "of each partition is not known."
            )
        labels = np.asanyarray(labels)  # a mask stays
        if labels.ndim == 0:
            raise ValueError(f"{argument} must hold one entry per row; got {labels.item()!r}.")
        _check_length(len(labels), sum(chunks), argument)
        return np.split(labels, np.cumsum(chunks)[:-1])
    if chunks is not None and _known_lengths(labels) is not None:
        _check_length(labels.shape[0], sum(chunks), argument)
        labels = labels.rechunk((chunks,))
    parts = labels.to_delayed()
    parts = parts.ravel().tolist() if hasattr(parts, "ravel") else list(parts)
    if len(parts) != n_partitions:
        raise ValueError(f"{argument} has {len(parts)} partitions, but X has {n_partitions}.")
    return parts


def _check_length(found: int, expected: int, argument: str) -> None:
    if found != expected:
        raise ValueError(f"{argument} holds {found} entries, but X has {expected} rows.")


def _light(estimator: Any) -> Any:
    """Return a copy to send to workers: without names, which were compared already.

    A reference, which may have many rows, is for fitting only.
    """
    light = copy(estimator)
    if hasattr(light, "reference"):
        light.reference = None
    vars(light).pop("feature_names_in_", None)
    return light.set_output(transform="default")


def lazy_rows(estimator: Any, X: Any, method: str, n_columns: int | None = None) -> Any:
    """Return a lazy dask array of what a method makes of every block of rows: so many columns, or numbers."""
    if method == "inverse_transform":
        _check_kind(X)
    else:
        _note_columns(estimator, X, reset=False)
    X = _whole_rows(_as_dask_array(X) if hasattr(X, "columns") else X)
    is_single = X.dtype == estimator.components_.dtype == np.float32 and n_columns is not None
    dtype = np.float32 if is_single else np.float64
    columns = () if n_columns is None else (n_columns,)
    nothing = np.empty((0, *columns), dtype=dtype)
    return X.map_blocks(
        _apply,
        _light(estimator),
        method,
        nothing,
        dtype=dtype,
        chunks=(X.chunks[0], *((number,) for number in columns)),
        drop_axis=() if columns else 1,
        meta=nothing,
    )


def _as_dask_array(X: Any) -> Any:
    """Return a dask data frame as a dask array of numbers."""
    dtype = np.float32 if all(dtype == np.float32 for dtype in X.dtypes) else np.float64
    nothing = type(X._meta)(np.empty((0, len(X.columns)), dtype=dtype), columns=X.columns)
    return X.map_partitions(_frame_of_numbers, dtype, meta=nothing).to_dask_array()


def _frame_of_numbers(frame: Any, dtype: type) -> Any:
    return type(frame)(_checked(frame).astype(dtype), columns=frame.columns, index=frame.index)


def _apply(rows: Any, estimator: Any, method: str, nothing: Any) -> Any:
    return getattr(estimator, method)(rows) if rows.shape[0] else nothing
