"""Which rows are held out: splits from a number, a splitter or a list, checked before any work is done.

A number of folds means the same for rows in memory, in batches and in Dask partitions: row i is held out in
fold ``i % n_folds``. It needs no count of the rows beforehand, and rows that are sorted, by class or by time,
are spread over all folds. Groups of rows stay together. In memory they are dealt out so that folds are even,
by their sizes and the order in which they appear, whatever they are called; of a stream, which is seen once,
a fixed hash of the label names the fold.
"""

import hashlib
import numbers
import warnings
from heapq import heapreplace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._data.checks import as_labels, caller_level, encode_labels, shown

Indices = NDArray[np.intp]
Split = tuple[Indices, Indices]

# What cv=None means, as in scikit-learn.
DEFAULT_FOLDS = 5

# Limit for iterators without a length; pass a list for more.
_MOST_SPLITS = 10_000


def make_splits(
    cv: Any,
    n_samples: int,
    *,
    X: Any = None,
    y: Any = None,
    groups: ArrayLike | None = None,
) -> list[Split]:
    """Return the (training rows, held-out rows) of every split.

    Parameters
    ----------
    cv : int, None, splitter or iterable
        A number of folds, 5 for None: row i is in fold ``i % cv``, or, with groups, whole groups are in a
        fold; of fewer groups, each is one. A splitter of scikit-learn. Or pairs of index arrays.
    n_samples : int
        Number of rows.
    X, y : optional
        Data and targets, for a splitter that looks at them.
    groups : array-like of shape (n_samples,), optional
        Label of every row; rows that share a label are never on both sides of a split.
    """
    cv = resolve_cv(cv)
    labels = checked_groups(groups, n_samples)
    if is_number_of_folds(cv):
        splits = _folds(int(cv), n_samples, labels)
    elif isinstance(cv, (str, bytes, type)) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        raise ValueError(f"cv must be a number of folds, a splitter or an iterable of splits; got {cv!r}.")
    elif hasattr(cv, "split"):
        # With array API dispatch, splitters of scikit-learn take arrays only.
        of_rows = np.asarray(groups) if isinstance(groups, (list, tuple)) else groups
        given = cv.split(np.empty((n_samples, 0)) if X is None else X, y, of_rows)
        if not hasattr(given, "__iter__"):
            raise ValueError(f"cv.split must return an iterable of splits; got {shown(given)}.")
        splits = list(given)
    else:
        splits = _from_iterable(cv, n_samples)
    if not splits:
        raise ValueError("cv gave no splits.")
    checked = [_checked_split(number, split, n_samples, labels) for number, split in enumerate(splits)]
    if not is_number_of_folds(cv):
        _warn_of_shared_rows(checked)
    return checked


def _from_iterable(cv: Any, n_samples: int) -> list[Any]:
    """Return the splits of an iterable, up to a limit if it has no length."""
    most = len(cv) if hasattr(cv, "__len__") else max(_MOST_SPLITS, n_samples)
    splits = list(islice(cv, most + 1))
    if len(splits) > most:
        raise ValueError(
            f"cv gave more than {most:,} splits and may have no end; if it has one, give a list."
        )
    if not splits and hasattr(cv, "__next__"):
        raise ValueError("cv gave no splits: an iterator gives them once. Give a list for more than one fit.")
    return splits


def resolve_cv(cv: Any) -> Any:
    """Return cv, or the number of folds that None stands for."""
    return DEFAULT_FOLDS if cv is None else cv


def is_number_of_folds(cv: Any) -> bool:
    """Whether cv is a number, and not a splitter or a list of splits."""
    return isinstance(cv, numbers.Integral) and not isinstance(cv, bool)


