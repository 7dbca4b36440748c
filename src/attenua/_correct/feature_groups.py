"""A partition of the columns, in the forms users write it, as one integer label per column."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.checks import encode_labels


def column_labels(feature_groups: Any, n_features: int) -> NDArray[np.intp] | None:
    """Return a label 0, 1, ... for every column, or None when every column is its own group.

    Parameters
    ----------
    feature_groups : None, array-like of shape (n_features,), or sequence of sequences of int
        None: every column alone. One label per column (numbers or strings). Or the groups
        themselves, each a collection of column indices; together they must name every column once.
    n_features : int
        Number of columns of the data.

    Raises
    ------
    ValueError
        If the groups are not a partition of the columns.
    """
    if feature_groups is None:
        return None
    if isinstance(feature_groups, str) or not hasattr(feature_groups, "__len__"):
        raise ValueError(
            "feature_groups must be None, one label per column, or a list of lists of column indices; "
            f"got {feature_groups!r}."
        )
    if len(feature_groups) == 0:
        raise ValueError("feature_groups is empty; give None to treat every column alone.")
    if all(_is_collection(group) for group in feature_groups):
        return _labels_from_index_lists(list(feature_groups), n_features)
    labels = np.asarray(feature_groups)
    if labels.ndim != 1 or len(labels) != n_features:
        raise ValueError(
            f"feature_groups must hold one label for each of the {n_features} columns; "
            f"got shape {labels.shape}."
        )
    return encode_labels(labels, "feature_groups")


def _is_collection(group: Any) -> bool:
    return (isinstance(group, (Sequence, range)) and not isinstance(group, str)) or np.ndim(group) == 1


def _labels_from_index_lists(groups: list[Any], n_features: int) -> NDArray[np.intp]:
    labels = np.full(n_features, -1, dtype=np.intp)
    for number, group in enumerate(groups):
        columns = np.asarray(group)
        if columns.size == 0:
            raise ValueError(f"feature_groups[{number}] is empty.")
        if columns.dtype.kind not in "iu":
            raise ValueError(f"feature_groups[{number}] must hold column indices (integers).")
        outside = columns[(columns < 0) | (columns >= n_features)]
        if outside.size:
            raise ValueError(
                f"feature_groups[{number}] names column {outside[0]}, but the data have columns "
                f"0 to {n_features - 1}."
            )
        repeated = labels[columns] >= 0
        if repeated.any() or len(np.unique(columns)) < len(columns):
            where = columns[repeated][0] if repeated.any() else columns[0]
            raise ValueError(f"feature_groups[{number}] names a column twice (column {where}).")
        labels[columns] = number
    missing = np.flatnonzero(labels < 0)
    if missing.size:
        raise ValueError(
            f"feature_groups must cover every column; {missing.size} of {n_features} are in no group, "
            f"the first is column {missing[0]}."
        )
    return labels