def interleaved_folds(n_folds: int, n_samples: int) -> list[slice]:
    """Return the held-out rows of a number of folds, as slices: row i is held out in fold ``i % n_folds``."""
    _check_number(n_folds, n_samples)
    if n_samples - -(-n_samples // n_folds) < 2:
        raise ValueError("split 0 of cv has one training row; a covariance needs at least two.")
    return [slice(fold, n_samples, n_folds) for fold in range(n_folds)]


def checked_stream_folds(cv: Any) -> int:
    """Return the number of folds of a stream, whose rows are seen once."""
    cv = resolve_cv(cv)
    if not is_number_of_folds(cv):
        raise ValueError(
            "rows that come in batches or partitions are seen once, so cv must be a number of folds; "
            f"got cv={shown(cv)}."
        )
    if cv < 2:
        raise ValueError(f"cv={cv} must be at least 2 folds.")
    return int(cv)


def folds_by_group(groups: ArrayLike, n_folds: int) -> NDArray[np.intp]:
    """Return the fold of every row of a stream with groups: a hash of the row's label, modulo `n_folds`.

    The hash depends on the label alone: not on the batch, the order, the process or the machine, nor on how
    whole numbers are stored (1, 1.0 and True are one label, "1" is another).

    Examples
    --------
    >>> from attenua._data.folds import folds_by_group
    >>> folds_by_group(["ann", "bea", "ann"], 5).tolist()
    [2, 3, 2]
    """
    labels = as_labels(groups, "groups")
    if labels.ndim != 1:
        raise ValueError(f"groups must hold one label per row; got shape {labels.shape}.")
    if labels.dtype.kind in "iub":
        return _hashed_folds(labels, n_folds)
    is_whole = labels.dtype.kind == "f" and bool((labels == np.trunc(labels)).all())
    if is_whole and np.abs(labels).max(initial=0) < 2**53:
        return _hashed_folds(labels.astype(np.int64), n_folds)
    folds: dict[Any, int] = {}
    for label in labels.tolist():
        if label not in folds:
            folds[label] = _hashed_fold(label, n_folds)
    return np.array([folds[label] for label in labels.tolist()], dtype=np.intp)


def _hashed_fold(label: Any, n_folds: int) -> int:
    is_number = isinstance(label, numbers.Real)
    if is_number and label == np.trunc(label):
        return int(_hashed_folds(np.array([int(label) % 2**64], dtype=np.uint64), n_folds)[0])
    digest = hashlib.blake2b(str(label).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % n_folds


def _hashed_folds(labels: NDArray[Any], n_folds: int) -> NDArray[np.intp]:
    """Scatter whole numbers over the folds by the finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = labels.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) % np.uint64(n_folds)).astype(np.intp)


def _check_number(n_folds: int, n_samples: int, labels: Indices | None = None) -> None:
    if n_folds < 2:
        raise ValueError(f"cv={n_folds} must be at least 2 folds.")
    if labels is None and n_folds > n_samples:
        raise ValueError(f"cv={n_folds} folds need at least as many rows; got n_samples={n_samples}.")
    if labels is not None and labels.max() == 0:
        raise ValueError("groups must have at least 2 different labels, so that one can be held out; got 1.")


def _folds(n_folds: int, n_samples: int, labels: Indices | None) -> list[Split]:
    if labels is None:
        rows = np.arange(n_samples)
        held = [rows[fold] for fold in interleaved_folds(n_folds, n_samples)]
        return [(np.setdiff1d(rows, some, assume_unique=True), some) for some in held]
    _check_number(n_folds, n_samples, labels)
    n_folds = min(n_folds, int(labels.max()) + 1)
    fold_of = _dealt_out(labels, n_folds)
    return [(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(n_folds)]


def _dealt_out(labels: Indices, n_folds: int) -> Indices:
    """Return the fold of every row: groups go to the fold with the fewest rows, the largest group first.

    Of groups of one size, the one that appears first comes first, and of folds the first.
    """
    sizes = np.bincount(labels)
    fold_of_group = np.empty(len(sizes), dtype=np.intp)
    filled = [(0, fold) for fold in range(n_folds)]  # a heap
    for group in np.argsort(-sizes, kind="stable"):
        rows, fold = filled[0]
        fold_of_group[group] = fold
        heapreplace(filled, (rows + int(sizes[group]), fold))
    return fold_of_group[labels]


def checked_groups(groups: ArrayLike | None, n_samples: int) -> Indices | None:
    if groups is None:
        return None
    labels = as_labels(groups, "groups")
    if labels.ndim != 1 or len(labels) != n_samples:
        raise ValueError(
            f"groups must hold one label for each of the {n_samples} rows; got shape {labels.shape}."
        )
    return encode_labels(labels, "groups")


def splits_of_kept(splits: list[Split], kept: NDArray[np.bool_]) -> list[Split]:
    """Return splits of all rows as splits of those that are kept, because they have a weight above 0."""
    place = np.cumsum(kept) - 1
    some = [(place[training[kept[training]]], place[held[kept[held]]]) for training, held in splits]
    for number, (training, held) in enumerate(some):
        if len(training) < 2 or not len(held):
            raise ValueError(
                f"split {number} of cv has {len(training)} training rows and {len(held)} held-out rows of a "
                "weight above 0; it needs at least two and one."
            )
    return some


def _warn_of_shared_rows(splits: list[Split]) -> None:
    """Warn if rows are held out by a split that also trains on them."""
    shared = [np.intersect1d(training, held) for training, held in splits]
    places = [place for place, rows in enumerate(shared) if rows.size]
    if places:
        warnings.warn(
            f"Some held-out rows are also training rows in {len(places)} of the {len(splits)} splits of cv "
            f"(the first is split {places[0]}, with row {shared[places[0]][0]}). Their errors are too small, "
            "and the choice follows the training rows.",
            stacklevel=caller_level(),
        )


def _checked_split(number: int, split: Any, n_samples: int, labels: Indices | None) -> Split:
    try:
        train, held = (_as_rows(part, n_samples) for part in split)
    except (TypeError, ValueError, IndexError):
        raise ValueError(
            f"split {number} of cv must be a pair (training rows, held-out rows) of indices below "
            f"{n_samples}; got {shown(split)}."
        ) from None
    for rows, name in ((train, "training rows"), (held, "held-out rows")):
        if rows.size == 0:
            raise ValueError(f"split {number} of cv has no {name}.")
    if len(train) < 2:
        raise ValueError(f"split {number} of cv has one training row; a covariance needs at least two.")
    if labels is not None:
        shared = np.intersect1d(labels[train], labels[held])
        if shared.size:
            raise ValueError(
                f"split {number} of cv puts rows of one group on both sides; use a splitter that keeps "
                "groups whole, such as sklearn.model_selection.GroupKFold, or a number of folds."
            )
    return train, held


def _as_rows(part: Any, n_samples: int) -> Indices:
    indices = np.asarray(part)
    if indices.dtype == bool:
        if indices.shape != (n_samples,):
            raise IndexError
        return np.flatnonzero(indices)
    if indices.size == 0:
        return np.empty(0, dtype=np.intp)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise TypeError
    if indices.min() < 0 or indices.max() >= n_samples:
        raise IndexError
    return indices.astype(np.intp)
